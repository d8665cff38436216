/* pieces.c - products of sequence parallelism in pieces, next to what is gathered and scattered.
 *
 * Of n tensor ranks each has a share of the tokens. A column-parallel product begins with its own,
 * and while a piece runs the share of another rank comes for the next; a row-parallel one ends with
 * its own, and while a piece runs what the one before gave for another rank leaves. Going backward
 * the gradients of row-parallel results come like inputs; those that column-parallel products
 * scatter have the weight gradient to run during, and inputs that are gathered again for that the
 * input gradient (issue/unit.c). With framework.scatter_sms a result does not go to its rank to be
 * summed up at the end: kernels on so many multiprocessors, which products leave them, sum up each
 * piece of all ranks on the way, those of the last one alone (Transformer Engine,
 * comm_gemm_overlap.cpp: ring exchange and pipeline; NVIDIA's configurations take the latter in
 * bf16, and before 2025 in fp8). So do MegaScale (Jiang et al. 2024, section 3.2), Megatron-LM's
 * --tp-comm-overlap and PyTorch's asynchronous tensor parallelism; which passes the latter two take
 * by default is from memory.
 *
 * A share goes by copy engines at the rate of a message, nvlink_p2p_efficiency, behind
 * nvlink_p2p_latency. It takes no multiprocessors, but memory: what leaves is read, what comes is
 * written, together 22 % of an H100's bandwidth and 18 % of a GB200's, while each piece reads the
 * whole weight again. Computation loses nvlink_overlap_slowdown to it, as to a collective (guess:
 * the two shares are near 18 %). Whole tiles are lost, too: a piece has 1/n of the rows. */
#include "model/block/maker.h"

/* One collective of tensor ranks at a place, which pieces replace: whether it was there. */
static bool replace(struct ty_unit_op *op, enum ty_comm_place place, enum ty_coll coll,
                    double *bytes)
{
    struct ty_op_comms *comms = &op->comms[place];
    const struct ty_op_comm *one = &comms->item[0];
    if (comms->n != 1 || one->group != TY_GROUP_TENSOR || one->coll != coll || one->times != 1) {
        return false;
    }
    *bytes = one->bytes;
    comms->n = 0;
    return true;
}

static bool has_product(const struct ty_unit_op *op)
{
    bool any = false;
    for (uint32_t i = 0; i < op->n_kernels; i++) {
        any = any || op->kernel[i].op == TY_OPERATOR_MATMUL;
    }
    return any;
}

static void around(const struct ty_block_maker *b, struct ty_unit_op *op)
{
    double bytes = 0;
    if (!ty_block_overlaps_products(b) || op->expert || !has_product(op)) {
        return;
    }
    const bool gathers = !(op->column && ty_block_is_adapted(b, op)) &&
                         replace(op, TY_BEFORE_FORWARD, TY_COLL_ALL_GATHER, &bytes);
    const bool scatters = replace(op, TY_AFTER_FORWARD, TY_COLL_REDUCE_SCATTER, &bytes) &&
                          replace(op, TY_BEFORE_DGRAD, TY_COLL_ALL_GATHER, &bytes);
    if (gathers || scatters) {
        const uint32_t n = b->layout->tensor;
        op->pieces = (struct ty_op_pieces){n, b->layout->framework.scatter_sms, gathers, scatters,
                                           bytes / n};
    }
}

const struct ty_parallel ty_parallel_pieces = {.around = around};
