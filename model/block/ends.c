/* ends.c - the ends of a model: the embedding; final norm, logits and loss. */
#include "model/block/maker.h"

/* Of the rank's own tokens, behind the sum of the parts of the vocabulary. */
static void embedding_norm(struct ty_block_maker *b)
{
    const double e = ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    struct ty_unit_op *op = ty_block_op(b, TY_PART_EMBEDDING, "norm", "norm backward", NULL);
    ty_block_norm(b, op);
    ty_block_keep(b, 0, 1, "input of the embedding's norm",
                  b->shard.own_tokens * b->shard.hidden * e);
}

void ty_block_embedding(struct ty_block_maker *b)
{
    const struct ty_arch *arch = b->arch;
    struct ty_unit_op *op =
        ty_block_op(b, TY_PART_EMBEDDING, "embedding", "embedding backward", "embedding backward");
    op->row = op->first = true;
    ty_block_elementwise(b, op, TY_OPERATOR_EMBEDDING, TY_ANY_KERNEL,
                         b->shard.tokens * b->shard.hidden);
    ty_block_weight(op, "embedding",
                    ((double)arch->vocabulary + arch->positions) * arch->hidden / b->shard.ranks);
    if (arch->embedding_norm) {
        embedding_norm(b);
    }
    ty_block_keep(b, TY_INPUT, 0, "token numbers", 8 * b->shard.tokens); /* 64 bit */
    ty_block_keep(b, 0, 0, "embedding's dropout mask",
                  arch->dropout > 0 ? b->shard.own_tokens * b->shard.hidden : 0);
}

/* Megatron-LM's vocab_parallel_cross_entropy is fullest when the 32-bit copy has had its maximum
 * taken off and the exponentials, which become the probabilities, are there too: 14 B a logit.
 * Their gradient is written over them and cast. */
static void sharded(const struct ty_block_maker *b, uint32_t loss)
{
    const double e = ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    const double n = b->shard.tokens * b->shard.vocabulary;
    ty_block_keep(b, loss, loss, "probabilities of the loss, 32 bit", 4 * n);
    ty_block_need(b, TY_LIFE_LOSS, TY_PART_HEAD, "logits", 2 * n);
    ty_block_need(b, TY_LIFE_LOSS, TY_PART_HEAD, "logits in 32 bit", 4 * n);
    ty_block_need(b, TY_LIFE_LOSS, TY_PART_HEAD, "logits less their maximum, 32 bit", 4 * n);
    ty_block_need(b, TY_LIFE_LOSS_BACKWARD, TY_PART_HEAD, "gradient of logits", e * n);
}

/* torch.nn.functional.cross_entropy of all columns. Going forward the 32-bit copy is there until
 * its log-probabilities are; the 16-bit logits, which a pipeline's pass has put out, stay
 * until its backward. That is fullest in the gradient of log_softmax, which reads the one of
 * nll_loss: 14 B a logit, of V columns on every tensor rank. */
static void whole(const struct ty_block_maker *b, uint32_t loss)
{
    const double e = ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    const double n = b->shard.tokens * b->arch->vocabulary;
    ty_block_keep(b, loss - 1, loss, "logits, all columns", e * n);
    ty_block_keep(b, loss, loss, "log-probabilities, 32 bit", 4 * n);
    ty_block_need(b, TY_LIFE_LOSS, TY_PART_HEAD, "logits in 32 bit", 4 * n);
    ty_block_need(b, TY_LIFE_LOSS_BACKWARD, TY_PART_HEAD, "gradient of log-probabilities", 4 * n);
    ty_block_need(b, TY_LIFE_LOSS_BACKWARD, TY_PART_HEAD, "gradient of logits in 32 bit", 4 * n);
}

int ty_loss_of(const struct ty_framework *framework)
{
    return framework->parallel_loss || framework->fused_loss ? TY_ANY_KERNEL : TY_UNFUSED;
}

/* In an operator of its own where not all of it is alike: gathered, or run again, or its product
 * alone is in steps. */
static void loss(struct ty_block_maker *b)
{
    const struct ty_framework *framework = &b->layout->framework;
    const double e = ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    const bool parallel = framework->parallel_loss;
    const double columns = parallel ? b->shard.vocabulary : b->arch->vocabulary;
    const uint32_t product = b->out->n - 1;
    struct ty_unit_op *op = &b->out->op[product];
    if (!parallel || framework->recompute_head || ty_layout_is_mesh(b->layout)) {
        op->name = "logits";
        op->gathers = parallel ? 0 : b->arch->vocabulary;
        op = ty_block_op(b, TY_PART_HEAD, "loss", "loss backward", NULL);
    }
    op->loss = parallel;
    ty_block_elementwise(b, op, TY_OPERATOR_CROSS_ENTROPY, ty_loss_of(framework),
                         b->shard.tokens * columns);
    const uint32_t last = b->out->n - 1;
    if (framework->fused_loss) {
        ty_block_keep(b, last, last, "logits", e * b->shard.tokens * columns);
        ty_block_need_wgrad(b, TY_LIFE_LOSS_BACKWARD, &b->out->op[product],
                            "gradient of the output matrix");
    } else {
        (parallel ? sharded : whole)(b, last);
    }
}

/* Without framework.regather_inputs the matrix keeps its whole input. */
void ty_block_head(struct ty_block_maker *b)
{
    const struct ty_arch *arch = b->arch;
    const double e = ty_dtype_bytes((enum ty_dtype)arch->dtype), h = b->shard.hidden;
    const double out[] = {b->shard.vocabulary};
    const bool grid = ty_layout_is_mesh(b->layout);
    /* a tied matrix is a copy when the last stage is on another rank than the first; that of a
     * further token is the head's */
    const bool biased = b->kind == TY_UNIT_HEAD && arch->head_bias;
    const bool own = b->kind == TY_UNIT_HEAD && (!arch->tied || ty_layout_ends_apart(b->layout));
    struct ty_unit_op *op =
        ty_block_op(b, TY_PART_HEAD, grid ? "norm" : "logits and loss",
                    grid ? "norm backward" : "logits dgrad", grid ? NULL : "logits wgrad");
    ty_block_norm(b, op);
    if (grid) { /* every product is an operator */
        op = ty_block_op(b, TY_PART_HEAD, "logits", "logits dgrad", "logits wgrad");
    }
    const uint32_t at = b->out->n - 1;
    op->column = true;
    ty_block_linear(b, op, h, out, 1);
    ty_block_weight(op, "output matrix",
                    (own ? arch->hidden * b->shard.vocabulary / b->shard.cut : 0) +
                        (biased ? b->shard.vocabulary / b->shard.cut : 0));
    ty_block_keep(b, TY_INPUT, 0, "input of the final norm", b->shard.own_tokens * e * h);
    ty_block_keep(b, grid ? 0 : TY_INPUT, at, "input of the output matrix",
                  ty_block_input_bytes(b));
    loss(b);
}
