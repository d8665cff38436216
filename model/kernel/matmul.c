/* matmul.c - time of a matrix product.
 *
 * A straight line in the FLOPs, 2 m n k / (peak e) + t0, is right within 5 to 7 % per product on
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
#include <math.h>

#include "model/kernel/kernel_internal.h"

#define MEMORY_SHARE 0.8 /* of memory_bandwidth in a thin product; vidur: 0.77 A100, 0.87 H100 */

/* Tiles of cuBLAS, the most efficient first (NVIDIA, Matrix Multiplication Background User's
 * Guide). A product of large ones only has the first two. */
static const struct tile {
    double rows, cols;
} tiles[] = {{128, 256}, {256, 128}, {128, 128}, {64, 128}, {128, 64}, {64, 64}};
#define N_LARGE 2u

static double operand_bytes(enum ty_dtype dtype)
{
    static const double bytes[TY_N_DTYPES] = {
        [TY_DTYPE_BF16] = 2, [TY_DTYPE_FP16] = 2, [TY_DTYPE_FP32] = 4, [TY_DTYPE_FP8] = 1};
    return bytes[dtype];
}

/* Time of a tile's operands and products over that of its products alone. */
static double loaded(const struct ty_gpu *gpu, struct tile tile)
{
    return 1 + gpu->gemm_load * (1 / tile.rows + 1 / tile.cols);
}

/* FLOPs the GPU is busy for: those of whole tiles with their ramps, and in part of whole waves. */
static double busy_flops(const struct ty_gpu *gpu, double m, double n, double depth)
{
    const double c = gpu->gemm_wave, k = depth + gpu->gemm_ramp;
    if (c <= 0) {
        return 2 * m * n * k;
    }
    const double sms = gpu->sms > 0 ? gpu->sms : 1;
    const size_t n_tiles = gpu->gemm_load > 0 ? TY_COUNT(tiles) : N_LARGE;
    double least = HUGE_VAL;
    for (size_t i = 0; i < n_tiles; i++) {
        const double waves = ceil(m / tiles[i].rows) * ceil(n / tiles[i].cols) / sms;
        const double area = tiles[i].rows * tiles[i].cols * ((1 - c) * waves + c * ceil(waves));
        least = fmin(least, area * loaded(gpu, tiles[i]));
    }
    return 2 * k * sms * least / loaded(gpu, tiles[0]);
}

static struct ty_cost modelled(const struct ty_gpu *gpu, enum ty_dtype dtype,
                               enum ty_direction direction, double share, double m, double n,
                               double k)
{
    const double rate = gpu->peak[dtype] * gpu->gemm_efficiency * share;
    const double operands = (m * k + k * n) * operand_bytes(dtype);
    const double result = m * n * ty_dtype_bytes(dtype);
    const double compute = busy_flops(gpu, m, n, k) / rate;
    const double memory = (operands + result) / (MEMORY_SHARE * gpu->memory_bandwidth);
    const double slower = direction == TY_WGRAD ? gpu->wgrad_slowdown : 1;
    return (struct ty_cost){(fmax(compute, memory) + gpu->gemm_overhead) * slower, 2 * m * n * k};
}

struct ty_cost ty_gemm_cost(const struct ty_gpu *gpu, enum ty_dtype dtype,
                            enum ty_direction direction, double share, double m, double n, double k)
{
    static const int roles[] = {
        [TY_FORWARD] = TY_ROLE_FORWARD, [TY_DGRAD] = TY_ROLE_DGRAD, [TY_WGRAD] = TY_ROLE_WGRAD};
    struct ty_cost cost = modelled(gpu, dtype, direction, share, m, n, k);
    struct ty_operator_time measured;
    double tokens;
    const struct ty_operator_key key =
        ty_operator_matmul(roles[direction], (int)dtype, m, n, k, &tokens);
    /* Many small products in one call, of less than full share, are another kernel. */
    if (share != 1 || !ty_operators_find(gpu->operator_table, &key, tokens, &measured)) {
        return cost;
    }
    if (measured.at != tokens) {
        const bool wgrad = direction == TY_WGRAD;
        const struct ty_cost there = modelled(gpu, dtype, direction, share, wgrad ? m : measured.at,
                                              n, wgrad ? measured.at : k);
        measured.seconds *= cost.seconds / there.seconds;
    }
    cost.seconds = measured.seconds;
    return cost;
}

struct ty_cost ty_matmul_cost(const struct ty_gpu *gpu, const struct ty_kernel *kernel,
                              enum ty_direction direction)
{
    const struct ty_matmul *x = &kernel->matmul;
    const double m = direction == TY_WGRAD ? x->in : x->rows;
    const double n = direction == TY_DGRAD ? x->in : x->out;
    const double k = direction == TY_FORWARD ? x->in : direction == TY_DGRAD ? x->out : x->rows;
    return ty_gemm_cost(gpu, (enum ty_dtype)kernel->dtype, direction, 1, m, n, k);
}
