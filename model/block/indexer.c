/* indexer.c - who chooses the keys of latent attention (DeepSeek-V3.2, GLM-5).
 *
 *     indexer    r_q x a_i d_i, h x d_i with a LayerNorm, h x a_i: queries, one key for all heads,
 *                and weights of heads; rotary embedding, a Hadamard transform and a cast to fp8
 *     index      scores, the largest model.index_topk of each query, and the loss that the
 *                indexer learns from (model/kernel/index.c)
 *
 * The core then works on latents (576 wide of queries and keys, 512 of values) of which all heads
 * read the same chosen ones; products with the up-projections stand on either side of it and
 * are counted in `mla up`. Hidden states and latents come in detached: nothing learns through the
 * indexer but itself. Every tensor rank has all of it, on all tokens; the weights that heads give
 * to keys are summed up over tensor ranks. Context ranks gather keys and latents.
 * Kept, bytes of a token: queries, keys and weights of the indexer e (a_i d_i + d_i + a_i); of each
 * chosen key its number, score and weight, 12. Source: NVIDIA/Megatron-LM,
 * experimental_attention_variant/dsa.py. */
#include "model/block/maker.h"

static void indexer(struct ty_block_maker *b)
{
    const struct ty_arch *arch = b->arch;
    const double h = arch->hidden, q = arch->query_latent;
    const double heads = arch->index_heads, d = arch->index_head_dim, tokens = b->shard.tokens;
    struct ty_unit_op *op =
        ty_block_op(b, TY_PART_ATTENTION, "indexer", "indexer backward", "indexer wgrad");
    op->column = op->detached = op->lowest = true;
    op->recompute = TY_RECOMPUTE_CORE;
    op->width[0] = h;
    op->width[1] = q;
    ty_block_product(b, op, b->shard.tokens, q, heads * d);
    ty_block_product(b, op, b->shard.tokens, h, d);
    ty_block_product(b, op, b->shard.tokens, h, heads);
    ty_block_elementwise(b, op, TY_OPERATOR_NORM, arch->norm, tokens * d);
    if (arch->positions == 0 && arch->head_rope > 0) {
        ty_block_elementwise(b, op, TY_OPERATOR_ROTARY, ty_rotary_of(arch, &b->layout->framework),
                             tokens * (heads + 1) * arch->head_rope);
    }
    ty_block_elementwise(b, op, TY_OPERATOR_CAST, TY_CAST_HADAMARD, tokens * (heads + 1) * d);
    ty_block_whole_weight(op, "index queries", q * heads * d);
    ty_block_whole_weight(op, "index keys", h * d + 2 * d);
    ty_block_whole_weight(op, "index weights", h * heads);
}

static void index_of(struct ty_block_maker *b)
{
    const struct ty_arch *arch = b->arch;
    struct ty_unit_op *op = ty_block_op(b, TY_PART_ATTENTION, "index", "index backward", NULL);
    const struct ty_op_comm weights = {.group = TY_GROUP_TENSOR,
                                       .coll = TY_COLL_ALL_REDUCE,
                                       .name = "weights of keys",
                                       .bytes = 4 * b->shard.tokens * arch->index_topk};
    op->detached = op->lowest = ty_block_freezes(b, TY_PART_ATTENTION);
    op->recompute = TY_RECOMPUTE_CORE;
    ty_block_kernel(op, &(struct ty_kernel){
                            .op = TY_OPERATOR_INDEX,
                            .dtype = arch->dtype,
                            .variant = TY_ANY_KERNEL,
                            .index = {.sequences = b->shard.sequences,
                                      .tokens = b->shard.sequence,
                                      .heads = arch->index_heads,
                                      .width = arch->index_head_dim,
                                      .chosen = arch->index_topk,
                                      .teachers = b->shard.heads,
                                      .teacher_width = (double)arch->kv_latent + arch->head_rope}});
    if (b->layout->tensor > 1) {
        ty_block_comm(op, TY_AFTER_FORWARD, &weights, 1);
    }
}

void ty_block_indexer(struct ty_block_maker *b)
{
    const struct ty_arch *arch = b->arch;
    const double e = ty_dtype_bytes((enum ty_dtype)arch->dtype), tokens = b->shard.tokens;
    const double heads = arch->index_heads, d = arch->index_head_dim;
    const bool gathered = tokens > b->shard.own_tokens && !b->layout->framework.regather_inputs;
    const uint32_t at = b->out->n;
    indexer(b);
    index_of(b);
    ty_block_keep_input(b, at, 0, at, "inputs of the indexer",
                        gathered ? e * tokens * ((double)arch->hidden + arch->query_latent) : 0);
    ty_block_keep(b, at, at + 1, "queries, keys and weights of the indexer",
                  e * tokens * (heads * d + d + heads));
    ty_block_keep(b, at + 1, at + 1, "chosen keys, their scores and weights",
                  12 * tokens * arch->index_topk);
}
