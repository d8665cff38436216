/* test_verdict.c - a verdict without a program is that of the bill of a planned run. */
#include "sim/plan/verdict.h"

#include <math.h>

#include "sim/plan/search/screen.h"
#include "sim/run/bill.h"
#include "tests/unit/plan_case.h"

#define POINTS 3000u /* of each space, a thirtieth of them unless all is tested */

/* Rounding only: sums are the same, in another order. */
static void demand_equal(const struct plan_case *row, struct plan_made *m,
                         struct ty_plan_costs *costs, const struct ty_plan_point *point)
{
    struct ty_plan_verdict verdict;
    struct ty_config config;
    struct ty_run *run = NULL;
    struct ty_bill bill;
    char words[160];
    (void)plan_words(point, words);
    ck_assert_msg(ty_plan_apply(&m->space, point, &config, &m->err) == 0, "%s", m->err.text);
    ck_assert_msg(ty_plan_verdict(costs, &config.layout, &config.schedule, &verdict, &m->err) == 0,
                  "%s", m->err.text);
    ck_assert_msg(ty_run_plan(&run, &config, NULL, &m->err) == 0, "%s: %s: %s", row->name, words,
                  m->err.text);
    ty_run_fullest(run, &bill);
    ck_assert_double_eq(verdict.capacity_B, bill.capacity_B);
    if (verdict.whole_bill) {
        ck_assert_msg(verdict.peak_B < bill.total_B + 0.5, "%s: %s: %.17g, at least %.17g",
                      row->name, words, bill.total_B, verdict.peak_B);
    } else {
        ck_assert_msg(fabs(verdict.peak_B - bill.total_B) < 0.5, "%s: %s: %.17g is %.17g",
                      row->name, words, bill.total_B, verdict.peak_B);
        ck_assert_int_eq(verdict.fits, bill.total_B <= bill.capacity_B);
    }
    ty_run_free(run);
    ty_config_drop(&config);
}

TEST(a_verdict_is_that_of_the_bill_to_the_byte)
{
    for (size_t i = 0; i < TY_COUNT(plan_cases); i++) {
        struct plan_made m;
        struct ty_plan_costs *costs;
        plan_make(&m, &plan_cases[i]);
        ck_assert(ty_plan_costs_new(&costs, m.base, &m.err) == 0);
        for (uint32_t k = 0; k < suite_part(POINTS, 30); k++) {
            demand_equal(&plan_cases[i], &m, costs, plan_point(&m, k));
        }
        ty_plan_costs_free(costs);
        plan_drop(&m);
    }
}

TEST(what_a_program_alone_knows_is_asked_of_it)
{
    static const struct plan_case uneven = {
        "uneven routing",
        PLAN_H100 PLAN_MOE "}\nlayout: {global_batch: 32}\nrun: {routing: dirichlet:0.5}\n",
        {"layout.tensor=1", "layout.expert=4"}};
    struct plan_made m;
    struct ty_plan_costs *costs;
    plan_make(&m, &uneven);
    ck_assert(ty_plan_costs_new(&costs, m.base, &m.err) == 0);
    for (uint32_t k = 0; k < 20; k++) {
        struct ty_plan_verdict verdict;
        struct ty_layout layout;
        struct ty_sched_options schedule;
        ck_assert(ty_plan_complete(&m.space, plan_point(&m, k), &layout, &schedule, &m.err) == 0);
        ck_assert(ty_plan_verdict(costs, &layout, &schedule, &verdict, &m.err) == 0);
        ck_assert(verdict.whole_bill);
        demand_equal(&uneven, &m, costs, plan_point(&m, k));
    }
    ty_plan_costs_free(costs);
    plan_drop(&m);
}

/* Pairs whose halves may take turns, and schedules without flush. */
TEST(a_search_bills_what_a_program_alone_knows)
{
    static const struct plan_case rows[] = {
        {"woven pairs of dense stages",
         PLAN_H100 PLAN_MOE "}\nlayout: {global_batch: 32}\n"
                            "framework: {preset: deepseek, expert_overlap: true}\n",
         {"schedule.name=dualpipe,dualpipev", "layout.tensor=1", "layout.expert=2,4"}},
        {"no flush",
         PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 16}\n",
         {"schedule.name=pipedream,pipedream-2bw", "layout.pipeline=2,4"}},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct plan_made m;
        struct ty_plan_tools tools;
        plan_make(&m, &rows[i]);
        ty_plan_tools_init(&tools, m.base);
        struct ty_plan_tool *tool = ty_plan_tools_take(&tools);
        ck_assert_ptr_nonnull(tool);
        for (uint32_t k = 0; k < 60; k++) {
            struct ty_plan_screen screen;
            struct ty_plan_row row;
            const uint32_t point = (uint32_t)(plan_point(&m, k) - m.space.point);
            ck_assert_msg(ty_plan_screen(&m.space, &m.space.point[point], tool, &screen, &m.err) ==
                              0,
                          "%s", m.err.text);
            ck_assert_msg(ty_plan_simulate_with(&m.space, point, tool, NULL, &row, &m.err) == 0,
                          "%s", m.err.text);
            ck_assert_double_eq_tol(screen.peak_B, row.peak_B, 0.5);
            ck_assert_double_le(screen.bound_s, row.step_s);
        }
        ty_plan_tools_give(&tools, tool);
        ty_plan_tools_release(&tools);
        plan_drop(&m);
    }
}

/* 16 bytes a parameter, and a GB of memory beside the GPUs: nothing fits, though all GPUs have
 * room. */
TEST(what_overflows_a_host_does_not_fit)
{
    static const struct plan_case small = {
        "small hosts",
        "cluster: {preset: dgx-a100-80g, nodes: 1, host: 1 GB}\n" PLAN_MODEL
        "}\nlayout: {global_batch: 32, offload: zero3-offload}\n",
        {"layout.zero=3", "layout.pipeline=1"}};
    struct plan_made m;
    struct ty_plan_tools tools;
    plan_make(&m, &small);
    ty_plan_tools_init(&tools, m.base);
    struct ty_plan_tool *tool = ty_plan_tools_take(&tools);
    for (uint32_t k = 0; k < 10; k++) {
        struct ty_plan_screen screen;
        ck_assert(ty_plan_screen(&m.space, plan_point(&m, k), tool, &screen, &m.err) == 0);
        ck_assert(!screen.fits);
        ck_assert_double_gt(screen.peak_B, screen.capacity_B);
        ck_assert_str_eq(screen.away, "cluster.host.memory");
    }
    ty_plan_tools_give(&tools, tool);
    ty_plan_tools_release(&tools);
    plan_drop(&m);
}

TY_SUITE("verdict")
