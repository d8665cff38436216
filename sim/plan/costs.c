/* costs.c - see costs.h. */
#include "sim/plan/costs.h"

#include <stdlib.h>
#include <string.h>

#include "sim/plan/costs_internal.h"

/* Whether nothing is drawn, and nothing set faster than it is priced. */
static bool is_known(const struct ty_config *base)
{
    const bool routed = ty_arch_is_moe(&base->arch) && base->routing.method != TY_TOKENS_BALANCED;
    bool known = base->run.jitter == 0 && base->run.gpu_spread == 0 && !routed &&
                 base->run.detail != TY_RUN_STEPS;
    const uint32_t n = base->cluster.nodes * base->cluster.gpus_per_node;
    for (uint32_t g = 0; g < n && base->cluster.exceptions != NULL; g++) {
        known = known && ty_exceptions_gpu_speed(&base->cluster, g) <= 1;
    }
    return known;
}

int ty_plan_costs_new(struct ty_plan_costs **out, const struct ty_config *base, struct ty_err *err)
{
    struct ty_plan_costs *costs = calloc(1, sizeof(*costs));
    *out = NULL;
    if (costs == NULL) {
        return ty_fail_memory(err);
    }
    costs->base = base;
    costs->known = is_known(base);
    costs->groups.key_size = sizeof(struct ty_plan_group);
    costs->units = ty_arena_array(&costs->arena, struct ty_units, 2);
    costs->tensors = ty_arena_array(&costs->arena, struct ty_tensors, 1);
    costs->unit_list =
        ty_arena_array(&costs->arena, uint8_t, base->arch.layers + 3 * (size_t)base->arch.mtp + 2);
    if (costs->units == NULL || costs->tensors == NULL || costs->unit_list == NULL) {
        ty_plan_costs_free(costs);
        return ty_fail_memory(err);
    }
    *out = costs;
    return 0;
}

/* Each layer has a map of its own. */
static void release_layers(struct ty_plan_map *layers)
{
    for (uint32_t i = 0; i < layers->cap; i++) {
        struct ty_plan_layer *layer = layers->entry[i].value;
        if (layers->entry[i].key != NULL) {
            ty_plan_map_release(&layer->stages);
        }
    }
    ty_plan_map_release(layers);
}

void ty_plan_costs_free(struct ty_plan_costs *costs)
{
    if (costs == NULL) {
        return;
    }
    struct ty_plan_map *const maps[] = {&costs->groups,   &costs->grids,  &costs->types,
                                        &costs->deals,    &costs->orders, &costs->helds,
                                        &costs->traffics, &costs->prices, &costs->grads};
    release_layers(&costs->layers);
    for (size_t i = 0; i < TY_COUNT(maps); i++) {
        ty_plan_map_release(maps[i]);
    }
    ty_arena_release(&costs->steered.arena);
    ty_arena_release(&costs->arena);
    free(costs);
}

int ty_plan_framework(struct ty_plan_costs *costs, const struct ty_framework *framework,
                      uint32_t *number, struct ty_err *err)
{
    uint32_t i = 0;
    while (i < costs->n_frameworks &&
           memcmp(&costs->framework[i], framework, sizeof(*framework)) != 0) {
        i++;
    }
    if (i == TY_PLAN_FRAMEWORKS) {
        return ty_fail(err, TY_EBUG, "plan: layouts of more than %u frameworks",
                       TY_PLAN_FRAMEWORKS);
    }
    if (i == costs->n_frameworks) {
        memcpy(&costs->framework[costs->n_frameworks++], framework, sizeof(*framework));
    }
    *number = i;
    return 0;
}

int ty_plan_look(struct ty_plan_costs *costs, const struct ty_layout *layout,
                 const struct ty_sched_options *schedule, struct ty_plan_look *out,
                 struct ty_err *err)
{
    const struct ty_sched_shape shape =
        ty_sched_shape_of(schedule, layout->pipeline, layout->micro_batches);
    out->grid = ty_plan_grid(costs, layout, err);
    out->layer =
        out->grid == NULL ? NULL : ty_plan_layer(costs, layout, out->grid, shape.slices, err);
    out->deal =
        out->layer == NULL ? NULL : ty_plan_deal(costs, layout, ty_sched_stages(&shape), err);
    if (out->deal == NULL) {
        return TY_ENOMEM;
    }
    const struct ty_sched_times *layer = NULL;
    if (ty_sched_of(schedule)->steered) {
        const struct ty_plan_times *times =
            ty_plan_times(costs, layout, out->grid, out->layer, shape.slices, err);
        if (times == NULL) {
            return TY_ENOMEM;
        }
        layer = &times->generator;
    }
    return ty_plan_order(costs, schedule, &shape, layer, &out->order, err);
}

int ty_plan_sums(struct ty_plan_costs *costs, const struct ty_plan_look *look,
                 const struct ty_plan_times *times, const struct ty_plan_stage *const **out,
                 struct ty_err *err)
{
    const uint32_t n = ty_sched_stages(&look->order->shape);
    if (costs->n_stages < n) {
        costs->stage = ty_arena_alloc(&costs->arena, n, sizeof(*costs->stage));
        costs->n_stages = n;
    }
    if (costs->stage == NULL) {
        costs->n_stages = 0;
        return ty_fail_memory(err);
    }
    for (uint32_t s = 0; s < n; s++) {
        const bool same = s > 0 && look->deal->stage[s] == look->deal->stage[s - 1];
        costs->stage[s] = same ? costs->stage[s - 1]
                               : ty_plan_stage(costs, look->layer, look->deal->stage[s], err);
        if (costs->stage[s] == NULL ||
            (times != NULL &&
             ty_plan_stage_time(costs, times, look->deal->stage[s], look->order->shape.slices,
                                costs->stage[s], err) < 0)) {
            return TY_ENOMEM;
        }
    }
    *out = (const struct ty_plan_stage *const *)costs->stage;
    return 0;
}
