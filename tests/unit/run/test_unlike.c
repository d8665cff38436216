/* test_unlike.c - stages of different shape: each does what it does in a job all of whose stages
 * are like it, and between them a micro-batch goes over the wire once. */
#include <string.h>

#include "sim/run/bill.h"
#include "sim/run/pass_times.h"
#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

#define SETS 6
#define M    5 /* micro-batches */

static const char node[] =
    "cluster: {preset: dgx-a100-80g, nodes: 2}\n"
    "model: {layers: 12, hidden: 1024, heads: 8, vocabulary: 32000, sequence: 512, tied: false}\n"
    "layout: {pipeline: 3, global_batch: 40, micro_batch: 8, stage_layers: [3, 3, 6], "
    "recompute: full}\n";

/* Shapes of three stages that 16 GPUs can be, with 8 sequences a micro-batch. */
static const char *const shapes[][SETS] = {
    {"layout.stage_tensor=[4, 4, 8]", "layout.data=auto"},
    {"layout.stage_tensor=[2, 2, 4]", "layout.data=2", "layout.micro_batch=4"},
    {"layout.stage_data=[4, 4, 8]", "layout.micro_batch=2"},
    {"layout.stage_tensor=[2, 2, 1]", "layout.stage_data=[2, 2, 8]", "layout.micro_batch=4"},
    {"layout.stage_tensor=[8, 1, 4]", "layout.stage_data=[1, 4, 1]"},
    {"layout.stage_tensor=[4, 4, 8]", "layout.sequence_parallel=true"},
    {"layout.stage_tensor=[4, 4, 8]", "framework.scatter_gather_p2p=false"},
    {"layout.stage_tensor=[4, 4, 8]", "framework.overlap_p2p=true", "layout.zero=1"},
    {"layout.stage_tensor=[2, 2, 4]", "layout.data=2", "layout.micro_batch=4",
     "schedule.name=zb-1p", "layout.zero=1"},
    {"layout.stage_tensor=[1, 1, 2]", "layout.data=4", "layout.micro_batch=2",
     "schedule.name=gpipe", "run.steps=2"},
};

static void demand_equal(const char *const *a, const char *const *b)
{
    struct quick_run x = quick_run(node, NULL, a), y = quick_run(node, NULL, b);
    const struct ty_timeline *s = &x.run->all, *t = &y.run->all;
    ck_assert_uint_eq(s->program->n_tasks, t->program->n_tasks);
    ck_assert_mem_eq(s->start, t->start, s->program->n_tasks * sizeof(*s->start));
    ck_assert_uint_eq(s->makespan, t->makespan);
    quick_run_free(&x);
    quick_run_free(&y);
}

TEST(stages_of_one_shape_are_as_ever)
{
    demand_equal(
        (const char *const[]){"layout.nodes=[0]", "layout.gpus=[0-5]",
                              "layout.stage_tensor=[2, 2, 2]", NULL},
        (const char *const[]){"layout.nodes=[0]", "layout.gpus=[0-5]", "layout.tensor=2", NULL});
    demand_equal((const char *const[]){"layout.gpus=[0-5]", "layout.stage_tensor=[2, 2, 2]",
                                       "layout.stage_data=[2, 2, 2]", "layout.micro_batch=2", NULL},
                 (const char *const[]){"layout.gpus=[0-5]", "layout.tensor=2",
                                       "layout.micro_batch=2", NULL});
}

TEST(executors_agree)
{
    for (size_t i = 0; i < TY_COUNT(shapes); i++) {
        quick_run_demand_same(node, shapes[i]);
    }
}

/* Forward and backward of a micro-batch on the stages, and what a rank of each holds. */
struct stages {
    double work[3], states[3], capacity[3], activations[3];
};

static struct stages look(const char *const *sets)
{
    struct quick_run q = quick_run(node, "sweep", sets);
    struct stages out;
    ty_stage_work(q.run, out.work);
    for (uint32_t s = 0; s < 3; s++) {
        const struct ty_gang *gang = &q.run->lowered.program.gangs[s];
        const struct ty_state_bytes *states = &q.run->lowered.stage[s].states;
        struct ty_bill bill;
        ty_run_bill(q.run, s, &bill);
        out.states[s] = states->weights + states->grads + states->optimizer;
        out.capacity[s] = ty_run_capacity(q.run, gang->rank_of[0]);
        out.activations[s] = bill.total_B;
    }
    quick_run_free(&q);
    return out;
}

TEST(a_stage_is_as_in_a_job_of_its_shape)
{
    static const char *const ofs[][SETS] = {
        {"layout.tensor=4", "layout.nodes=[0, 1]", "layout.gpus=[0-5]", "layout.micro_batch=8"},
        {"layout.tensor=2", "layout.data=2", "layout.gpus=[0-5]", "layout.micro_batch=4"},
    };
    static const char *const job[SETS] = {"layout.stage_tensor=[4, 2, 4]",
                                          "layout.stage_data=[1, 2, 1]", "layout.gpus=[0-5]"};
    const struct stages unlike = look(job), wide = look(ofs[0]), twice = look(ofs[1]);
    for (uint32_t s = 0; s < 3; s++) {
        const struct stages *like = s == 1 ? &twice : &wide;
        ck_assert_double_eq_tol(unlike.work[s], like->work[s], 1e-9 * like->work[s]);
        ck_assert_double_eq(unlike.states[s], like->states[s]);
        ck_assert_double_eq(unlike.activations[s], like->activations[s]);
        ck_assert_double_eq(unlike.capacity[s], like->capacity[s]);
    }
}

/* Times that hidden states go over the boundary behind a stage: between stages of one shape every
 * tensor rank may send the whole. */
static double times(const struct ty_layout *layout, uint32_t stage)
{
    const struct ty_layout own = ty_layout_of_stage(layout, stage);
    const bool parts = own.sequence_parallel || own.framework.scatter_gather_p2p;
    return ty_layout_same_shape(layout, stage, stage + 1) && !parts ? own.tensor : 1;
}

TEST(a_micro_batch_crosses_a_boundary_between_shapes_once)
{
    const double hidden = 2.0 * 2 * 8 * 512 * 1024 * M; /* 16 bit, forward and backward */
    for (size_t i = 0; i < TY_COUNT(shapes); i++) {
        struct quick_run q = quick_run(node, NULL, shapes[i]);
        const struct ty_layout *l = &q.config->layout;
        const double bytes = hidden * (times(l, 0) + times(l, 1));
        ck_assert_double_eq_tol(quick_run_traffic(&q, "pp"), bytes, 1e-9 * bytes);
        quick_run_free(&q);
    }
}

TEST(one_member_of_each_stage_tells_of_all)
{
    struct ty_err *err = ty_err_new();
    for (size_t i = 0; i < TY_COUNT(shapes); i++) {
        struct quick_run q = quick_run(node, NULL, shapes[i]);
        const struct ty_stats whole = q.run->stats;
        struct ty_figures figures;
        ck_assert_uint_eq(q.run->timeline.program->n_ranks, 16);
        ck_assert_int_eq(ty_run_execute(q.run, &(struct ty_execute_options){.figures = true}, err),
                         0);
        ck_assert_uint_eq(q.run->timeline.program->n_ranks, 3);
        ty_run_figures(q.run, &figures);
        ck_assert_double_eq(figures.step_s, q.figures.step_s);
        ck_assert_double_eq(q.run->stats.flops, whole.flops);
        ck_assert_mem_eq(figures.bucket_s, q.figures.bucket_s, sizeof(figures.bucket_s));
        ck_assert_int_eq(ty_run_execute_folded(q.run, err), 0);
        ck_assert_double_eq(q.run->stats.flops, whole.flops);
        quick_run_free(&q);
    }
    ty_err_free(err);
}

TY_SUITE("unlike")
