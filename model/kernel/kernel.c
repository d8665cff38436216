/* kernel.c - looks up and computes the time of one kernel on one GPU. */
#include "model/kernel/kernel_internal.h"

#include <math.h>

/* ---- matrix products ---- */

/* A straight line in the FLOPs, 2 m n k / (peak e) + t0, is right within 5 to 7 % per product on
 * A100 and H100 (microsoft/vidur, data/profiling/compute, 1024 to 4096 rows). What it leaves out is
 * that a result is cut into tiles, which SMs work on side by side, wave after wave:
 *
 *     waves = ceil(m/a) ceil(n/b) / SMs
 *     FLOPs = 2 (k + r) a b SMs ((1 - c) waves + c ceil(waves))
 *
 * r, the ramp, is what it takes to fill and drain a tile. c is below 1 because a last wave that is
 * not full runs faster than the others. Large tiles load fewest operands for their products, small
 * ones leave less of a last wave empty; a library takes what suits the shape. With every step along
 * k a tile of a x b loads a + b operands, each in the time of q multiply-adds, so that it takes
 *
 *     (1 + q (1/a + 1/b)) / (1 + q (1/128 + 1/256))
 *
 * times as long for its FLOPs as the large ones that e is about; the fastest tile is taken. Fitted
 * on A100, all four at once, this is what tells large products from middle ones: 8192 rows and more
 * fill their waves and come out faster than 4096, as measured (Azure, below). Hopper's kernels gain
 * nothing from it in the same fit: they go on without a pause from tile to tile.
 *
 * The memory term binds for few rows only: within those measurements never above 1024. */

#define MEMORY_SHARE 0.8 /* of memory_bandwidth in a thin product; vidur: 0.77 A100, 0.87 H100 */

/* Tiles of cuBLAS, the most efficient first (NVIDIA, Matrix Multiplication Background User's
 * Guide). A product of large ones only has the first two. */
static const struct tile {
    double rows, cols;
} tiles[] = {{128, 256}, {256, 128}, {128, 128}, {64, 128}, {128, 64}, {64, 64}};
#define N_LARGE 2u

static double operand_bytes(enum ty_dtype dtype)
{
    static const double bytes[TY_N_DTYPES] = {[TY_DTYPE_BF16] = 2,
                                              [TY_DTYPE_FP16] = 2,
                                              [TY_DTYPE_FP32] = 4,
                                              [TY_DTYPE_FP8] = 1,
                                              [TY_DTYPE_NVFP4] = TY_FP4_B};
    return bytes[dtype];
}

static double large_efficiency(const struct ty_gpu *gpu, enum ty_dtype dtype)
{
    const double own = dtype == TY_DTYPE_FP8     ? gpu->fp8_efficiency
                       : dtype == TY_DTYPE_NVFP4 ? gpu->fp4_efficiency
                                                 : 0;
    return own > 0 ? own : gpu->gemm_efficiency;
}

/* Time of a tile's operands and products over that of its products alone. */
static double loaded(const struct ty_gpu *gpu, struct tile tile)
{
    return 1 + gpu->gemm_load * (1 / tile.rows + 1 / tile.cols);
}

/* One product, or one for each group. Rows of groups are m, in a weight gradient k; of_group NULL:
 * as many in each. */
struct product {
    enum ty_direction direction;
    double groups, m, n, k; /* m, k: of all groups, where they are rows */
    const double *of_group;
    double sum_B; /* of an element of the result that is added to what was there; 0: written */
    bool calls;   /* each group for itself */
    bool mx;      /* operands are MXFP8 */
};

/* Tiles of a rows along the rows of all groups: each group has whole ones of its own. */
static double row_tiles(const struct product *p, double a)
{
    if (p->direction == TY_WGRAD || p->of_group == NULL) {
        const double m = p->direction == TY_WGRAD ? p->m : p->m / p->groups;
        return p->groups * ceil(m / a);
    }
    double n = 0;
    for (uint32_t i = 0; i < (uint32_t)p->groups; i++) {
        n += ceil(p->of_group[i] / a);
    }
    return n;
}

/* FLOPs the GPU is busy for: those of whole tiles with their ramps, and in part of whole waves. */
static double busy_flops(const struct ty_gpu *gpu, enum ty_dtype dtype, const struct product *p)
{
    const double c = gpu->gemm_wave, depth = p->direction == TY_WGRAD ? p->k / p->groups : p->k;
    const double k = depth + (ty_dtype_is_narrow(dtype) ? gpu->fp8_ramp : gpu->gemm_ramp);
    if (c <= 0) {
        const double whole = row_tiles(p, tiles[0].rows) * tiles[0].rows;
        return 2 * (p->groups > 1 ? whole : p->m) * p->n * k;
    }
    const double sms = gpu->sms > 0 ? gpu->sms : 1;
    const size_t n_tiles = gpu->gemm_load > 0 ? TY_COUNT(tiles) : N_LARGE;
    double least = HUGE_VAL;
    for (size_t i = 0; i < n_tiles; i++) {
        const double waves = row_tiles(p, tiles[i].rows) * ceil(p->n / tiles[i].cols) / sms;
        const double area = tiles[i].rows * tiles[i].cols * ((1 - c) * waves + c * ceil(waves));
        least = fmin(least, area * loaded(gpu, tiles[i]));
    }
    return 2 * k * sms * least / loaded(gpu, tiles[0]);
}

static double operands(const struct product *p)
{
    return p->direction == TY_WGRAD ? p->m * p->k + p->k * p->n
                                    : p->m * p->k + p->groups * p->k * p->n;
}

static double results(const struct product *p)
{
    return p->direction == TY_WGRAD ? p->groups * p->m * p->n : p->m * p->n;
}

/* Products and memory work side by side. Only weight gradients in groups, which are short and write
 * more than they read, wait for what they write; they do not wait for their starts, too. */
static struct ty_cost matmul_modelled(const struct ty_gpu *gpu, enum ty_dtype dtype, double share,
                                      const struct product *p)
{
    const bool wgrad = p->direction == TY_WGRAD, writes = wgrad && p->groups > 1;
    const double rate =
        gpu->peak[dtype] * large_efficiency(gpu, dtype) * share * (p->mx ? gpu->mxfp8_speed : 1);
    const double result_B = results(p) * (p->sum_B > 0 ? 2 * p->sum_B : ty_dtype_bytes(dtype));
    const double bytes = operands(p) * operand_bytes(dtype) + result_B;
    const double written = writes ? gpu->wgrad_result * result_B / gpu->memory_bandwidth : 0;
    const double compute = busy_flops(gpu, dtype, p) / rate + written;
    const double memory = bytes / (MEMORY_SHARE * gpu->memory_bandwidth);
    const double starts = p->calls && !wgrad ? p->groups : 1;
    const double seconds = fmax(compute, memory) + starts * gpu->gemm_overhead;
    return (struct ty_cost){.seconds = seconds * (wgrad ? gpu->wgrad_slowdown : 1),
                            .flops = 2 * p->m * p->n * p->k};
}

/* As measured, where it was; another number of rows takes as many times the nearest as the model
 * says. */
static struct ty_cost cost_of(const struct ty_gpu *gpu, enum ty_dtype dtype, double share,
                              const struct product *p, int variant)
{
    static const int roles[] = {
        [TY_FORWARD] = TY_ROLE_FORWARD, [TY_DGRAD] = TY_ROLE_DGRAD, [TY_WGRAD] = TY_ROLE_WGRAD};
    struct ty_cost cost = matmul_modelled(gpu, dtype, share, p);
    struct ty_operator_time measured;
    double rows;
    struct ty_operator_key key = ty_operator_product(
        roles[p->direction], (int)dtype, p->groups > 1 ? p->groups : 0, p->m, p->n, p->k, &rows);
    key.kernel = variant;
    /* Many small products in one call, of less than full share, are another kernel. */
    if (share != 1 || !ty_operators_find(gpu->operator_table, &key, rows, &measured)) {
        return cost;
    }
    if (measured.at != rows || p->of_group != NULL) {
        struct product there = *p;
        *(p->direction == TY_WGRAD ? &there.k : &there.m) = measured.at;
        there.of_group = NULL;
        measured.seconds *= cost.seconds / matmul_modelled(gpu, dtype, share, &there).seconds;
    }
    cost.seconds = measured.seconds;
    return cost;
}

struct ty_cost ty_gemm_cost(const struct ty_gpu *gpu, enum ty_dtype dtype,
                            enum ty_direction direction, double share, double m, double n, double k)
{
    const struct product p = {.direction = direction, .groups = 1, .m = m, .n = n, .k = k};
    return cost_of(gpu, dtype, share, &p, TY_ANY_KERNEL);
}

/* C of a product in a pass, from the weight that it has going forward. */
static struct product in_pass(enum ty_direction direction, double rows, double in, double out)
{
    return (struct product){.direction = direction,
                            .groups = 1,
                            .m = direction == TY_WGRAD ? in : rows,
                            .n = direction == TY_DGRAD ? in : out,
                            .k = direction == TY_FORWARD ? in
                                 : direction == TY_DGRAD ? out
                                                         : rows};
}

static struct ty_cost matmul_cost(const struct ty_gpu *gpu, const struct ty_kernel *kernel,
                                  enum ty_direction direction)
{
    const struct ty_matmul *x = &kernel->matmul;
    struct product p = in_pass(direction, x->rows, x->in, x->out);
    p.mx = kernel->mx;
    return cost_of(gpu, (enum ty_dtype)kernel->dtype, 1, &p, TY_ANY_KERNEL);
}

/* One group is a plain product; none has no work. */
static struct ty_cost grouped_cost(const struct ty_gpu *gpu, const struct ty_kernel *kernel,
                                   enum ty_direction direction)
{
    const struct ty_grouped *x = &kernel->grouped;
    struct product p = in_pass(direction, x->rows, x->in, x->out);
    p.mx = kernel->mx;
    if (x->rows <= 0) {
        return (struct ty_cost){0};
    }
    if (x->groups > 1) {
        p.groups = x->groups;
        p.of_group = x->group_rows;
        p.sum_B = direction == TY_WGRAD ? x->sum_B : 0;
        p.calls = kernel->variant == TY_GROUPED_CALLS;
    }
    return cost_of(gpu, (enum ty_dtype)kernel->dtype, 1, &p,
                   x->groups > 1 ? kernel->variant : TY_ANY_KERNEL);
}

/* ---- attention: scores, softmax, weighted values ---- */

/* FLASH  (FlashAttention 1, 2, 3: no score goes to memory.) FLOPs are causal, F = 2 b s^2 a d
 * forward and 2.5 F backward: five products, of which one repeats the scores (Dao et al. 2022). The
 * charts of Dao-AILab/flash-attention give the rate of both together, at 64 heads of 4096 tokens:
 *
 *     rate(s) = rate_max s / (s + half),   3.5 F / rate = F / forward + 2.5 F / (0.85 forward)
 *
 * so forward = 1.126 rate. Fewer heads leave the GPU partly idle (ty_attention_occupancy).
 *
 * SCORES IN MEMORY  (unfused; fused softmax: scale, mask and softmax in one kernel.) Two products
 * of full, not causal, matrices at 0.4 of the usual efficiency, and what the softmax moves. */

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

/* Of the time of a score in fp8, heads of 128, what does not grow with their size: softmax and
 * casts. With it rows of NVIDIA/cudnn-frontend (GB200 and GB300, heads of 64, of 128 and of 192 and
 * 128) come out within 11 %, of 2048 tokens within 20 %. */
#define FP8_SOFTMAX 0.7

/* Over the rate of 16 bit and heads of 128. Charts are of 16 bit; fp32 has that rate scaled by the
 * peaks (guess). With products in fp8 or less the core still has 16 bit unless its operands are
 * cast, too. */
static double shape_factor(const struct ty_gpu *gpu, const struct ty_kernel *kernel)
{
    const struct ty_attention_core *x = &kernel->attention;
    const double half = fmax(gpu->peak[TY_DTYPE_BF16], gpu->peak[TY_DTYPE_FP16]);
    const double d = (x->head_dim + value_dim(x)) / 2;
    if (x->fp8) {
        return (kernel->mx ? gpu->mxfp8_attention : gpu->fp8_attention) * (d / 128) /
               (FP8_SOFTMAX + (1 - FP8_SOFTMAX) * d / 128);
    }
    const bool wide = kernel->dtype == TY_DTYPE_FP32 && half > 0;
    return head_factor((enum ty_attention)kernel->variant, d) *
           (wide ? gpu->peak[TY_DTYPE_FP32] / half : 1);
}

/* Pairs of a query and a key that are worked out, of one head and sequence. A window w of k keys
 * leaves w k - w^2 / 2 of the k^2 pairs, shared by queries as they come; w keys chosen of those
 * before a query are as many. */
static double pairs(const struct ty_attention_core *x, double queries)
{
    const double k = x->tokens, w = x->window;
    if (x->unmasked) {
        return queries * k;
    }
    return (x->full && !(w > 0 && w < k) ? 2 : 1) * ty_causal_pairs(queries, k, w);
}

static struct ty_cost flash(const struct ty_gpu *gpu, const struct ty_kernel *kernel, bool backward)
{
    struct ty_attention_core core = kernel->attention;
    const struct ty_attention_core *x = &core;
    core.window = backward && core.fp8 ? 0 : core.window; /* cuDNN 9.22 works out all scores */
    const struct ty_attention_curve *curve = &gpu->attention[kernel->variant];
    const double q = x->queries > 0 ? x->queries : x->tokens, b = x->sequences;
    const bool window = x->window > 0 && x->window < x->tokens;
    /* A query in a window sees as many keys as one in the middle of a sequence twice as long.
     * NVIDIA/cudnn-frontend, windows of 128 and 1024: GB200 and GB300 mostly within 10 %, H200 25 %
     * too fast. */
    const double s = window ? fmin(2 * x->window, x->tokens) : fmax(q, x->tokens);
    /* the curves are of causal FLOPs: a full square has twice as many and fills the GPU sooner */
    const double half = x->full || x->unmasked ? FULL_HALF * curve->half : curve->half;
    const double rate = curve->rate_max * s / (s + half) * shape_factor(gpu, kernel);
    const double forward_rate = rate * (1 + BACKWARD_WORK / BACKWARD_RATE) / (1 + BACKWARD_WORK);
    const double own_rate = backward ? forward_rate * BACKWARD_RATE : forward_rate;
    const double occupancy = ty_attention_occupancy(b * x->heads * q / FULL_SEQUENCE, backward);
    const double forward_flops = 2 * b * pairs(x, q) * x->heads * (x->head_dim + value_dim(x));
    const double flops = backward ? backward_work(x) * forward_flops : forward_flops;
    double seconds = flops / (own_rate * occupancy);
    if (x->chosen) { /* read in 16 bit, gradients added in 32; latents have values in them */
        const double width = x->head_dim + (x->value_dim > 0 ? 0 : x->head_dim);
        seconds =
            fmax(seconds, ty_chosen_seconds(gpu, b * pairs(x, q) * x->kv_heads,
                                            x->heads / x->kv_heads, (backward ? 4 : 2) * width));
    }
    return (struct ty_cost){.seconds = seconds + gpu->kernel_overhead, .flops = flops};
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
    return (struct ty_cost){.seconds = products * product.seconds + seconds,
                            .flops = products * product.flops};
}

static struct ty_cost attention_modelled(const struct ty_gpu *gpu, const struct ty_kernel *kernel,
                                         bool backward)
{
    return is_flash(kernel) ? flash(gpu, kernel, backward) : in_memory(gpu, kernel, backward);
}

/* As measured, where it was; a size of micro-batch beyond those measured takes as many times the
 * nearest as the model says. */
static struct ty_cost attention_cost(const struct ty_gpu *gpu, const struct ty_kernel *kernel,
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
    struct ty_cost cost = attention_modelled(gpu, kernel, backward);
    struct ty_operator_time measured;
    /* tables have whole sequences */
    const bool square = x->queries <= 0 && !x->unmasked && !(x->window > 0);
    if (!square || !ty_operators_find(gpu->operator_table, &key, x->sequences, &measured)) {
        return cost;
    }
    if (measured.at != x->sequences) {
        struct ty_kernel there = *kernel;
        there.attention.sequences = measured.at;
        measured.seconds *= cost.seconds / attention_modelled(gpu, &there, backward).seconds;
    }
    cost.seconds = measured.seconds;
    return cost;
}

/* ---- kernels whose time is the bytes they move ---- */

/*
 *     seconds = bytes / share * ((1 - hit) / memory_bandwidth + hit / l2_bandwidth)
 *               + kernel_overhead
 *     hit = near / (1 + (touched / l2)^2)
 *
 * Bytes are the ideal ones, each tensor read or written once; the share is measured per kernel. Of
 * a small tensor the L2 cache still has what the kernel before has written, and holds what this one
 * writes: `touched` are the bytes that go through it, `near` the part of them that was not left in
 * memory since the forward pass. Fitted to microsoft/vidur, which times kernels in the order of a
 * layer, as a step runs them: additions and norms of 2 to 200 MB. Kernels that do not reach half of
 * memory_bandwidth there wait for their instructions: their rate is the same in the cache and out
 * of it, and near is 0. e: bytes of an element. */

/* Share of memory_bandwidth of gathers and scatters of embedding rows; vidur: 300 of 2039 GB/s on
 * A100, 550 of 3350 on H100. */
#define EMBEDDING_SHARE 0.15
/* Of the loss over a sharded vocabulary (MooreThreads/SimuMax, A100). */
#define LOSS_SHARE 0.81
/* Bytes per logit, forward and backward.
 *
 * Sharded, as Megatron-LM's vocab_parallel_cross_entropy. Forward: the 32-bit copy (2 read, 4
 * written), its maximum (4), taken off (4, 4), exponentials (4, 4), their sum (4), probabilities
 * (4, 4). Backward: they are scaled (4, 4) and cast to 16 bit (4, 2). Eight stages that sail-sg
 * timed (VocabularyParallelism, A100) have 39 to 40 and 12, where products run at 250 TFLOP/s.
 *
 * Apart, as torch.nn.functional.cross_entropy on a 32-bit copy, and an arg-max for the accuracy
 * next to it. Forward: the copy (2, 4), log_softmax (4, 4), arg-max (2). Backward: the gradient of
 * nll_loss (4 written), that of log_softmax (8 read, 4 written), the cast to 16 bit (4, 2).
 *
 * Fused, as Transformer Engine's and flash-attention's: read for maximum and sum, then read and
 * overwritten by the gradient, which the backward scales (2, 2). */
static const struct loss_bytes {
    double forward, backward;
} loss_sharded = {38, 14},
  loss_bytes[] = {[TY_LOSS_APART] = {16, 22}, [TY_LOSS_FUSED] = {6, 4}, [TY_LOSS_METRIC] = {14, 0}};
/* Bytes per element of a merge, besides reading the partial result. In one kernel a 32-bit sum is
 * read and written. By operators, out - sigmoid(lse' - lse) (out - out'): out' is copied to 32 bit
 * (written), the difference reads two and writes one, its product with the weight reads and writes
 * one, the sum reads two and writes one (zhuzilin/ring-flash-attention, pytorch/pytorch). Gradients
 * are added in one kernel. */
#define MERGE_B         8.0
#define MERGE_UNFUSED_B 36.0
/* Norm: backward moves twice what forward does: reads output gradient, input and statistics, writes
 * the input gradient, and sums the parameters' gradients in a second kernel. */
#define NORM_BACKWARD 2.0
/* Reads and writes of a tensor when framework operators rotate it: x cos and x' sin (read, write
 * each), x' made by a negation and a concatenation (half read and written; read, write), their sum
 * (two reads, a write). */
#define ROPE_UNFUSED 10.0
/* Rows of tokens in the order of experts and back, in one kernel: sums of a published trace of
 * DeepSeek-V3 on H800, 4096 tokens of 64 ranks (deepseek-ai/profile-data): 192 us for 465 MB in fp8
 * and 318 us for 902 MB. By framework operators: MooreThreads/SimuMax. */
#define PERMUTE_SHARE         0.72
#define UNPERMUTE_SHARE       0.85
#define PERMUTE_UNFUSED_SHARE 0.19
/* Of a score, from logits to probabilities and the map of who goes where: some twenty passes of
 * framework operators in 32 bit and a top-k that reads its rows several times, about 0.3 ms of 4096
 * tokens and 256 experts on H100; in one kernel a sixth (guess, both). Going backward there is no
 * top-k (guess: half). */
#define ROUTER_B         160.0
#define ROUTER_UNFUSED_B 960.0
#define ROUTER_BACKWARD  0.5
/* What a kernel moves for each of its elements, and the share of the bandwidth it does it at. */
struct traffic {
    double bytes, share;
    double touched, near; /* bytes of an element in the cache at once; part of them: see above */
    double kernels;       /* of a fixed time each */
};

/* Of no use to the cache: tensors are too large, or the kernel waits for something else. */
static struct traffic streamed(double bytes, double share)
{
    return (struct traffic){bytes, share, 0, 0, 1};
}

/* A pass: the tensor is read and written once. The efficiency is in the number of passes. Backward
 * the input comes from memory; of three tensors two are near. Framework operators write what they
 * work out in 32 bit. */
static struct traffic norm(const struct ty_gpu *gpu, const struct ty_kernel *kernel, double e,
                           bool backward)
{
    const bool fused = kernel->variant == TY_FUSED;
    const double passes = fused ? gpu->norm_passes / kernel->speed : gpu->norm_passes_unfused;
    const double tensor_B = fused ? e : 4;
    return backward ? (struct traffic){NORM_BACKWARD * passes * 2 * e, 1, 3 * tensor_B, 2.0 / 3,
                                       NORM_BACKWARD}
                    : (struct traffic){passes * 2 * e, 1, 2 * tensor_B, 1, 1};
}

/* Forward: two read, one written; with dropout the mask is written in the same kernel. Backward:
 * the branch's gradient joins the trunk's; dropout reads gradient and mask and writes one. */
static struct traffic residual(const struct ty_gpu *gpu, const struct ty_kernel *kernel, double e,
                               bool backward)
{
    const double masked = backward ? 2 * e + 1 : 1;
    return (struct traffic){3 * e + (kernel->dropout ? masked : 0), gpu->add_efficiency, 3 * e, 1,
                            1};
}

/* A tensor times a number, or some of it dropped: with the mask, which is written or read. */
static struct traffic scale(const struct ty_gpu *gpu, const struct ty_kernel *kernel, double e)
{
    return (struct traffic){2 * e + (kernel->dropout ? 1 : 0), gpu->add_efficiency, 2 * e, 1, 1};
}

/* Queries and keys are read and written, forward and backward. */
static struct traffic rotary(const struct ty_gpu *gpu, const struct ty_kernel *kernel, double e)
{
    return kernel->variant == TY_FUSED
               ? streamed(2 * e, gpu->rope_efficiency)
               : (struct traffic){ROPE_UNFUSED * e, gpu->add_efficiency, 2 * e, 1, 1};
}

/* Tensors that the activation reads and writes. In one kernel SwiGLU reads gate and up and writes
 * the product; as two, silu(gate) is written and read again. Backward, besides the inputs the
 * output's gradient is read and each input's gradient written; as two kernels: the product reads
 * three and writes two, silu reads two and writes one. GELU is one kernel; biases are fused, but
 * for those of experts by the router's weight (TEGroupedMLP._apply_bias of Megatron-LM). These
 * take framework operators in 32 bit. Forward, tensors of 16 bit: bias times weight (2 written),
 * the sum (3 read, 2 written), a concatenation (2, 2) and a cast (2, 1). Backward: a cast (1, 2),
 * the row's gradient (2, 1) and its concatenation (1, 1), then for bias and weight each a product
 * (2, 2) and a sum (2). A clamp before the activation (weighted_bias_quick_geglu_impl) reads and
 * writes, as does the concatenation of gate and up; backward the clamp reads two, and the gradients
 * are joined. */
static struct traffic activation(const struct ty_gpu *gpu, const struct ty_kernel *kernel, double e,
                                 bool backward)
{
    static const struct {
        double forward, backward;
    } tensors[] = {[TY_ACTIVATION_GELU] = {2, 3},          [TY_ACTIVATION_SWIGLU] = {3, 5},
                   [TY_ACTIVATION_SWIGLU_REMADE] = {3, 6}, [TY_ACTIVATION_SWIGLU_UNFUSED] = {5, 8},
                   [TY_ACTIVATION_EXPERT_BIAS] = {14, 20}, [TY_ACTIVATION_CLAMP] = {4, 5}};
    const double n =
        backward ? tensors[kernel->variant].backward : tensors[kernel->variant].forward;
    return streamed(n * e, gpu->activation_efficiency);
}

/* Forward: rows are read and written; with dropout a mask too. Backward: the gradient is read, rows
 * of the table's gradient are read and written. */
static struct traffic embedding(const struct ty_kernel *kernel, double e, bool backward)
{
    return streamed((backward ? 3 : 2) * e + (kernel->dropout ? 1 : 0), EMBEDDING_SHARE);
}

/* A partial output is added to what other keys gave, in 32 bit, each by its weight; going backward
 * partial gradients of queries, keys and values are. */
static struct traffic merge(const struct ty_gpu *gpu, const struct ty_kernel *kernel, double e,
                            bool backward)
{
    const double forward = e + (kernel->variant == TY_FUSED ? MERGE_B : MERGE_UNFUSED_B);
    return streamed(backward ? kernel->gradients * (e + MERGE_B) : forward, gpu->add_efficiency);
}

/* Of an element of a row that is moved; the token's own is read or written once for all of them.
 * Going backward the way is the other one. */
static struct traffic permute(const struct ty_kernel *kernel, double e, bool backward)
{
    const struct ty_permute *x = &kernel->permute;
    const bool to_experts = (kernel->op == TY_OPERATOR_PERMUTE) != backward;
    const double element_B = to_experts && x->expert_B > 0 ? x->expert_B : e;
    const double fused = to_experts ? PERMUTE_SHARE : UNPERMUTE_SHARE;
    const double tokens = x->rows > 0 ? x->tokens / x->rows : 0; /* of a row */
    return streamed((1 + tokens) * element_B,
                    kernel->variant == TY_FUSED ? fused : PERMUTE_UNFUSED_SHARE);
}

static struct traffic router(const struct ty_kernel *kernel, bool backward)
{
    const double bytes = kernel->variant == TY_FUSED ? ROUTER_B : ROUTER_UNFUSED_B;
    return streamed((backward ? ROUTER_BACKWARD : 1) * bytes, 1);
}

/* Read and written; backward input and gradient are read, and one is written; where the scan needs
 * what it gives, it is made again before that (causal-conv1d, mamba_ssm). */
static struct traffic convolution(const struct ty_gpu *gpu, const struct ty_kernel *kernel,
                                  double e, bool backward)
{
    struct traffic traffic =
        streamed((backward ? 3 + 2 * kernel->gradients : 2) * e, gpu->activation_efficiency);
    traffic.kernels = backward ? 1 + kernel->gradients : 1;
    return traffic;
}

static struct traffic cast(const struct ty_gpu *gpu, const struct ty_kernel *kernel, double e,
                           bool backward)
{
    const double cast_B = kernel->dtype == TY_DTYPE_NVFP4 ? TY_FP4_B : TY_FP8_B;
    const double bytes[] = {[TY_CAST_QUANTIZE] = e + cast_B,
                            [TY_CAST_BOTH] = e + 2 * cast_B,
                            [TY_CAST_TRANSPOSE] = 2 * cast_B,
                            [TY_CAST_DEQUANTIZE] = cast_B + e,
                            [TY_CAST_AMAX] = e,
                            [TY_CAST_8BIT] = e + TY_GROUP_BYTES(8),
                            [TY_CAST_4BIT] = e + TY_GROUP_BYTES(4),
                            [TY_CAST_HADAMARD] = e + cast_B};
    const double times = backward ? kernel->gradients : 1;
    struct traffic traffic = streamed(times * bytes[kernel->variant], gpu->activation_efficiency);
    traffic.kernels = times > 0; /* of weights nothing is cast going backward */
    return traffic;
}

static struct traffic loss(const struct ty_kernel *kernel, bool backward)
{
    const struct loss_bytes bytes =
        kernel->variant == TY_ANY_KERNEL ? loss_sharded : loss_bytes[kernel->variant];
    struct traffic traffic = streamed(backward ? bytes.backward : bytes.forward, LOSS_SHARE);
    traffic.kernels = backward && bytes.backward == 0 ? 0 : 1;
    return traffic;
}

static struct traffic traffic_of(const struct ty_gpu *gpu, const struct ty_kernel *kernel,
                                 bool backward)
{
    const double e = ty_dtype_bytes((enum ty_dtype)kernel->dtype);
    switch (kernel->op) {
    case TY_OPERATOR_NORM:
        return norm(gpu, kernel, e, backward);
    case TY_OPERATOR_RESIDUAL:
        return residual(gpu, kernel, e, backward);
    case TY_OPERATOR_SCALE:
        return scale(gpu, kernel, e);
    case TY_OPERATOR_ROTARY:
        return rotary(gpu, kernel, e);
    case TY_OPERATOR_ACTIVATION:
        return activation(gpu, kernel, e, backward);
    case TY_OPERATOR_MERGE:
        return merge(gpu, kernel, e, backward);
    case TY_OPERATOR_EMBEDDING:
        return embedding(kernel, e, backward);
    case TY_OPERATOR_PERMUTE:
    case TY_OPERATOR_UNPERMUTE:
        return permute(kernel, e, backward);
    case TY_OPERATOR_ROUTER:
        return router(kernel, backward);
    case TY_OPERATOR_CONVOLUTION:
        return convolution(gpu, kernel, e, backward);
    case TY_OPERATOR_CAST:
        return cast(gpu, kernel, e, backward);
    default:
        return loss(kernel, backward);
    }
}

/* Share of a kernel's bytes that the L2 cache serves: none by one that is slower than memory. */
static double hits(const struct ty_gpu *gpu, const struct traffic *traffic, double elements)
{
    if (gpu->l2 <= 0 || gpu->l2_bandwidth <= gpu->memory_bandwidth) {
        return 0;
    }
    const double full = traffic->touched * elements / gpu->l2;
    return traffic->near / (1 + full * full);
}

static double modelled(const struct ty_gpu *gpu, const struct traffic *traffic, double elements)
{
    const double hit = hits(gpu, traffic, elements);
    const double cached = hit > 0 ? hit / gpu->l2_bandwidth : 0;
    return traffic->bytes * elements / traffic->share *
               ((1 - hit) / gpu->memory_bandwidth + cached) +
           traffic->kernels * gpu->kernel_overhead;
}

/* A kernel over so many elements as the GPU's table has it, else by the model; beyond the sizes of
 * the table, as many times the nearest as the model says. */
static struct ty_cost measured_or_modelled(const struct ty_gpu *gpu, const struct ty_kernel *kernel,
                                           enum ty_operator_role role,
                                           const struct traffic *traffic, double elements)
{
    const struct ty_operator_key key = {
        .op = kernel->op, .role = role, .dtype = kernel->dtype, .kernel = kernel->variant};
    const double model = modelled(gpu, traffic, elements);
    struct ty_operator_time measured;
    if (!ty_operators_find(gpu->operator_table, &key, elements, &measured)) {
        return (struct ty_cost){.seconds = model};
    }
    if (measured.at != elements) {
        measured.seconds *= model / modelled(gpu, traffic, measured.at);
    }
    return (struct ty_cost){.seconds = measured.seconds};
}

static double elements_of(const struct ty_kernel *kernel)
{
    const bool moves = kernel->op == TY_OPERATOR_PERMUTE || kernel->op == TY_OPERATOR_UNPERMUTE;
    return moves ? kernel->permute.rows * kernel->permute.width : kernel->elements;
}

static double elementwise_bytes(const struct ty_gpu *gpu, const struct ty_kernel *kernel)
{
    const double elements = elements_of(kernel);
    return elements > 0 ? traffic_of(gpu, kernel, false).bytes * elements : 0;
}

static struct ty_cost elementwise_cost(const struct ty_gpu *gpu, const struct ty_kernel *kernel,
                                       bool backward)
{
    const struct traffic traffic = traffic_of(gpu, kernel, backward);
    return measured_or_modelled(gpu, kernel, backward ? TY_ROLE_BACKWARD : TY_ROLE_FORWARD,
                                &traffic, elements_of(kernel));
}

/* Accumulation: a 16-bit result is read, the gradients of earlier micro-batches are read and their
 * sum written. */
static struct ty_cost update_cost(const struct ty_gpu *gpu, const struct ty_kernel *kernel)
{
    const struct ty_update *x = &kernel->update;
    const bool step = kernel->op == TY_OPERATOR_OPTIMIZER;
    const struct traffic traffic = step ? streamed(x->step_B, gpu->optimizer_efficiency)
                                        : streamed(2 + 2 * x->gradient_B, gpu->add_efficiency);
    return measured_or_modelled(gpu, kernel, step ? TY_ROLE_STEP : TY_ROLE_WGRAD, &traffic,
                                x->params);
}

struct ty_cost ty_kernel_cost(const struct ty_gpu *gpu, const struct ty_kernel *kernel,
                              enum ty_direction direction)
{
    switch (kernel->op) {
    case TY_OPERATOR_MATMUL:
        return matmul_cost(gpu, kernel, direction);
    case TY_OPERATOR_GROUPED:
        return grouped_cost(gpu, kernel, direction);
    case TY_OPERATOR_ACCUMULATION:
    case TY_OPERATOR_OPTIMIZER:
        return update_cost(gpu, kernel);
    default:
        break;
    }
    if (direction == TY_WGRAD) {
        return (struct ty_cost){0};
    }
    if (kernel->op == TY_OPERATOR_SCAN) {
        return ty_scan_cost(gpu, kernel, direction == TY_DGRAD);
    }
    if (kernel->op == TY_OPERATOR_INDEX) {
        return ty_index_cost(gpu, kernel, direction == TY_DGRAD);
    }
    return kernel->op == TY_OPERATOR_ATTENTION
               ? attention_cost(gpu, kernel, direction == TY_DGRAD)
               : elementwise_cost(gpu, kernel, direction == TY_DGRAD);
}

/* Queries and output, keys and values; scores where they go through memory are not counted. */
static double attention_bytes(const struct ty_attention_core *x, double e)
{
    const double queries = x->queries > 0 ? x->queries : x->tokens;
    const double both = x->head_dim + (x->value_dim > 0 ? x->value_dim : x->head_dim);
    return e * x->sequences * both * (queries * x->heads + x->tokens * x->kv_heads);
}

double ty_kernel_bytes(const struct ty_gpu *gpu, const struct ty_kernel *kernel)
{
    const double e = ty_dtype_bytes((enum ty_dtype)kernel->dtype);
    const struct ty_matmul *m = &kernel->matmul;
    const struct ty_grouped *g = &kernel->grouped;
    switch (kernel->op) {
    case TY_OPERATOR_MATMUL:
        return e * (m->rows * m->in + m->in * m->out + m->rows * m->out);
    case TY_OPERATOR_GROUPED:
        return e * (g->rows * g->in + g->groups * g->in * g->out + g->rows * g->out);
    case TY_OPERATOR_ATTENTION:
        return attention_bytes(&kernel->attention, e);
    case TY_OPERATOR_SCAN:
        return ty_scan_bytes(kernel);
    case TY_OPERATOR_INDEX:
        return ty_index_bytes(kernel);
    default:
        return elementwise_bytes(gpu, kernel);
    }
}

/* The same of a pass. The backward of attention reads what the forward did, the gradient of its
 * result as well, and writes three; that of a scan or an indexer counts as much (guess). */
static double moved_bytes(const struct ty_gpu *gpu, const struct ty_kernel *kernel,
                          enum ty_direction direction)
{
    const bool backward = direction == TY_DGRAD;
    switch (kernel->op) {
    case TY_OPERATOR_MATMUL:
    case TY_OPERATOR_GROUPED:
        return ty_kernel_bytes(gpu, kernel);
    case TY_OPERATOR_ATTENTION:
    case TY_OPERATOR_SCAN:
    case TY_OPERATOR_INDEX:
        return ty_kernel_bytes(gpu, kernel) * (backward ? 2 : 1);
    case TY_OPERATOR_ACCUMULATION:
        return kernel->update.params * (2 + 2 * kernel->update.gradient_B);
    case TY_OPERATOR_OPTIMIZER:
        return kernel->update.params * kernel->update.step_B;
    default:
        return traffic_of(gpu, kernel, backward).bytes * elements_of(kernel);
    }
}

double ty_kernel_joules(const struct ty_gpu *gpu, const struct ty_kernel *kernel,
                        enum ty_direction direction, const struct ty_cost *cost)
{
    const bool wide = kernel->op == TY_OPERATOR_ATTENTION; /* its softmax stays in 32 bit */
    const double peak = gpu->peak[wide ? TY_DTYPE_FP16 : kernel->dtype];
    const double computes = peak > 0 ? gpu->tensor_power * cost->flops / peak : 0;
    const double moves =
        gpu->memory_power * moved_bytes(gpu, kernel, direction) / gpu->memory_bandwidth;
    const double most = (gpu->board_power - gpu->active_power) * cost->seconds;
    return gpu->board_power > 0 ? fmin(computes + moves, most) : computes + moves;
}
