/* layer.c - a pre-norm decoder layer: the stream of hidden states, and two blocks beside it.
 *
 *     x = x + attention(norm(x))     x = x + mlp(norm(x))        (Vaswani et al. 2017)
 *     y = norm(x)                    x = x + attention(y) + mlp(y)        (Wang and Komatsuzaki
 *                                                                        2021; model.block)
 *
 * Parallel blocks may have a norm each (GPT-NeoX), and blocks in a row a second one behind them,
 * x + norm(attention(norm(x))) (Gemma 2; model.norms). Norms behind the blocks only (OLMo 2) cost
 * and keep what those before them do: the same tensors under other names.
 *
 * Kept, h wide, e bytes an element, on every tensor rank (a share of the tokens with sequence
 * parallelism; without framework.regather_inputs all of them of what goes into the blocks): the
 * inputs of both norms and of both blocks, 4 e h; two dropout masks 2 h; unfused
 * norms: 32-bit copies of their input and output 16 h. With what the blocks keep, e = 2, dropout,
 * GELU, f = 4 h, a d = h and the softmax in one kernel these are the s b h (10 + 24/t + 5 a s /
 * (h t)) of Korthikanti et al. 2022, table 2. */
#include "model/block/maker.h"

#define NORM 1u /* of the kernels of a norm, behind the addition */

/* A block's norm, with the addition of what the block before it gave. */
static uint32_t norm(struct ty_block_maker *b, enum ty_part part)
{
    struct ty_unit_op *op = ty_block_op(b, part, "norm", "norm backward", NULL);
    ty_block_elementwise(b, op, TY_OPERATOR_RESIDUAL, TY_ANY_KERNEL,
                         b->shard.own_tokens * b->shard.hidden);
    ty_block_norm(b, op);
    op->recompute = TY_RECOMPUTE_NORM;
    return b->out->n - 1;
}

/* Another norm, behind no addition: of what a block gives, or of a parallel block's input. */
static uint32_t norm_alone(struct ty_block_maker *b, enum ty_part part)
{
    struct ty_unit_op *op = ty_block_op(b, part, "norm", "norm backward", NULL);
    ty_block_norm(b, op);
    op->recompute = TY_RECOMPUTE_NORM;
    return b->out->n - 1;
}

/* One behind a block, where there are any. */
static void norm_behind(struct ty_block_maker *b, enum ty_part part)
{
    const double e = ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    if (ty_arch_norms(b->arch) == 4) {
        const uint32_t at = norm_alone(b, part);
        ty_block_keep_of(b, at - 1, b->out->op[at - 1].n_kernels - 1, at,
                         "inputs of the norm behind a block",
                         b->shard.own_tokens * e * b->shard.hidden);
    }
}

/* The block behind the second norm, which is number `second`. One expert gets every token: that is
 * an MLP. */
static uint32_t feed_forward(struct ty_block_maker *b)
{
    const struct ty_arch *arch = b->arch;
    const bool experts = ty_arch_has_experts(arch, b->layer), routed = experts && arch->experts > 1;
    const uint32_t second = norm(b, routed ? TY_PART_MOE : TY_PART_MLP);
    if (experts) {
        b->shard.ffn = ((double)arch->expert_ffn + arch->shared_ffn) / b->layout->tensor;
    }
    (routed ? ty_block_experts : ty_block_mlp)(b);
    const bool whole = b->out->op[second + 1].column; /* a router sees tokens of its own */
    ty_block_keep_of(
        b, second, NORM, second + 1, routed ? "inputs of the experts" : "inputs of the MLP",
        whole ? ty_block_input_bytes(b) : b->shard.own_tokens * ty_block_row_bytes(b, false));
    norm_behind(b, routed ? TY_PART_MOE : TY_PART_MLP);
    return second;
}

/* The MLP beside attention, and the norm of its own where it has one. Without, both read the result
 * of norm `first`: it is gathered once, and its gradient reduced once. Returns the MLP's first. */
static uint32_t mlp_beside(struct ty_block_maker *b, uint32_t first)
{
    const bool apart = ty_arch_norms(b->arch) > 1;
    if (apart) {
        (void)norm_alone(b, TY_PART_MLP);
    }
    const uint32_t mlp = b->out->n;
    ty_block_mlp(b);
    b->out->op[first + 1].joined = apart ? 0 : TY_JOINED_AGAIN;
    b->out->op[mlp].joined = apart ? 0 : TY_JOINED_INPUT;
    return mlp;
}

/* What the norms of parallel blocks leave for these. */
static void keep_beside(const struct ty_block_maker *b, uint32_t first, uint32_t mlp)
{
    const double inputs = ty_block_input_bytes(b);
    if (ty_arch_norms(b->arch) == 1) {
        ty_block_keep_of(b, first, NORM, mlp, "inputs of q, k, v and the MLP", inputs);
        return;
    }
    ty_block_keep_of(b, first, NORM, first + 1, "inputs of q, k, v", inputs);
    ty_block_keep(b, mlp - 1, mlp, "inputs of the MLP", inputs);
}

/* One norm, or one for each, and both blocks behind it. */
static void parallel(struct ty_block_maker *b)
{
    const struct ty_arch *arch = b->arch;
    const double e = ty_dtype_bytes((enum ty_dtype)arch->dtype), h = b->shard.hidden;
    const double own = b->shard.own_tokens;
    const uint32_t first = norm(b, TY_PART_ATTENTION);
    ty_block_attention(b);
    const uint32_t proj = b->out->n - 1;
    const uint32_t mlp = mlp_beside(b, first);
    b->out->op[proj].joined = TY_JOINED_RESULT;
    ty_block_keep(b, TY_INPUT, first, "layer inputs", own * e * h);
    keep_beside(b, first, mlp);
    ty_block_keep(b, first, mlp, "dropout masks", arch->dropout > 0 ? own * 2 * h : 0);
    ty_block_keep_of(b, first, NORM, mlp, "32-bit copies of unfused norms",
                     arch->norm == TY_UNFUSED ? ty_arch_norms(arch) * own * 8 * h : 0);
    ty_block_need(b, TY_LIFE_BACKWARD, TY_PART_NONE, "gradients of hidden states",
                  own * e * h + b->shard.tokens * e * h);
}

void ty_block_layer(struct ty_block_maker *b)
{
    if (b->arch->block == TY_BLOCK_PARALLEL) {
        parallel(b);
        return;
    }
    const struct ty_arch *arch = b->arch;
    const double e = ty_dtype_bytes((enum ty_dtype)arch->dtype), h = b->shard.hidden;
    const double own = b->shard.own_tokens, hidden = own * e * h;
    const uint32_t first = norm(b, TY_PART_ATTENTION);
    ty_block_attention(b);
    norm_behind(b, TY_PART_ATTENTION);
    const uint32_t second = feed_forward(b);
    ty_block_keep(b, TY_INPUT, first, "layer inputs", hidden);
    /* a latent's matrix works on the rank's own tokens */
    ty_block_keep_of(b, first, NORM, first + 1, "inputs of q, k, v",
                     arch->query_latent > 0 ? hidden : ty_block_input_bytes(b));
    ty_block_keep(b, second - 1, second, "inputs of the MLP's norm", hidden);
    ty_block_keep(b, first, second, "dropout masks", arch->dropout > 0 ? own * 2 * h : 0);
    ty_block_keep_of(b, first, NORM, second, "32-bit copies of unfused norms",
                     arch->norm == TY_UNFUSED ? ty_arch_norms(arch) * own * 8 * h : 0);
    /* With sequence parallelism a linear layer's whole input, gathered again, has the place of its
     * gradient. */
    ty_block_need(b, TY_LIFE_BACKWARD, TY_PART_NONE, "gradients of hidden states",
                  own * e * h + b->shard.tokens * e * h);
}
