/* test_expert_grid.c - experts have a grid of their own: groups, where they lie, states. */
#include <string.h>

#include "model/block/memory.h"
#include "model/parallel.h"
#include "sim/draw/trace.h"
#include "sim/run/select.h"
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

TEST(groups_of_experts_are_those_of_megatron)
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

/* Parts of an expert are on neighbours; a group that keeps one copy of the dense states keeps one
 * of the experts'. */
TEST(expert_tensor_ranks_are_neighbours_and_copies_are_shared)
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

/* Whatever the order of ranks, a group is made of members; where these sit decides how it lies. */
TEST(groups_lie_where_their_members_sit)
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
        const struct ty_reach *expert =
            ty_comm_reaches(&sixteen, &grid, TY_GROUP_EXPERT, NULL, &arena);
        const struct ty_reach *data =
            ty_comm_reaches(&sixteen, &grid, TY_GROUP_EXPERT_DATA, NULL, &arena);
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

/* ---- states ---- */

/* The third of four pipeline ranks of DeepSeek-V3 on 256 GPUs has 15 layers, in each 4 of the 256
 * experts, and nobody has the same: 36.4 and 32.1 GB (arXiv 2603.07685, tables 3 and 4). */
static const char v3[] = "cluster: {preset: dgx-h100, nodes: 32}\n"
                         "model: {preset: deepseek-v3}\n"
                         "layout: {pipeline: 4, expert: 64, global_batch: 256, zero: 1, "
                         "stage_layers: [3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 3, 3]}\n"
                         "schedule: {name: interleaved, chunks: 4}\n"
                         "framework: {preset: megatron-lm, grad_dtype: fp32}\n";

TEST(states_of_deepseek_v3_are_as_published)
{
    struct quick_run q = quick_run(v3, NULL, (const char *const[]){NULL});
    const struct ty_stage_plan *third = &q.run->lowered.stage[2];
    ck_assert_double_eq_tol(third->params, 15 * 409.2e6, 1e6);
    ck_assert_double_eq_tol(third->experts, 15 * 4 * 3 * 7168.0 * 2048, 1);
    ck_assert_double_eq_tol(third->states.weights + third->states.grads, 36.8e9, 0.05e9);
    ck_assert_double_eq_tol(third->states.optimizer, 32.4e9, 0.05e9);
    ck_assert_double_eq_tol(third->expert_states.optimizer, 12 * third->experts, 1);
    ck_assert_double_eq(quick_run_traffic(&q, "edp"), 0);
    quick_run_free(&q);
}

/* ---- gradients and gathers ---- */

/* Two micro-batches on each of 16 ranks, unless several share one. */
static const char sparse[] =
    "cluster: {preset: dgx-h100, nodes: 2}\n"
    "model: {layers: 3, hidden: 2048, heads: 16, ffn: 5632, mlp: swiglu, "
    "vocabulary: 32000, sequence: 2048, experts: 32, experts_per_token: 4, "
    "expert_ffn: 768, dense_layers: 1, attention: flash2}\n"
    "layout: {global_batch: 32}\n"
    "framework: {preset: ideal}\n";

/* Bytes that n ranks send each in a step, about so many parameters; `kept`: of a unit that ZeRO-3
 * does not gather a second time. */
static double sent(const struct ty_layout *layout, uint32_t n, double params, double kept)
{
    const double share = (n - 1.0) / n, k = layout->micro_batches;
    const double reduced = ty_memory_reduced_bytes(layout) * params, weights = 2 * params;
    switch (layout->zero) {
    case 0:
        return share * 2 * reduced;
    case 3:
        return share * k * (reduced + 2 * weights - 2 * kept);
    default:
        return share * ((layout->zero == 2 ? k : 1) * reduced + weights);
    }
}

TEST(experts_are_reduced_and_gathered_among_those_that_have_the_same)
{
    static const char *const zero[] = {"layout.zero=0", "layout.zero=1", "layout.zero=2",
                                       "layout.zero=3"};
    static const struct {
        const char *set[3];
        uint32_t alike, data; /* ranks that have the same experts, the same rest */
    } rows[] = {
        {{"layout.expert=8", "layout.tensor=1", "layout.context=1"}, 2, 16},
        {{"layout.expert=2", "layout.expert_tensor=2", "layout.context=1"}, 4, 16},
        {{"layout.expert=16", "layout.tensor=1", "layout.context=1"}, 1, 16},
        {{"layout.expert=8", "layout.tensor=2", "layout.context=2"}, 2, 8},
        {{"layout.expert=4", "layout.tensor=16", "layout.context=1"}, 4, 1},
    };
    for (size_t i = 0; i < 4 * TY_COUNT(rows); i++) {
        const char *const *set = rows[i / 4].set;
        struct quick_run q =
            quick_run(sparse, NULL,
                      (const char *const[]){"layout.sequence_parallel=true", zero[i % 4], set[0],
                                            set[1], set[2], NULL});
        const struct ty_stage_plan *plan = &q.run->lowered.stage[0];
        const double head = ty_unit_params(&q.run->lowered.units->kind[TY_UNIT_HEAD]);
        const double experts = 16 * sent(&q.config->layout, rows[i / 4].alike, plan->experts, 0);
        const double rest =
            16 * sent(&q.config->layout, rows[i / 4].data, plan->params - plan->experts, head);
        ck_assert_double_eq_tol(plan->expert_states.optimizer,
                                12 * plan->experts / (i % 4 > 0 ? rows[i / 4].alike : 1), 1);
        ck_assert_double_eq_tol(quick_run_traffic(&q, "edp"), experts, 1e-9 * experts + 1);
        ck_assert_double_eq_tol(quick_run_traffic(&q, "dp"), rest, 1e-9 * rest + 1);
        quick_run_free(&q);
    }
}

/* Copies of the dense states are copies of the experts', too: what crosses is a shard of each. */
TEST(copies_of_experts_are_reduced_between_the_same_replicas)
{
    struct quick_run q = quick_run(
        sparse, NULL,
        (const char *const[]){"layout.zero=1", "layout.shard=8", "layout.expert=8", NULL});
    const struct ty_stage_plan *plan = &q.run->lowered.stage[0];
    const double shard = (plan->params - plan->experts) / 8 + plan->experts;
    const double all = 16 * ty_memory_reduced_bytes(&q.config->layout) * shard;
    ck_assert_double_eq_tol(quick_run_traffic(&q, "replica"), all, 1e-9 * all);
    ck_assert_double_eq(quick_run_traffic(&q, "edp"), 0);
    quick_run_free(&q);
}

/* With one rank for the experts of a layer, and the tensor ranks of the rest for each of them, both
 * grids are one. */
TEST(a_grid_like_the_other_is_no_other)
{
    struct quick_run q = quick_run(sparse, NULL,
                                   (const char *const[]){"layout.zero=3", "layout.tensor=2",
                                                         "layout.expert_tensor=2",
                                                         "layout.sequence_parallel=true", NULL});
    const struct ty_program *p = &q.run->lowered.program;
    ck_assert(!ty_layout_experts_apart(&q.config->layout));
    for (uint32_t k = 0; k < p->n_kinds; k++) {
        ck_assert(p->kinds[k].group == NULL || strcmp(p->kinds[k].group, "edp") != 0);
    }
    const struct ty_state_bytes *s = &q.run->lowered.stage[0].states;
    ck_assert_double_eq(s->weights, 2 * q.run->lowered.stage[0].params / 8);
    quick_run_free(&q);
}

/* Members of a stage that the norms of a step are summed over, in the order of issue; how many. */
static uint32_t norms(const struct quick_run *q, uint32_t groups[4])
{
    const struct ty_program *p = &q->run->lowered.program;
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_ops && n < 4; i++) {
        if (p->ops[i].sync == TY_SYNC_MEET) {
            groups[n++] = p->groups[p->meets[p->ops[i].link].group].count;
        }
    }
    return n;
}

/* Of whole gradients over the ranks that have one copy, of each kind; of shards over all. */
TEST(the_norm_of_experts_is_a_sum_of_its_own)
{
    static const struct {
        const char *zero, *expert;
        uint32_t n, count[2];
    } rows[] = {
        {"layout.zero=0", "layout.expert=8", 2, {2, 8}},
        {"layout.zero=1", "layout.expert=8", 2, {16, 16}},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct quick_run q =
            quick_run(sparse, NULL,
                      (const char *const[]){rows[i].zero, rows[i].expert, "layout.tensor=2",
                                            "layout.sequence_parallel=true", NULL});
        uint32_t count[4] = {0};
        ck_assert_uint_eq(norms(&q, count), rows[i].n);
        ck_assert(memcmp(count, rows[i].count, sizeof(rows[i].count)) == 0);
        quick_run_free(&q);
    }
}

/* Routers are on every tensor rank: their gradients are summed with those of norms. */
TEST(gradients_of_routers_are_summed_over_tensor_ranks)
{
    struct quick_run q = quick_run(sparse, NULL,
                                   (const char *const[]){"layout.tensor=2", "layout.expert=8",
                                                         "layout.sequence_parallel=true", NULL});
    const struct ty_program *p = &q.run->lowered.program;
    double bytes = 0;
    for (uint32_t k = 0; k < p->n_kinds; k++) {
        const struct ty_kind *kind = &p->kinds[k];
        const bool of_step = kind->phase == TY_PHASE_STEP && kind->group != NULL;
        bytes += of_step && strcmp(kind->group, "tp") == 0 ? kind->bytes : 0;
    }
    const double params = 3 * 2 * 2048.0 + 2 * 32 * 2048.0; /* two layers of three have experts */
    ck_assert_double_eq(bytes, params * ty_memory_grad_bytes(&q.config->layout));
    quick_run_free(&q);
}

/* ---- what people read ---- */

/* Ranks of 16 by their place among experts; their names in traces. */
TEST(ranks_are_found_and_named_by_their_experts)
{
    static const struct {
        const char *text;
        uint32_t n, ranks[4];
    } rows[] = {
        {"ep=3", 4, {3, 7, 11, 15}},
        {"ep=0,edp=1", 1, {4}},
        {"tp=1,ep=1-2,edp=0,edp=3", 2, {1, 13}},
        {"etp=0,dp=7", 2, {14, 15}},
    };
    struct quick_run q = quick_run(sparse, NULL,
                                   (const char *const[]){"layout.expert=4", "layout.tensor=2",
                                                         "layout.sequence_parallel=true", NULL});
    struct ty_arena arena = {.head = NULL};
    struct ty_trace_labels labels = {.run = q.run};
    struct ty_selection found;
    struct ty_err err = {.n = 0};
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        ck_assert_int_eq(ty_select_ranks(q.run, rows[i].text, "rank", &arena, &found, &err), 0);
        ck_assert_uint_eq(found.n, rows[i].n);
        ck_assert(memcmp(found.ranks, rows[i].ranks, found.n * sizeof(found.ranks[0])) == 0);
    }
    ck_assert_int_eq(ty_select_ranks(q.run, "ep=4", "rank", &arena, &found, &err), TY_EUSAGE);
    ck_assert_ptr_nonnull(strstr(err.text, "ep=4 does not exist; ep goes from 0 to 3"));
    ck_assert_str_eq(ty_trace_rank_name(&labels, 13), "rank 13 · pp0 dp6 tp1 ep1 · node1/gpu5");
    ty_arena_release(&arena);
    quick_run_free(&q);
}

TY_SUITE("expert grid")
