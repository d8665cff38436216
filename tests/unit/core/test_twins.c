/* test_twins.c - neighbours that cannot differ are executed once, and everything is as if each had
 * been: times, statistics, and what links carry. */
#include <string.h>

#include "sim/core/execute/execute.h"
#include "sim/core/execute/fold.h"
#include "sim/run/links.h"
#include "tests/common/quick_run.h"
#include "tests/common/random_program.h"
#include "tests/unit/model_case.h"

static struct ty_err err;

/* To the picosecond. */
static bool same_times(const struct ty_timeline *a, const struct ty_timeline *b)
{
    const size_t n = a->program->n_tasks * sizeof(*a->start);
    return a->makespan == b->makespan && memcmp(a->start, b->start, n) == 0 &&
           (a->dur == NULL || memcmp(a->dur, b->dur, n) == 0);
}

/* To the bit. */
static void demand_same_stats(const struct ty_timeline *t, uint32_t twins, struct ty_arena *arena,
                              const char *what, size_t i)
{
    struct ty_stats each, one;
    ck_assert_int_eq(ty_stats_compute(&each, t, arena, &err), 0);
    ck_assert_int_eq(ty_stats_compute_twins(&one, t, twins, 1, arena, &err), 0);
    ck_assert_msg(memcmp(each.rank, one.rank, each.n_ranks * sizeof(*each.rank)) == 0, "%s %zu",
                  what, i);
    ck_assert_msg(memcmp(each.layer_waited_s, one.layer_waited_s, each.n_layers * sizeof(double)) ==
                      0,
                  "%s %zu", what, i);
    ck_assert(memcmp(each.bucket_s, one.bucket_s, sizeof(each.bucket_s)) == 0);
    ck_assert(memcmp(&each.flops, &one.flops, sizeof(double)) == 0);
    ck_assert(memcmp(&each.waited_s, &one.waited_s, sizeof(double)) == 0);
}

/* ---- random programs ---- */

/* Pairs get equal durations, and waiting for collectives of tensor groups is told by layer. */
static void make_twins(struct ty_program *p, uint64_t seed, struct ty_arena *arena)
{
    p->jitter = (struct ty_jitter){.seed = seed, .cv = seed % 2 == 0 ? 0.3 : 0, .group = 0};
    p->slow_of = p->spread_of = NULL;
    for (uint32_t k = 0; k < p->n_kinds; k++) {
        struct ty_kind *kind = &p->kinds[k];
        ty_ps *dur = ty_arena_array(arena, ty_ps, p->gangs[0].n_ranks);
        for (uint32_t i = 0; i < p->gangs[0].n_ranks; i++) {
            dur[i] = ty_kind_duration(kind, i - i % 2);
        }
        kind->dur_of = kind->dur_of != NULL ? dur : NULL;
        kind->category = kind->category == TY_CAT_COMM_TENSOR ? TY_CAT_COMM_EXPERT : kind->category;
    }
}

TEST(pairs_of_random_programs_are_executed_once)
{
    typedef int executor(struct ty_timeline *, struct ty_err *);
    static executor *const executors[] = {ty_sweep, ty_events};
    for (uint64_t seed = 1; seed <= 600; seed++) {
        struct ty_arena arena = {.head = NULL};
        struct ty_program p, fold;
        struct ty_timeline all, one, unfolded;
        ck_assert_int_eq(random_program(&p, seed, &arena, &err), 0);
        make_twins(&p, seed, &arena);
        ck_assert_uint_eq(ty_program_twins(&p), 2);
        ck_assert_int_eq(ty_program_fold_twins(&fold, &p, 2, &arena, &err), 0);
        ck_assert_uint_eq(2 * fold.n_ranks, p.n_ranks);
        ck_assert_int_eq(ty_timeline_init(&all, &p, &err), 0);
        ck_assert_int_eq(ty_timeline_init(&one, &fold, &err), 0);
        ck_assert_int_eq(ty_timeline_init(&unfolded, &p, &err), 0);
        ck_assert_int_eq(executors[seed / 2 % 2](&all, &err), 0);
        ck_assert_int_eq(executors[seed / 4 % 2](&one, &err), 0);
        ck_assert_int_eq(ty_timeline_unfold(&unfolded, &one, &err), 0);
        ck_assert_msg(same_times(&all, &unfolded), "seed %lu", (unsigned long)seed);
        demand_same_stats(&all, 2, &arena, "seed", seed);
        ty_timeline_release(&all);
        ty_timeline_release(&one);
        ty_timeline_release(&unfolded);
        ty_arena_release(&arena);
    }
}

TEST(who_may_differ_is_no_twin)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_program p;
    ck_assert_int_eq(random_program(&p, 2, &arena, &err), 0);
    make_twins(&p, 2, &arena);
    ck_assert_uint_eq(ty_program_twins(&p), 2);
    p.jitter.group = TY_NONE; /* a draw each */
    ck_assert_uint_eq(ty_program_twins(&p), 1);
    p.jitter.group = 1; /* with another than the neighbour */
    ck_assert_uint_eq(ty_program_twins(&p), 1);
    p.jitter = (struct ty_jitter){.cv = 0.1, .spread = 0.1, .group = 0};
    ck_assert_uint_eq(ty_program_twins(&p), 1);
    p.jitter.spread = 0;
    ty_ps *dur = ty_arena_array(&arena, ty_ps, p.gangs[0].n_ranks);
    dur[1] = 1;
    p.kinds[0].dur_of = dur;
    ck_assert_uint_eq(ty_program_twins(&p), 1);
    ty_arena_release(&arena);
}

/* ---- runs with shared links ---- */

static const char small[] = "cluster: {preset: dgx-a100-80g, nodes: 4}\n"
                            "model: {preset: llama-7b, sequence: 2048}\n"
                            "layout: {global_batch: 64}\n"
                            "run: {jitter: 3 %}\n";

#define ROW_MAX 6

static const struct {
    const char *sets[ROW_MAX];
    uint32_t twins;
} rows[] = {
    {{"layout.tensor=4", "layout.pipeline=2", "layout.zero=1"}, 4},
    {{"layout.tensor=2", "layout.pipeline=4", "schedule.name=interleaved"}, 2},
    {{"layout.tensor=4", "layout.pipeline=2", "layout.sequence_parallel=true",
      "layout.recompute=full", "run.steps=2"},
     4},
    {{"layout.tensor=2", "layout.context=2", "layout.pipeline=2"}, 2},
    {{"layout.tensor=2", "layout.pipeline=2", "framework.preset=ddp"}, 2},
    /* two GPUs of a tensor group on one card: what they ask of it would be added up otherwise */
    {{"layout.tensor=2", "layout.pipeline=4", "cluster.preset=dgx1-v100", "model.dtype=fp16"}, 1},
    {{"layout.tensor=2", "layout.pipeline=4", "run.gpu_spread=1 %"}, 1},
    {{"layout.tensor=2", "layout.pipeline=4", "cluster.exceptions=[gpu 3 at 90 %]"}, 1},
    {{"layout.tensor=1", "layout.pipeline=4"}, 1},
};

/* What links carried, as a run finds it, and with a look at every member. */
static void demand_same_peaks(struct ty_run *run, size_t i)
{
    const struct ty_link_load *load;
    const uint32_t n = run->lowered.program.n_links;
    struct ty_link_load_peak *fast = calloc(n + 1, sizeof(*fast)),
                             *slow = calloc(n + 1, sizeof(*slow));
    ck_assert_int_eq(ty_run_link_load(run, &load, &err), 0);
    struct ty_link_load each = *load;
    each.twins = 1;
    ck_assert_int_eq(ty_link_load_peaks(load, &run->all, fast, &err), 0);
    ck_assert_int_eq(ty_link_load_peaks(&each, &run->all, slow, &err), 0);
    for (uint32_t l = 0; l < n; l++) {
        ck_assert_msg(memcmp(&fast[l].Bps, &slow[l].Bps, sizeof(double)) == 0 &&
                          fast[l].full == slow[l].full,
                      "row %zu, link %u", i, (unsigned)l);
    }
    free(fast);
    free(slow);
}

TEST(twins_on_shared_links_are_executed_once)
{
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct quick_run q = quick_run(small, NULL, rows[i].sets);
        struct ty_timeline all;
        ck_assert_msg(q.run->n_twins == rows[i].twins, "row %zu: %u twins", i,
                      (unsigned)q.run->n_twins);
        ck_assert_msg(q.run->shared.n_links > 0, "row %zu shares nothing", i);
        ck_assert_int_eq(ty_timeline_init(&all, &q.run->lowered.program, &err), 0);
        ck_assert_int_eq(ty_events_shared(&all, &q.run->shared, &err), 0);
        ck_assert_msg(same_times(&all, &q.run->all), "row %zu", i);
        demand_same_stats(&all, rows[i].twins, &q.run->arena, "row", i);
        demand_same_peaks(q.run, i);
        ty_timeline_release(&all);
        quick_run_free(&q);
    }
}

TY_SUITE("twins")
