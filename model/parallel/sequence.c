/* sequence.c - sequence parallelism (Korthikanti et al. 2022, section 4.2.2).
 *
 * Outside the products tensor ranks share the tokens, too: sums of hidden states are scattered over
 * them, and gathered before the next product. The saved shard of an input is gathered again for the
 * weight gradient, next to the input gradient; without framework.regather_inputs it is kept
 * whole. */
#include "model/block/maker.h"
#include "model/check.h"

static void shard(const struct ty_arch *arch, const struct ty_layout *layout,
                  struct ty_shard *shard)
{
    (void)arch;
    shard->own_tokens = layout->sequence_parallel ? shard->tokens / layout->tensor : shard->tokens;
}

static void scatter_sums(struct ty_op_comms *comms)
{
    for (uint32_t i = 0; i < comms->n; i++) {
        comms->item[i].coll = TY_COLL_REDUCE_SCATTER;
    }
}

static void around(const struct ty_block_maker *b, struct ty_unit_op *op)
{
    const struct ty_op_comm gather = {
        .group = TY_GROUP_TENSOR, .coll = TY_COLL_ALL_GATHER, .bytes = ty_block_hidden_bytes(b)};
    if (b->layout->tensor == 1 || !b->layout->sequence_parallel || op->adapter) {
        return;
    }
    scatter_sums(&op->comms[TY_AFTER_DGRAD]);
    if (op->column && (op->joined & TY_JOINED_INPUT) == 0) {
        ty_block_column_comm(b, op, TY_BEFORE_FORWARD, TY_COLL_ALL_GATHER, 1);
    }
    if (op->column && (op->joined & TY_JOINED_AGAIN) == 0 && !op->frozen &&
        b->layout->framework.regather_inputs) {
        ty_block_column_comm(b, op, TY_BEFORE_WGRAD, TY_COLL_ALL_GATHER, 1);
    }
    if (op->row && (op->joined & TY_JOINED_RESULT) == 0) {
        scatter_sums(&op->comms[TY_AFTER_FORWARD]);
        ty_block_comm(op, TY_BEFORE_DGRAD, &gather, 1);
    }
}

/* Its tokens are those that context parallelism leaves. */
static int check(const struct ty_layout *layout, const struct ty_section *section,
                 const struct ty_arch *arch, uint32_t gpus, struct ty_err *err)
{
    const uint32_t t = layout->tensor * layout->context;
    (void)gpus;
    if (layout->sequence_parallel && arch->sequence % t != 0) {
        return ty_check_fail(section, "sequence_parallel", err,
                             "%s (%u) does not divide model.sequence (%u); write false, "
                             "or a sequence of %llu",
                             layout->context > 1 ? "tensor x context" : "layout.tensor",
                             (unsigned)t, (unsigned)arch->sequence,
                             (unsigned long long)(arch->sequence / t + 1) * t);
    }
    return 0;
}

const struct ty_parallel ty_parallel_sequence = {.check = check, .shard = shard, .around = around};
