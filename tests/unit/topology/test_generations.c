/* test_generations.c - nodes with GPUs of another preset: every rank computes as a cluster of such
 * GPUs would, everybody waits for the slowest, and memory is that of the smallest. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "model/parallel/whole.h"
#include "sim/base/text.h"
#include "sim/core/execute/fold.h"
#include "sim/report/table.h"
#include "sim/run/bill.h"
#include "sim/run/gpus.h"
#include "tests/common/quick_run.h"
#include "tests/unit/priced.h"
#include "tests/unit/suite.h"

#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char small[] = "cluster: {preset: dgx-a100-80g, nodes: 4}\n"
                            "model: {preset: llama-7b, sequence: 2048}\n"
                            "layout: {global_batch: 64}\n";

/* Everything that prices computation in a way of its own. */
static const char *const plans[][6] = {
    {"layout.tensor=1", "layout.zero=1"},
    {"layout.tensor=8", "layout.pipeline=2", "layout.sequence_parallel=true"},
    {"layout.tensor=2", "layout.pipeline=4", "layout.recompute=full", "framework.preset=ddp"},
    {"layout.zero=3", "cluster.nvlink_overlap_slowdown=18 %", "cluster.net_overlap_slowdown=10 %"},
    {"layout.tensor=4", "layout.zero=1", "cluster.nvlink_overlap_slowdown=18 %",
     "layout.order=[data, tensor, context, pipeline]"},
    {"layout.pipeline=4", "schedule.name=seq1f1b", "schedule.slices=2"},
    {"layout.pipeline=4", "schedule.name=zb-1p", "layout.order=[pipeline, tensor, context, data]"},
    {"layout.pipeline=8", "layout.micro_batch=1", "schedule.name=dualpipe",
     "schedule.overlap_cost=0.9"},
};

/* A plan on a cluster that one more setting says. */
static struct quick_run on(size_t plan, const char *setting, const char *engine)
{
    const char *sets[8] = {setting};
    for (size_t i = 0; i < 6 && plans[plan][i] != NULL; i++) {
        sets[i + 1] = plans[plan][i];
    }
    return quick_run(small, engine, sets);
}

static ty_ps computing(const struct quick_run *q, uint32_t rank)
{
    return q->run->stats.rank[rank].stream_busy[TY_STREAM_COMPUTE];
}

/* ---- whole runs ---- */

static void assert_same_timeline(const struct quick_run *a, const struct quick_run *b)
{
    const struct ty_program *p = a->run->timeline.program, *r = b->run->timeline.program;
    ck_assert_uint_eq(p->n_tasks, r->n_tasks);
    ck_assert_mem_eq(a->run->timeline.start, b->run->timeline.start, p->n_tasks * sizeof(ty_ps));
    ck_assert_uint_eq(a->run->timeline.makespan, b->run->timeline.makespan);
    for (uint32_t rank = 0; rank < p->n_ranks; rank++) {
        ck_assert_uint_eq(computing(a, rank), computing(b, rank));
    }
    ck_assert_double_eq(a->figures.mfu, b->figures.mfu);
    ck_assert_double_eq(a->figures.hfu, b->figures.hfu);
    for (uint32_t rank = 0; rank < p->n_ranks; rank++) {
        ck_assert_double_eq(ty_run_capacity(a->run, rank), ty_run_capacity(b->run, rank));
    }
}

TEST(nodes_with_the_gpu_of_the_cluster_are_no_exception)
{
    for (size_t i = 0; i < TY_COUNT(plans); i++) {
        struct quick_run none = on(i, "cluster.exceptions=none", NULL);
        struct quick_run all = on(i, "cluster.exceptions=[nodes 0-3 with a100-sxm-80g]", NULL);
        struct quick_run some = on(i, "cluster.exceptions=[nodes 1-2 with a100-sxm-80g]", NULL);
        assert_same_timeline(&none, &all);
        assert_same_timeline(&none, &some);
        quick_run_free(&none);
        quick_run_free(&all);
        quick_run_free(&some);
    }
}

TEST(all_nodes_with_another_gpu_are_a_cluster_of_it)
{
    for (size_t i = 0; i < TY_COUNT(plans); i++) {
        struct quick_run named = on(i, "cluster.gpu=h100-sxm", NULL);
        struct quick_run all = on(i, "cluster.exceptions=[nodes 0-3 with h100-sxm]", NULL);
        assert_same_timeline(&named, &all);
        quick_run_free(&named);
        quick_run_free(&all);
    }
}

/* Whoever waits for whom: a rank computes for as long as in a cluster of its kind, as long as what
 * it loses beside collectives is estimated beforehand. */
TEST(every_rank_computes_as_long_as_in_a_cluster_of_its_gpus)
{
    for (size_t i = 0; i < TY_COUNT(plans); i++) {
        struct quick_run slow = on(i, "cluster.exceptions=none", "sweep");
        struct quick_run fast = on(i, "cluster.gpu=h100-sxm", "sweep");
        struct quick_run mixed =
            on(i, "cluster.exceptions=[node 1 with h100-sxm, node 3 with h100-sxm]", "sweep");
        for (uint32_t rank = 0; rank < 32; rank++) {
            const struct quick_run *kind = rank / 8 % 2 == 1 ? &fast : &slow;
            ck_assert_uint_eq(computing(&mixed, rank), computing(kind, rank));
        }
        ck_assert_uint_gt(computing(&slow, 0), computing(&fast, 0));
        quick_run_free(&slow);
        quick_run_free(&fast);
        quick_run_free(&mixed);
    }
}

/* Found out as it happens, it is no more than beside a collective all along, from what the kernels
 * take alone: each of its own kind. */
TEST(every_rank_loses_a_share_of_its_own_speed_beside_collectives)
{
    const char *const mixed = "cluster.exceptions=[node 1 with h100-sxm, node 3 with h100-sxm]";
    const char *const none = "cluster.nvlink_overlap_slowdown=0 %";
    const char *const net = "cluster.net_overlap_slowdown=0 %";
    const char *const some = "cluster.nvlink_overlap_slowdown=18 %";
    const char *const tp = "layout.tensor=4", *const ddp = "framework.preset=ddp";
    const char *const across = "layout.order=[data, tensor, context, pipeline]";
    struct quick_run alone = quick_run(small, NULL, SETS(mixed, none, net, tp, ddp, across));
    struct quick_run beside = quick_run(small, NULL, SETS(mixed, some, net, tp, ddp, across));
    bool any = false;
    ck_assert(beside.config->run.contention);
    for (uint32_t rank = 0; rank < 32; rank++) {
        ck_assert_uint_ge(computing(&beside, rank), computing(&alone, rank));
        ck_assert_double_le((double)computing(&beside, rank),
                            (double)computing(&alone, rank) / 0.82 + 1e6);
        any = any || computing(&beside, rank) > computing(&alone, rank);
    }
    ck_assert(any);
    quick_run_free(&alone);
    quick_run_free(&beside);
}

static ty_ps step(const char *engine, const char *const *sets)
{
    struct quick_run q = quick_run(small, engine, sets);
    const ty_ps makespan = q.run->timeline.makespan;
    quick_run_free(&q);
    return makespan;
}

/* Replicas wait for the slowest in every reduction, and so at the end. */
TEST(one_slow_node_of_replicas_is_as_bad_as_a_slow_cluster)
{
    const char *const fast = "cluster.gpu=h100-sxm", *const ddp = "framework.preset=ddp";
    const char *const slow = "cluster.exceptions=[node 2 with a100-sxm-80g]";
    const ty_ps uniform = step(NULL, SETS(ddp)), one = step(NULL, SETS(ddp, fast, slow));
    ck_assert_uint_eq(one, uniform);
    ck_assert_uint_gt(one, step(NULL, SETS(ddp, fast)));
}

TEST(a_pipeline_with_one_slow_stage_lies_between)
{
    const char *const fast = "cluster.gpu=h100-sxm", *const p4 = "layout.pipeline=4";
    for (uint32_t node = 0; node < 4; node++) {
        char slow[80];
        (void)snprintf(slow, sizeof(slow), "cluster.exceptions=[node %u with a100-sxm-80g]",
                       (unsigned)node);
        const ty_ps mixed = step(NULL, SETS(p4, fast, slow));
        ck_assert_uint_lt(mixed, step(NULL, SETS(p4)));
        ck_assert_uint_gt(mixed, step(NULL, SETS(p4, fast)));
    }
}

TEST(both_engines_agree_on_mixed_gpus)
{
    for (size_t i = 0; i < TY_COUNT(plans); i++) {
        const char *const mixed = "cluster.exceptions=[nodes 1-2 with h100-sxm, gpu 3 at 90 %]";
        struct quick_run swept = on(i, mixed, "sweep"), queued = on(i, mixed, "events");
        assert_same_timeline(&swept, &queued);
        quick_run_free(&swept);
        quick_run_free(&queued);
    }
}

/* Stages of one kind each need no member apart. */
TEST(gangs_that_are_alike_inside_fold)
{
    struct quick_run q = quick_run(
        small, NULL, SETS("layout.pipeline=4", "cluster.exceptions=[nodes 1-2 with h100-sxm]"));
    const ty_ps whole = q.run->timeline.makespan;
    struct ty_err err = TY_ERR_NONE;
    ck_assert(ty_program_folds(&q.run->lowered.program));
    ck_assert_int_eq(ty_run_execute_folded(q.run, &err), 0);
    ck_assert_uint_eq(q.run->timeline.makespan, whole);
    quick_run_free(&q);
    q = quick_run(small, NULL, SETS("cluster.exceptions=[node 1 with h100-sxm]"));
    ck_assert(!ty_program_folds(&q.run->lowered.program));
    quick_run_free(&q);
}

/* ---- closed form ---- */

#define NODES 4u
#define BATCH 12u

/* Links of no account, and nothing but kernels. */
static const char alone[] =
    "cluster: {gpu: h100-sxm, nodes: 4, gpus_per_node: 1, nic_bandwidth: 100 TB/s,\n"
    "          net_p2p_latency: 0 s, net_latency: 0 s, net_step: 0 s, net_tree_step: 0 s}\n"
    "model: {preset: llama-7b, sequence: 2048}\n"
    "layout: {pipeline: 4, global_batch: 12}\n"
    "framework: {preset: ideal}\n"
    "schedule: {name: gpipe}\n";

static double sum_of(const struct ty_cost *cost)
{
    double s = 0;
    for (uint32_t op = 0; op < N_LAYER_OPS; op++) {
        s += cost[op].seconds;
    }
    return s;
}

/* GPipe is two flow shops, one after the other: (m - 1) max + sum over stages, whichever stage is
 * the slow one. The optimizer starts when all have met. */
static double gpipe_s(const struct quick_run *q, uint32_t slow_node)
{
    const struct ty_config *c = q->config;
    double sum = 0, forward = 0, backward = 0, optimizer = 0;
    for (uint32_t s = 0; s < NODES; s++) {
        const struct ty_cluster *gpu = ty_exceptions_cluster(&c->cluster, s == slow_node);
        struct layer_times layer;
        struct edge_times edge;
        layer_times(gpu, &c->arch, &c->layout, &layer);
        edge_times(gpu, &c->arch, &c->layout, &edge);
        const uint32_t layers = c->arch.layers / NODES;
        double f = layers * sum_of(layer.forward);
        double b = layers * (sum_of(layer.dgrad) + sum_of(layer.wgrad));
        f += s == 0 ? edge.embedding_forward.seconds : 0;
        b += s == 0 ? edge.embedding_backward.seconds : 0;
        f += s == NODES - 1 ? edge.head_forward.seconds : 0;
        b += s == NODES - 1 ? edge.head_dgrad.seconds + edge.head_wgrad.seconds : 0;
        sum += f + b;
        forward = fmax(forward, f);
        backward = fmax(backward, b);
        optimizer = fmax(
            optimizer,
            ty_optimizer_cost(&gpu->gpu, &c->layout, q->run->lowered.stage[s].params, 0).seconds);
    }
    return sum + (BATCH - 1) * (forward + backward) + optimizer;
}

TEST(a_slow_stage_sets_the_pace_of_the_pipeline)
{
    for (uint32_t node = 0; node < NODES; node++) {
        char slow[80];
        (void)snprintf(slow, sizeof(slow), "cluster.exceptions=[node %u with a100-sxm-40g]",
                       (unsigned)node);
        struct quick_run q = quick_run(alone, NULL, SETS(slow));
        const double expected = gpipe_s(&q, node);
        ck_assert_double_eq_tol(q.figures.step_s, expected, 1e-4 * expected);
        ck_assert_double_gt(expected, 1.3 * gpipe_s(&q, UINT32_MAX));
        quick_run_free(&q);
    }
}

/* ---- figures ---- */

/* PaLM's definition: what the peaks of all GPUs in use could do in the time. */
TEST(mfu_is_a_share_of_the_sum_of_peaks)
{
    struct quick_run q = quick_run(small, NULL, SETS("cluster.exceptions=[node 3 with h100-sxm]"));
    const double peaks = 24 * 312e12 + 8 * 989e12;
    const double flops = ty_flops_model(&q.config->arch, false) * q.figures.tokens_per_s;
    ck_assert_double_eq_tol(q.figures.mfu, flops / peaks, 1e-12);
    ck_assert_double_eq_tol(q.figures.hfu, flops / peaks, 1e-12); /* nothing is recomputed */
    ck_assert_uint_eq(ty_run_gpus(q.run, 0), 24);
    ck_assert_uint_eq(ty_run_gpus(q.run, 1), 8);
    ck_assert_uint_eq(ty_run_n_generations(q.run), 2);
    quick_run_free(&q);
}

/* ---- memory ---- */

TEST(a_stage_has_the_memory_of_its_smallest_gpu)
{
    struct quick_run q = quick_run(
        small, NULL, SETS("layout.pipeline=2", "cluster.exceptions=[node 3 with a100-sxm-40g]"));
    struct ty_bill first, last, fullest;
    ty_run_bill(q.run, 0, &first);
    ty_run_bill(q.run, 1, &last);
    ck_assert_double_eq(first.capacity_B, q.config->cluster.gpu.memory);
    ck_assert_uint_eq(first.node, 0);
    ck_assert_double_eq(last.capacity_B, ty_exceptions_cluster(&q.config->cluster, 1)->gpu.memory);
    ck_assert_uint_eq(last.node, 3);
    /* the first holds more, but a smaller share of what it has */
    ck_assert_double_gt(first.total_B, last.total_B);
    ck_assert_uint_eq(ty_run_fullest(q.run, &fullest), 1);
    quick_run_free(&q);
}

TEST(what_fits_the_cluster_may_not_fit_a_smaller_gpu)
{
    const char *const exceptions = "cluster.exceptions=[node 2 with a100-sxm-40g]";
    const char *const bigger = "model.sequence=8192", *const plain = "layout.zero=0";
    struct quick_run all = quick_run(small, NULL, SETS(bigger, plain, "layout.tensor=4"));
    struct quick_run one =
        quick_run(small, NULL, SETS(bigger, plain, "layout.tensor=4", exceptions));
    struct quick_run named =
        quick_run(small, NULL, SETS(bigger, plain, "layout.tensor=4", "cluster.gpu=a100-sxm-40g"));
    ck_assert(ty_run_fits(all.run));
    ck_assert(!ty_run_fits(named.run));
    ck_assert(!ty_run_fits(one.run));
    for (uint32_t rank = 0; rank < 32; rank++) {
        const struct quick_run *like = rank / 8 == 2 ? &named : &all;
        ck_assert_double_eq(ty_run_capacity(one.run, rank), ty_run_capacity(like->run, rank));
    }
    quick_run_free(&all);
    quick_run_free(&one);
    quick_run_free(&named);
}

/* ---- reports ---- */

typedef int report_fn(const struct ty_run *run, struct ty_text *text, struct ty_err *err);

static char *report(const struct quick_run *q, report_fn *write)
{
    struct ty_text t = {.data = NULL};
    struct ty_err err = TY_ERR_NONE;
    ck_assert_int_eq(write(q->run, &t, &err), 0);
    return ty_text_take(&t);
}

static void assert_says(const struct quick_run *q, report_fn *write, const char *const *words)
{
    char *text = report(q, write);
    for (size_t i = 0; words[i] != NULL; i++) {
        ck_assert_msg(strstr(text, words[i]) != NULL, "no %s in\n%s", words[i], text);
    }
    ty_text_free(text);
}

TEST(reports_say_which_gpus_there_are_and_which_node_has_least_memory)
{
    struct quick_run q = quick_run(
        small, NULL, SETS("layout.pipeline=2", "cluster.exceptions=[node 3 with a100-sxm-40g]"));
    assert_says(&q, ty_report_table,
                SETS("on 24 x a100-sxm-80g and 8 x a100-sxm-40g (4 nodes of 8",
                     "per GPU: MFU and HFU are shares of the sum of all GPUs' peaks",
                     "on node 0: a100-sxm-80g, 79.2 GiB\n", "on node 3: a100-sxm-40g, 39.4 GiB\n",
                     "the fullest is stage 1,"));
    assert_says(&q, ty_report_json,
                SETS("\"gpu_kinds\": [{\"gpu\": \"a100-sxm-80g\", \"count\": 24, \"peak_flops\":",
                     "{\"gpu\": \"a100-sxm-40g\", \"count\": 8,", "\"largest\": {\"stage\": 1,"));
    quick_run_free(&q);
    q = quick_run(small, NULL, SETS("layout.pipeline=2"));
    char *text = report(&q, ty_report_table);
    ck_assert_ptr_null(strstr(text, " on node "));
    ck_assert_ptr_null(strstr(text, "sum of all GPUs"));
    ty_text_free(text);
    quick_run_free(&q);
}

/* ---- measured kernels ---- */

/* An optimizer step measured on the cluster's GPUs says nothing of others. */
TEST(measured_kernels_are_of_the_clusters_own_gpus)
{
    char path[] = "/tmp/trainyard-kernels-XXXXXX", operators[80];
    const int fd = mkstemp(path);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs("op,role,dtype,kernel,elements,time_us\n"
                           "optimizer,step,bf16,fused,1e9,500000\n"
                           "optimizer,step,fp32,fused,1e9,500000\n"
                           "optimizer,step,fp32,unfused,1e9,500000\n",
                           file),
                     0);
    ck_assert_int_eq(fclose(file), 0);
    (void)snprintf(operators, sizeof(operators), "cluster.operators=%s", path);
    const char *const mixed = "cluster.exceptions=[node 1 with h100-sxm]";
    struct quick_run model = quick_run(small, NULL, SETS(mixed));
    struct quick_run table = quick_run(small, NULL, SETS(mixed, operators));
    ck_assert_uint_gt(computing(&table, 0), computing(&model, 0));
    ck_assert_uint_eq(computing(&table, 8), computing(&model, 8));
    ck_assert_uint_gt(computing(&table, 16), computing(&model, 16));
    quick_run_free(&model);
    quick_run_free(&table);
    unlink(path);
}

TY_SUITE("generations")
