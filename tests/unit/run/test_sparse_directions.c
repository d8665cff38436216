/* test_sparse_directions.c - layouts of models with experts, two by two: what was measured to be
 * faster is, with presets as they are. By how much is the ledger's to say.
 *
 * Source: Qwen3-235B and its steps of 19.7 s, 17.6 s, 24.2 s and 29.0 s from Megatron-MoE-ModelZoo
 * (github.com/yanring); Mixtral 8x22B and its MFU from arXiv 2504.14960, tables 3 and 4. */
#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

#define SETTINGS 8

static const char qwen[] =
    "cluster: {preset: dgx-h100, nodes: 32}\n"
    "model: {preset: qwen3-235b-a22b, sequence: 4096}\n"
    "layout: {tensor: 2, sequence_parallel: true, expert: 32, pipeline: 8, global_batch: 512,\n"
    "         zero: 1, recompute: [norm, moe_act]}\n"
    "schedule: {name: interleaved, chunks: 4}\n"
    "framework: {dispatcher: deepep}\n";
static const char mixtral[] =
    "cluster: {preset: dgx-h100, nodes: 16}\n"
    "model: {preset: mixtral-8x22b, sequence: 4096}\n"
    "layout: {tensor: 2, sequence_parallel: true, expert: 8, pipeline: 8, global_batch: 256,\n"
    "         zero: 1}\n"
    "schedule: {name: interleaved, chunks: 7}\n"
    "framework: {dispatcher: alltoall, capacity: 1}\n";

static double mfu(const char *yaml, const char *const *sets)
{
    struct quick_run q = quick_run(yaml, "sweep", sets);
    const double out = q.figures.mfu;
    quick_run_free(&q);
    return out;
}

TEST(what_was_measured_to_be_faster_is)
{
    static const struct {
        const char *what, *yaml;
        const char *slower[SETTINGS], *faster[SETTINGS];
        double least; /* MFU of the faster over that of the slower */
    } rows[] = {
        {"exchanges between nodes beside another pass",
         qwen,
         {NULL},
         {"framework.expert_overlap=true"},
         1},
        {"expert 32, pipeline 8 and overlap against expert 8, pipeline 32",
         qwen,
         {"layout.expert=8", "layout.pipeline=32", "schedule.chunks=3",
          "framework.dispatcher=alltoall"},
         {"framework.expert_overlap=true"},
         1},
        {"tensor 2 against 4", qwen, {"layout.tensor=4", "layout.expert=8"}, {NULL}, 1},
        {"whole experts on more ranks against halves",
         mixtral,
         {"layout.expert=4", "layout.expert_tensor=2"},
         {NULL},
         1},
        {"expert ranks against sharded weights alone, 0.493 against 0.043",
         mixtral,
         {"layout.tensor=8", "layout.expert=1", "layout.pipeline=1", "layout.zero=3",
          "schedule.name=1f1b", "schedule.chunks=1"},
         {NULL},
         5},
        {"both against sharded weights alone, 0.234 against 0.043",
         mixtral,
         {"layout.tensor=8", "layout.expert=1", "layout.pipeline=1", "layout.zero=3",
          "schedule.name=1f1b", "schedule.chunks=1"},
         {"layout.pipeline=1", "layout.zero=3", "schedule.name=1f1b", "schedule.chunks=1"},
         2},
        {"as many sequences on fewer GPUs",
         mixtral,
         {"cluster.nodes=128", "layout.global_batch=1024"},
         {"layout.global_batch=1024"},
         1},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const double slower = mfu(rows[i].yaml, rows[i].slower);
        const double faster = mfu(rows[i].yaml, rows[i].faster);
        ck_assert_msg(faster > rows[i].least * slower, "%s: %.4f, not above %g x %.4f",
                      rows[i].what, faster, rows[i].least, slower);
    }
}

TY_SUITE("sparse directions")
