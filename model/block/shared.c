/* shared.c - transformer blocks whose weights several layers share (Zamba2).
 *
 *     norm, qkv      of hidden states and the embedding side by side, 2 h wide
 *     adapters       of each use: h x r, r x 2 f beside the MLP, and with model.shared_qkv 2 h x r,
 *                    r x a d beside each of q, k and v
 *     shared out     h x h, of each use
 *
 * A layer of attention, of an MLP, or of both is such a block; layers with a state are none. Each
 * layer counts its part of the shared weights, so their gradients are reduced, and with ZeRO-3
 * gathered, once. Adapters and the last matrix are on every tensor rank. Source: Zyphra, "The
 * Zamba2 suite", arXiv 2411.15242; huggingface/transformers, modeling_zamba2.py. */
#include "model/block/maker.h"

/* How often a set of weights is used. */
static double uses_of(const struct ty_arch *arch)
{
    double n = 0;
    for (uint32_t i = 0; i < arch->layers; i++) {
        n += (ty_arch_blocks(arch, i) & TY_HAS_ATTENTION) != 0;
    }
    return n / arch->shared_blocks;
}

/* The norm before attention, and what reads it. */
static void widen(struct ty_unit_ops *unit, double hidden)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct ty_unit_op *op = &unit->op[i];
        for (uint32_t k = 0; k < op->n_kernels; k++) {
            if (ty_kernel_is_product(&op->kernel[k])) {
                op->kernel[k].matmul.in *= 2;
            } else if (i == 0) {
                op->kernel[k].elements *= 2;
            }
        }
        for (uint32_t k = 0; k < op->n_weights; k++) {
            op->weights[k].params *= 2;
        }
    }
    unit->op[1].width[0] = 2 * hidden;
    for (uint32_t i = 0; i < unit->n_saved; i++) {
        struct ty_saved *x = &unit->saved[i];
        x->bytes *= x->made == TY_INPUT || (x->made == 0 && x->used == 1) ? 2 : 1;
    }
}

static void adapter(struct ty_block_maker *b, struct ty_unit_op *op, double in, double out)
{
    const double r = b->arch->shared_rank;
    ty_block_product(b, op, b->shard.tokens, in, r);
    ty_block_product(b, op, b->shard.tokens, r, out);
    op->weights[0].params += in * r;
    op->weights[1].params += r * out;
}

static void adapters(struct ty_block_maker *b, bool attends, bool feeds)
{
    const struct ty_arch *arch = b->arch;
    const double h = arch->hidden,
                 token = b->shard.tokens * ty_dtype_bytes((enum ty_dtype)arch->dtype);
    const double columns[] = {b->shard.heads, b->shard.kv_heads, b->shard.kv_heads};
    struct ty_unit_op *op = ty_block_op(b, feeds ? TY_PART_MLP : TY_PART_ATTENTION, "adapters",
                                        "adapters dgrad", "adapters wgrad");
    ty_block_whole_weight(op, "inner half of adapters", 0);
    ty_block_weight(op, "outer half of adapters", 0);
    for (uint32_t i = 0; i < TY_COUNT(columns) && attends; i++) {
        adapter(b, op, 2 * h, columns[i] * arch->head_dim);
    }
    if (feeds) {
        adapter(b, op, h, (ty_arch_is_gated(arch) ? 2 : 1) * b->shard.ffn);
    }
    const uint32_t at = b->out->n - 1;
    ty_block_keep_input(b, at, 0, at, "inside of adapters",
                        token * arch->shared_rank * op->n_kernels / 2);
}

static void out(struct ty_block_maker *b)
{
    const double h = b->arch->hidden, own = b->shard.own_tokens;
    struct ty_unit_op *op =
        ty_block_op(b, TY_PART_MLP, "shared out", "shared out dgrad", "shared out wgrad");
    ty_block_product(b, op, own, h, h);
    ty_block_whole_weight(op, "shared out", h * h);
    ty_block_keep_input(b, b->out->n - 2, 0, b->out->n - 1, "output of the shared block",
                        own * h * ty_dtype_bytes((enum ty_dtype)b->arch->dtype));
}

void ty_block_share(struct ty_block_maker *b)
{
    const struct ty_arch *arch = b->arch;
    const uint32_t blocks = ty_arch_blocks(arch, b->layer);
    const bool attends = (blocks & TY_HAS_ATTENTION) != 0, feeds = (blocks & TY_HAS_MLP) != 0;
    if (arch->shared_blocks == 0 || (blocks & TY_HAS_STATE) != 0) {
        return;
    }
    if (attends) {
        widen(b->out, arch->hidden);
    }
    for (uint32_t i = 0; i < b->out->n; i++) {
        struct ty_unit_op *op = &b->out->op[i];
        op->uses = uses_of(arch);
        for (uint32_t k = 0; k < op->n_weights; k++) {
            op->weights[k].params /= op->uses;
            op->weights[k].beside /= op->uses;
        }
    }
    if (arch->shared_rank > 0 && (feeds || arch->shared_qkv)) {
        adapters(b, attends && arch->shared_qkv, feeds);
    }
    if (feeds) {
        out(b);
    }
}
