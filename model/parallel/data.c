/* data.c - data parallelism: replicas of the model have the same weights; each sees other sequences
 * or, with context parallelism, other parts of them. Gradients are added up over all. What they
 * share of states is the business of model/zero.h, when they do it that of the stack. */
#include "model/block/maker.h"

static void around(const struct ty_block_maker *b, struct ty_unit_op *op)
{
    (void)b;
    for (uint32_t i = 0; i < op->n_weights; i++) {
        op->weights[i].group = TY_GROUP_DATA;
    }
}

const struct ty_parallel ty_parallel_data = {.around = around};
