/* flops.c - see flops.h. */
#include "model/block/flops.h"

/* Scores and their product with the values, forward, per token. */
static double attention(const struct ty_arch *arch, bool causal)
{
    const double full = 4.0 * arch->layers * arch->heads * arch->head_dim * arch->sequence;
    return causal ? full / 2 : full;
}

double ty_flops_model(const struct ty_arch *arch, bool causal)
{
    const double params =
        arch->layers * ty_arch_layer_params(arch) + 2.0 * arch->vocabulary * arch->hidden;
    return 6 * params + 3 * attention(arch, causal);
}

double ty_flops_repeated(const struct ty_arch *arch, const struct ty_layout *layout, bool causal)
{
    const double matrices = arch->mlp == TY_MLP_SWIGLU ? 2 : 1; /* up, and gate */
    switch ((enum ty_recompute)layout->recompute) {
    case TY_RECOMPUTE_NONE:
        break;
    case TY_RECOMPUTE_SELECTIVE:
        return attention(arch, causal);
    case TY_RECOMPUTE_FFN:
        return 2 * matrices * arch->layers * arch->hidden * arch->ffn;
    case TY_RECOMPUTE_FULL:
        return 2 * arch->layers * ty_arch_layer_params(arch) + attention(arch, causal);
    }
    return 0;
}
