/* steps.c - collectives as messages between their members. */
#include "model/lower/internal.h"
#include "topology/collectives/script.h"

#define MESSAGES_MAX (1u << 25) /* of a program: 1.5 GB with what they wait for */

#define SAMPLE_B 1e6 /* rates of a message do not depend on its size */

/* Groups of a gang that are alike share a script; one that lies otherwise takes another time. */
static bool can_play(const struct ty_lowering *l, const struct ty_kind *kind,
                     const struct ty_collective *c, const struct ty_coll_cost *cost)
{
    if (!l->in->messages || l->b.code < 0 || c->route.of != TY_ROUTE_GROUP ||
        kind->alone_of != NULL || l->out->fabric.n_links == 0 ||
        !ty_coll_has_script(&cost[0], &c->reach[0])) {
        return false;
    }
    for (uint32_t i = 1; i < l->members; i++) {
        if (cost[i].algorithm != cost[0].algorithm || !ty_coll_has_script(&cost[i], &c->reach[i])) {
            return false;
        }
    }
    return true;
}

static void add_messages(struct ty_lowering *l, const struct ty_coll_script *s, double scale)
{
    const uint32_t first_after = l->b.program->n_afters;
    for (uint32_t i = 0; i < s->n_after; i++) {
        ty_build_after(&l->b, s->after[i]);
    }
    for (uint32_t i = 0; i < s->n; i++) {
        const struct ty_coll_message *m = &s->message[i];
        ty_build_message(
            &l->b, &(struct ty_message){
                       .to = m->to,
                       .pair = m->pair,
                       .first_after = first_after + m->first_after,
                       .n_after = m->n_after,
                       .alone = ty_lower_ps(l, (s->latency_s + m->bytes * s->s_per_B) * scale)});
    }
}

/* Flows of the groups of a kind, one group at a time. */
struct steps {
    struct ty_lowering *l;
    const struct ty_coll_script *script;
    enum ty_coll_pattern pattern;
    ty_ps lead;
    uint32_t *gpu;  /* [n] of the group at hand, by position */
    uint32_t *ends; /* [n] scratch: its GPUs on the two nodes of a message */
    uint32_t n;
    struct ty_use_list uses;
};

static uint32_t node_of(const struct steps *s, uint32_t position)
{
    return s->gpu[position] / s->l->out->grid.gpus_per_node;
}

/* Who takes part in a message from node to node: those of the group on the sender's, then on the
 * receiver's. A library has several rings and trees, each with its own way out of a node, and what
 * is told apart here is one that stands for them all. */
static uint32_t list_ends(const struct steps *s, uint32_t from, uint32_t to)
{
    uint32_t n = 0;
    for (int end = 0; end < 2; end++) {
        for (uint32_t i = 0; i < s->n; i++) {
            if (node_of(s, i) == node_of(s, end == 0 ? from : to)) {
                s->ends[n++] = s->gpu[i];
            }
        }
    }
    return n;
}

/* What a message from one position to another takes of links. */
static void add_flow(struct steps *s, uint32_t from, uint32_t to)
{
    struct ty_lowering *l = s->l;
    const bool same = node_of(s, from) == node_of(s, to);
    struct ty_coll_cost cost = {.transfer_s = SAMPLE_B * s->script->s_per_B,
                                .nvlink_B = same ? SAMPLE_B : 0,
                                .net_B = same ? 0 : SAMPLE_B,
                                .pattern = s->pattern};
    struct ty_flow flow = {.first_use = l->b.program->n_uses, .weight = 1, .lead = s->lead};
    int rc;
    if (same || s->pattern == TY_PATTERN_ALL_PAIRS) {
        rc = ty_fabric_message(&l->out->fabric, &cost, s->gpu[from], &s->gpu[to], 1, &s->uses,
                               &flow.weight, l->arena, l->b.err);
    } else {
        const uint32_t n = list_ends(s, from, to);
        cost.pattern = TY_PATTERN_CHAIN;
        cost.net_B /= n; /* a member's: they add up to the message's */
        rc = ty_fabric_collective(&l->out->fabric, &cost, s->ends, n, 1, &s->uses, &flow.weight,
                                  l->arena, l->b.err);
    }
    ty_build_note(&l->b, rc);
    flow.n_uses = s->uses.n;
    for (uint32_t i = 0; i < s->uses.n; i++) {
        ty_build_use(&l->b, &s->uses.row[i]);
    }
    ty_build_flow(&l->b, &flow);
}

/* The flows of all groups, in the order of their first members. */
static void add_flows(struct steps *s, const struct ty_group *g)
{
    struct ty_lowering *l = s->l;
    s->n = g->count;
    s->gpu = ty_arena_array(l->arena, uint32_t, g->count);
    s->ends = ty_arena_array(l->arena, uint32_t, g->count);
    if (s->gpu == NULL || s->ends == NULL) {
        ty_build_no_memory(&l->b);
    }
    for (uint32_t i = 0; i < l->members && l->b.code == 0; i++) {
        if (ty_group_position(g, i) != 0) {
            continue;
        }
        for (uint32_t k = 0; k < g->count; k++) {
            s->gpu[k] = ty_grid_gpu(&l->out->grid, l->here.rank_of[i + k * g->stride]);
        }
        for (uint32_t pair = 0; pair < s->script->n_pairs; pair++) {
            add_flow(s, s->script->pair_from[pair], s->script->pair_to[pair]);
        }
    }
}

bool ty_lower_script(struct ty_lowering *l, struct ty_kind *kind, const struct ty_collective *c,
                     const struct ty_coll_cost *cost)
{
    struct ty_program *p = l->b.program;
    struct ty_coll_script s;
    if (!can_play(l, kind, c, cost)) {
        return false;
    }
    const struct ty_group *g = &p->groups[c->route.group];
    int rc = ty_coll_script(&s, &cost[0], c->what.coll, c->what.bytes * c->what.calls, &c->reach[0],
                            l->arena, l->b.err);
    if (rc == 0 && (uint64_t)p->n_messages + s.n > MESSAGES_MAX) {
        rc = ty_fail(l->b.err, TY_ELIMIT,
                     "run.detail: steps: the collectives are more than %u million messages, which "
                     "would take gigabytes; simulate them as flows (run.detail: flows), or fewer "
                     "ranks",
                     MESSAGES_MAX >> 20);
    }
    if (rc < 0) {
        ty_build_note(&l->b, rc);
        return true;
    }
    /* a derate below one makes messages shorter, not what they take of links */
    const double scale = ty_s_from_ps(ty_kind_alone(kind, 0)) / ty_coll_seconds(&cost[0]);
    const struct ty_script script = {
        .first = p->n_messages,
        .n = s.n,
        .first_send = p->n_sends,
        .positions = g->count,
        .n_pairs = s.n_pairs,
    };
    add_messages(l, &s, scale);
    for (uint32_t i = 0; i <= g->count; i++) {
        ty_build_send(&l->b, s.send[i]);
    }
    kind->first_flow = p->n_flows + 1;
    struct steps steps = {.l = l,
                          .script = &s,
                          .pattern = cost[0].pattern,
                          .lead = ty_lower_ps(l, s.latency_s * scale)};
    add_flows(&steps, g);
    kind->script = (uint32_t)ty_build_script(&l->b, &script) + 1;
    return true;
}
