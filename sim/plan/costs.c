/* costs.c - grids, layers and stages of layouts, each worked out once and found again by what it
 * depends on (costs.h). */
#include "sim/plan/costs.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/issue/pass.h"
#include "model/parallel/kinds.h"
#include "sim/plan/costs_internal.h"

/* ---- maps ----
 *
 * Values by the bytes of their keys: open addressing, at most half full. */

static uint64_t hash_of(const void *key, size_t size)
{
    const unsigned char *at = key;
    uint64_t hash = 0x9e3779b97f4a7c15u;
    for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t), at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, at, sizeof(word));
        hash = (hash ^ word) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    for (; size > 0; size--, at++) {
        hash = (hash ^ *at) * 0xff51afd7ed558ccdu;
    }
    return hash ^ hash >> 29;
}

static uint32_t place_of(const struct ty_plan_map *map, const void *key, uint64_t hash)
{
    assert(map->cap > map->n && (map->cap & (map->cap - 1)) == 0);
    uint32_t i = (uint32_t)hash & (map->cap - 1);
    while (map->entry[i].key != NULL &&
           (map->entry[i].hash != hash || memcmp(map->entry[i].key, key, map->key_size) != 0)) {
        i = (i + 1) & (map->cap - 1);
    }
    return i;
}

void *ty_plan_map_find(struct ty_plan_map *map, const void *key)
{
    if (map->n == 0) {
        return NULL;
    }
    const struct ty_plan_entry *last = &map->entry[map->last];
    if (last->key != NULL && memcmp(last->key, key, map->key_size) == 0) {
        return last->value;
    }
    const uint32_t i = place_of(map, key, hash_of(key, map->key_size));
    map->last = map->entry[i].key != NULL ? i : map->last;
    return map->entry[i].value;
}

static int grow(struct ty_plan_map *map)
{
    struct ty_plan_map more = *map;
    more.cap = map->cap == 0 ? 64 : 2 * map->cap;
    more.entry = calloc(more.cap, sizeof(*more.entry));
    if (more.entry == NULL) {
        return -1;
    }
    for (uint32_t i = 0; i < map->cap; i++) {
        if (map->entry[i].key != NULL) {
            more.entry[place_of(&more, map->entry[i].key, map->entry[i].hash)] = map->entry[i];
        }
    }
    free(map->entry);
    more.last = 0;
    *map = more;
    return 0;
}

int ty_plan_map_add(struct ty_plan_map *map, const void *key, void *value, struct ty_arena *arena,
                    struct ty_err *err)
{
    void *own = ty_arena_alloc(arena, 1, map->key_size);
    if (own == NULL || (2 * map->n >= map->cap && grow(map) < 0)) {
        return ty_fail_memory(err);
    }
    memcpy(own, key, map->key_size);
    const uint64_t hash = hash_of(key, map->key_size);
    const uint32_t i = place_of(map, key, hash);
    assert(map->entry[i].key == NULL); /* nobody adds a key twice */
    map->entry[i] = (struct ty_plan_entry){hash, own, value};
    map->n++;
    map->last = i;
    assert(2 * map->n <= map->cap);
    return 0;
}

static void plan_map_release(struct ty_plan_map *map)
{
    free(map->entry);
    map->entry = NULL;
    map->n = map->cap = 0;
}

/* ---- grids ----
 *
 * Where the groups of a layout lie, and what GPUs its stages have.
 *
 * Grids differ, but the ways in which their groups lie are few: equal ones are one object, so that
 * layers of other grids are found by it. */

/* All that groups depend on. */
struct grid_key {
    const uint32_t *gpu_of;
    uint32_t tensor, context, pipeline, data, expert, expert_tensor, expert_data;
    uint32_t shard, context_inner, sharded, tensor_scheme, tensor_depth;
    int32_t order[TY_N_AXES];
};

static void make_grid(const struct ty_plan_costs *costs, const struct ty_layout *layout,
                      struct ty_grid *grid)
{
    assert(layout->tensor > 0 && layout->context > 0 && layout->data > 0 && layout->pipeline > 0);
    uint32_t size[TY_N_AXES] = {0};
    size[TY_AXIS_TENSOR] = layout->tensor;
    size[TY_AXIS_CONTEXT] = layout->context;
    size[TY_AXIS_DATA] = layout->data;
    size[TY_AXIS_PIPELINE] = layout->pipeline;
    ty_grid_init(grid, size, layout->order.item, costs->base->cluster.gpus_per_node);
    grid->gpu_of = layout->gpu_of;
}

/* The object that is equal to a group; NULL: no memory. */
static const struct ty_plan_group *same_group(struct ty_plan_costs *costs,
                                              const struct ty_plan_group *group, struct ty_err *err)
{
    struct ty_plan_group *known = ty_plan_map_find(&costs->groups, group);
    if (known == NULL) {
        known = ty_arena_array(&costs->arena, struct ty_plan_group, 1);
        if (known == NULL) {
            (void)ty_fail_memory(err);
            return NULL;
        }
        *known = *group;
        if (ty_plan_map_add(&costs->groups, group, known, &costs->arena, err) < 0) {
            return NULL;
        }
    }
    return known;
}

/* What the groups of these ranks have in common. */
static const struct ty_plan_group *group_of(struct ty_plan_costs *costs,
                                            const struct ty_reach *reach, uint32_t n_ranks,
                                            struct ty_err *err)
{
    struct ty_plan_group group;
    memset(&group, 0, sizeof(group));
    group.first = reach[0];
    for (uint32_t r = 0; r < n_ranks && group.n <= TY_PLAN_REACHES; r++) {
        uint32_t k = 0;
        while (k < group.n && memcmp(&group.reach[k], &reach[r], sizeof(reach[r])) != 0) {
            k++;
        }
        if (k < TY_PLAN_REACHES) {
            group.reach[k] = reach[r];
        }
        group.n = k == group.n ? k + 1 : group.n;
    }
    return same_group(costs, &group, err);
}

/* A rank of the first stage and its like on the last one, which a hop joins. */
static const struct ty_plan_group *ends_of(struct ty_plan_costs *costs, uint32_t hop,
                                           struct ty_err *err)
{
    struct ty_plan_group ends;
    memset(&ends, 0, sizeof(ends));
    for (uint32_t k = 0; k < 2; k++) {
        if ((hop & (k == 0 ? TY_PLAN_NEAR : TY_PLAN_FAR)) != 0) {
            ends.reach[ends.n++] = (struct ty_reach){
                .ranks = 2, .nodes = k + 1, .per_node = 2 - k, .sharing = 1, .fewest = 2 - k};
        }
    }
    ends.first = ends.reach[0];
    return same_group(costs, &ends, err);
}

static int find_groups(struct ty_plan_costs *costs, const struct ty_layout *layout,
                       const struct ty_grid *grid, struct ty_plan_grid *out, struct ty_err *err)
{
    const struct ty_comm_span shard = ty_comm_span(layout, grid, TY_GROUP_DATA);
    const unsigned all = (1u << TY_N_AXES) - 1;
    struct ty_arena arena = {.head = NULL};
    const struct ty_reach *reach =
        ty_grid_reaches(&shard.grid, layout->zero > 0 ? all : all & ~shard.dims, NULL, &arena);
    bool ok = reach != NULL;
    out->norm = ok ? group_of(costs, reach, grid->n_ranks, err) : NULL;
    for (enum ty_comm_group g = 0; g < TY_N_COMM_GROUPS && ok; g++) {
        if (g < TY_GROUP_CONTEXT || ty_comm_span(layout, grid, g).count > 1) {
            reach = ty_comm_reaches(layout, grid, g, NULL, &arena);
            out->group[g] = reach != NULL ? group_of(costs, reach, grid->n_ranks, err) : NULL;
            ok = out->group[g] != NULL;
        }
    }
    ty_arena_release(&arena);
    out->ends = ends_of(costs, out->hop[layout->pipeline - 1], err);
    return ok && out->norm != NULL && out->ends != NULL ? 0 : ty_fail_memory(err);
}

static void look_at_ranks(const struct ty_plan_costs *costs, const struct ty_grid *grid,
                          struct ty_plan_grid *out)
{
    const struct ty_cluster *cluster = &costs->base->cluster;
    const uint32_t p = grid->size[TY_AXIS_PIPELINE];
    for (uint32_t rank = 0; rank < grid->n_ranks; rank++) {
        uint32_t at[TY_N_AXES];
        ty_grid_coords(grid, rank, at);
        const uint32_t stage = at[TY_AXIS_PIPELINE], node = ty_grid_node(grid, rank);
        const uint32_t generation = ty_exceptions_generation(cluster, node);
        const double memory = ty_exceptions_cluster(cluster, generation)->gpu.memory;
        double *least = &out->memory_B[stage];
        out->used[generation] = true;
        *least = *least == 0 || memory < *least ? memory : *least;
        if (cluster->exceptions != NULL) {
            const double speed = ty_exceptions_gpu_speed(cluster, ty_grid_gpu(grid, rank));
            out->slower[stage] = ty_plan_larger(out->slower[stage], 1 / speed);
        }
        at[TY_AXIS_PIPELINE] = (stage + 1) % p;
        const bool near = ty_grid_node(grid, ty_grid_rank(grid, at)) == node;
        out->hop[stage] |= near ? TY_PLAN_NEAR : TY_PLAN_FAR;
    }
}

static const struct ty_plan_grid *plan_grid(struct ty_plan_costs *costs,
                                            const struct ty_layout *layout, struct ty_err *err)
{
    struct grid_key key;
    struct ty_grid grid;
    memset(&key, 0, sizeof(key));
    key.gpu_of = layout->gpu_of;
    key.tensor = layout->tensor;
    key.tensor_scheme = (uint32_t)layout->tensor_scheme;
    key.tensor_depth = layout->tensor_depth;
    key.context = layout->context;
    key.pipeline = layout->pipeline;
    key.data = layout->data;
    key.expert = layout->expert;
    key.expert_tensor = layout->expert_tensor;
    key.expert_data = layout->expert_data;
    key.shard = layout->shard;
    key.context_inner = layout->context_inner;
    key.sharded = layout->zero > 0;
    memcpy(key.order, layout->order.item, sizeof(key.order));
    costs->grids.key_size = sizeof(key);
    struct ty_plan_grid *out = ty_plan_map_find(&costs->grids, &key);
    if (out != NULL) {
        return out;
    }
    out = ty_arena_array(&costs->arena, struct ty_plan_grid, 1);
    if (out != NULL) {
        out->hop = ty_arena_array(&costs->arena, uint8_t, layout->pipeline);
        out->memory_B = ty_arena_array(&costs->arena, double, layout->pipeline);
        out->slower = ty_arena_array(&costs->arena, double, layout->pipeline);
    }
    if (out == NULL || out->hop == NULL || out->memory_B == NULL || out->slower == NULL) {
        (void)ty_fail_memory(err);
        return NULL;
    }
    make_grid(costs, layout, &grid);
    look_at_ranks(costs, &grid, out);
    return find_groups(costs, layout, &grid, out, err) < 0 ||
                   ty_plan_map_add(&costs->grids, &key, out, &costs->arena, err) < 0
               ? NULL
               : out;
}

/* ---- layers ----
 *
 * Parameters and tensors of a micro-batch on a rank, whatever the pipeline. */

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

/* One entry for all tensors in a kind of unit that are there at the same times. */
static int add_tensors(struct ty_plan_costs *costs, const struct ty_units *units,
                       struct ty_plan_layer *layer)
{
    struct ty_tensor sum[TY_N_UNIT_KINDS * TY_N_LIVES * 2];
    double bytes[TY_N_UNIT_KINDS][TY_N_LIVES][2] = {{{0}}};
    layer->placeholders = units->placeholders;
    ty_memory_tensors(units, costs->tensors);
    for (uint32_t i = 0; i < costs->tensors->n; i++) {
        const struct ty_tensor *x = &costs->tensors->item[i];
        bytes[x->unit][x->life][x->weight] += x->bytes;
    }
    for (enum ty_unit_kind k = 0; k < TY_N_UNIT_KINDS; k++) {
        for (uint32_t i = 0; i < 2 * TY_N_LIVES; i++) {
            const double all = bytes[k][i / 2][i % 2];
            if (all > 0) {
                sum[layer->n_tensors++] =
                    (struct ty_tensor){"", k, i % 2 == 1, (enum ty_tensor_life)(i / 2), all, 0};
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
    int rc = layer->grads == NULL ? TY_ENOMEM : add_tensors(costs, units, layer);
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

static struct ty_plan_layer *plan_layer(struct ty_plan_costs *costs, const struct ty_layout *layout,
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

/* ---- types of stages ---- */

/* ---- stages ----
 *
 * Which units the virtual stages of a pipeline have, and sums over them. Of many
 * stages few differ. */

struct type_key {
    uint32_t count[TY_N_UNIT_KINDS];
    uint32_t first, last;
    struct ty_layers layers; /* where some run again: which */
};

static const struct ty_plan_type *plan_type(struct ty_plan_costs *costs,
                                            const struct ty_layers *layers, bool first, bool last,
                                            struct ty_err *err)
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
        deal->stage[s] = plan_type(costs, &layers, s == 0, s == stages - 1, err);
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

static const struct ty_plan_deal *plan_deal(struct ty_plan_costs *costs,
                                            const struct ty_layout *layout, uint32_t stages,
                                            struct ty_err *err)
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

static int plan_stage_time(struct ty_plan_costs *costs, const struct ty_plan_times *times,
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
            stage->waiting_B += n * ty_tensors_waiting(tensors, k);
        }
    }
    for (uint32_t phase = 0; phase < TY_PLAN_PHASES; phase++) {
        stage->brief_B[phase] = ty_memory_pass(tensors, &memory, (enum ty_phase)phase).bytes;
    }
    stage->split_B = ty_memory_split(tensors, type->count);
    stage->in_bytes = is_whole(stage->kept_B) && is_whole(stage->waiting_B);
    for (uint32_t phase = 0; phase < TY_PLAN_PHASES; phase++) {
        stage->in_bytes = stage->in_bytes && is_whole(stage->brief_B[phase]);
    }
}

static struct ty_plan_stage *plan_stage(struct ty_plan_costs *costs, struct ty_plan_layer *layer,
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
            ty_stage_params_add(&stage->params, unit, type->count[k]);
            stage->cuts = stage->cuts || layer->unit[k].cuts;
        }
    }
    sum_tensors(costs, layer, type, stage);
    return ty_plan_map_add(&layer->stages, &type, stage, &costs->arena, err) < 0 ? NULL : stage;
}

/* Whether nothing is drawn, micro-batches are alike, and nothing set faster than it is priced. */
static bool is_known(const struct ty_config *base)
{
    const bool routed = ty_arch_is_moe(&base->arch) && base->routing.method != TY_TOKENS_BALANCED;
    bool known = base->run.jitter == 0 && base->run.gpu_spread == 0 && !routed &&
                 base->packing.n == 0 && base->run.detail != TY_RUN_STEPS;
    const uint32_t n = base->cluster.nodes * base->cluster.gpus_per_node;
    for (uint32_t g = 0; g < n && base->cluster.exceptions != NULL; g++) {
        known = known && ty_exceptions_gpu_speed(&base->cluster, g) <= 1;
    }
    return known;
}

/* Documents of a sequence whose attention costs no more than that of any: pairs / tokens and
 * tokens are the least, so are pairs + half x tokens, and these over the share of the GPU that
 * tokens fill. A window and measured kernels have no such order. */
static bool find_least(const struct ty_config *base, struct ty_pack *least)
{
    double tokens = INFINITY, most = 0, pairs = INFINITY;
    for (uint32_t i = 0; i < base->packing.n; i++) {
        const struct ty_pack *x = &base->packing.sequence[i];
        tokens = fmin(tokens, x->tokens);
        most = fmax(most, x->tokens);
        pairs = fmin(pairs, x->pairs[0]);
    }
    pairs *= tokens / most;
    *least =
        (struct ty_pack){.sequences = 1, .documents = 1, .tokens = tokens, .pairs = {pairs, pairs}};
    return base->packing.n > 0 && base->arch.window == 0 &&
           base->cluster.gpu.operator_table == NULL;
}

static int make_low(struct ty_plan_costs *costs, const struct ty_config *base, struct ty_err *err)
{
    struct ty_pack *least = ty_arena_array(&costs->arena, struct ty_pack, 1);
    struct ty_config *low = ty_arena_array(&costs->arena, struct ty_config, 1);
    if (least == NULL || low == NULL) {
        return ty_fail_memory(err);
    }
    if (!find_least(base, least)) {
        return 0;
    }
    *low = *base;
    low->packing = (struct ty_packing){.n = 0};
    low->arch.packed = least;
    return ty_plan_costs_new(&costs->low, low, err);
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
    const int rc = base->packing.n > 0 ? make_low(costs, base, err) : 0;
    if (rc < 0) {
        ty_plan_costs_free(costs);
        return rc;
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
            plan_map_release(&layer->stages);
        }
    }
    plan_map_release(layers);
}

void ty_plan_costs_free(struct ty_plan_costs *costs)
{
    if (costs == NULL) {
        return;
    }
    ty_plan_costs_free(costs->low);
    struct ty_plan_map *const maps[] = {&costs->groups,   &costs->grids,  &costs->types,
                                        &costs->deals,    &costs->orders, &costs->helds,
                                        &costs->traffics, &costs->prices, &costs->grads};
    release_layers(&costs->layers);
    for (size_t i = 0; i < TY_COUNT(maps); i++) {
        plan_map_release(maps[i]);
    }
    for (uint32_t i = 0; i < TY_PLAN_STEERED; i++) {
        ty_arena_release(&costs->steered[i].arena);
    }
    ty_arena_release(&costs->scratch);
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
    out->grid = plan_grid(costs, layout, err);
    out->layer = out->grid == NULL ? NULL : plan_layer(costs, layout, out->grid, shape.slices, err);
    out->deal = out->layer == NULL ? NULL : plan_deal(costs, layout, ty_sched_stages(&shape), err);
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
        costs->stage[s] =
            same ? costs->stage[s - 1] : plan_stage(costs, look->layer, look->deal->stage[s], err);
        if (costs->stage[s] == NULL ||
            (times != NULL &&
             plan_stage_time(costs, times, look->deal->stage[s], look->order->shape.slices,
                             costs->stage[s], err) < 0)) {
            return TY_ENOMEM;
        }
    }
    *out = (const struct ty_plan_stage *const *)costs->stage;
    return 0;
}
