/* test_pipeline_sharding.c - states in shards under pipelines, tensor parallelism and chunks: what
 * is gathered and reduced when, in how many bytes, and what a rank holds, by closed forms. */
#include "sim/run/balance.h"
#include "tests/unit/replicas.h"

/* Sixteen layers; four data ranks of tensor 2, pipeline 4; eight micro-batches. */
static const char job[] = "cluster: {preset: dgx-a100-80g, nodes: 4}\n"
                          "model: {preset: llama-7b, layers: 16, sequence: 512}\n"
                          "layout: {global_batch: 32, pipeline: 4, tensor: 2}\n"
                          "framework: {preset: ideal}\n";

/* ---- ends without layers ---- */

/* As many chunks as layers and two more: one is all embedding, one all head, nothing is lost. */
START_TEST(the_ends_of_a_pipeline_may_have_no_layers)
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
END_TEST

/* Layers may be dealt so that an end has none, too: of a head as wide as many layers. */
START_TEST(a_head_that_outweighs_layers_is_left_alone)
{
    struct quick_run q = quick_run(job, "sweep", SETS("model.vocabulary=2000000"));
    uint32_t layers[TY_LIST_MAX];
    ck_assert_uint_eq(ty_balance_layers(q.run, layers), 4);
    ck_assert_uint_eq(layers[3], 0);
    ck_assert_uint_eq(layers[0] + layers[1] + layers[2], 16);
    quick_run_free(&q);
}
END_TEST

TY_SUITE("pipeline_sharding", the_ends_of_a_pipeline_may_have_no_layers,
         a_head_that_outweighs_layers_is_left_alone)
