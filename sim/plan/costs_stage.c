/* costs_stage.c - which units the virtual stages of a pipeline have, and sums over them. Of many
 * stages few differ. */
#include <math.h>
#include <string.h>

#include "model/issue/pass.h"
#include "sim/plan/costs_internal.h"

/* ---- types of stages ---- */

struct type_key {
    uint32_t count[TY_N_UNIT_KINDS];
    uint32_t first, last;
    struct ty_layers layers; /* where some run again: which */
};

const struct ty_plan_type *ty_plan_type(struct ty_plan_costs *costs, const struct ty_layers *layers,
                                        bool first, bool last, struct ty_err *err)
{
    const struct ty_arch *arch = &costs->base->arch;
    struct type_key key;
    uint8_t *unit = costs->unit_list;
    memset(&key, 0, sizeof(key));
    const uint32_t n = ty_pass_units(arch, layers, first, last, unit, NULL);
    for (uint32_t i = 0; i < n; i++) {
        key.count[unit[i]]++;
    }
    key.first = n > 0 ? unit[0] : TY_N_UNIT_KINDS;
    key.last = n > 0 ? unit[n - 1] : TY_N_UNIT_KINDS;
    if (layers->n_runs > 0) {
        key.layers = *layers;
    }
    costs->types.key_size = sizeof(key);
    struct ty_plan_type *type = ty_plan_map_find(&costs->types, &key);
    if (type != NULL) {
        return type;
    }
    type = ty_arena_array(&costs->arena, struct ty_plan_type, 1);
    uint8_t *own = ty_arena_array(&costs->arena, uint8_t, n + 1);
    if (type == NULL || own == NULL) {
        (void)ty_fail_memory(err);
        return NULL;
    }
    memcpy(own, unit, n);
    memcpy(type->count, key.count, sizeof(key.count));
    type->first = key.first;
    type->last = key.last;
    type->unit = own;
    type->n_units = n;
    type->layers = *layers;
    return ty_plan_map_add(&costs->types, &key, type, &costs->arena, err) < 0 ? NULL : type;
}

/* ---- stages of a pipeline ---- */

struct deal_key {
    uint32_t stages, framework;
};

static int deal_out(struct ty_plan_costs *costs, const struct ty_layout *layout, uint32_t stages,
                    struct ty_plan_deal *deal, struct ty_err *err)
{
    for (uint32_t s = 0; s < stages; s++) {
        const struct ty_layers layers = ty_layout_layers(layout, &costs->base->arch, stages, s);
        deal->stage[s] = ty_plan_type(costs, &layers, s == 0, s == stages - 1, err);
        if (deal->stage[s] == NULL) {
            return TY_ENOMEM;
        }
    }
    return 0;
}

static struct ty_plan_deal *new_deal(struct ty_plan_costs *costs, uint32_t stages,
                                     struct ty_err *err)
{
    struct ty_plan_deal *deal = ty_arena_array(&costs->arena, struct ty_plan_deal, 1);
    if (deal != NULL) {
        deal->stage = ty_arena_alloc(&costs->arena, stages, sizeof(*deal->stage));
    }
    if (deal == NULL || deal->stage == NULL) {
        (void)ty_fail_memory(err);
        return NULL;
    }
    return deal;
}

/* Lists of stages are worked out each time: they may be others in the next layout. */
static const struct ty_plan_deal *own_deal(struct ty_plan_costs *costs,
                                           const struct ty_layout *layout, uint32_t stages,
                                           struct ty_err *err)
{
    if (costs->own_deal == NULL || costs->own_stages < stages) {
        costs->own_deal = new_deal(costs, stages, err);
        costs->own_stages = stages;
    }
    return costs->own_deal == NULL || deal_out(costs, layout, stages, costs->own_deal, err) < 0
               ? NULL
               : costs->own_deal;
}

const struct ty_plan_deal *ty_plan_deal(struct ty_plan_costs *costs, const struct ty_layout *layout,
                                        uint32_t stages, struct ty_err *err)
{
    struct deal_key key = {.stages = stages};
    costs->deals.key_size = sizeof(key);
    if (layout->stage_layers.n > 0 || layout->recompute_layers.n > 0) {
        return own_deal(costs, layout, stages, err);
    }
    if (ty_plan_framework(costs, &layout->framework, &key.framework, err) < 0) {
        return NULL;
    }
    struct ty_plan_deal *deal = ty_plan_map_find(&costs->deals, &key);
    if (deal != NULL) {
        return deal;
    }
    deal = new_deal(costs, stages, err);
    return deal == NULL || deal_out(costs, layout, stages, deal, err) < 0 ||
                   ty_plan_map_add(&costs->deals, &key, deal, &costs->arena, err) < 0
               ? NULL
               : deal;
}

/* ---- sums ---- */

static void add_time(struct ty_unit_time *sum, const struct ty_unit_time *unit, double n)
{
    sum->through += n * unit->through;
    sum->busy += n * unit->through;
    sum->bare += n * unit->bare;
}

/* Collectives behind the last computation of a pass hold up nobody on the rank. */
static void cut_end(struct ty_unit_time *sum, const struct ty_unit_time *last)
{
    sum->busy -= last->through - last->busy;
}

/* Of a slice. sum[phases] */
static void sum_times(const struct ty_plan_times *times, const struct ty_plan_type *type,
                      uint32_t slice, struct ty_unit_time *sum)
{
    for (enum ty_unit_kind k = 0; k < TY_N_UNIT_KINDS; k++) {
        const struct ty_unit_times *unit = &times->unit[k][slice];
        if (type->count[k] > 0) {
            add_time(&sum[TY_PHASE_FORWARD], &unit->forward, type->count[k]);
            add_time(&sum[TY_PHASE_BACKWARD], &unit->backward, type->count[k]);
            add_time(&sum[TY_PHASE_DGRAD], &unit->input, type->count[k]);
            add_time(&sum[TY_PHASE_WGRAD], &unit->weight, type->count[k]);
        }
    }
    if (type->n_units > 0) {
        const struct ty_unit_times *first = &times->unit[type->first][slice];
        cut_end(&sum[TY_PHASE_FORWARD], &times->unit[type->last][slice].forward);
        cut_end(&sum[TY_PHASE_BACKWARD], &first->backward);
        cut_end(&sum[TY_PHASE_DGRAD], &first->input);
        cut_end(&sum[TY_PHASE_WGRAD], &first->weight);
    }
}

int ty_plan_stage_time(struct ty_plan_costs *costs, const struct ty_plan_times *times,
                       const struct ty_plan_type *type, uint32_t slices,
                       struct ty_plan_stage *stage, struct ty_err *err)
{
    if (stage->time != NULL) {
        return 0;
    }
    stage->time =
        ty_arena_array(&costs->arena, struct ty_unit_time, (size_t)slices * TY_PLAN_PHASES);
    if (stage->time == NULL) {
        return ty_fail_memory(err);
    }
    for (uint32_t q = 0; q < slices; q++) {
        sum_times(times, type, q, stage->time + (size_t)q * TY_PLAN_PHASES);
    }
    return 0;
}

static bool is_whole(double bytes)
{
    return floor(bytes) == bytes;
}

static void sum_tensors(struct ty_plan_costs *costs, const struct ty_plan_layer *layer,
                        const struct ty_plan_type *type, struct ty_plan_stage *stage)
{
    struct ty_memory_stage memory = {
        .arch = &costs->base->arch, .layers = type->layers, .head = type->count[TY_UNIT_HEAD] > 0};
    struct ty_tensors *tensors = costs->tensors;
    memcpy(tensors->item, layer->tensor, layer->n_tensors * sizeof(*layer->tensor));
    tensors->n = layer->n_tensors;
    memcpy(memory.count, type->count, sizeof(memory.count));
    for (enum ty_unit_kind k = 0; k < TY_N_UNIT_KINDS; k++) {
        const uint32_t n = type->count[k];
        if (n > 0) {
            stage->kept_B += n * ty_tensors_sum(tensors, k, TY_LIFE_KEPT);
            stage->again_B += n * ty_tensors_sum(tensors, k, TY_LIFE_RECOMPUTED);
        }
    }
    for (uint32_t phase = 0; phase < TY_PLAN_PHASES; phase++) {
        stage->brief_B[phase] = ty_memory_pass(tensors, &memory, (enum ty_phase)phase).bytes;
    }
    stage->in_bytes = is_whole(stage->kept_B) && is_whole(stage->again_B);
    for (uint32_t phase = 0; phase < TY_PLAN_PHASES; phase++) {
        stage->in_bytes = stage->in_bytes && is_whole(stage->brief_B[phase]);
    }
}

struct ty_plan_stage *ty_plan_stage(struct ty_plan_costs *costs, struct ty_plan_layer *layer,
                                    const struct ty_plan_type *type, struct ty_err *err)
{
    layer->stages.key_size = sizeof(type);
    struct ty_plan_stage *stage = ty_plan_map_find(&layer->stages, &type);
    if (stage != NULL) {
        return stage;
    }
    stage = ty_arena_array(&costs->arena, struct ty_plan_stage, 1);
    if (stage == NULL) {
        (void)ty_fail_memory(err);
        return NULL;
    }
    for (enum ty_unit_kind k = 0; k < TY_N_UNIT_KINDS; k++) {
        const struct ty_stage_params *unit = &layer->unit[k].params;
        if (type->count[k] > 0) {
            stage->params.all += type->count[k] * unit->all;
            stage->params.experts += type->count[k] * unit->experts;
            stage->params.whole += type->count[k] * unit->whole;
            stage->cuts = stage->cuts || layer->unit[k].cuts;
        }
    }
    sum_tensors(costs, layer, type, stage);
    return ty_plan_map_add(&layer->stages, &type, stage, &costs->arena, err) < 0 ? NULL : stage;
}
