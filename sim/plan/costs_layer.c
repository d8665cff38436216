/* costs_layer.c - parameters and tensors of a micro-batch on a rank, whatever the pipeline. */
#include <string.h>

#include "model/parallel/kinds.h"
#include "sim/plan/costs_internal.h"

/* All that the units of a rank, and their times, depend on. */
struct layer_key {
    const struct ty_plan_group *group[TY_N_COMM_GROUPS]; /* that talk while a pass runs */
    uint32_t tensor, context, expert, expert_tensor, context_inner, context_method;
    uint32_t micro_batch, micro_batches, slices, sequence_parallel, ends_apart, piped;
    uint32_t zero, framework, generations, away; /* away: gradients leave the GPU */
    uint32_t tensor_scheme, tensor_depth, summa, keep_gathered;
    uint32_t n_modes, mode[TY_RECOMPUTE_MODES];
};

static bool talks_in_passes(enum ty_comm_group group)
{
    return group != TY_GROUP_DATA && group != TY_GROUP_REPLICA && group != TY_GROUP_EXPERT_DATA;
}

/* Whether gradients cost more with more micro-batches to add up, or weights are cast once. */
static bool counts_micro_batches(const struct ty_layout *layout)
{
    const bool adds = layout->framework.fused_accumulation && !ty_layout_is_mesh(layout) &&
                      ty_memory_added_bytes(layout) == ty_memory_grad_bytes(layout);
    return !adds || layout->framework.fp8_recipe != TY_FP8_NONE;
}

static int make_key(struct ty_plan_costs *costs, const struct ty_layout *layout,
                    const struct ty_plan_grid *grid, uint32_t slices, struct layer_key *key,
                    struct ty_err *err)
{
    memset(key, 0, sizeof(*key));
    for (enum ty_comm_group g = 0; g < TY_N_COMM_GROUPS; g++) {
        key->group[g] = talks_in_passes(g) ? grid->group[g] : NULL;
    }
    key->tensor = layout->tensor;
    key->tensor_scheme = (uint32_t)layout->tensor_scheme;
    key->tensor_depth = layout->tensor_depth;
    key->summa = (uint32_t)layout->summa;
    key->keep_gathered = layout->keep_gathered;
    key->context = layout->context;
    key->expert = layout->expert;
    key->expert_tensor = layout->expert_tensor;
    key->context_inner = layout->context_inner;
    key->context_method = (uint32_t)layout->context_method;
    key->micro_batch = layout->micro_batch;
    key->micro_batches = counts_micro_batches(layout) ? layout->micro_batches : 0;
    key->slices = slices;
    key->sequence_parallel = layout->sequence_parallel;
    key->ends_apart = ty_layout_ends_apart(layout);
    key->piped = layout->pipeline > 1;
    key->zero = layout->zero < 2 ? 0 : layout->zero;
    key->away = layout->home.share > 0;
    for (uint32_t g = 0; g < TY_GENERATIONS_MAX; g++) {
        key->generations |= grid->used[g] ? 1u << g : 0;
    }
    key->n_modes = layout->n_modes;
    memcpy(key->mode, layout->mode, layout->n_modes * sizeof(*layout->mode));
    return ty_plan_framework(costs, &layout->framework, &key->framework, err);
}

/* ---- what is held ---- */

/* One entry for all tensors of a life in a kind of unit. */
static int sum_tensors(struct ty_plan_costs *costs, const struct ty_units *units,
                       struct ty_plan_layer *layer)
{
    struct ty_tensor sum[TY_N_UNIT_KINDS * (TY_LIFE_LOSS_BACKWARD + 1)];
    ty_memory_tensors(units, costs->tensors);
    for (enum ty_unit_kind k = 0; k < TY_N_UNIT_KINDS; k++) {
        for (enum ty_tensor_life life = 0; life <= TY_LIFE_LOSS_BACKWARD; life++) {
            const double bytes = ty_tensors_sum(costs->tensors, k, life);
            if (bytes > 0) {
                sum[layer->n_tensors++] = (struct ty_tensor){"", k, life, bytes, 0};
            }
        }
    }
    layer->tensor = ty_arena_array(&costs->arena, struct ty_tensor, layer->n_tensors);
    if (layer->tensor == NULL) {
        return TY_ENOMEM;
    }
    memcpy(layer->tensor, sum, layer->n_tensors * sizeof(*sum));
    return 0;
}

/* The object that is equal to the gradients of these units. NULL: no memory. */
static const struct ty_grads *same_grads(struct ty_plan_costs *costs, const struct ty_units *units,
                                         const struct ty_layout *layout)
{
    struct ty_grads grads;
    ty_grads_make(&grads, units, layout);
    costs->grads.key_size = sizeof(grads);
    struct ty_grads *known = ty_plan_map_find(&costs->grads, &grads);
    if (known != NULL) {
        return known;
    }
    known = ty_arena_array(&costs->arena, struct ty_grads, 1);
    if (known != NULL) {
        *known = grads;
    }
    return known == NULL || ty_plan_map_add(&costs->grads, &grads, known, &costs->arena, NULL) < 0
               ? NULL
               : known;
}

static int make_layer(struct ty_plan_costs *costs, const struct ty_layout *layout, uint32_t slices,
                      struct ty_plan_layer *layer)
{
    const struct ty_arch *arch = &costs->base->arch;
    struct ty_units *units = costs->units;
    ty_units_make(units, arch, layout);
    for (enum ty_unit_kind k = 0; k < TY_N_UNIT_KINDS; k++) {
        uint32_t count[TY_N_UNIT_KINDS] = {0};
        count[k] = 1;
        layer->unit[k].params = ty_count_params(units, arch, count);
    }
    layer->grads = same_grads(costs, units, layout);
    int rc = layer->grads == NULL ? TY_ENOMEM : sum_tensors(costs, units, layer);
    if (slices > 1) {
        const struct ty_arch part = ty_arch_slice(arch, slices);
        ty_units_make(units, &part, layout);
    }
    for (enum ty_unit_kind k = 0; k < TY_N_UNIT_KINDS; k++) {
        layer->unit[k].cuts = ty_issuer_cuts(&units->kind[k], layout);
    }
    layer->hidden_B =
        units->shard.tokens * units->shard.hidden * ty_dtype_bytes((enum ty_dtype)arch->dtype);
    return rc;
}

struct ty_plan_layer *ty_plan_layer(struct ty_plan_costs *costs, const struct ty_layout *layout,
                                    const struct ty_plan_grid *grid, uint32_t slices,
                                    struct ty_err *err)
{
    struct layer_key key;
    costs->layers.key_size = sizeof(key);
    if (make_key(costs, layout, grid, slices, &key, err) < 0) {
        return NULL;
    }
    struct ty_plan_layer *layer = ty_plan_map_find(&costs->layers, &key);
    if (layer != NULL) {
        return layer;
    }
    layer = ty_arena_array(&costs->arena, struct ty_plan_layer, 1);
    if (layer == NULL || make_layer(costs, layout, slices, layer) < 0) {
        (void)ty_fail_memory(err);
        return NULL;
    }
    return ty_plan_map_add(&costs->layers, &key, layer, &costs->arena, err) < 0 ? NULL : layer;
}
