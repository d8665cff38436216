/* recompute.c - which operators run again before their backward pass. */
#include "model/block/block_internal.h"

/* Kernels up to the activation: nobody needs the product after it again. */
static uint32_t wide_part(const struct ty_unit_op *op)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < op->n_kernels; i++) {
        n = op->kernel[i].op == TY_OPERATOR_ACTIVATION ? i + 1 : n;
    }
    return n;
}

static void around(const struct ty_block_maker *b, struct ty_unit_op *op)
{
    if (!ty_unit_is_layer(b->kind)) {
        return;
    }
    switch ((enum ty_recompute)b->layout->recompute) {
    case TY_RECOMPUTE_NONE:
        break;
    case TY_RECOMPUTE_SELECTIVE:
        op->n_again = op->kernel[0].op == TY_OPERATOR_ATTENTION ? op->n_kernels : 0;
        break;
    case TY_RECOMPUTE_FFN:
        op->n_again = wide_part(op);
        break;
    case TY_RECOMPUTE_FULL:
        op->n_again = op->n_kernels;
        break;
    }
}

const struct ty_parallel ty_parallel_recompute = {.around = around};
