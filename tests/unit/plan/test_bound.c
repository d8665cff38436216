/* test_bound.c - no simulation is faster than its bound, nor near the best one much slower. */
#include "sim/plan/bound.h"

#include <stdlib.h>

#include "sim/plan/verdict.h"
#include "sim/run/run.h"
#include "tests/unit/plan_case.h"

#define POINTS 3000u /* of each space, a thirtieth of them unless all is tested */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Bound over simulated step; 0: it does not fit, and `fitting` was asked for. */
static double ratio_of(const struct plan_case *row, struct plan_made *m,
                       struct ty_plan_costs *costs, const struct ty_plan_point *point, bool fitting)
{
    struct ty_plan_verdict verdict;
    struct ty_config config;
    struct ty_run *run = NULL;
    double bound, ratio = 0;
    char words[160];
    (void)plan_words(point, words);
    ck_assert_msg(ty_plan_apply(&m->space, point, &config, &m->err) == 0, "%s", m->err.text);
    ck_assert(ty_plan_verdict(costs, &config.layout, &config.schedule, &verdict, &m->err) == 0);
    if (verdict.fits || !fitting) {
        ck_assert(ty_plan_bound(costs, &config.layout, &config.schedule, &bound, &m->err) == 0);
        ck_assert_msg(ty_run_plan(&run, &config, NULL, &m->err) == 0 &&
                          ty_run_execute_folded(run, &m->err) == 0,
                      "%s: %s: %s", row->name, words, m->err.text);
        ck_assert_msg(ty_plan_check(costs, run, &m->err) == 0, "%s: %s: %s", row->name, words,
                      m->err.text);
        ratio = bound * config.run.steps / ty_s_from_ps(run->timeline.makespan);
        ty_run_free(run);
    }
    ty_config_drop(&config);
    return ratio;
}

/* Ratios of the points of a space, ascending: how many. */
static uint32_t ratios_of(const struct plan_case *row, bool fitting, uint32_t n, double *ratio)
{
    struct plan_made m;
    struct ty_plan_costs *costs;
    uint32_t known = 0;
    plan_make(&m, row);
    ck_assert(ty_plan_costs_new(&costs, m.base, &m.err) == 0);
    for (uint32_t k = 0; k < n; k++) {
        ratio[known] = ratio_of(row, &m, costs, plan_point(&m, k), fitting);
        known += ratio[known] > 0;
    }
    ty_plan_costs_free(costs);
    plan_drop(&m);
    qsort(ratio, known, sizeof(*ratio), ascending);
    if (known > 0) {
        printf("# %s: %u layouts, bound over simulated %.4f, median %.4f, to %.4f\n", row->name,
               (unsigned)known, ratio[0], ratio[known / 2], ratio[known - 1]);
    }
    return known;
}

TEST(no_simulation_is_faster_than_its_bound)
{
    for (size_t i = 0; i < TY_COUNT(plan_cases); i++) {
        const uint32_t n = suite_part(POINTS, 30);
        double ratio[POINTS + 1];
        ck_assert_uint_eq(ratios_of(&plan_cases[i], false, n, ratio), n);
    }
}

static const struct plan_case grids[] = {
    {"13B on 64 GPUs",
     "cluster: {preset: dgx-a100-80g, nodes: 8}\n"
     "model: {layers: 40, heads: 40, hidden: 5120, sequence: 2048, vocabulary: 51200}\n"
     "layout: {global_batch: 2048}\nframework: {zero_in_pipeline: 1}\n",
     {"layout.order=[tensor, context, data, pipeline]"}},
    {"65B on 256 GPUs",
     "cluster: {preset: dgx-a100-80g, nodes: 32}\nmodel: {preset: llama-65b}\n"
     "layout: {global_batch: 2048}\nframework: {zero_in_pipeline: 1}\n",
     {"layout.order=[tensor, context, data, pipeline]"}},
};

TEST(bounds_of_a_grid_lie_close_below_its_simulations)
{
    for (size_t i = 0; i < TY_COUNT(grids); i++) {
        double ratio[121];
        const uint32_t n = ratios_of(&grids[i], true, 120, ratio);
        ck_assert_uint_gt(n, 20);
        ck_assert_msg(ratio[n / 2] >= 0.95, "median %.4f", ratio[n / 2]);
    }
}

/* Passes of a slot that run one after the other last as long as others: bounds of bidirectional
 * schedules that leave collectives out, 0.3 of the simulation, rule out next to nothing. */
TEST(slots_count_their_collectives_unless_passes_are_woven)
{
    static const struct plan_case row = {
        "slots",
        "cluster: {preset: dgx-a100-80g, nodes: 32}\nmodel: {preset: llama-65b}\n"
        "layout: {global_batch: 2048, tensor: 16, micro_batch: 1, sequence_parallel: true}\n",
        {"schedule.name=dualpipe,dualpipev", "layout.pipeline=2,4", "layout.zero=0,1"}};
    double ratio[8];
    const uint32_t n = ratios_of(&row, true, 8, ratio);
    ck_assert_uint_gt(n, 2);
    ck_assert_msg(ratio[0] >= 0.9, "%.4f", ratio[0]);
}

/* Eight tensor ranks of a node have as many data groups, each with another GPU of every node. */
TEST(reductions_count_whichever_gpus_of_a_node_they_are_between)
{
    static const struct plan_case row = {
        "ZeRO-2 in a pipeline",
        "cluster: {preset: dgx-a100-80g, nodes: 32}\nmodel: {preset: llama-65b}\n"
        "framework: {preset: megatron-lm}\n"
        "layout: {global_batch: 2048, tensor: 8, pipeline: 4, micro_batch: 1, zero: 2,\n"
        "  recompute: none, sequence_parallel: true, order: [tensor, context, data, pipeline]}\n"
        "schedule: {name: 1f1b}\n",
        {NULL}};
    double ratio[1];
    ck_assert_uint_eq(ratios_of(&row, true, 1, ratio), 1);
    ck_assert_msg(ratio[0] >= 0.95, "%.4f", ratio[0]);
}

/* Of several steps each is bounded, and so is their mean. */
TEST(a_bound_holds_for_several_steps)
{
    static const struct plan_case steps[] = {
        {"three steps",
         PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 16}\nrun: {steps: 3}\n",
         {PLAN_FLUSHING}},
        {"three steps, nobody waits for the norm",
         PLAN_TWO PLAN_MODEL
         "}\nlayout: {global_batch: 16}\nrun: {steps: 3}\nschedule: {barrier: false}\n",
         {"schedule.name=gpipe,1f1b,interleaved"}},
        {"one step, nobody waits for the norm",
         PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 16}\nschedule: {barrier: false}\n",
         {PLAN_FLUSHING}},
        {"overlapped slots that cost less",
         PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 16}\nschedule: {overlap_cost: 80 %}\n",
         {"schedule.name=dualpipe,dualpipev"}},
        {"packed documents",
         PLAN_TWO PLAN_MODEL
         "}\nlayout: {global_batch: 16}\nrun: {lengths: \"lognormal:500:1.5\"}\n",
         {"schedule.name=gpipe,1f1b,interleaved,zb-1p", "layout.context=1"}},
        {"links as estimated",
         PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 16}\nrun: {contention: false}\n",
         {NULL}},
    };
    for (size_t i = 0; i < TY_COUNT(steps); i++) {
        const uint32_t n = suite_part(POINTS, 30);
        double ratio[POINTS + 1];
        ck_assert_uint_eq(ratios_of(&steps[i], false, n, ratio), n);
    }
}

/* What is drawn can be faster than its mean, and without a flush steps overlap. */
TEST(where_nothing_is_known_there_is_no_bound)
{
    static const struct plan_case rows[] = {
        {"jitter",
         PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 16}\nrun: {jitter: 0.1}\n",
         {NULL}},
        {"spread",
         PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 16}\nrun: {gpu_spread: 0.1}\n",
         {NULL}},
        {"messages",
         PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 16}\nrun: {detail: steps}\n",
         {NULL}},
        {"no flush",
         PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 16}\n",
         {"schedule.name=pipedream,pipedream-2bw", "layout.pipeline=2"}},
        {"uneven routing",
         PLAN_H100 PLAN_MOE "}\nlayout: {global_batch: 32}\nrun: {routing: dirichlet:0.5}\n",
         {"layout.tensor=1", "layout.expert=4"}},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        double ratio[8];
        ck_assert_uint_eq(ratios_of(&rows[i], false, 4, ratio), 0);
    }
}

TY_SUITE("bound")
