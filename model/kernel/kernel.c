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
