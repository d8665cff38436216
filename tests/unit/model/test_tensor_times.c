/* test_tensor_times.c - when operators on a grid of ranks run, and which layouts are one. */
#include <string.h>

#include "model/parallel.h"
#include "sim/core/program/issue.h"
#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Four GPUs, or a node of eight, each stage. */
static const char job[] = "cluster: {preset: dgx-a100-80g, nodes: 2, gpus_per_node: 4}\n"
                          "model: {layers: 4, hidden: 2048, heads: 16, vocabulary: 51200,\n"
                          "  sequence: 512}\n"
                          "layout: {tensor: 4, tensor_scheme: 2d, pipeline: 2, micro_batch: 4,\n"
                          "  global_batch: 16}\n";

static void demand_equal(const char *const *sets, const char *const *others)
{
    struct quick_run a = quick_run(job, NULL, sets), b = quick_run(job, NULL, others);
    const struct ty_timeline *x = &a.run->timeline, *y = &b.run->timeline;
    ck_assert_uint_eq(a.run->lowered.program.n_ops, b.run->lowered.program.n_ops);
    ck_assert_int_eq(x->makespan, y->makespan);
    ck_assert_double_eq(a.figures.step_s, b.figures.step_s);
    quick_run_free(&a);
    quick_run_free(&b);
}

TEST(one_grid_is_2d_and_one_rank_is_1d)
{
    static const char *const more[] = {"layout.summa=gather", "layout.recompute=full",
                                       "schedule.name=zb-1p", "layout.zero=1"};
    static const char *const schemes[] = {"layout.tensor_scheme=2d", "layout.tensor_scheme=2.5d",
                                          "layout.tensor_scheme=3d"};
    for (size_t i = 0; i < TY_COUNT(more); i++) {
        demand_equal(SETS(more[i]), SETS("layout.tensor_scheme=2.5d", more[i]));
        for (size_t k = 0; k < TY_COUNT(schemes); k++) {
            demand_equal(SETS("layout.tensor=1", "layout.tensor_scheme=1d", more[i]),
                         SETS("layout.tensor=1", schemes[k], more[i]));
        }
    }
}

/* Steps of one product on the first rank: from its first block to its last result, the longest of
 * what comes before a step and after it, and one product. */
struct span {
    ty_ps from, to, before, after, product;
    uint32_t n;
};

static struct span span_of(const struct quick_run *q, const char *name, enum ty_phase phase)
{
    const struct ty_program *p = &q->run->lowered.program;
    struct span s = {.n = 0};
    for (struct ty_issue at = ty_issue_of(p, &p->gangs[0]); ty_issue_next(&at);) {
        const struct ty_kind *kind = &p->kinds[at.op->kind];
        const ty_ps start = ty_timeline_starts(&q->run->timeline, at.gang, at.ordinal)[0];
        const ty_ps end = start + kind->dur;
        if (at.pass->phase != phase || at.op->layer != 1) {
            continue;
        }
        if (strcmp(kind->name, name) == 0) {
            s.product = kind->dur;
            s.to = end;
            s.n++;
        } else if (at.op->stream == TY_STREAM_COMPUTE) {
            if (s.n > 0) {
                break;
            }
            s = (struct span){.n = 0};
        } else if (strcmp(kind->name, "broadcast") == 0) {
            s.from = s.before == 0 ? start : s.from;
            s.before = kind->dur > s.before ? kind->dur : s.before;
        } else if (strcmp(kind->name, "reduce") == 0 && s.n > 0) {
            s.after = kind->dur > s.after ? kind->dur : s.after;
            s.to = end;
        }
    }
    return s;
}

static ty_ps larger(ty_ps a, ty_ps b)
{
    return a > b ? a : b;
}

/* A fill, the slowest of a step's parts as often as there are steps, a drain: two buffers hide the
 * others, be they blocks or products. */
TEST(steps_last_as_long_as_the_slowest_of_their_parts)
{
    static const char *const speeds[] = {"cluster.nvlink_bandwidth=20 TB/s",
                                         "cluster.nvlink_bandwidth=300 GB/s",
                                         "cluster.nvlink_bandwidth=10 GB/s"};
    static const struct {
        const char *name;
        enum ty_phase phase;
    } rows[] = {
        {"up", TY_PHASE_FORWARD}, {"up dgrad", TY_PHASE_BACKWARD}, {"up wgrad", TY_PHASE_BACKWARD}};
    for (size_t k = 0; k < TY_COUNT(speeds); k++) {
        struct quick_run q = quick_run(
            "cluster: {preset: dgx-a100-80g, nodes: 1, gpus_per_node: 64, nvlink_latency: 0 us,\n"
            "  nvlink_overlap_slowdown: 0}\n"
            "model: {layers: 2, hidden: 4096, heads: 32, vocabulary: 32000, sequence: 1024}\n"
            "layout: {tensor: 64, tensor_scheme: 2d, micro_batch: 16, global_batch: 16}\n"
            "framework: {preset: ideal}\n"
            "run: {contention: false}\n",
            NULL, SETS(speeds[k]));
        for (size_t i = 0; i < TY_COUNT(rows); i++) {
            const struct span s = span_of(&q, rows[i].name, rows[i].phase);
            const ty_ps slowest = larger(larger(s.before, s.product), s.after);
            const ty_ps all = s.before + s.product + s.after + 7 * slowest;
            ck_assert_uint_eq(s.n, 8);
            ck_assert_msg(s.to - s.from == all,
                          "%s, %s: %lld ps, not %lld + %lld + %lld + 7 x %lld", speeds[k],
                          rows[i].name, (long long)(s.to - s.from), (long long)s.before,
                          (long long)s.product, (long long)s.after, (long long)slowest);
        }
        quick_run_free(&q);
    }
}

/* Gradients of several grids leave the GPU once these have summed them up, with nobody else to
 * reduce them. */
TEST(gradients_leave_when_grids_have_summed_them_up)
{
    struct quick_run q = quick_run(job, NULL,
                                   SETS("layout.tensor_scheme=2.5d", "layout.tensor=8",
                                        "layout.tensor_depth=2", "layout.pipeline=1",
                                        "layout.offload_optimizer=cpu", "framework.preset=ideal"));
    const struct ty_program *p = &q.run->lowered.program;
    ty_ps summed = 0;
    uint32_t n = 0;
    for (struct ty_issue at = ty_issue_of(p, &p->gangs[0]); ty_issue_next(&at);) {
        const ty_ps start = ty_timeline_starts(&q.run->timeline, at.gang, at.ordinal)[0];
        if (at.op->stream == TY_STREAM_DEPTH) {
            summed = start + ty_timeline_dur(&q.run->timeline, at.gang, at.op, at.ordinal, 0);
        } else if (at.op->stream == TY_STREAM_D2H) {
            ck_assert_int_ge(start, summed);
            n++;
        }
    }
    ck_assert_uint_gt(n, 0);
    quick_run_free(&q);
}

/* As in one dimension, whose libraries pad it. */
TEST(a_vocabulary_need_not_divide)
{
    struct quick_run odd = quick_run(job, NULL, SETS("model.vocabulary=50257")),
                     even = quick_run(job, NULL, SETS("model.vocabulary=50258"));
    ck_assert_double_eq_tol(odd.figures.step_s, even.figures.step_s, 1e-3 * even.figures.step_s);
    quick_run_free(&odd);
    quick_run_free(&even);
}

/* Gathers of input and weight beside each other, the product, the scatter: one after the other. */
TEST(a_cube_gathers_multiplies_and_scatters)
{
    struct quick_run q =
        quick_run("cluster: {preset: dgx-a100-80g, nodes: 1, nvlink_overlap_slowdown: 0}\n"
                  "model: {layers: 2, hidden: 4096, heads: 32, vocabulary: 32000, sequence: 1024,\n"
                  "  bias: false}\n"
                  "layout: {tensor: 8, tensor_scheme: 3d, micro_batch: 4, global_batch: 4}\n"
                  "framework: {preset: ideal}\n"
                  "run: {contention: false}\n",
                  NULL, NULL);
    const struct ty_program *p = &q.run->lowered.program;
    ty_ps from = 0, gathered = 0, computed = 0, scattered = 0;
    for (struct ty_issue at = ty_issue_of(p, &p->gangs[0]); ty_issue_next(&at);) {
        const struct ty_kind *kind = &p->kinds[at.op->kind];
        const ty_ps start = ty_timeline_starts(&q.run->timeline, at.gang, at.ordinal)[0];
        const bool up = strcmp(kind->name, "up") == 0;
        if (at.pass->phase != TY_PHASE_FORWARD || at.op->layer != 1 || scattered > 0) {
            continue;
        }
        if (at.op->stream == TY_STREAM_COMPUTE && !up) {
            gathered = 0;
        } else if (up) {
            ck_assert_int_eq(start, from + gathered);
            computed = start + kind->dur;
        } else if (strcmp(kind->name, "all-gather") == 0) {
            from = gathered == 0 ? start : from;
            ck_assert_int_eq(start, from);
            gathered = larger(gathered, kind->dur);
        } else if (computed > 0) {
            ck_assert_str_eq(kind->name, "reduce-scatter");
            ck_assert_int_eq(start, computed);
            scattered = start + kind->dur;
        }
    }
    ck_assert_int_gt(scattered, 0);
    quick_run_free(&q);
}

TEST(both_executors_agree)
{
    static const char *const rows[][4] = {
        {"layout.tensor_scheme=2d", NULL, NULL},
        {"layout.tensor_scheme=2d", "layout.summa=gather", NULL},
        {"layout.tensor_scheme=2d", "layout.recompute=full", NULL},
        {"layout.tensor_scheme=2d", "layout.zero=3", "layout.pipeline=1"},
        {"layout.tensor_scheme=2d", "schedule.name=zb-1p", NULL},
        {"layout.tensor_scheme=3d", "layout.tensor=8", "layout.pipeline=1"},
        {"layout.tensor_scheme=2d", "layout.context=2", "layout.pipeline=1"},
        {"layout.tensor_scheme=2.5d", "layout.tensor_depth=2", "layout.tensor=8",
         "layout.pipeline=1"},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        quick_run_demand_same(job, SETS(rows[i][0], rows[i][1], rows[i][2], rows[i][3]));
    }
}

TY_SUITE("tensor_times")
