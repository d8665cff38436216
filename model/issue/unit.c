/* unit.c - the operators of one unit (embedding, layer, head), forward and backward, by parts: the
 * attention of a layer and its MLP or experts, because gradients of one are reduced, and weights
 * gathered, while the other computes. Operators are those of the unit's list (block.h), with the
 * collectives that kinds of parallelism have put around them. A layer under tensor parallelism:
 *
 *     forward   norm [AG] qkv attention proj AR|RS   norm [AG] mlp AR|RS
 *     backward  [AG] mlp-dgrad AR|RS || mlp-wgrad, norm, [AG] proj, attention,
 *               qkv-dgrad AR|RS || qkv-wgrad, norm
 *
 * AR: all-reduce of tensor parallelism (Shoeybi et al. 2019); with sequence parallelism an
 * all-gather before and a reduce-scatter after (Korthikanti et al. 2022, section 4.2.2), and the
 * saved shard of the input is gathered again for the weight gradient while the input gradient runs.
 * || : the weight gradient does not wait for the collective.
 *
 * Tensor groups in more than one dimension run products in steps:
 *
 *     row comm      X0  X1      X2          X0  X1  ..                  R0      R1
 *     column comm   W0  W1      W2                                 W0  W1   ..
 *     compute           Y0      Y1  Y2                                 dX0  dX1 ..
 *
 * The blocks of a step are on their way while the step before computes, into the second of two
 * buffers: so they wait for the step before that. What a step adds to a gradient is summed up while
 * the next one runs, out of two buffers as well. What ranks say about weight gradients nobody waits
 * for but who reduces them further, and the end of the step. */
#include "model/issue/issue.h"

#include <assert.h>

/* ---- what is waited for ---- */

void ty_issuer_need_exactly(struct ty_issuer *is, uint8_t event)
{
    assert(event < TY_EVENTS);
    for (uint32_t i = 0; i < is->n_need; i++) {
        if (is->need[i] == event) {
            return;
        }
    }
    assert(is->n_need < sizeof(is->need) / sizeof(is->need[0]));
    is->need[is->n_need++] = event;
}

void ty_issuer_need(struct ty_issuer *is, uint8_t event)
{
    ty_issuer_need_exactly(is, ty_issuer_event(is, event));
}

/* The next computation waits for these events: bits. */
static void await(struct ty_issuer *is, uint32_t events)
{
    for (uint8_t e = 0; events >> e != 0; e++) {
        if ((events >> e & 1u) != 0) {
            ty_issuer_need(is, e);
        }
    }
}

/* What the next computation waits for before it uses what a collective of the group brings. */
static uint8_t event_of(enum ty_comm_group group)
{
    switch (group) {
    case TY_GROUP_TENSOR:
    case TY_GROUP_ROW:
    case TY_GROUP_OUTPUT:
        return TY_EVENT_TENSOR;
    case TY_GROUP_COLUMN:
    case TY_GROUP_INPUT:
        return TY_EVENT_COLUMN;
    case TY_GROUP_WEIGHT:
        return TY_EVENT_DEPTH;
    case TY_GROUP_EXPERT:
    case TY_GROUP_EXPERT_TENSOR:
    case TY_GROUP_EXPERT_ALL:
        return TY_EVENT_EXPERT;
    default:
        return TY_EVENT_CONTEXT;
    }
}

/* The same of what a weight gradient alone waits for. */
static uint8_t regather_event_of(enum ty_comm_group group)
{
    switch (group) {
    case TY_GROUP_ROW:
    case TY_GROUP_OUTPUT:
        return TY_EVENT_ROW_EVEN;
    case TY_GROUP_INPUT:
        return TY_EVENT_COLUMN_EVEN;
    default:
        return TY_EVENT_REGATHER;
    }
}

/* An operator that overlaps an exchange leaves what that brings to the operator after it. Returns
 * whether there is such an exchange. */
static bool pass_by(struct ty_issuer *is, const struct ty_unit_op *op)
{
    for (uint32_t i = 0; i < is->n_need && op->overlaps_comm; i++) {
        if (is->need[i] == ty_issuer_event(is, TY_EVENT_EXPERT)) {
            is->need[i] = is->need[--is->n_need];
            return true;
        }
    }
    return false;
}

static void wait_for_rows(struct ty_issuer *is, bool passed)
{
    if (passed) {
        ty_issuer_need(is, TY_EVENT_EXPERT);
    }
}

/* ---- single operations ---- */

static const struct ty_unit_op *op_at(const struct ty_issuer *is, uint32_t i)
{
    assert(i < is->ops->n);
    return &is->ops->op[i];
}

static void compute(struct ty_issuer *is, uint32_t i, enum ty_op_pass pass, uint32_t nth)
{
    is->sink->compute(is->to, i, pass, nth);
}

static void collective(struct ty_issuer *is, const struct ty_issuer_comm *comm)
{
    assert(comm->slot < TY_OP_COMMS && comm->group < TY_N_COMM_GROUPS);
    is->sink->collective(is->to, comm);
}

/* Whether there is something to hide at a place, behind weight gradients that were put off and the
 * other half of a woven pair: exchanges of tokens, not what is known before them, or where there
 * are none, collectives of tensor parallelism. */
static bool hides(const struct ty_layout *layout, const struct ty_op_comms *comms,
                  enum ty_comm_place place)
{
    const bool experts = layout->expert > 1;
    bool any = false;
    if (place == TY_BEFORE_WGRAD || (experts && place == TY_BEFORE_FORWARD)) {
        return false;
    }
    for (uint32_t i = 0; i < comms->n; i++) {
        const enum ty_comm_group group = (enum ty_comm_group)comms->item[i].group;
        any = any || (experts ? group == TY_GROUP_EXPERT || group == TY_GROUP_EXPERT_ALL
                              : group == TY_GROUP_TENSOR);
    }
    return any;
}

bool ty_issuer_cuts(const struct ty_unit_ops *ops, const struct ty_layout *layout)
{
    bool cuts = false;
    for (uint32_t i = 0; i < ops->n; i++) {
        const struct ty_op_comms *comms = ops->op[i].comms;
        cuts = cuts || hides(layout, &comms[TY_BEFORE_DGRAD], TY_BEFORE_DGRAD) ||
               hides(layout, &comms[TY_AFTER_DGRAD], TY_AFTER_DGRAD);
    }
    return cuts;
}

/* Weight gradients that were put off run while the collectives just issued do, or before a part
 * ends. */
static void catch_up(struct ty_issuer *is)
{
    for (uint32_t k = 0; k < is->n_weights; k++) {
        await(is, is->weight[k].gathered);
        compute(is, is->weight[k].op, TY_OP_WEIGHT, 0);
    }
    is->n_weights = 0;
}

/* The collectives of an operator at a place, on what has been computed so far or just arrived.
 * Returns the events to wait for before what they bring is used. */
static uint32_t comms(struct ty_issuer *is, uint32_t i, enum ty_comm_place place)
{
    const struct ty_op_comms *all = &op_at(is, i)->comms[place];
    uint32_t events = 0;
    for (uint32_t k = 0; k < all->n; k++) {
        const enum ty_comm_group group = (enum ty_comm_group)all->item[k].group;
        const uint8_t record =
            place == TY_BEFORE_WGRAD ? regather_event_of(group) : event_of(group);
        for (uint32_t t = 0; t < all->item[k].times; t++) {
            collective(is, &(struct ty_issuer_comm){i, ty_comm_place(place, k), (uint8_t)group,
                                                    TY_AFTER_INPUT, TY_NO_EVENT, record});
        }
        events |= 1u << record;
    }
    if (hides(is->layout, all, place)) {
        catch_up(is);
        if (is->woven) {
            is->sink->hide(is->to);
        }
    }
    return events;
}

/* ---- rounds ---- */

/* One message to the next rank of a ring, from the one before. Returns the event to wait for. */
static uint32_t pass_on(struct ty_issuer *is, uint32_t i, uint32_t message, bool odd)
{
    const uint8_t record = odd ? TY_EVENT_CONTEXT_ODD : TY_EVENT_CONTEXT;
    collective(is, &(struct ty_issuer_comm){i, TY_COMM_ROUND + message, op_at(is, i)->rounds.group,
                                            TY_AFTER_COMPUTE, TY_NO_EVENT, record});
    return 1u << record;
}

/* The first round of an operator and the others, each with a message that runs while it does and
 * that the next one waits for: keys and values, and going backward their gradients, which the last
 * brings home. */
static void rounds(struct ty_issuer *is, uint32_t i, enum ty_op_pass pass, bool back)
{
    const uint32_t n = op_at(is, i)->rounds.n;
    for (uint32_t r = 0; r < n; r++) {
        const uint32_t message = !back ? 0 : r == 0 ? 1 : r < n - 1 ? 2 : 3;
        const uint32_t arrived = back || r < n - 1 ? pass_on(is, i, message, r % 2 == 1) : 0;
        compute(is, i, pass, r);
        await(is, arrived);
    }
}

/* ---- pieces ---- */

/* A share to the next tensor rank, from the one before. */
static void pass_share(struct ty_issuer *is, uint32_t i, bool back, enum ty_issuer_after after)
{
    collective(is, &(struct ty_issuer_comm){i, TY_COMM_SHARE + back, TY_GROUP_TENSOR,
                                            (uint8_t)after, TY_NO_EVENT, TY_EVENT_TENSOR});
}

/* The share for the next piece comes while one runs. What has come can go on. */
static void gathered_pieces(struct ty_issuer *is, uint32_t i, enum ty_op_pass pass, bool back)
{
    const uint32_t n = op_at(is, i)->pieces.n;
    pass_share(is, i, back, TY_AFTER_INPUT);
    compute(is, i, pass, 1);
    for (uint32_t k = 1; k < n; k++) {
        ty_issuer_need(is, TY_EVENT_TENSOR);
        compute(is, i, pass, 1);
        if (k + 1 < n) {
            pass_share(is, i, back, TY_AFTER_NOTHING);
        }
    }
}

/* That of the piece before goes while one runs; the own is last, or goes into the last sum. */
static void scattered_pieces(struct ty_issuer *is, uint32_t i, enum ty_op_pass pass, bool back)
{
    const struct ty_op_pieces *pieces = &op_at(is, i)->pieces;
    for (uint32_t k = 0; k < pieces->n; k++) {
        compute(is, i, pass, 1);
        if (k < ty_op_messages(pieces, back)) {
            pass_share(is, i, back, TY_AFTER_INPUT);
        }
    }
    ty_issuer_need(is, TY_EVENT_TENSOR);
}

/* A product in pieces, and what is left of the operator. */
static void pieces(struct ty_issuer *is, uint32_t i, enum ty_op_pass pass, bool back)
{
    (op_at(is, i)->pieces.scatters && !back ? scattered_pieces : gathered_pieces)(is, i, pass,
                                                                                  back);
    compute(is, i, pass, 0);
}

/* ---- steps ---- */

static uint8_t step_event(const struct ty_op_move *move, uint32_t step)
{
    const bool odd = step % 2 == 1;
    return move->group == TY_GROUP_ROW ? (odd ? TY_EVENT_ROW_ODD : TY_EVENT_ROW_EVEN)
                                       : (odd ? TY_EVENT_COLUMN_ODD : TY_EVENT_COLUMN_EVEN);
}

static void put_move(struct ty_issuer *is, uint32_t i, uint32_t slot, const struct ty_op_move *move,
                     uint32_t step)
{
    if (move->bytes > 0) {
        collective(is, &(struct ty_issuer_comm){i, slot, move->group, TY_AFTER_INPUT, TY_NO_EVENT,
                                                step_event(move, step)});
    }
}

static void bring(struct ty_issuer *is, uint32_t i, enum ty_direction way, uint32_t step)
{
    const struct ty_op_steps *steps = &op_at(is, i)->steps;
    for (uint32_t k = 0; k < TY_STEP_BLOCKS && step < steps->n; k++) {
        put_move(is, i, ty_comm_step(way, k), &steps->block[way][k], step);
    }
}

/* The step waits for its blocks, and for the buffer that its result goes to. */
static void need_step(struct ty_issuer *is, const struct ty_op_steps *steps, enum ty_direction way,
                      uint32_t step)
{
    for (uint32_t k = 0; k < TY_STEP_BLOCKS; k++) {
        if (steps->block[way][k].bytes > 0) {
            ty_issuer_need(is, step_event(&steps->block[way][k], step));
        }
    }
    if (step >= 2 && steps->sum[way].bytes > 0) {
        ty_issuer_need(is, step_event(&steps->sum[way], step));
    }
}

static void steps(struct ty_issuer *is, uint32_t i, enum ty_direction way, enum ty_op_pass pass)
{
    const struct ty_op_steps *all = &op_at(is, i)->steps;
    const struct ty_op_move *sum = &all->sum[way];
    bring(is, i, way, 0);
    is->n_need = 0; /* the first blocks wait for it, and all else is behind them */
    for (uint32_t step = 0; step < all->n; step++) {
        bring(is, i, way, step + 1);
        need_step(is, all, way, step);
        compute(is, i, pass, 0);
        put_move(is, i, ty_comm_step(way, TY_STEP_BLOCKS), sum, step);
    }
    if (sum->bytes > 0) { /* on one stream: the last is behind the others */
        ty_issuer_need(is, step_event(sum, all->n - 1));
    }
}

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
uint8_t ty_issuer_grads_event(const struct ty_layout *layout)
{
    return ty_layout_mesh(layout).depth > 1 ? TY_EVENT_GRADS_DEPTH : TY_EVENT_GRADS_COLUMN;
}

/* What tensor ranks of a grid say about weight gradients that were just made. */
static void share_grads(struct ty_issuer *is, uint32_t i)
{
    const struct ty_unit_op *op = op_at(is, i);
    uint8_t behind = TY_NO_EVENT;
    for (uint32_t k = 0; k < TY_OP_GRADS && op->grad[k].bytes > 0; k++) {
        const uint8_t group = op->grad[k].group, record = grad_event((enum ty_comm_group)group);
        collective(is, &(struct ty_issuer_comm){i, TY_COMM_GRAD + k, group, TY_AFTER_COMPUTE,
                                                behind, record});
        behind = record;
    }
    assert(behind == TY_NO_EVENT || behind == ty_issuer_grads_event(is->layout));
}

/* ---- operators ---- */

/* An operator in one piece, in several, in rounds or in steps. */
static void work(struct ty_issuer *is, uint32_t i, enum ty_op_pass pass)
{
    const struct ty_unit_op *op = op_at(is, i);
    const bool back = pass == TY_OP_DGRAD || pass == TY_OP_INPUT;
    if (op->steps.n > 0) {
        steps(is, i, back ? TY_DGRAD : TY_FORWARD, pass);
    } else if (ty_op_in_pieces(op, pass)) {
        pieces(is, i, pass, back);
    } else if (op->rounds.n == 0) {
        compute(is, i, pass, 0);
    } else {
        rounds(is, i, pass, back);
    }
}

/* The weight gradient, in one piece or in steps. */
static void weigh(struct ty_issuer *is, uint32_t i, enum ty_op_pass pass)
{
    if (op_at(is, i)->steps.n > 0) {
        steps(is, i, TY_WGRAD, pass);
    } else {
        compute(is, i, pass, 0);
    }
}

static void forward_op(struct ty_issuer *is, uint32_t i)
{
    const bool rows = pass_by(is, op_at(is, i));
    await(is, comms(is, i, TY_BEFORE_FORWARD));
    work(is, i, TY_OP_FORWARD);
    await(is, comms(is, i, TY_AFTER_FORWARD));
    wait_for_rows(is, rows);
}

/* Those of its kernels that run again, with what comes before the first and after the last of
 * all. */
static void again_op(struct ty_issuer *is, uint32_t i)
{
    const struct ty_unit_op *op = op_at(is, i);
    const bool first = (op->again & 1u) != 0;
    const bool last = (op->again >> (op->n_kernels - 1) & 1u) != 0;
    const bool rows = pass_by(is, op);
    if (first) {
        await(is, comms(is, i, TY_BEFORE_FORWARD));
    }
    work(is, i, TY_OP_RECOMPUTE);
    if (last) {
        await(is, comms(is, i, TY_AFTER_FORWARD));
    }
    wait_for_rows(is, rows);
}

/* The weight gradient is put off until there is a collective to run with. */
static void delayed_op(struct ty_issuer *is, uint32_t i)
{
    await(is, comms(is, i, TY_BEFORE_DGRAD));
    const uint32_t gathered = comms(is, i, TY_BEFORE_WGRAD);
    work(is, i, TY_OP_INPUT);
    if (op_at(is, i)->weight != NULL) {
        assert(is->n_weights < TY_UNIT_OPS);
        is->weight[is->n_weights].op = i;
        is->weight[is->n_weights++].gathered = gathered;
    }
    await(is, comms(is, i, TY_AFTER_DGRAD));
}

/* Input gradient, what comes after it, and the weight gradient while that runs. */
static void whole_op(struct ty_issuer *is, uint32_t i)
{
    const struct ty_unit_op *op = op_at(is, i);
    const bool split = ty_op_splits_wgrad(op), rows = pass_by(is, op);
    await(is, comms(is, i, TY_BEFORE_DGRAD));
    const uint32_t gathered = comms(is, i, TY_BEFORE_WGRAD);
    work(is, i, TY_OP_DGRAD);
    const uint32_t reduced = comms(is, i, TY_AFTER_DGRAD);
    if (!split || !is->layout->framework.overlap_tensor_reduce) {
        await(is, reduced);
    }
    if (split) {
        await(is, gathered);
        weigh(is, i, TY_OP_WGRAD);
        await(is, reduced);
    }
    share_grads(is, i);
    wait_for_rows(is, rows);
}

/* In a woven pair all weight gradients are put off, but of what comes first: nobody waits for its
 * input gradient. */
static void backward_op(struct ty_issuer *is, uint32_t i)
{
    const struct ty_unit_op *op = op_at(is, i);
    if (!ty_op_has_backward(op)) {
        return;
    }
    const bool experts =
        op->expert && is->layout->expert > 1 && is->layout->framework.overlap_dispatch;
    const bool delays = is->woven ? !op->first : experts;
    (delays ? delayed_op : whole_op)(is, i);
}

/* The input gradient alone: what the stage before waits for. */
static void input_op(struct ty_issuer *is, uint32_t i)
{
    const struct ty_unit_op *op = op_at(is, i);
    if (op->first || !ty_op_has_backward(op)) {
        return;
    }
    const bool rows = pass_by(is, op);
    await(is, comms(is, i, TY_BEFORE_DGRAD));
    work(is, i, TY_OP_INPUT);
    await(is, comms(is, i, TY_AFTER_DGRAD));
    if (op->weight == NULL) {
        share_grads(is, i);
    }
    wait_for_rows(is, rows);
}

static void weight_op(struct ty_issuer *is, uint32_t i)
{
    const struct ty_unit_op *op = op_at(is, i);
    if (op->weight == NULL) {
        return;
    }
    if (op->first) { /* no input gradient has gathered it */
        await(is, comms(is, i, TY_BEFORE_DGRAD));
    }
    await(is, comms(is, i, TY_BEFORE_WGRAD));
    weigh(is, i, TY_OP_WEIGHT);
    share_grads(is, i);
}

/* ---- parts of units ---- */

/* What runs again before the backward of a unit, which begins with its last part. */
static void recompute(struct ty_issuer *is, enum ty_part part)
{
    const struct ty_unit_ops *ops = is->ops;
    for (uint32_t i = 0; i < ops->n && part == ops->op[ops->n - 1].part; i++) {
        if (ops->op[i].again != 0 && ty_op_has_backward(&ops->op[i])) {
            again_op(is, i);
        }
    }
}

void ty_issuer_forward(struct ty_issuer *is, const struct ty_unit_ops *ops, enum ty_part part)
{
    is->ops = ops;
    for (uint32_t i = 0; i < ops->n; i++) {
        if (ops->op[i].part == part) {
            forward_op(is, i);
        }
    }
}

typedef void op_fn(struct ty_issuer *is, uint32_t i);

/* Operators of a part from the last to the first. */
static void reversed(struct ty_issuer *is, enum ty_part part, op_fn *issue)
{
    for (uint32_t i = is->ops->n; i > 0; i--) {
        if (is->ops->op[i - 1].part == part) {
            issue(is, i - 1);
        }
    }
}

void ty_issuer_backward(struct ty_issuer *is, const struct ty_unit_ops *ops, enum ty_part part)
{
    is->ops = ops;
    recompute(is, part);
    reversed(is, part, backward_op);
    catch_up(is);
}

void ty_issuer_input(struct ty_issuer *is, const struct ty_unit_ops *ops, enum ty_part part)
{
    is->ops = ops;
    recompute(is, part);
    reversed(is, part, input_op);
}

void ty_issuer_weight(struct ty_issuer *is, const struct ty_unit_ops *ops, enum ty_part part)
{
    is->ops = ops;
    reversed(is, part, weight_op);
}
