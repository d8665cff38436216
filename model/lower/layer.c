/* layer.c - the operations of one unit (embedding, layer, head), forward and backward, by
 * parts: the attention of a layer and its MLP or experts, because gradients of one are reduced, and
 * weights gathered, while the other computes. They are those of its list (block.h), with the
 * collectives that kinds of parallelism have put around them; of a layer under tensor parallelism:
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

/* Where an operator stands, and its kinds. */
struct at {
    const struct ty_unit *unit;
    uint32_t number; /* within the unit */
    const struct ty_unit_op *op;
    const struct ty_op_kinds *kinds;
    const uint16_t (*comm)[TY_PLACE_COMMS]; /* by place */
};

static struct at at_of(const struct ty_lowering *l, const struct ty_unit *unit, uint32_t i)
{
    const enum ty_unit_kind u = unit->kind;
    const struct ty_unit_op *op = &l->units->kind[u].op[i];
    if (unit->routed == NULL) {
        return (struct at){unit, i, op, &l->emit.kinds->op[u][i], l->here.comm.op[u][i]};
    }
    const size_t slice = (size_t)(l->emit.kinds - l->here.gpus->slice);
    return (struct at){unit, i, op, &unit->routed->slice[slice][i], unit->routed->comm[i]};
}

/* Every computation of a pass is waited for by what follows it. */
static void compute(struct ty_lowering *l, const struct at *at, uint16_t kind)
{
    ty_lower_compute(l, kind, at->unit->layer, at->op->part, TY_EVENT_COMPUTE);
}

/* The host's share of a pass: after the message it waits for, before the first kernel. */
void ty_lower_host(struct ty_lowering *l, enum ty_phase phase)
{
    if (l->emit.kinds->host[phase] != TY_NONE) {
        ty_lower_compute(l, l->emit.kinds->host[phase], TY_NONE, TY_PART_NONE, TY_EVENT_COMPUTE);
    }
}

/* The next computation waits for these events: bits. */
static void await(struct ty_lowering *l, uint32_t events)
{
    for (uint8_t e = 0; events >> e != 0; e++) {
        if ((events >> e & 1u) != 0) {
            ty_lower_need(l, e);
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

/* An operator beside an exchange leaves what that brings to the one after it: whether it does. */
static bool pass_by(struct ty_lowering *l, const struct at *at)
{
    for (uint32_t i = 0; i < l->emit.n_need && at->op->overlaps_comm; i++) {
        if (l->emit.need[i] == ty_lower_own_event(l, TY_EVENT_EXPERT)) {
            l->emit.need[i] = l->emit.need[--l->emit.n_need];
            return true;
        }
    }
    return false;
}

static void wait_for_rows(struct ty_lowering *l, bool passed)
{
    if (passed) {
        ty_lower_need(l, TY_EVENT_EXPERT);
    }
}

/* Whether there is something to hide at a place, behind weight gradients that were put off and the
 * other half of a woven pair: exchanges of tokens, not what is known before them, or where there
 * are none, collectives of tensor parallelism. */
static bool hides(const struct ty_lowering *l, const struct ty_op_comms *comms,
                  enum ty_comm_place place)
{
    const bool experts = l->in->layout->expert > 1;
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

/* Weight gradients that were put off: beside the collectives just issued, or before a part ends. */
static void catch_up(struct ty_lowering *l)
{
    for (uint32_t i = 0; i < l->emit.n_weights; i++) {
        const struct ty_lower_weight *w = &l->emit.weight[i];
        const struct at one = at_of(l, w->unit, w->number);
        await(l, w->gathered);
        compute(l, &one, one.kinds->weight);
    }
    l->emit.n_weights = 0;
}

/* What a collective waits for. Those of one dimension come behind others on the same stream, and
 * bring no weights. */
static uint32_t ready(struct ty_lowering *l, uint8_t waits[TY_WAITS])
{
    uint32_t n = 1;
    if (ty_lower_is_mesh(l)) {
        return ty_lower_ready(l, waits);
    }
    waits[0] = TY_EVENT_COMPUTE;
    for (uint32_t i = 0; i < l->emit.n_need && n < TY_WAITS; i++) {
        if (l->emit.need[i] == ty_lower_own_event(l, TY_EVENT_RECV)) {
            waits[n++] = TY_EVENT_RECV;
        }
    }
    return n;
}

/* Its collectives at a place, on what has been computed so far or just arrived. Returns the events
 * to wait for before what they bring is used. */
static uint32_t comms(struct ty_lowering *l, const struct at *at, enum ty_comm_place place)
{
    const struct ty_op_comms *all = &at->op->comms[place];
    uint8_t waits[TY_WAITS];
    uint32_t n = ready(l, waits), events = 0;
    for (uint32_t i = 0; i < all->n; i++) {
        const bool beside = l->emit.woven && all->item[i].exchange.tokens > 0;
        const uint16_t kind = at->comm[place][i] + beside;
        const enum ty_comm_group group = (enum ty_comm_group)all->item[i].group;
        const uint8_t record =
            place == TY_BEFORE_WGRAD ? regather_event_of(group) : event_of(group);
        for (uint32_t k = 0; k < all->item[i].times; k++) {
            ty_lower_collective(l, group, kind, at->unit->layer, at->op->part, record, waits, n);
        }
        events |= 1u << record;
    }
    if (hides(l, all, place)) {
        catch_up(l);
        if (l->emit.woven) {
            ty_lower_cut(l);
        }
    }
    return events;
}

/* ---- operators ---- */

/* One message to the next rank of a ring, from the one before. Returns the event to wait for. */
static uint32_t pass_on(struct ty_lowering *l, const struct at *at, uint16_t kind, bool odd)
{
    const uint8_t waits[] = {TY_EVENT_COMPUTE};
    const uint8_t record = odd ? TY_EVENT_CONTEXT_ODD : TY_EVENT_CONTEXT;
    ty_lower_collective(l, (enum ty_comm_group)at->op->rounds.group, kind, at->unit->layer,
                        at->op->part, record, waits, 1);
    return 1u << record;
}

/* The first round of an operator and the others, each with a message beside it that the next one
 * waits for: keys and values, and going backward their gradients, which the last brings home. */
static void rounds(struct ty_lowering *l, const struct at *at, uint16_t first, uint16_t next,
                   bool back)
{
    const uint32_t n = at->op->rounds.n;
    const uint16_t *kind = l->here.comm.round[at->unit->kind][at->number];
    for (uint32_t i = 0; i < n; i++) {
        const uint16_t message = back ? kind[i == 0 ? 1 : i < n - 1 ? 2 : 3] : kind[0];
        const uint32_t arrived = back || i < n - 1 ? pass_on(l, at, message, i % 2 == 1) : 0;
        compute(l, at, i == 0 ? first : (uint16_t)(next + (i - 1) * at->kinds->apart));
        await(l, arrived);
    }
}

/* A share to the next tensor rank, from the one before. */
static void pass_share(struct ty_lowering *l, const struct at *at, uint16_t copy,
                       const uint8_t *waits, uint32_t n)
{
    ty_lower_collective(l, TY_GROUP_TENSOR, copy, at->unit->layer, at->op->part, TY_EVENT_TENSOR,
                        waits, n);
}

/* The share for the next piece comes while one runs. What has come can go on. */
static void gathered_pieces(struct ty_lowering *l, const struct at *at, uint16_t piece,
                            uint16_t copy)
{
    uint8_t waits[TY_WAITS];
    const uint32_t n = at->op->pieces.n;
    pass_share(l, at, copy, waits, ready(l, waits));
    compute(l, at, piece);
    for (uint32_t i = 1; i < n; i++) {
        ty_lower_need(l, TY_EVENT_TENSOR);
        compute(l, at, piece);
        if (i + 1 < n) {
            pass_share(l, at, copy, waits, 0);
        }
    }
}

/* That of the piece before goes while one runs; the own is last. */
static void scattered_pieces(struct ty_lowering *l, const struct at *at, uint16_t piece,
                             uint16_t copy)
{
    uint8_t waits[TY_WAITS];
    for (uint32_t i = 1; i < at->op->pieces.n; i++) {
        compute(l, at, piece);
        pass_share(l, at, copy, waits, ready(l, waits));
    }
    compute(l, at, piece);
    ty_lower_need(l, TY_EVENT_TENSOR);
}

/* A product in pieces, and what is left of the operator. */
static void pieces(struct ty_lowering *l, const struct at *at, uint16_t rest, uint16_t piece,
                   bool back)
{
    const uint16_t copy = l->here.comm.copy[at->unit->kind][at->number][back];
    (at->op->pieces.scatters && !back ? scattered_pieces : gathered_pieces)(l, at, piece, copy);
    if (rest != TY_NONE) {
        compute(l, at, rest);
    }
}

static struct ty_lower_op place_of(const struct at *at)
{
    return (struct ty_lower_op){at->unit, at->number, at->op};
}

/* An operator in one piece, in several, in rounds or in steps. */
static void work(struct ty_lowering *l, const struct at *at, uint16_t kind, uint16_t next,
                 bool back)
{
    if (at->op->steps.n > 0) {
        const struct ty_lower_op place = place_of(at);
        ty_lower_steps(l, &place, back ? TY_DGRAD : TY_FORWARD, kind);
    } else if (at->op->pieces.n > 0 && next != TY_NONE) {
        pieces(l, at, kind, next, back);
    } else if (at->op->rounds.n == 0) {
        compute(l, at, kind);
    } else {
        rounds(l, at, kind, next, back);
    }
}

static void weigh(struct ty_lowering *l, const struct at *at, uint16_t kind)
{
    if (at->op->steps.n > 0) {
        const struct ty_lower_op place = place_of(at);
        ty_lower_steps(l, &place, TY_WGRAD, kind);
    } else {
        compute(l, at, kind);
    }
}

/* What tensor ranks say about weight gradients, once there are any. */
static void share_grads(struct ty_lowering *l, const struct at *at)
{
    if (at->op->grad[0].bytes > 0) {
        const struct ty_lower_op place = place_of(at);
        ty_lower_grads(l, &place);
    }
}

static void forward_op(struct ty_lowering *l, const struct at *at)
{
    const bool rows = pass_by(l, at);
    await(l, comms(l, at, TY_BEFORE_FORWARD));
    work(l, at, at->kinds->forward, at->kinds->next_forward, false);
    await(l, comms(l, at, TY_AFTER_FORWARD));
    wait_for_rows(l, rows);
}

/* Those of its kernels that run again, with what comes before the first and after the last of
 * all. */
static void again_op(struct ty_lowering *l, const struct at *at)
{
    const bool first = (at->op->again & 1u) != 0;
    const bool last = (at->op->again >> (at->op->n_kernels - 1) & 1u) != 0;
    const bool rows = pass_by(l, at);
    if (first) {
        await(l, comms(l, at, TY_BEFORE_FORWARD));
    }
    work(l, at, at->kinds->recompute, at->kinds->next_recompute, false);
    if (last) {
        await(l, comms(l, at, TY_AFTER_FORWARD));
    }
    wait_for_rows(l, rows);
}

/* The weight gradient is put off until there is a collective to run beside. */
static void delayed_op(struct ty_lowering *l, const struct at *at)
{
    await(l, comms(l, at, TY_BEFORE_DGRAD));
    const uint32_t gathered = comms(l, at, TY_BEFORE_WGRAD);
    work(l, at, at->kinds->input, at->kinds->next_input, true);
    if (at->op->weight != NULL) {
        l->emit.weight[l->emit.n_weights++] =
            (struct ty_lower_weight){at->unit, at->number, gathered};
    }
    await(l, comms(l, at, TY_AFTER_DGRAD));
}

/* Input gradient, what comes after it, and the weight gradient beside that. */
static void whole_op(struct ty_lowering *l, const struct at *at)
{
    const bool split = ty_lower_splits_wgrad(at->op), rows = pass_by(l, at);
    await(l, comms(l, at, TY_BEFORE_DGRAD));
    const uint32_t gathered = comms(l, at, TY_BEFORE_WGRAD);
    work(l, at, at->kinds->dgrad, at->kinds->next_dgrad, true);
    const uint32_t reduced = comms(l, at, TY_AFTER_DGRAD);
    if (!split || !l->in->layout->framework.overlap_tensor_reduce) {
        await(l, reduced);
    }
    if (split) {
        await(l, gathered);
        weigh(l, at, at->kinds->wgrad);
        await(l, reduced);
    }
    share_grads(l, at);
    wait_for_rows(l, rows);
}

/* In a woven pair all weight gradients are put off, but of what comes first: nobody waits for its
 * input gradient. */
static void backward_op(struct ty_lowering *l, const struct at *at)
{
    const bool experts =
        at->op->expert && l->in->layout->expert > 1 && l->in->layout->framework.overlap_dispatch;
    const bool delays = l->emit.woven ? !at->op->first : experts;
    (delays ? delayed_op : whole_op)(l, at);
}

/* The input gradient alone: what the stage before waits for. */
static void input_op(struct ty_lowering *l, const struct at *at)
{
    if (at->op->first) {
        return;
    }
    const bool rows = pass_by(l, at);
    await(l, comms(l, at, TY_BEFORE_DGRAD));
    work(l, at, at->kinds->input, at->kinds->next_input, true);
    await(l, comms(l, at, TY_AFTER_DGRAD));
    if (at->op->weight == NULL) {
        share_grads(l, at);
    }
    wait_for_rows(l, rows);
}

static void weight_op(struct ty_lowering *l, const struct at *at)
{
    if (at->op->weight == NULL) {
        return;
    }
    if (at->op->first) { /* no input gradient has gathered it */
        await(l, comms(l, at, TY_BEFORE_DGRAD));
    }
    await(l, comms(l, at, TY_BEFORE_WGRAD));
    weigh(l, at, at->kinds->weight);
    share_grads(l, at);
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
        const struct at again = at_of(l, unit, i);
        if (again.op->again != 0) {
            again_op(l, &again);
        }
    }
}

void ty_lower_part_forward(struct ty_lowering *l, const struct ty_unit *unit, enum ty_part part)
{
    const struct ty_unit_ops *ops = &l->units->kind[unit->kind];
    for (uint32_t i = 0; i < ops->n; i++) {
        if (ops->op[i].part == part) {
            const struct at one = at_of(l, unit, i);
            forward_op(l, &one);
        }
    }
}

typedef void op_fn(struct ty_lowering *l, const struct at *at);

/* Operators of a part from the last to the first. */
static void reversed(struct ty_lowering *l, const struct ty_unit *unit, enum ty_part part,
                     op_fn *emit)
{
    const struct ty_unit_ops *ops = &l->units->kind[unit->kind];
    for (uint32_t i = ops->n; i > 0; i--) {
        if (ops->op[i - 1].part == part) {
            const struct at one = at_of(l, unit, i - 1);
            emit(l, &one);
        }
    }
}

void ty_lower_part_backward(struct ty_lowering *l, const struct ty_unit *unit, enum ty_part part)
{
    recompute(l, unit, part);
    reversed(l, unit, part, backward_op);
    catch_up(l);
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
