/* emit.c - single operations, and what they wait for.
 *
 * An operation records an event, which is how others wait for it: whoever emits a collective says
 * which one. Computations wait for what was said to be needed since the last of them. */
#include "model/lower/offload.h"

#include <assert.h>
#include <string.h>

uint32_t ty_lower_begin(struct ty_lowering *l, const struct ty_block *block)
{
    l->emit.n_need = l->emit.n_weights = 0;
    l->emit.woven = l->emit.second = l->emit.cut = l->emit.last = false;
    l->emit.fresh = true;
    const int index = ty_build_block(&l->b, block);
    return index < 0 ? 0 : (uint32_t)index;
}

void ty_lower_cut(struct ty_lowering *l)
{
    l->emit.cut = true;
    l->emit.fresh = false; /* what is to come waits for what has been issued */
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

uint8_t ty_lower_own_event(const struct ty_lowering *l, uint8_t event)
{
    return l->emit.second && event < TY_EVENT_HALF ? event + TY_EVENT_HALF : event;
}

/* That of the other half. */
static uint8_t other_event(const struct ty_lowering *l, uint8_t event)
{
    return l->emit.second ? event : event + TY_EVENT_HALF;
}

static void need(struct ty_lowering *l, uint8_t event)
{
    for (uint32_t i = 0; i < l->emit.n_need; i++) {
        if (l->emit.need[i] == event) {
            return;
        }
    }
    l->emit.need[l->emit.n_need++] = event;
}

void ty_lower_need(struct ty_lowering *l, uint8_t event)
{
    need(l, ty_lower_own_event(l, event));
}

void ty_lower_need_either(struct ty_lowering *l, uint8_t event)
{
    need(l, ty_lower_own_event(l, event));
    if (l->weaves) {
        need(l, other_event(l, event));
    }
}

static void put(struct ty_lowering *l, struct ty_op op, const uint8_t *waits, uint32_t n_waits)
{
    uint32_t behind = 0;
    if (l->emit.cut) {
        next_piece(l);
    }
    op.record = ty_lower_own_event(l, op.record);
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
        all[i] = ty_lower_own_event(l, waits[i]);
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
    ty_lower_join(l, TY_STREAM_COMPUTE, TY_EVENT_COMPUTE, l->emit.need, TY_WAITS);
    l->emit.n_need -= TY_WAITS;
    memmove(l->emit.need, l->emit.need + TY_WAITS, l->emit.n_need);
}

/* An operation has few places for events: what another awaited one has waited for goes first. */
static void settle(struct ty_lowering *l, uint32_t most)
{
    for (uint32_t i = 0; i < l->emit.n_need && l->emit.n_need > most; i++) {
        for (uint32_t k = 0; k < l->emit.n_need; k++) {
            if (k != i && (l->emit.behind[l->emit.need[k]] >> l->emit.need[i] & 1u) != 0) {
                l->emit.need[i] = l->emit.need[k];
                l->emit.need[k] = l->emit.need[--l->emit.n_need];
                break;
            }
        }
    }
    while (l->emit.n_need > most) {
        join(l);
    }
}

uint32_t ty_lower_ready(struct ty_lowering *l, uint8_t waits[TY_WAITS])
{
    settle(l, TY_WAITS - 1);
    waits[0] = TY_EVENT_COMPUTE;
    for (uint32_t i = 0; i < l->emit.n_need; i++) {
        waits[1 + i] = l->emit.need[i];
    }
    return 1 + l->emit.n_need;
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
    put(l, op, l->emit.need, l->emit.n_need);
    l->emit.n_need = 0;
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
    op.link = l->group[group].link;
    op.record = record;
    op.layer = layer;
    op.part = (uint8_t)part;
    ty_lower_emit(l, op, waits, n_waits);
}
