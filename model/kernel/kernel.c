/* kernel.c - see kernel.h. */
#include "model/kernel/kernel_internal.h"

struct ty_cost ty_kernel_cost(const struct ty_gpu *gpu, const struct ty_kernel *kernel,
                              enum ty_direction direction)
{
    switch (kernel->op) {
    case TY_OPERATOR_MATMUL:
        return ty_matmul_cost(gpu, kernel, direction);
    case TY_OPERATOR_ACCUMULATION:
    case TY_OPERATOR_OPTIMIZER:
        return ty_update_cost(gpu, kernel);
    default:
        break;
    }
    if (direction == TY_WGRAD) {
        return (struct ty_cost){0, 0};
    }
    return kernel->op == TY_OPERATOR_ATTENTION
               ? ty_attention_cost(gpu, kernel, direction == TY_DGRAD)
               : ty_elementwise_cost(gpu, kernel, direction == TY_DGRAD);
}

/* Queries and output, keys and values; scores where they go through memory are not counted. */
static double attention_bytes(const struct ty_attention_core *x, double e)
{
    const double queries = x->queries > 0 ? x->queries : x->tokens;
    return 2 * e * x->sequences * x->head_dim * (queries * x->heads + x->tokens * x->kv_heads);
}

double ty_kernel_bytes(const struct ty_gpu *gpu, const struct ty_kernel *kernel)
{
    const double e = ty_dtype_bytes((enum ty_dtype)kernel->dtype);
    const struct ty_matmul *m = &kernel->matmul;
    switch (kernel->op) {
    case TY_OPERATOR_MATMUL:
        return e * (m->rows * m->in + m->in * m->out + m->rows * m->out);
    case TY_OPERATOR_ATTENTION:
        return attention_bytes(&kernel->attention, e);
    default:
        return ty_elementwise_bytes(gpu, kernel);
    }
}
