/* kernel.c - looks up and computes the time of one kernel on one GPU. */
#include "model/kernel/kernel_internal.h"

struct ty_cost ty_kernel_cost(const struct ty_gpu *gpu, const struct ty_kernel *kernel,
                              enum ty_direction direction)
{
    switch (kernel->op) {
    case TY_OPERATOR_MATMUL:
        return ty_matmul_cost(gpu, kernel, direction);
    case TY_OPERATOR_GROUPED:
        return ty_grouped_cost(gpu, kernel, direction);
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
    default:
        return ty_elementwise_bytes(gpu, kernel);
    }
}
