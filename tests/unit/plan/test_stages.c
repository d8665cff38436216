/* test_stages.c - unequal stages that a plan proposes, beside all there are. */
#include "sim/plan/stages.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/run/bill.h"
#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char small[] = "cluster: {preset: dgx-a100-80g, nodes: 1}\n"
                            "model: {preset: llama-7b, sequence: 4096, layers: 6}\n"
                            "layout: {tensor: 4, pipeline: 2, global_batch: 8}\n";

static const char sparse[] = "cluster: {preset: dgx-h100, nodes: 1}\n"
                             "model: {preset: deepseek-v2-lite, layers: 9, sequence: 4096}\n"
                             "layout: {pipeline: 4, expert: 2, global_batch: 64}\n";

static const uint32_t modes[] = {TY_RECOMPUTE_NONE, TY_RECOMPUTE_CORE, TY_RECOMPUTE_FULL};

struct proposed {
    struct quick_run even;
    struct ty_plan_stages found;
    struct ty_arena arena;
};

static struct proposed propose(const char *yaml, const char *const *sets, const uint32_t *mode,
                               uint32_t n_modes)
{
    struct proposed p = {.even = quick_run(yaml, NULL, sets)};
    struct ty_err err;
    ty_err_init(&err);
    ck_assert_msg(ty_plan_stages(p.even.config, 0, mode, n_modes, NULL, &p.found, &p.arena, &err) ==
                      0,
                  "%s", err.text);
    return p;
}

static void release(struct proposed *p)
{
    quick_run_free(&p->even);
    ty_arena_release(&p->arena);
}

/* What was proposed, simulated from its keys, is what was said of it. */
static void demand_true(const struct proposed *p, const char *yaml, const char *const *sets)
{
    struct quick_run q = quick_run(yaml, NULL, sets);
    struct ty_config config = *q.config;
    struct ty_run *run;
    struct ty_bill bill;
    ck_assert(p->found.found);
    ck_assert_int_eq(ty_plan_stages_apply(&p->found, &config, NULL), 0);
    ck_assert_int_eq(ty_run_new(&run, &config, NULL), 0);
    ck_assert_int_eq(ty_run_execute(run, NULL, NULL), 0);
    ty_run_fullest(run, &bill);
    struct ty_figures figures;
    ty_run_figures(run, &figures);
    ck_assert_double_eq(figures.step_s, p->found.step_s);
    ck_assert_double_eq(bill.total_B, p->found.peak_B);
    ck_assert_double_le(bill.total_B, bill.capacity_B);
    ty_run_free(run);
    quick_run_free(&q);
}

/* A large vocabulary's logits: the last stage gets fewer layers. */
TEST(layers_leave_the_stage_with_the_head)
{
    const char *const *sets = SETS("model.vocabulary=200000", "model.layers=16");
    struct proposed p = propose(small, sets, modes, 1);
    demand_true(&p, small, sets);
    ck_assert_uint_eq(p.found.stage_layers.n, 2);
    ck_assert_uint_lt(p.found.stage_layers.item[1], 8);
    ck_assert_double_lt(p.found.step_s, p.even.figures.step_s);
    release(&p);
}

/* Step time of a cut and counts; HUGE_VAL: it does not fit. */
static double step_of(const char *reserve, uint32_t first, uint32_t a, uint32_t b)
{
    char layers[48], again[64];
    struct ty_bill bill;
    (void)snprintf(layers, sizeof(layers), "layout.stage_layers=[%u,%u]", (unsigned)first,
                   6 - (unsigned)first);
    (void)snprintf(again, sizeof(again), "layout.recompute_layers=[full:%u,full:%u]", (unsigned)a,
                   (unsigned)b);
    struct quick_run q = quick_run(small, NULL, SETS(reserve, layers, again));
    ty_run_fullest(q.run, &bill);
    const double step = bill.total_B <= bill.capacity_B ? q.figures.step_s : HUGE_VAL;
    quick_run_free(&q);
    return step;
}

/* Beside every cut into two and every count. */
TEST(no_cut_and_no_count_is_better)
{
    static const char *const reserves[] = {"cluster.reserve=79.5 GB", "cluster.reserve=79.85 GB",
                                           "cluster.reserve=80.45 GB", "cluster.reserve=80.75 GB",
                                           "cluster.reserve=81.5 GB"};
    static const uint32_t two[] = {TY_RECOMPUTE_NONE, TY_RECOMPUTE_FULL};
    uint32_t mixed = 0, none = 0;
    for (size_t i = 0; i < TY_COUNT(reserves); i++) {
        double best = HUGE_VAL;
        for (uint32_t first = 0; first <= 6; first++) {
            for (uint32_t a = 0; a <= first; a++) {
                for (uint32_t b = 0; b <= 6 - first; b++) {
                    best = fmin(best, step_of(reserves[i], first, a, b));
                }
            }
        }
        struct proposed p = propose(small, SETS(reserves[i]), two, 2);
        /* all in one mode, dealt evenly, is no proposal, but what was looked at */
        ck_assert_double_eq(p.found.step_s, best < HUGE_VAL ? best : 0);
        ck_assert_double_le(p.found.peak_B, p.found.capacity_B);
        mixed += p.found.found;
        none += best == HUGE_VAL;
        release(&p);
    }
    ck_assert_uint_ge(mixed, 2);
    ck_assert_uint_eq(none, 1);
}

/* Where neither none nor all layers will do, and with any order of passes. */
TEST(every_schedule_has_proposals)
{
    static const struct {
        const char *yaml, *schedule, *layers, *reserve;
    } rows[] = {
        {small, "schedule.name=interleaved", "model.layers=16", "cluster.reserve=74.5 GB"},
        {small, "schedule.name=zb-v", "model.layers=16", "cluster.reserve=72.8 GB"},
        {small, "schedule.name=zb-1p", "model.layers=16", "cluster.reserve=72.8 GB"},
        {small, "schedule.name=gpipe", "model.layers=16", "cluster.reserve=65 GB"},
        {sparse, "schedule.name=1f1b", "model.layers=9", "cluster.reserve=64 GB"},
        {sparse, "schedule.name=zb-1p", "model.layers=9", "cluster.reserve=60 GB"},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const char *const *sets = SETS(rows[i].schedule, rows[i].layers, rows[i].reserve);
        struct proposed p = propose(rows[i].yaml, sets, modes, 3);
        struct quick_run full = quick_run(
            rows[i].yaml, NULL,
            SETS(rows[i].schedule, rows[i].layers, rows[i].reserve, "layout.recompute=full"));
        struct ty_bill none, all;
        ty_run_fullest(p.even.run, &none);
        ty_run_fullest(full.run, &all);
        demand_true(&p, rows[i].yaml, sets);
        ck_assert_double_gt(none.total_B, none.capacity_B);
        ck_assert(all.total_B > all.capacity_B || p.found.step_s < full.figures.step_s);
        quick_run_free(&full);
        release(&p);
    }
}

/* Not for stages of two directions, nor for unlike layers on several chunks. */
TEST(what_cannot_be_dealt_has_no_proposal)
{
    struct proposed two = propose(small, SETS("schedule.name=dualpipe"), modes, 3);
    struct proposed unlike = propose(sparse, SETS("schedule.name=zb-v"), modes, 3);
    ck_assert(!two.found.found);
    ck_assert(!unlike.found.found);
    release(&two);
    release(&unlike);
}

TY_SUITE("stages")
