/* mlp.c - the dense feed-forward block: up (and gate), activation, down.
 *
 *     GELU    down(gelu(up(x)))             up h x f            down f x h
 *     SwiGLU  down(silu(gate(x)) up(x))     up, gate h x f each (Shazeer 2020)
 *
 * Kept, e bytes an element: GELU's input and output 2 e f (Korthikanti et al. 2022, table 2);
 * SwiGLU's gate, up and product 3 e f, and of framework operators silu(gate), which its product
 * reads, e f more. One kernel works that out again (Megatron-LM, SwiGLUFunction): a layer of
 * Llama 2 7B without tensor parallelism keeps 515 MiB in Hetu-Galvatron's profile, 514.5 so.
 * Without framework.keep_product it works out the product, too: gate and up 2 e f. */
#include "model/block/block_internal.h"

static bool is_gated(const struct ty_arch *arch)
{
    return arch->mlp == TY_MLP_SWIGLU;
}

int ty_activation_of(const struct ty_arch *arch, const struct ty_framework *framework)
{
    if (!is_gated(arch)) {
        return TY_ACTIVATION_GELU;
    }
    return !framework->fused_activation ? TY_ACTIVATION_SWIGLU_UNFUSED
           : framework->keep_product    ? TY_ACTIVATION_SWIGLU
                                        : TY_ACTIVATION_SWIGLU_REMADE;
}

static void weights(const struct ty_block_maker *b, struct ty_unit_op *op)
{
    const double h = b->arch->hidden, f = b->shard.ffn;
    const bool biased = (b->arch->bias & TY_BIAS_MLP) != 0;
    const double bias = biased ? f : 0, down_bias = biased ? h / b->shard.ranks : 0;
    if (op->n_reduces == 2) {
        ty_block_weight(op, "gate", h * f + bias);
        ty_block_weight(op, "up", h * f + bias);
    } else {
        const double matrices = is_gated(b->arch) ? 2 : 1;
        ty_block_weight(op, "up", matrices * (h * f + bias));
    }
    ty_block_weight(op, "down", f * h + down_bias);
}

/* `activation`: the number of its kernel. */
static void tensors(const struct ty_block_maker *b, uint32_t mlp, uint32_t activation)
{
    const double e = ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    const double inner = b->shard.tokens * e * b->shard.ffn;
    const bool gate = is_gated(b->arch);
    const int kernel = ty_activation_of(b->arch, &b->layout->framework);
    const bool remade = kernel == TY_ACTIVATION_SWIGLU_REMADE;
    ty_block_keep(b, mlp, mlp, "MLP gate", gate ? inner : 0);
    ty_block_keep(b, mlp, mlp, "MLP up", inner);
    ty_block_keep_of(b, mlp, activation, mlp, "MLP silu(gate)",
                     kernel == TY_ACTIVATION_SWIGLU_UNFUSED ? inner : 0);
    ty_block_keep_of(b, mlp, activation, mlp, gate ? "MLP product" : "MLP activation",
                     remade ? 0 : inner / e * ty_block_operand_bytes(b));
    ty_block_need(b, TY_LIFE_BACKWARD, TY_PART_MLP, "MLP product", remade ? inner : 0);
    ty_block_need(b, TY_LIFE_BACKWARD, TY_PART_MLP, "gradients in the MLP", (gate ? 3 : 2) * inner);
}

void ty_block_mlp(struct ty_block_maker *b)
{
    const double h = b->arch->hidden, f = b->shard.ffn;
    const bool apart = is_gated(b->arch) && !b->layout->framework.fused_gate;
    const double wide[] = {f, f}, whole[] = {is_gated(b->arch) ? 2 * f : f}, out[] = {h};
    struct ty_unit_op *op =
        ty_block_op(b, TY_PART_MLP, "mlp core", "mlp core dgrad", "mlp core wgrad");
    op->column = op->row = true;
    op->recompute = TY_RECOMPUTE_FFN | TY_RECOMPUTE_MLP;
    op->n_reduces = apart ? 2 : 1;
    ty_block_linear(b, op, h, apart ? wide : whole, op->n_reduces);
    const uint32_t activation = op->n_kernels;
    ty_block_elementwise(b, op, TY_OPERATOR_ACTIVATION,
                         ty_activation_of(b->arch, &b->layout->framework), b->shard.tokens * f);
    ty_block_linear(b, op, f, out, 1);
    weights(b, op);
    tensors(b, b->out->n - 1, activation);
    ty_block_need_wgrad(b, TY_LIFE_BACKWARD, op, "gradient of an MLP matrix");
}
