/* operator_cost.c - the model's own time of one kernel of a table of operators.
 *
 * What stands beside a measured row when the model is fitted to it. The kernel is put together from
 * the row alone, on one GPU: what a row has no column for (dropout, the speed of a framework's
 * norms, the kernel where a row stands for all) is as in the run the table is meant for. */
#include <math.h>

#include "model/kernels_internal.h"

/* A model and a layout with nothing but this kernel in them. */
struct setting {
    struct ty_cluster cluster;
    struct ty_arch arch;
    struct ty_layout layout;
    const struct ty_operator_key *key;
    double size;
    bool backward;
};

static struct ty_cost matmul(const struct setting *s)
{
    const struct ty_operator_key *key = s->key;
    const enum ty_dtype dtype = (enum ty_dtype)key->dtype;
    if (key->role == TY_ROLE_WGRAD) {
        return ty_gemm_cost_at(&s->cluster, dtype, TY_GEMM_WGRAD, 1, key->dim[0], key->dim[1],
                               s->size);
    }
    const enum ty_gemm_role role = s->key->role == TY_ROLE_DGRAD ? TY_GEMM_DGRAD : TY_GEMM_FORWARD;
    return ty_gemm_cost_at(&s->cluster, dtype, role, 1, s->size, key->dim[0], key->dim[1]);
}

static struct ty_cost attention(struct setting *s)
{
    const double *dim = s->key->dim;
    s->arch.sequence = (uint32_t)dim[0];
    s->arch.heads = (uint32_t)dim[1];
    s->arch.kv_heads = (uint32_t)dim[2];
    s->arch.head_dim = (uint32_t)dim[3];
    s->arch.full_attention = dim[4] == 0;
    s->arch.attention = s->key->kernel != TY_ANY_KERNEL ? s->key->kernel : s->arch.attention;
    s->layout.micro_batch = (uint32_t)s->size;
    return ty_attention(&s->cluster, &s->arch, &s->layout, s->backward);
}

/* Kernels over elements: as many tokens of width 1. */
static struct ty_cost elementwise(struct setting *s)
{
    const struct ty_cluster *cluster = &s->cluster;
    struct ty_shard shard = ty_shard_of(&s->arch, &s->layout);
    const int kernel = s->key->kernel;
    const bool any = kernel == TY_ANY_KERNEL;
    shard.tokens = shard.norm_tokens = s->size;
    shard.heads = shard.ffn = shard.vocabulary = 1;
    shard.kv = 0;
    s->arch.hidden = s->arch.head_dim = 1;
    s->arch.positions = 0;
    switch (s->key->op) {
    case TY_OPERATOR_NORM:
        s->arch.norm = any ? s->arch.norm : kernel;
        return ty_norm(cluster, &s->arch, &shard, s->backward);
    case TY_OPERATOR_ACTIVATION:
        if (!any) {
            s->arch.mlp = kernel == TY_ACTIVATION_GELU ? TY_MLP_GELU : TY_MLP_SWIGLU;
            shard.fused_activation = kernel == TY_ACTIVATION_SWIGLU;
        }
        return ty_activation(cluster, &s->arch, &shard, s->backward);
    case TY_OPERATOR_ROTARY:
        shard.fused_rotary = any ? shard.fused_rotary : kernel == TY_FUSED;
        return ty_rope(cluster, &s->arch, &shard, s->backward);
    case TY_OPERATOR_RESIDUAL:
        return ty_residual(cluster, &s->arch, &shard, s->backward);
    case TY_OPERATOR_EMBEDDING:
        return ty_embedding(cluster, &s->arch, &shard, s->backward);
    default:
        return ty_cross_entropy(cluster, &shard, s->backward);
    }
}

/* Kernels over parameters, told apart by the type of the gradients. */
static struct ty_cost over_parameters(struct setting *s)
{
    struct ty_framework *framework = &s->layout.framework;
    framework->grad_fp32 = s->key->dtype == TY_DTYPE_FP32;
    if (s->key->op == TY_OPERATOR_ACCUMULATION) {
        return ty_accumulation(&s->cluster, &s->layout, s->key->dtype, s->size);
    }
    if (s->key->kernel != TY_ANY_KERNEL) {
        framework->fused_optimizer = s->key->kernel == TY_FUSED;
    }
    return ty_adam(&s->cluster, &s->layout, s->size);
}

bool ty_operator_cost(const struct ty_cluster *cluster, const struct ty_arch *arch,
                      const struct ty_layout *layout, const struct ty_operator_key *key,
                      double size, struct ty_cost *out)
{
    struct setting s = {.cluster = *cluster,
                        .arch = *arch,
                        .layout = *layout,
                        .key = key,
                        .size = size,
                        .backward = key->role == TY_ROLE_BACKWARD};
    s.cluster.operator_table = NULL;
    s.arch.dtype = key->dtype;
    s.layout.tensor = 1;
    switch (key->op) {
    case TY_OPERATOR_MATMUL:
        *out = matmul(&s);
        break;
    case TY_OPERATOR_ATTENTION:
        *out = attention(&s);
        break;
    case TY_OPERATOR_ACCUMULATION:
    case TY_OPERATOR_OPTIMIZER:
        *out = over_parameters(&s);
        break;
    default:
        *out = elementwise(&s);
        break;
    }
    return isfinite(out->seconds) && out->seconds > 0;
}
