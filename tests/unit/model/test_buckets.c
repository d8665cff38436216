/* test_buckets.c - gradients leave in buckets, updated parameters come back: bytes exact, overlap
 * emergent. */
#include "model/parallel/whole.h"
#include "tests/unit/replicas.h"

/* ---- buckets ---- */

/* LLaMA 7B at 16 bit, from the end: the output matrix fills the first bucket of 1 MiB, and later
 * ones close with the matrix that takes them past 25 MiB: norm and down; gate and up; norm and
 * output projection (33.6 MB); q, k and v. The embedding is last, with the first norm. */
TEST(buckets_close_with_the_matrix_that_fills_them)
{
    struct quick_run q = run(SETS("layout.zero=0"));
    const struct ty_arch *a = &q.config->arch;
    const double h = a->hidden, f = a->ffn;
    const double layer[] = {h + h * f, 2 * h * f, h + h * h, 3 * h * h};
    const uint32_t n = spans_of(&q, "all-reduce", TY_PHASE_BACKWARD, span);
    ck_assert_uint_eq(n, 1 + 4 * a->layers + 1);
    ck_assert_double_eq(span[0].kind->bytes, 2 * (double)a->vocabulary * h);
    for (uint32_t i = 1; i < n - 1; i++) {
        ck_assert_double_eq(span[i].kind->bytes, 2 * layer[(i - 1) % 4]);
        ck_assert_uint_eq(span[i].op->layer, a->layers - 1 - (i - 1) / 4);
    }
    ck_assert_double_eq(span[n - 1].kind->bytes, 2 * (h + h * a->vocabulary));
    ck_assert_uint_lt(q.run->lowered.program.n_kinds, 100); /* equal buckets share a kind */
    quick_run_free(&q);
}

/* Of a model whose matrices are smaller than a bucket: the output matrix, 16.8 MB, fills the first
 * of 1 MiB, and no other closes before 25 MiB. */
TEST(the_first_bucket_is_small)
{
    struct quick_run q =
        run(SETS("layout.zero=0", "model.layers=24", "model.hidden=1024", "model.ffn=2816",
                 "model.heads=16", "model.kv_heads=16", "model.vocabulary=8192"));
    const uint32_t n = spans_of(&q, "all-reduce", TY_PHASE_BACKWARD, span);
    ck_assert_uint_gt(n, 10);
    ck_assert_double_eq(span[0].kind->bytes, 2.0 * 8192 * 1024);
    for (uint32_t i = 1; i + 1 < n; i++) {
        ck_assert_double_ge(span[i].kind->bytes, 25 * 1048576.0);
        ck_assert_double_lt(span[i].kind->bytes, 25 * 1048576.0 + 2 * 2 * 1024 * 2816);
    }
    quick_run_free(&q);
}

/* A bucket holds at least what it should, but less than that without its last matrix; the size does
 * not change what is sent. */
TEST(bucket_sizes_change_calls_not_bytes)
{
    static const char *const bucket[] = {"framework.bucket=1 KiB", "framework.bucket=500 MB",
                                         "framework.bucket=1 TB"};
    static const double limit[] = {1024, 500e6, 1e12};
    for (int i = 0; i < 3; i++) {
        struct quick_run q = run(SETS("layout.zero=0", bucket[i]));
        const struct ty_arch *a = &q.config->arch;
        const double volume = 2 * 15 * X(&q), largest = 2.0 * a->vocabulary * a->hidden;
        const uint32_t n = spans_of(&q, "all-reduce", TY_PHASE_BACKWARD, span);
        for (uint32_t k = 0; k + 1 < n; k++) {
            ck_assert_double_ge(span[k].kind->bytes, limit[i]);
            ck_assert_double_lt(span[k].kind->bytes, limit[i] + largest);
        }
        /* each matrix alone: 6 of a layer, output matrix, final norm, embedding; or one call */
        ck_assert(i != 0 || n == 6 * a->layers + 3);
        ck_assert(i != 2 || n == 1);
        ck_assert_double_eq_tol(quick_run_traffic(&q, "dp"), volume, 1e-9 * volume);
        quick_run_free(&q);
    }
}

/* The MLP of a layer is reduced while its attention still runs backward. */
TEST(buckets_leave_before_their_layer_is_done)
{
    struct quick_run q = run(SETS("layout.zero=0"));
    const uint32_t last = q.config->arch.layers - 1;
    ty_ps left = 0, done = 0;
    const uint32_t n = spans_of(&q, NULL, TY_PHASE_BACKWARD, span);
    for (uint32_t i = 0; i < n; i++) {
        if (span[i].op->layer == last && span[i].op->stream == TY_STREAM_DATA && left == 0) {
            left = span[i].start;
        }
        if (span[i].op->layer == last && span[i].op->stream == TY_STREAM_COMPUTE) {
            done = end_of(&span[i]);
        }
    }
    ck_assert_uint_gt(left, 0);
    ck_assert_uint_lt(left, done);
    quick_run_free(&q);
}

/* Nothing is left to compute when the embedding's gradient is known: the last bucket is exposed
 * whole, however fast the network. */
TEST(the_last_bucket_is_never_hidden)
{
    static const char *const rate[] = {"cluster.nic_bandwidth=25 Gb/s",
                                       "cluster.nic_bandwidth=800 Gb/s"};
    for (int i = 0; i < 2; i++) {
        struct quick_run q = run(SETS("layout.zero=0", rate[i]));
        const uint32_t n = spans_of(&q, "all-reduce", TY_PHASE_BACKWARD, span);
        ck_assert_double_ge(exposed(&q), 0.999 * ty_s_from_ps(span[n - 1].dur));
        quick_run_free(&q);
    }
}

/* Small buckets pay latency, one large bucket hides nothing: the best is in between. */
TEST(bucket_size_has_a_best_value)
{
    static const char *const bucket[] = {"framework.bucket=1 KiB", "framework.bucket=100 MB",
                                         "framework.bucket=1 TB"};
    const char *const slow = "cluster.net_latency=1 ms";
    double step[3];
    for (int i = 0; i < 3; i++) {
        struct quick_run q = run(SETS("layout.zero=0", bucket[i], slow));
        step[i] = q.figures.step_s;
        quick_run_free(&q);
    }
    ck_assert_double_lt(step[1], step[0]);
    ck_assert_double_lt(step[1], step[2]);
}

/* Eight ranks share four key heads, each a whole one: what they hold, keep gradients of and reduce
 * is the same number, with biases, norms of heads, and q, k and v apart. */
TEST(shared_heads_are_reduced_as_they_are_held)
{
    static const char *const bias[] = {"model.bias=false", "model.bias=qkv", "model.bias=true"};
    static const char *const norm[] = {"model.qk_norm=false", "model.qk_norm=true"};
    for (int i = 0; i < 6; i++) {
        struct quick_run q = run(SETS("layout.zero=0", "layout.tensor=8", "model.kv_heads=4",
                                      bias[i % 3], norm[i / 3], "framework.fused_qkv=false"));
        const uint32_t n = spans_of(&q, "all-reduce", TY_PHASE_BACKWARD, span);
        double bytes = 0;
        for (uint32_t k = 0; k < n; k++) {
            bytes += span[k].op->stream == TY_STREAM_DATA ? span[k].kind->bytes : 0;
        }
        const struct ty_arch *a = &q.config->arch;
        const double h = a->hidden, d = a->head_dim, column = h + (i % 3 > 0);
        const double held = ty_arch_params(a) / 8 + a->layers * (2 * d * column / 2);
        ck_assert_double_eq_tol(q.run->lowered.stage[0].params, held, 1e-9 * held);
        ck_assert_double_eq_tol(q.run->lowered.stage[0].states.grads, 2 * held, 2e-9 * held);
        ck_assert_double_eq_tol(bytes, 2 * held, 2e-9 * held);
        quick_run_free(&q);
    }
}

/* ---- ZeRO-1: gathering updated parameters ---- */

TEST(gathering_in_the_next_forward_hides_time_and_moves_the_same_bytes)
{
    static const char *const zero[] = {"layout.zero=1", "layout.zero=2"};
    for (int i = 0; i < 2; i++) {
        struct quick_run now = run(SETS(zero[i], "framework.overlap_param_gather=false"));
        struct quick_run late = run(SETS(zero[i], "framework.overlap_param_gather=true"));
        const double volume = 2 * 15 * X(&now);
        ck_assert_double_eq_tol(quick_run_traffic(&now, "dp"), volume, 1e-9 * volume);
        ck_assert_double_eq_tol(quick_run_traffic(&late, "dp"), volume, 1e-9 * volume);
        ck_assert_double_lt(exposed(&late), 0.5 * exposed(&now));
        ck_assert_double_lt(late.figures.step_s, now.figures.step_s);
        quick_run_free(&now);
        quick_run_free(&late);
    }
}

/* When the first message of a stage comes is nothing to them: stages gather at the same time, in
 * every step, with and without time of the host; so it never takes longer than gathering all of
 * them before the first forward, also where one forward cannot hide them. */
TEST(stages_gather_as_soon_as_parameters_are_updated)
{
    static const char *const overhead[] = {"framework.pass_overhead=0 s",
                                           "framework.pass_overhead=1 us"};
    const char *const stages = "layout.pipeline=4", *const batch = "layout.global_batch=32";
    const char *const zero = "layout.zero=1", *const slow = "cluster.nic_bandwidth=25 Gb/s";
    for (int i = 0; i < 2; i++) {
        struct quick_run now = run(
            SETS(stages, batch, zero, slow, overhead[i], "framework.overlap_param_gather=false"));
        struct quick_run late = run(SETS(stages, batch, zero, slow, overhead[i], "run.steps=2",
                                         "framework.overlap_param_gather=true"));
        for (uint32_t stage = 0; stage < 4; stage++) {
            const uint32_t rank = late.run->lowered.program.gangs[stage].rank_of[0];
            struct ty_span step;
            ck_assert_uint_eq(spans_of_rank(&late, rank, "optimizer step", TY_N_PHASES, span), 2);
            step = span[0];
            const uint32_t n = spans_of_rank(&late, rank, "all-gather", TY_PHASE_FORWARD, span);
            ck_assert_uint_gt(n, 2);
            ck_assert_int_eq(span[0].start, 0);
            ck_assert_int_eq(span[n / 2].start, end_of(&step));
            for (uint32_t k = 1; k < n / 2; k++) {
                ck_assert_int_eq(span[k].start, end_of(&span[k - 1]));
            }
        }
        ck_assert_double_lt(late.figures.step_s, now.figures.step_s);
        quick_run_free(&now);
        quick_run_free(&late);
    }
}

/* Two chunks a rank: gradients of one could leave beside the backwards of the other. */
TEST(without_overlap_gradients_wait_for_the_last_backward_of_the_rank)
{
    static const char chunked[] = "cluster: {preset: dgx-a100-80g, nodes: 4}\n"
                                  "model: {preset: llama-7b, sequence: 2048}\n"
                                  "layout: {global_batch: 32, pipeline: 4, zero: 1}\n"
                                  "schedule: {name: interleaved, chunks: 2}\n"
                                  "framework: {preset: ideal}\n";
    static const char *const overlap[] = {"framework.overlap_grad_reduce=true",
                                          "framework.overlap_grad_reduce=false"};
    for (int i = 0; i < 2; i++) {
        struct quick_run q = quick_run(chunked, NULL, SETS(overlap[i]));
        ty_ps first = UINT64_MAX, last = 0;
        const uint32_t n = spans_of(&q, NULL, TY_N_PHASES, span);
        for (uint32_t k = 0; k < n; k++) {
            if (strcmp(span[k].kind->name, "reduce-scatter") == 0) {
                first = span[k].start < first ? span[k].start : first;
            } else if (span[k].pass->phase == TY_PHASE_BACKWARD &&
                       span[k].op->stream == TY_STREAM_COMPUTE) {
                last = end_of(&span[k]) > last ? end_of(&span[k]) : last;
            }
        }
        ck_assert_uint_gt(first, 0);
        ck_assert(i == 0 ? first < last : first >= last);
        quick_run_free(&q);
    }
}

TY_SUITE("buckets")
