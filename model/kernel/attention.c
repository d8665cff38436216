/* attention.c - time of the attention core: scores, softmax, weighted values.
 *
 * FLASH  (FlashAttention 1, 2, 3: no score goes to memory.) FLOPs are causal, F = 2 b s^2 a d
 * forward and 2.5 F backward: five products, of which one repeats the scores (Dao et al. 2022). The
 * charts of Dao-AILab/flash-attention give the rate of both together, at 64 heads of 4096 tokens:
 *
 *     rate(s) = rate_max s / (s + half),   3.5 F / rate = F / forward + 2.5 F / (0.85 forward)
 *
 * so forward = 1.126 rate. Fewer heads leave the GPU partly idle (ty_attention_occupancy).
 *
 * SCORES IN MEMORY  (unfused; fused softmax: scale, mask and softmax in one kernel.) Two products
 * of full, not causal, matrices at 0.4 of the usual efficiency, and what the softmax moves. */
#include <math.h>

#include "model/kernel/kernel_internal.h"

/* Backward over forward rate, 64 heads: 157 / 185 TFLOP/s (MooreThreads/SimuMax, A100, s 4096). */
#define BACKWARD_RATE 0.85
#define BACKWARD_WORK 2.5 /* times the FLOPs of the forward (Dao et al. 2022), of equal widths */
/* Heads at which half the rate is reached, fitted on the same scan of 4 to 64 heads: forward 80,
 * 121, 154, 175, 185 TFLOP/s (within 6 %), backward 105, 119, 138, 151, 157 (within 5 %). That
 * longer sequences fill the GPU as more heads do is a guess; blocks are cut along both. */
#define FORWARD_HALF_HEADS  5.5
#define BACKWARD_HALF_HEADS 2.5
/* Tokens at half the rate without a causal mask over those with one; the charts: 185 / 485 (A100,
 * flash2), 191 / 532 and 209 / 603 (H100, flash2 and flash3), at rates within 6 % of the causal. */
#define FULL_HALF     0.37
#define FULL_HEADS    64.0   /* where the charts were taken */
#define FULL_SEQUENCE 4096.0 /* the scan's sequence */
/* Efficiency of batched score products over that of large ones. With it and a softmax in 16 bit the
 * unfused curve of the flash-attention charts, 34 TFLOP/s at 8192 tokens, comes out at 31. */
#define SCORE_GEMM_SHARE 0.4

double ty_attention_occupancy(double x, bool backward)
{
    const double half = backward ? BACKWARD_HALF_HEADS : FORWARD_HALF_HEADS;
    return fmin(1, (1 + half / FULL_HEADS) * x / (x + half));
}

/* Rate for other head sizes over that for 128, by what the flash-attention charts show for causal
 * attention: A100 176 / 194 (flash2; H100 293 / 333), 95 / 81 (flash1); H100 503 / 655 and, at 256,
 * 693 / 655 (flash3). Linear between. Below 64 a score takes a time for its exponential and one in
 * proportion to the size for its products, the line through 64 and 128: 0.75 at 32 (flash2), as
 * measured on A100 (139 / 185 TFLOP/s, feifeibear/long-context-attention, Ulysses). Where 64 is the
 * faster of the two there is no such line, and the rate is in proportion to the size (guess). */
static double head_factor(enum ty_attention kind, double d)
{
    static const struct {
        double at_64, at_256;
    } rows[TY_N_ATTENTION] = {
        [TY_ATTENTION_FLASH1] = {1.17, 1},
        [TY_ATTENTION_FLASH2] = {0.9, 1},
        [TY_ATTENTION_FLASH3] = {0.77, 1.06},
    };
    const double at_64 = rows[kind].at_64, at_256 = rows[kind].at_256;
    if (d < 64) {
        const double exponentials = 1 / at_64 - 1; /* of the time at 128; the rest is products */
        return at_64 < 1 ? d / 128 / (exponentials + (1 - exponentials) * d / 128) : at_64 * d / 64;
    }
    if (d < 128) {
        return at_64 + (1 - at_64) * (d - 64) / 64;
    }
    return d < 256 ? 1 + (at_256 - 1) * (d - 128) / 128 : at_256;
}

static double value_dim(const struct ty_attention_core *x)
{
    return x->value_dim > 0 ? x->value_dim : x->head_dim;
}

/* Of the five products of a backward three are as wide as queries, two as values. */
static double backward_work(const struct ty_attention_core *x)
{
    const double d = x->head_dim, v = value_dim(x);
    return (3 * d + 2 * v) / (d + v);
}

static bool is_flash(const struct ty_kernel *kernel)
{
    return kernel->variant >= TY_ATTENTION_FLASH1;
}

/* FlashAttention knows 16 bit; fp32 has that rate scaled by the peaks (guess), fp8 that very
 * rate. */
static double type_factor(const struct ty_gpu *gpu, int dtype)
{
    const double half = fmax(gpu->peak[TY_DTYPE_BF16], gpu->peak[TY_DTYPE_FP16]);
    if (dtype != TY_DTYPE_FP32 || half <= 0) {
        return 1;
    }
    return gpu->peak[TY_DTYPE_FP32] / half;
}

/* Pairs of a query and a key that are worked out, of one head and sequence. A window w of k keys
 * leaves w k - w^2 / 2 of the k^2 pairs, shared by queries as they come. */
static double pairs(const struct ty_attention_core *x, double queries)
{
    const double k = x->tokens, w = x->window;
    if (x->unmasked) {
        return queries * k;
    }
    if (w > 0 && w < k) {
        return queries * (w - w * w / (2 * k));
    }
    return (x->full ? 1 : 0.5) * queries * k;
}

static struct ty_cost flash(const struct ty_gpu *gpu, const struct ty_kernel *kernel, bool backward)
{
    const struct ty_attention_core *x = &kernel->attention;
    const struct ty_attention_curve *curve = &gpu->attention[kernel->variant];
    const double q = x->queries > 0 ? x->queries : x->tokens, b = x->sequences;
    const bool window = x->window > 0 && x->window < x->tokens;
    /* a query in a window sees as many keys as one in the middle of a sequence twice as long: a
     * guess, there are no charts of windows */
    const double s = window ? fmin(2 * x->window, x->tokens) : fmax(q, x->tokens);
    /* the curves are of causal FLOPs: a full square has twice as many and fills the GPU sooner */
    const double half = x->full || x->unmasked ? FULL_HALF * curve->half : curve->half;
    const double rate =
        curve->rate_max * s / (s + half) *
        head_factor((enum ty_attention)kernel->variant, (x->head_dim + value_dim(x)) / 2) *
        type_factor(gpu, kernel->dtype);
    const double forward_rate = rate * (1 + BACKWARD_WORK / BACKWARD_RATE) / (1 + BACKWARD_WORK);
    const double own_rate = backward ? forward_rate * BACKWARD_RATE : forward_rate;
    const double occupancy = ty_attention_occupancy(b * x->heads * q / FULL_SEQUENCE, backward);
    const double forward_flops = 2 * b * pairs(x, q) * x->heads * (x->head_dim + value_dim(x));
    const double flops = backward ? backward_work(x) * forward_flops : forward_flops;
    return (struct ty_cost){flops / (own_rate * occupancy) + gpu->kernel_overhead, flops};
}

/* Bytes that softmax and what belongs to it move for each score, and kernels they take. e: bytes of
 * an element; a dropout mask has 1.
 *
 * Unfused, forward: scale and mask read and write e each, the softmax is done in 32 bit: up (e +
 * 4), softmax (8), down (4 + e). Backward: down and up again (4 + e each), softmax reads two and
 * writes one (12), mask and scale as before. In the scores' own type nothing goes up or down, and
 * the softmax moves 2 e, and 3 e. Dropout reads e, writes e and the mask, both ways.
 * Fused softmax, forward: 7 + 5 with dropout at 16 bit, from Megatron-LM step times with dropout
 * (VIA-Research/vTrain), which put the sum at 8 to 16, weakly; backward 3 e, and dropout. */
struct score_traffic {
    double bytes, kernels;
};

static struct score_traffic score_traffic(const struct ty_kernel *kernel, bool backward)
{
    const bool fused = kernel->variant == TY_ATTENTION_FUSED_SOFTMAX;
    const double e = ty_dtype_bytes((enum ty_dtype)kernel->dtype);
    const struct score_traffic one =
        backward ? (struct score_traffic){3 * e, 1} : (struct score_traffic){3.5 * e, 1};
    const struct score_traffic narrow =
        backward ? (struct score_traffic){7 * e, 3} : (struct score_traffic){6 * e, 3};
    const struct score_traffic wide =
        backward ? (struct score_traffic){6 * e + 20, 5} : (struct score_traffic){6 * e + 16, 5};
    struct score_traffic traffic = fused ? one : kernel->attention.narrow ? narrow : wide;
    traffic.bytes += kernel->dropout ? 2 * e + 1 : 0;
    traffic.kernels += kernel->dropout ? 1 : 0;
    return traffic;
}

static struct ty_cost in_memory(const struct ty_gpu *gpu, const struct ty_kernel *kernel,
                                bool backward)
{
    const struct ty_attention_core *x = &kernel->attention;
    const double s = x->tokens, d = (x->head_dim + value_dim(x)) / 2;
    const double batch = x->sequences * x->heads; /* score matrices */
    /* One call each for scores and values, all matrices at once; backward: two each. */
    const struct ty_cost product = ty_gemm_cost(gpu, (enum ty_dtype)kernel->dtype, TY_FORWARD,
                                                SCORE_GEMM_SHARE, batch * s, s, d);
    const struct score_traffic traffic = score_traffic(kernel, backward);
    const double products = backward ? 4 : 2;
    const double seconds =
        traffic.bytes * batch * s * s / (gpu->memory_bandwidth * gpu->add_efficiency) +
        traffic.kernels * gpu->kernel_overhead;
    return (struct ty_cost){products * product.seconds + seconds, products * product.flops};
}

static struct ty_cost modelled(const struct ty_gpu *gpu, const struct ty_kernel *kernel,
                               bool backward)
{
    return is_flash(kernel) ? flash(gpu, kernel, backward) : in_memory(gpu, kernel, backward);
}

/* As measured, where it was; a size of micro-batch beyond those measured takes as many times the
 * nearest as the model says. */
struct ty_cost ty_attention_cost(const struct ty_gpu *gpu, const struct ty_kernel *kernel,
                                 bool backward)
{
    const struct ty_attention_core *x = &kernel->attention;
    const struct ty_operator_key key = {
        .op = TY_OPERATOR_ATTENTION,
        .role = backward ? TY_ROLE_BACKWARD : TY_ROLE_FORWARD,
        .dtype = kernel->dtype,
        .kernel = kernel->variant,
        .dim = {x->tokens, x->heads, x->kv_heads, x->head_dim, x->full ? 0 : 1,
                x->value_dim == x->head_dim ? 0 : x->value_dim},
    };
    struct ty_cost cost = modelled(gpu, kernel, backward);
    struct ty_operator_time measured;
    /* tables have whole sequences */
    const bool square = x->queries <= 0 && !x->unmasked && !(x->window > 0);
    if (!square || !ty_operators_find(gpu->operator_table, &key, x->sequences, &measured)) {
        return cost;
    }
    if (measured.at != x->sequences) {
        struct ty_kernel there = *kernel;
        there.attention.sequences = measured.at;
        measured.seconds *= cost.seconds / modelled(gpu, &there, backward).seconds;
    }
    cost.seconds = measured.seconds;
    return cost;
}
