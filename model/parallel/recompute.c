/* recompute.c - which operators run again before their backward pass. */
#include "model/block/block_internal.h"

/* Kernels up to the last one of a kind: nobody needs what comes after it again. */
static uint32_t up_to(const struct ty_unit_op *op, enum ty_operator last)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < op->n_kernels; i++) {
        n = op->kernel[i].op == last ? i + 1 : n;
    }
    return n;
}

static void around(const struct ty_block_maker *b, struct ty_unit_op *op)
{
    const enum ty_recompute recompute = (enum ty_recompute)b->layout->recompute;
    if (b->kind == TY_UNIT_HEAD && recompute == TY_RECOMPUTE_FULL) { /* the loss does not */
        op->n_again = b->layout->framework.recompute_head ? up_to(op, TY_OPERATOR_MATMUL) : 0;
    }
    if (!ty_unit_is_layer(b->kind)) {
        return;
    }
    switch (recompute) {
    case TY_RECOMPUTE_NONE:
        break;
    case TY_RECOMPUTE_SELECTIVE:
        op->n_again = op->kernel[0].op == TY_OPERATOR_ATTENTION ? op->n_kernels : 0;
        break;
    case TY_RECOMPUTE_FFN:
        op->n_again = up_to(op, TY_OPERATOR_ACTIVATION);
        break;
    case TY_RECOMPUTE_FULL:
        op->n_again = op->n_kernels;
        break;
    }
}

const struct ty_parallel ty_parallel_recompute = {.around = around};
