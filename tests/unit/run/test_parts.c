/* test_parts.c - statistics that several threads work out are those of one, to the last bit. */
#include <string.h>

#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

static struct ty_err err;

static const char dense[] = "cluster: {preset: dgx-a100-80g, nodes: 80}\n"
                            "model: {preset: llama-7b, layers: 4}\n"
                            "layout: {global_batch: 640}\n"
                            "run: {gpu_spread: 2 %, contention: false}\n";

static const char experts[] = "cluster: {preset: dgx-h100, nodes: 4}\n"
                              "model: {preset: mixtral-8x7b, layers: 16, sequence: 2048}\n"
                              "layout: {pipeline: 4, expert: 8, global_batch: 64}\n"
                              "run: {routing: \"dirichlet:0.5\", contention: false}\n";

#define ROW_MAX 4

static const struct {
    const char *yaml;
    const char *sets[ROW_MAX];
    bool waits; /* for collectives of layers */
} rows[] = {
    {dense, {NULL}, false}, /* one gang of 640 */
    {dense, {"layout.pipeline=2", "run.jitter=3 %"}, false},
    {experts, {NULL}, true},
    {experts, {"schedule.name=dualpipe"}, true}, /* layers are of two gangs each */
    {experts, {"schedule.name=interleaved", "schedule.chunks=2"}, true},
    {experts, {"layout.pipeline=1"}, true},
};

static bool same(const void *a, const void *b, size_t n)
{
    return memcmp(a, b, n) == 0;
}

TEST(threads_change_no_bit)
{
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct quick_run q = quick_run(rows[i].yaml, NULL, rows[i].sets);
        const struct ty_timeline *t = &q.run->all;
        struct ty_stats one, several;
        double waited = 0;
        ck_assert_int_eq(ty_stats_compute_twins(&one, t, 1, 1, &q.run->arena, &err), 0);
        for (uint32_t threads = 2; threads <= 5; threads++) {
            ck_assert_int_eq(ty_stats_compute_twins(&several, t, 1, threads, &q.run->arena, &err),
                             0);
            ck_assert_uint_eq(one.n_layers, several.n_layers);
            ck_assert_msg(
                same(one.rank, several.rank, one.n_ranks * sizeof(*one.rank)) &&
                    same(one.memory, several.memory, t->program->n_gangs * sizeof(*one.memory)) &&
                    same(one.bucket_s, several.bucket_s, sizeof(one.bucket_s)) &&
                    same(&one.flops, &several.flops, sizeof(double)) &&
                    same(&one.waited_s, &several.waited_s, sizeof(double)) &&
                    same(one.layer_waited_s, several.layer_waited_s, one.n_layers * sizeof(double)),
                "row %zu, %u threads", i, (unsigned)threads);
        }
        for (uint32_t l = 0; l < one.n_layers; l++) {
            waited += one.layer_waited_s[l];
        }
        ck_assert_msg((waited > 0) == rows[i].waits, "row %zu: %g s", i, waited);
        quick_run_free(&q);
    }
}

TY_SUITE("parts")
