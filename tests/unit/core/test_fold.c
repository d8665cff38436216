/* One member for all of a gang: the same makespan, the same figures, and only where it is true. */
#include "sim/core/execute/fold.h"

#include <string.h>

#include "tests/common/quick_run.h"
#include "tests/common/random_program.h"
#include "tests/unit/model_case.h"

static const char small[] = "cluster: {preset: dgx-a100-80g, nodes: 4}\n"
                            "model: {preset: llama-7b, sequence: 2048}\n"
                            "layout: {global_batch: 64}\n";

#define ROW_MAX 6

static const struct {
    const char *sets[ROW_MAX];
    bool folds;
} rows[] = {
    {{"layout.tensor=2", "layout.pipeline=4", "layout.zero=1"}, true},
    {{"layout.tensor=8", "layout.sequence_parallel=true", "layout.recompute=full"}, true},
    {{"layout.pipeline=4", "schedule.name=zb-v", "layout.zero=2"}, true},
    {{"layout.pipeline=4", "schedule.name=dualpipe", "layout.zero=1"}, true},
    {{"layout.zero=3", "layout.shard=8"}, true},
    {{"layout.zero=3", "run.steps=3"}, true},
    {{"layout.tensor=2", "layout.pipeline=2", "framework.preset=ddp"}, true},
    {{"layout.zero=3", "run.jitter=5 %"}, false},
    {{"layout.tensor=2", "run.gpu_spread=1 %"}, false},
    {{"layout.tensor=2", "cluster.exceptions=[gpu 3 at 90 %]"}, false},
    {{"layout.tensor=2", "cluster.exceptions=[gpu 3 at 100 %]"}, true},
    /* three of four nodes' tensor groups of 6 lie across nodes: they take different times */
    {{"cluster.nodes=3", "model.heads=24", "model.hidden=3072", "model.ffn=9216",
      "layout.tensor=6"},
     false},
};

TEST(folded_runs_take_the_same_time)
{
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct quick_run q = quick_run(small, NULL, rows[i].sets);
        const ty_ps whole = q.run->timeline.makespan;
        const struct ty_figures f = q.figures;
        struct ty_figures g;
        struct ty_err err = {0};
        ck_assert_msg(ty_program_folds(&q.run->lowered.program) == rows[i].folds, "row %zu", i);
        ck_assert_int_eq(ty_run_execute_folded(q.run, &err), 0);
        ty_run_figures(q.run, &g);
        ck_assert_msg(q.run->timeline.makespan == whole, "row %zu", i);
        ck_assert_double_eq(f.step_s, g.step_s);
        ck_assert_double_eq(f.mfu, g.mfu);
        ck_assert_double_eq_tol(f.hfu, g.hfu, 1e-12);
        ck_assert_double_eq_tol(f.bubble_s, g.bubble_s, 1e-12 * f.step_s);
        for (uint32_t b = 0; b < TY_N_BUCKETS; b++) {
            ck_assert_double_eq_tol(f.bucket_s[b], g.bucket_s[b], 1e-12 * f.step_s);
        }
        const bool smaller = q.run->timeline.program->n_tasks < q.run->lowered.program.n_tasks;
        ck_assert_msg(smaller == rows[i].folds, "row %zu", i);
        quick_run_free(&q);
    }
}

/* To the bit. */
static bool same_stats(const struct ty_stats *a, const struct ty_stats *b, uint32_t n_gangs)
{
    return a->makespan == b->makespan && a->n_ranks == b->n_ranks && a->n_layers == b->n_layers &&
           memcmp(a->rank, b->rank, a->n_ranks * sizeof(*a->rank)) == 0 &&
           memcmp(a->memory, b->memory, n_gangs * sizeof(*a->memory)) == 0 &&
           memcmp(a->bucket_s, b->bucket_s, sizeof(a->bucket_s)) == 0 &&
           memcmp(a->layer_waited_s, b->layer_waited_s, a->n_layers * sizeof(double)) == 0 &&
           memcmp(&a->bubble_s, &b->bubble_s, sizeof(double)) == 0 &&
           memcmp(&a->flops, &b->flops, sizeof(double)) == 0 &&
           memcmp(&a->waited_s, &b->waited_s, sizeof(double)) == 0;
}

/* The statistics of one member, looked for in the timeline of all and in that of the fold, are
 * those of all. */
static void demand_alike(const struct ty_timeline *all, const struct ty_timeline *folded,
                         struct ty_arena *arena, const char *what, size_t i)
{
    const uint32_t n_gangs = all->program->n_gangs;
    struct ty_stats each, one, fold;
    struct ty_err err = {0};
    ck_assert_int_eq(ty_stats_compute(&each, all, arena, &err), 0);
    ck_assert_int_eq(ty_stats_compute_alike(&one, all->program, all, arena, &err), 0);
    ck_assert_int_eq(ty_stats_compute_alike(&fold, all->program, folded, arena, &err), 0);
    ck_assert_msg(same_stats(&each, &one, n_gangs), "%s %zu", what, i);
    ck_assert_msg(same_stats(&each, &fold, n_gangs), "%s %zu, folded", what, i);
}

TEST(one_member_tells_the_statistics_of_all)
{
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct ty_err err = {0};
        if (!rows[i].folds) {
            continue;
        }
        struct quick_run q = quick_run(small, NULL, rows[i].sets);
        const struct ty_timeline all = q.run->all;
        ck_assert(q.run->lockstep);
        q.run->all = (struct ty_timeline){.program = NULL};
        ck_assert_int_eq(ty_run_execute_folded(q.run, &err), 0);
        demand_alike(&all, &q.run->all, &q.run->arena, "row", i);
        ty_timeline_release(&q.run->all);
        q.run->all = all;
        quick_run_free(&q);
    }
}

/* Of random programs without what tells members apart, in which waiting for collectives of the
 * tensor stream is told by layer. Returns what was waited. */
static double demand_random(uint64_t seed)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_err err = {0};
    struct ty_program p, fold;
    struct ty_timeline all, folded;
    ck_assert_int_eq(random_program(&p, seed, &arena, &err), 0);
    p.jitter = (struct ty_jitter){.cv = 0};
    p.slow_of = p.spread_of = NULL;
    for (uint32_t k = 0; k < p.n_kinds; k++) {
        p.kinds[k].dur_of = NULL;
        p.kinds[k].category =
            p.kinds[k].category == TY_CAT_COMM_TENSOR ? TY_CAT_COMM_EXPERT : p.kinds[k].category;
    }
    ck_assert(ty_program_folds(&p));
    ck_assert_int_eq(ty_program_fold(&fold, &p, &arena, &err), 0);
    ck_assert_int_eq(ty_timeline_init(&all, &p, &err), 0);
    ck_assert_int_eq(ty_timeline_init(&folded, &fold, &err), 0);
    ck_assert_int_eq(ty_sweep(&all, &err), 0);
    ck_assert_int_eq(ty_sweep(&folded, &err), 0);
    demand_alike(&all, &folded, &arena, "seed", seed);
    struct ty_stats stats;
    ck_assert_int_eq(ty_stats_compute(&stats, &all, &arena, &err), 0);
    ty_timeline_release(&all);
    ty_timeline_release(&folded);
    ty_arena_release(&arena);
    return stats.waited_s;
}

TEST(one_member_tells_the_statistics_of_random_programs)
{
    uint32_t n_waited = 0;
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        n_waited += demand_random(seed) > 0;
    }
    ck_assert_uint_gt(n_waited, 40); /* sums that are rounded occur */
}

TY_SUITE("fold")
