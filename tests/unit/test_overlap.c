/* Computation beside a collective is slower, by what the cluster says and no more. */
#include <stdio.h>

#include "tests/common/quick_run.h"

#include "tests/unit/model_case.h"

#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char *const none[] = {"cluster.nvlink_overlap_slowdown=0",
                                   "cluster.net_overlap_slowdown=0"};

struct seconds {
    double step, compute, comm; /* of a step; busy time of a rank */
};

/* A 7B model on 16 A100 under `layout`, with the given slow-downs of computation. */
static struct seconds measure(const char *layout, const char *nvlink, const char *net)
{
    char yaml[512];
    (void)snprintf(yaml, sizeof(yaml),
                   "cluster: {preset: dgx-a100-80g, nodes: 2}\n"
                   "model: {preset: llama-7b, sequence: 2048}\n"
                   "layout: {global_batch: 32, %s}\n"
                   "framework: {preset: ideal}\n",
                   layout);
    struct quick_run q = quick_run(yaml, NULL, SETS(nvlink, net));
    const struct ty_rank_stats *rank = &q.run->stats.rank[0];
    struct seconds out = {q.figures.step_s, ty_s_from_ps(rank->stream_busy[TY_STREAM_COMPUTE]),
                          ty_s_from_ps(rank->stream_busy[TY_STREAM_TENSOR]) +
                              ty_s_from_ps(rank->stream_busy[TY_STREAM_DATA])};
    quick_run_free(&q);
    return out;
}

START_TEST(no_collective_beside_it_no_loss)
{
    static const char *const layouts[] = {
        "pipeline: 16, data: 1",                      /* messages only */
        "tensor: 16, recompute: full, zero: 0",       /* see below: backward is beside */
    };
    const struct seconds free_run = measure(layouts[0], none[0], none[1]);
    const struct seconds slow = measure(layouts[0], "cluster.nvlink_overlap_slowdown=50 %",
                                        "cluster.net_overlap_slowdown=50 %");
    ck_assert_double_eq(slow.step, free_run.step);
    ck_assert_double_lt(measure(layouts[1], none[0], none[1]).compute,
                        measure(layouts[1], none[0], "cluster.net_overlap_slowdown=50 %").compute);
}
END_TEST

/* Each kind of link has its own share, and what is lost is at most that share of the time that
 * collectives run. */
START_TEST(the_loss_is_bounded_by_the_time_of_the_collectives)
{
    static const struct {
        const char *layout;
        bool net, nvlink;
    } rows[] = {
        {"tensor: 8", false, true},          /* weight gradients beside all-reduces; data beyond */
        {"zero: 3", true, false},            /* 16 GPUs over two nodes */
        {"zero: 1, tensor: 2", true, true},  /* buckets and all-reduces */
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const struct seconds free_run = measure(rows[i].layout, none[0], none[1]);
        const struct seconds nvlink =
            measure(rows[i].layout, "cluster.nvlink_overlap_slowdown=20 %", none[1]);
        const struct seconds net =
            measure(rows[i].layout, none[0], "cluster.net_overlap_slowdown=20 %");
        const double bound = 0.25 * free_run.comm; /* 0.2 / (1 - 0.2) */
        ck_assert_msg((nvlink.compute > free_run.compute) == rows[i].nvlink, "%s: nvlink",
                      rows[i].layout);
        ck_assert_msg(!rows[i].net || net.compute > free_run.compute, "%s: net", rows[i].layout);
        ck_assert_double_le(nvlink.compute - free_run.compute, bound);
        ck_assert_double_le(net.compute - free_run.compute, bound);
        ck_assert_double_ge(nvlink.step, free_run.step);
    }
}
END_TEST

START_TEST(both_executors_see_the_same_slow_down)
{
    struct quick_run a = quick_run("cluster: {preset: dgx-h100, nodes: 2}\n"
                                   "model: {preset: llama-7b, sequence: 2048}\n"
                                   "layout: {global_batch: 32, zero: 3}\n",
                                   "sweep", NULL);
    struct quick_run b = quick_run("cluster: {preset: dgx-h100, nodes: 2}\n"
                                   "model: {preset: llama-7b, sequence: 2048}\n"
                                   "layout: {global_batch: 32, zero: 3}\n",
                                   "events", NULL);
    ck_assert_double_eq(a.figures.step_s, b.figures.step_s);
    quick_run_free(&a);
    quick_run_free(&b);
}
END_TEST

TY_SUITE("overlap", no_collective_beside_it_no_loss,
         the_loss_is_bounded_by_the_time_of_the_collectives, both_executors_see_the_same_slow_down)
