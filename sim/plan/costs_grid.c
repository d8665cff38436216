/* costs_grid.c - where the groups of a layout lie, and what GPUs its stages have.
 *
 * Grids differ, but the ways in which their groups lie are few: equal ones are one object, so that
 * layers of other grids are found by it. */
#include <string.h>

#include "sim/plan/costs_internal.h"

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

const struct ty_plan_grid *ty_plan_grid(struct ty_plan_costs *costs, const struct ty_layout *layout,
                                        struct ty_err *err)
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
