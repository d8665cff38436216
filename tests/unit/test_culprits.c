/* test_culprits.c - explain names whom the others wait for: by how much, and by which runs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char small[] = "cluster: {preset: dgx-a100-80g, nodes: 2}\n"
                            "model: {preset: llama-7b, sequence: 2048}\n"
                            "layout: {tensor: 2, pipeline: 2, zero: 1, global_batch: 16}\n";

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
    ck_assert_msg(ty_run_explain(q.run, &text, &err) == 0, "%s", err.text);
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

START_TEST(a_slow_gpu_costs_what_the_step_takes_less_without_it)
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
END_TEST

/* Both are in everybody's way: repairing one gains nothing, repairing both what one costs alone. */
START_TEST(of_two_equally_slow_gpus_neither_costs_anything_alone)
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
END_TEST

START_TEST(spread_and_jitter_are_set_aside_one_by_one)
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
END_TEST

START_TEST(at_most_eight_exceptions_are_run_without)
{
    char *text = explain(SETS("cluster.exceptions=[gpu 0 at 99 %, gpu 1 at 98 %, gpu 2 at 97 %, "
                              "gpu 3 at 96 %, gpu 4 at 95 %, gpu 5 at 94 %, gpu 6 at 93 %, "
                              "gpu 7 at 92 %, gpu 8 at 91 %, gpu 9 at 90 %]"));
    (void)line_of(text, "  gpu 7 at 92 %  ");
    ck_assert_ptr_null(strstr(text, "gpu 8 at 91 %"));
    (void)line_of(text, "  the first 8 of 10 exceptions are listed");
    ty_text_free(text);
}
END_TEST

START_TEST(where_all_are_alike_nobody_is_named)
{
    char *text = explain(SETS("run.seed=1"));
    ck_assert_ptr_null(strstr(text, "whom the others wait for"));
    ty_text_free(text);
}
END_TEST

TY_SUITE("culprits", a_slow_gpu_costs_what_the_step_takes_less_without_it,
         of_two_equally_slow_gpus_neither_costs_anything_alone,
         spread_and_jitter_are_set_aside_one_by_one, at_most_eight_exceptions_are_run_without,
         where_all_are_alike_nobody_is_named)
