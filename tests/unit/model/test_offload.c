/* test_offload.c - what lives beside the GPU: bytes on every link, what overlaps with what, where
 * it fits. P: parameters, X = 2 P bytes, N data ranks, k micro-batches, as in the papers. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/run/away.h"
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
START_TEST(zero_offload_moves_two_bytes_each_way)
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
END_TEST

/* X/N up in every forward and every backward. */
START_TEST(zero3_offload_fetches_parameters_in_every_pass)
{
    for (size_t i = 0; i < TY_COUNT(ranks); i++) {
        for (uint32_t k = 1; k <= 8; k++) {
            const struct moved m = moved_with(ranks[i], k, SETS("layout.offload=zero3-offload"));
            demand(&m, 2.0 * k, 4.0 * k, 0, 0);
        }
    }
}
END_TEST

/* The drive: parameters in every use; the optimizer's 12 bytes and the gradient both ways, and what
 * the update made of the parameter. */
START_TEST(zero_infinity_reads_and_writes_what_the_paper_says)
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
END_TEST

START_TEST(a_share_of_the_optimizer_moves_that_share)
{
    static const char *const share[] = {"layout.offload_share=0.25", "layout.offload_share=0.5"};
    for (size_t i = 0; i < TY_COUNT(share); i++) {
        const double r = 0.25 * (double)(i + 1);
        const struct moved m = moved_with(8, 2, SETS("layout.offload=zero-offload", share[i]));
        demand(&m, 4 * r, 2 * r, 0, 0);
    }
}
END_TEST

TY_SUITE("offload", zero_offload_moves_two_bytes_each_way,
         zero3_offload_fetches_parameters_in_every_pass,
         zero_infinity_reads_and_writes_what_the_paper_says,
         a_share_of_the_optimizer_moves_that_share)
