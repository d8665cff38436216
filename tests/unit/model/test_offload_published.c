/* test_offload_published.c - what others say of states beside the GPU: the largest models that a
 * machine trains so, and how throughput grows. */
#include <stdio.h>
#include <string.h>

#include "sim/run/away.h"
#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- room ---- */

/* Largest models of one DGX-2 by system (slides of ZeRO-Infinity, SC21); the next one does not fit,
 * and why. Shapes: ZeRO-Offload, table 2; ZeRO-Infinity, table 1. */
START_TEST(the_largest_models_of_a_dgx2_are_those_published)
{
    static const struct {
        const char *offload, *zero;
        uint32_t gpus, layers, hidden, tensor;
        const char *full; /* what is too small: "gpu", a tier, NULL: all fits */
    } rows[] = {
        {"none", "0", 16, 24, 2048, 1, NULL}, /* 1.4B */
        {"none", "0", 16, 40, 2048, 1, "gpu"},
        {"zero-offload", NULL, 16, 65, 4096, 1, NULL}, /* 13B */
        {"zero-offload", NULL, 1, 65, 4096, 1, NULL},
        {"zero-offload", NULL, 1, 25, 8192, 1, "gpu"}, /* 20B */
        {"none", "3", 16, 25, 8192, 1, NULL},
        {"none", "3", 16, 50, 8192, 1, "gpu"}, /* 40B */
        {"zero3-offload", NULL, 1, 50, 8192, 1, NULL},
        {"zero3-offload", NULL, 16, 69, 9216, 1, NULL},    /* 70B */
        {"zero3-offload", NULL, 16, 125, 8192, 1, "host"}, /* 100B */
        {"zero-infinity", NULL, 16, 128, 25600, 4, NULL},  /* 1T */
        {"zero3-offload", NULL, 16, 128, 25600, 4, "host"},
        {"zero-infinity", NULL, 16, 160, 32768, 8, "nvme"}, /* 2T */
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        char text[640];
        (void)snprintf(text, sizeof(text),
                       "cluster: {preset: dgx2-v100, nodes: 1, gpus_per_node: %u}\n"
                       "model: {layers: %u, hidden: %u, heads: %u, vocabulary: 50304,\n"
                       "        sequence: 1024, dtype: fp16}\n"
                       "layout: {global_batch: %u, tensor: %u, recompute: full, offload: %s%s%s}\n"
                       "framework: {preset: megatron-deepspeed, bucket: 400 MB}\n",
                       rows[i].gpus, rows[i].layers, rows[i].hidden, rows[i].hidden / 128,
                       rows[i].gpus / rows[i].tensor, rows[i].tensor, rows[i].offload,
                       rows[i].zero != NULL ? ", zero: " : "",
                       rows[i].zero != NULL ? rows[i].zero : "");
        struct quick_run q = quick_run(text, NULL, SETS(NULL));
        struct ty_bill bill;
        ty_run_fullest(q.run, &bill);
        const struct ty_away_bill *beside = ty_run_away_short(q.run);
        const char *full = beside != NULL                   ? beside->tier
                           : bill.total_B > bill.capacity_B ? "gpu"
                                                            : "none";
        ck_assert_msg(strcmp(full, rows[i].full != NULL ? rows[i].full : "none") == 0,
                      "%s of %u layers of %u: %s is too small", rows[i].offload, rows[i].layers,
                      rows[i].hidden, full);
        ck_assert_int_eq(ty_run_fits(q.run), rows[i].full == NULL);
        quick_run_free(&q);
    }
}
END_TEST

/* Each rank updates and moves 1/N of the states and computes as much as ever: 200B on 64 and 512
 * GPUs becomes more than 8 times as fast (published: 9.1, DeepSpeed's post of 2021-03-08). */
START_TEST(throughput_grows_faster_than_the_number_of_gpus)
{
    static const char text[] =
        "cluster: {preset: dgx2-v100, nodes: 4}\n"
        "model: {layers: 100, hidden: 12800, heads: 100, vocabulary: 50304, sequence: 1024,\n"
        "        dtype: fp16}\n"
        "layout: {global_batch: 192, micro_batch: 3, recompute: full, offload: zero3-offload}\n"
        "framework: {preset: megatron-deepspeed, bucket: 400 MB, overlap_grad_reduce: true}\n";
    struct quick_run few = quick_run(text, NULL, SETS(NULL));
    struct quick_run many =
        quick_run(text, NULL, SETS("cluster.nodes=32", "layout.global_batch=1536"));
    const double grown = many.figures.tokens_per_s / few.figures.tokens_per_s;
    ck_assert(ty_run_fits(few.run) && ty_run_fits(many.run));
    ck_assert_double_gt(grown, 8.5);
    ck_assert_double_eq_tol(grown, 9.1, 0.1 * 9.1);
    quick_run_free(&few);
    quick_run_free(&many);
}
END_TEST

TY_SUITE("offload_published", the_largest_models_of_a_dgx2_are_those_published,
         throughput_grows_faster_than_the_number_of_gpus)
