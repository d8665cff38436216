/* test_slow_ranks.c - a slow GPU slows whoever waits for it: the step follows the maximum, never
 * the mean. Closed forms on small programs, then whole runs. */
#include <string.h>

#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"
#include "tests/unit/tiny_run.h"

#define UNIT      1000000u /* ps: a forward takes one, a backward two */
#define RANKS_MAX 64u
#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})

static ty_ps makespan(struct tiny config, const double *slow)
{
    static struct tiny_run run;
    struct ty_err err = TY_ERR_NONE;
    config.slow_of = slow;
    config.layers = 1;
    ck_assert_msg(tiny_run(&run, &config, &err) == 0, "%s", err.text);
    const ty_ps swept = run.timeline.makespan;
    ck_assert_int_eq(ty_events(&run.timeline, &err), 0);
    ck_assert_uint_eq(run.timeline.makespan, swept);
    tiny_release(&run);
    return swept;
}

/* Ranks are numbered (d p + s) t + i. One of them takes `factor` times as long. */
static const double *one_slow(uint32_t rank, double factor)
{
    static double slow[RANKS_MAX];
    for (uint32_t r = 0; r < RANKS_MAX; r++) {
        slow[r] = r == rank ? factor : 1;
    }
    return slow;
}

/* m micro-batches of 1 + 2 and an optimizer step of 1, which starts when all have met. */
TEST(one_slow_replica_of_n_slows_all_by_its_factor)
{
    for (uint32_t n = 2; n <= 32; n *= 2) {
        const struct tiny c = {
            .p = 1, .t = 1, .d = n, .m = 6, .scale = UNIT, .unit = true, .data = true};
        const ty_ps even = makespan(c, NULL);
        ck_assert_uint_eq(even, (3 * 6 + 1) * UNIT);
        for (uint32_t rank = 0; rank < n; rank += n - 1) {
            ck_assert_uint_eq(makespan(c, one_slow(rank, 1.25)), even * 5 / 4);
        }
    }
}

/* Every operation of a tensor group ends in an all-reduce: computation takes the factor,
 * collectives do not. Per layer and micro-batch 210 + 160 + 90 + 480 forward, 960 + 180 + 400 + 420
 * backward and four collectives of 70 us. */
TEST(a_tensor_group_computes_as_fast_as_its_slowest_rank)
{
    const uint32_t m = 5;
    const ty_ps compute = m * (940 + 1960) * (ty_ps)1000000, comm = m * 4 * 70 * (ty_ps)1000000;
    for (uint32_t t = 2; t <= 8; t *= 2) {
        const struct tiny c = {.p = 1, .t = t, .d = 1, .m = m};
        ck_assert_uint_eq(makespan(c, NULL), compute + comm);
        for (uint32_t rank = 0; rank < t; rank++) {
            ck_assert_uint_eq(makespan(c, one_slow(rank, 1.25)), compute * 5 / 4 + comm);
        }
    }
}

/* (m - 1) max + sum over stages of forward + backward: of GPipe whichever stage is slow, as all
 * micro-batches queue before it; of 1F1B when it is the last, which never waits after its first. */
TEST(a_slow_stage_sets_the_pace_of_the_pipeline)
{
    for (uint32_t p = 2; p <= 6; p++) {
        for (uint32_t m = p; m <= 2 * p; m++) {
            struct tiny c = {.p = p, .t = 1, .d = 1, .m = m, .scale = UNIT, .unit = true};
            /* in quarters of a forward: a stage of 12, a slow one of 15 */
            const ty_ps expected = ((m - 1) * 15 + (p - 1) * 12 + 15) * (ty_ps)UNIT / 4;
            ck_assert_uint_eq(makespan(c, one_slow(p - 1, 1.25)), expected);
            c.gpipe = true;
            for (uint32_t stage = 0; stage < p; stage++) {
                ck_assert_uint_eq(makespan(c, one_slow(stage, 1.25)), expected);
            }
        }
    }
}

/* Two slow ranks cost what the slower costs, when nobody waits for both in turn. */
TEST(slow_ranks_of_different_replicas_do_not_add_up)
{
    const struct tiny c = {.p = 1, .t = 2, .d = 4, .m = 4, .data = true};
    double slow[8] = {1, 1.1, 1, 1, 1, 1.5, 1, 1};
    const ty_ps both = makespan(c, slow);
    ck_assert_uint_eq(both, makespan(c, one_slow(5, 1.5)));
    ck_assert_uint_gt(both, makespan(c, one_slow(1, 1.1)));
}

/* Given factors multiply those that are drawn. */
TEST(a_given_factor_multiplies_the_drawn_spread)
{
    static struct tiny_run run;
    struct tiny c = {.p = 1, .t = 2, .d = 2, .m = 1, .layers = 1, .slow_of = one_slow(2, 1.25)};
    struct ty_err err = TY_ERR_NONE;
    ck_assert_int_eq(tiny_run(&run, &c, &err), 0);
    run.program.jitter.spread = 0.05;
    ck_assert_int_eq(ty_program_seal(&run.program, &run.arena, &err), 0);
    const double *both = run.program.spread_of;
    run.program.slow_of = NULL;
    ck_assert_int_eq(ty_program_seal(&run.program, &run.arena, &err), 0);
    for (uint32_t r = 0; r < 4; r++) {
        ck_assert_double_ne(run.program.spread_of[r], 1);
        ck_assert_double_eq(both[r], run.program.spread_of[r] * (r == 2 ? 1.25 : 1));
    }
    tiny_release(&run);
}

/* Replicas with nothing but computation between the first forward and the optimizer: everybody ends
 * with the slowest draw, which is nowhere near the mean of them. */
TEST(of_drawn_speeds_the_slowest_counts)
{
    static struct tiny_run run;
    const struct tiny c = {
        .p = 1, .t = 1, .d = 32, .m = 6, .layers = 1, .scale = UNIT, .unit = true, .data = true};
    struct ty_err err = TY_ERR_NONE;
    ck_assert_int_eq(tiny_run(&run, &c, &err), 0);
    const ty_ps even = run.timeline.makespan;
    run.program.jitter.spread = 0.05;
    ck_assert_int_eq(ty_program_seal(&run.program, &run.arena, &err), 0);
    double most = 0, mean = 0;
    for (uint32_t r = 0; r < 32; r++) {
        most = run.program.spread_of[r] > most ? run.program.spread_of[r] : most;
        mean += run.program.spread_of[r] / 32;
    }
    ck_assert_double_gt(most, mean + 0.05);
    ty_timeline_release(&run.timeline);
    ck_assert_int_eq(ty_timeline_init(&run.timeline, &run.program, &err), 0);
    ck_assert_int_eq(ty_sweep(&run.timeline, &err), 0);
    /* every duration is rounded to the picosecond */
    ck_assert_double_eq_tol((double)run.timeline.makespan, most * (double)even, 100);
    tiny_release(&run);
}

/* ---- whole runs ---- */

static const char small[] = "cluster: {preset: dgx-a100-80g, nodes: 2}\n"
                            "model: {preset: llama-7b, sequence: 2048}\n"
                            "layout: {global_batch: 32}\n";

static ty_ps step(const char *engine, const char *const *sets)
{
    struct quick_run q = quick_run(small, engine, sets);
    const ty_ps makespan = q.run->timeline.makespan;
    quick_run_free(&q);
    return makespan;
}

/* Without a pipeline everybody waits for the slowest GPU in every collective, so one slow GPU is as
 * bad as all of them, to the picosecond; its place does not matter. */
TEST(one_slow_gpu_is_as_bad_as_all_of_them)
{
    static const char *const layouts[] = {"layout.tensor=1", "layout.tensor=8"};
    for (size_t i = 0; i < TY_COUNT(layouts); i++) {
        const ty_ps even = step(NULL, SETS(layouts[i]));
        const ty_ps all = step(NULL, SETS(layouts[i], "cluster.exceptions=[gpus 0-15 at 80 %]"));
        const ty_ps one = step(NULL, SETS(layouts[i], "cluster.exceptions=[gpu 11 at 80 %]"));
        ck_assert_uint_eq(one, all);
        ck_assert_uint_eq(one,
                          step(NULL, SETS(layouts[i], "cluster.exceptions=[gpu 1.3 at 80 %]")));
        ck_assert_uint_eq(one, step(NULL, SETS(layouts[i], "cluster.exceptions=[gpu 4 at 80 %]")));
        ck_assert_uint_gt(one, even + even / 10);
        ck_assert_uint_le(one, even + even / 4);
    }
}

TEST(both_engines_agree_on_slow_gpus)
{
    static const char *const slow = "cluster.exceptions=[gpu 11 at 80 %, gpus 2-3 at 95 %]";
    const char *const *sets = SETS(slow, "layout.tensor=2", "layout.pipeline=4", "layout.zero=1");
    ck_assert_uint_eq(step("sweep", sets), step("events", sets));
}

TY_SUITE("slow_ranks")
