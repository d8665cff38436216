/* gemm.c - time of a matrix product.
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

#include "model/kernels_internal.h"

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
static double busy_flops(const struct ty_cluster *cluster, double m, double n, double depth)
{
    const double c = cluster->gemm_wave, k = depth + cluster->gemm_ramp;
    if (c <= 0) {
        return 2 * m * n * k;
    }
    const double sms = cluster->sms > 0 ? cluster->sms : 1;
    const double upright = ceil(m / TILE_ROWS) * ceil(n / TILE_COLS);
    const double flat = ceil(m / TILE_COLS) * ceil(n / TILE_ROWS);
    const double waves = fmin(upright, flat) / sms;
    return 2 * k * TILE_ROWS * TILE_COLS * sms * ((1 - c) * waves + c * ceil(waves));
}

static struct ty_cost modelled(const struct ty_cluster *cluster, enum ty_dtype dtype,
                               enum ty_gemm_role role, double share, double m, double n, double k)
{
    const double rate = cluster->peak[dtype] * cluster->gemm_efficiency * share;
    const double operands = (m * k + k * n) * operand_bytes(dtype);
    const double result = m * n * ty_dtype_bytes(dtype);
    const double compute = busy_flops(cluster, m, n, k) / rate;
    const double memory = (operands + result) / (MEMORY_SHARE * cluster->memory_bandwidth);
    const double slower = role == TY_GEMM_WGRAD ? cluster->wgrad_slowdown : 1;
    return (struct ty_cost){(fmax(compute, memory) + cluster->gemm_overhead) * slower,
                            2 * m * n * k};
}

struct ty_cost ty_gemm_cost_at(const struct ty_cluster *cluster, enum ty_dtype dtype,
                               enum ty_gemm_role role, double share, double m, double n, double k)
{
    static const int roles[] = {[TY_GEMM_FORWARD] = TY_ROLE_FORWARD,
                                [TY_GEMM_DGRAD] = TY_ROLE_DGRAD,
                                [TY_GEMM_WGRAD] = TY_ROLE_WGRAD};
    struct ty_cost cost = modelled(cluster, dtype, role, share, m, n, k);
    struct ty_operator_time measured;
    double tokens;
    const struct ty_operator_key key =
        ty_operator_matmul(roles[role], (int)dtype, m, n, k, &tokens);
    /* Many small products in one call, of less than full share, are another kernel. */
    if (share != 1 || !ty_operators_find(cluster->operator_table, &key, tokens, &measured)) {
        return cost;
    }
    if (measured.at != tokens) {
        const bool wgrad = role == TY_GEMM_WGRAD;
        const struct ty_cost there = modelled(cluster, dtype, role, share, wgrad ? m : measured.at,
                                              n, wgrad ? measured.at : k);
        measured.seconds *= cost.seconds / there.seconds;
    }
    cost.seconds = measured.seconds;
    return cost;
}

struct ty_cost ty_gemm_cost(const struct ty_cluster *cluster, enum ty_dtype dtype,
                            enum ty_gemm_role role, double m, double n, double k)
{
    struct ty_cost cost = ty_gemm_cost_at(cluster, dtype, role, 1, m, n, k);
    cost.seconds *= cluster->derate;
    return cost;
}
