/* units.c - the parameters of a stage: units, their parts, and the buckets of gradients.
 *
 * Gradients become known in reverse order of use, matrix by matrix. A bucket takes whole matrices
 * and closes as soon as it holds as much as it should (PyTorch's DistributedDataParallel, whose
 * first bucket is small so that reduction begins early; Megatron-LM does the same with one size).
 * It is reduced when the part of the layer that it closes in, attention or MLP, has run its
 * backward. What is left when the first parameter is reached, the embedding as a rule, is the last
 * bucket: no computation is left that could hide it. ZeRO-3 reduces unit by unit, as it gathers.
 *
 * Gradients of experts fill buckets of their own: other ranks have the same experts than have the
 * same rest of a layer. What a rank has alone is in no bucket. */
#include "model/lower/internal.h"

#include <assert.h>
#include <math.h>

/* Weights of a part in the order their gradients become known. */
static uint32_t pieces_of(const struct ty_lowering *l, const struct ty_unit *unit,
                          enum ty_part part, const struct ty_weight *piece[TY_PIECES])
{
    const struct ty_unit_ops *ops = &l->units->kind[unit->kind];
    uint32_t n = 0;
    for (uint32_t i = ops->n; i > 0; i--) {
        const struct ty_unit_op *op = &ops->op[i - 1];
        for (uint32_t k = op->n_weights; k > 0 && op->part == part; k--) {
            assert(n < TY_PIECES);
            piece[n++] = &op->weights[k - 1];
        }
    }
    return n;
}

static void close_bucket(struct ty_lowering *l, struct ty_unit_part *part, enum ty_comm_group group,
                         double params)
{
    assert(part->n_buckets < TY_COUNT(part->bucket));
    struct ty_grad_bucket *bucket = &part->bucket[part->n_buckets++];
    const bool whole = l->zero->gather_after_step && !l->in->layout->framework.reduce_scatter;
    const double bytes = params * ty_memory_reduced_bytes(l->in->layout);
    bucket->group = (uint8_t)group;
    bucket->params = params;
    const bool experts = group == TY_GROUP_EXPERT_DATA, shared = ty_lower_is_shared(l, group);
    const uint32_t shards =
        experts ? ty_layout_expert_shards(l->in->layout) : ty_layout_shards(l->in->layout);
    bucket->reduce =
        shared ? ty_lower_group_kind(l, group, whole ? TY_COLL_ALL_REDUCE : l->zero->reduce,
                                     TY_PHASE_BACKWARD, bytes)
               : TY_NONE;
    bucket->replicate = ty_lower_is_hybrid(l)
                            ? ty_lower_group_kind(l, TY_GROUP_REPLICA, TY_COLL_ALL_REDUCE,
                                                  TY_PHASE_BACKWARD, bytes / shards)
                            : TY_NONE;
    bucket->regain = shared && l->zero->gather_after_step
                         ? ty_lower_group_kind(l, group, TY_COLL_ALL_GATHER, TY_PHASE_STEP,
                                               params * ty_memory_weight_bytes(l->in->layout))
                         : TY_NONE;
}

/* Whether gradients of a group are those of one rank only. */
static bool adds_up(const struct ty_lowering *l, enum ty_comm_group group)
{
    return ty_lower_is_shared(l, group) || ty_lower_is_hybrid(l);
}

/* Buckets that are filling, one for each group that adds up gradients. */
struct filling {
    double held[TY_N_COMM_GROUPS], limit[TY_N_COMM_GROUPS];
    double rest; /* parameters in a bucket but the first */
};

static void close_filling(struct ty_lowering *l, struct filling *f, struct ty_unit_part *part,
                          enum ty_comm_group group)
{
    if (f->held[group] > 0) {
        close_bucket(l, part, group, f->held[group]);
        f->held[group] = 0;
        f->limit[group] = f->rest;
    }
}

/* Units from the last to the first, matrices in the order of their gradients. */
static void make_buckets(struct ty_lowering *l, struct ty_vstage *v)
{
    struct filling f = {.rest = ty_layout_bucket_params(l->in->layout)};
    for (enum ty_comm_group g = 0; g < TY_N_COMM_GROUPS; g++) {
        f.limit[g] = ty_layout_first_bucket_params(l->in->layout);
    }
    for (uint32_t u = v->n_units; u > 0; u--) {
        struct ty_unit *unit = &v->units[u - 1];
        for (uint32_t k = unit->n_parts; k > 0; k--) {
            struct ty_unit_part *part = &unit->part[k - 1];
            const struct ty_weight *piece[TY_PIECES];
            const uint32_t n = pieces_of(l, unit, part->part, piece);
            for (uint32_t i = 0; i < n; i++) {
                const enum ty_comm_group group = (enum ty_comm_group)piece[i]->group;
                f.held[group] += adds_up(l, group) ? piece[i]->params : 0;
                if (f.held[group] >= f.limit[group]) {
                    close_filling(l, &f, part, group);
                }
            }
        }
    }
    for (enum ty_comm_group g = 0; v->n_units > 0 && g < TY_N_COMM_GROUPS; g++) {
        close_filling(l, &f, &v->units[0].part[0], g);
    }
}

/* The parts of a unit, in forward order. */
static void find_parts(const struct ty_lowering *l, struct ty_unit *unit)
{
    const struct ty_unit_ops *ops = &l->units->kind[unit->kind];
    for (uint32_t i = 0; i < ops->n; i++) {
        if (i == 0 || ops->op[i].part != ops->op[i - 1].part) {
            assert(unit->n_parts < TY_COUNT(unit->part));
            unit->part[unit->n_parts++].part = ops->op[i].part;
        }
    }
}

/* ZeRO-3: parameters that are gathered together, and reduced when a part has run backward. The kind
 * of the gather. */
static uint16_t share(struct ty_lowering *l, struct ty_unit_part *part, enum ty_comm_group group,
                      double params)
{
    if (params <= 0) {
        return TY_NONE;
    }
    const uint16_t gather =
        ty_lower_is_shared(l, group)
            ? ty_lower_group_kind(l, group, TY_COLL_ALL_GATHER, TY_PHASE_FORWARD,
                                  params * ty_memory_weight_bytes(l->in->layout))
            : TY_NONE;
    close_bucket(l, part, group, params);
    return gather;
}

static void make_unit(struct ty_lowering *l, struct ty_unit *unit, enum ty_unit_kind kind,
                      uint16_t layer)
{
    const struct ty_unit_ops *ops = &l->units->kind[kind];
    const double apart = ty_layout_experts_apart(l->in->layout) ? ty_unit_experts(ops) : 0;
    *unit = (struct ty_unit){
        .kind = kind, .layer = layer, .gather = TY_NONE, .gather_experts = TY_NONE};
    unit->params = adds_up(l, TY_GROUP_DATA) ? ty_unit_params(ops) - apart : 0;
    unit->experts = adds_up(l, TY_GROUP_EXPERT_DATA) ? apart : 0;
    find_parts(l, unit);
    if (l->zero->gather_in_passes) {
        unit->gather = share(l, &unit->part[0], TY_GROUP_DATA, unit->params);
        /* they are a module of their own, and done with before the rest is */
        unit->gather_experts =
            share(l, &unit->part[unit->n_parts - 1], TY_GROUP_EXPERT_DATA, unit->experts);
    }
}

/* Buckets take turns, from the last to the first. */
static void number_buckets(const struct ty_vstage *v)
{
    bool odd = false;
    for (uint32_t at = 0; at < 2 * v->n_units; at++) {
        struct ty_unit_part *part = &v->units[at / 2].part[at % 2];
        for (uint32_t i = part->n_buckets; i > 0; i--, odd = !odd) {
            part->bucket[i - 1].odd = odd;
        }
    }
}

int ty_lower_units(struct ty_lowering *l, uint32_t stage, struct ty_vstage *v)
{
    const uint32_t stages = ty_sched_stages(&l->shape);
    const struct ty_layers layers = ty_layout_layers(l->in->layout, l->in->arch, stages, stage);
    const uint32_t further = stage == stages - 1 ? l->in->arch->mtp : 0;
    v->units = ty_arena_array(l->arena, struct ty_unit, layers.count + 3 * further + 2);
    if (v->units == NULL) {
        return ty_fail_memory(l->b.err);
    }
    if (stage == 0) {
        make_unit(l, &v->units[v->n_units++], TY_UNIT_EMBEDDING, TY_NONE);
    }
    for (uint32_t i = 0; i < layers.count; i++) {
        const uint32_t layer = layers.first + i;
        make_unit(l, &v->units[v->n_units++], ty_layer_kind(l->in->arch, &layers, i),
                  (uint16_t)layer);
    }
    for (uint32_t i = 0; i < further; i++) {
        const uint32_t layer = l->in->arch->layers + i;
        make_unit(l, &v->units[v->n_units++], TY_UNIT_MTP, TY_NONE);
        make_unit(l, &v->units[v->n_units++], ty_layer_kind(l->in->arch, &layers, layers.count + i),
                  (uint16_t)layer);
        make_unit(l, &v->units[v->n_units++], TY_UNIT_MTP_HEAD, TY_NONE);
    }
    if (stage == stages - 1) {
        make_unit(l, &v->units[v->n_units++], TY_UNIT_HEAD, TY_NONE);
    }
    if (!l->zero->gather_in_passes) {
        make_buckets(l, v);
    }
    number_buckets(v);
    return ty_lower_route(l, v);
}

/* Most parameters in `window` neighbouring units of one of the stages; 0: in all units of all. */
static double most_params(const struct ty_vstage *const *v, uint32_t n, uint32_t window)
{
    double most = 0, all = 0;
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t i = 0; i < v[s]->n_units; i++) {
            double sum = 0;
            for (uint32_t k = i; k < v[s]->n_units && k - i < window; k++) {
                sum += v[s]->units[k].params + v[s]->units[k].experts;
            }
            most = sum > most ? sum : most;
            all += v[s]->units[i].params + v[s]->units[i].experts;
        }
    }
    return window == 0 ? all : most;
}

/* Parameters of the second largest stage: one is added up while the one before it, another, is
 * reduced whole, as buckets of a stage do not wait for each other. */
static double second_params(const struct ty_vstage *const *v, uint32_t n)
{
    double most = 0, second = 0;
    for (uint32_t s = 0; s < n; s++) {
        const double params = most_params(&v[s], 1, 0);
        second = fmax(second, fmin(params, most));
        most = fmax(most, params);
    }
    return second;
}

/* Gradients that are made, and reduced beside that: of neighbouring buckets, most bytes. `added`:
 * what is made is added to what is there already, and counts for nothing. */
static void most_reduced(const struct ty_lowering *l, const struct ty_vstage *v, bool added,
                         struct ty_whole *whole)
{
    const double made_B = ty_memory_grad_bytes(l->in->layout);
    const double reduced_B = ty_memory_reduced_bytes(l->in->layout);
    double before = 0;
    for (uint32_t at = 2 * v->n_units; at > 0; at--) {
        const struct ty_unit_part *part = &v->units[(at - 1) / 2].part[(at - 1) % 2];
        for (uint32_t i = 0; i < part->n_buckets; i++) {
            const double params = part->bucket[i].params, made = added ? 0 : params;
            const double reduced = added && params > before ? params : before;
            if (made_B * made + reduced_B * reduced >
                made_B * whole->made + reduced_B * whole->reduced) {
                whole->made = made;
                whole->reduced = reduced;
            }
            before = params;
        }
    }
}

struct ty_whole ty_lower_whole(const struct ty_lowering *l, const struct ty_vstage *const *v,
                               uint32_t n)
{
    const struct ty_layout *layout = l->in->layout;
    const struct ty_framework *f = &layout->framework;
    const bool reshards = ty_layout_does(layout, f->reshard_after_forward) &&
                          ty_layout_does(layout, f->reshard_after_backward);
    const uint32_t window = !reshards ? 0 : l->sched->whole_chunks ? UINT32_MAX : 1 + f->prefetch;
    const enum ty_reduces when = ty_layout_reduces(layout);
    const bool chunk =
        when == TY_REDUCES_RUN || (when == TY_REDUCES_EVERY && l->sched->whole_chunks);
    const bool adds = (chunk || when == TY_REDUCES_LAST) && ty_layout_adds_up(layout);
    const bool in_place = adds && ty_memory_added_bytes(layout) == ty_memory_grad_bytes(layout);
    struct ty_whole whole = {.gathered = l->zero->gather_in_passes ? most_params(v, n, window) : 0,
                             .added = chunk && adds ? most_params(v, n, UINT32_MAX) : 0};
    for (uint32_t s = 0; s < n; s++) {
        most_reduced(l, v[s], in_place, &whole);
    }
    if (layout->zero == 2 && whole.added > 0) {
        whole.reduced = fmax(whole.reduced, second_params(v, n));
    }
    return whole;
}
