/* One member for all of a gang: the same makespan, the same figures, and only where it is true. */
#include "sim/core/execute/fold.h"

#include "tests/common/quick_run.h"
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

START_TEST(folded_runs_take_the_same_time)
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
END_TEST

TY_SUITE("fold", folded_runs_take_the_same_time)
