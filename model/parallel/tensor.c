/* tensor.c - tensor parallelism in one dimension (Shoeybi et al. 2019).
 *
 * Ranks have whole heads, and columns of one product after whose rows comes the next: the result of
 * the second is a sum over them, and so is the input gradient of the first. Logits stay sharded; of
 * each token the 32-bit maximum, target logit and sum of exponentials are reduced (section 3). */
#include <math.h>

#include "model/block/block_internal.h"

static void shard(const struct ty_arch *arch, const struct ty_layout *layout,
                  struct ty_shard *shard)
{
    const double t = layout->tensor;
    shard->heads = arch->heads / t;
    shard->kv_heads = fmax(arch->kv_heads / t, 1); /* shared by several when there are fewer */
    shard->ffn = arch->ffn / t;
    shard->vocabulary = arch->vocabulary / t;
    shard->ranks = t;
}

static void around(const struct ty_block_maker *b, struct ty_unit_op *op)
{
    const struct ty_op_comm sum = {
        .group = TY_GROUP_TENSOR, .coll = TY_COLL_ALL_REDUCE, .bytes = ty_block_hidden_bytes(b)};
    if (b->layout->tensor == 1) {
        return;
    }
    if (op->column) {
        ty_block_comm(op, TY_AFTER_DGRAD, &sum, op->n_reduces);
    }
    if (op->loss) {
        struct ty_op_comm loss = sum;
        loss.calls = 3;
        loss.bytes = 4 * b->shard.tokens;
        ty_block_comm(op, TY_AFTER_FORWARD, &loss, 1);
    }
    if (op->row) {
        ty_block_comm(op, TY_AFTER_FORWARD, &sum, 1);
    }
}

const struct ty_parallel ty_parallel_tensor = {.name = "tensor", .shard = shard, .around = around};
