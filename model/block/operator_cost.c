/* operator_cost.c - the model's own time of one kernel of a table of operators.
 *
 * What stands next to a measured row when the model is fitted to it. The kernel is put together
 * from the row alone, on one GPU: what a row has no column for (dropout, the speed of a framework's
 * norms, the kernel where a row stands for all) is as in the run the table is meant for. */
#include <math.h>

#include "model/block/block.h"
#include "model/block/memory.h"
#include "model/block/optimizer.h"

/* The kernel that the run itself would use. */
static int own_variant(const struct ty_arch *arch, const struct ty_framework *framework, int op)
{
    switch (op) {
    case TY_OPERATOR_ATTENTION:
        return arch->attention;
    case TY_OPERATOR_NORM:
        return arch->norm;
    case TY_OPERATOR_ACTIVATION:
        return ty_activation_of(arch, framework);
    case TY_OPERATOR_ROTARY:
        return ty_rotary_of(arch, framework);
    case TY_OPERATOR_CROSS_ENTROPY:
        return ty_loss_of(framework);
    case TY_OPERATOR_MERGE:
        return framework->fused_merge ? TY_FUSED : TY_UNFUSED;
    case TY_OPERATOR_OPTIMIZER:
        return framework->fused_optimizer ? TY_FUSED : TY_UNFUSED;
    case TY_OPERATOR_GROUPED:
        return TY_GROUPED_CALLS;
    case TY_OPERATOR_PERMUTE:
    case TY_OPERATOR_UNPERMUTE:
        return framework->fused_permute ? TY_FUSED : TY_UNFUSED;
    case TY_OPERATOR_ROUTER:
        return framework->fused_router ? TY_FUSED : TY_UNFUSED;
    case TY_OPERATOR_CAST:
        return TY_CAST_QUANTIZE;
    default:
        return TY_ANY_KERNEL;
    }
}

/* Adam in 32 bit: a row has no column for other optimizers. */
static double adam_B(const struct ty_kernel *kernel)
{
    const struct ty_layout adam = {.framework = {.fused_optimizer = kernel->variant == TY_FUSED,
                                                 .grad_fp32 = kernel->dtype == TY_DTYPE_FP32}};
    return ty_optimizer_traffic(&adam);
}

static void set_shape(struct ty_kernel *kernel, const struct ty_operator_key *key, double size)
{
    const double *dim = key->dim;
    switch (key->op) {
    case TY_OPERATOR_MATMUL: /* m, n, k of the call back to rows, in and out */
        kernel->matmul = key->role == TY_ROLE_FORWARD ? (struct ty_matmul){size, dim[1], dim[0]}
                                                      : (struct ty_matmul){size, dim[0], dim[1]};
        break;
    case TY_OPERATOR_GROUPED:
        kernel->grouped = key->role == TY_ROLE_FORWARD
                              ? (struct ty_grouped){dim[2], size, dim[1], dim[0], NULL, 0}
                              : (struct ty_grouped){dim[2], size, dim[0], dim[1], NULL, 0};
        break;
    case TY_OPERATOR_PERMUTE: /* a row has no column for copies of a token: as many as rows */
    case TY_OPERATOR_UNPERMUTE:
        kernel->permute = (struct ty_permute){.tokens = size, .rows = size, .width = 1};
        break;
    case TY_OPERATOR_ATTENTION:
        kernel->attention = (struct ty_attention_core){.sequences = floor(size),
                                                       .tokens = dim[0],
                                                       .heads = dim[1],
                                                       .kv_heads = dim[2],
                                                       .head_dim = dim[3],
                                                       .value_dim = dim[5],
                                                       .full = dim[4] == 0};
        break;
    case TY_OPERATOR_ACCUMULATION:
    case TY_OPERATOR_OPTIMIZER: /* told apart by the type of the gradients */
        kernel->update =
            (struct ty_update){size, key->dtype == TY_DTYPE_FP32 ? 4 : 2, adam_B(kernel)};
        break;
    default:
        kernel->elements = size;
        break;
    }
}

static enum ty_direction direction_of(int role)
{
    return role == TY_ROLE_FORWARD                             ? TY_FORWARD
           : role == TY_ROLE_DGRAD || role == TY_ROLE_BACKWARD ? TY_DGRAD
                                                               : TY_WGRAD;
}

bool ty_operator_cost(const struct ty_gpu *gpu, const struct ty_arch *arch,
                      const struct ty_layout *layout, const struct ty_operator_key *key,
                      double size, struct ty_cost *out)
{
    const bool any = key->kernel == TY_ANY_KERNEL;
    struct ty_gpu bare = *gpu;
    struct ty_kernel kernel = {.op = (enum ty_operator)key->op,
                               .dtype = key->dtype,
                               .variant = any ? own_variant(arch, &layout->framework, key->op)
                                              : key->kernel,
                               .dropout = arch->dropout > 0,
                               .speed = layout->framework.norm_speed,
                               .gradients = 1 + 2.0 * arch->kv_heads / arch->heads};
    bare.operator_table = NULL;
    set_shape(&kernel, key, size);
    *out = ty_kernel_cost(&bare, &kernel, direction_of(key->role));
    return isfinite(out->seconds) && out->seconds > 0;
}
