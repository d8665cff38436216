/* test_cuts.c - no cut of a layout, whatever it repeats, is faster than the bound of all cuts. */
#include "sim/plan/cuts.h"

#include <math.h>

#include "sim/plan/bound.h"
#include "sim/plan/cuts_internal.h"
#include "sim/plan/stages.h"
#include "sim/plan/verdict.h"
#include "sim/run/bill.h"
#include "sim/run/run.h"
#include "tests/unit/plan_case.h"

#define LAYERS_MAX 12u
#define STAGES_MAX 8u

/* All cuts of a point, and all counts of layers that run again in one mode. */
struct every {
    struct plan_made *m;
    const struct ty_plan_point *point;
    struct ty_plan_costs *costs;
    uint32_t mode; /* TY_RECOMPUTE_NONE: none runs again */
    uint32_t layers[STAGES_MAX];
    struct ty_counts counts[STAGES_MAX];
    uint32_t n_stages, n_layers;
    uint32_t simulate; /* one of so many */
    uint32_t n_fit;
    double bound, least_bound, least_step;
};

static void look_at(struct every *e)
{
    const struct ty_plan_stages stages = {.recompute = TY_RECOMPUTE_NONE,
                                          .stage_layers = {e->n_stages, e->layers},
                                          .recompute_layers = {e->n_stages, e->counts}};
    struct plan_made *m = e->m;
    struct ty_plan_point point = *e->point;
    struct ty_plan_verdict verdict;
    struct ty_config config;
    double bound;
    point.recompute = TY_RECOMPUTE_NONE;
    ck_assert_int_eq(ty_plan_apply(&m->space, &point, &config, &m->err), 0);
    ck_assert_msg(ty_plan_stages_apply(&stages, &config, &m->err) == 0, "%s", m->err.text);
    ck_assert_int_eq(ty_plan_verdict(e->costs, &config.layout, &config.schedule, &verdict, &m->err),
                     0);
    if (verdict.fits) {
        ck_assert_int_eq(ty_plan_bound(e->costs, &config.layout, &config.schedule, &bound, &m->err),
                         0);
        e->least_bound = fmin(e->least_bound, bound);
        if (e->n_fit % e->simulate == 0 || bound < e->bound * 1.02) {
            struct ty_run *run = NULL;
            ck_assert_msg(ty_run_plan(&run, &config, NULL, &m->err) == 0 &&
                              ty_run_execute_folded(run, &m->err) == 0,
                          "%s", m->err.text);
            e->least_step =
                fmin(e->least_step, ty_s_from_ps(run->timeline.makespan) / config.run.steps);
            ty_run_free(run);
        }
        e->n_fit++;
    }
    ty_config_drop(&config);
}

static void count(struct every *e, uint32_t stage)
{
    if (stage == e->n_stages) {
        look_at(e);
        return;
    }
    for (uint32_t n = 0; n <= (e->mode == TY_RECOMPUTE_NONE ? 0 : e->layers[stage]); n++) {
        e->counts[stage].n = 1;
        e->counts[stage].item[0].set = n > 0 ? e->mode : TY_COUNTS_PLAIN;
        e->counts[stage].item[0].n = n;
        count(e, stage + 1);
    }
}

static void cut(struct every *e, uint32_t stage, uint32_t left)
{
    const bool last = stage + 1 == e->n_stages;
    const uint32_t least = stage > 0 && !last;
    for (uint32_t n = last ? left : least; n <= left; n++) {
        e->layers[stage] = n;
        if (last) {
            count(e, 0);
        } else {
            cut(e, stage + 1, left - n);
        }
    }
}

/* Of other schedules the work of all ranks is bounded. */
static bool is_chain(const struct ty_plan_point *point)
{
    const struct ty_sched *sched = ty_schedules[point->schedule];
    return point->chunks <= 1 && !sched->sliced && ty_sched_directions(sched->placement) == 1;
}

/* What test_bound demands of each, and not far below. */
static void demand(const struct every *e)
{
    char words[160];
    (void)plan_words(e->point, words);
    printf(
        "# %s: %u cuts fit, bound of all %.6g, over that of the best %.4f, over simulated %.4f\n",
        words, e->n_fit, e->bound, e->n_fit > 0 ? e->bound / e->least_bound : 0,
        e->n_fit > 0 ? e->bound / e->least_step : 0);
    ck_assert_msg(e->bound <= e->least_step, "%s: %.9g, simulated %.9g", words, e->bound,
                  e->least_step);
    if (is_chain(e->point) && e->n_fit > 0) {
        ck_assert_msg(e->bound <= e->least_bound && e->bound > 0.8 * e->least_bound,
                      "%s: %.9g, of one %.9g", words, e->bound, e->least_bound);
    }
}

#define NODE(keys) "cluster: {preset: dgx-a100-80g, nodes: 1" keys "}\n"
#define LLAMA      "model: {preset: llama-7b, sequence: 2048, "
#define SPARSE     "model: {preset: deepseek-v2-lite, sequence: 2048, "
#define ORDER      "layout.order=[tensor, context, data, pipeline]"
#define FEW        "layout.sequence_parallel=false", ORDER

static const struct cut_case {
    const char *text, *over[4];
    uint32_t mode;
} rows[] = {
    {NODE("") LLAMA "layers: 8}\nlayout: {tensor: 2, global_batch: 16, micro_batch: 1}\n",
     {"layout.pipeline=1,2,4", "schedule.name=gpipe,1f1b,eager-1f1b,bfs,zb-1p,zb-2p", FEW},
     TY_RECOMPUTE_NONE},
    {NODE("") LLAMA "layers: 9, tied: true, vocabulary: 150000}\n"
                    "layout: {tensor: 2, global_batch: 16, micro_batch: 1}\n",
     {"layout.pipeline=3,4", "schedule.name=gpipe,1f1b,zb-1p", FEW},
     TY_RECOMPUTE_NONE},
    {NODE(", reserve: 78 GB") LLAMA "layers: 6}\n"
                                    "layout: {tensor: 2, global_batch: 16, micro_batch: 1}\n",
     {"layout.pipeline=1,2,4", "schedule.name=gpipe,1f1b,zb-1p", FEW},
     TY_RECOMPUTE_FULL},
    {NODE(", reserve: 77.5 GB") LLAMA "layers: 6}\n"
                                      "layout: {tensor: 4, global_batch: 8, micro_batch: 2}\n",
     {"layout.pipeline=2", "schedule.name=gpipe,1f1b", FEW},
     TY_RECOMPUTE_FFN},
    {NODE(", reserve: 60 GB") SPARSE "layers: 6, dense_layers: 2}\n"
                                     "layout: {expert: 2, global_batch: 16, micro_batch: 1}\n",
     {"layout.pipeline=2,4", "schedule.name=gpipe,1f1b,zb-1p", FEW},
     TY_RECOMPUTE_FULL},
    {"cluster: {preset: dgx1-v100, nodes: 2, nic_bandwidth: 3 GB/s, nics_per_node: 1, reserve: 25 "
     "GB}\n" LLAMA "layers: 5, dtype: fp16}\n"
     "layout: {tensor: 4, global_batch: 8, micro_batch: 1, pipeline: 2, sequence_parallel: true}\n",
     {"schedule.name=1f1b,interleaved,zb-v,seq1f1b,dualpipe", "schedule.chunks=1,2",
      "layout.zero=0,2",
      "layout.order=[tensor, context, data, pipeline],[tensor, context, pipeline, data]"},
     TY_RECOMPUTE_FULL},
};

/* ---- the program beside all cuts ---- */

/* A chain of layers with random times, and stages with random chains through them. */
struct drawn {
    struct ty_cut cut;
    struct ty_cut_stage stage[STAGES_MAX];
    double time[TY_PLAN_PHASES][LAYERS_MAX + 1], up[LAYERS_MAX + 1];
    uint32_t seed, n;
};

static uint32_t draw(struct drawn *d, uint32_t below)
{
    return (uint32_t)(ty_hash4(d->seed, d->n++, 3, 5) % below);
}

static void draw_cut(struct drawn *d, uint32_t seed)
{
    *d = (struct drawn){.seed = seed};
    struct ty_cut *c = &d->cut;
    c->n_layers = 1 + draw(d, LAYERS_MAX);
    c->n_stages = 2 + draw(d, 3);
    c->n_stages = c->n_stages > c->n_layers + 2 ? c->n_layers + 2 : c->n_stages;
    c->stage = d->stage;
    c->up = d->up;
    for (uint32_t phase = 0; phase < TY_PLAN_PHASES; phase++) {
        c->time[phase] = d->time[phase];
    }
    for (uint32_t i = 0; i < c->n_layers; i++) {
        for (uint32_t phase = 0; phase < TY_PLAN_PHASES; phase++) {
            d->time[phase][i + 1] = d->time[phase][i] + 1 + draw(d, 20);
        }
        d->up[i + 1] = d->up[i] + 1 + draw(d, 20);
    }
    for (uint32_t s = 0; s < c->n_stages; s++) {
        struct ty_cut_stage *stage = &d->stage[s];
        stage->least = s > 0 && s + 1 < c->n_stages;
        stage->down = draw(d, 9);
        stage->up = draw(d, 9);
        stage->after = draw(d, 9);
        stage->after_none = draw(d, 9);
        stage->n_chains = 1 + draw(d, 4);
        for (uint32_t phase = 0; phase < TY_PLAN_PHASES; phase++) {
            stage->own[phase] = draw(d, 9);
        }
        for (uint32_t k = 0; k < stage->n_chains; k++) {
            struct ty_cut_chain *chain = &stage->chain[k];
            *chain = (struct ty_cut_chain){.down = draw(d, 3),
                                           .up = draw(d, 2),
                                           .behind = draw(d, 3),
                                           .leaves = draw(d, 2) == 0};
            for (uint32_t phase = 0; phase < TY_PLAN_PHASES; phase++) {
                chain->n[phase] = draw(d, 8);
            }
        }
    }
}

/* The longest chain of a cut, written out: end[s] is the first layer behind stage s. */
static double longest_of(const struct ty_cut *c, const uint32_t *end)
{
    double most = 0;
    for (uint32_t s = 0; s < c->n_stages; s++) {
        const struct ty_cut_stage *stage = &c->stage[s];
        for (uint32_t k = 0; k < stage->n_chains; k++) {
            const struct ty_cut_chain *chain = &stage->chain[k];
            double sum = chain->leaves ? stage->after : stage->after_none;
            for (uint32_t t = 0; t < c->n_stages; t++) {
                const uint32_t from = t > 0 ? end[t - 1] : 0;
                const double *f = c->time[TY_PHASE_FORWARD];
                const double down = c->stage[t].down + f[end[t]] - f[from];
                const double up = c->stage[t].up + c->up[end[t]] - c->up[from];
                sum += t < s    ? down + (chain->leaves ? up : 0)
                       : t == s ? chain->down * down + chain->up * up
                                : chain->behind * (down + up);
            }
            for (uint32_t phase = 0; phase < TY_PLAN_PHASES; phase++) {
                const double *t = c->time[phase];
                sum +=
                    chain->n[phase] * (stage->own[phase] + t[end[s]] - t[s > 0 ? end[s - 1] : 0]);
            }
            most = fmax(most, sum);
        }
    }
    return most;
}

static double least_of_all(const struct ty_cut *c, uint32_t s, uint32_t *end)
{
    const uint32_t from = (s > 0 ? end[s - 1] : 0) + c->stage[s].least;
    double least = HUGE_VAL;
    if (s + 1 == c->n_stages) {
        end[s] = c->n_layers;
        return longest_of(c, end);
    }
    for (end[s] = from; end[s] <= c->n_layers; end[s]++) {
        least = fmin(least, least_of_all(c, s + 1, end));
    }
    return least;
}

START_TEST(the_program_is_exact)
{
    for (uint32_t seed = 0; seed < 400; seed++) {
        struct drawn d;
        struct ty_arena arena = {.head = NULL};
        uint32_t end[STAGES_MAX];
        double ps, limited;
        draw_cut(&d, seed);
        const double least = least_of_all(&d.cut, 0, end);
        ck_assert_int_eq(ty_cut_least(&d.cut, HUGE_VAL, &ps, &arena), 0);
        ck_assert_double_le(ps, least);
        ck_assert_double_eq_tol(ps, least, 2e-6 * least);
        ck_assert_int_eq(ty_cut_least(&d.cut, 0.9 * least, &limited, &arena), 0);
        ck_assert_double_eq(limited, 0.9 * least);
        ty_arena_release(&arena);
    }
}
END_TEST

/* ---- the bound beside simulations ---- */

START_TEST(no_cut_is_faster_than_the_bound_of_all)
{
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const struct plan_case row = {
            "cuts",
            rows[i].text,
            {rows[i].over[0], rows[i].over[1], rows[i].over[2], rows[i].over[3]}};
        struct plan_made m;
        struct ty_plan_costs *costs;
        plan_make(&m, &row);
        ck_assert(ty_plan_costs_new(&costs, m.base, &m.err) == 0);
        for (uint32_t k = 0; k < m.space.n_points; k++) {
            const struct ty_plan_point *point = &m.space.point[k];
            const struct ty_plan_modes modes = {{TY_RECOMPUTE_NONE, rows[i].mode},
                                                rows[i].mode == TY_RECOMPUTE_NONE ? 1 : 2};
            struct every e = {.m = &m,
                              .point = point,
                              .costs = costs,
                              .mode = rows[i].mode,
                              .n_stages = point->pipeline * (point->chunks > 1 ? point->chunks : 1),
                              .simulate = 5,
                              .least_bound = HUGE_VAL,
                              .least_step = HUGE_VAL};
            double wider;
            if (point->recompute != TY_RECOMPUTE_NONE || e.n_stages > STAGES_MAX ||
                point->chunks > 2) {
                continue;
            }
            ck_assert_msg(
                ty_plan_cuts_bound(costs, &m.space, point, &modes, HUGE_VAL, &e.bound, &m.err) == 0,
                "%s", m.err.text);
            const struct ty_plan_modes more = {{TY_RECOMPUTE_NONE, TY_RECOMPUTE_NORM, rows[i].mode},
                                               3};
            ck_assert_int_eq(
                ty_plan_cuts_bound(costs, &m.space, point, &more, HUGE_VAL, &wider, &m.err), 0);
            ck_assert_double_le(wider, e.bound * (1 + 1e-6)); /* what may be repeated is more */
            cut(&e, 0, m.base->arch.layers);
            demand(&e);
        }
        ty_plan_costs_free(costs);
        plan_drop(&m);
    }
}
END_TEST

/* Every point of a space is one of its own cuts: spaces of all kinds. */
START_TEST(no_layout_is_faster_than_the_bound_of_its_cuts)
{
    for (size_t i = 0; i < TY_COUNT(plan_cases); i++) {
        struct plan_made m;
        struct ty_plan_costs *costs;
        plan_make(&m, &plan_cases[i]);
        ck_assert(ty_plan_costs_new(&costs, m.base, &m.err) == 0);
        for (uint32_t k = 0; k < suite_part(1000, 30) && m.base->given.layout.stage_layers.n == 0 &&
                             m.base->given.layout.recompute_layers.n == 0;
             k++) {
            const struct ty_plan_point *point = plan_point(&m, k);
            const struct ty_plan_modes modes = {{point->recompute}, 1};
            struct ty_plan_verdict verdict;
            struct ty_config config;
            struct ty_run *run = NULL;
            double bound;
            char words[160];
            ck_assert_int_eq(ty_plan_apply(&m.space, point, &config, &m.err), 0);
            ck_assert_int_eq(
                ty_plan_verdict(costs, &config.layout, &config.schedule, &verdict, &m.err), 0);
            ck_assert_int_eq(
                ty_plan_cuts_bound(costs, &m.space, point, &modes, HUGE_VAL, &bound, &m.err), 0);
            if (verdict.fits) {
                ck_assert_msg(ty_run_plan(&run, &config, NULL, &m.err) == 0 &&
                                  ty_run_execute_folded(run, &m.err) == 0,
                              "%s", m.err.text);
                ck_assert_msg(bound <= ty_s_from_ps(run->timeline.makespan) / config.run.steps,
                              "%s: %s: %.9g", plan_cases[i].name, plan_words(point, words), bound);
                ty_run_free(run);
            }
            ty_config_drop(&config);
        }
        ty_plan_costs_free(costs);
        plan_drop(&m);
    }
}
END_TEST

TY_SUITE("cuts", no_layout_is_faster_than_the_bound_of_its_cuts, the_program_is_exact,
         no_cut_is_faster_than_the_bound_of_all)
