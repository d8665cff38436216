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

/* One product, or one for each group. Rows of groups are m, in a weight gradient k; of_group NULL:
 * as many in each. */
struct product {
    enum ty_direction direction;
    double groups, m, n, k; /* m, k: of all groups, where they are rows */
    const double *of_group;
    double sum_B; /* of an element of the result that is added to what was there; 0: written */
    bool calls;   /* each group for itself */
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
    const double k = depth + (dtype == TY_DTYPE_FP8 ? gpu->fp8_ramp : gpu->gemm_ramp);
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
static struct ty_cost modelled(const struct ty_gpu *gpu, enum ty_dtype dtype, double share,
                               const struct product *p)
{
    const bool wgrad = p->direction == TY_WGRAD, writes = wgrad && p->groups > 1;
    const double rate = gpu->peak[dtype] * gpu->gemm_efficiency * share;
    const double result_B = results(p) * (p->sum_B > 0 ? 2 * p->sum_B : ty_dtype_bytes(dtype));
    const double bytes = operands(p) * operand_bytes(dtype) + result_B;
    const double written = writes ? gpu->wgrad_result * result_B / gpu->memory_bandwidth : 0;
    const double compute = busy_flops(gpu, dtype, p) / rate + written;
    const double memory = bytes / (MEMORY_SHARE * gpu->memory_bandwidth);
    const double starts = p->calls && !wgrad ? p->groups : 1;
    const double seconds = fmax(compute, memory) + starts * gpu->gemm_overhead;
    return (struct ty_cost){seconds * (wgrad ? gpu->wgrad_slowdown : 1), 2 * p->m * p->n * p->k};
}

/* As measured, where it was; another number of rows takes as many times the nearest as the model
 * says. */
static struct ty_cost cost_of(const struct ty_gpu *gpu, enum ty_dtype dtype, double share,
                              const struct product *p, int variant)
{
    static const int roles[] = {
        [TY_FORWARD] = TY_ROLE_FORWARD, [TY_DGRAD] = TY_ROLE_DGRAD, [TY_WGRAD] = TY_ROLE_WGRAD};
    struct ty_cost cost = modelled(gpu, dtype, share, p);
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
        measured.seconds *= cost.seconds / modelled(gpu, dtype, share, &there).seconds;
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

struct ty_cost ty_matmul_cost(const struct ty_gpu *gpu, const struct ty_kernel *kernel,
                              enum ty_direction direction)
{
    const struct ty_matmul *x = &kernel->matmul;
    const struct product p = in_pass(direction, x->rows, x->in, x->out);
    return cost_of(gpu, (enum ty_dtype)kernel->dtype, 1, &p, TY_ANY_KERNEL);
}

/* One group is a plain product; none has no work. */
struct ty_cost ty_grouped_cost(const struct ty_gpu *gpu, const struct ty_kernel *kernel,
                               enum ty_direction direction)
{
    const struct ty_grouped *x = &kernel->grouped;
    struct product p = in_pass(direction, x->rows, x->in, x->out);
    if (x->rows <= 0) {
        return (struct ty_cost){0, 0};
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
