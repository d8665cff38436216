/* Computation beside a collective is slower, by what the cluster says and no more. */
#include <stdio.h>
#include <stdlib.h>

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

TEST(no_collective_beside_it_no_loss)
{
    static const char *const layouts[] = {
        "pipeline: 16, data: 1",                /* messages only */
        "tensor: 16, recompute: full, zero: 0", /* see below: backward is beside */
    };
    const struct seconds free_run = measure(layouts[0], none[0], none[1]);
    const struct seconds slow = measure(layouts[0], "cluster.nvlink_overlap_slowdown=50 %",
                                        "cluster.net_overlap_slowdown=50 %");
    ck_assert_double_eq(slow.step, free_run.step);
    ck_assert_double_lt(measure(layouts[1], none[0], none[1]).compute,
                        measure(layouts[1], none[0], "cluster.net_overlap_slowdown=50 %").compute);
}

/* Each kind of link has its own share, and what is lost is at most that share of the time that
 * collectives run. */
TEST(the_loss_is_bounded_by_the_time_of_the_collectives)
{
    static const struct {
        const char *layout;
        bool net, nvlink;
    } rows[] = {
        {"tensor: 8", false, true},         /* weight gradients beside all-reduces; data beyond */
        {"zero: 3", true, false},           /* 16 GPUs over two nodes */
        {"zero: 1, tensor: 2", true, true}, /* buckets and all-reduces */
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

/* NCCL sends it with two SMs, whatever a collective takes; never more than that. */
TEST(a_message_between_nodes_takes_two_sms)
{
    static const char ring[] = "context: 16, data: 1, context_method: ring";
    static const char last[] = "framework.overlap_grad_reduce=false";
    const double alone = measure(ring, last, none[1]).compute;
    const double two = measure(ring, last, "cluster.net_overlap_slowdown=20 %").compute;
    const double less = measure(ring, last, "cluster.net_overlap_slowdown=1 %").compute;
    ck_assert_double_eq(two, measure(ring, last, "cluster.net_overlap_slowdown=50 %").compute);
    ck_assert_double_lt(less, two);
    ck_assert_double_lt(alone, less);
}

TEST(both_executors_see_the_same_slow_down)
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

/* Plays a block once more, every computation against every collective before it. Returns what was
 * lost in all. */
static ty_ps check_block(const struct ty_program *slow, const struct ty_program *free_of,
                         uint32_t block, double share)
{
    static ty_ps from[20000], to[20000];
    ty_ps free_at[TY_N_STREAMS] = {0}, event[TY_EVENTS] = {0}, sum = 0;
    const struct ty_block *b = &slow->blocks[block];
    uint32_t n = 0;
    ck_assert_uint_le(b->n_ops, TY_COUNT(from));
    for (uint32_t i = 0; i < b->n_ops; i++) {
        const struct ty_op *op = &slow->ops[b->first + i];
        const ty_ps alone = free_of->kinds[free_of->ops[b->first + i].kind].dur;
        ty_ps start = free_at[op->stream];
        double beside = 0;
        for (uint32_t w = 0; w < TY_WAITS && op->wait[w] != TY_NO_EVENT; w++) {
            start = event[op->wait[w]] > start ? event[op->wait[w]] : start;
        }
        for (uint32_t k = 0; k < n && op->stream == TY_STREAM_COMPUTE; k++) {
            const ty_ps low = from[k] > start ? from[k] : start;
            const ty_ps high = to[k] < start + alone ? to[k] : start + alone;
            beside += low < high ? (double)(high - low) : 0;
        }
        beside = beside < (double)alone ? beside : (double)alone;
        const ty_ps more = (ty_ps)(beside * share / (1 - share));
        const ty_ps found = slow->kinds[op->kind].dur;
        ck_assert_msg(llabs((long long)found - (long long)(alone + more)) <= 1,
                      "block %u, operation %u", (unsigned)block, (unsigned)i);
        sum += more;
        free_at[op->stream] = start + found;
        if (op->sync == TY_SYNC_GROUP || op->sync == TY_SYNC_MEET) {
            from[n] = start;
            to[n++] = start + found;
        }
        if (op->record != TY_NO_EVENT) {
            event[op->record] = start + found;
        }
    }
    return sum;
}

TEST(every_computation_loses_what_it_shares)
{
    /* gathers far ahead; buckets that pile up; shards and replicas; tensor collectives beside
     * data */
    static const char *const layouts[] = {"layout.zero=3", "layout.zero=0", "layout.shard=4",
                                          "layout.tensor=2"};
    static const char *const links[] = {"cluster.nic_bandwidth=20 Gb/s",
                                        "cluster.nic_bandwidth=20 Tb/s"};
    static const char yaml[] = "cluster: {preset: dgx-h100, nodes: 2}\n"
                               "model: {preset: llama-7b, sequence: 2048}\n"
                               "layout: {global_batch: 32, zero: 2}\n"
                               "framework: {preset: ideal, prefetch: 4, bucket: 4 MB}\n";
    for (size_t i = 0; i < 2 * TY_COUNT(layouts); i++) {
        struct quick_run alone =
            quick_run(yaml, NULL, SETS(layouts[i / 2], links[i % 2], none[0], none[1]));
        struct quick_run slow =
            quick_run(yaml, NULL,
                      SETS(layouts[i / 2], links[i % 2], "cluster.nvlink_overlap_slowdown=25 %",
                           "cluster.net_overlap_slowdown=25 %"));
        const struct ty_program *p = &slow.run->lowered.program;
        const struct ty_program *free_of = &alone.run->lowered.program;
        ck_assert_uint_eq(p->n_blocks, free_of->n_blocks);
        ty_ps sum = 0;
        for (uint32_t b = 0; b < p->n_blocks; b++) {
            sum += check_block(p, free_of, b, 0.25);
        }
        ck_assert_msg(sum > 0, "%s, %s", layouts[i / 2], links[i % 2]);
        quick_run_free(&alone);
        quick_run_free(&slow);
    }
}

TY_SUITE("overlap")
