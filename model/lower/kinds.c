/* kinds.c - kinds of communication and their durations.
 *
 * They depend on where a group lies: the duration is worked out member by member and stored member
 * by member only where it differs. */
#include "model/lower/stages.h"
#include "model/lower/window.h"

#include <math.h>
#include <string.h>

uint16_t ty_lower_add_kind(struct ty_lowering *l, const struct ty_kind *kind)
{
    if (kind->dur_of != NULL || kind->alone_of != NULL) {
        ty_lower_differs(l); /* members do, and will not be folded */
    }
    const int index = ty_build_kind(&l->b, kind);
    return index < 0 ? 0 : (uint16_t)index;
}

/* Remembers that memory ran out; what is returned is never used. */
static uint16_t out_of_memory(struct ty_lowering *l)
{
    ty_build_no_memory(&l->b);
    return 0;
}

ty_ps ty_lower_ps(struct ty_lowering *l, double seconds)
{
    ty_ps ps = 0;
    if (ty_ps_from_s(seconds, &ps) < 0 && l->b.code == 0) {
        ty_build_note(&l->b,
                      ty_fail(l->b.err, TY_EINPUT,
                              "an operation takes %g s, which the simulated clock cannot hold; "
                              "check the cluster's rates and latencies",
                              seconds));
    }
    return ps;
}

/* ---- members ----
 *
 * A price follows from where the member's group lies and what it is loaded with; a gang of
 * thousands has a handful of such classes. Each is priced once, and its other members take that. */

/* Members that were priced, by what a price is worked out from: as a rule a handful of classes, in
 * which members lie in turns. */
#define CLASSES 16u

struct priced_members {
    uint32_t member[CLASSES];
    uint32_t n, last; /* last: number of the class that was found last */
};

/* Whether two members pay the same for a collective: their groups lie so, with such loads. */
static bool same_price(const struct ty_collective *all, uint32_t a, uint32_t b)
{
    const struct ty_member_load *load = all->load;
    if (memcmp(&all->reach[a], &all->reach[b], sizeof(*all->reach)) != 0) {
        return false;
    }
    return load == NULL || (all->what.exchange != NULL
                                ? load[a].rank == load[b].rank && load[a].node == load[b].node
                                : load[a].own == load[b].own);
}

/* A member before this one that pays the same; `member` itself where none is known. */
static uint32_t like(struct priced_members *p, const struct ty_collective *c, uint32_t member)
{
    for (uint32_t i = 0; c != NULL && i < p->n; i++) {
        const uint32_t k = (p->last + i) % p->n;
        if (same_price(c, p->member[k], member)) {
            p->last = k;
            return p->member[k];
        }
    }
    if (p->n < CLASSES) {
        p->member[p->n++] = member;
    }
    return member;
}

/* Prices one member by what `arg` is, `alone`: with its links to itself. Times in `out` are those
 * of all its calls together. */
typedef void cost_fn(const struct ty_lowering *l, const void *arg, uint32_t member, bool alone,
                     struct ty_coll_cost *out, double *seconds);

/* Costs of all members into l->cost_of, durations into dur[members]; whether they are equal. The
 * collective says which members pay alike; NULL: a message, which each pays by itself. */
static bool price_members(struct ty_lowering *l, const struct ty_collective *c, bool alone,
                          cost_fn *cost_of, const void *arg, ty_ps *dur)
{
    struct priced_members priced = {.n = 0};
    bool equal = true;
    for (uint32_t i = 0; i < l->members; i++) {
        const uint32_t known = like(&priced, c, i);
        if (known < i) {
            l->cost_of[i] = l->cost_of[known];
            dur[i] = dur[known];
        } else {
            double seconds = 0;
            l->cost_of[i] = (struct ty_coll_cost){.latency_s = 0};
            cost_of(l, arg, i, alone, &l->cost_of[i], &seconds);
            dur[i] = ty_lower_ps(l, seconds);
        }
        equal = equal && dur[i] == dur[0];
    }
    return equal;
}

/* ---- communication ---- */

static const enum ty_category category_of[TY_N_COMM_GROUPS] = {
#define X(id, name, stream, category) [TY_GROUP_##id] = TY_CAT_##category,
    TY_COMM_GROUPS(X)
#undef X
};

struct comm {
    const char *name, *group;
    enum ty_category category;
    enum ty_phase phase;
    double bytes;
    struct ty_reach reach;                  /* of the first member's group; empty: a message */
    struct ty_route route;                  /* whose links it takes */
    const struct ty_collective *collective; /* NULL: a message */
};

/* Of a message between nodes: NCCL_NCHANNELS_PER_NET_PEER (NVIDIA/nccl, issue 1424), an SM each. */
#define MESSAGE_SMS 2.0

/* What computation during a collective loses. */
static double slows(const struct ty_cluster *cluster, const struct ty_kind *kind,
                    const struct ty_collective *c)
{
    const bool between = kind->net_B > 0;
    if (c != NULL && c->what.exchange != NULL) {
        return ty_exchange_slows(cluster, c->what.exchange, between);
    }
    if (between && c != NULL && c->what.coll == TY_COLL_SEND_RECV) {
        return fmin(cluster->net.overlap_slowdown, MESSAGE_SMS / cluster->gpu.sms);
    }
    return between ? cluster->net.overlap_slowdown : cluster->nvlink.overlap_slowdown;
}

/* What members take with the links to themselves. */
static void add_flows(struct ty_lowering *l, struct ty_kind *kind, const struct comm *c,
                      cost_fn *cost_of, const void *arg)
{
    const struct ty_cluster *cluster = l->in->cluster;
    ty_ps *alone = ty_arena_array(l->arena, ty_ps, l->members);
    bool as_dur = true;
    if (alone == NULL) {
        out_of_memory(l);
        return;
    }
    const bool equal = price_members(l, c->collective, true, cost_of, arg, alone);
    for (uint32_t i = 0; i < l->members; i++) {
        as_dur = as_dur && alone[i] == ty_kind_duration(kind, i);
    }
    kind->alone = as_dur ? 0 : alone[0];
    kind->alone_of = equal || as_dur ? NULL : alone;
    if (c->reach.ranks > 1) {
        kind->slows = slows(cluster, kind, c->collective);
    }
    if (c->collective == NULL || !ty_lower_script(l, kind, c->collective, l->cost_of)) {
        ty_lower_flows(l, kind, &c->route, l->cost_of);
    }
}

static uint16_t comm_kind(struct ty_lowering *l, const struct comm *c, cost_fn *cost_of,
                          const void *arg)
{
    struct ty_kind kind = {.name = c->name,
                           .category = (uint8_t)c->category,
                           .phase = (uint8_t)c->phase,
                           .group = c->group,
                           .bytes = c->bytes,
                           .ranks = c->reach.ranks,
                           .nodes = c->reach.nodes,
                           .sharing = c->reach.sharing};
    ty_ps *dur = ty_arena_array(l->arena, ty_ps, l->members);
    if (dur == NULL) {
        return out_of_memory(l);
    }
    const bool equal = price_members(l, c->collective, false, cost_of, arg, dur);
    ty_lower_sent(l, &kind);
    kind.collective = c->collective != NULL ? ty_coll_name(c->collective->what.coll) : NULL;
    kind.algorithm = l->cost_of[0].algorithm != NULL ? l->cost_of[0].algorithm->name : NULL;
    kind.dur = dur[0];
    kind.dur_of = equal ? NULL : dur;
    kind.latency = c->collective != NULL ? ty_lower_ps(l, l->cost_of[0].latency_s) : 0;
    add_flows(l, &kind, c, cost_of, arg);
    return ty_lower_add_kind(l, &kind);
}

static void collective_cost(const struct ty_lowering *l, const void *arg, uint32_t member,
                            bool alone, struct ty_coll_cost *out, double *seconds)
{
    const struct ty_collective *c = arg;
    const double times = c->what.calls * l->in->cluster->collectives.derate;
    struct ty_reach reach = c->reach[member];
    struct ty_priced_comm what = c->what;
    struct ty_exchange loaded;
    reach.root = c->root;
    if (c->load != NULL && what.exchange != NULL) {
        loaded = *what.exchange;
        loaded.load = c->load[member].rank;
        loaded.node_load = c->load[member].node;
        what.exchange = &loaded;
    } else if (c->load != NULL) {
        what.bytes *= c->load[member].own;
    }
    *seconds = ty_price_comm(l->in->cluster, &what, &reach, alone, out);
    out->latency_s *= times;
    /* A derate below one makes collectives faster, not what they take of links larger than it
     * is. */
    out->transfer_s *= times > c->what.calls ? times : c->what.calls;
    out->nvlink_B *= c->what.calls;
    out->net_B *= c->what.calls;
}

/* What traces call a collective. */
static const char *name_of(const struct ty_priced_comm *what)
{
    return what->name != NULL ? what->name : ty_coll_name(what->coll);
}

static uint16_t collective_kind(struct ty_lowering *l, const char *group,
                                const struct ty_collective *c)
{
    const struct comm comm = {name_of(&c->what),
                              group,
                              category_of[c->what.group],
                              c->what.phase,
                              c->what.bytes * c->what.calls,
                              c->reach[0],
                              c->route,
                              c};
    return comm_kind(l, &comm, collective_cost, c);
}

/* Layers are alike: a kind of this pipeline rank that was made before; negative: there is none. */
static int known_kind(const struct ty_lowering *l, const char *group,
                      const struct ty_priced_comm *what)
{
    const struct ty_program *p = l->b.program;
    for (uint32_t k = l->here.first_kind; k < p->n_kinds; k++) {
        const struct ty_kind *kind = &p->kinds[k];
        if (kind->group == group && kind->phase == (uint8_t)what->phase &&
            !(kind->bytes < what->bytes || kind->bytes > what->bytes) &&
            strcmp(kind->name, name_of(what)) == 0) {
            return (int)k;
        }
    }
    return -1;
}

uint16_t ty_lower_group_kind(struct ty_lowering *l, const struct ty_priced_comm *what)
{
    const struct ty_lower_group *g = &l->links.group[what->group];
    const char *name = l->b.program->groups[g->link].name;
    const int known = known_kind(l, name, what);
    const struct ty_collective c = {
        .what = *what, .reach = g->reach, .root = TY_ROOT_EACH, .route = ty_route_group(g)};
    return known >= 0 ? (uint16_t)known : collective_kind(l, name, &c);
}

/* A message to or from a neighbouring stage: the wire occupies the sender, latency the receiver. */
struct message {
    uint32_t peer_stage;
    double bytes;
    bool receive;
};

static void message_cost(const struct ty_lowering *l, const void *arg, uint32_t member, bool alone,
                         struct ty_coll_cost *out, double *seconds)
{
    const struct message *m = arg;
    if (m->peer_stage == l->here.rank && l->in->cluster->nvlink.bandwidth <= 0) {
        *out = (struct ty_coll_cost){0}; /* nobody sends to itself, nor has it links for that */
        *seconds = 0;
        return;
    }
    ty_lower_message_cost(l, member, m->peer_stage, m->bytes, alone, out);
    *seconds = m->receive ? out->latency_s : out->transfer_s;
    out->latency_s = 0; /* it is the receiver's */
    if (m->receive) {
        out->nvlink_B = out->net_B = 0; /* counted where it is sent */
    }
}

static uint16_t message_kind(struct ty_lowering *l, bool receive, enum ty_phase phase,
                             uint32_t peer, double bytes)
{
    const struct ty_route route = {receive ? TY_ROUTE_NONE : TY_ROUTE_MESSAGE, 0,
                                   (const uint32_t[]){l->here.rank, peer}, 2, 1};
    const struct comm comm = {.name = receive ? "recv" : "send",
                              .group = "pp",
                              .category = TY_CAT_COMM_PIPELINE,
                              .phase = phase,
                              .bytes = bytes,
                              .route = route};
    const struct message m = {peer, bytes, receive};
    return comm_kind(l, &comm, message_cost, &m);
}

static bool is_comm(const struct ty_op_comm *a, const struct ty_op_comm *b)
{
    return a->group == b->group && a->coll == b->coll && a->calls == b->calls &&
           !(a->bytes < b->bytes || a->bytes > b->bytes) && a->name == b->name &&
           ty_exchange_is(&a->exchange, &b->exchange);
}

/* The same collective of an operator that was looked at before, in a pass of the same direction. */
static int same_comm(const struct ty_lowering *l, const struct ty_op_comm *comm, bool forward)
{
    for (enum ty_unit_kind u = 0; u < TY_N_UNIT_KINDS; u++) {
        for (uint32_t i = 0; i < l->prices->part->kind[u].n; i++) {
            for (enum ty_comm_place place = 0; place < TY_N_COMM_PLACES; place++) {
                const struct ty_op_comms *comms = &l->prices->part->kind[u].op[i].comms[place];
                for (uint32_t k = 0; k < comms->n; k++) {
                    const struct ty_op_comm *other = &comms->item[k];
                    if (other == comm) {
                        return -1;
                    }
                    if (forward == (place <= TY_AFTER_FORWARD) && is_comm(other, comm)) {
                        return l->here.comm.op[u][i][ty_comm_place(place, k)];
                    }
                }
            }
        }
    }
    return -1;
}

/* A collective around an operator; load: where members differ, else NULL. */
static uint16_t made_comm(struct ty_lowering *l, const struct ty_priced_comm *what,
                          const struct ty_member_load *load)
{
    const struct ty_lower_group *g = &l->links.group[what->group];
    const char *name = l->b.program->groups[g->link].name;
    struct ty_collective c = {
        .what = *what, .reach = g->reach, .route = ty_route_group(g), .load = load};
    if (what->exchange == NULL) {
        return collective_kind(l, name, &c);
    }
    struct ty_exchange overlapped = *what->exchange;
    c.what.coll = TY_COLL_ALL_TO_ALL;
    c.what.bytes = ty_exchange_bytes(what->exchange, g->reach[0].ranks);
    const uint16_t kind = collective_kind(l, name, &c);
    if (l->weaves) {
        overlapped.overlapped = true;
        c.what.exchange = &overlapped;
        (void)collective_kind(l, name, &c);
    }
    return kind;
}

uint16_t ty_lower_loaded_kind(struct ty_lowering *l, const struct ty_priced_comm *what,
                              uint16_t like, const struct ty_member_load *load)
{
    bool even = true;
    for (uint32_t m = 0; m < l->members; m++) {
        even = even && load[m].own == 1 && load[m].rank == 1 && load[m].node == 1;
    }
    return even ? like : made_comm(l, what, load);
}

/* Kinds of an operator's collectives in some slots. Those around it may be of several calls or
 * exchanges; the others, where they are as large, are alike. */
static void slot_kinds(struct ty_lowering *l, const struct ty_unit_op *op, uint32_t from,
                       uint32_t to, uint16_t *kind)
{
    for (uint32_t slot = from; slot < to; slot++) {
        struct ty_priced_comm what;
        kind[slot] = TY_NONE;
        if (!ty_price_slot(op, slot, &what)) {
            continue;
        }
        if (slot < TY_COMM_PLACE || slot >= TY_COMM_STEP) {
            kind[slot] = ty_lower_group_kind(l, &what);
            continue;
        }
        const uint32_t place = (slot - TY_COMM_PLACE) / TY_PLACE_COMMS;
        const int known =
            same_comm(l, &op->comms[place].item[(slot - TY_COMM_PLACE) % TY_PLACE_COMMS],
                      place <= TY_AFTER_FORWARD);
        kind[slot] = known >= 0 ? (uint16_t)known : made_comm(l, &what, NULL);
    }
}

/* Those of all operators; what only ranks of a grid say comes last. */
static void op_comm_kinds(struct ty_lowering *l)
{
    for (int grid = 0; grid < 2; grid++) {
        for (enum ty_unit_kind u = 0; u < TY_N_UNIT_KINDS; u++) {
            for (uint32_t i = 0; i < l->prices->part->kind[u].n; i++) {
                slot_kinds(l, &l->prices->part->kind[u].op[i], grid ? TY_COMM_STEP : 0,
                           grid ? TY_OP_COMMS : TY_COMM_STEP, l->here.comm.op[u][i]);
            }
        }
    }
}

/* Bytes of the hidden states of one pass: of a micro-batch, or a slice of one. */
static double hidden_bytes(const struct ty_lowering *l)
{
    return l->prices->part->shard.tokens * l->prices->part->shard.hidden *
           ty_dtype_bytes((enum ty_dtype)l->in->arch->dtype);
}

/* Ends of a pipeline whose ranks are of different shape have nothing to say to each other. */
static bool are_neighbours(const struct ty_lowering *l, uint32_t peer)
{
    return l->shapes.shape == NULL || peer == l->here.rank + 1 || peer + 1 == l->here.rank;
}

static uint16_t tensor_kind(struct ty_lowering *l, enum ty_coll coll, enum ty_phase phase,
                            double bytes)
{
    return ty_lower_group_kind(
        l, &(struct ty_priced_comm){
               .group = TY_GROUP_TENSOR, .coll = coll, .phase = phase, .bytes = bytes, .calls = 1});
}

static void message_kinds(struct ty_lowering *l)
{
    const struct ty_layout *layout = l->in->layout;
    const uint32_t p = l->shape.p, next = (l->here.rank + 1) % p,
                   previous = (l->here.rank + p - 1) % p;
    const uint32_t peer[2] = {next, previous};
    for (int back = 0; back < 2; back++) {
        const enum ty_phase phase = back ? TY_PHASE_BACKWARD : TY_PHASE_FORWARD;
        for (int k = 0; k < 2; k++) {
            if (!are_neighbours(l, peer[k])) {
                continue;
            }
            /* With sequence parallelism a rank holds its part of the sequence only. */
            const bool parts = layout->sequence_parallel || ty_lower_gathers_messages(l, peer[k]);
            const double bytes = hidden_bytes(l) / (parts ? layout->tensor : 1);
            l->here.comm.send[back][k] = message_kind(l, false, phase, peer[k], bytes);
            l->here.comm.recv[back][k] = message_kind(l, true, phase, peer[k], bytes);
        }
        /* forwards come from the previous rank, backwards from the next */
        const uint32_t from = back ? next : previous;
        l->here.comm.gather[back] = are_neighbours(l, from) && ty_lower_gathers_messages(l, from)
                                        ? tensor_kind(l, TY_COLL_ALL_GATHER, phase, hidden_bytes(l))
                                        : TY_NONE;
    }
}

/* What `at` says of each member; NULL: no memory. */
static const struct ty_reach *of_members(struct ty_lowering *l, const struct ty_reach *at)
{
    struct ty_reach *out = ty_arena_array(l->arena, struct ty_reach, l->members);
    for (uint32_t i = 0; out != NULL && i < l->members; i++) {
        out[i] = at[l->here.rank_of[i]];
    }
    return out;
}

static uint16_t norm_kind(struct ty_lowering *l, const struct ty_reach *at)
{
    const struct ty_reach *reaches = of_members(l, at);
    if (reaches == NULL) {
        return out_of_memory(l);
    }
    /* one fp32: nothing that a link would notice */
    const struct ty_collective norm = {.what = {.group = TY_GROUP_DATA,
                                                .coll = TY_COLL_ALL_REDUCE,
                                                .phase = TY_PHASE_STEP,
                                                .bytes = 4,
                                                .calls = 1},
                                       .reach = reaches};
    return collective_kind(l, l->in->layout->zero > 0 || l->shapes.shape != NULL ? "world" : "mp",
                           &norm);
}

uint16_t ty_lower_stages_kind(struct ty_lowering *l, const struct ty_stages *stages,
                              enum ty_coll coll, enum ty_phase phase, double bytes)
{
    struct ty_collective c = {
        .what = {.group = TY_GROUP_DATA, .coll = coll, .phase = phase, .bytes = bytes, .calls = 1},
        .route = {TY_ROUTE_STAGES, 0, stages->rank, stages->n, 1}};
    const int known = known_kind(l, stages->name, &c.what);
    if (known >= 0) {
        return (uint16_t)known;
    }
    c.reach = ty_lower_stages_reaches(l, stages);
    return c.reach == NULL ? out_of_memory(l) : collective_kind(l, stages->name, &c);
}

/* An all-reduce between two pipeline ranks that hold copies of the same weights. */
static uint16_t pair_kind(struct ty_lowering *l, const char *group, uint32_t a, uint32_t b,
                          double params)
{
    const uint32_t rank[2] = {a, b};
    const struct ty_stages stages = {group, rank, 2};
    return ty_lower_stages_kind(l, &stages, TY_COLL_ALL_REDUCE, TY_PHASE_STEP,
                                params * ty_memory_grad_bytes(l->in->layout));
}

/* ---- a pipeline rank ---- */

/* What orthogonalizing takes of this rank: gathers, and products. */
static void muon_kinds(struct ty_lowering *l, const struct ty_stage_plan *plan)
{
    const struct ty_layout *layout = l->in->layout;
    struct ty_cost cost[TY_GENERATIONS_MAX] = {{0}};
    struct ty_muon muon = {.work = {0, 0}};
    for (uint32_t k = 0; k < l->here.gpus->n_used; k++) {
        const uint32_t g = l->here.gpus->used[k];
        muon = ty_muon_of(&ty_exceptions_cluster(l->in->cluster, g)->gpu, layout, plan->units,
                          plan->count);
        cost[g] = muon.work;
    }
    l->here.orthogonalize =
        muon.work.seconds > 0
            ? ty_lower_compute_kind(l, "orthogonalization", TY_CAT_OPTIMIZER, TY_PHASE_STEP, cost)
            : TY_NONE;
    for (uint32_t i = 0; i < TY_MUON_GROUPS; i++) {
        const bool data = i % 2 == 1, owned = data && layout->zero == 3;
        const double bytes = data ? muon.data_B[i / 2] : muon.tensor_B[i / 2];
        const struct ty_priced_comm gather = {.group = ty_muon_groups[i],
                                              .coll =
                                                  owned ? TY_COLL_ALL_TO_ALL : TY_COLL_ALL_GATHER,
                                              .phase = TY_PHASE_STEP,
                                              .bytes = bytes,
                                              .calls = owned ? 2 : 1};
        l->here.comm.muon[i] = bytes > 0 ? ty_lower_group_kind(l, &gather) : TY_NONE;
    }
}

int ty_lower_rank_kinds(struct ty_lowering *l)
{
    for (enum ty_comm_group g = 0; g < TY_N_COMM_GROUPS; g++) {
        l->links.group[g].reach =
            l->links.group[g].at == NULL ? NULL : of_members(l, l->links.group[g].at);
        if (l->links.group[g].at != NULL && l->links.group[g].reach == NULL) {
            return ty_fail_memory(l->b.err);
        }
    }
    l->here.first_kind = l->b.program->n_kinds;
    op_comm_kinds(l);
    message_kinds(l);
    l->here.comm.grad_norm = norm_kind(l, l->links.norm_at);
    if (l->links.expert_norm_meet != TY_NONE) {
        l->here.comm.expert_norm = norm_kind(l, l->links.expert_norm_at);
    }
    const struct ty_stage_plan *plan = &l->out->stage[l->here.rank];
    if (l->links.tied_meet != TY_NONE && ty_lower_alike(l, 0, l->here.rank)) {
        l->here.comm.tied = pair_kind(l, "embedding", 0, l->shape.p - 1,
                                      (double)l->in->arch->vocabulary * l->in->arch->hidden /
                                          l->prices->units->shard.ranks);
    }
    if (l->links.mirror_meet != NULL) {
        l->here.comm.mirror = pair_kind(
            l, "mirror", l->here.rank, l->shape.p - 1 - l->here.rank,
            l->in->layout->zero > 0 ? ty_layout_shard(l->in->layout, plan->params, plan->experts)
                                    : plan->params);
    }
    l->here.comm.norm_grads = TY_NONE;
    /* of weights that every tensor rank has: it sees part of the tokens */
    if (l->in->layout->sequence_parallel && plan->whole > 0) {
        l->here.comm.norm_grads = tensor_kind(l, TY_COLL_ALL_REDUCE, TY_PHASE_STEP,
                                              plan->whole * ty_memory_grad_bytes(l->in->layout));
    }
    muon_kinds(l, plan);
    l->here.optimizer =
        ty_lower_optimizer_kind(l, ty_optimizer_params(l->in->layout, plan->params, plan->experts));
    l->here.host = ty_lower_host_kind(l);
    return l->b.code;
}
