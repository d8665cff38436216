/* dispatch.c - how rows get to the ranks that have their experts, and what they give back.
 *
 * Expert ranks and those that share an expert's products route tokens of their own: those of a
 * tensor rank are its part of the sequence. Events of a layer, by framework.dispatcher, n ranks in
 * both kinds of group together; going backward the same in reverse, without counts:
 *
 *     alltoall    counts gathered (n)   permute   rows, probabilities: all-to-all   [rows gathered
 *                 (etp)]   experts   [sums scattered (etp)]   rows: all-to-all   unpermute
 *     allgather   tokens, probabilities, map of who goes where gathered (n)   permute   experts
 *                 unpermute   sums scattered (n), in 32 bit as the probabilities are
 *     deepep,     tokens: a copy for each node and for each rank in it   [rows gathered (etp)]
 *     hybridep    permute   experts   unpermute   [sums scattered (etp)]   sums the same way back
 *
 * Where the host has to know how many rows come before it can go on, the GPU waits for it
 * (framework.dispatch_sync): not where every expert gets as many rows as it takes, nor in the
 * kernels of deepep and hybridep, which wait for counts themselves.
 *
 * Source: NVIDIA/Megatron-LM, megatron/core/transformer/moe/token_dispatcher.py;
 * deepseek-ai/DeepEP; NVIDIA, arXiv 2603.07685. */
#include <math.h>

#include "model/block/maker.h"
#include "model/check.h"

/* ---- the share of a rank ---- */

static void shard(const struct ty_arch *arch, const struct ty_layout *layout,
                  struct ty_shard *shard)
{
    const struct ty_framework *framework = &layout->framework;
    if (arch->experts == 0) {
        return;
    }
    const double rows = shard->own_tokens * arch->experts_per_token, mean = rows / arch->experts;
    const double most = ceil(framework->capacity * mean);
    shard->experts = (double)arch->experts / layout->expert;
    shard->expert_ffn = (double)arch->expert_ffn / layout->expert_tensor;
    shard->shared_ffn = (double)arch->shared_ffn / layout->tensor;
    shard->sent_rows = framework->capacity == 0     ? rows
                       : framework->pad_to_capacity ? most * arch->experts
                                                    : fmin(most, mean) * arch->experts;
    shard->expert_rows = shard->sent_rows * layout->expert_tensor;
}

/* ---- exchanges ---- */

static bool by_node(const struct ty_block_maker *b)
{
    return b->layout->framework.dispatcher >= TY_DISPATCHER_DEEPEP;
}

/* Ranks of both kinds of group. */
static double ranks(const struct ty_block_maker *b)
{
    return (double)b->layout->expert * b->layout->expert_tensor;
}

static enum ty_comm_group both(const struct ty_block_maker *b)
{
    return b->layout->expert_tensor == 1 ? TY_GROUP_EXPERT
           : b->layout->expert == 1      ? TY_GROUP_EXPERT_TENSOR
                                         : TY_GROUP_EXPERT_ALL;
}

static void collective(struct ty_unit_op *op, enum ty_comm_place place, enum ty_comm_group group,
                       enum ty_coll coll, const char *name, double bytes)
{
    ty_block_comm(op, place,
                  &(struct ty_op_comm){
                      .group = (uint8_t)group, .coll = (uint8_t)coll, .name = name, .bytes = bytes},
                  1);
}

/* Rows to the experts, or back: row_B bytes for each. */
static void exchange(const struct ty_block_maker *b, struct ty_unit_op *op,
                     enum ty_comm_place place, const char *name, double row_B)
{
    /* DeepEP's default; HybridEP: 4 to 8 SMs (arXiv 2603.07685) */
    static const uint32_t sms[] = {[TY_DISPATCHER_DEEPEP] = 20, [TY_DISPATCHER_HYBRIDEP] = 8};
    struct ty_op_comm comm = {.group = TY_GROUP_EXPERT, .coll = TY_COLL_ALL_TO_ALL, .name = name};
    comm.exchange =
        (struct ty_exchange){.method = by_node(b) ? TY_EXCHANGE_PER_NODE : TY_EXCHANGE_ALL_TO_ALL,
                             .tokens = b->shard.sent_rows / b->arch->experts_per_token,
                             .row_B = row_B,
                             .experts = b->arch->experts,
                             .top_k = b->arch->experts_per_token,
                             .groups = b->arch->expert_groups,
                             .group_limit = b->arch->group_limit,
                             .sms = by_node(b) ? sms[b->layout->framework.dispatcher] : 0};
    if (b->layout->expert > 1) {
        ty_block_comm(op, place, &comm, 1);
    }
}

/* Rows of ranks that share experts, brought together or summed up and scattered. */
static void among_tensor(const struct ty_block_maker *b, struct ty_unit_op *op,
                         enum ty_comm_place place, enum ty_coll coll)
{
    if (b->layout->expert_tensor > 1) {
        collective(op, place, TY_GROUP_EXPERT_TENSOR, coll, NULL,
                   b->shard.expert_rows * ty_block_row_bytes(b, false));
    }
}

/* Towards the experts: rows going forward, gradients of what they gave going backward. */
static void to_experts(const struct ty_block_maker *b, struct ty_unit_op *op,
                       enum ty_comm_place place)
{
    const bool forward = place == TY_AFTER_FORWARD;
    const char *name = forward ? "dispatch" : "combine backward";
    const bool probabilities = forward && !by_node(b);
    if (b->layout->framework.dispatcher == TY_DISPATCHER_ALL_GATHER) {
        const double tokens = b->shard.own_tokens * ranks(b);
        const double e = forward ? ty_block_row_bytes(b, true) : 4 * ty_arch_row_width(b->arch);
        collective(op, place, both(b), TY_COLL_ALL_GATHER, name, tokens * e);
        if (forward) { /* probabilities in 32 bit, and the map */
            collective(op, place, both(b), TY_COLL_ALL_GATHER, "probabilities",
                       tokens * b->arch->experts * (4 + 1));
        }
        return;
    }
    exchange(b, op, place, name, ty_block_row_bytes(b, true));
    if (probabilities) {
        exchange(b, op, place, "probabilities", 4);
    }
    among_tensor(b, op, place, TY_COLL_ALL_GATHER);
}

/* And back: what they gave, or gradients of the rows that they got. */
static void from_experts(const struct ty_block_maker *b, struct ty_unit_op *op,
                         enum ty_comm_place place)
{
    const bool forward = place == TY_AFTER_FORWARD;
    const char *name = forward ? "combine" : "dispatch backward";
    if (b->layout->framework.dispatcher == TY_DISPATCHER_ALL_GATHER) {
        const double tokens = b->shard.own_tokens * ranks(b);
        const double e = forward ? 4 * ty_arch_row_width(b->arch) : ty_block_row_bytes(b, false);
        collective(op, place, both(b), TY_COLL_REDUCE_SCATTER, name, tokens * e);
        if (!forward) {
            collective(op, place, both(b), TY_COLL_REDUCE_SCATTER, "probabilities backward",
                       tokens * b->arch->experts * 4);
        }
        return;
    }
    among_tensor(b, op, place, TY_COLL_REDUCE_SCATTER);
    exchange(b, op, place, name, ty_block_row_bytes(b, false));
    if (!forward && !by_node(b)) {
        exchange(b, op, place, "probabilities backward", 4);
    }
}

/* ---- around operators ---- */

/* The host has to know how many rows come before it can launch what works on them. */
static void counts(const struct ty_block_maker *b, struct ty_unit_op *op)
{
    if (op->kernel[0].op != TY_OPERATOR_PERMUTE || op->expert || by_node(b) ||
        b->layout->framework.pad_to_capacity) {
        return;
    }
    op->host_s = b->layout->framework.dispatch_sync;
    if ((op->rows & TY_ROWS_LEAVE) != 0 && ranks(b) > 1) {
        collective(op, TY_BEFORE_FORWARD, both(b), TY_COLL_ALL_GATHER, "counts",
                   ranks(b) * b->arch->experts * sizeof(uint64_t));
    }
}

static bool comes_home(const struct ty_unit_ops *unit)
{
    uint8_t rows = 0;
    for (uint32_t i = 0; i < unit->n; i++) {
        rows |= unit->op[i].rows;
    }
    return (rows & TY_ROWS_HOME) != 0;
}

static void around(const struct ty_block_maker *b, struct ty_unit_op *op)
{
    if (op->rows == 0) {
        return;
    }
    counts(b, op);
    if (ranks(b) == 1) {
        return;
    }
    if ((op->rows & TY_ROWS_LEAVE) != 0) {
        to_experts(b, op, TY_AFTER_FORWARD);
    }
    if ((op->rows & TY_ROWS_RETURN) != 0) {
        from_experts(b, op, TY_AFTER_FORWARD);
        if (!comes_home(b->out)) { /* none sums rows where their tokens are */
            to_experts(b, op, TY_BEFORE_DGRAD);
        }
    }
    if ((op->rows & TY_ROWS_HOME) != 0) {
        to_experts(b, op, TY_AFTER_DGRAD);
    }
    if ((op->rows & TY_ROWS_ARRIVE) != 0) {
        from_experts(b, op, TY_AFTER_DGRAD);
    }
}

/* ---- what goes with what ---- */

/* Rules of Megatron-LM (transformer_config.py, token_dispatcher.py). */
static int check(const struct ty_layout *layout, const struct ty_section *section,
                 const struct ty_arch *arch, uint32_t gpus, struct ty_err *err)
{
    const struct ty_framework *f = &layout->framework;
    (void)gpus;
    if (!ty_arch_is_moe(arch)) {
        return 0;
    }
    if (f->pad_to_capacity && f->capacity == 0) {
        return ty_check_fail(section, "expert", err,
                             "%u: framework.pad_to_capacity has nothing to fill up to; write a "
                             "framework.capacity, such as 1",
                             (unsigned)layout->expert);
    }
    if (f->pad_to_capacity && layout->expert > 1 && f->dispatcher != TY_DISPATCHER_ALL_TO_ALL) {
        return ty_check_fail(section, "expert", err,
                             "%u: framework.pad_to_capacity goes with framework.dispatcher "
                             "alltoall only; write that",
                             (unsigned)layout->expert);
    }
    if (f->dispatch_dtype == TY_DISPATCH_FP8 && arch->dtype != TY_DTYPE_FP8) {
        return ty_check_fail(section, "expert", err,
                             "%u: framework.dispatch_dtype fp8 sends the inputs of fp8 GEMMs, and "
                             "model.dtype is another; write model there",
                             (unsigned)layout->expert);
    }
    if (f->shared_overlap && layout->expert > 1 && arch->shared_ffn > 0 &&
        f->dispatcher == TY_DISPATCHER_ALL_GATHER) {
        return ty_check_fail(section, "expert", err,
                             "%u: framework.shared_overlap does not go with framework.dispatcher "
                             "allgather; write false there, or alltoall, deepep or hybridep here",
                             (unsigned)layout->expert);
    }
    return 0;
}

const struct ty_parallel ty_parallel_dispatch = {.check = check, .shard = shard, .around = around};
