/* native.c - native sparse attention (Yuan et al. 2025, arXiv 2502.11089, section 3).
 *
 * Every query sees three things, and gates made of hidden states weigh what they give:
 *
 *     compressed    a key and a value for every sparse_stride tokens, each of sparse_compress
 *     selected      the tokens of those sparse_topk blocks of sparse_block whose compressed keys
 *                   the heads of its group look at most
 *     window        the sparse_window tokens before it
 *
 * Each of the three has keys and values of its own (attention.c), beside one set of queries:
 *
 *     compress         blocks of l tokens, l d x d each for keys and values: one matrix is a guess,
 *                      the paper has an MLP of unnamed depth
 *     select blocks    scores of compressed keys once more, of which nothing learns, their largest
 *     attention core   three kernels, the sum of what they give
 *
 * Tensor ranks have whole groups of heads, and all of the matrices that compress. Context ranks
 * gather keys and values, compressed ones after they are. Kept, of a token: blocks and what they
 * become, e 2 d kv (l + 1) / stride; numbers of blocks, 4 sparse_topk kv; outputs of the three. */
#include "model/block/maker.h"

double ty_block_branches(const struct ty_arch *arch)
{
    return arch->sparse_topk > 0 ? 3 : 1;
}

/* A query's compressed keys. */
static struct ty_attention_core compressed(const struct ty_block_maker *b,
                                           const struct ty_attention_core *from)
{
    struct ty_attention_core core = *from;
    core.queries = core.tokens;
    core.tokens /= b->arch->sparse_stride;
    core.window = 0;
    return core;
}

void ty_block_compress(struct ty_block_maker *b)
{
    const struct ty_arch *arch = b->arch;
    const double l = arch->sparse_compress, d = arch->head_dim, kv = b->shard.kv_heads;
    const double blocks = b->shard.tokens / arch->sparse_stride;
    const double e = ty_dtype_bytes((enum ty_dtype)arch->dtype);
    const struct ty_attention_core all = {.sequences = b->shard.sequences,
                                          .tokens = b->shard.sequence,
                                          .heads = b->shard.heads / 2, /* scores alone */
                                          .kv_heads = kv,
                                          .head_dim = d};
    struct ty_unit_op *op =
        ty_block_op(b, TY_PART_ATTENTION, "compress", "compress dgrad", "compress wgrad");
    const uint32_t at = b->out->n - 1;
    ty_block_elementwise(b, op, TY_OPERATOR_CONVOLUTION, TY_ANY_KERNEL,
                         kv * d * (b->shard.tokens + blocks * l));
    ty_block_product(b, op, blocks * kv, l * d, d);
    ty_block_product(b, op, blocks * kv, l * d, d);
    ty_block_whole_weight(op, "compression of keys", l * d * (d + 1)); /* and of positions */
    ty_block_whole_weight(op, "compression of values", l * d * (d + 1));
    ty_block_keep_input(b, at, 0, at, "blocks of keys and values", e * blocks * kv * 2 * l * d);
    ty_block_keep(b, at, at + 2, "compressed keys and values", e * blocks * kv * 2 * d);

    op = ty_block_op(b, TY_PART_ATTENTION, "select blocks", "select blocks", NULL);
    op->detached = op->lowest = true;
    op->recompute = TY_RECOMPUTE_CORE;
    ty_block_kernel(op, &(struct ty_kernel){.op = TY_OPERATOR_ATTENTION,
                                            .dtype = arch->dtype,
                                            .variant = arch->attention,
                                            .attention = compressed(b, &all)});
    ty_block_keep(b, at + 1, at + 2, "numbers of selected blocks",
                  4 * b->shard.tokens * kv * arch->sparse_topk);
}

void ty_block_three_cores(struct ty_block_maker *b, struct ty_unit_op *op)
{
    const struct ty_arch *arch = b->arch;
    struct ty_kernel selected = op->kernel[0], window = op->kernel[0];
    op->kernel[0].attention = compressed(b, &op->kernel[0].attention);
    selected.attention.window = (double)arch->sparse_topk * arch->sparse_block;
    selected.attention.chosen = true;
    window.attention.window = arch->sparse_window;
    ty_block_kernel(op, &selected);
    ty_block_kernel(op, &window);
    ty_block_elementwise(b, op, TY_OPERATOR_ACTIVATION, TY_ACTIVATION_SWIGLU,
                         2 * b->shard.tokens * b->shard.heads * arch->head_dim);
}
