/* emit.c - single operations, and what they wait for.
 *
 * An operation records an event, which is how others wait for it: whoever emits a collective says
 * which one. Computations wait for what was said to be needed since the last of them. */
#include "model/lower/internal.h"

void ty_lower_need(struct ty_lowering *l, uint8_t event)
{
    for (uint32_t i = 0; i < l->emit.n_need; i++) {
        if (l->emit.need[i] == event) {
            return;
        }
    }
    l->emit.need[l->emit.n_need++] = event;
}

void ty_lower_emit(struct ty_lowering *l, struct ty_op op, const uint8_t *waits, uint32_t n_waits)
{
    uint32_t behind = 0;
    for (uint32_t i = 0; i < TY_WAITS; i++) {
        op.wait[i] = i < n_waits ? waits[i] : TY_NO_EVENT;
        behind |= i < n_waits ? 1u << waits[i] : 0;
    }
    if (op.record != TY_NO_EVENT) {
        l->emit.behind[op.record] = behind;
    }
    ty_build_op(&l->b, &op);
}

/* An operation has few places for events: what another awaited one has waited for goes first. */
static void settle(struct ty_lowering *l)
{
    for (uint32_t i = 0; i < l->emit.n_need && l->emit.n_need > TY_WAITS; i++) {
        for (uint32_t k = 0; k < l->emit.n_need; k++) {
            if (k != i && (l->emit.behind[l->emit.need[k]] >> l->emit.need[i] & 1u) != 0) {
                l->emit.need[i] = l->emit.need[k];
                l->emit.need[k] = l->emit.need[--l->emit.n_need];
                break;
            }
        }
    }
    if (l->emit.n_need > TY_WAITS) {
        ty_build_note(&l->b, ty_fail(l->b.err, TY_EBUG,
                                     "lowering: a computation waits for more than %u events",
                                     (unsigned)TY_WAITS));
        l->emit.n_need = TY_WAITS;
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
    settle(l);
    ty_lower_emit(l, op, l->emit.need, l->emit.n_need);
    l->emit.n_need = 0;
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
