/* place.c - which rank is where: the mixed-radix grid of a 3D-parallel job.
 *
 * A rank is a number in mixed radix; `order` says which dimension is the lowest digit. A sub-grid
 * is what remains when some digits are held, and counting through its free digits, lowest first,
 * visits its ranks in increasing order: strides are nested, so a carry always moves forward. All
 * functions lean on that; none needs a list of ranks. Where ranks sit changes none of it: only
 * reaches look at nodes.
 *
 *     order [tensor, data, pipeline], sizes 2, 2, 2:    rank = t + 2 d + 4 p
 *     tensor groups {0,1} {2,3} ..   data groups {0,2} {1,3} ..   pipelines {0,4} {1,5} ..
 *
 * Source of the scheme: Narayanan et al. 2021 (Megatron-LM), section 3. */
#include "topology/place.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

const struct ty_word ty_axis_words[] = {
    {"tensor", TY_AXIS_TENSOR, "ranks that share every GEMM"},
    {"context", TY_AXIS_CONTEXT, "ranks that share a sequence"},
    {"data", TY_AXIS_DATA, "replicas of the model that share a batch"},
    {"pipeline", TY_AXIS_PIPELINE, "ranks that hold successive layers"},
    {NULL, 0, NULL},
};

/* The numbers that a rank is counted with: those of the grid, or of its stage. */
struct digits {
    uint32_t first;
    const uint32_t *size, *stride;
};

static uint32_t stage_of(const struct ty_grid *grid, uint32_t rank)
{
    uint32_t stage = 0;
    while (stage + 1 < grid->size[TY_AXIS_PIPELINE] && grid->stage[stage + 1].first <= rank) {
        stage++;
    }
    return stage;
}

static struct digits digits_of(const struct ty_grid *grid, uint32_t rank)
{
    if (grid->stage == NULL) {
        return (struct digits){0, grid->size, grid->stride};
    }
    const struct ty_grid_stage *stage = &grid->stage[stage_of(grid, rank)];
    return (struct digits){stage->first, stage->size, stage->stride};
}

static uint32_t digit(const struct digits *d, int axis, uint32_t rank)
{
    return (rank - d->first) / d->stride[axis] % d->size[axis];
}

#define EVERY_AXIS ((1u << TY_N_AXES) - 1)

static bool spans(unsigned dims, int axis)
{
    return (dims >> axis & 1u) != 0;
}

void ty_grid_init(struct ty_grid *grid, const uint32_t size[TY_N_AXES], const int order[TY_N_AXES],
                  uint32_t gpus_per_node)
{
    assert(gpus_per_node > 0);
    *grid = (struct ty_grid){.n_ranks = 1, .gpus_per_node = gpus_per_node};
    for (int i = 0; i < TY_N_AXES; i++) {
        const int axis = order[i];
        assert(size[axis] > 0 && grid->stride[axis] == 0);
        grid->order[i] = axis;
        grid->size[axis] = size[axis];
        grid->stride[axis] = grid->n_ranks;
        grid->n_ranks *= size[axis];
    }
}

int ty_grid_init_stages(struct ty_grid *grid, const uint32_t (*size)[TY_N_AXES], uint32_t n_stages,
                        const int order[TY_N_AXES], uint32_t gpus_per_node, struct ty_arena *arena)
{
    struct ty_grid_stage *stage = ty_arena_array(arena, struct ty_grid_stage, n_stages);
    uint32_t most[TY_N_AXES] = {0}, n = 0;
    if (stage == NULL) {
        return TY_ENOMEM;
    }
    for (uint32_t s = 0; s < n_stages; s++) {
        struct ty_grid own;
        ty_grid_init(&own, size[s], order, gpus_per_node);
        assert(own.size[TY_AXIS_PIPELINE] == 1);
        stage[s].first = n;
        memcpy(stage[s].size, own.size, sizeof(own.size));
        memcpy(stage[s].stride, own.stride, sizeof(own.stride));
        n += own.n_ranks;
        for (int axis = 0; axis < TY_N_AXES; axis++) {
            most[axis] = own.size[axis] > most[axis] ? own.size[axis] : most[axis];
        }
    }
    most[TY_AXIS_PIPELINE] = n_stages;
    ty_grid_init(grid, most, order, gpus_per_node);
    grid->n_ranks = n;
    grid->stage = stage;
    return 0;
}

uint32_t ty_grid_rank(const struct ty_grid *grid, const uint32_t coord[TY_N_AXES])
{
    const struct ty_grid_stage *stage =
        grid->stage == NULL ? NULL : &grid->stage[coord[TY_AXIS_PIPELINE]];
    const uint32_t *stride = stage == NULL ? grid->stride : stage->stride;
    uint32_t rank =
        stage == NULL ? coord[TY_AXIS_PIPELINE] * stride[TY_AXIS_PIPELINE] : stage->first;
    for (int axis = 0; axis < TY_AXIS_PIPELINE; axis++) {
        rank += coord[axis] * stride[axis];
    }
    return rank;
}

void ty_grid_coords(const struct ty_grid *grid, uint32_t rank, uint32_t coord[TY_N_AXES])
{
    const struct digits d = digits_of(grid, rank);
    for (int axis = 0; axis < TY_N_AXES; axis++) {
        coord[axis] = digit(&d, axis, rank);
    }
    if (grid->stage != NULL) {
        coord[TY_AXIS_PIPELINE] = stage_of(grid, rank);
    }
}

/* Sub-grids of stages of different shape: one of a stage, or all ranks. */
static bool is_all(const struct ty_grid *grid, unsigned dims)
{
    assert(grid->stage == NULL || !spans(dims, TY_AXIS_PIPELINE) || dims == EVERY_AXIS);
    return grid->stage != NULL && spans(dims, TY_AXIS_PIPELINE);
}

/* The lowest rank of the sub-grid. */
static uint32_t subgrid_first(const struct ty_grid *grid, unsigned dims, uint32_t rank)
{
    const struct digits d = digits_of(grid, rank);
    uint32_t first = is_all(grid, dims) ? 0 : rank;
    for (int axis = 0; axis < TY_N_AXES && first > 0; axis++) {
        if (spans(dims, axis)) {
            first -= digit(&d, axis, rank) * d.stride[axis];
        }
    }
    return first;
}

/* Of which a rank is. */
static uint32_t subgrid_count(const struct ty_grid *grid, unsigned dims, uint32_t rank)
{
    const struct digits d = digits_of(grid, rank);
    uint32_t count = 1;
    if (is_all(grid, dims)) {
        return grid->n_ranks;
    }
    for (int axis = 0; axis < TY_N_AXES; axis++) {
        count *= spans(dims, axis) ? d.size[axis] : 1;
    }
    return count;
}

/* The member after `rank`, counting up; the first one after the last. */
static uint32_t subgrid_next(const struct ty_grid *grid, unsigned dims, uint32_t rank)
{
    const struct digits d = digits_of(grid, rank);
    if (is_all(grid, dims)) {
        return (rank + 1) % grid->n_ranks;
    }
    for (int i = 0; i < TY_N_AXES; i++) {
        const int axis = grid->order[i];
        if (!spans(dims, axis)) {
            continue;
        }
        if (digit(&d, axis, rank) + 1 < d.size[axis]) {
            return rank + d.stride[axis];
        }
        rank -= (d.size[axis] - 1) * d.stride[axis];
    }
    return rank;
}

uint32_t ty_grid_nodes(const struct ty_grid *grid)
{
    uint32_t last = grid->gpu_of == NULL ? ty_grid_node(grid, grid->n_ranks - 1) : 0;
    if (grid->gpu_of == NULL) {
        return last + 1;
    }
    for (uint32_t r = 0; r < grid->n_ranks; r++) {
        const uint32_t node = ty_grid_node(grid, r);
        last = node > last ? node : last;
    }
    return last + 1;
}

/* ---- reach ---- */

/* Per node: members of the group at hand, all groups, and those that leave it. */
struct tally {
    uint32_t members, groups, leaving;
    uint32_t places; /* of the members: struct ty_reach */
};

/* How one group lies, of which these are a `times`-th; counts it on its nodes. */
static struct ty_reach lie(const struct ty_grid *grid, unsigned dims, uint32_t times,
                           uint32_t first, struct tally *node)
{
    const uint32_t n = subgrid_count(grid, dims, first);
    struct ty_reach reach = {.ranks = n * times, .fewest = UINT32_MAX};
    uint32_t member = first;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t place = ty_grid_gpu(grid, member) % grid->gpus_per_node;
        struct tally *on = &node[ty_grid_node(grid, member)];
        reach.nodes += on->members++ == 0;
        on->places |= place < 32 ? 1u << place : 0;
        member = subgrid_next(grid, dims, member);
    }
    reach.nodes *= times;
    for (uint32_t i = 0; i < n; i++) {
        struct tally *on = &node[ty_grid_node(grid, member)];
        if (on->members > 0) { /* once a node */
            reach.places = on->members > reach.per_node ? on->places : reach.places;
            reach.per_node = on->members > reach.per_node ? on->members : reach.per_node;
            reach.fewest = on->members < reach.fewest ? on->members : reach.fewest;
            on->groups++;
            on->leaving += reach.nodes > 1;
            on->members = on->places = 0;
        }
        member = subgrid_next(grid, dims, member);
    }
    return reach;
}

/* Groups next to this one on its fullest node, itself included; all groups are counted. */
static uint32_t groups_on_node(const struct ty_grid *grid, unsigned dims, uint32_t first,
                               const struct ty_reach *reach, const struct tally *node)
{
    const uint32_t n_members = subgrid_count(grid, dims, first);
    uint32_t most = 0, member = first;
    for (uint32_t i = 0; i < n_members; i++) {
        const struct tally *on = &node[ty_grid_node(grid, member)];
        const uint32_t n = reach->nodes > 1 ? on->leaving : on->groups;
        most = n > most ? n : most;
        member = subgrid_next(grid, dims, member);
    }
    return most;
}

/* Cuts the data axis to what is seen of it. Returns how often a group has that. */
static uint32_t cut_to_seen(struct ty_grid *grid, unsigned dims, const struct ty_grid *seen)
{
    const int axis = TY_AXIS_DATA;
    const uint32_t apart = grid->stride[axis] / seen->stride[axis];
    const uint32_t size = seen->size[axis] / apart, all = grid->size[axis];
    if (all <= size || all == 1) {
        return 1;
    }
    grid->size[axis] = size;
    return spans(dims, axis) ? all / size : 1;
}

struct ty_reach *ty_grid_reaches(const struct ty_grid *grid, unsigned dims,
                                 const struct ty_grid *seen, struct ty_arena *arena)
{
    struct ty_grid own = *grid;
    const uint32_t times = seen != NULL ? cut_to_seen(&own, dims, seen) : 1;
    const struct ty_grid *ranks = seen != NULL ? seen : grid;
    const uint32_t n = seen != NULL ? subgrid_count(seen, EVERY_AXIS, 0) : grid->n_ranks;
    struct tally *node = ty_arena_array(arena, struct tally, ty_grid_nodes(grid));
    struct ty_reach *out = ty_arena_array(arena, struct ty_reach, grid->n_ranks);
    if (node == NULL || out == NULL) {
        return NULL;
    }
    for (uint32_t i = 0, r = 0; i < n;
         i++, r = seen != NULL ? subgrid_next(ranks, EVERY_AXIS, r) : i) {
        if (subgrid_first(&own, dims, r) == r) {
            out[r] = lie(&own, dims, times, r, node);
        }
    }
    for (uint32_t i = 0, r = 0; i < n;
         i++, r = seen != NULL ? subgrid_next(ranks, EVERY_AXIS, r) : i) {
        const uint32_t first = subgrid_first(&own, dims, r); /* at most r */
        if (first == r) {
            out[r].sharing = groups_on_node(&own, dims, r, &out[r], node);
        }
        out[r] = out[first];
    }
    return out;
}
