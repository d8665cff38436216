/* mtp.c - what predicts a further token: the way into its layer (DeepSeek-V3, section 2.2).
 *
 *     embedding of the next token, norm  |
 *                                        | concatenated, projection 2 h x h
 *     hidden states, norm                |
 *
 * A layer like the model's last follows, then final norm, logits and loss; the output matrix is
 * that of the head, the embedding that of the first stage, of which the last has a copy when it is
 * on another rank. All modules are on the last stage. The projection is column-parallel, and its
 * result is gathered (Megatron-LM, multi_token_prediction.py). Kept, elements per token: inputs of
 * both norms and of the projection, 4 h. */
#include "model/block/maker.h"

static void embedding(struct ty_block_maker *b)
{
    const double h = b->arch->hidden, rows = (double)b->arch->vocabulary + b->arch->positions;
    struct ty_unit_op *op = ty_block_op(b, TY_PART_MTP, "mtp embedding", "mtp embedding backward",
                                        "mtp embedding backward");
    op->row = op->first = true;
    ty_block_elementwise(b, op, TY_OPERATOR_EMBEDDING, TY_ANY_KERNEL, b->shard.tokens * h);
    /* one for all modules, unless it is that of a tied head */
    const bool copy = ty_layout_ends_apart(b->layout) && !b->arch->tied;
    ty_block_weight(op, "embedding", copy ? rows * h / b->shard.ranks / b->arch->mtp : 0);
}

static void projection(struct ty_block_maker *b)
{
    const double h = b->arch->hidden, out[] = {h / b->shard.ranks};
    struct ty_unit_op *op =
        ty_block_op(b, TY_PART_MTP, "mtp proj", "mtp proj dgrad", "mtp proj wgrad");
    op->column = true;
    op->width[0] = 2 * h;
    op->gathers = h;
    ty_block_linear(b, op, 2 * h, out, 1);
    ty_block_weight(op, "mtp projection", 2 * h * out[0]);
}

void ty_block_mtp(struct ty_block_maker *b)
{
    const double hidden =
        b->shard.own_tokens * b->arch->hidden * ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    embedding(b);
    struct ty_unit_op *op = ty_block_op(b, TY_PART_MTP, "mtp norms", "mtp norms backward", NULL);
    op->recompute = TY_RECOMPUTE_NORM;
    ty_block_norm(b, op);
    ty_block_norm(b, op);
    projection(b);
    ty_block_keep(b, TY_INPUT, 1, "inputs of the MTP norms", 2 * hidden);
    ty_block_keep(b, 1, 2, "inputs of the MTP projection", 2 * ty_block_input_bytes(b));
}
