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
#include "model/block/maker.h"

int ty_activation_of(const struct ty_arch *arch, const struct ty_framework *framework)
{
    if (!ty_arch_is_gated(arch)) {
        return TY_ACTIVATION_GELU;
    }
    return !framework->fused_activation ? TY_ACTIVATION_SWIGLU_UNFUSED
           : framework->keep_product    ? TY_ACTIVATION_SWIGLU
                                        : TY_ACTIVATION_SWIGLU_REMADE;
}

/* Parameters of one matrix from the hidden states, and of the one back to them. */
static double up_params(const struct ty_block_maker *b)
{
    const bool biased = (b->arch->bias & TY_BIAS_MLP) != 0;
    return (b->arch->hidden * b->shard.ffn + (biased ? b->shard.ffn : 0)) / b->shard.cut;
}

static double down_params(const struct ty_block_maker *b)
{
    const double h = b->arch->hidden;
    const bool biased = (b->arch->bias & TY_BIAS_MLP) != 0;
    return b->shard.ffn * h / b->shard.cut + (biased ? h / b->shard.ranks : 0);
}

static void biases(const struct ty_block_maker *b, struct ty_unit_op *op)
{
    const bool biased = (b->arch->bias & TY_BIAS_MLP) != 0;
    for (uint32_t i = 0; i < op->n_weights && biased; i++) {
        op->weights[i].beside =
            i + 1 < op->n_weights ? b->shard.ffn / b->shard.cut : b->arch->hidden / b->shard.ranks;
    }
}

static void weights(const struct ty_block_maker *b, struct ty_unit_op *op)
{
    if (op->n_reduces == 2) {
        ty_block_weight(op, "gate", up_params(b));
        ty_block_weight(op, "up", up_params(b));
    } else {
        ty_block_weight(op, "up", (ty_arch_is_gated(b->arch) ? 2 : 1) * up_params(b));
    }
    ty_block_weight(op, "down", down_params(b));
    biases(b, op);
}

/* Whether gate and up are cast for the time until the backward, which takes a kernel each way. */
static bool keeps_narrow(const struct ty_block_maker *b)
{
    return b->layout->framework.fp8_activation_input && ty_arch_is_gated(b->arch);
}

static void activate(const struct ty_block_maker *b, struct ty_unit_op *op)
{
    const double elements = b->shard.tokens * b->shard.ffn;
    ty_block_elementwise(b, op, TY_OPERATOR_ACTIVATION,
                         ty_activation_of(b->arch, &b->layout->framework), elements);
    if (keeps_narrow(b)) {
        ty_block_elementwise(b, op, TY_OPERATOR_CAST, TY_CAST_QUANTIZE, 2 * elements);
        op->kernel[op->n_kernels - 1].gradients = 1;
    }
}

/* Numbers of its operators, and of the kernel of the activation in its own. */
struct places {
    uint32_t gate, up, activation, kernel, down;
};

static void tensors(const struct ty_block_maker *b, const struct places *at)
{
    const double e = ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    const double inner = b->shard.tokens * e * b->shard.ffn;
    const bool gate = ty_arch_is_gated(b->arch);
    const int kernel = ty_activation_of(b->arch, &b->layout->framework);
    const bool remade = kernel == TY_ACTIVATION_SWIGLU_REMADE;
    const double read = keeps_narrow(b) ? inner / e : inner; /* a byte, without scales */
    ty_block_keep(b, at->gate, at->activation, "MLP gate", gate ? read : 0);
    ty_block_keep(b, at->up, at->activation, "MLP up", read);
    ty_block_keep_of(b, at->activation, at->kernel, at->activation, "MLP silu(gate)",
                     kernel == TY_ACTIVATION_SWIGLU_UNFUSED ? inner : 0);
    const double input = ty_block_kept_input(b, &b->out->op[at->down], TY_TARGET_DOWN, inner / e,
                                             inner / e * ty_block_operand_bytes(b));
    ty_block_keep_input(b, at->activation, at->kernel, at->down,
                        gate ? "MLP gated output" : "MLP activation", remade ? 0 : input);
    ty_block_need(b, TY_LIFE_WEIGHT, TY_PART_NONE, "MLP gated output", remade ? input : 0);
    ty_block_need(b, TY_LIFE_BACKWARD, TY_PART_MLP, "MLP gated output", remade ? inner : 0);
    ty_block_need(b, TY_LIFE_BACKWARD, TY_PART_MLP, "gradients in the MLP", (gate ? 3 : 2) * inner);
}

/* On a grid of ranks, or next to what is gathered and scattered, every product is an operator: `n`
 * of them, with one input. */
static struct ty_unit_op *product(struct ty_block_maker *b, const char *const name[3], double in,
                                  const double *out, uint32_t n)
{
    struct ty_unit_op *op = ty_block_op(b, TY_PART_MLP, name[0], name[1], name[2]);
    op->bias = (b->arch->bias & TY_BIAS_MLP) != 0 ? out[0] : 0;
    ty_block_linear(b, op, in, out, n);
    op->n_reduces = n;
    return op;
}

static void wide_products(struct ty_block_maker *b, bool apart)
{
    static const char *const gate[] = {"gate", "gate dgrad", "gate wgrad"};
    static const char *const up[] = {"up", "up dgrad", "up wgrad"};
    const double h = b->shard.hidden, f = b->shard.ffn, both[] = {f, f};
    const double wide = ty_arch_is_gated(b->arch) && !apart ? 2 : 1, out[] = {wide * f};
    if (apart && !ty_layout_is_mesh(b->layout)) { /* their input is gathered once */
        struct ty_unit_op *op = product(b, up, h, both, 2);
        ty_block_weight(op, "gate", up_params(b));
        ty_block_weight(op, "up", up_params(b));
        return;
    }
    if (apart) {
        ty_block_weight(product(b, gate, h, out, 1), "gate", up_params(b));
    }
    ty_block_weight(product(b, up, h, out, 1), "up", wide * up_params(b));
}

static void mlp_by_products(struct ty_block_maker *b, bool apart)
{
    static const char *const down_names[] = {"down", "down dgrad", "down wgrad"};
    const double h = b->shard.hidden, f = b->shard.ffn;
    const uint32_t first = b->out->n;
    wide_products(b, apart);
    struct ty_unit_op *op = ty_block_op(b, TY_PART_MLP, "activation", "activation backward", NULL);
    activate(b, op);
    for (uint32_t i = first; i < b->out->n; i++) {
        b->out->op[i].column = b->out->op[i].weight != NULL;
        b->out->op[i].recompute = TY_RECOMPUTE_FFN | TY_RECOMPUTE_MLP;
    }
    op = product(b, down_names, f, &h, 1);
    op->row = true;
    op->recompute = TY_RECOMPUTE_MLP;
    ty_block_weight(op, "down", down_params(b));
    const uint32_t down = b->out->n - 1;
    tensors(b, &(struct places){first, down - 2, down - 1, 0, down});
    ty_block_need_wgrad(b, TY_LIFE_BACKWARD, &b->out->op[down - 2], "gradient of an MLP matrix");
}

void ty_block_mlp(struct ty_block_maker *b)
{
    const double h = b->arch->hidden, f = b->shard.ffn;
    const bool apart = ty_arch_is_gated(b->arch) && !b->layout->framework.fused_gate;
    const double wide[] = {f, f}, whole[] = {ty_arch_is_gated(b->arch) ? 2 * f : f}, out[] = {h};
    if (ty_layout_is_mesh(b->layout) || ty_block_overlaps_products(b)) {
        mlp_by_products(b, apart);
        return;
    }
    struct ty_unit_op *op =
        ty_block_op(b, TY_PART_MLP, "mlp core", "mlp core dgrad", "mlp core wgrad");
    op->column = op->row = true;
    op->recompute = TY_RECOMPUTE_FFN | TY_RECOMPUTE_MLP;
    op->n_reduces = apart ? 2 : 1;
    ty_block_linear(b, op, h, apart ? wide : whole, op->n_reduces);
    const uint32_t activation = op->n_kernels, mlp = b->out->n - 1;
    activate(b, op);
    ty_block_linear(b, op, f, out, 1);
    weights(b, op);
    tensors(b, &(struct places){mlp, mlp, mlp, activation, mlp});
    ty_block_need_wgrad(b, TY_LIFE_BACKWARD, op, "gradient of an MLP matrix");
}
