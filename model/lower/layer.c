/* layer.c - the operations of one unit (embedding, layer, head), forward and backward, by
 * parts: the attention and the MLP of a layer, because gradients of one are reduced, and weights
 * gathered, while the other computes. They are those of its list (block.h), and what tensor
 * parallelism puts before a column-parallel and after a row-parallel one; of a layer:
 *
 *     forward   norm [AG] qkv attention proj AR|RS   norm [AG] mlp AR|RS
 *     backward  [AG] mlp-dgrad AR|RS || mlp-wgrad, norm, [AG] proj, attention,
 *               qkv-dgrad AR|RS || qkv-wgrad, norm
 *
 * AR: all-reduce of tensor parallelism (Shoeybi et al. 2019); with sequence parallelism an
 * all-gather before and a reduce-scatter after (Korthikanti et al. 2022, section 4.2.2), and the
 * saved shard of the input is gathered again for the weight gradient, beside the input gradient.
 * || : the weight gradient does not wait for the collective. */
#include "model/lower/internal.h"

void ty_lower_need(struct ty_lowering *l, uint8_t event)
{
    uint32_t n = 0;
    for (; n < TY_WAITS && n < l->n_need; n++) {
        if (l->need[n] == event) {
            return;
        }
    }
    if (n == TY_WAITS) {
        ty_build_note(&l->b, ty_fail(l->b.err, TY_EBUG,
                                     "lowering: a computation waits for more than %u events",
                                     (unsigned)TY_WAITS));
        return;
    }
    l->need[n] = event;
    l->n_need = n + 1;
}

void ty_lower_emit(struct ty_lowering *l, struct ty_op op, const uint8_t *waits, uint32_t n_waits)
{
    for (uint32_t i = 0; i < TY_WAITS; i++) {
        op.wait[i] = i < n_waits ? waits[i] : TY_NO_EVENT;
    }
    ty_build_op(&l->b, &op);
}

/* A computation: waits for what is needed, and is waited for by what follows. */
static void compute(struct ty_lowering *l, uint16_t kind, uint16_t layer, enum ty_part part)
{
    struct ty_op op = TY_OP_INIT;
    op.kind = kind;
    op.stream = TY_STREAM_COMPUTE;
    op.record = TY_EVENT_COMPUTE;
    op.layer = layer;
    op.part = (uint8_t)part;
    ty_lower_emit(l, op, l->need, l->n_need);
    l->n_need = 0;
}

/* The host's share of a pass: after the message it waits for, before the first kernel. */
void ty_lower_host(struct ty_lowering *l, enum ty_phase phase)
{
    if (l->kinds->host[phase] != TY_NONE) {
        compute(l, l->kinds->host[phase], TY_NONE, TY_PART_NONE);
    }
}

/* A tensor collective on what has been computed so far, or on what just arrived. */
static void tensor(struct ty_lowering *l, uint16_t kind, uint16_t layer, enum ty_part part,
                   uint8_t record)
{
    struct ty_op op = TY_OP_INIT;
    op.kind = kind;
    op.stream = TY_STREAM_TENSOR;
    op.sync = TY_SYNC_GROUP;
    op.link = l->tensor_group;
    op.record = record;
    op.layer = layer;
    op.part = (uint8_t)part;
    uint8_t waits[TY_WAITS] = {TY_EVENT_COMPUTE};
    uint32_t n = 1;
    for (uint32_t i = 0; i < l->n_need && n < TY_WAITS; i++) {
        if (l->need[i] == TY_EVENT_RECV) {
            waits[n++] = TY_EVENT_RECV;
        }
    }
    ty_lower_emit(l, op, waits, n);
}

static bool sequence_parallel(const struct ty_lowering *l)
{
    return ty_lower_has_tensor(l) && l->in->layout->sequence_parallel;
}

/* Before a column-parallel product: with sequence parallelism the whole sequence is needed. The
 * gather of what a message brought has waited for the message, so where an operation's waits are
 * taken it stands for both. */
static void enter(struct ty_lowering *l, int back, uint16_t layer, enum ty_part part)
{
    if (!sequence_parallel(l)) {
        return;
    }
    tensor(l, l->comm.all_gather[back], layer, part, TY_EVENT_TENSOR);
    for (uint32_t i = 0; l->n_need == TY_WAITS && i < TY_WAITS; i++) {
        if (l->need[i] == TY_EVENT_RECV) {
            l->need[i] = TY_EVENT_TENSOR;
            return;
        }
    }
    ty_lower_need(l, TY_EVENT_TENSOR);
}

/* After a row-parallel product (backward: after the input gradient of a column-parallel one): the
 * partial sums meet. `wait`: the next computation needs them. */
static void leave(struct ty_lowering *l, int back, uint16_t layer, const struct ty_unit_op *op,
                  bool wait)
{
    if (!ty_lower_has_tensor(l)) {
        return;
    }
    for (uint32_t i = back ? op->n_reduces : 1; i > 0; i--) {
        tensor(l, sequence_parallel(l) ? l->comm.reduce_scatter[back] : l->comm.all_reduce[back],
               layer, op->part, TY_EVENT_TENSOR);
    }
    if (wait) {
        ty_lower_need(l, TY_EVENT_TENSOR);
    }
}

/* With sequence parallelism the input of a column-parallel product is saved as shards, and gathered
 * again for its weight gradient. */
static void regather(struct ty_lowering *l, uint16_t layer, enum ty_part part)
{
    if (sequence_parallel(l)) {
        tensor(l, l->comm.all_gather[1], layer, part, TY_EVENT_REGATHER);
    }
}

static void need_regathered(struct ty_lowering *l)
{
    if (sequence_parallel(l)) {
        ty_lower_need(l, TY_EVENT_REGATHER);
    }
}

/* Input gradient, its collective, and the weight gradient beside it. */
static void backward_column(struct ty_lowering *l, const struct ty_unit_op *op,
                            const struct ty_op_kinds *kinds, uint16_t layer)
{
    regather(l, layer, op->part);
    compute(l, kinds->dgrad, layer, op->part);
    leave(l, 1, layer, op, !l->in->layout->framework.overlap_tensor_reduce);
    need_regathered(l);
    compute(l, kinds->wgrad, layer, op->part);
    if (ty_lower_has_tensor(l)) {
        ty_lower_need(l, TY_EVENT_TENSOR);
    }
}

/* ---- operators ---- */

/* `kind`: of the forward pass, or of one that repeats it. `whole`: down to the row-parallel
 * product, whose result is a sum. */
static void forward_op(struct ty_lowering *l, const struct ty_unit_op *op, uint16_t kind,
                       uint16_t layer, bool whole)
{
    if (op->column) {
        enter(l, 0, layer, op->part);
    }
    compute(l, kind, layer, op->part);
    if (op->loss && ty_lower_has_tensor(l)) {
        tensor(l, l->comm.loss, layer, op->part, TY_EVENT_TENSOR);
        ty_lower_need(l, TY_EVENT_TENSOR);
    }
    if (op->row && whole) {
        leave(l, 0, layer, op, true);
    }
}

static void backward_op(struct ty_lowering *l, const struct ty_unit_op *op,
                        const struct ty_op_kinds *kinds, uint16_t layer)
{
    if (op->row) {
        enter(l, 1, layer, op->part);
    }
    if (ty_lower_splits_wgrad(op)) {
        backward_column(l, op, kinds, layer);
    } else {
        compute(l, kinds->dgrad, layer, op->part);
    }
}

/* The input gradient alone: what the stage before waits for. */
static void input_op(struct ty_lowering *l, const struct ty_unit_op *op,
                     const struct ty_op_kinds *kinds, uint16_t layer)
{
    if (op->first) {
        return;
    }
    if (op->row) {
        enter(l, 1, layer, op->part);
    }
    compute(l, kinds->input, layer, op->part);
    if (op->column) {
        leave(l, 1, layer, op, true);
    }
}

static void weight_op(struct ty_lowering *l, const struct ty_unit_op *op,
                      const struct ty_op_kinds *kinds, uint16_t layer)
{
    if (op->weight == NULL) {
        return;
    }
    if (op->row && op->first) { /* no input gradient has gathered it */
        enter(l, 1, layer, op->part);
    } else if (op->column) {
        regather(l, layer, op->part);
        need_regathered(l);
    }
    compute(l, kinds->weight, layer, op->part);
}

/* ---- parts of units ---- */

/* What runs again before the backward of a unit, which begins with its last part. */
static void recompute(struct ty_lowering *l, const struct ty_unit *unit, enum ty_part part)
{
    const struct ty_unit_ops *ops = &l->units->kind[unit->kind];
    if (part != ops->op[ops->n - 1].part) {
        return;
    }
    for (uint32_t i = 0; i < ops->n; i++) {
        const struct ty_unit_op *op = &ops->op[i];
        if (op->n_again > 0) {
            forward_op(l, op, l->kinds->op[unit->kind][i].recompute, unit->layer,
                       op->n_again == op->n_kernels);
        }
    }
}

void ty_lower_part_forward(struct ty_lowering *l, const struct ty_unit *unit, enum ty_part part)
{
    const struct ty_unit_ops *ops = &l->units->kind[unit->kind];
    for (uint32_t i = 0; i < ops->n; i++) {
        if (ops->op[i].part == part) {
            forward_op(l, &ops->op[i], l->kinds->op[unit->kind][i].forward, unit->layer, true);
        }
    }
}

typedef void op_fn(struct ty_lowering *l, const struct ty_unit_op *op,
                   const struct ty_op_kinds *kinds, uint16_t layer);

/* Operators of a part from the last to the first. */
static void reversed(struct ty_lowering *l, const struct ty_unit *unit, enum ty_part part,
                     op_fn *emit)
{
    const struct ty_unit_ops *ops = &l->units->kind[unit->kind];
    for (uint32_t i = ops->n; i > 0; i--) {
        if (ops->op[i - 1].part == part) {
            emit(l, &ops->op[i - 1], &l->kinds->op[unit->kind][i - 1], unit->layer);
        }
    }
}

void ty_lower_part_backward(struct ty_lowering *l, const struct ty_unit *unit, enum ty_part part)
{
    recompute(l, unit, part);
    reversed(l, unit, part, backward_op);
}

void ty_lower_part_input(struct ty_lowering *l, const struct ty_unit *unit, enum ty_part part)
{
    recompute(l, unit, part);
    reversed(l, unit, part, input_op);
}

void ty_lower_part_weight(struct ty_lowering *l, const struct ty_unit *unit, enum ty_part part)
{
    reversed(l, unit, part, weight_op);
}
