/* matmul.c - time of a matrix product.
 *
 * A straight line in the FLOPs: 2 m n k / (peak e) + t0. Fitted on 1000 products timed on A100 and
 * H100 (microsoft/vidur, data/profiling/compute, 1024 to 4096 rows) it is right within 5 to 7 % per
 * product. Whole waves of tiles (weight 1) fit worse; a part of them, and a ramp r that fills and
 * drains each tile, fit a little better:
 *
 *     tiles = ceil(m/128) ceil(n/256), or the other way round if that is fewer
 *     waves = tiles / SMs
 *     FLOPs = 2 (k + r) 128 256 SMs ((1 - c) waves + c ceil(waves))
 *
 * The memory term binds for few rows only: within those measurements never above 1024. */
#include <math.h>

#include "model/kernel/kernel_internal.h"

#define TILE_ROWS    128.0 /* of the tile that large products use (NVIDIA, Matrix Multiplication */
#define TILE_COLS    256.0 /* Background User's Guide) */
#define MEMORY_SHARE 0.8   /* of memory_bandwidth in a thin product; vidur: 0.77 A100, 0.87 H100 */

static double operand_bytes(enum ty_dtype dtype)
{
    static const double bytes[TY_N_DTYPES] = {
        [TY_DTYPE_BF16] = 2, [TY_DTYPE_FP16] = 2, [TY_DTYPE_FP32] = 4, [TY_DTYPE_FP8] = 1};
    return bytes[dtype];
}

/* FLOPs the GPU is busy for: those of whole tiles with their ramps, and in part of whole waves. */
static double busy_flops(const struct ty_gpu *gpu, double m, double n, double depth)
{
    const double c = gpu->gemm_wave, k = depth + gpu->gemm_ramp;
    if (c <= 0) {
        return 2 * m * n * k;
    }
    const double sms = gpu->sms > 0 ? gpu->sms : 1;
    const double upright = ceil(m / TILE_ROWS) * ceil(n / TILE_COLS);
    const double flat = ceil(m / TILE_COLS) * ceil(n / TILE_ROWS);
    const double waves = fmin(upright, flat) / sms;
    return 2 * k * TILE_ROWS * TILE_COLS * sms * ((1 - c) * waves + c * ceil(waves));
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
