/* test_sharing_laws.c - what must hold of whole runs on a shared fabric, whatever the model:
 * figures from outside it, and who is slowed down by what. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})

static double step_of(const char *yaml, const char *const *sets)
{
    struct quick_run q = quick_run(yaml, NULL, sets);
    const double s = q.figures.step_s;
    quick_run_free(&q);
    return s;
}

/* ---- a large all-reduce over all GPUs ---- */

/* Bytes alone count. */
#define NO_LATENCY                                                                                 \
    "net_latency: 0 s, net_step: 0 s, nvlink_step: 0 s, nvlink_latency: 0 s,\n"                    \
    "  nvlink_latency_per_rank: 0 s, nvlink_gather_latency: 0 s, nvlink_floor: 0 s,\n"             \
    "  net_tree_step: 0 s, nvlink_tree_step: 0 s"

/* 537 million parameters, gradients of 2 bytes reduced at the end: 1 GiB over 256 GPUs. */
static const char gradients[] =
    "cluster: {preset: dgx-a100-80g, nodes: 32, collectives: ring,\n  " NO_LATENCY "}\n"
    "model: {layers: 8, hidden: 2048, heads: 16, ffn: 8192, mlp: gelu,\n"
    "  vocabulary: 66000, sequence: 512, tied: true}\n"
    "layout: {global_batch: 256, zero: 0}\n"
    "framework: {preset: ideal, overlap_grad_reduce: false}\n";

TEST(a_gibibyte_over_256_gpus_takes_what_the_textbook_says)
{
    static const char *const detail[] = {"run.detail=flows", "run.detail=steps"};
    for (size_t i = 0; i < TY_COUNT(detail); i++) {
        struct quick_run q = quick_run(gradients, NULL, SETS(detail[i]));
        const struct ty_rank_stats *rank = &q.run->stats.rank[0];
        /* each of 256 sends 2 (n-1)/n S */
        const double bytes = quick_run_traffic(&q, "dp") / 256 / (2 * 255.0 / 256);
        ck_assert_double_ge(bytes, 0.95 * (1 << 30));
        /* 2 (n-1)/n S over the eight HDR NICs of a node at their measured 96 % */
        const double textbook = 2 * 255.0 / 256 * bytes / (8 * 25e9 * 0.96);
        const double took = ty_s_from_ps(rank->stream_busy[TY_STREAM_DATA]);
        ck_assert_msg(fabs(took / textbook - 1) < 0.05, "%s: %g s, not %g", detail[i], took,
                      textbook);
        quick_run_free(&q);
    }
}

/* ---- one NIC ---- */

/* Seconds of reductions of the first rank: two data-parallel groups on nodes of two GPUs. */
static double two_groups(const char *collectives, const char *nics)
{
    struct quick_run q =
        quick_run("cluster: {preset: dgx-a100-80g, nodes: 4, gpus_per_node: 2,\n  " NO_LATENCY "}\n"
                  "model: {preset: llama-7b, sequence: 1024}\n"
                  "layout: {tensor: 2, global_batch: 16, zero: 0}\n"
                  "framework: {preset: ideal, overlap_grad_reduce: false}\n",
                  NULL, SETS(collectives, nics));
    const double s = ty_s_from_ps(q.run->stats.rank[0].stream_busy[TY_STREAM_DATA]);
    quick_run_free(&q);
    return s;
}

TEST(two_groups_on_one_nic_take_twice_as_long)
{
    static const char *const collectives[] = {"cluster.collectives=ring",
                                              "cluster.collectives=tree"};
    for (size_t i = 0; i < TY_COUNT(collectives); i++) {
        const double one = two_groups(collectives[i], "cluster.nics_per_node=1");
        const double own = two_groups(collectives[i], "cluster.nics_per_node=2");
        ck_assert_msg(fabs(one / own - 2) < 1e-4, "%s: %g", collectives[i], one / own);
    }
}

/* ---- oversubscription ---- */

/* Seconds of reductions of the first rank: with two stages replicas lie on four nodes, which are a
 * leaf, with one on eight. */
static double reductions(const char *stages, const char *oversubscription)
{
    struct quick_run q = quick_run(
        "cluster: {preset: dgx-a100-80g, nodes: 8, collectives: ring,\n  " NO_LATENCY "}\n"
        "fabric: {topology: fat-tree, leaf_nodes: 4}\n"
        "model: {preset: llama-7b, sequence: 1024}\n"
        "layout: {global_batch: 256, zero: 0}\n"
        "framework: {preset: ideal, overlap_grad_reduce: false}\n",
        NULL, SETS(stages, oversubscription));
    const double s = ty_s_from_ps(q.run->stats.rank[0].stream_busy[TY_STREAM_DATA]);
    quick_run_free(&q);
    return s;
}

TEST(oversubscription_slows_only_those_who_cross_leaves)
{
    static const char inside[] = "layout.pipeline=2", across[] = "layout.pipeline=1";
    const double at1 = reductions(across, "fabric.oversubscription=1");
    /* A ring leaves a leaf at one of its four nodes: up to 4 : 1 there is room for it. */
    ck_assert_double_eq_tol(reductions(across, "fabric.oversubscription=4") / at1, 1, 1e-9);
    ck_assert_double_eq_tol(reductions(across, "fabric.oversubscription=8") / at1, 2, 0.02);
    ck_assert_double_eq_tol(reductions(across, "fabric.oversubscription=16") / at1, 4, 0.04);
    const double in1 = reductions(inside, "fabric.oversubscription=1");
    ck_assert_double_eq(reductions(inside, "fabric.oversubscription=16"), in1);
}

/* ---- capacity ---- */

TEST(more_bandwidth_never_makes_a_step_slower)
{
    static const char *const layouts[][3] = {
        {"layout.tensor=2", "layout.pipeline=2", "layout.zero=1"},
        {"layout.tensor=1", "layout.pipeline=1", "layout.zero=3"},
        {"layout.tensor=4", "layout.pipeline=4", "layout.order=[pipeline,data,context,tensor]"},
        {"layout.tensor=2", "layout.pipeline=4", "schedule.name=zb-1p"},
        {"layout.tensor=8", "layout.pipeline=2", "framework.overlap_grad_reduce=true"},
    };
    static const char *const nic[] = {
        "cluster.nic_bandwidth=50 Gb/s", "cluster.nic_bandwidth=75 Gb/s",
        "cluster.nic_bandwidth=150 Gb/s", "cluster.nic_bandwidth=400 Gb/s"};
    for (size_t i = 0; i < TY_COUNT(layouts); i++) {
        double before = HUGE_VAL;
        for (size_t k = 0; k < TY_COUNT(nic); k++) {
            /* one algorithm, so that the order of messages stays; two NICs for eight GPUs */
            const double s = step_of("cluster: {preset: dgx-a100-80g, nodes: 4, nics_per_node: 2,\n"
                                     "  collectives: ring}\n"
                                     "model: {preset: llama-13b, layers: 8, sequence: 2048}\n"
                                     "layout: {global_batch: 64}\n",
                                     SETS(layouts[i][0], layouts[i][1], layouts[i][2], nic[k]));
            ck_assert_msg(s <= before * (1 + 1e-12), "layout %zu, %s: %.9f after %.9f", i, nic[k],
                          s, before);
            before = s;
        }
    }
}

/* ---- placement ---- */

TEST(tensor_groups_over_two_nodes_are_twice_as_slow)
{
    /* GPT 3.6B on 64 A100 with 800 Gb/s a node, as vTrain measured it: 1.96 to 2.13 */
    static const char yaml[] =
        "cluster: {preset: dgx-a100-80g, nodes: 8, nics_per_node: 4}\n"
        "model: {layers: 30, hidden: 3072, heads: 32, ffn: 12288, mlp: gelu,\n"
        "  vocabulary: 51200, sequence: 2048, attention: fused-softmax}\n"
        "layout: {global_batch: 512, micro_batch: 8, recompute: full}\n"
        "framework: {preset: megatron-lm, overlap_grad_reduce: false}\n";
    const double inside = step_of(yaml, SETS("layout.tensor=8"));
    const double across = step_of(yaml, SETS("layout.tensor=16"));
    ck_assert_double_ge(across / inside, 1.7);
    ck_assert_double_le(across / inside, 2.4);
}

TEST(tensor_outermost_is_the_worst_order_and_innermost_the_best)
{
    static const char *const axis[] = {"tensor", "data", "pipeline"};
    double best = HUGE_VAL, worst_other = 0, best_outer = HUGE_VAL, best_other = HUGE_VAL;
    for (int a = 0; a < 3; a++) {
        for (int b = 0; b < 3; b++) {
            if (a == b) {
                continue;
            }
            char order[120];
            (void)snprintf(order, sizeof(order), "layout.order=[%s,%s,%s,context]", axis[a],
                           axis[b], axis[3 - a - b]);
            const double s =
                step_of("cluster: {preset: dgx-a100-80g, nodes: 8}\n"
                        "model: {preset: llama-30b, layers: 16, sequence: 2048}\n"
                        "layout: {tensor: 4, pipeline: 4, global_batch: 128, zero: 1}\n",
                        SETS(order));
            if (a == 0) {
                best = fmin(best, s);
            } else if (3 - a - b == 0) {
                best_outer = fmin(best_outer, s);
            } else {
                worst_other = fmax(worst_other, s);
                best_other = fmin(best_other, s);
            }
        }
    }
    ck_assert_double_lt(best, best_other);
    ck_assert_double_gt(best_outer, worst_other * 1.1);
}

TY_SUITE("sharing_laws")
