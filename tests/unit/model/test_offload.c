/* test_offload.c - what lives beside the GPU: bytes on every link, what overlaps with what, where
 * it fits. P: parameters, X = 2 P bytes, N data ranks, k micro-batches, as in the papers. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/run/offload.h"
#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- bytes ---- */

static const char small[] =
    "cluster: {preset: dgx-a100-80g}\n"
    "model: {layers: 6, hidden: 512, heads: 8, ffn: 2048, vocabulary: 4096, sequence: 256}\n"
    "framework: {preset: ideal, bucket: 8 MB}\n";

/* What a rank moves in a step. */
struct moved {
    double down, up, read, written, updated;
};

static struct moved moved_of(const struct quick_run *q)
{
    const struct ty_program *p = &q->run->lowered.program;
    const struct ty_gang *gang = &p->gangs[0];
    struct moved sum = {0};
    for (uint32_t i = 0; i < gang->n_passes; i++) {
        const struct ty_pass *pass = &ty_gang_passes(p, gang)[i];
        for (uint32_t k = 0; k < p->blocks[pass->block].n_ops; k++) {
            const struct ty_op *op = &ty_pass_ops(p, pass)[k];
            const struct ty_kind *kind = &p->kinds[op->kind];
            double *const to = op->stream == TY_STREAM_D2H        ? &sum.down
                               : op->stream == TY_STREAM_H2D      ? &sum.up
                               : op->stream == TY_STREAM_HOST     ? &sum.updated
                               : op->stream != TY_STREAM_NVME     ? NULL
                               : strcmp(kind->group, "read") == 0 ? &sum.read
                                                                  : &sum.written;
            if (to != NULL) {
                *to += kind->bytes;
            }
        }
    }
    return sum;
}

static struct moved moved_with(uint32_t n, uint32_t k, const char *const *sets)
{
    char nodes[64], gpus[64], batch[64];
    const char *all[8] = {nodes, gpus, batch};
    (void)snprintf(nodes, sizeof(nodes), "cluster.nodes=%u", n > 8 ? n / 8 : 1);
    (void)snprintf(gpus, sizeof(gpus), "cluster.gpus_per_node=%u", n > 8 ? 8 : n);
    (void)snprintf(batch, sizeof(batch), "layout.global_batch=%u", n * k);
    for (uint32_t i = 0; sets[i] != NULL; i++) {
        all[3 + i] = sets[i];
    }
    struct quick_run q = quick_run(small, NULL, all);
    struct moved m = moved_of(&q);
    const double shard = q.run->lowered.stage[0].params / n; /* in units of parameters of a rank */
    m.down /= shard, m.up /= shard, m.read /= shard, m.written /= shard, m.updated /= shard;
    quick_run_free(&q);
    return m;
}

static const uint32_t ranks[] = {1, 2, 4, 8, 16, 32, 64};
#define EXACT 1e-12 /* sums of buckets are rounded */

static void demand(const struct moved *m, double down, double up, double read, double written)
{
    ck_assert_double_eq_tol(m->down, down, EXACT * 100);
    ck_assert_double_eq_tol(m->up, up, EXACT * 100);
    ck_assert_double_eq_tol(m->read, read, EXACT * 100);
    ck_assert_double_eq_tol(m->written, written, EXACT * 100);
}

/* Handbook of the papers: X/N down, once or k times, and X/N up. */
TEST(zero_offload_moves_two_bytes_each_way)
{
    for (size_t i = 0; i < TY_COUNT(ranks); i++) {
        for (uint32_t k = 1; k <= 8; k++) {
            const struct moved every = moved_with(ranks[i], k, SETS("layout.offload=zero-offload"));
            const struct moved once = moved_with(
                ranks[i], k, SETS("layout.offload=zero-offload", "framework.sync_every=false"));
            const struct moved delayed = moved_with(
                ranks[i], k, SETS("layout.offload=zero-offload", "layout.offload_delay=true"));
            demand(&every, 2.0 * k, 2, 0, 0);
            demand(&once, 2, 2, 0, 0);
            demand(&delayed, 2.0 * k, 2, 0, 0);
        }
    }
}

/* X/N up in every forward and every backward. */
TEST(zero3_offload_fetches_parameters_in_every_pass)
{
    for (size_t i = 0; i < TY_COUNT(ranks); i++) {
        for (uint32_t k = 1; k <= 8; k++) {
            const struct moved m = moved_with(ranks[i], k, SETS("layout.offload=zero3-offload"));
            demand(&m, 2.0 * k, 4.0 * k, 0, 0);
        }
    }
}

/* The drive: parameters in every use; the optimizer's 12 bytes and the gradient both ways, and what
 * the update made of the parameter. */
TEST(zero_infinity_reads_and_writes_what_the_paper_says)
{
    for (size_t i = 0; i < TY_COUNT(ranks); i++) {
        for (uint32_t k = 1; k <= 8; k++) {
            const struct moved m = moved_with(ranks[i], k, SETS("layout.offload=zero-infinity"));
            const struct moved optimizer = moved_with(
                ranks[i], k, SETS("layout.offload=zero-infinity", "layout.offload_parameters=cpu"));
            demand(&m, 2.0 * k, 4.0 * k, 4.0 * k + 12 + 2, 12 + 2 + 2);
            demand(&optimizer, 2.0 * k, 4.0 * k, 12 + 2, 12 + 2);
        }
    }
}

TEST(a_share_of_the_optimizer_moves_that_share)
{
    static const char *const share[] = {"layout.offload_share=0.25", "layout.offload_share=0.5"};
    for (size_t i = 0; i < TY_COUNT(share); i++) {
        const double r = 0.25 * (double)(i + 1);
        const struct moved m = moved_with(8, 2, SETS("layout.offload=zero-offload", share[i]));
        demand(&m, 4 * r, 2 * r, 0, 0);
    }
}

/* What a forward keeps goes down once and up once, in every micro-batch; the GPU keeps two units of
 * it. */
TEST(activations_go_and_come_back_once)
{
    for (uint32_t k = 1; k <= 4; k++) {
        char batch[64];
        (void)snprintf(batch, sizeof(batch), "layout.global_batch=%u", 8 * k);
        struct quick_run here = quick_run(small, NULL, SETS(batch));
        struct quick_run away =
            quick_run(small, NULL, SETS(batch, "layout.offload_activations=cpu"));
        const struct ty_program *p = &here.run->lowered.program;
        const double kept = p->blocks[ty_gang_passes(p, &p->gangs[0])[0].block].acquire_B;
        const struct moved m = moved_of(&away);
        struct ty_bill before, after;
        ck_assert_double_eq_tol(m.down, k * kept, 1);
        ck_assert_double_eq_tol(m.up, k * kept, 1);
        ck_assert_double_eq_tol(away.run->away[TY_OFFLOAD_HOST].activations_B, 8 * kept, 8);
        ty_run_fullest(here.run, &before);
        ty_run_fullest(away.run, &after);
        ck_assert_double_lt(after.total_B, before.total_B);
        ck_assert_double_ge(away.figures.step_s, here.figures.step_s);
        quick_run_free(&here);
        quick_run_free(&away);
    }
}

/* To a drive and back as often, and through two buffers of the node either way; slow drives are
 * waited for, fast ones never. */
TEST(activations_on_drives_are_written_and_read_once)
{
    for (uint32_t k = 1; k <= 3; k++) {
        char batch[64];
        (void)snprintf(batch, sizeof(batch), "layout.global_batch=%u", 8 * k);
        struct quick_run near =
            quick_run(small, "events", SETS(batch, "layout.offload_activations=cpu"));
        struct quick_run far =
            quick_run(small, "events", SETS(batch, "layout.offload_activations=nvme"));
        struct quick_run fast =
            quick_run(small, "events",
                      SETS(batch, "layout.offload_activations=nvme", "cluster.nvme.read=100 TB/s",
                           "cluster.nvme.write=100 TB/s", "cluster.host.bandwidth=100 TB/s"));
        const struct moved m = moved_of(&far), host = moved_of(&near);
        const struct ty_offload_memory *bill = far.run->away;
        ck_assert_double_gt(m.down, 0);
        ck_assert_double_eq_tol(m.down, host.down, 1);
        ck_assert_double_eq_tol(m.up, m.down, 1);
        ck_assert_double_eq_tol(m.read, m.down, 1);
        ck_assert_double_eq_tol(m.written, m.down, 1);
        ck_assert_double_eq_tol(bill[TY_OFFLOAD_NVME].activations_B,
                                near.run->away[TY_OFFLOAD_HOST].activations_B, 1);
        ck_assert_double_eq(bill[TY_OFFLOAD_HOST].activations_B, 0);
        ck_assert_double_gt(bill[TY_OFFLOAD_HOST].pinned_B, 0);
        ck_assert_double_lt(bill[TY_OFFLOAD_HOST].total_B, bill[TY_OFFLOAD_NVME].total_B);
        ck_assert_double_gt(far.figures.step_s, 1.1 * near.figures.step_s);
        ck_assert_double_le(fast.figures.step_s, 1.01 * near.figures.step_s);
        quick_run_free(&near);
        quick_run_free(&far);
        quick_run_free(&fast);
    }
    quick_run_demand_same(small, SETS("layout.offload_activations=nvme", "layout.pipeline=2",
                                      "layout.global_batch=16", "schedule.name=zb-1p"));
}

/* Drives behind which nothing else can hide: out they take bytes / write, back bytes / read. */
TEST(slow_drives_set_the_pace_of_activations)
{
    struct quick_run q = quick_run(small, "events",
                                   SETS("layout.offload_activations=nvme", "cluster.nodes=1",
                                        "layout.global_batch=8", "cluster.nvme.read=100 MB/s",
                                        "cluster.nvme.write=50 MB/s"));
    const struct moved m = moved_of(&q);
    const double least = 8 * (m.written / 50e6 + m.read / 100e6);
    ck_assert_double_ge(q.figures.step_s, least);
    ck_assert_double_le(q.figures.step_s, 1.1 * least);
    quick_run_free(&q);
}

/* Where the backward is split its second half reads them once more. */
TEST(a_split_backward_brings_activations_twice)
{
    static const char *const names[] = {"schedule.name=zb-1p", "schedule.name=zb-v",
                                        "schedule.name=interleaved-zb"};
    for (size_t i = 0; i < TY_COUNT(names); i++) {
        struct quick_run q = quick_run(small, NULL,
                                       SETS("layout.offload_activations=cpu", "layout.pipeline=2",
                                            "layout.global_batch=16", names[i], "cluster.nodes=1"));
        struct quick_run here = quick_run(
            small, NULL,
            SETS("layout.pipeline=2", "layout.global_batch=16", names[i], "cluster.nodes=1"));
        const struct moved m = moved_of(&q);
        struct ty_bill before, after;
        ck_assert_double_gt(m.down, 0);
        ck_assert_double_eq_tol(m.up, 2 * m.down, 1);
        ck_assert_double_ge(q.figures.step_s, here.figures.step_s);
        ty_run_fullest(here.run, &before);
        ty_run_fullest(q.run, &after);
        ck_assert_double_lt(after.total_B, before.total_B);
        quick_run_free(&q);
        quick_run_free(&here);
    }
}

/* ---- time ---- */

/* One GPU whose parameters, of equal layers, come from drives: what a layer takes of each lane. */
static const char chain[] =
    "cluster: {preset: dgx2-v100, nodes: 1, gpus_per_node: 1}\n"
    "model: {layers: 40, hidden: 2048, heads: 16, ffn: 8192, vocabulary: 128, sequence: 1024,\n"
    "        dtype: fp16}\n"
    "layout: {global_batch: 4, micro_batch: 4, offload: zero-infinity, offload_optimizer: cpu}\n"
    "framework: {preset: ideal}\n";
#define CHAIN_LAYERS 40

/* Start of the first pass of a phase to the end of its last computation, and what is in it. */
struct pass_sums {
    double span, compute, fetch, read; /* s */
};

static struct pass_sums pass_sums(const struct quick_run *q, enum ty_phase phase)
{
    const struct ty_program *p = &q->run->lowered.program;
    const struct ty_gang *gang = &p->gangs[0];
    struct pass_sums sums = {0};
    ty_ps begun = 0, end = 0;
    for (uint32_t i = 0; i < gang->n_passes; i++) {
        const struct ty_pass *pass = &ty_gang_passes(p, gang)[i];
        for (uint32_t k = 0; k < p->blocks[pass->block].n_ops; k++) {
            const struct ty_op *op = &ty_pass_ops(p, pass)[k];
            const struct ty_kind *kind = &p->kinds[op->kind];
            const ty_ps start = ty_timeline_starts(&q->run->timeline, gang, pass->first_op + k)[0];
            if (op->stream == TY_STREAM_COMPUTE) {
                begun = pass->phase == phase ? begun : end;
                end = start + kind->dur;
            }
            if (pass->phase == phase) {
                sums.compute += op->stream == TY_STREAM_COMPUTE ? ty_s_from_ps(kind->dur) : 0;
                sums.fetch += op->stream == TY_STREAM_H2D ? ty_s_from_ps(kind->dur) : 0;
                sums.read += op->stream == TY_STREAM_NVME && strcmp(kind->group, "read") == 0
                                 ? ty_s_from_ps(kind->dur)
                                 : 0;
            }
        }
        if (pass->phase == phase) {
            sums.span = ty_s_from_ps(end - begun);
            return sums;
        }
        begun = end;
    }
    ck_abort_msg("no such pass");
    return sums;
}

/* The period of a chain of lanes with D units in it is max(max t, sum t / D): the whole is so many
 * of them, within one chain at either end. */
TEST(depth_hides_what_the_chain_formula_says)
{
    static const char *const rates[][2] = {
        {"cluster.nvme.read=28 GB/s", "cluster.host.link=12 GB/s"},
        {"cluster.nvme.read=2 GB/s", "cluster.host.link=12 GB/s"},
        {"cluster.nvme.read=28 GB/s", "cluster.host.link=3 GB/s"},
        {"cluster.nvme.read=6 GB/s", "cluster.host.link=6 GB/s"},
    };
    for (size_t i = 0; i < TY_COUNT(rates); i++) {
        for (uint32_t depth = 1; depth <= 9; depth++) {
            char set[64];
            (void)snprintf(set, sizeof(set), "layout.offload_depth=%u", depth);
            struct quick_run q = quick_run(chain, "events", SETS(set, rates[i][0], rates[i][1]));
            for (int back = 0; back < 2; back++) {
                const struct pass_sums s =
                    pass_sums(&q, back ? TY_PHASE_BACKWARD : TY_PHASE_FORWARD);
                const double sum = s.compute + s.fetch + s.read;
                const double most = fmax(s.compute, fmax(s.fetch, s.read));
                const double all = fmax(most, sum / depth), one = sum / CHAIN_LAYERS;
                ck_assert_double_ge(s.span, all - one);
                ck_assert_double_le(s.span, all + one);
            }
            quick_run_free(&q);
        }
    }
}

/* Rajbhandari et al. 2021, section 4: efficiency = ait bw / (ait bw + peak) where nothing overlaps;
 * ait: operations a byte, peak: of the operations that there are. */
TEST(without_overlap_efficiency_is_that_of_the_paper)
{
    struct quick_run q =
        quick_run(chain, "events", SETS("layout.offload=zero3-offload", "layout.offload_depth=1"));
    for (int back = 0; back < 2; back++) {
        const struct pass_sums s = pass_sums(&q, back ? TY_PHASE_BACKWARD : TY_PHASE_FORWARD);
        const double bytes = 2 * q.run->lowered.stage[0].params, flops = 1e15; /* any */
        const double ait = flops / bytes, bw = bytes / s.fetch, peak = flops / s.compute;
        ck_assert_double_eq_tol(s.compute / s.span, ait * bw / (ait * bw + peak), 1e-9);
    }
    quick_run_free(&q);
}

/* The host's chunks and the GPU's share run side by side: best where both take as long. */
TEST(twin_flow_is_fastest_where_host_and_gpu_take_as_long)
{
    static const char twin[] =
        "cluster: {preset: dgx2-v100, nodes: 1, gpus_per_node: 1, \n"
        "          host: {adam: 40e9, link: 400 GB/s, bandwidth: 4 TB/s}}\n"
        "model: {layers: 24, hidden: 2048, heads: 16, vocabulary: 128, sequence: 512,\n"
        "        dtype: fp16}\n"
        "layout: {global_batch: 8, micro_batch: 8, offload: zero-offload}\n"
        "framework: {preset: ideal, bucket: 20 MB}\n";
    double step[21], gpu = 0, host = 0;
    uint32_t best = 1;
    for (uint32_t i = 1; i <= 20; i++) {
        char set[64];
        (void)snprintf(set, sizeof(set), "layout.offload_share=%u %%", 5 * i);
        struct quick_run q = quick_run(twin, "events", SETS(set));
        step[i] = q.figures.step_s;
        best = step[i] < step[best] ? i : best;
        if (i == 10) { /* half of it each */
            const struct ty_program *p = &q.run->lowered.program;
            gpu = 2 * q.figures.bucket_s[TY_BUCKET_OPTIMIZER];
            host = moved_of(&q).updated / TY_HOST_UPDATE_B / 40e9 * 2;
            ck_assert_uint_gt(p->n_ops, 0);
        }
        quick_run_free(&q);
    }
    const double equal = gpu / (gpu + host); /* r host = (1 - r) gpu */
    ck_assert_double_eq_tol(0.05 * best, equal, 0.05);
    ck_assert_double_lt(step[best], step[20]);
}

/* The same batch on the same ranks, with the same stage of ZeRO. */
TEST(nothing_is_faster_for_being_elsewhere)
{
    static const char *const pairs[][2] = {
        {"layout.offload=zero-offload", "layout.zero=2"},
        {"layout.offload=zero3-offload", "layout.zero=3"},
        {"layout.offload=zero-infinity", "layout.zero=3"},
    };
    for (size_t i = 0; i < TY_COUNT(pairs); i++) {
        for (size_t n = 0; n < 4; n++) {
            char nodes[64], batch[64];
            (void)snprintf(nodes, sizeof(nodes), "cluster.nodes=%u", 1u << n);
            (void)snprintf(batch, sizeof(batch), "layout.global_batch=%u", 16u << n);
            struct quick_run none =
                quick_run(small, NULL, SETS(nodes, batch, pairs[i][1], "cluster.gpus_per_node=8"));
            struct quick_run away =
                quick_run(small, NULL,
                          SETS(nodes, batch, pairs[i][1], "cluster.gpus_per_node=8", pairs[i][0]));
            ck_assert_double_ge(away.figures.step_s, none.figures.step_s);
            quick_run_free(&none);
            quick_run_free(&away);
        }
    }
}

/* Ren et al. 2021, table 4: 4e9 parameters in 1.03 s, 10e9 in 2.57. */
TEST(the_host_updates_as_fast_as_measured)
{
    static const char one[] =
        "cluster: {preset: dgx2-v100, nodes: 1, gpus_per_node: 1}\n"
        "model: {layers: 50, hidden: 4096, heads: 32, vocabulary: 50304, sequence: 1024,\n"
        "        dtype: fp16}\n"
        "layout: {global_batch: 1, offload: zero-offload, recompute: full}\n"
        "framework: {preset: ideal}\n";
    struct quick_run q = quick_run(one, NULL, SETS(NULL));
    const struct ty_program *p = &q.run->lowered.program;
    double seconds = 0;
    const struct ty_pass *step = &ty_gang_passes(p, &p->gangs[0])[p->gangs[0].n_passes - 1];
    for (uint32_t k = 0; k < p->blocks[step->block].n_ops; k++) {
        const struct ty_op *op = &ty_pass_ops(p, step)[k];
        seconds += op->stream == TY_STREAM_HOST ? ty_s_from_ps(p->kinds[op->kind].dur) : 0;
    }
    ck_assert_double_eq_tol(seconds / q.run->lowered.stage[0].params * 10e9, 2.57, 0.02);
    quick_run_free(&q);
}

/* A delayed update runs beside a step. */
TEST(a_delayed_update_is_hidden_by_a_step_that_is_longer)
{
    struct quick_run now = quick_run(chain, "events", SETS("layout.offload=zero-offload"));
    struct quick_run late = quick_run(
        chain, "events", SETS("layout.offload=zero-offload", "layout.offload_delay=true"));
    struct quick_run steps =
        quick_run(chain, "events",
                  SETS("layout.offload=zero-offload", "layout.offload_delay=true", "run.steps=4"));
    const double gpu =
        pass_sums(&late, TY_PHASE_FORWARD).compute + pass_sums(&late, TY_PHASE_BACKWARD).compute;
    ck_assert_double_gt(now.figures.step_s, gpu * 1.1);
    ck_assert_double_lt(late.figures.step_s, gpu * 1.02);
    ck_assert_double_eq_tol(steps.figures.step_s, late.figures.step_s, 0.01 * gpu);
    quick_run_free(&now);
    quick_run_free(&late);
    quick_run_free(&steps);
}

TY_SUITE("offload")
