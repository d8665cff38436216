/* walk.c - the points of a space: nested loops over its axes, each with the values that make sense
 * next to those before.
 *
 * Of an axis without values of its own these are
 *
 *     tensor, pipeline    divisors of the GPUs that the model permits
 *     tensor_scheme       all that so many ranks can have; of one rank the first
 *     tensor_depth        of 2.5d all that leave a square, else 1
 *     context             the same, while every rank has TY_PLAN_CONTEXT_TOKENS of a sequence
 *     expert              divisors of the experts; expert_tensor: of their width, within a node
 *     micro_batch         divisors of what a replica has of the batch
 *     schedule            gpipe, 1f1b, and in a pipeline interleaved; or every synchronous one
 *     chunks              what the schedule has; of any number those that deal layers evenly,
 *                         embedding and head perhaps counted as a layer each
 *     offload             every system
 *     zero                what that is made of to 3, where there are copies of a parameter
 *     recompute           none, selective, ffn, full, where they differ
 *     sequence_parallel   false and true, where there are tensor ranks
 *     order               every order of the axes that have more than one rank
 *
 * A branch is left as soon as no leaf of it can be legal; whether a leaf is, the layout and the
 * schedule say themselves (point.c). */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "model/offload.h"
#include "model/parallel/kinds.h"
#include "sim/plan/space.h"

#define POINTS_MAX 8000000u /* some 1.2 KB each while they are billed */
#define CHUNKS_MAX 64u      /* of schedule.chunks */

struct walk {
    struct ty_plan_space *space;
    uint32_t value[TY_PLAN_N_AXES];
    uint32_t gpus, cap;
    struct ty_err *err;
    int rc;
};

static void level(struct walk *w, int axis);

/* ---- what a branch can be ---- */

static struct ty_layout layout_so_far(const struct walk *w)
{
    struct ty_layout layout = w->space->base->layout;
    layout.tensor = w->value[TY_PLAN_TENSOR];
    layout.tensor_scheme = (int)w->value[TY_PLAN_TENSOR_SCHEME];
    layout.tensor_depth = w->value[TY_PLAN_TENSOR_DEPTH];
    layout.context = w->value[TY_PLAN_CONTEXT];
    layout.pipeline = w->value[TY_PLAN_PIPELINE];
    layout.sequence_parallel = false;
    layout.context_inner += layout.context_inner == 0; /* auto: the least it can turn out to be */
    return layout;
}

static bool agrees(const struct walk *w, const struct ty_parallel *kind)
{
    const struct ty_layout layout = layout_so_far(w);
    const struct ty_config *base = w->space->base;
    return kind->check == NULL || kind->check(&layout, &base->sections[TY_SECTION_LAYOUT],
                                              &base->arch, w->gpus, NULL) == 0;
}

/* Whether a tensor group of more than one dimension can share a micro-batch. */
static bool deals(const struct walk *w)
{
    struct ty_layout layout = layout_so_far(w);
    layout.micro_batch = w->value[TY_PLAN_MICRO_BATCH];
    return ty_mesh_deals(&layout);
}

static uint32_t ranks_of_stage(const struct walk *w)
{
    return w->gpus / w->value[TY_PLAN_PIPELINE];
}

static struct ty_plan_point point_of(const struct walk *w)
{
    const uint32_t *v = w->value;
    return (struct ty_plan_point){
        .tensor = v[TY_PLAN_TENSOR],
        .tensor_scheme = (uint8_t)v[TY_PLAN_TENSOR_SCHEME],
        .tensor_depth = v[TY_PLAN_TENSOR_DEPTH],
        .context = v[TY_PLAN_CONTEXT],
        .pipeline = v[TY_PLAN_PIPELINE],
        .data = v[TY_PLAN_DATA],
        .expert = v[TY_PLAN_EXPERT],
        .expert_tensor = v[TY_PLAN_EXPERT_TENSOR],
        .micro_batch = v[TY_PLAN_MICRO_BATCH],
        .micro_batches =
            w->space->base->layout.global_batch / v[TY_PLAN_DATA] / v[TY_PLAN_MICRO_BATCH],
        .schedule = (uint16_t)v[TY_PLAN_SCHEDULE],
        .chunks = (uint16_t)v[TY_PLAN_CHUNKS],
        .offload = (uint8_t)v[TY_PLAN_OFFLOAD],
        .zero = (uint8_t)v[TY_PLAN_ZERO],
        .recompute = v[TY_PLAN_RECOMPUTE],
        .sequence_parallel = v[TY_PLAN_SEQUENCE_PARALLEL] != 0,
        .order = (uint8_t)v[TY_PLAN_ORDER],
    };
}

/* The order, of which nobody asks here, is the last axis. */
static bool is_legal(struct walk *w)
{
    struct ty_layout layout;
    struct ty_sched_options schedule;
    w->value[TY_PLAN_ORDER] = 0;
    const struct ty_plan_point point = point_of(w);
    return ty_plan_complete(w->space, &point, &layout, &schedule, NULL) == 0;
}

/* An order without the axes of one rank, as a number: equal ones place all ranks alike. */
static uint32_t placement_of(const struct walk *w, uint32_t order)
{
    const uint32_t *v = w->value;
    const uint32_t degree[TY_N_AXES] = {v[TY_PLAN_TENSOR], v[TY_PLAN_CONTEXT], v[TY_PLAN_DATA],
                                        v[TY_PLAN_PIPELINE]};
    const struct ty_word_list *list = &w->space->order[order];
    uint32_t number = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        if (degree[list->item[i]] > 1) {
            number = number * (TY_N_AXES + 1) + (uint32_t)list->item[i] + 1;
        }
    }
    return number;
}

static bool is_placed_before(const struct walk *w)
{
    const struct ty_plan_axis *axis = &w->space->axis[TY_PLAN_ORDER];
    const uint32_t own = w->value[TY_PLAN_ORDER], n = axis->n > 0 ? axis->n : w->space->n_orders;
    const uint32_t placement = placement_of(w, own);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t other = axis->n > 0 ? axis->value[i] : i;
        if (other == own || placement_of(w, other) == placement) {
            return other != own;
        }
    }
    return false;
}

/* Of a rank alone all schemes are one. */
static bool is_first(const struct ty_plan_axis *axis, uint32_t value)
{
    return value == (axis->n > 0 ? axis->value[0] : TY_TENSOR_1D);
}

/* Whether a leaf below can be legal, as far as the values up to `axis` say. */
static bool possible(struct walk *w, int axis)
{
    uint32_t *v = w->value;
    const uint64_t model = (uint64_t)v[TY_PLAN_TENSOR] * v[TY_PLAN_CONTEXT] * v[TY_PLAN_PIPELINE];
    const struct ty_config *base = w->space->base;
    switch (axis) {
    case TY_PLAN_TENSOR:
        return w->gpus % v[TY_PLAN_TENSOR] == 0;
    case TY_PLAN_TENSOR_SCHEME:
        return v[TY_PLAN_TENSOR] > 1 || is_first(&w->space->axis[axis], v[axis]);
    case TY_PLAN_TENSOR_DEPTH:
        return agrees(w, &ty_parallel_tensor);
    case TY_PLAN_CONTEXT:
        return w->gpus % model == 0 && agrees(w, &ty_parallel_context);
    case TY_PLAN_PIPELINE:
        return w->gpus % model == 0;
    case TY_PLAN_DATA:
        return v[TY_PLAN_DATA] == w->gpus / model &&
               base->layout.global_batch % v[TY_PLAN_DATA] == 0;
    case TY_PLAN_EXPERT_TENSOR:
        return ranks_of_stage(w) % ((uint64_t)v[TY_PLAN_EXPERT] * v[TY_PLAN_EXPERT_TENSOR]) == 0;
    case TY_PLAN_MICRO_BATCH:
        return base->layout.global_batch / v[TY_PLAN_DATA] % v[TY_PLAN_MICRO_BATCH] == 0 &&
               deals(w);
    case TY_PLAN_ZERO:
        return v[TY_PLAN_ZERO] >= ty_offload_zero((int)v[TY_PLAN_OFFLOAD]) &&
               (v[TY_PLAN_PIPELINE] == 1 ||
                v[TY_PLAN_ZERO] <= w->space->framework[v[TY_PLAN_ZERO]].zero_in_pipeline);
    case TY_PLAN_SEQUENCE_PARALLEL:
        return is_legal(w);
    case TY_PLAN_ORDER:
        return !is_placed_before(w);
    default:
        return true;
    }
}

static void descend(struct walk *w, int axis, uint32_t value)
{
    assert(axis >= 0 && axis < TY_PLAN_N_AXES);
    w->value[axis] = value;
    if (w->rc == 0 && possible(w, axis)) {
        level(w, axis + 1);
    }
    w->value[axis] = 1; /* nothing above asks for it */
}

/* ---- values that make sense ---- */

static void each_divisor(struct walk *w, int axis, uint32_t of, uint32_t most)
{
    assert(of > 0);
    for (uint32_t n = 1; n <= most && n <= of; n++) {
        if (of % n == 0) {
            descend(w, axis, n);
        }
    }
}

static void each_context(struct walk *w)
{
    const uint32_t most = w->space->base->arch.sequence / TY_PLAN_CONTEXT_TOKENS;
    each_divisor(w, TY_PLAN_CONTEXT, w->gpus / w->value[TY_PLAN_TENSOR], most > 1 ? most : 1);
}

static void each_schedule(struct walk *w)
{
    for (uint32_t i = 0; ty_schedules[i] != NULL; i++) {
        const struct ty_sched *s = ty_schedules[i];
        const bool alone = s->usual && s->chunks == 1; /* means something without a pipeline */
        if (!s->asynchronous && (s->usual || w->space->all_schedules) &&
            (alone || w->value[TY_PLAN_PIPELINE] > 1)) {
            descend(w, TY_PLAN_SCHEDULE, i);
        }
    }
}

/* Whether all stages of a pipeline have as many layers, or ends have one less. */
static bool deals_evenly(const struct walk *w, uint32_t chunks)
{
    const uint32_t stages = w->value[TY_PLAN_PIPELINE] * chunks;
    const uint32_t layers = w->space->base->arch.layers;
    return layers % stages == 0 || (layers + 2) % stages == 0;
}

static void each_chunks(struct walk *w)
{
    const struct ty_sched *s = ty_schedules[w->value[TY_PLAN_SCHEDULE]];
    if (s->chunks > 0) {
        descend(w, TY_PLAN_CHUNKS, s->chunks);
        return;
    }
    const uint32_t most = (w->space->base->arch.layers + 2) / w->value[TY_PLAN_PIPELINE];
    for (uint32_t n = s->auto_chunks; n <= most && n <= CHUNKS_MAX; n++) {
        if (deals_evenly(w, n)) {
            descend(w, TY_PLAN_CHUNKS, n);
        }
    }
}

static bool has_copies(const struct walk *w)
{
    const uint32_t *v = w->value;
    const bool experts = ty_arch_is_moe(&w->space->base->arch) &&
                         ranks_of_stage(w) > v[TY_PLAN_EXPERT] * v[TY_PLAN_EXPERT_TENSOR];
    return v[TY_PLAN_DATA] * v[TY_PLAN_CONTEXT] > 1 || experts;
}

static void each_recompute(struct walk *w)
{
    static const uint32_t mode[] = {TY_RECOMPUTE_NONE, TY_RECOMPUTE_CORE, TY_RECOMPUTE_FFN,
                                    TY_RECOMPUTE_FULL};
    const struct ty_arch *arch = &w->space->base->arch;
    const bool dense = !ty_arch_is_moe(arch) || ty_arch_has_dense(arch);
    const struct ty_config *own = w->space->own;
    bool listed = own == NULL || own->layout.recompute_layers.n > 0;
    for (size_t i = 0; i < TY_COUNT(mode); i++) {
        listed = listed || own->layout.recompute == mode[i];
        if (dense || mode[i] != TY_RECOMPUTE_FFN) {
            descend(w, TY_PLAN_RECOMPUTE, mode[i]);
        }
    }
    if (!listed) { /* the answer may not be slower than the file */
        descend(w, TY_PLAN_RECOMPUTE, own->layout.recompute);
    }
}

static void each_tensor(struct walk *w)
{
    each_divisor(w, TY_PLAN_TENSOR, w->gpus, w->space->base->arch.heads);
}

static void each_scheme(struct walk *w)
{
    for (uint32_t i = TY_TENSOR_1D; i <= TY_TENSOR_3D; i++) {
        descend(w, TY_PLAN_TENSOR_SCHEME, i);
    }
}

/* One grid is 2d. */
static void each_depth(struct walk *w)
{
    const uint32_t ranks = w->value[TY_PLAN_TENSOR];
    if (w->value[TY_PLAN_TENSOR_SCHEME] != TY_TENSOR_25D || ranks == 1) {
        descend(w, TY_PLAN_TENSOR_DEPTH, 1);
        return;
    }
    for (uint32_t d = 2; d <= ranks / 4; d++) {
        if (ranks % d == 0) {
            descend(w, TY_PLAN_TENSOR_DEPTH, d);
        }
    }
}

static void each_pipeline(struct walk *w)
{
    const uint32_t ranks = w->gpus / (w->value[TY_PLAN_TENSOR] * w->value[TY_PLAN_CONTEXT]);
    each_divisor(w, TY_PLAN_PIPELINE, ranks, w->space->base->arch.layers + 2);
}

static void each_data(struct walk *w)
{
    const uint32_t *v = w->value;
    descend(w, TY_PLAN_DATA,
            w->gpus / (v[TY_PLAN_TENSOR] * v[TY_PLAN_CONTEXT] * v[TY_PLAN_PIPELINE]));
}

static void each_expert(struct walk *w)
{
    const struct ty_arch *arch = &w->space->base->arch;
    each_divisor(w, TY_PLAN_EXPERT, ty_arch_is_moe(arch) ? arch->experts : 1, ranks_of_stage(w));
}

static void each_expert_tensor(struct walk *w)
{
    const struct ty_config *base = w->space->base;
    each_divisor(w, TY_PLAN_EXPERT_TENSOR, ty_arch_is_moe(&base->arch) ? base->arch.expert_ffn : 1,
                 base->cluster.gpus_per_node);
}

static void each_micro_batch(struct walk *w)
{
    each_divisor(w, TY_PLAN_MICRO_BATCH,
                 w->space->base->layout.global_batch / w->value[TY_PLAN_DATA], UINT32_MAX);
}

static void each_offload(struct walk *w)
{
    for (uint32_t i = TY_OFFLOAD_NONE; i <= TY_OFFLOAD_GEMINI; i++) {
        descend(w, TY_PLAN_OFFLOAD, i);
    }
}

static void each_zero(struct walk *w)
{
    const uint32_t least = ty_offload_zero((int)w->value[TY_PLAN_OFFLOAD]);
    for (uint32_t z = least; z < (has_copies(w) ? TY_PLAN_ZEROS : least + 1); z++) {
        descend(w, TY_PLAN_ZERO, z);
    }
}

static void each_sequence_parallel(struct walk *w)
{
    for (uint32_t on = 0; on <= (w->value[TY_PLAN_TENSOR] > 1); on++) {
        descend(w, TY_PLAN_SEQUENCE_PARALLEL, on);
    }
}

static void each_order(struct walk *w)
{
    for (uint32_t i = 0; i < w->space->n_orders; i++) {
        descend(w, TY_PLAN_ORDER, i);
    }
}

typedef void each_fn(struct walk *w);
static each_fn *const each[TY_PLAN_N_AXES] = {
    [TY_PLAN_TENSOR] = each_tensor,
    [TY_PLAN_TENSOR_SCHEME] = each_scheme,
    [TY_PLAN_TENSOR_DEPTH] = each_depth,
    [TY_PLAN_CONTEXT] = each_context,
    [TY_PLAN_PIPELINE] = each_pipeline,
    [TY_PLAN_DATA] = each_data,
    [TY_PLAN_EXPERT] = each_expert,
    [TY_PLAN_EXPERT_TENSOR] = each_expert_tensor,
    [TY_PLAN_MICRO_BATCH] = each_micro_batch,
    [TY_PLAN_SCHEDULE] = each_schedule,
    [TY_PLAN_CHUNKS] = each_chunks,
    [TY_PLAN_OFFLOAD] = each_offload,
    [TY_PLAN_ZERO] = each_zero,
    [TY_PLAN_RECOMPUTE] = each_recompute,
    [TY_PLAN_SEQUENCE_PARALLEL] = each_sequence_parallel,
    [TY_PLAN_ORDER] = each_order,
};

/* ---- the walk ---- */

static void add_point(struct walk *w)
{
    struct ty_plan_space *space = w->space;
    assert(space->n_points <= w->cap && space->n_points <= POINTS_MAX);
    if (space->n_points == POINTS_MAX) {
        w->rc = ty_fail(w->err, TY_ELIMIT,
                        "more than %u layouts; name values of some keys, such as --over "
                        "'layout.order=[tensor, context, data, pipeline]'",
                        POINTS_MAX);
        return;
    }
    if (space->n_points == w->cap) {
        const uint32_t cap = w->cap > 0 ? 2 * w->cap : 1024;
        struct ty_plan_point *larger = realloc(space->point, cap * sizeof(*larger));
        if (larger == NULL) {
            w->rc = ty_fail_memory(w->err);
            return;
        }
        space->point = larger;
        w->cap = cap;
    }
    assert(space->n_points < w->cap);
    space->point[space->n_points++] = point_of(w);
}

/* Whether a schedule that deals any number of chunks, which no framework interleaves on one rank,
 * meets a pipeline of one among longer ones or other schedules. */
static bool lacks_pipeline(const struct walk *w, uint32_t schedule)
{
    const struct ty_plan_axis *axis = w->space->axis;
    return w->value[TY_PLAN_PIPELINE] == 1 && ty_schedules[schedule]->chunks == 0 &&
           (axis[TY_PLAN_PIPELINE].n != 1 || axis[TY_PLAN_SCHEDULE].n > 1);
}

static void level(struct walk *w, int axis)
{
    if (axis == TY_PLAN_N_AXES) {
        add_point(w);
        return;
    }
    const struct ty_plan_axis *a = &w->space->axis[axis];
    for (uint32_t i = 0; i < a->n; i++) {
        if (axis != TY_PLAN_SCHEDULE || !lacks_pipeline(w, a->value[i])) {
            descend(w, axis, a->value[i]);
        }
    }
    if (a->n == 0) {
        each[axis](w);
    }
}

int ty_plan_walk(struct ty_plan_space *space, struct ty_err *err)
{
    struct walk w = {.space = space, .gpus = ty_plan_gpus(space), .err = err};
    for (int i = 0; i < TY_PLAN_N_AXES; i++) {
        w.value[i] = 1; /* as descend leaves it */
    }
    level(&w, 0);
    return w.rc;
}
