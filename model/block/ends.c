/* ends.c - the ends of a model: the embedding; final norm, logits and loss. */
#include "model/block/block_internal.h"

void ty_block_embedding(struct ty_block_maker *b)
{
    const struct ty_arch *arch = b->arch;
    struct ty_unit_op *op =
        ty_block_op(b, TY_PART_EMBEDDING, "embedding", "embedding backward", "embedding backward");
    op->row = op->first = true;
    ty_block_elementwise(b, op, TY_OPERATOR_EMBEDDING, TY_ANY_KERNEL,
                         b->shard.tokens * arch->hidden);
    ty_block_weight(op, "embedding",
                    ((double)arch->vocabulary + arch->positions) * arch->hidden / b->shard.ranks);
    ty_block_keep(b, TY_INPUT, 0, "token numbers", 8 * b->shard.tokens); /* 64 bit */
    ty_block_keep(b, 0, 0, "embedding's dropout mask",
                  arch->dropout > 0 ? b->shard.own_tokens * arch->hidden : 0);
}

/* Fullest when the 32-bit copy has had its maximum taken off and the exponentials, which become the
 * probabilities, are there too (Megatron-LM, vocab_parallel_cross_entropy): 14 B a logit. */
static void logits(const struct ty_block_maker *b)
{
    const double e = ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    const double n = b->shard.tokens * b->shard.vocabulary;
    if (b->layout->framework.fused_loss) {
        ty_block_keep(b, 0, 0, "logits", e * n);
        return;
    }
    ty_block_keep(b, 0, 0, "probabilities of the loss, 32 bit", 4 * n);
    ty_block_need(b, TY_LIFE_LOSS, TY_PART_HEAD, "logits", 2 * n);
    ty_block_need(b, TY_LIFE_LOSS, TY_PART_HEAD, "logits in 32 bit", 4 * n);
    ty_block_need(b, TY_LIFE_LOSS, TY_PART_HEAD, "logits less their maximum, 32 bit", 4 * n);
}

void ty_block_head(struct ty_block_maker *b)
{
    const struct ty_arch *arch = b->arch;
    const double e = ty_dtype_bytes((enum ty_dtype)arch->dtype), h = arch->hidden;
    const double hidden = b->shard.own_tokens * e * h, out[] = {b->shard.vocabulary};
    /* a tied matrix is a copy when the last stage is not the first */
    const bool own = !arch->tied || b->layout->pipeline > 1;
    struct ty_unit_op *op =
        ty_block_op(b, TY_PART_HEAD, "logits and loss", "logits dgrad", "logits wgrad");
    op->column = op->loss = true;
    ty_block_norm(b, op);
    ty_block_linear(b, op, h, out, 1);
    ty_block_elementwise(b, op, TY_OPERATOR_CROSS_ENTROPY, TY_ANY_KERNEL,
                         b->shard.tokens * b->shard.vocabulary);
    ty_block_weight(op, "output matrix", own ? h * b->shard.vocabulary : 0);
    ty_block_keep(b, TY_INPUT, 0, "input of the final norm", hidden);
    ty_block_keep(b, 0, 0, "input of the output matrix", hidden);
    logits(b);
}
