/* grid.c - tensor groups in more than one dimension: products in steps, and gradients.
 *
 *     row comm      X0  X1      X2          X0  X1  ..                  R0      R1
 *     column comm   W0  W1      W2                                 W0  W1   ..
 *     compute           Y0      Y1  Y2                                 dX0  dX1 ..
 *
 * The blocks of a step are on their way while the step before computes, into the second of two
 * buffers: so they wait for the step before that. What a step adds to a gradient is summed up
 * beside the next one, out of two buffers as well. What ranks say about weight gradients nobody
 * waits for but who reduces them further, and the end of the step. */
#include "model/lower/internal.h"

#include <assert.h>

static uint8_t step_event(const struct ty_op_move *move, uint32_t step)
{
    const bool odd = step % 2 == 1;
    return move->group == TY_GROUP_ROW ? (odd ? TY_EVENT_ROW_ODD : TY_EVENT_ROW_EVEN)
                                       : (odd ? TY_EVENT_COLUMN_ODD : TY_EVENT_COLUMN_EVEN);
}

static void put_move(struct ty_lowering *l, const struct ty_lower_op *at,
                     const struct ty_op_move *move, uint16_t kind, uint8_t record)
{
    uint8_t waits[TY_WAITS];
    const uint32_t n = ty_lower_ready(l, waits);
    ty_lower_collective(l, (enum ty_comm_group)move->group, kind, at->unit->layer, at->op->part,
                        record, waits, n);
}

static void bring(struct ty_lowering *l, const struct ty_lower_op *at, enum ty_direction pass,
                  uint32_t step)
{
    const struct ty_op_move *block = at->op->steps.block[pass];
    const uint16_t *kind = l->here.comm.block[at->unit->kind][at->number][pass];
    for (uint32_t i = 0; i < TY_STEP_BLOCKS && step < at->op->steps.n; i++) {
        if (block[i].bytes > 0) {
            put_move(l, at, &block[i], kind[i], step_event(&block[i], step));
        }
    }
}

/* The step waits for its blocks, and for the buffer that its result goes to. */
static void need_step(struct ty_lowering *l, const struct ty_lower_op *at, enum ty_direction pass,
                      uint32_t step)
{
    const struct ty_op_steps *steps = &at->op->steps;
    for (uint32_t i = 0; i < TY_STEP_BLOCKS; i++) {
        if (steps->block[pass][i].bytes > 0) {
            ty_lower_need(l, step_event(&steps->block[pass][i], step));
        }
    }
    if (step >= 2 && steps->sum[pass].bytes > 0) {
        ty_lower_need(l, step_event(&steps->sum[pass], step));
    }
}

void ty_lower_steps(struct ty_lowering *l, const struct ty_lower_op *at, enum ty_direction pass,
                    uint16_t kind)
{
    const struct ty_op_steps *steps = &at->op->steps;
    const struct ty_op_move *sum = &steps->sum[pass];
    const uint16_t sum_kind = l->here.comm.sum[at->unit->kind][at->number][pass];
    bring(l, at, pass, 0);
    l->emit.n_need = 0; /* the first blocks wait for it, and all else is behind them */
    for (uint32_t step = 0; step < steps->n; step++) {
        bring(l, at, pass, step + 1);
        need_step(l, at, pass, step);
        ty_lower_compute(l, kind, at->unit->layer, at->op->part, TY_EVENT_COMPUTE);
        if (sum->bytes > 0) {
            put_move(l, at, sum, sum_kind, step_event(sum, step));
        }
    }
    if (sum->bytes > 0) { /* on one stream: the last is behind the others */
        ty_lower_need(l, step_event(sum, steps->n - 1));
    }
}

/* ---- gradients ---- */

static uint8_t grad_event(enum ty_comm_group group)
{
    switch (group) {
    case TY_GROUP_ROW:
    case TY_GROUP_OUTPUT:
        return TY_EVENT_GRADS_ROW;
    case TY_GROUP_COLUMN:
    case TY_GROUP_INPUT:
        return TY_EVENT_GRADS_COLUMN;
    default:
        return TY_EVENT_GRADS_DEPTH;
    }
}

/* The stream of the last move of every operator. */
uint8_t ty_lower_grads_event(const struct ty_lowering *l)
{
    return ty_layout_mesh(l->in->layout).depth > 1 ? TY_EVENT_GRADS_DEPTH : TY_EVENT_GRADS_COLUMN;
}

void ty_lower_grads(struct ty_lowering *l, const struct ty_lower_op *at)
{
    const uint16_t *kind = l->here.comm.grad[at->unit->kind][at->number];
    uint8_t waits[] = {TY_EVENT_COMPUTE, TY_NO_EVENT}, record = TY_NO_EVENT;
    for (uint32_t i = 0; i < TY_OP_GRADS && at->op->grad[i].bytes > 0; i++) {
        const enum ty_comm_group group = (enum ty_comm_group)at->op->grad[i].group;
        record = grad_event(group);
        ty_lower_collective(l, group, kind[i], at->unit->layer, at->op->part, record, waits,
                            i == 0 ? 1 : 2);
        waits[1] = record;
    }
    assert(record == TY_NO_EVENT || record == ty_lower_grads_event(l));
}

/* ---- kinds ---- */

static uint16_t move_kind(struct ty_lowering *l, const struct ty_op_move *move, enum ty_phase phase)
{
    return move->bytes > 0 ? ty_lower_group_kind(l, (enum ty_comm_group)move->group,
                                                 (enum ty_coll)move->coll, phase, move->bytes)
                           : TY_NONE;
}

static void op_kinds(struct ty_lowering *l, enum ty_unit_kind u, uint32_t i)
{
    const struct ty_unit_op *op = &l->part->kind[u].op[i];
    for (enum ty_direction pass = TY_FORWARD; pass <= TY_WGRAD; pass++) {
        const enum ty_phase phase = pass == TY_FORWARD ? TY_PHASE_FORWARD : TY_PHASE_BACKWARD;
        for (uint32_t k = 0; k < TY_STEP_BLOCKS; k++) {
            l->here.comm.block[u][i][pass][k] = move_kind(l, &op->steps.block[pass][k], phase);
        }
        l->here.comm.sum[u][i][pass] = move_kind(l, &op->steps.sum[pass], phase);
    }
    for (uint32_t k = 0; k < TY_OP_GRADS; k++) {
        l->here.comm.grad[u][i][k] = move_kind(l, &op->grad[k], TY_PHASE_BACKWARD);
    }
}

void ty_lower_grid_kinds(struct ty_lowering *l)
{
    for (enum ty_unit_kind u = 0; u < TY_N_UNIT_KINDS && ty_lower_is_mesh(l); u++) {
        for (uint32_t i = 0; i < l->part->kind[u].n; i++) {
            op_kinds(l, u, i);
        }
    }
}
