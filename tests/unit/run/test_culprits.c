/* test_culprits.c - explain names whom the others wait for: by how much, and by which runs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char small[] = "cluster: {preset: dgx-a100-80g, nodes: 2}\n"
                            "model: {preset: llama-7b, sequence: 2048}\n"
                            "layout: {tensor: 2, pipeline: 2, zero: 1, global_batch: 16}\n"
                            "framework: {preset: megatron-deepspeed}\n";

static double step_of(const char *const *sets)
{
    struct quick_run q = quick_run(small, NULL, sets);
    const double step = q.figures.step_s;
    quick_run_free(&q);
    return step;
}

/* The explanation, the caller's. */
static char *explain(const char *const *sets)
{
    struct quick_run q = quick_run(small, NULL, sets);
    char *text = NULL;
    struct ty_err err = TY_ERR_NONE;
    ck_assert_msg(ty_run_report(q.run, "explain", &text, &err) == 0, "%s", err.text);
    quick_run_free(&q);
    return text;
}

/* The line that begins with a label. */
static const char *line_of(const char *text, const char *label)
{
    static char line[400];
    const char *at = strstr(text, label);
    ck_assert_msg(at != NULL, "no \"%s\" in\n%s", label, text);
    const size_t n = strcspn(at, "\n");
    ck_assert_uint_lt(n, sizeof(line));
    memcpy(line, at, n);
    line[n] = '\0';
    return line;
}

/* "label    +12.34 ms (1.23 %)": the share of the step, in percent. */
static double percent(const char *line)
{
    const char *open = strchr(line, '(');
    ck_assert_ptr_nonnull(open);
    return strtod(open + 1, NULL);
}

TEST(a_slow_gpu_costs_what_the_step_takes_less_without_it)
{
    const char *const slow = "cluster.exceptions=[gpu 5 at 80 %]";
    const double with = step_of(SETS(slow)), without = step_of(SETS("cluster.exceptions=none"));
    char *text = explain(SETS(slow));
    const char *line = line_of(text, "  gpu 5 at 80 %  ");
    ck_assert_double_gt(with, 1.05 * without);
    ck_assert_double_eq_tol(percent(line), 100 * (with - without) / with, 0.006);
    ck_assert_ptr_nonnull(
        strstr(line, "rank 5 (stage 0, tensor 1, data 2): 15 others wait for it"));
    /* and the path runs through it, but for filling and draining */
    line = line_of(text, "computation on the critical path: ");
    ck_assert_ptr_nonnull(strstr(line, "% on rank 5 (stage 0, tensor 1, data 2)"));
    ck_assert_double_gt(strtod(line + strlen("computation on the critical path: "), NULL), 50);
    ty_text_free(text);
}

/* Both are in everybody's way: repairing one gains nothing, repairing both what one costs alone. */
TEST(of_two_equally_slow_gpus_neither_costs_anything_alone)
{
    const char *const one = "cluster.exceptions=[gpu 5 at 80 %]";
    const char *const two = "cluster.exceptions=[gpu 5 at 80 %, gpu 2 at 80 %]";
    const double step = step_of(SETS(two));
    char *text = explain(SETS(two));
    ck_assert_double_eq(step, step_of(SETS(one)));
    const char *line = line_of(text, "  gpu 2 at 80 %  ");
    ck_assert_double_eq_tol(percent(line), 0, 0.01);
    ck_assert_ptr_nonnull(strstr(line, "nobody waits longer for it than for others"));
    line = line_of(text, "  all exceptions together");
    ck_assert_double_eq_tol(percent(line), 100 * (1 - step_of(SETS("run.seed=1")) / step), 0.006);
    ck_assert_ptr_nonnull(strstr(line, "repairing one leaves the others to wait for"));
    ty_text_free(text);
}

TEST(spread_and_jitter_are_set_aside_one_by_one)
{
    const char *const spread = "run.gpu_spread=3 %", *const jitter = "run.jitter=5 %";
    const double step = step_of(SETS(spread, jitter));
    char *text = explain(SETS(spread, jitter));
    ck_assert_double_eq_tol(percent(line_of(text, "  gpu_spread 3 %  ")),
                            100 * (1 - step_of(SETS(jitter)) / step), 0.006);
    ck_assert_double_eq_tol(percent(line_of(text, "  jitter 5 %  ")),
                            100 * (1 - step_of(SETS(spread)) / step), 0.006);
    ty_text_free(text);
}

/* The slow node holds a part of both stages here: everybody else waits for its ranks. */
TEST(a_node_of_slower_gpus_is_named_with_its_ranks)
{
    const char *const slow = "cluster.exceptions=[node 1 with v100-sxm2-32g]";
    const char *const fp16 = "model.dtype=fp16";
    const double with = step_of(SETS(fp16, slow)), without = step_of(SETS(fp16));
    char *text = explain(SETS(fp16, slow));
    const char *line = line_of(text, "  node 1 with v100-sxm2-32g  ");
    ck_assert_double_gt(with, 1.2 * without);
    ck_assert_double_eq_tol(percent(line), 100 * (with - without) / with, 0.006);
    ck_assert_ptr_nonnull(strstr(line, "8 ranks: 8 others wait for them"));
    line = line_of(text, "computation on the critical path: ");
    ck_assert_ptr_nonnull(strstr(line, "% on rank 8 (stage 1, tensor 0, data 0)"));
    ck_assert_double_gt(strtod(line + strlen("computation on the critical path: "), NULL), 50);
    ty_text_free(text);
}

TEST(a_node_of_faster_gpus_is_no_culprit)
{
    char *text = explain(SETS("cluster.exceptions=[node 0 with h100-sxm]"));
    const char *line = line_of(text, "  node 0 with h100-sxm  ");
    ck_assert_double_lt(percent(line), -0.1);
    ck_assert_ptr_nonnull(strstr(line, "8 ranks: faster, and the step with them"));
    ty_text_free(text);
}

/* What would help speeds all GPUs up, so a step of nothing but computation follows it to 1/1.1. */
TEST(faster_gpus_are_faster_in_every_node)
{
    char *text = explain(SETS("cluster.exceptions=[nodes 0-1 with h100-sxm]"));
    const char *line = line_of(text, "  GPUs 10 % faster  ");
    const char *expected = strstr(line, "critical path: ");
    ck_assert_ptr_nonnull(expected);
    ck_assert_double_lt(strtod(strpbrk(line, "-+"), NULL), -3);
    ck_assert_double_eq_tol(strtod(strpbrk(line, "-+"), NULL),
                            strtod(expected + strlen("critical path: "), NULL), 1);
    ty_text_free(text);
}

/* Ranks on the node whose NIC it is, the rank behind a port, ranks on the nodes of a leaf. */
TEST(ranks_behind_a_link_are_counted)
{
    char *text = explain(SETS("cluster.exceptions=[nic 1.3 dead, nvlink 2 at 50 %]"));
    ck_assert_ptr_nonnull(strstr(line_of(text, "  nic 1.3 dead  "), "8 ranks"));
    ck_assert_ptr_nonnull(
        strstr(line_of(text, "  nvlink 2 at 50 %  "), "rank 2 (stage 0, tensor 0, data 1)"));
    ty_text_free(text);
}

/* The rank with the largest factor, and its factor, whatever is given on top. */
TEST(the_slowest_draw_is_named)
{
    const char *const spread = "run.gpu_spread=3 %", *const slow =
                                                         "cluster.exceptions=[gpu 0 at 50 %]";
    struct quick_run q = quick_run(small, NULL, SETS(spread));
    const double *drawn = q.run->lowered.program.spread_of;
    uint32_t slowest = 0;
    for (uint32_t rank = 1; rank < 16; rank++) {
        slowest = drawn[rank] > drawn[slowest] ? rank : slowest;
    }
    ck_assert_uint_ne(slowest, 0);
    char expected[64], *text = explain(SETS(spread, slow));
    (void)snprintf(expected, sizeof(expected), "for the whole run, rank %u (", (unsigned)slowest);
    const char *line = line_of(text, "  gpu_spread 3 %  ");
    ck_assert_ptr_nonnull(strstr(line, expected));
    (void)snprintf(expected, sizeof(expected), " most: %+.2f %%", 100 * (drawn[slowest] - 1));
    ck_assert_ptr_nonnull(strstr(line, expected));
    ty_text_free(text);
    quick_run_free(&q);
}

TEST(at_most_eight_exceptions_are_run_without)
{
    char *text = explain(SETS("cluster.exceptions=[gpu 0 at 99 %, gpu 1 at 98 %, gpu 2 at 97 %, "
                              "gpu 3 at 96 %, gpu 4 at 95 %, gpu 5 at 94 %, gpu 6 at 93 %, "
                              "gpu 7 at 92 %, gpu 8 at 91 %, gpu 9 at 90 %]"));
    (void)line_of(text, "  gpu 7 at 92 %  ");
    ck_assert_ptr_null(strstr(text, "gpu 8 at 91 %"));
    (void)line_of(text, "  the first 8 of 10 exceptions are listed");
    ty_text_free(text);
}

#define EXPERTS                                                                                    \
    "model.experts=16", "model.experts_per_token=2", "model.expert_ffn=2048", "layout.expert=4",   \
        "layout.sequence_parallel=true", "framework.preset=megatron-lm",                           \
        "framework.layer_floor=0 s"

/* Against the same model with balanced routing; the rank with most rows is named. */
TEST(uneven_routing_costs_what_a_balanced_one_saves)
{
    const double with = step_of(SETS(EXPERTS, "run.routing=zipf:1"));
    const double without = step_of(SETS(EXPERTS));
    char *text = explain(SETS(EXPERTS, "run.routing=zipf:1"));
    const char *line = line_of(text, "  routing zipf:1  ");
    ck_assert_double_gt(with, 1.02 * without);
    ck_assert_double_eq_tol(percent(line), 100 * (with - without) / with, 0.006);
    ck_assert_ptr_nonnull(strstr(line, "longest in layer "));
    ck_assert_ptr_nonnull(strstr(line, ", expert "));
    ty_text_free(text);
}

TEST(where_all_are_alike_nobody_is_named)
{
    char *text = explain(SETS("run.seed=1"));
    ck_assert_ptr_null(strstr(text, "stragglers:"));
    ty_text_free(text);
}

TY_SUITE("culprits")
