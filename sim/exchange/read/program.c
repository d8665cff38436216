/* program.c - a job of others as a program: a gang for each rank, a pass for each node.
 *
 * Computation takes what the trace says, or the GPU's roofline where it says only what there is to
 * compute. Communication is priced here, alone, with the links it takes: an executor finds out what
 * sharing them costs. Times in a trace have in them what communication took from computation, so
 * nothing is slowed down again. */
#include <stdlib.h>
#include <string.h>

#include "model/vocabulary.h"
#include "sim/base/noise.h"
#include "sim/exchange/read/waits.h"

#define MEET_NONE UINT16_MAX

struct kind_key {
    uint64_t hash;
    uint32_t kind; /* 1 + its number; 0: free */
};

struct builder {
    struct ty_traced_plan *plan;
    const struct ty_fabric *fabric;
    struct ty_builder b;
    struct kind_key *key; /* [cap] open addressing */
    uint32_t n_keys, cap;
    uint16_t *meet; /* [n_groups] */
    struct ty_use_list uses;
    /* of the rank at hand */
    uint32_t number;
    const struct ty_traced_rank *rank;
    struct ty_traced_waits waits;
    uint8_t *end_event, *start_event; /* [n] while somebody waits */
    uint8_t stream_of[TY_EVENTS];     /* 1 + the stream that records it; 0: none yet */
    bool open[TY_EVENTS];
};

/* ---- kinds ---- */

static int more_keys(struct builder *b)
{
    struct kind_key *old = b->key;
    const uint32_t n = b->cap;
    if (2 * b->n_keys < n) {
        return 0;
    }
    b->cap = n > 0 ? 2 * n : 1024;
    b->key = calloc(b->cap, sizeof(*b->key));
    if (b->key == NULL) {
        b->key = old;
        b->cap = n;
        return ty_build_no_memory(&b->b);
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = (uint32_t)old[i].hash & (b->cap - 1);
        while (old[i].kind != 0 && b->key[at].kind != 0) {
            at = (at + 1) & (b->cap - 1);
        }
        if (old[i].kind != 0) {
            b->key[at] = old[i];
        }
    }
    free(old);
    return 0;
}

/* Where a kind of these properties is kept. 128 bits would be needed for many millions of kinds;
 * of the 65,535 that a program may have two meet in 64 bits once in ten thousand million years of
 * runs. */
static struct kind_key *find_key(struct builder *b, uint64_t hash)
{
    uint32_t at = (uint32_t)hash & (b->cap - 1);
    while (b->key[at].kind != 0 && b->key[at].hash != hash) {
        at = (at + 1) & (b->cap - 1);
    }
    b->key[at].hash = hash;
    return &b->key[at];
}

/* The words of a name that have no digits: names of kinds are for many nodes. */
static const char *plain_name(struct builder *b, const struct ty_traced_node *n)
{
    static const char *const words[] = {"compute", "send", "recv", "collective"};
    char *out = ty_arena_alloc(b->plan->arena, strlen(n->name) + 1, 1);
    size_t len = 0;
    if (out == NULL) {
        ty_build_no_memory(&b->b);
        return words[n->what];
    }
    for (const char *at = n->name; *at != '\0';) {
        const size_t size = strcspn(at, " ");
        if (size > 0 && strcspn(at, "0123456789") >= size) {
            out[len] = ' ';
            len += len > 0;
            memcpy(out + len, at, size);
            len += size;
        }
        at += size + (at[size] == ' ');
    }
    return len > 0 ? out : words[n->what];
}

static ty_ps to_ps(struct builder *b, double seconds)
{
    ty_ps ps = 0;
    if (ty_ps_from_s(seconds, &ps) < 0) {
        ty_build_note(&b->b, ty_fail(b->plan->err, TY_EINPUT,
                                     "%s: a communication takes %g s, which the simulated clock "
                                     "cannot hold",
                                     b->rank->file, seconds));
    }
    return ps;
}

/* The links of one communication, as the first flow of its kind. */
static void add_flow(struct builder *b, struct ty_kind *kind, const struct ty_coll_cost *cost,
                     const uint32_t *gpus, uint32_t n, bool message)
{
    struct ty_flow flow = {.first_use = b->b.program->n_uses,
                           .weight = 1,
                           .lead = to_ps(b, message ? 0 : cost->latency_s),
                           .idle = cost->net_idle,
                           .port_idle = cost->port_idle};
    const int rc = message ? ty_fabric_message(b->fabric, cost, gpus[0], &gpus[1], 1, &b->uses,
                                               &flow.weight, b->plan->arena, b->plan->err)
                           : ty_fabric_collective(b->fabric, cost, gpus, n, 1, &b->uses,
                                                  &flow.weight, b->plan->arena, b->plan->err);
    ty_build_note(&b->b, rc);
    flow.n_uses = b->uses.n;
    for (uint32_t i = 0; i < b->uses.n; i++) {
        ty_build_use(&b->b, &b->uses.row[i]);
    }
    kind->first_flow = (uint32_t)ty_build_flow(&b->b, &flow) + 1;
}

static void describe_message(struct builder *b, const struct ty_traced_node *n,
                             struct ty_kind *kind)
{
    const bool sends = n->what == TY_TRACED_SEND;
    const uint32_t gpus[2] = {b->number, n->peer};
    struct ty_coll_cost cost;
    ty_traced_message_cost(b->plan, b->number, n->peer, n->bytes, &cost);
    kind->category = TY_CAT_COMM_PIPELINE;
    kind->group = "messages";
    kind->bytes = n->bytes;
    kind->dur = to_ps(b, sends ? cost.transfer_s : cost.latency_s);
    if (sends) {
        kind->nvlink_B = cost.nvlink_B;
        kind->net_B = cost.net_B;
    }
    if (sends && n->peer != b->number && b->fabric->n_links > 0) {
        cost.latency_s = 0; /* it is the receiver's */
        add_flow(b, kind, &cost, gpus, 2, true);
    }
}

static void describe_coll(struct builder *b, const struct ty_traced_node *n, struct ty_kind *kind)
{
    const struct ty_traced_group *group = &b->plan->job->group[n->group];
    const struct ty_reach *reach = &b->plan->reach[n->group];
    struct ty_coll_cost cost;
    ty_traced_coll_cost(b->plan, n, &cost);
    kind->category = TY_CAT_COMM_DATA;
    kind->group = "groups";
    kind->collective = ty_coll_name((enum ty_coll)n->coll);
    kind->algorithm = cost.algorithm != NULL ? cost.algorithm->name : NULL;
    kind->bytes = n->bytes;
    kind->dur = to_ps(b, ty_coll_seconds(&cost));
    kind->ranks = reach->ranks;
    kind->nodes = reach->nodes;
    kind->sharing = 1;
    kind->nvlink_B = cost.nvlink_B;
    kind->net_B = cost.net_B;
    if (group->n > 1 && b->fabric->n_links > 0) {
        uint32_t *gpus = malloc(group->n * sizeof(*gpus)); /* a chain begins where it is best */
        for (uint32_t i = 0; gpus != NULL && i < group->n; i++) {
            gpus[i] = group->rank[(i + cost.start) % group->n];
        }
        if (gpus != NULL) {
            add_flow(b, kind, &cost, gpus, group->n, false);
        } else {
            ty_build_no_memory(&b->b);
        }
        free(gpus);
    }
}

/* Nodes that are alike share one; flows are of a rank, or of a group. */
static uint16_t kind_of(struct builder *b, const struct ty_traced_node *n)
{
    const ty_ps dur = ty_traced_calc_ps(b->plan, n);
    const char *name = plain_name(b, n);
    if (more_keys(b) < 0) {
        return 0;
    }
    const uint64_t whose = n->what == TY_TRACED_CALC   ? 0
                           : n->what == TY_TRACED_COLL ? n->group
                                                       : (uint64_t)b->number << 32 | n->peer;
    const uint64_t what = (uint64_t)n->what << 8 | n->coll;
    struct kind_key *key =
        find_key(b, ty_hash4(ty_hash_text(name), what, whose,
                             ty_hash4(dur, ty_bits(n->bytes), ty_bits(n->flops), n->stream)));
    if (key->kind == 0) {
        struct ty_kind kind = {.name = name,
                               .category =
                                   n->stream == TY_STREAM_COMPUTE ? TY_CAT_OTHER : TY_CAT_HOST,
                               .phase = TY_PHASE_OTHER,
                               .dur = dur,
                               .flops = n->flops};
        if (n->what == TY_TRACED_COLL) {
            describe_coll(b, n, &kind);
        } else if (n->what != TY_TRACED_CALC) {
            describe_message(b, n, &kind);
        }
        key->kind = (uint32_t)ty_build_kind(&b->b, &kind) + 1;
        b->n_keys++;
    }
    return (uint16_t)(key->kind - 1);
}

/* ---- events ---- */

static uint8_t open_event(struct builder *b, uint8_t stream)
{
    uint8_t found = TY_NO_EVENT;
    for (uint8_t e = 0; e < TY_EVENTS; e++) {
        if (!b->open[e] && b->stream_of[e] == stream + 1) {
            found = e;
            break;
        }
        if (!b->open[e] && b->stream_of[e] == 0 && found == TY_NO_EVENT) {
            found = e;
        }
    }
    if (found == TY_NO_EVENT) {
        ty_build_note(&b->b,
                      ty_fail(b->plan->err, TY_ELIMIT,
                              "%s: rank %u: more than %u nodes that other streams still wait for; "
                              "that many events a rank has",
                              b->rank->file, (unsigned)b->number, TY_EVENTS));
        return TY_NO_EVENT;
    }
    b->stream_of[found] = stream + 1;
    b->open[found] = true;
    return found;
}

/* One who waited for an event is issued; the last one closes it. */
static uint8_t use_event(struct builder *b, uint32_t dep)
{
    const uint32_t node = dep & ~TY_TRACED_START;
    const bool start = (dep & TY_TRACED_START) != 0;
    const uint8_t event = start ? b->start_event[node] : b->end_event[node];
    uint32_t *left = start ? &b->waits.start_waiters[node] : &b->waits.end_waiters[node];
    if (--*left == 0 && event != TY_NO_EVENT) {
        b->open[event] = false;
    }
    return event;
}

/* ---- operations ---- */

static void add_local(struct builder *b, uint8_t stream, uint16_t kind, const uint8_t *wait,
                      uint32_t n_waits, uint8_t record)
{
    struct ty_op op = TY_OP_INIT;
    op.kind = kind;
    op.stream = stream;
    op.record = record;
    memcpy(op.wait, wait, n_waits);
    ty_build_op(&b->b, &op);
}

static uint16_t link_of(struct builder *b, const struct ty_traced_node *n, uint32_t node)
{
    return n->what == TY_TRACED_COLL ? b->meet[n->group]
                                     : (uint16_t)b->plan->rank[b->number].link[node];
}

static uint8_t sync_of(const struct builder *b, const struct ty_traced_node *n)
{
    static const uint8_t syncs[] = {[TY_TRACED_CALC] = TY_SYNC_LOCAL,
                                    [TY_TRACED_SEND] = TY_SYNC_SEND,
                                    [TY_TRACED_RECV] = TY_SYNC_RECV,
                                    [TY_TRACED_COLL] = TY_SYNC_MEET};
    return n->what == TY_TRACED_COLL && b->plan->job->group[n->group].n == 1 ? TY_SYNC_LOCAL
                                                                             : syncs[n->what];
}

/* An operation of no length, which more events than one operation waits for, or whose end is the
 * start of the next. */
static uint16_t mark_kind(struct builder *b)
{
    static const struct ty_traced_node mark = {.name = "join", .stream = TY_STREAM_HOST};
    return kind_of(b, &mark);
}

static void add_node(struct builder *b, uint32_t node)
{
    const struct ty_traced_node *n = &b->rank->node[node];
    const bool marked = b->waits.start_waiters[node] > 0;
    uint8_t wait[TY_MAX_STREAMS];
    uint32_t n_waits = 0;
    for (uint32_t k = b->waits.first[node]; k < b->waits.first[node + 1]; k++) {
        wait[n_waits++] = use_event(b, b->waits.wait[k]);
    }
    const uint16_t kind = kind_of(b, n), mark = marked || n_waits > TY_WAITS ? mark_kind(b) : 0;
    for (; n_waits > TY_WAITS; n_waits -= TY_WAITS) {
        add_local(b, n->stream, mark, wait + n_waits - TY_WAITS, TY_WAITS, TY_NO_EVENT);
    }
    if (marked) {
        b->start_event[node] = open_event(b, n->stream);
        add_local(b, n->stream, mark, wait, n_waits, b->start_event[node]);
        n_waits = 0;
    }
    if (b->waits.end_waiters[node] > 0) {
        b->end_event[node] = open_event(b, n->stream);
    }
    struct ty_op op = TY_OP_INIT;
    op.kind = kind;
    op.stream = n->stream;
    op.sync = sync_of(b, n);
    op.record = b->waits.end_waiters[node] > 0 ? b->end_event[node] : TY_NO_EVENT;
    op.link = op.sync == TY_SYNC_LOCAL ? TY_NONE : link_of(b, n, node);
    memcpy(op.wait, wait, n_waits);
    ty_build_op(&b->b, &op);
}

/* ---- ranks ---- */

static const char *base_name(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash != NULL ? slash + 1 : file;
}

static int add_rank(struct builder *b, uint32_t number, uint32_t *rank_of, const char **names)
{
    struct ty_arena scratch = {.head = NULL};
    const struct ty_traced_rank *rank = &b->plan->job->rank[number];
    const struct ty_gang gang = {
        .name = base_name(rank->file), .n_ranks = 1, .rank_of = &rank_of[number], .row = names};
    rank_of[number] = number;
    b->number = number;
    b->rank = rank;
    memset(b->stream_of, 0, sizeof(b->stream_of));
    memset(b->open, 0, sizeof(b->open));
    b->end_event = ty_arena_array(&scratch, uint8_t, rank->n + 1u);
    b->start_event = ty_arena_array(&scratch, uint8_t, rank->n + 1u);
    if (b->end_event == NULL || b->start_event == NULL ||
        ty_traced_find_waits(&b->waits, rank, b->plan->rank[number].order, &scratch) < 0) {
        ty_build_no_memory(&b->b);
    }
    ty_build_gang(&b->b, &gang);
    for (uint32_t i = 0; i < rank->n && b->b.code == 0; i++) {
        const uint32_t node = b->waits.issue[i];
        const struct ty_block block = {.n_ops = 0};
        const int index = ty_build_block(&b->b, &block);
        const struct ty_pass pass = {.block = (uint32_t)(index < 0 ? 0 : index),
                                     .seq = b->plan->rank[number].seq[node],
                                     .seq2 = (uint32_t)rank->node[node].id,
                                     .mb = TY_NONE,
                                     .mb2 = TY_NONE,
                                     .phase = TY_PHASE_OTHER};
        ty_build_pass(&b->b, &pass);
        add_node(b, node);
    }
    ty_arena_release(&scratch);
    return b->b.code;
}

static void add_meets(struct builder *b)
{
    const struct ty_traced *job = b->plan->job;
    for (uint32_t g = 0; g < job->n_groups; g++) {
        const struct ty_meet meet = {.name = "groups",
                                     .group = TY_NONE,
                                     .n_gangs = job->group[g].n,
                                     .n_seq = b->plan->calls[g],
                                     .gangs = job->group[g].rank};
        b->meet[g] = MEET_NONE;
        if (b->plan->calls[g] > 0 && job->group[g].n > 1) {
            b->meet[g] = (uint16_t)ty_build_meet(&b->b, &meet);
        }
    }
}

static void add_channels(struct builder *b)
{
    for (uint32_t c = 0; c < b->plan->n_channels; c++) {
        ty_build_channel(&b->b, &(struct ty_channel){.name = "messages",
                                                     .from = b->plan->channel[c][0],
                                                     .to = b->plan->channel[c][1],
                                                     .n_seq = b->plan->messages[c]});
    }
}

int ty_traced_program(struct ty_traced_plan *plan, const struct ty_fabric *fabric,
                      struct ty_program *out)
{
    const struct ty_traced *job = plan->job;
    static const char *const rows[TY_N_STREAMS] = {[TY_STREAM_COMPUTE] = "compute",
                                                   [TY_STREAM_HOST] = "cpu",
                                                   [TY_STREAM_DATA] = "communication",
                                                   [TY_STREAM_SEND] = "sends",
                                                   [TY_STREAM_RECV] = "receives"};
    struct builder b = {.plan = plan,
                        .fabric = fabric,
                        .b = {.program = out, .arena = plan->arena, .err = plan->err}};
    const char **names = ty_arena_array(plan->arena, const char *, TY_N_STREAMS);
    uint32_t *rank_of = ty_arena_array(plan->arena, uint32_t, job->n_ranks);
    b.meet = ty_arena_array(plan->arena, uint16_t, job->n_groups + 1u);
    if (names == NULL || rank_of == NULL || b.meet == NULL) {
        return ty_fail_memory(plan->err);
    }
    for (uint32_t s = 0; s < TY_N_STREAMS; s++) {
        names[s] = rows[s] != NULL ? rows[s] : ty_transformer_words.streams[s].name;
    }
    *out = (struct ty_program){.words = &ty_transformer_words,
                               .n_steps = 1,
                               .traced = true,
                               .links = fabric->links,
                               .n_links = fabric->n_links,
                               .jitter = plan->jitter,
                               .slow_of = plan->slow_of};
    add_meets(&b);
    add_channels(&b);
    for (uint32_t r = 0; r < job->n_ranks && b.b.code == 0; r++) {
        add_rank(&b, r, rank_of, names);
    }
    free(b.key);
    return b.b.code < 0 ? b.b.code : ty_program_seal(out, plan->arena, plan->err);
}
