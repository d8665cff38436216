/* latent.c - multi-head latent attention, expanded: what gives q, k and v (DeepSeek-V2, section
 * 2.1).
 *
 *     mla down   h x r_q, h x (r_kv + d_r); a norm of each latent
 *     mla up     r_q x a (d_n + d_r), r_kv x a (d_n + d_v); rotary embedding of the d_r of q, and
 *                of those of k, which are one for all heads
 *
 * Training computes keys and values of every head; the absorbed form, which scores against the
 * latent, has 3.4 times the products and pays for decoding only. Without a query latent q comes
 * from the hidden states, h x a (d_n + d_r), in `mla up`. That operator runs again where a layer
 * recomputes its up-projections, and what it has made need not be kept.
 *
 * Tensor ranks have whole heads of the up-projections. The others are on all of them, on the tokens
 * that a rank has outside the products, and latents instead of hidden states are brought together
 * before the up-projections (Megatron-LM, multi_latent_attention.py, mode "duplicated").
 *
 * Kept, elements per token: latents before and after their norms 2 (r_q + r_kv) + d_r; queries,
 * keys with their position part, values a (2 (d_n + d_r) + d_v). */
#include "model/block/maker.h"

static void product(const struct ty_block_maker *b, struct ty_unit_op *op, double rows, double in,
                    double out)
{
    ty_block_kernel(op, &(struct ty_kernel){.op = TY_OPERATOR_MATMUL,
                                            .dtype = ty_block_product_dtype(b),
                                            .variant = TY_ANY_KERNEL,
                                            .matmul = {rows, in, out}});
}

static void latent_norm(const struct ty_block_maker *b, struct ty_unit_op *op, double width)
{
    ty_block_elementwise(b, op, TY_OPERATOR_NORM, b->arch->norm, b->shard.own_tokens * width);
}

/* Norms of latents travel with their matrices. */
static void down(struct ty_block_maker *b)
{
    const struct ty_arch *arch = b->arch;
    const double h = arch->hidden, own = b->shard.own_tokens;
    const double q = arch->query_latent, kv = arch->kv_latent, rope = arch->head_rope;
    const double rows = h + ((arch->bias & TY_BIAS_QKV) != 0 ? 1.0 : 0.0);
    struct ty_unit_op *op =
        ty_block_op(b, TY_PART_ATTENTION, "mla down", "mla down dgrad", "mla down wgrad");
    op->recompute = TY_RECOMPUTE_NORM;
    ty_block_fp8(b, op, own * h, own * (q + kv + rope), h * (q + kv + rope));
    if (q > 0) {
        product(b, op, own, h, q);
        latent_norm(b, op, q);
        ty_block_whole_weight(op, "q down", rows * q + q);
    }
    product(b, op, own, h, kv + rope);
    latent_norm(b, op, kv);
    ty_block_whole_weight(op, "kv down", rows * (kv + rope) + kv);
}

static void up(struct ty_block_maker *b)
{
    const struct ty_arch *arch = b->arch;
    const double heads = b->shard.heads, tokens = b->shard.tokens;
    const double from = arch->query_latent > 0 ? arch->query_latent : arch->hidden;
    const double q = heads * ty_arch_query_width(arch);
    const double kv = heads * ((double)arch->head_dim + arch->head_value);
    struct ty_unit_op *op =
        ty_block_op(b, TY_PART_ATTENTION, "mla up", "mla up dgrad", "mla up wgrad");
    op->recompute = TY_RECOMPUTE_MLA_UP;
    op->column = true;
    op->width[0] = from;
    op->width[1] = (double)arch->kv_latent + arch->head_rope;
    ty_block_fp8(b, op, tokens * (from + arch->kv_latent), tokens * (q + kv),
                 from * q + arch->kv_latent * kv);
    product(b, op, tokens, from, q);
    product(b, op, tokens, arch->kv_latent, kv);
    if (arch->positions == 0 && arch->head_rope > 0) {
        const bool one = b->layout->framework.fused_rotary;
        ty_block_elementwise(b, op, TY_OPERATOR_ROTARY, one ? TY_FUSED : TY_UNFUSED,
                             tokens * (heads + 1) * arch->head_rope);
    }
    ty_block_weight(op, "q up", from * q);
    ty_block_weight(op, "kv up", arch->kv_latent * kv);
}

uint32_t ty_block_latent(struct ty_block_maker *b)
{
    const struct ty_arch *arch = b->arch;
    const bool again = b->layout->framework.regather_inputs;
    const double e = ty_dtype_bytes((enum ty_dtype)arch->dtype), rope = arch->head_rope;
    const double latents = (double)arch->query_latent + arch->kv_latent;
    const double own = e * b->shard.own_tokens, all = e * b->shard.tokens;
    const double heads =
        b->shard.heads * (2.0 * ty_arch_query_width(arch) + ty_arch_value_width(arch));
    const uint32_t first = b->out->n;
    down(b);
    up(b);
    ty_block_keep(b, first, first, "inputs of the latents' norms", own * (latents + rope));
    const double latent = (again ? own : all) / e * ty_block_operand_bytes(b);
    const uint32_t norm = b->out->op[first].n_kernels - 1;
    ty_block_keep_of(b, first, norm - 2, first + 1, "latent of q", latent * arch->query_latent);
    ty_block_keep_of(b, first, norm, first + 1, "latent of k and v", latent * arch->kv_latent);
    ty_block_keep(b, first + 1, first + 2, "q, k, v", all * heads);
    return first + 1;
}
