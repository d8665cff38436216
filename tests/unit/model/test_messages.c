/* test_messages.c - what a message brings is used when it is there, also where the pass that
 * receives it computes nothing: the input part of a stage that has the embedding alone. */
#include "sim/core/program/issue.h"
#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

static const char ends[] = "cluster: {preset: dgx-a100-80g, nodes: 2}\n"
                           "model: {preset: llama-7b, layers: 14, sequence: 1024}\n"
                           "layout: {pipeline: 4, tensor: 1, global_batch: 64}\n"
                           "schedule: {name: interleaved-zb, chunks: 4}\n";

#define ROW_MAX 5 /* settings, and the NULL behind them */

static const char *const rows[][ROW_MAX] = {
    {"layout.zero=3", "run.contention=false"},
    {"layout.zero=1", "framework.preset=ideal", "run.steps=2"},
    {"layout.tensor=2", "framework.preset=ideal", "framework.scatter_gather_p2p=true"},
    {"layout.zero=3", "model.layers=6", "schedule.name=zb-v", "schedule.chunks=2"},
};

/* When the message of the pass at hand is there, on the first member of a gang; 0: it has none. */
static ty_ps arrival(const struct ty_timeline *t, const struct ty_gang *gang,
                     const struct ty_pass *pass)
{
    const struct ty_op *ops = ty_pass_ops(t->program, pass);
    for (uint32_t k = 0; k < t->program->blocks[pass->block].n_ops; k++) {
        if (ops[k].sync == TY_SYNC_RECV) {
            return ty_timeline_starts(t, gang, pass->first_op + k)[0] +
                   ty_timeline_dur(t, gang, &ops[k], pass->first_op + k, 0);
        }
    }
    return 0;
}

/* Start of its first computation; 0: it computes nothing. */
static ty_ps begin(const struct ty_timeline *t, const struct ty_gang *gang,
                   const struct ty_pass *pass)
{
    const struct ty_op *ops = ty_pass_ops(t->program, pass);
    for (uint32_t k = 0; k < t->program->blocks[pass->block].n_ops; k++) {
        if (ops[k].stream == TY_STREAM_COMPUTE) {
            return ty_timeline_starts(t, gang, pass->first_op + k)[0];
        }
    }
    return 0;
}

TEST(weight_gradients_come_behind_what_they_are_of)
{
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct quick_run q = quick_run(ends, NULL, rows[i]);
        const struct ty_timeline *t = &q.run->all;
        const struct ty_gang *gang = &t->program->gangs[0];
        const struct ty_pass *passes = ty_gang_passes(t->program, gang);
        uint32_t without = 0;
        for (uint32_t a = 0; a < gang->n_passes; a++) {
            const ty_ps there = arrival(t, gang, &passes[a]);
            if (passes[a].phase != TY_PHASE_DGRAD || begin(t, gang, &passes[a]) > 0) {
                continue;
            }
            for (uint32_t b = a + 1; b < gang->n_passes; b++) {
                if (passes[b].phase == TY_PHASE_WGRAD && passes[b].mb == passes[a].mb &&
                    passes[b].stage == passes[a].stage && passes[b].step == passes[a].step) {
                    ck_assert_msg(there > 0 && begin(t, gang, &passes[b]) >= there,
                                  "row %zu, micro-batch %u", i, (unsigned)passes[b].mb);
                    without++;
                }
            }
        }
        ck_assert_msg(without >= 8, "row %zu: %u passes", i, (unsigned)without);
        quick_run_free(&q);
    }
}

TY_SUITE("messages")
