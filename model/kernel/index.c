/* index.c - which keys a query looks at: an indexer (DeepSeek-AI 2025, DeepSeek-V3.2).
 *
 *     I(t, s) = sum over heads of w(t) relu(q(t) k(s))     one key for all heads
 *
 * Forward, kernels one after the other: all scores, in fp8 where the GPU has it, written in 32 bit;
 * the largest of every query; and the loss, which is how far the softmax of the chosen scores is
 * from the weights that all heads of attention together give to these keys, so that their products
 * of queries and keys are made once more. Backward, of chosen keys alone: scores again and the
 * gradients of queries and keys, those of keys added up in the cache.
 *
 * A core over chosen keys reads them for every query, and adds gradients to them, through the L2
 * cache: a block has 64 heads of a query (tile-ai/tilelang, examples/deepseek_v32). With
 * FlashAttention 3's rate for heads of 256 it comes to 607 TFLOP/s for 2048 of many keys on H100;
 * FlashMLA's README says 640 on H800, 1450 on B200. */
#include <math.h>

#include "model/kernel/kernel_internal.h"

#define BLOCK_HEADS 64.0
/* Products of an indexer over those of large GEMMs: relu and the sum over heads are done between
 * them (guess). */
#define INDEX_SHARE 0.8
#define TOPK_READS  2.0 /* of the scores: a histogram, then those above its bound (guess) */

double ty_causal_pairs(double queries, double k, double w)
{
    return w > 0 && w < k ? queries * (w - w * w / (2 * k)) : queries * k / 2;
}

double ty_chosen_seconds(const struct ty_gpu *gpu, double pairs, double heads, double bytes)
{
    const double rate = fmax(gpu->l2_bandwidth, gpu->memory_bandwidth);
    return pairs * ceil(heads / BLOCK_HEADS) * bytes / rate;
}

static double queries_of(const struct ty_index *x)
{
    return x->sequences * (x->queries > 0 ? x->queries : x->tokens);
}

/* Products next to memory. */
static struct ty_cost step(const struct ty_gpu *gpu, double peak, double flops, double bytes)
{
    const double compute = flops / (peak * gpu->gemm_efficiency * INDEX_SHARE);
    const double memory = bytes / (gpu->memory_bandwidth * gpu->activation_efficiency);
    return (struct ty_cost){.seconds = fmax(compute, memory) + gpu->kernel_overhead,
                            .flops = flops};
}

struct ty_cost ty_index_cost(const struct ty_gpu *gpu, const struct ty_kernel *kernel,
                             bool backward)
{
    const struct ty_index *x = &kernel->index;
    const double wide = fmax(gpu->peak[TY_DTYPE_BF16], gpu->peak[TY_DTYPE_FP16]);
    const double peak = kernel->dtype == TY_DTYPE_FP32 ? gpu->peak[TY_DTYPE_FP32] : wide;
    const double all = ty_causal_pairs(queries_of(x), x->tokens, 0);
    const double chosen = ty_causal_pairs(queries_of(x), x->tokens, x->chosen);
    const double pair = 2 * x->heads * x->width;
    if (backward) {
        struct ty_cost cost = step(gpu, peak, 3 * pair * chosen, 3 * 4 * chosen);
        cost.seconds = fmax(cost.seconds, ty_chosen_seconds(gpu, chosen, x->heads, 4 * x->width));
        return cost;
    }
    const double teacher = 2 * x->teachers * x->teacher_width;
    struct ty_cost cost = step(gpu, fmax(peak, gpu->peak[TY_DTYPE_FP8]), pair * all, 4 * all);
    cost = ty_cost_plus(cost, step(gpu, peak, 0, TOPK_READS * 4 * all + 4 * chosen));
    return ty_cost_plus(cost, step(gpu, peak, teacher * chosen, 3 * 4 * chosen));
}

double ty_index_bytes(const struct ty_kernel *kernel)
{
    const struct ty_index *x = &kernel->index;
    return queries_of(x) * (x->heads + 1) * x->width +
           4 * ty_causal_pairs(queries_of(x), x->tokens, x->chosen);
}
