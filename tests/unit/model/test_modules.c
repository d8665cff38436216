/* test_modules.c - ZeRO-3 that gathers matrix by matrix: how many gathers, how far ahead, what
 * stays, how gradients are reduced, what lists of tensors cost. */
#include "tests/unit/replicas.h"

/* Llama 7B in the modules of eager code: q, k, v, o, gate, up and down of 32 layers, the embedding
 * and the head are larger than gather_persistent; 65 norms are not. */
#define MODULES    (32u * 7 + 2)
#define UNFUSED    "framework.fused_qkv=false", "framework.fused_gate=false"
#define BY_MODULE  "layout.zero=3", "framework.gather_unit=module", UNFUSED
#define ONE_BY_ONE BY_MODULE, "framework.gather_prefetch=0", "framework.gather_reuse=0"

static uint32_t gathers(const struct quick_run *q, enum ty_phase phase)
{
    return spans_of(q, "all-gather", phase, span);
}

TEST(every_matrix_is_gathered_by_itself)
{
    struct quick_run q = run(SETS(ONE_BY_ONE));
    struct quick_run layers = run(SETS("layout.zero=3", UNFUSED));
    ck_assert_uint_eq(gathers(&q, TY_PHASE_FORWARD), MODULES);
    ck_assert_uint_eq(gathers(&q, TY_PHASE_BACKWARD), MODULES);
    ck_assert_uint_eq(gathers(&layers, TY_PHASE_FORWARD), 32 + 2);
    quick_run_free(&layers);
    quick_run_free(&q);
}

/* A layer of 4 h^2 and 3 h f brings all its bytes, norms aside: 4,096 each, two a layer. */
TEST(norms_are_never_gathered)
{
    struct quick_run q = run(SETS(ONE_BY_ONE));
    struct quick_run all = run(SETS(ONE_BY_ONE, "framework.gather_persistent=0"));
    const double part = 15.0 * 2 * 4096 * 65;
    const double less = quick_run_traffic(&all, "dp") - quick_run_traffic(&q, "dp");
    ck_assert_uint_eq(gathers(&all, TY_PHASE_FORWARD), MODULES + 65);
    ck_assert_double_eq_tol(less, 2 * part, 1e-9 * quick_run_traffic(&q, "dp"));
    quick_run_free(&all);
    quick_run_free(&q);
}

/* Full recomputation uses each matrix of a layer once more; its last one runs backward at once. */
TEST(recomputation_gathers_again)
{
    struct quick_run q = run(SETS(ONE_BY_ONE, "layout.recompute=full"));
    struct quick_run near = run(SETS(BY_MODULE, "framework.gather_prefetch=0",
                                     "framework.gather_reuse=1", "layout.recompute=full"));
    ck_assert_uint_eq(gathers(&q, TY_PHASE_FORWARD), MODULES);
    ck_assert_uint_eq(gathers(&q, TY_PHASE_BACKWARD), MODULES + 32 * 7);
    ck_assert_uint_eq(gathers(&near, TY_PHASE_BACKWARD), MODULES + 32 * 7 - 32 - 1);
    quick_run_free(&near);
    quick_run_free(&q);
}

/* With room for the whole model nothing is given up between a forward and its backward. */
TEST(what_is_used_again_soon_stays)
{
    struct quick_run q = run(SETS(BY_MODULE, "framework.gather_reuse=1e11"));
    struct quick_run none = run(SETS(BY_MODULE, "framework.gather_reuse=0"));
    ck_assert_uint_eq(gathers(&q, TY_PHASE_BACKWARD), 0);
    ck_assert_uint_gt(gathers(&none, TY_PHASE_BACKWARD), 0);
    ck_assert_double_gt(q.run->lowered.stage[0].buffers_B, none.run->lowered.stage[0].buffers_B);
    quick_run_free(&none);
    quick_run_free(&q);
}

/* Matrices of 16.8 million parameters in fours, those of 45.1 million in twos: fewer gathers, most
 * of them hidden. */
TEST(what_is_gathered_ahead_is_gathered_together)
{
    struct quick_run q = run(SETS(BY_MODULE, "framework.gather_reuse=0"));
    struct quick_run one = run(SETS(ONE_BY_ONE));
    ck_assert_uint_lt(2 * gathers(&q, TY_PHASE_FORWARD), MODULES);
    ck_assert_double_lt(exposed(&q), 0.5 * exposed(&one));
    ck_assert_double_eq_tol(quick_run_traffic(&q, "dp"), quick_run_traffic(&one, "dp"),
                            0.01 * quick_run_traffic(&one, "dp"));
    quick_run_free(&one);
    quick_run_free(&q);
}

/* The computation of a matrix waits for its gather, and the gather for the one before. */
TEST(nothing_is_ahead_without_prefetch)
{
    struct quick_run q = run(SETS(ONE_BY_ONE));
    const uint32_t n = spans_of(&q, NULL, TY_PHASE_FORWARD, span);
    ty_ps computed = 0;
    for (uint32_t i = 0; i < n; i++) {
        const bool gather = strcmp(span[i].kind->name, "all-gather") == 0;
        ck_assert(!gather || span[i].start >= computed);
        computed = gather ? computed : end_of(&span[i]);
    }
    quick_run_free(&q);
}

/* A bucket may hold several layers, or a single tensor: a bias is one. */
TEST(gradients_are_reduced_in_buckets)
{
    struct quick_run large = run(SETS(BY_MODULE, "framework.bucket=2 GB"));
    struct quick_run each = run(SETS(BY_MODULE, "framework.bucket=1 KiB"));
    struct quick_run biased = run(SETS(BY_MODULE, "framework.bucket=1 KiB", "model.bias=true"));
    const uint32_t of_large = spans_of(&large, "reduce-scatter", TY_PHASE_BACKWARD, span);
    ck_assert_uint_eq(of_large, 7); /* 6.74 billion in parts of a billion */
    ck_assert_uint_eq(spans_of(&each, "reduce-scatter", TY_PHASE_BACKWARD, span), MODULES + 65);
    ck_assert_uint_eq(spans_of(&biased, "reduce-scatter", TY_PHASE_BACKWARD, span),
                      MODULES + 65 + 32 * 7);
    quick_run_free(&biased);
    quick_run_free(&each);
    quick_run_free(&large);
}

#define IN_TURN "framework.overlap_grad_reduce=false", "model.preset=llama-65b"

/* Each collective takes 16 x 1 ms longer. */
TEST(lists_of_tensors_cost_time_for_each_rank)
{
    struct quick_run q = run(SETS(ONE_BY_ONE, "framework.overlap_grad_reduce=false"));
    struct quick_run copied =
        run(SETS(ONE_BY_ONE, "framework.overlap_grad_reduce=false", "framework.rank_copy=1 ms"));
    const uint32_t n = gathers(&q, TY_N_PHASES) + spans_of(&q, "reduce-scatter", TY_N_PHASES, span);
    ck_assert_double_eq_tol(copied.figures.step_s - q.figures.step_s, n * 16e-3, 1e-3);
    quick_run_free(&copied);
    quick_run_free(&q);
}

/* Parts of 16 ranks are multiples of 16 bytes, those of 24 are not. An all-gather then takes five
 * times as long, a reduction of 16-bit elements half of that; two gathers go with one reduction. */
TEST(parts_that_are_not_aligned_move_by_elements)
{
    const char *const nodes[] = {"cluster.nodes=2", "cluster.nodes=3"};
    const char *const batch[] = {"layout.global_batch=16", "layout.global_batch=24"};
    const double times[] = {1, (5 + 5 + 2.5) / 3}; /* but for latency */
    for (uint32_t i = 0; i < 2; i++) {
        struct quick_run q = run(SETS(ONE_BY_ONE, IN_TURN, nodes[i], batch[i]));
        struct quick_run slow =
            run(SETS(ONE_BY_ONE, IN_TURN, nodes[i], batch[i], "framework.unaligned_gather=5"));
        ck_assert_double_eq(quick_run_traffic(&slow, "dp"), quick_run_traffic(&q, "dp"));
        ck_assert_double_eq_tol(exposed(&slow) / exposed(&q), times[i], 0.06 * times[i]);
        quick_run_free(&slow);
        quick_run_free(&q);
    }
}

TY_SUITE("modules")
