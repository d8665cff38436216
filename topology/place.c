/* place.c - which rank is where: the mixed-radix grid of a 3D-parallel job.
 *
 * A rank is a number in mixed radix; `order` says which dimension is the lowest digit. A sub-grid
 * is what remains when some digits are held, and counting through its free digits, lowest first,
 * visits its ranks in increasing order: strides are nested, so a carry always moves forward. All
 * functions lean on that; none needs a list of ranks.
 *
 *     order [tensor, data, pipeline], sizes 2, 2, 2:    rank = t + 2 d + 4 p
 *     tensor groups {0,1} {2,3} ..   data groups {0,2} {1,3} ..   pipelines {0,4} {1,5} ..
 *
 * Source of the scheme: Narayanan et al. 2021 (Megatron-LM), section 3. */
#include "topology/place.h"

#include <assert.h>
#include <stddef.h>

const struct ty_word ty_axis_words[] = {
    {"tensor", TY_AXIS_TENSOR, "ranks that share every matrix product"},
    {"context", TY_AXIS_CONTEXT, "ranks that share a sequence"},
    {"data", TY_AXIS_DATA, "replicas of the model that share a batch"},
    {"pipeline", TY_AXIS_PIPELINE, "ranks that hold successive layers"},
    {NULL, 0, NULL},
};

static uint32_t digit(const struct ty_grid *grid, int axis, uint32_t rank)
{
    return rank / grid->stride[axis] % grid->size[axis];
}

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

uint32_t ty_grid_rank(const struct ty_grid *grid, const uint32_t coord[TY_N_AXES])
{
    uint32_t rank = 0;
    for (int axis = 0; axis < TY_N_AXES; axis++) {
        rank += coord[axis] * grid->stride[axis];
    }
    return rank;
}

void ty_grid_coords(const struct ty_grid *grid, uint32_t rank, uint32_t coord[TY_N_AXES])
{
    for (int axis = 0; axis < TY_N_AXES; axis++) {
        coord[axis] = digit(grid, axis, rank);
    }
}

struct ty_ranks ty_grid_group(const struct ty_grid *grid, enum ty_axis dim, uint32_t rank)
{
    const uint32_t stride = grid->stride[dim];
    return (struct ty_ranks){
        .first = rank - digit(grid, (int)dim, rank) * stride,
        .stride = stride,
        .count = grid->size[dim],
    };
}

/* The lowest rank of the sub-grid. */
static uint32_t subgrid_first(const struct ty_grid *grid, unsigned dims, uint32_t rank)
{
    uint32_t first = rank;
    for (int axis = 0; axis < TY_N_AXES; axis++) {
        if (spans(dims, axis)) {
            first -= digit(grid, axis, rank) * grid->stride[axis];
        }
    }
    return first;
}

static uint32_t subgrid_count(const struct ty_grid *grid, unsigned dims)
{
    uint32_t count = 1;
    for (int axis = 0; axis < TY_N_AXES; axis++) {
        count *= spans(dims, axis) ? grid->size[axis] : 1;
    }
    return count;
}

/* The member after `rank`, counting up; the first one after the last. */
static uint32_t subgrid_next(const struct ty_grid *grid, unsigned dims, uint32_t rank)
{
    for (int i = 0; i < TY_N_AXES; i++) {
        const int axis = grid->order[i];
        if (!spans(dims, axis)) {
            continue;
        }
        if (digit(grid, axis, rank) + 1 < grid->size[axis]) {
            return rank + grid->stride[axis];
        }
        rank -= (grid->size[axis] - 1) * grid->stride[axis];
    }
    return rank;
}

/* True when no member of rank's sub-grid lies in [from, rank). */
static bool is_first_since(const struct ty_grid *grid, unsigned dims, uint32_t rank, uint32_t from)
{
    uint32_t previous = rank;
    for (int i = 0; i < TY_N_AXES; i++) {
        const int axis = grid->order[i];
        if (!spans(dims, axis)) {
            continue;
        }
        if (digit(grid, axis, rank) > 0) {
            return previous - grid->stride[axis] < from;
        }
        previous += (grid->size[axis] - 1) * grid->stride[axis];
    }
    return true;
}

uint32_t ty_grid_subgrid(const struct ty_grid *grid, unsigned dims, uint32_t rank, uint32_t *out)
{
    const uint32_t n = subgrid_count(grid, dims);
    if (out != NULL) {
        uint32_t member = subgrid_first(grid, dims, rank);
        for (uint32_t i = 0; i < n; i++) {
            out[i] = member;
            member = subgrid_next(grid, dims, member);
        }
    }
    return n;
}

/* Groups of these dimensions with members on a node: each is counted at its first rank there. */
static uint32_t groups_on_node(const struct ty_grid *grid, unsigned dims, uint32_t node)
{
    const uint32_t from = node * grid->gpus_per_node;
    uint32_t n = 0;
    for (uint32_t i = 0; i < grid->gpus_per_node && from + i < grid->n_ranks; i++) {
        n += is_first_since(grid, dims, from + i, from);
    }
    return n;
}

struct ty_reach ty_grid_reach(const struct ty_grid *grid, unsigned dims, uint32_t rank)
{
    struct ty_reach reach = {.ranks = subgrid_count(grid, dims)};
    uint32_t member = subgrid_first(grid, dims, rank);
    uint32_t node = ty_grid_node(grid, member), busiest = node, on_node = 0;
    for (uint32_t i = 0; i < reach.ranks; i++) {
        if (i == 0 || ty_grid_node(grid, member) != node) {
            node = ty_grid_node(grid, member);
            on_node = 0;
            reach.nodes++;
        }
        on_node++;
        if (on_node > reach.per_node) {
            reach.per_node = on_node;
            busiest = node;
        }
        member = subgrid_next(grid, dims, member);
    }
    reach.sharing = groups_on_node(grid, dims, busiest);
    return reach;
}
