/* lower_kinds.c - kinds of communication and their durations.
 *
 * They depend on where a group lies: the duration is worked out member by member and stored member
 * by member only where it differs. */
#include "model/lower_internal.h"

#include <string.h>

#include "model/kernels_internal.h"

uint16_t ty_lower_add_kind(struct ty_lowering *l, const struct ty_kind *kind)
{
    const int index = ty_build_kind(&l->b, kind);
    return index < 0 ? 0 : (uint16_t)index;
}

/* Remembers that memory ran out; what is returned is never used. */
static uint16_t out_of_memory(struct ty_lowering *l)
{
    if (!l->b.failed) {
        l->b.failed = true;
        ty_fail(l->b.err, TY_ENOMEM, "lowering: out of memory");
    }
    return 0;
}

ty_ps ty_lower_ps(struct ty_lowering *l, double seconds)
{
    ty_ps ps = 0;
    if (ty_ps_from_s(seconds, &ps) < 0 && !l->b.failed) {
        l->b.failed = true;
        ty_fail(l->b.err, TY_EINPUT,
                "an operation takes %g s, which the simulated clock cannot hold; check the "
                "cluster's rates and latencies",
                seconds);
    }
    return ps;
}

/* ---- communication ---- */

struct comm {
    const char *name, *group;
    enum ty_category category;
    enum ty_phase phase;
    double bytes;
    struct ty_reach reach; /* of the first member's group; empty: a message */
};

/* Seconds and traffic of every member, through `cost_of`. */
typedef void cost_fn(const struct ty_lowering *l, const void *arg, uint32_t member,
                     struct ty_coll_cost *out, double *seconds);

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
    bool equal = true;
    for (uint32_t i = 0; dur != NULL && i < l->members; i++) {
        struct ty_coll_cost cost = {.latency_s = 0};
        double seconds = 0;
        cost_of(l, arg, i, &cost, &seconds);
        dur[i] = ty_lower_ps(l, seconds);
        equal = equal && dur[i] == dur[0];
        kind.nvlink_B += cost.nvlink_B / l->members;
        kind.net_B += cost.net_B / l->members;
        if (i == 0 && cost.algorithm != NULL) {
            kind.algorithm = cost.algorithm->name;
        }
    }
    if (dur == NULL) {
        return out_of_memory(l);
    }
    kind.dur = dur[0];
    kind.dur_of = equal ? NULL : dur;
    return ty_lower_add_kind(l, &kind);
}

struct collective {
    enum ty_coll coll;
    const struct ty_reach *reach; /* [members] */
    double bytes;
    double calls; /* one after the other, drawn as one */
};

static void collective_cost(const struct ty_lowering *l, const void *arg, uint32_t member,
                            struct ty_coll_cost *out, double *seconds)
{
    const struct collective *c = arg;
    ty_coll_cost(l->in->cluster, NULL, c->coll, c->bytes, &c->reach[member], out);
    *seconds = ty_coll_seconds(out) * c->calls * l->in->cluster->collective_derate;
    out->nvlink_B *= c->calls;
    out->net_B *= c->calls;
}

static uint16_t collective_kind(struct ty_lowering *l, const char *group, enum ty_category category,
                                enum ty_phase phase, const struct collective *c)
{
    const struct comm comm = {ty_coll_name(c->coll), group,      category, phase,
                              c->bytes * c->calls,   c->reach[0]};
    return comm_kind(l, &comm, collective_cost, c);
}

static uint16_t tensor_kind(struct ty_lowering *l, enum ty_coll coll, enum ty_phase phase,
                            double bytes, double calls)
{
    const struct collective c = {coll, l->tensor_reach, bytes, calls};
    return collective_kind(l, "tp", TY_CAT_COMM_TENSOR, phase, &c);
}

/* Layers are alike: a kind made before is used again. */
static uint16_t shared_kind(struct ty_lowering *l, const char *group, enum ty_phase phase,
                            const struct collective *c)
{
    const struct ty_program *p = l->b.program;
    for (uint32_t k = l->first_kind; k < p->n_kinds; k++) {
        const struct ty_kind *kind = &p->kinds[k];
        if (kind->group == group && kind->phase == (uint8_t)phase && kind->bytes == c->bytes &&
            strcmp(kind->name, ty_coll_name(c->coll)) == 0) {
            return (uint16_t)k;
        }
    }
    return collective_kind(l, group, TY_CAT_COMM_DATA, phase, c);
}

uint16_t ty_lower_data_kind(struct ty_lowering *l, enum ty_coll coll, enum ty_phase phase,
                            double bytes)
{
    const struct collective c = {coll, l->data_reach, bytes, 1};
    return shared_kind(l, l->b.program->groups[l->data_group].name, phase, &c);
}

uint16_t ty_lower_replica_kind(struct ty_lowering *l, double bytes)
{
    const struct collective c = {TY_COLL_ALL_REDUCE, l->replica_reach, bytes, 1};
    return shared_kind(l, l->b.program->groups[l->replica_group].name, TY_PHASE_BACKWARD, &c);
}

/* The node of what corresponds to a member on another pipeline rank. */
static uint32_t node_on(const struct ty_lowering *l, uint32_t member, uint32_t pipeline_rank)
{
    const struct ty_grid *grid = &l->out->grid;
    uint32_t coord[TY_N_AXES];
    ty_grid_coords(grid, l->rank_of[member], coord);
    coord[TY_AXIS_PIPELINE] = pipeline_rank;
    return ty_grid_node(grid, ty_grid_rank(grid, coord));
}

/* A message to or from a neighbouring stage: the wire occupies the sender, latency the receiver. */
struct message {
    uint32_t peer_stage;
    double bytes;
    bool receive;
};

static void message_cost(const struct ty_lowering *l, const void *arg, uint32_t member,
                         struct ty_coll_cost *out, double *seconds)
{
    const struct message *m = arg;
    const bool same = node_on(l, member, m->peer_stage) == node_on(l, member, l->rank);
    ty_p2p_cost(l->in->cluster, same, m->bytes, out);
    *seconds = m->receive ? out->latency_s : out->transfer_s;
    if (m->receive) {
        out->nvlink_B = out->net_B = 0; /* counted where it is sent */
    }
}

static uint16_t message_kind(struct ty_lowering *l, bool receive, enum ty_phase phase,
                             uint32_t peer, double bytes)
{
    const struct comm comm = {
        receive ? "recv" : "send", "pp", TY_CAT_COMM_PIPELINE, phase, bytes, {.ranks = 0}};
    const struct message m = {peer, bytes, receive};
    return comm_kind(l, &comm, message_cost, &m);
}

/* Tokens of one pass: a micro-batch, or a slice of one. */
static double tokens_of(const struct ty_lowering *l)
{
    return (double)l->in->layout->micro_batch * l->in->arch->sequence / l->shape.slices;
}

/* Bytes of their hidden states. */
static double hidden_bytes(const struct ty_lowering *l)
{
    return tokens_of(l) * l->in->arch->hidden * ty_dtype_bytes((enum ty_dtype)l->in->arch->dtype);
}

static void tensor_kinds(struct ty_lowering *l)
{
    const double bytes = hidden_bytes(l);
    const double tokens = tokens_of(l);
    for (int back = 0; back < 2; back++) {
        const enum ty_phase phase = back ? TY_PHASE_BACKWARD : TY_PHASE_FORWARD;
        l->comm.all_reduce[back] = tensor_kind(l, TY_COLL_ALL_REDUCE, phase, bytes, 1);
        l->comm.all_gather[back] = tensor_kind(l, TY_COLL_ALL_GATHER, phase, bytes, 1);
        l->comm.reduce_scatter[back] = tensor_kind(l, TY_COLL_REDUCE_SCATTER, phase, bytes, 1);
    }
    /* Shoeybi et al. 2019, section 3: logits stay sharded; fp32 maximum, target logit and sum of
     * exponentials of each token are reduced. */
    l->comm.loss = tensor_kind(l, TY_COLL_ALL_REDUCE, TY_PHASE_FORWARD, 4 * tokens, 3);
}

static void message_kinds(struct ty_lowering *l)
{
    const struct ty_layout *layout = l->in->layout;
    const uint32_t p = l->shape.p, next = (l->rank + 1) % p, previous = (l->rank + p - 1) % p;
    /* With sequence parallelism a rank holds, and sends, its part of the sequence only. */
    const double bytes = hidden_bytes(l) / (layout->sequence_parallel ? layout->tensor : 1);
    const uint32_t peer[2] = {next, previous};
    for (int back = 0; back < 2; back++) {
        const enum ty_phase phase = back ? TY_PHASE_BACKWARD : TY_PHASE_FORWARD;
        for (int k = 0; k < 2; k++) {
            l->comm.send[back][k] = message_kind(l, false, phase, peer[k], bytes);
            l->comm.recv[back][k] = message_kind(l, true, phase, peer[k], bytes);
        }
    }
}

/* What `at` says of each member; NULL: no memory. */
static const struct ty_reach *of_members(struct ty_lowering *l, const struct ty_reach *at)
{
    struct ty_reach *out = ty_arena_array(l->arena, struct ty_reach, l->members);
    for (uint32_t i = 0; out != NULL && i < l->members; i++) {
        out[i] = at[l->rank_of[i]];
    }
    return out;
}

static void norm_kind(struct ty_lowering *l)
{
    const struct ty_reach *reaches = of_members(l, l->norm_at);
    if (reaches == NULL) {
        out_of_memory(l);
        return;
    }
    const struct collective norm = {TY_COLL_ALL_REDUCE, reaches, 4, 1}; /* one fp32 */
    l->comm.grad_norm = collective_kind(l, l->in->layout->zero > 0 ? "world" : "mp",
                                        TY_CAT_COMM_DATA, TY_PHASE_STEP, &norm);
}

/* Where pairs of members of pipeline ranks a and b lie; sharing as in struct ty_reach. */
static const struct ty_reach *pair_reaches(struct ty_lowering *l, uint32_t a, uint32_t b)
{
    struct ty_reach *out = ty_arena_array(l->arena, struct ty_reach, l->members);
    uint32_t *inside = ty_arena_array(l->arena, uint32_t, ty_grid_nodes(&l->out->grid));
    uint32_t *leaving = ty_arena_array(l->arena, uint32_t, ty_grid_nodes(&l->out->grid));
    if (out == NULL || inside == NULL || leaving == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < l->members; i++) {
        const uint32_t at = node_on(l, i, a), other = node_on(l, i, b);
        inside[at] += at == other;
        leaving[at] += at != other;
        leaving[other] += at != other;
    }
    for (uint32_t i = 0; i < l->members; i++) {
        const uint32_t at = node_on(l, i, a), other = node_on(l, i, b);
        const uint32_t most = leaving[at] > leaving[other] ? leaving[at] : leaving[other];
        out[i] = at == other ? (struct ty_reach){2, 1, 2, inside[at] + leaving[at], 2}
                             : (struct ty_reach){2, 2, 1, most, 1};
    }
    return out;
}

/* An all-reduce between two pipeline ranks that hold copies of the same weights. */
static uint16_t pair_kind(struct ty_lowering *l, const char *group, uint32_t a, uint32_t b,
                          double params)
{
    const struct ty_reach *reaches = pair_reaches(l, a, b);
    if (reaches == NULL) {
        return out_of_memory(l);
    }
    const struct collective c = {TY_COLL_ALL_REDUCE, reaches,
                                 params * ty_memory_grad_bytes(l->in->layout), 1};
    return collective_kind(l, group, TY_CAT_COMM_DATA, TY_PHASE_STEP, &c);
}

/* Where the groups of all members lie: equal members of several pipeline ranks. touch[nodes] counts
 * groups that have ranks on a node, and seen[nodes] those of the group at work. */
static void reach_stages(const struct ty_lowering *l, const struct ty_stages *stages,
                         uint32_t *touch, uint32_t *seen, struct ty_reach *out)
{
    const struct ty_grid *grid = &l->out->grid;
    for (int sharing = 0; sharing < 2; sharing++) { /* once all touches are counted */
        for (uint32_t i = 0; i < l->members; i++) {
            struct ty_reach reach = {.ranks = stages->n, .sharing = 1};
            uint32_t coord[TY_N_AXES];
            ty_grid_coords(grid, l->rank_of[i], coord);
            for (uint32_t s = 0; s < stages->n; s++) {
                coord[TY_AXIS_PIPELINE] = stages->rank[s];
                const uint32_t node = ty_grid_node(grid, ty_grid_rank(grid, coord));
                const uint32_t mine = ++seen[node];
                reach.nodes += mine == 1;
                reach.per_node = mine > reach.per_node ? mine : reach.per_node;
                reach.sharing = touch[node] > reach.sharing ? touch[node] : reach.sharing;
                touch[node] += sharing == 0 && mine == 1;
            }
            for (uint32_t s = 0; s < stages->n; s++) {
                coord[TY_AXIS_PIPELINE] = stages->rank[s];
                seen[ty_grid_node(grid, ty_grid_rank(grid, coord))] = 0;
            }
            out[i] = reach;
        }
    }
}

static uint32_t top_node(const struct ty_grid *grid)
{
    uint32_t top = 0;
    for (uint32_t r = 0; r < grid->n_ranks; r++) {
        const uint32_t node = ty_grid_node(grid, r);
        top = node > top ? node : top;
    }
    return top;
}

uint16_t ty_lower_stages_kind(struct ty_lowering *l, const struct ty_stages *stages,
                              enum ty_coll coll, enum ty_phase phase, double bytes)
{
    const struct ty_program *p = l->b.program;
    for (uint32_t k = l->first_kind; k < p->n_kinds; k++) {
        const struct ty_kind *kind = &p->kinds[k];
        if (kind->group == stages->name && kind->phase == (uint8_t)phase &&
            !(kind->bytes < bytes || kind->bytes > bytes) &&
            strcmp(kind->name, ty_coll_name(coll)) == 0) {
            return (uint16_t)k;
        }
    }
    const size_t nodes = (size_t)top_node(&l->out->grid) + 1;
    struct ty_reach *reach = ty_arena_array(l->arena, struct ty_reach, l->members);
    uint32_t *touch = ty_arena_array(l->arena, uint32_t, 2 * nodes);
    if (reach == NULL || touch == NULL) {
        return out_of_memory(l);
    }
    reach_stages(l, stages, touch, touch + nodes, reach);
    const struct collective c = {coll, reach, bytes, 1};
    return collective_kind(l, stages->name, TY_CAT_COMM_DATA, phase, &c);
}

/* ---- a pipeline rank ---- */

int ty_lower_reaches(struct ty_lowering *l)
{
    const struct ty_layout *layout = l->in->layout;
    const struct ty_grid *grid = &l->out->grid;
    const struct ty_grid shard = ty_layout_shard_grid(layout, grid);
    const struct ty_grid replica = ty_layout_replica_grid(layout, grid);
    const unsigned all = (1u << TY_N_AXES) - 1, data = 1u << TY_AXIS_DATA;
    l->tensor_at = ty_grid_reaches(grid, 1u << TY_AXIS_TENSOR, l->arena);
    l->data_at = ty_grid_reaches(&shard, data, l->arena);
    l->replica_at = ty_grid_reaches(&replica, data, l->arena);
    l->norm_at = ty_grid_reaches(&shard, layout->zero > 0 ? all : all & ~data, l->arena);
    return l->tensor_at != NULL && l->data_at != NULL && l->replica_at != NULL && l->norm_at != NULL
               ? 0
               : ty_fail(l->b.err, TY_ENOMEM, "lowering: out of memory");
}

int ty_lower_rank_kinds(struct ty_lowering *l)
{
    l->tensor_reach = of_members(l, l->tensor_at);
    l->data_reach = of_members(l, l->data_at);
    l->replica_reach = of_members(l, l->replica_at);
    if (l->tensor_reach == NULL || l->data_reach == NULL || l->replica_reach == NULL) {
        return ty_fail(l->b.err, TY_ENOMEM, "lowering: out of memory");
    }
    l->first_kind = l->b.program->n_kinds;
    tensor_kinds(l);
    message_kinds(l);
    norm_kind(l);
    const struct ty_stage_plan *plan = &l->out->stage[l->rank];
    if (l->tied_meet != TY_NONE) {
        l->comm.tied = pair_kind(l, "embedding", 0, l->shape.p - 1,
                                 (double)l->in->arch->vocabulary * l->in->arch->hidden /
                                     l->in->layout->tensor);
    }
    if (l->mirror_meet != NULL) {
        l->comm.mirror =
            pair_kind(l, "mirror", l->rank, l->shape.p - 1 - l->rank,
                      l->in->layout->zero > 0 ? plan->params / ty_layout_shards(l->in->layout)
                                              : plan->params);
    }
    /* norms under sequence parallelism see part of the tokens: their gradients are summed */
    l->comm.norm_grads = tensor_kind(
        l, TY_COLL_ALL_REDUCE, TY_PHASE_STEP,
        2.0 * l->in->arch->hidden * plan->n_layers * ty_memory_grad_bytes(l->in->layout), 1);
    l->optimizer =
        ty_lower_compute_kind(l, "optimizer step", TY_CAT_OPTIMIZER, TY_PHASE_STEP,
                              ty_optimizer_cost(l->in->cluster, l->in->layout, plan->params));
    return l->b.failed && l->b.err != NULL ? l->b.err->code : 0;
}
