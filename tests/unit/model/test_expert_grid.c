/* test_expert_grid.c - experts have a grid of their own: groups, where they lie, states. */
#include "model/block/memory.h"
#include "model/parallel.h"
#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

/* ---- groups ---- */

/* World 16, as Megatron-LM's parallel_state makes it. */
static const struct ty_layout sixteen = {.tensor = 2,
                                         .context = 2,
                                         .context_inner = 1,
                                         .data = 2,
                                         .pipeline = 2,
                                         .shard = 2,
                                         .expert = 4,
                                         .expert_tensor = 1,
                                         .expert_data = 2};

/* Members of a gang that are in one group with `member`. */
static uint32_t group_of(enum ty_comm_group group, const struct ty_layout *layout, uint32_t member,
                         uint32_t ranks[16])
{
    const int order[TY_N_AXES] = {TY_AXIS_TENSOR, TY_AXIS_CONTEXT, TY_AXIS_DATA, TY_AXIS_PIPELINE};
    const uint32_t size[TY_N_AXES] = {2, 2, 2, 2};
    struct ty_grid grid;
    ty_grid_init(&grid, size, order, 8);
    const struct ty_comm_span span = ty_comm_span(layout, &grid, group);
    const struct ty_group g = {"", span.stride, span.count};
    for (uint32_t i = 0; i < span.count; i++) {
        ranks[i] = ty_group_first(&g, member) + i * span.stride;
    }
    return span.count;
}

START_TEST(groups_of_experts_are_those_of_megatron)
{
    static const struct {
        enum ty_comm_group group;
        uint32_t member, n, ranks[4];
    } rows[] = {
        {TY_GROUP_TENSOR, 0, 2, {0, 1}},       {TY_GROUP_CONTEXT, 0, 2, {0, 2}},
        {TY_GROUP_DATA, 0, 4, {0, 2, 4, 6}},   {TY_GROUP_EXPERT, 0, 4, {0, 1, 2, 3}},
        {TY_GROUP_EXPERT, 6, 4, {4, 5, 6, 7}}, {TY_GROUP_EXPERT_TENSOR, 3, 1, {3}},
        {TY_GROUP_EXPERT_DATA, 0, 2, {0, 4}},  {TY_GROUP_EXPERT_DATA, 5, 2, {1, 5}},
        {TY_GROUP_EXPERT_DATA, 2, 2, {2, 6}},  {TY_GROUP_EXPERT_DATA, 7, 2, {3, 7}},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        uint32_t ranks[16];
        ck_assert_uint_eq(group_of(rows[i].group, &sixteen, rows[i].member, ranks), rows[i].n);
        for (uint32_t k = 0; k < rows[i].n; k++) {
            ck_assert_uint_eq(ranks[k], rows[i].ranks[k]);
        }
    }
}
END_TEST

/* Parts of an expert are on neighbours; a group that keeps one copy of the dense states keeps one
 * of the experts'. */
START_TEST(expert_tensor_ranks_are_neighbours_and_copies_are_shared)
{
    struct ty_layout layout = sixteen;
    uint32_t ranks[16];
    layout.expert = layout.expert_tensor = 2;
    ck_assert_uint_eq(group_of(TY_GROUP_EXPERT_TENSOR, &layout, 6, ranks), 2);
    ck_assert(ranks[0] == 6 && ranks[1] == 7);
    ck_assert_uint_eq(group_of(TY_GROUP_EXPERT, &layout, 5, ranks), 2);
    ck_assert(ranks[0] == 5 && ranks[1] == 7);
    layout.shard = 1; /* two copies of everything: with 4 of 8 ranks there is one each of experts */
    ck_assert_uint_eq(group_of(TY_GROUP_EXPERT_DATA, &layout, 0, ranks), 1);
    ck_assert_uint_eq(group_of(TY_GROUP_REPLICA, &layout, 1, ranks), 2);
    ck_assert(ranks[0] == 1 && ranks[1] == 5);
}
END_TEST

/* Whatever the order of ranks, a group is made of members; where these sit decides how it lies. */
START_TEST(groups_lie_where_their_members_sit)
{
    static const struct {
        int order[TY_N_AXES];
        struct {
            uint32_t ranks, nodes, per_node, sharing;
        } expert, data;
    } rows[] = {
        {{TY_AXIS_TENSOR, TY_AXIS_CONTEXT, TY_AXIS_DATA, TY_AXIS_PIPELINE},
         {4, 1, 4, 2},
         {2, 1, 2, 4}},
        /* rank = pipeline + 2 tensor + 4 context + 8 data: members 0-3 of a stage are every other
         * rank of a node, and 4-7 on the next */
        {{TY_AXIS_PIPELINE, TY_AXIS_TENSOR, TY_AXIS_CONTEXT, TY_AXIS_DATA},
         {4, 1, 4, 2},
         {2, 2, 1, 8}},
        /* rank = data + 2 pipeline + 4 context + 8 tensor: two of them on each node */
        {{TY_AXIS_DATA, TY_AXIS_PIPELINE, TY_AXIS_CONTEXT, TY_AXIS_TENSOR},
         {4, 2, 2, 4},
         {2, 1, 2, 4}},
    };
    const uint32_t size[TY_N_AXES] = {2, 2, 2, 2};
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct ty_arena arena = {.head = NULL};
        struct ty_grid grid;
        ty_grid_init(&grid, size, rows[i].order, 8);
        const struct ty_reach *expert = ty_comm_reaches(&sixteen, &grid, TY_GROUP_EXPERT, &arena);
        const struct ty_reach *data =
            ty_comm_reaches(&sixteen, &grid, TY_GROUP_EXPERT_DATA, &arena);
        for (uint32_t r = 0; r < 16; r++) {
            ck_assert_uint_eq(expert[r].ranks, rows[i].expert.ranks);
            ck_assert_uint_eq(expert[r].nodes, rows[i].expert.nodes);
            ck_assert_uint_eq(expert[r].per_node, rows[i].expert.per_node);
            ck_assert_uint_eq(expert[r].sharing, rows[i].expert.sharing);
            ck_assert_uint_eq(data[r].nodes, rows[i].data.nodes);
            ck_assert_uint_eq(data[r].sharing, rows[i].data.sharing);
        }
        ty_arena_release(&arena);
    }
}
END_TEST

/* ---- states ---- */

/* The third of four pipeline ranks of DeepSeek-V3 on 256 GPUs: 15 layers, in each 4 of 256 experts
 * and 233 million parameters besides; published 36.4 and 32.1 GB (arXiv 2603.07685, table 3). */
START_TEST(states_of_experts_are_shared_by_ranks_that_have_the_same)
{
    const double experts = 15 * 4 * 3 * 7168.0 * 2048, params = 15 * 409.2e6;
    struct ty_layout layout = {.tensor = 1,
                               .context = 1,
                               .pipeline = 4,
                               .data = 64,
                               .shard = 64,
                               .zero = 1,
                               .expert = 64,
                               .expert_tensor = 1,
                               .expert_data = 1,
                               .framework.grad_fp32 = true};
    struct ty_state_bytes s = ty_memory_states(&layout, params, experts);
    ck_assert_double_eq_tol(s.weights + s.grads, 36.8e9, 0.05e9);
    ck_assert_double_eq_tol(s.optimizer, 32.4e9, 0.05e9);
    layout.expert = 16; /* four ranks have the same experts, and four times as many of them */
    layout.expert_data = 4;
    s = ty_memory_states(&layout, params + 3 * experts, 4 * experts);
    ck_assert_double_eq_tol(s.optimizer, 32.4e9, 0.05e9);
    layout.zero = 3;
    s = ty_memory_states(&layout, params + 3 * experts, 4 * experts);
    ck_assert_double_eq_tol(s.weights, 2 * ((params - experts) / 64 + experts), 1);
}
END_TEST

TY_SUITE("expert grid", groups_of_experts_are_those_of_megatron,
         expert_tensor_ranks_are_neighbours_and_copies_are_shared,
         groups_lie_where_their_members_sit,
         states_of_experts_are_shared_by_ranks_that_have_the_same)
