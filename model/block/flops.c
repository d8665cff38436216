/* flops.c - see flops.h. */
#include "model/block/flops.h"

/* Scores and their product with the values, forward, per token. */
static double attention(const struct ty_arch *arch, bool causal)
{
    double full = 0;
    for (int window = 0; window < 2; window++) {
        uint32_t layers = 0;
        for (uint32_t i = 0; i < arch->layers; i++) {
            layers += ty_arch_has_window(arch, i) == (window == 1);
        }
        full += 2.0 * layers * arch->heads *
                (ty_arch_query_width(arch) + ty_arch_value_width(arch)) *
                ty_arch_attention_span(arch, window == 1);
    }
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
    const uint32_t set = layout->recompute;
    if (set == TY_RECOMPUTE_FULL) {
        return 2 * arch->layers * ty_arch_layer_params(arch) + attention(arch, causal) +
               (layout->framework.recompute_head ? 2.0 * arch->vocabulary * arch->hidden : 0);
    }
    const double up = (set & (TY_RECOMPUTE_FFN | TY_RECOMPUTE_MLP)) != 0 ? matrices : 0;
    const double down = (set & TY_RECOMPUTE_MLP) != 0 ? 1 : 0;
    return ((set & TY_RECOMPUTE_CORE) != 0 ? attention(arch, causal) : 0) +
           2 * (up + down) * arch->layers * arch->hidden * arch->ffn;
}
