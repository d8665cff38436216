/* recompute.c - which kernels run again before the backward pass of their operator.
 *
 * layout.recompute is a set of parts of a layer, and every operator says which of them it belongs
 * to (block.h). Of a part that an operator belongs to these run again:
 *
 *     norm            norms, not the addition before them
 *     moe_act         the activation
 *     ffn             up to the activation: nobody needs what comes after it again
 *     the others      all, with the collectives around them */
#include "model/block/block_internal.h"

static uint32_t all_of(const struct ty_unit_op *op)
{
    return (1u << op->n_kernels) - 1;
}

/* Kernels of a kind, and those up to the last one of it. */
static uint32_t only(const struct ty_unit_op *op, enum ty_operator kind)
{
    uint32_t kernels = 0;
    for (uint32_t i = 0; i < op->n_kernels; i++) {
        kernels |= op->kernel[i].op == kind ? 1u << i : 0;
    }
    return kernels;
}

static uint32_t up_to(const struct ty_unit_op *op, enum ty_operator last)
{
    uint32_t kernels = 0;
    for (uint32_t i = 0; i < op->n_kernels; i++) {
        kernels = op->kernel[i].op == last ? (2u << i) - 1 : kernels;
    }
    return kernels;
}

/* Whether a kernel casts what another one gives to fp8, and not weights. */
static bool casts_result(const struct ty_kernel *kernel)
{
    return kernel->op == TY_OPERATOR_CAST && kernel->gradients > 0;
}

/* With the casts behind them, and without those of weights that are there from the forward. */
static uint32_t with_casts(const struct ty_unit_op *op, uint32_t kernels, bool kept)
{
    for (uint32_t i = 0; i < op->n_kernels; i++) {
        const struct ty_kernel *kernel = &op->kernel[i];
        const bool behind = i > 0 && (kernels >> (i - 1) & 1u) != 0;
        kernels |= casts_result(kernel) && behind ? 1u << i : 0;
        if (kernel->op == TY_OPERATOR_CAST && !casts_result(kernel) && kept) {
            kernels &= ~(1u << i);
        }
    }
    return kernels;
}

static uint32_t again(const struct ty_unit_op *op, uint32_t parts)
{
    static const uint32_t some = TY_RECOMPUTE_NORM | TY_RECOMPUTE_MOE_ACT | TY_RECOMPUTE_FFN;
    uint32_t kernels = (parts & ~some) != 0 ? all_of(op) : 0;
    kernels |= (parts & TY_RECOMPUTE_NORM) != 0 ? only(op, TY_OPERATOR_NORM) : 0;
    kernels |= (parts & TY_RECOMPUTE_MOE_ACT) != 0 ? only(op, TY_OPERATOR_ACTIVATION) : 0;
    kernels |= (parts & TY_RECOMPUTE_FFN) != 0 ? up_to(op, TY_OPERATOR_ACTIVATION) : 0;
    return kernels;
}

static void around(const struct ty_block_maker *b, struct ty_unit_op *op)
{
    const uint32_t set = b->layout->recompute;
    if (ty_unit_is_head(b->kind) && set == TY_RECOMPUTE_FULL) { /* the loss does not */
        op->again = b->layout->framework.recompute_head ? up_to(op, TY_OPERATOR_MATMUL) : 0;
    }
    if (ty_unit_is_layer(b->kind) || b->kind == TY_UNIT_MTP) {
        const uint32_t parts = (op->recompute | TY_RECOMPUTE_LAYER) & set;
        op->again = with_casts(op, again(op, parts), b->layout->zero < 3);
        op->drops = (parts & TY_RECOMPUTE_WITHOUT_OUTPUT) != 0;
    }
}

const struct ty_parallel ty_parallel_recompute = {.around = around};
