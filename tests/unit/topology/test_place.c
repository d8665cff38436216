/* test_place.c - the grid is a bijection, groups partition the ranks, reach is what counting
 * finds, wherever ranks sit. */
#include "topology/place.h"

#include <string.h>

#include "sim/base/noise.h"
#include "tests/unit/suite.h"

#define MAX_RANKS 64u
#define N_ORDERS  24u

/* Check writes each of its assertions to a pipe; these run a million times. */
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            ck_abort_msg("%s fails", #condition);                                                  \
        }                                                                                          \
    } while (0)
#define REQUIRE_EQ(a, b) REQUIRE((a) == (b))

static const uint32_t shapes[][TY_N_AXES] = {
    {1, 1, 1, 1}, {2, 1, 2, 2}, {4, 1, 4, 4},  {4, 2, 3, 2},
    {3, 1, 5, 2}, {1, 4, 1, 7}, {16, 1, 2, 2},
};
static const uint32_t node_sizes[] = {1, 3, 4, 8, 72};

/* Permutation number i of the four axes. */
static void nth_order(uint32_t i, int order[TY_N_AXES])
{
    int left[TY_N_AXES] = {0, 1, 2, 3};
    uint32_t radix = 6; /* 3! */
    for (int k = 0; k < TY_N_AXES; k++) {
        const uint32_t pick = i / radix;
        i %= radix;
        radix /= k < TY_N_AXES - 2 ? (uint32_t)(TY_N_AXES - 1 - k) : 1;
        order[k] = left[pick];
        memmove(&left[pick], &left[pick + 1], (TY_N_AXES - 1 - pick) * sizeof(int));
    }
}

/* A permutation of GPUs 0 .. n - 1 (Fisher and Yates), or with holes: of every other one. */
static void shuffle(uint32_t *gpu_of, uint32_t n, uint64_t seed, bool holes)
{
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t k = (uint32_t)(ty_hash4(seed, i, 0, 0) % (i + 1));
        gpu_of[i] = k < i ? gpu_of[k] : 0;
        gpu_of[k] = holes ? 2 * i : i;
    }
}

/* Calls body with every shape, order and node size; then with 40 random ones in every order, each
 * as it is, and with ranks on random GPUs, of all and with every other one left free. */
static void each_grid(void (*body)(const struct ty_grid *))
{
    for (size_t s = 0; s < TY_COUNT(shapes); s++) {
        for (uint32_t o = 0; o < N_ORDERS; o++) {
            for (size_t m = 0; m < TY_COUNT(node_sizes); m++) {
                struct ty_grid grid;
                int order[TY_N_AXES];
                nth_order(o, order);
                ty_grid_init(&grid, shapes[s], order, node_sizes[m]);
                REQUIRE(grid.n_ranks <= MAX_RANKS);
                body(&grid);
            }
        }
    }
    for (uint32_t i = 0; i < 40 * N_ORDERS; i++) {
        uint32_t size[TY_N_AXES], gpu_of[MAX_RANKS], left = MAX_RANKS;
        int order[TY_N_AXES];
        struct ty_grid grid;
        nth_order(i % N_ORDERS, order);
        for (uint32_t k = 0; k < TY_N_AXES; k++) { /* each axis in turn may be the largest */
            const uint32_t axis = (i + k) % TY_N_AXES;
            size[axis] = 1 + (uint32_t)(ty_hash4(i / N_ORDERS, axis, 1, 0) % (left < 7 ? left : 7));
            left /= size[axis];
        }
        ty_grid_init(&grid, size, order, 1 + (uint32_t)(ty_hash4(i, 0, 2, 0) % 9));
        body(&grid);
        for (int holes = 0; holes < 2; holes++) {
            shuffle(gpu_of, grid.n_ranks, i, holes == 1);
            grid.gpu_of = gpu_of;
            body(&grid);
        }
    }
}

static bool same_group(const struct ty_grid *grid, unsigned dims, uint32_t a, uint32_t b)
{
    uint32_t ca[TY_N_AXES], cb[TY_N_AXES];
    ty_grid_coords(grid, a, ca);
    ty_grid_coords(grid, b, cb);
    for (unsigned axis = 0; axis < TY_N_AXES; axis++) {
        if ((dims >> axis & 1u) == 0 && ca[axis] != cb[axis]) {
            return false;
        }
    }
    return true;
}

static void bijection(const struct ty_grid *grid)
{
    uint32_t coord[TY_N_AXES] = {0};
    bool seen[MAX_RANKS] = {false};
    uint32_t n = 1;
    for (int axis = 0; axis < TY_N_AXES; axis++) {
        n *= grid->size[axis];
    }
    REQUIRE_EQ(grid->n_ranks, n);
    for (uint32_t r = 0; r < n; r++) {
        ty_grid_coords(grid, r, coord);
        REQUIRE_EQ(ty_grid_rank(grid, coord), r);
        for (int axis = 0; axis < TY_N_AXES; axis++) {
            REQUIRE(coord[axis] < grid->size[axis]);
        }
        /* Mixed radix written out again, independent of the strides. */
        uint32_t index = 0;
        for (int i = TY_N_AXES - 1; i >= 0; i--) {
            index = index * grid->size[grid->order[i]] + coord[grid->order[i]];
        }
        REQUIRE_EQ(index, r);
        REQUIRE(!seen[index]);
        seen[index] = true;
    }
}

TEST(coordinates_and_ranks_are_a_bijection)
{
    each_grid(bijection);
}

static bool leaves(const struct ty_grid *grid, unsigned dims, uint32_t rank)
{
    for (uint32_t r = 0; r < grid->n_ranks; r++) {
        if (same_group(grid, dims, rank, r) && ty_grid_node(grid, r) != ty_grid_node(grid, rank)) {
            return true;
        }
    }
    return false;
}

/* Groups with a member on the node, all or those that leave it: a rank counts when no lower rank
 * there is in its group. */
static uint32_t groups_by_counting(const struct ty_grid *grid, unsigned dims, uint32_t node,
                                   bool leaving)
{
    uint32_t n = 0;
    for (uint32_t r = 0; r < grid->n_ranks; r++) {
        bool first = ty_grid_node(grid, r) == node;
        for (uint32_t other = 0; first && other < r; other++) {
            first = ty_grid_node(grid, other) != node || !same_group(grid, dims, r, other);
        }
        n += first && (!leaving || leaves(grid, dims, r));
    }
    return n;
}

static void reaches(const struct ty_grid *grid)
{
    struct ty_arena arena = {.head = NULL};
    for (unsigned dims = 0; dims < 1u << TY_N_AXES; dims++) {
        uint32_t on_node[2 * MAX_RANKS] = {0};
        uint32_t members = 0, nodes = 0, most = 0, fewest = UINT32_MAX, sharing = 0;
        uint32_t places[2 * MAX_RANKS] = {0};
        const uint32_t rank = (uint32_t)(ty_hash4(grid->n_ranks, dims, 3, 0) % grid->n_ranks);
        const struct ty_reach *all = ty_grid_reaches(grid, dims, NULL, &arena);
        REQUIRE(all != NULL);
        for (uint32_t r = 0; r < grid->n_ranks; r++) {
            if (same_group(grid, dims, rank, r)) {
                members++;
                nodes += on_node[ty_grid_node(grid, r)]++ == 0;
                const uint32_t place = ty_grid_gpu(grid, r) % grid->gpus_per_node;
                places[ty_grid_node(grid, r)] |= place < 32 ? 1u << place : 0;
                REQUIRE(memcmp(&all[r], &all[rank], sizeof(all[r])) == 0);
            }
        }
        bool there = false;
        for (uint32_t node = 0; node < 2 * MAX_RANKS; node++) {
            there =
                there || (on_node[node] == all[rank].per_node && places[node] == all[rank].places);
            if (on_node[node] > 0) {
                const uint32_t groups = groups_by_counting(grid, dims, node, nodes > 1);
                most = on_node[node] > most ? on_node[node] : most;
                fewest = on_node[node] < fewest ? on_node[node] : fewest;
                sharing = groups > sharing ? groups : sharing;
            }
        }
        REQUIRE_EQ(all[rank].ranks, members);
        REQUIRE_EQ(all[rank].nodes, nodes);
        REQUIRE_EQ(all[rank].per_node, most);
        REQUIRE_EQ(all[rank].fewest, fewest);
        REQUIRE_EQ(all[rank].sharing, sharing);
        REQUIRE(there);
    }
    ty_arena_release(&arena);
}

TEST(reach_is_what_counting_finds)
{
    each_grid(reaches);
}

TEST(reach_of_known_layouts)
{
    static const int order[TY_N_AXES] = {TY_AXIS_TENSOR, TY_AXIS_CONTEXT, TY_AXIS_DATA,
                                         TY_AXIS_PIPELINE};
    static const struct {
        uint32_t size[TY_N_AXES];
        unsigned dims;
        struct ty_reach reach;
    } rows[] = {
        /* tensor 2, data 8 on nodes of 8: four members and two data groups a node */
        {{2, 1, 8, 4}, 1u << TY_AXIS_DATA, {8, 2, 4, 2, 4, 0xaa, 0}},
        {{2, 1, 8, 4}, 1u << TY_AXIS_TENSOR, {2, 1, 2, 4, 2, 0xc0, 0}},
        {{2, 1, 8, 4}, 1u << TY_AXIS_PIPELINE, {4, 4, 1, 8, 1, 0x80, 0}},
        /* tensor fills the node: every data group has one member there */
        {{8, 1, 4, 2}, 1u << TY_AXIS_DATA, {4, 4, 1, 8, 1, 0x80, 0}},
        {{8, 1, 4, 2}, 1u << TY_AXIS_TENSOR, {8, 1, 8, 1, 8, 0xff, 0}},
        {{16, 1, 2, 2}, 1u << TY_AXIS_TENSOR, {16, 2, 8, 1, 8, 0xff, 0}},
        {{2, 1, 8, 4}, 1u << TY_AXIS_TENSOR | 1u << TY_AXIS_DATA, {16, 2, 8, 1, 8, 0xff, 0}},
        /* ranks 21 to 23 are inside node 2; 15 to 17 and 6 to 8 leave node 1 */
        {{3, 1, 8, 1}, 1u << TY_AXIS_TENSOR, {3, 1, 3, 3, 3, 0xe0, 0}},
        {{3, 1, 6, 1}, 1u << TY_AXIS_TENSOR, {3, 2, 2, 2, 1, 0x03, 0}},
        /* 5; 3 and 2; 5; 1 and 4 */
        {{5, 1, 4, 1}, 1u << TY_AXIS_TENSOR, {5, 2, 4, 2, 1, 0x0f, 0}},
    };
    struct ty_arena arena = {.head = NULL};
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct ty_grid grid;
        ty_grid_init(&grid, rows[i].size, order, 8);
        const struct ty_reach reach =
            ty_grid_reaches(&grid, rows[i].dims, NULL, &arena)[grid.n_ranks - 1];
        ck_assert_msg(memcmp(&reach, &rows[i].reach, sizeof(reach)) == 0,
                      "row %zu: ranks %u nodes %u per node %u sharing %u fewest %u", i, reach.ranks,
                      reach.nodes, reach.per_node, reach.sharing, reach.fewest);
    }
    ty_arena_release(&arena);
}

/* Swapping two nodes' worth of ranks leaves every group where it was, as seen from the group. */
TEST(a_map_moves_ranks_and_nothing_else)
{
    static const int order[TY_N_AXES] = {TY_AXIS_TENSOR, TY_AXIS_CONTEXT, TY_AXIS_DATA,
                                         TY_AXIS_PIPELINE};
    static const uint32_t size[TY_N_AXES] = {4, 1, 4, 2};
    struct ty_arena arena = {.head = NULL};
    struct ty_grid grid, moved;
    uint32_t gpu_of[32];
    ty_grid_init(&grid, size, order, 8);
    moved = grid;
    moved.gpu_of = gpu_of;
    for (uint32_t r = 0; r < 32; r++) {
        gpu_of[r] = r ^ 8; /* nodes 0 and 1, 2 and 3 change places */
        ck_assert_uint_eq(ty_grid_gpu(&grid, r), r);
    }
    for (uint32_t r = 0; r < 32; r++) {
        ck_assert_uint_eq(ty_grid_gpu(&moved, r), r ^ 8);
        ck_assert_uint_eq(ty_grid_node(&moved, r), ty_grid_node(&grid, r) ^ 1);
    }
    ck_assert_uint_eq(ty_grid_nodes(&grid), 4);
    for (unsigned dims = 0; dims < 1u << TY_N_AXES; dims++) {
        const struct ty_reach *a = ty_grid_reaches(&grid, dims, NULL, &arena);
        const struct ty_reach *b = ty_grid_reaches(&moved, dims, NULL, &arena);
        ck_assert_int_eq(memcmp(a, b, 32 * sizeof(*a)), 0);
    }
    for (uint32_t r = 0; r < 32; r++) {
        gpu_of[r] = r % 4 * 8 + r / 4; /* a tensor group over four nodes */
    }
    const struct ty_reach *spread = ty_grid_reaches(&moved, 1u << TY_AXIS_TENSOR, NULL, &arena);
    ck_assert_uint_eq(spread[0].nodes, 4);
    ck_assert_uint_eq(spread[0].sharing, 8);
    ty_arena_release(&arena);
}

TY_SUITE("place")
