/* test_offload_published.c - what others say of states beside the GPU: how throughput grows.
 *
 * tests/ledger/offload_tables.py has the largest models that a machine trains so. */
#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Each rank updates and moves 1/N of the states and computes as much as ever: 200B on 64 and 512
 * GPUs becomes more than 8 times as fast (published: 9.1, DeepSpeed's post of 2021-03-08). */
TEST(throughput_grows_faster_than_the_number_of_gpus)
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

TY_SUITE("offload_published")
