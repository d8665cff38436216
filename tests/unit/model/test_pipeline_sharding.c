/* test_pipeline_sharding.c - states in shards under pipelines, tensor parallelism and chunks: what
 * is gathered and reduced when, in how many bytes, and what a rank holds, by closed forms. */
#include <math.h>

#include "model/parallel/whole.h"
#include "sim/run/balance.h"
#include "tests/unit/model_case.h"
#include "tests/unit/replicas.h"

/* Sixteen layers; four data ranks of tensor 2, pipeline 4; eight micro-batches. */
static const char job[] = "cluster: {preset: dgx-a100-80g, nodes: 4}\n"
                          "model: {preset: llama-7b, layers: 16, sequence: 512}\n"
                          "layout: {global_batch: 32, pipeline: 4, tensor: 2}\n"
                          "framework: {preset: ideal}\n";

/* ---- ends without layers ---- */

/* As many chunks as layers and two more: one is all embedding, one all head, nothing is lost. */
TEST(the_ends_of_a_pipeline_may_have_no_layers)
{
    struct quick_run q = quick_run(
        job, "sweep", SETS("schedule.name=interleaved", "schedule.chunks=4", "model.layers=14"));
    const struct ty_stage_plan *first = &q.run->lowered.stage[0], *last = first + 3;
    double params = 0;
    for (uint32_t r = 0; r < 4; r++) {
        params += q.run->lowered.stage[r].params;
    }
    ck_assert_uint_eq(first->chunk[0].count, 0);
    ck_assert_uint_eq(last->chunk[3].count, 0);
    ck_assert_uint_eq(first->n_layers, 3);
    ck_assert_uint_eq(first[1].n_layers, 4);
    const uint32_t n = spans_of(&q, NULL, TY_PHASE_FORWARD, span);
    for (uint32_t i = 0; i < n; i++) {
        const bool computes = span[i].op->stream == TY_STREAM_COMPUTE;
        ck_assert(!computes || (span[i].op->layer == TY_NONE) == (span[i].pass->stage == 0));
    }
    ck_assert_double_eq_tol(params, X(&q) / 2 / 2, 0.001 * params); /* norms are on all */
    quick_run_free(&q);
}

/* Without layers there are no gradients of their norms to sum over the tensor group, also where
 * collectives are played message by message. */
TEST(a_stage_without_layers_sums_no_norms)
{
    const char *const empty = "layout.stage_layers=[0,8,8,0]";
    struct quick_run q =
        quick_run(job, NULL, SETS(empty, "layout.sequence_parallel=true", "run.detail=steps"));
    for (uint32_t stage = 0; stage < 4; stage++) {
        const uint32_t n = spans_of_rank(&q, 8 * stage, NULL, TY_PHASE_STEP, span);
        uint32_t sums = 0;
        for (uint32_t k = 0; k < n; k++) {
            sums += span[k].op->stream == TY_STREAM_TENSOR;
        }
        ck_assert_uint_eq(sums, stage == 1 || stage == 2);
    }
    quick_run_free(&q);
}

/* Layers may be dealt so that an end has none, too: of a head as wide as many layers. */
TEST(a_head_that_outweighs_layers_is_left_alone)
{
    struct quick_run q = quick_run(job, "sweep", SETS("model.vocabulary=2000000"));
    uint32_t layers[TY_LIST_MAX];
    ck_assert_uint_eq(ty_balance_layers(q.run, layers), 4);
    ck_assert_uint_eq(layers[3], 0);
    ck_assert_uint_eq(layers[0] + layers[1] + layers[2], 16);
    quick_run_free(&q);
}

/* ---- what is gathered and reduced, and how often ---- */

/* Rank 0 has two chunks of two layers each: the embedding, layers 0 and 1; layers 8 and 9. */
static const char chunks[] = "schedule.name=interleaved";
#define MICRO_BATCHES    8
#define STAGES_OF_A_RANK 2
#define UNITS            5 /* of rank 0 */

struct events {
    uint32_t gathers, reductions;
    double gathered_B, reduced_B; /* sent */
};

static struct events events_of(const struct quick_run *q)
{
    const uint32_t n = spans_of(q, NULL, TY_N_PHASES, span);
    struct events e = {0, 0, 0, 0};
    for (uint32_t i = 0; i < n; i++) {
        const bool data = span[i].op->stream == TY_STREAM_DATA;
        if (data && strcmp(span[i].kind->name, "all-gather") == 0) {
            e.gathers++;
            e.gathered_B += (double)span[i].kind->bytes;
        } else if (data && strcmp(span[i].kind->name, "reduce-scatter") == 0) {
            e.reductions++;
            e.reduced_B += (double)span[i].kind->bytes;
        }
    }
    return e;
}

/* Backward passes that follow a forward pass of their stage find its last unit gathered. */
static uint32_t found_gathered(const struct quick_run *q)
{
    const struct ty_program *p = &q->run->lowered.program;
    const struct ty_pass *pass = ty_gang_passes(p, &p->gangs[0]);
    uint32_t n = 0;
    for (uint32_t i = 1; pass[i].phase != TY_PHASE_STEP; i++) {
        n += pass[i].phase == TY_PHASE_BACKWARD && pass[i - 1].phase == TY_PHASE_FORWARD &&
             pass[i].stage == pass[i - 1].stage;
    }
    return n;
}

/* In units of the rank and step, m = 8 micro-batches of each of two chunks, which 1F1B interleaved
 * has in runs of four: what every pass does it does 2 m or m times, runs 2, else once. Gathers
 * are of 2 B a parameter, reductions of 4. */
TEST(gathers_and_reductions_are_those_of_the_stack)
{
    static const struct {
        const char *set[4];
        uint32_t gathers, reductions; /* of a unit */
    } rows[] = {
        {{"layout.zero=3"}, 2 * MICRO_BATCHES, MICRO_BATCHES},
        {{"layout.zero=3", "framework.sync_every=false"}, 2 * MICRO_BATCHES, 1},
        {{"layout.zero=3", "framework.sync_every=run"}, 2 * MICRO_BATCHES, 2},
        {{"layout.zero=3", "framework.reshard_after_forward=false",
          "framework.reshard_after_backward=false"},
         1,
         MICRO_BATCHES},
        {{"layout.zero=3", "framework.reshard_after_backward=false", "framework.sync_every=run"},
         0, /* how often a forward follows a backward is up to the order */
         2},
        {{"layout.zero=3", "framework.preset=fsdp"}, 1, 1},
        {{"layout.zero=3", "framework.preset=torchtitan"}, 1, 1},
        {{"layout.zero=2", "framework.bucket=1 KiB"}, 0, MICRO_BATCHES},
        {{"layout.zero=2", "framework.bucket=1 KiB", "framework.preset=llama3"}, 0, 2},
        {{"layout.zero=2", "framework.bucket=1 KiB", "framework.sync_every=no-pipeline"}, 0, 1},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const char *const *r = rows[i].set;
        struct quick_run q =
            quick_run(job, "sweep",
                      SETS("framework.reduce_dtype=fp32", chunks, "schedule.chunks=2", r[0],
                           r[1] != NULL ? r[1] : "run.seed=1", r[2] != NULL ? r[2] : "run.seed=1"));
        const struct events e = events_of(&q);
        const double params = q.run->lowered.stage[0].params;
        const double reduced = rows[i].reductions * 4 * params;
        if (strcmp(r[0], "layout.zero=3") == 0) {
            ck_assert_uint_eq(e.reductions, rows[i].reductions * UNITS);
        }
        if (rows[i].gathers > 0) {
            const uint32_t spared = rows[i].gathers > 1 ? found_gathered(&q) : 0;
            const double layer = ty_arch_layer_params(&q.config->arch) / 2; /* of a tensor rank */
            ck_assert_uint_eq(e.gathers, rows[i].gathers * UNITS - spared);
            ck_assert_double_eq_tol(e.gathered_B, 2 * (params * rows[i].gathers - layer * spared),
                                    0.001 * layer); /* norms */
        }
        ck_assert_msg(fabs(e.reduced_B - reduced) < 1e-6 * reduced, "row %zu: %.9g, not %.9g B", i,
                      e.reduced_B, reduced);
        quick_run_free(&q);
    }
}

/* The same over all ranks, whatever shares the layers: N = 32 / (t p) have the same parameters. */
TEST(volumes_follow_from_zero_pipeline_tensor_and_chunks)
{
    static const uint32_t shapes[][3] = {{1, 2, 1}, {1, 2, 2}, {2, 2, 2}, {4, 2, 4},
                                         {2, 4, 2}, {2, 8, 1}}; /* tensor, pipeline, chunks */
    static const struct {
        const char *zero, *preset;
        double x; /* of 2 B a parameter, per step */
    } rows[] = {{"layout.zero=2", "framework.preset=ideal", MICRO_BATCHES + 1},
                {"layout.zero=2", "framework.preset=fsdp", 2 + 1},
                {"layout.zero=3", "framework.preset=fsdp", 1 + 2},
                {"layout.zero=3", "framework.preset=torchtitan", 1 + 2}};
    for (size_t i = 0; i < TY_COUNT(shapes) * TY_COUNT(rows); i++) {
        const uint32_t *shape = shapes[i / TY_COUNT(rows)], n = 32 / (shape[0] * shape[1]);
        char tensor[32], pipeline[32], count[32], batch[40];
        snprintf(tensor, sizeof(tensor), "layout.tensor=%u", (unsigned)shape[0]);
        snprintf(pipeline, sizeof(pipeline), "layout.pipeline=%u", (unsigned)shape[1]);
        snprintf(count, sizeof(count), "schedule.chunks=%u", (unsigned)shape[2]);
        snprintf(batch, sizeof(batch), "layout.global_batch=%u", (unsigned)(MICRO_BATCHES * n));
        struct quick_run q =
            quick_run(job, "sweep",
                      SETS(rows[i % TY_COUNT(rows)].zero, rows[i % TY_COUNT(rows)].preset, tensor,
                           pipeline, batch, shape[2] > 1 ? chunks : "schedule.name=1f1b",
                           shape[2] > 1 ? count : "run.seed=1"));
        double params = 0;
        for (uint32_t r = 0; r < shape[1]; r++) {
            params += q.run->lowered.stage[r].params * shape[0]; /* norms are on all tensor ranks */
        }
        const double volume = rows[i % TY_COUNT(rows)].x * 2 * params * (n - 1);
        ck_assert_double_eq_tol(quick_run_traffic(&q, "dp"), volume, 1e-6 * volume);
        quick_run_free(&q);
    }
}

/* ---- when ---- */

/* Under torch.distributed.pipelining nothing is reduced beside a backward pass, and the next pass
 * waits for it; parameters come unit by unit in the first forward pass of a stage. */
TEST(a_torch_stage_is_gathered_first_and_reduced_last)
{
    struct quick_run q = quick_run(
        job, "sweep", SETS("layout.zero=3", "framework.preset=fsdp", chunks, "schedule.chunks=2"));
    const uint32_t n = spans_of(&q, NULL, TY_N_PHASES, span);
    ty_ps computed = 0, reduced = 0;
    uint32_t passes = 0, before = UINT32_MAX;
    for (uint32_t i = 0; i < n; i++) {
        const struct ty_span *s = &span[i];
        if (strcmp(s->kind->name, "all-gather") == 0 && s->op->stream == TY_STREAM_DATA) {
            ck_assert_int_eq(s->pass->phase, TY_PHASE_FORWARD);
            ck_assert_uint_eq(s->pass->mb, 0);
        } else if (strcmp(s->kind->name, "reduce-scatter") == 0) {
            ck_assert_uint_eq(s->pass->mb, MICRO_BATCHES - 1);
            ck_assert_uint_ge(s->start, computed);
            reduced = end_of(s);
        } else if (s->op->stream == TY_STREAM_COMPUTE) {
            ck_assert_uint_ge(s->start, reduced);
            computed = end_of(s);
        }
        passes += s->pass->phase == TY_PHASE_BACKWARD && s->pass->stage != before;
        before = s->pass->stage;
    }
    ck_assert_uint_gt(reduced, 0);
    ck_assert_uint_gt(passes, STAGES_OF_A_RANK);
    quick_run_free(&q);
}

/* ZeRO-2 with reductions beside the backward: one is under way while the next bucket fills. */
TEST(buckets_of_sharded_gradients_do_not_pile_up)
{
    struct quick_run q = quick_run(job, "sweep",
                                   SETS("layout.zero=2", "layout.tensor=1", "layout.pipeline=1",
                                        "framework.bucket=1 KiB", "cluster.nic_bandwidth=5 Gb/s"));
    const uint32_t n = spans_of(&q, NULL, TY_PHASE_BACKWARD, span);
    uint32_t issued = 0, waited = 0;
    ty_ps done[2] = {0, 0}; /* when the last but one of those issued is, and the last */
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(span[i].kind->name, "reduce-scatter") == 0) {
            done[0] = done[1];
            done[1] = end_of(&span[i]);
            issued++;
        } else if (span[i].op->stream == TY_STREAM_COMPUTE) {
            ck_assert_uint_ge(span[i].start, done[0]);
            waited += done[0] > 0 && span[i].start == done[0];
        }
    }
    ck_assert_uint_gt(issued, 16);
    ck_assert_uint_gt(waited, 16);
    quick_run_free(&q);
}

/* ---- what a rank holds ---- */

static struct ty_stage_plan plan_of(const char *const *sets)
{
    struct quick_run q = quick_run(job, "sweep", sets);
    const struct ty_stage_plan plan = q.run->lowered.stage[1]; /* layers only: all units alike */
    quick_run_free(&q);
    return plan;
}

/* Stage 1: two chunks of two layers, P parameters, N = 4 data ranks; gradients are made in 16 and
 * reduced in 32 bit. */
TEST(a_rank_holds_what_is_whole)
{
    static const struct {
        const char *zero, *set;
        double grads, buffers; /* in bytes a parameter of the stage */
    } rows[] = {
        /* two gathered layers of four; one made, one being reduced */
        {"layout.zero=3", "run.seed=1", 2.0 / 4, (2 * 2 + 2 + 4) / 4.0},
        /* 32-bit gradients of a chunk added up, a layer's made, another's being reduced */
        {"layout.zero=3", "framework.sync_every=run", 2.0 / 4, 4 / 4 + 4 / 2.0 + (2 + 4) / 4.0},
        /* of all four layers, which are part of the states */
        {"layout.zero=3", "framework.sync_every=false", 4, 4 / 4 + (2 + 4) / 4.0},
        /* all four gathered; reduced when activations are gone */
        {"layout.zero=3", "framework.preset=fsdp", 4, 2 + 2 / 4.0},
        {"layout.zero=3", "framework.reshard_after_backward=false", 2.0 / 4, 2 + (2 + 4) / 4.0},
        {"layout.zero=2", "framework.preset=llama3", 4.0 / 4, 4 / 2.0},
        {"layout.zero=2", "framework.sync_every=no-pipeline", 4, 0},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const struct ty_stage_plan plan = plan_of(SETS(
            chunks, "schedule.chunks=2", "framework.reduce_dtype=fp32", rows[i].zero, rows[i].set));
        const bool bucketed = strcmp(rows[i].zero, "layout.zero=2") == 0;
        ck_assert_double_eq_tol(plan.states.grads, rows[i].grads * plan.params, 1);
        ck_assert_double_eq(plan.states.weights, 2 * plan.params / (bucketed ? 1 : 4));
        if (!bucketed) {
            ck_assert_msg(fabs(plan.buffers_B - rows[i].buffers * plan.params) < 1,
                          "row %zu: %.6g B a parameter", i, plan.buffers_B / plan.params);
        }
    }
}

/* ZeRO-2: the bucket that fills and the one that is being reduced, as large as they are made: with
 * buckets of one matrix the MLP's, of gate and up, which down came before. Added up in runs: those
 * of two chunks. */
TEST(zero_2_holds_two_buckets_or_chunks)
{
    const double h = 4096, f = 11008, matrix = 2 * h * f / 2, down = h * f / 2;
    const char *const one = "framework.bucket=1 KiB";
    const struct ty_stage_plan every =
        plan_of(SETS(chunks, "schedule.chunks=2", "layout.zero=2", one));
    const struct ty_stage_plan run = plan_of(
        SETS(chunks, "schedule.chunks=2", "layout.zero=2", one, "framework.sync_every=run"));
    ck_assert_double_eq_tol(every.buffers_B, 2 * (matrix + down), 1);
    ck_assert_double_eq_tol(run.buffers_B, 2 * run.params, 1);
    /* a stage alone in its rank is one run: nothing else is added up while it is reduced */
    const struct ty_stage_plan alone =
        plan_of(SETS("layout.zero=2", one, "framework.sync_every=run"));
    ck_assert_double_lt(alone.buffers_B, 2 * alone.params + 2 * (matrix + down) + 1);
}

/* ---- what a stack does not do ---- */

TEST(deepspeed_shards_no_gradients_in_a_pipeline)
{
    static const struct {
        const char *text;
        const char *message;
    } rows[] = {{"pipeline: 4\nglobal_batch: 32\nzero: 2",
                 "3:7: layout.zero: 2, and with a pipeline (layout.pipeline is 4) framework "
                 "megatron-deepspeed goes up to 1 (framework.zero_in_pipeline); write 1, or a "
                 "layout.pipeline of 1"},
                {"pipeline: 4\nglobal_batch: 32\nzero: 1", NULL},
                {"pipeline: 1\nglobal_batch: 32\nzero: 3", NULL}};
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct model_case c;
        model_case_begin(&c, 4);
        c.layout.framework.preset = "megatron-deepspeed";
        c.layout.framework.zero_in_pipeline = 1;
        ck_assert_int_eq(model_read(&c, "llama-30b", ""), 0);
        ck_assert_int_eq(layout_read(&c, rows[i].text, 1) == 0, rows[i].message == NULL);
        if (rows[i].message != NULL) {
            ck_assert_ptr_nonnull(strstr(c.err.text, rows[i].message));
        }
        model_case_release(&c);
    }
}

TY_SUITE("pipeline_sharding")
