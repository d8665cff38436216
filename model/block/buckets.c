/* buckets.c - cuts the gradients of a stage into buckets. */
#include "model/block/buckets.h"

#include <assert.h>
#include <math.h>

#include "model/zero.h"

/* ---- the gradients of a unit ---- */

static void find_parts(const struct ty_unit_ops *ops, struct ty_grad_unit *unit)
{
    for (uint32_t i = 0; i < ops->n; i++) {
        if (i == 0 || ops->op[i].part != ops->op[i - 1].part) {
            assert(unit->n_parts < TY_COUNT(unit->part));
            unit->part[unit->n_parts++] = ops->op[i].part;
        }
    }
}

static void add_piece(struct ty_grad_unit *unit, double params, uint8_t group, uint32_t part)
{
    assert(unit->n < TY_COUNT(unit->piece));
    unit->piece[unit->n++] =
        (struct ty_grad_piece){.params = params, .group = group, .part = (uint8_t)part};
}

/* A bias comes with its matrix, or `apart` by itself. */
static void find_pieces(const struct ty_unit_ops *ops, struct ty_grad_unit *unit, bool apart)
{
    for (uint32_t part = unit->n_parts; part > 0; part--) {
        for (uint32_t i = ops->n; i > 0; i--) {
            const struct ty_unit_op *op = &ops->op[i - 1];
            const bool here = op->part == unit->part[part - 1] && !op->frozen;
            for (uint32_t k = op->n_weights; k > 0 && here; k--) {
                const struct ty_weight *weight = &op->weights[k - 1];
                const double beside = apart ? weight->beside : 0;
                if (beside > 0) {
                    add_piece(unit, beside, weight->group, part - 1);
                }
                add_piece(unit, weight->params - beside, weight->group, part - 1);
            }
        }
    }
}

/* Whether gradients of a group are those of more than one rank, or leave the GPU. */
static bool adds_up(const struct ty_layout *layout, enum ty_comm_group group)
{
    const uint32_t shards =
        group == TY_GROUP_EXPERT_DATA ? ty_layout_expert_shards(layout) : ty_layout_shards(layout);
    return shards > 1 || ty_layout_replicas(layout) > 1 || layout->home.share > 0;
}

void ty_grads_make(struct ty_grads *grads, const struct ty_units *units,
                   const struct ty_layout *layout)
{
    *grads = (struct ty_grads){{{.n = 0}}};
    for (enum ty_unit_kind k = 0; k < TY_N_UNIT_KINDS; k++) {
        struct ty_grad_unit *unit = &grads->kind[k];
        const struct ty_unit_ops *ops = &units->kind[k];
        find_parts(ops, unit);
        find_pieces(ops, unit, ty_layout_gathers_modules(layout));
        unit->experts = ty_layout_experts_apart(layout) ? ty_unit_experts(ops) : 0;
        unit->params = ty_unit_trained_params(ops);
        const double weight_B = ty_memory_weight_bytes(layout);
        unit->gathered = unit->params + ty_unit_frozen_bytes(ops, false) / weight_B;
        unit->gathered_experts =
            unit->experts +
            (ty_layout_experts_apart(layout) ? ty_unit_frozen_bytes(ops, true) / weight_B : 0);
    }
}

double ty_grads_gathered(const struct ty_grad_unit *unit, const struct ty_layout *layout,
                         enum ty_comm_group group)
{
    const double params = group == TY_GROUP_EXPERT_DATA ? unit->gathered_experts
                                                        : unit->gathered - unit->gathered_experts;
    return adds_up(layout, group) ? params : 0;
}

double ty_grads_shared(const struct ty_grad_unit *unit, const struct ty_layout *layout,
                       enum ty_comm_group group)
{
    const double params =
        group == TY_GROUP_EXPERT_DATA ? unit->experts : unit->params - unit->experts;
    return adds_up(layout, group) ? params : 0;
}

/* ---- buckets ---- */

/* Buckets that are filling, one for each group that adds up gradients. */
struct filling {
    double held[TY_N_COMM_GROUPS], limit[TY_N_COMM_GROUPS];
    bool adds[TY_N_COMM_GROUPS];
    double rest; /* parameters in a bucket but the first */
    ty_bucket_fn *close;
    void *arg;
};

static void close_filling(struct filling *f, uint32_t unit, uint32_t part, enum ty_comm_group group)
{
    if (f->held[group] > 0) {
        f->close(f->arg, unit, part, group, f->held[group]);
        f->held[group] = 0;
        f->limit[group] = f->rest;
    }
}

/* Units from the last to the first, matrices in the order of their gradients. */
static void fill_buckets(const struct ty_grads *grads, const struct ty_grad_stage *stage,
                         struct filling *f)
{
    for (uint32_t u = stage->n_units; u > 0; u--) {
        const struct ty_grad_unit *unit = &grads->kind[stage->unit[u - 1]];
        for (uint32_t i = 0; i < unit->n; i++) {
            const struct ty_grad_piece *piece = &unit->piece[i];
            const enum ty_comm_group group = (enum ty_comm_group)piece->group;
            f->held[group] += f->adds[group] ? piece->params : 0;
            if (f->held[group] >= f->limit[group]) {
                close_filling(f, u - 1, piece->part, group);
            }
        }
    }
    for (enum ty_comm_group g = 0; stage->n_units > 0 && g < TY_N_COMM_GROUPS; g++) {
        close_filling(f, 0, 0, g);
    }
}

/* Experts are a module of their own, and done with before the rest of their unit is. */
static void each_unit(const struct ty_grads *grads, const struct ty_layout *layout,
                      const struct ty_grad_stage *stage, ty_bucket_fn *close, void *arg)
{
    for (uint32_t u = stage->n_units; u > 0; u--) {
        const struct ty_grad_unit *unit = &grads->kind[stage->unit[u - 1]];
        const double dense = ty_grads_shared(unit, layout, TY_GROUP_DATA);
        const double experts = ty_grads_shared(unit, layout, TY_GROUP_EXPERT_DATA);
        if (experts > 0) {
            close(arg, u - 1, unit->n_parts - 1, TY_GROUP_EXPERT_DATA, experts);
        }
        if (dense > 0) {
            close(arg, u - 1, 0, TY_GROUP_DATA, dense);
        }
    }
}

void ty_grads_buckets(const struct ty_grads *grads, const struct ty_layout *layout,
                      const struct ty_grad_stage *stage, ty_bucket_fn *close, void *arg)
{
    struct filling f = {.rest = ty_layout_bucket_params(layout), .close = close, .arg = arg};
    if (ty_zero_stages[layout->zero].gather_in_passes && !ty_layout_gathers_modules(layout)) {
        each_unit(grads, layout, stage, close, arg);
        return;
    }
    for (enum ty_comm_group g = 0; g < TY_N_COMM_GROUPS; g++) {
        f.limit[g] = ty_layout_first_bucket_params(layout);
        f.adds[g] = adds_up(layout, g);
    }
    fill_buckets(grads, stage, &f);
}

/* ---- what is whole ---- */

/* The stages of a rank. */
struct stages {
    const struct ty_grads *grads;
    const struct ty_layout *layout;
    const struct ty_grad_stage *stage; /* [n] */
    uint32_t n;
};

typedef double params_fn(const struct ty_grad_unit *unit, const struct ty_layout *layout,
                         enum ty_comm_group group);

static double both(const struct stages *s, uint32_t stage, uint32_t i, params_fn *params)
{
    const struct ty_grad_unit *unit = &s->grads->kind[s->stage[stage].unit[i]];
    return params(unit, s->layout, TY_GROUP_DATA) + params(unit, s->layout, TY_GROUP_EXPERT_DATA);
}

/* Most parameters in `window` neighbouring units of one of the stages; 0: in all units of all. */
static double most_params(const struct stages *s, uint32_t window, params_fn *params)
{
    double most = 0, all = 0;
    for (uint32_t v = 0; v < s->n; v++) {
        for (uint32_t i = 0; i < s->stage[v].n_units; i++) {
            double sum = 0;
            for (uint32_t k = i; k < s->stage[v].n_units && k - i < window; k++) {
                sum += both(s, v, k, params);
            }
            most = sum > most ? sum : most;
            all += both(s, v, i, params);
        }
    }
    return window == 0 ? all : most;
}

/* What modules have whole: as much as stays or is gathered ahead, one more matrix, and what is
 * never given up. */
static double most_modules(const struct stages *s)
{
    const struct ty_framework *f = &s->layout->framework;
    double largest = 0, persistent = 0;
    for (uint32_t v = 0; v < s->n; v++) {
        for (uint32_t i = 0; i < s->stage[v].n_units; i++) {
            const struct ty_grad_unit *unit = &s->grads->kind[s->stage[v].unit[i]];
            for (uint32_t k = 0; k < unit->n; k++) {
                const double params = unit->piece[k].params;
                largest = fmax(largest, params);
                persistent += params <= f->gather_persistent ? params : 0;
            }
        }
    }
    const double ahead = f->gather_prefetch > 0 ? f->gather_live : 0;
    return fmin(most_params(s, 0, ty_grads_gathered),
                fmax(ahead, f->gather_reuse) + largest + persistent);
}

/* Parameters of the second largest stage: one is added up while the one before it, another, is
 * reduced whole, as buckets of a stage do not wait for each other. */
static double second_params(const struct stages *s)
{
    double most = 0, second = 0;
    for (uint32_t v = 0; v < s->n; v++) {
        const struct stages one = {s->grads, s->layout, &s->stage[v], 1};
        const double params = most_params(&one, 0, ty_grads_shared);
        second = fmax(second, fmin(params, most));
        most = fmax(most, params);
    }
    return second;
}

/* Gradients that are made, and reduced next to that: of neighbouring buckets, most bytes. */
struct neighbours {
    double made_B, reduced_B; /* of a parameter */
    double before;            /* parameters of the bucket before */
    bool added;               /* what is made is added to what is there, and counts for nothing */
    struct ty_whole *whole;
};

static void next_bucket(void *arg, uint32_t unit, uint32_t part, enum ty_comm_group group,
                        double params)
{
    struct neighbours *n = arg;
    (void)unit, (void)part, (void)group;
    const double made = n->added ? 0 : params;
    const double reduced = n->added && params > n->before ? params : n->before;
    if (n->made_B * made + n->reduced_B * reduced >
        n->made_B * n->whole->made + n->reduced_B * n->whole->reduced) {
        n->whole->made = made;
        n->whole->reduced = reduced;
    }
    n->before = params;
}

/* Of stages that are alike one tells all. */
static void find_neighbours(const struct stages *s, bool in_place, struct ty_whole *whole)
{
    for (uint32_t i = 0; i < s->n; i++) {
        const struct ty_grad_stage *stage = &s->stage[i];
        const bool again = i > 0 && stage->unit == stage[-1].unit;
        struct neighbours all = {.made_B = ty_memory_grad_bytes(s->layout),
                                 .reduced_B = ty_memory_reduced_bytes(s->layout),
                                 .added = in_place,
                                 .whole = whole};
        if (!again || stage->n_units != stage[-1].n_units) {
            ty_grads_buckets(s->grads, s->layout, stage, next_bucket, &all);
        }
    }
}

struct ty_whole ty_grads_whole(const struct ty_grads *grads, const struct ty_layout *layout,
                               const struct ty_grad_stage *stage, uint32_t n, bool whole_chunks)
{
    const struct stages stages = {grads, layout, stage, n};
    const struct ty_framework *f = &layout->framework;
    const bool gathers = ty_zero_stages[layout->zero].gather_in_passes;
    const bool reshards = ty_layout_does(layout, f->reshard_after_forward) &&
                          ty_layout_does(layout, f->reshard_after_backward);
    const uint32_t window = !reshards      ? 0
                            : whole_chunks ? UINT32_MAX
                                           : ty_layout_whole_units(layout);
    const enum ty_reduces when = ty_layout_reduces(layout);
    const bool chunk = when == TY_REDUCES_RUN || (when == TY_REDUCES_EVERY && whole_chunks);
    const bool adds = (chunk || when == TY_REDUCES_LAST) && ty_layout_adds_up(layout);
    const bool in_place = adds && ty_memory_added_bytes(layout) == ty_memory_grad_bytes(layout);
    const bool modules = ty_layout_gathers_modules(layout) && window > 0 && !whole_chunks &&
                         layout->home.parameters == TY_HOME_GPU;
    struct ty_whole whole = {
        .gathered = modules   ? most_modules(&stages)
                    : gathers ? most_params(&stages, window, ty_grads_gathered)
                              : 0,
        .added = chunk && adds ? most_params(&stages, UINT32_MAX, ty_grads_shared) : 0};
    find_neighbours(&stages, in_place, &whole);
    if (layout->zero == 2 && whole.added > 0) {
        whole.reduced = fmax(whole.reduced, second_params(&stages));
    }
    return whole;
}
