/* meet.c - who meets whom in a job of others, and what that costs alone; see plan.h. */
#include <stdlib.h>

#include "sim/exchange/read/plan.h"

/* ---- costs ---- */

static uint32_t node_of(const struct ty_traced_plan *plan, uint32_t rank)
{
    return rank / plan->cluster->gpus_per_node;
}

void ty_traced_coll_cost(const struct ty_traced_plan *plan, const struct ty_traced_node *node,
                         struct ty_coll_cost *out)
{
    const struct ty_reach *reach = &plan->reach[node->group];
    *out = (struct ty_coll_cost){0};
    if (reach->ranks > 1) {
        ty_coll_cost(plan->cluster, NULL, (enum ty_coll)node->coll, node->bytes, reach, out);
    }
}

void ty_traced_message_cost(const struct ty_traced_plan *plan, uint32_t from, uint32_t to,
                            double bytes, struct ty_coll_cost *out)
{
    *out = (struct ty_coll_cost){0};
    if (from != to) {
        ty_p2p_cost_alone(plan->cluster, node_of(plan, from) == node_of(plan, to), bytes, out);
    }
}

/* Without a duration: the slower of operations and memory at the rates of the GPU. */
ty_ps ty_traced_calc_ps(const struct ty_traced_plan *plan, const struct ty_traced_node *node)
{
    const struct ty_gpu *gpu = &plan->cluster->gpu;
    const double peak =
        gpu->peak[TY_DTYPE_BF16] > 0 ? gpu->peak[TY_DTYPE_BF16] : gpu->peak[TY_DTYPE_FP16];
    const double compute_s = peak > 0 ? node->flops / (peak * gpu->gemm_efficiency) : 0;
    const double memory_s = node->bytes / gpu->memory_bandwidth;
    ty_ps ps = node->dur;
    if (ps == 0 && ty_ps_from_s(compute_s > memory_s ? compute_s : memory_s, &ps) < 0) {
        ps = 0;
    }
    return ps;
}

/* How a group lies on nodes. */
static struct ty_reach reach_of(const struct ty_traced_plan *plan, const struct ty_traced_group *g)
{
    struct ty_reach reach = {.ranks = g->n, .sharing = 1, .root = TY_ROOT_EACH};
    for (uint32_t i = 0, n = 0; i < g->n; i += n) {
        uint32_t places = 0;
        for (n = 0; i + n < g->n && node_of(plan, g->rank[i + n]) == node_of(plan, g->rank[i]);
             n++) {
            const uint32_t place = g->rank[i + n] % plan->cluster->gpus_per_node;
            places |= place < 32 ? 1u << place : 0;
        }
        reach.nodes++;
        reach.places = n > reach.per_node ? places : reach.places;
        reach.per_node = n > reach.per_node ? n : reach.per_node;
        reach.fewest = reach.fewest == 0 || n < reach.fewest ? n : reach.fewest;
    }
    return reach;
}

/* ---- messages ---- */

struct message {
    uint32_t from, to, tag, node;
    bool receives;
};

static int in_order(const void *a, const void *b)
{
    const struct message *x = a, *y = b;
    const int pair = 2 * TY_ORDER(x->from, y->from) + TY_ORDER(x->to, y->to);
    const int which = 2 * TY_ORDER(x->tag, y->tag) + TY_ORDER(x->receives, y->receives);
    return pair != 0 ? pair : which != 0 ? which : TY_ORDER(x->node, y->node);
}

static size_t list_messages(const struct ty_traced *job, struct message *out)
{
    size_t n = 0;
    for (uint32_t r = 0; r < job->n_ranks; r++) {
        for (uint32_t i = 0; i < job->rank[r].n; i++) {
            const struct ty_traced_node *node = &job->rank[r].node[i];
            const bool receives = node->what == TY_TRACED_RECV;
            if (node->what != TY_TRACED_SEND && !receives) {
                continue;
            }
            if (out != NULL) {
                out[n] = (struct message){receives ? node->peer : r, receives ? r : node->peer,
                                          node->tag, i, receives};
            }
            n++;
        }
    }
    return n;
}

/* One end of a message gets its number on the channel. */
static void number(struct ty_traced_plan *plan, const struct message *m, uint32_t seq,
                   uint32_t partner)
{
    struct ty_traced_meetings *rank = &plan->rank[m->receives ? m->to : m->from];
    rank->link[m->node] = plan->n_channels - 1;
    rank->seq[m->node] = seq;
    rank->partner[m->node] = partner;
}

/* Messages of one tag, sends before receives: the first send is for the first receive. */
static void pair_up(struct ty_traced_plan *plan, const struct message *m, size_t sends,
                    size_t receives)
{
    uint32_t *seq = &plan->messages[plan->n_channels - 1];
    for (size_t i = 0; i < sends || i < receives; i++) {
        if (i < sends) {
            number(plan, &m[i], *seq, i < receives ? m[sends + i].node : TY_TRACED_NONE);
        }
        if (i < receives) {
            number(plan, &m[sends + i], *seq, i < sends ? m[i].node : TY_TRACED_NONE);
        }
        (*seq)++;
    }
}

static void find_channels(struct ty_traced_plan *plan, const struct message *m, size_t n)
{
    for (size_t i = 0, next = 0; i < n; i = next) {
        size_t sends = 0;
        for (next = i; next < n && m[next].from == m[i].from && m[next].to == m[i].to &&
                       m[next].tag == m[i].tag;
             next++) {
            sends += !m[next].receives;
        }
        if (i == 0 || m[i].from != m[i - 1].from || m[i].to != m[i - 1].to) {
            plan->channel[plan->n_channels][0] = m[i].from;
            plan->channel[plan->n_channels++][1] = m[i].to;
        }
        pair_up(plan, m + i, sends, next - i - sends);
    }
}

static int match(struct ty_traced_plan *plan)
{
    const size_t n = list_messages(plan->job, NULL);
    struct message *m = calloc(n + 1, sizeof(*m));
    size_t channels = 0;
    if (m == NULL) {
        return ty_fail_memory(plan->err);
    }
    (void)list_messages(plan->job, m);
    qsort(m, n, sizeof(*m), in_order);
    for (size_t i = 0; i < n; i++) {
        channels += i == 0 || m[i].from != m[i - 1].from || m[i].to != m[i - 1].to;
    }
    plan->channel = ty_arena_alloc(plan->arena, channels + 1, sizeof(*plan->channel));
    plan->messages = ty_arena_array(plan->arena, uint32_t, channels + 1);
    int rc = plan->channel != NULL && plan->messages != NULL ? 0 : ty_fail_memory(plan->err);
    if (rc == 0 && channels >= TY_NONE) {
        rc = ty_fail(plan->err, TY_ELIMIT,
                     "%s: messages between %zu pairs of ranks; 65,534 can be executed",
                     plan->job->name, channels);
    }
    if (rc == 0) {
        find_channels(plan, m, n);
    }
    free(m);
    return rc;
}

int ty_traced_meet(struct ty_traced_plan *plan)
{
    const struct ty_traced *job = plan->job;
    plan->reach = ty_arena_array(plan->arena, struct ty_reach, job->n_groups + 1u);
    plan->calls = ty_arena_array(plan->arena, uint32_t, job->n_groups + 1u);
    plan->rank = ty_arena_array(plan->arena, struct ty_traced_meetings, job->n_ranks);
    if (plan->reach == NULL || plan->calls == NULL || plan->rank == NULL) {
        return ty_fail_memory(plan->err);
    }
    for (uint32_t g = 0; g < job->n_groups; g++) {
        plan->reach[g] = reach_of(plan, &job->group[g]);
    }
    for (uint32_t r = 0; r < job->n_ranks; r++) {
        struct ty_traced_meetings *m = &plan->rank[r];
        m->link = ty_arena_array(plan->arena, uint32_t, job->rank[r].n + 1u);
        m->seq = ty_arena_array(plan->arena, uint32_t, job->rank[r].n + 1u);
        m->partner = ty_arena_array(plan->arena, uint32_t, job->rank[r].n + 1u);
        m->order = ty_arena_array(plan->arena, uint32_t, job->rank[r].n + 1u);
        if (m->link == NULL || m->seq == NULL || m->partner == NULL || m->order == NULL) {
            return ty_fail_memory(plan->err);
        }
    }
    return match(plan);
}
