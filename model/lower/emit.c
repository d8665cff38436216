/* emit.c - single operations, and what they wait for.
 *
 * An operation records an event, which is how others wait for it: whoever emits a collective says
 * which one. Computations wait for what was said to be needed since the last of them. */
#include "model/lower/offload.h"

#include <assert.h>
#include <string.h>

static const struct ty_issuer_sink sink;

uint32_t ty_lower_begin(struct ty_lowering *l, const struct ty_block *block)
{
    l->emit.issuer = (struct ty_issuer){.sink = &sink, .to = l, .layout = l->in->layout};
    l->emit.cut = l->emit.last = false;
    l->emit.fresh = true;
    l->emit.modules = NULL;
    l->emit.packed = NULL;
    const int index = ty_build_block(&l->b, block);
    return index < 0 ? 0 : (uint32_t)index;
}

/* A piece of the same pass: it holds what the pass holds, and gives it back in its place. */
static void next_piece(struct ty_lowering *l)
{
    struct ty_block *piece = &l->b.program->blocks[l->b.program->n_blocks - 1];
    struct ty_block next = {.release_B = piece->release_B,
                            .transient_B = piece->transient_B,
                            .transient_what = piece->transient_what};
    piece->release_B = 0;
    l->emit.cut = false;
    ty_build_block(&l->b, &next);
}

/* That of the other half. */
static uint8_t other_event(const struct ty_lowering *l, uint8_t event)
{
    return l->emit.issuer.second ? event : event + TY_EVENT_HALF;
}

void ty_lower_need_either(struct ty_lowering *l, uint8_t event)
{
    ty_lower_need(l, event);
    if (l->weaves) {
        ty_issuer_need_exactly(&l->emit.issuer, other_event(l, event));
    }
}

static void put(struct ty_lowering *l, struct ty_op op, const uint8_t *waits, uint32_t n_waits)
{
    uint32_t behind = 0;
    if (l->emit.cut) {
        next_piece(l);
    }
    op.record = ty_issuer_event(&l->emit.issuer, op.record);
    for (uint32_t i = 0; i < TY_WAITS; i++) {
        op.wait[i] = i < n_waits ? waits[i] : TY_NO_EVENT;
        behind |= i < n_waits ? 1u << waits[i] : 0;
    }
    if (op.record != TY_NO_EVENT) {
        l->emit.behind[op.record] = behind;
    }
    ty_build_op(&l->b, &op);
}

/* What comes before the first computation of a pass waits for that of the pass before it, which may
 * have been either half of a pair. */
void ty_lower_emit(struct ty_lowering *l, struct ty_op op, const uint8_t *waits, uint32_t n_waits)
{
    uint8_t all[TY_WAITS];
    uint32_t n = n_waits;
    for (uint32_t i = 0; i < n_waits; i++) {
        all[i] = ty_issuer_event(&l->emit.issuer, waits[i]);
        if (l->weaves && l->emit.fresh && waits[i] == TY_EVENT_COMPUTE) {
            assert(n < TY_WAITS);
            all[n++] = other_event(l, TY_EVENT_COMPUTE);
        }
    }
    put(l, op, all, n);
}

void ty_lower_join(struct ty_lowering *l, uint8_t stream, uint8_t record, const uint8_t *waits,
                   uint32_t n_waits)
{
    static const struct ty_kind kind = {.name = "join", .category = TY_CAT_OTHER};
    struct ty_op op = TY_OP_INIT;
    op.kind = (uint16_t)ty_build_kind(&l->b, &kind);
    op.stream = stream;
    op.record = record;
    put(l, op, waits, n_waits);
}

/* Of what the next computation waits for, as much as an operation can, on its stream: whoever waits
 * for what was computed is behind it, too. */
static void join(struct ty_lowering *l)
{
    struct ty_issuer *is = &l->emit.issuer;
    ty_lower_join(l, TY_STREAM_COMPUTE, TY_EVENT_COMPUTE, is->need, TY_WAITS);
    is->n_need -= TY_WAITS;
    memmove(is->need, is->need + TY_WAITS, is->n_need);
}

/* An operation has few places for events: what another awaited one has waited for goes first. */
static void settle(struct ty_lowering *l, uint32_t most)
{
    struct ty_issuer *is = &l->emit.issuer;
    for (uint32_t i = 0; i < is->n_need && is->n_need > most; i++) {
        for (uint32_t k = 0; k < is->n_need; k++) {
            if (k != i && (l->emit.behind[is->need[k]] >> is->need[i] & 1u) != 0) {
                is->need[i] = is->need[k];
                is->need[k] = is->need[--is->n_need];
                break;
            }
        }
    }
    while (is->n_need > most) {
        join(l);
    }
}

void ty_lower_compute(struct ty_lowering *l, uint16_t kind, uint16_t layer, enum ty_part part,
                      uint8_t record)
{
    struct ty_op op = TY_OP_INIT;
    op.kind = kind;
    op.stream = TY_STREAM_COMPUTE;
    op.record = record;
    op.layer = layer;
    op.part = (uint8_t)part;
    settle(l, TY_WAITS);
    put(l, op, l->emit.issuer.need, l->emit.issuer.n_need);
    l->emit.issuer.n_need = 0;
    l->emit.fresh = false;
}

void ty_lower_collective(struct ty_lowering *l, enum ty_comm_group group, uint16_t kind,
                         uint16_t layer, enum ty_part part, uint8_t record, const uint8_t *waits,
                         uint32_t n_waits)
{
    static const uint8_t stream[TY_N_COMM_GROUPS] = {
#define X(id, name, stream, category) [TY_GROUP_##id] = TY_STREAM_##stream,
        TY_COMM_GROUPS(X)
#undef X
    };
    struct ty_op op = TY_OP_INIT;
    op.kind = kind;
    op.stream = stream[group];
    op.sync = TY_SYNC_GROUP;
    op.link = l->links.group[group].link;
    op.record = record;
    op.layer = layer;
    op.part = (uint8_t)part;
    ty_lower_emit(l, op, waits, n_waits);
}

/* ---- the operators of a unit, as model/issue tells them ---- */

static const struct ty_op_kinds *kinds_of(const struct ty_lowering *l, uint32_t i)
{
    const struct ty_unit *unit = l->emit.unit;
    const struct ty_packed_kinds *packed = l->emit.packed;
    const size_t slice = (size_t)(l->emit.kinds - l->here.gpus->slice);
    return packed != NULL && packed->op[unit->kind] == i ? &packed->slice[slice][unit->kind]
           : unit->routed != NULL                        ? &unit->routed->slice[slice][i]
                                                         : &l->emit.kinds->op[unit->kind][i];
}

static void put_compute(void *to, uint32_t i, enum ty_op_pass pass, uint32_t nth)
{
    struct ty_lowering *l = to;
    const struct ty_unit *unit = l->emit.unit;
    const struct ty_op_kinds *kinds = kinds_of(l, i);
    const uint16_t kind =
        nth == 0 ? kinds->kind[pass] : (uint16_t)(kinds->next[pass] + (nth - 1) * kinds->apart);
    ty_lower_use(l, i, pass);
    assert(kind != TY_NONE || ty_op_in_pieces(&l->prices->units->kind[unit->kind].op[i], pass));
    if (kind != TY_NONE) {
        ty_lower_compute(l, kind, unit->layer, l->prices->units->kind[unit->kind].op[i].part,
                         TY_EVENT_COMPUTE);
    }
}

/* What waits for the input of the next computation: on a grid for all of it; groups of one
 * dimension come behind others on the same stream, and bring no weights. */
static uint32_t input(struct ty_lowering *l, uint8_t waits[TY_WAITS])
{
    const struct ty_issuer *is = &l->emit.issuer;
    uint32_t n = 1;
    if (ty_lower_is_mesh(l)) {
        settle(l, TY_WAITS - 1);
    }
    for (uint32_t i = 0; i < is->n_need && n < TY_WAITS; i++) {
        if (ty_lower_is_mesh(l)) {
            waits[n++] = is->need[i];
        } else if (is->need[i] == ty_issuer_event(is, TY_EVENT_RECV)) {
            waits[n++] = TY_EVENT_RECV;
        }
    }
    return n;
}

static void put_collective(void *to, const struct ty_issuer_comm *comm)
{
    struct ty_lowering *l = to;
    const struct ty_unit *unit = l->emit.unit;
    const struct ty_unit_op *op = &l->prices->units->kind[unit->kind].op[comm->op];
    const uint16_t *kinds =
        unit->routed != NULL ? unit->routed->comm[comm->op] : l->here.comm.op[unit->kind][comm->op];
    struct ty_priced_comm priced;
    const bool exchange =
        l->emit.issuer.woven && ty_price_slot(op, comm->slot, &priced) && priced.exchange != NULL;
    const uint16_t kind = kinds[comm->slot] + exchange;
    uint8_t waits[TY_WAITS] = {TY_EVENT_COMPUTE, comm->behind};
    const uint32_t n = comm->after == TY_AFTER_INPUT     ? input(l, waits)
                       : comm->after == TY_AFTER_NOTHING ? 0
                       : comm->behind != TY_NO_EVENT     ? 2
                                                         : 1;
    ty_lower_collective(l, (enum ty_comm_group)comm->group, kind, unit->layer, op->part,
                        comm->record, waits, n);
}

/* What comes next is another piece of the same pass. */
static void cut(void *to)
{
    struct ty_lowering *l = to;
    l->emit.cut = true;
    l->emit.fresh = false; /* what is to come waits for what has been issued */
}

static const struct ty_issuer_sink sink = {put_compute, put_collective, cut};

void ty_lower_part(struct ty_lowering *l, const struct ty_unit *unit, enum ty_part part,
                   ty_issuer_part_fn *issue)
{
    l->emit.unit = unit;
    issue(&l->emit.issuer, &l->prices->units->kind[unit->kind], part);
}
