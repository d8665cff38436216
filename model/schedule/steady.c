/* steady.c - see steady.h. */
#include "model/schedule/steady.h"

static void append(struct ty_rank_slots *order, struct ty_slot slot)
{
    order->slot[order->n++] = slot;
}

void ty_slots_steady(struct ty_slots *slots, const struct ty_sched_shape *shape, uint32_t rank,
                     uint32_t n, uint32_t warm, ty_slot_at *at)
{
    struct ty_rank_slots *order = &slots->rank[rank];
    const uint32_t ahead = warm < n ? warm : n;
    for (uint32_t k = 0; k < ahead; k++) {
        append(order, at(shape, rank, k, TY_PHASE_FORWARD));
    }
    for (uint32_t k = ahead; k < n; k++) {
        append(order, at(shape, rank, k, TY_PHASE_FORWARD));
        append(order, at(shape, rank, k - ahead, TY_PHASE_BACKWARD));
    }
    for (uint32_t k = n - ahead; k < n; k++) {
        append(order, at(shape, rank, k, TY_PHASE_BACKWARD));
    }
}

struct ty_slot ty_slot_plain(const struct ty_sched_shape *shape, uint32_t rank, uint32_t k,
                             enum ty_phase phase)
{
    (void)shape;
    return (struct ty_slot){.mb = (uint16_t)k, .stage = (uint16_t)rank, .phase = (uint8_t)phase};
}

int ty_sched_1f1b_order(const struct ty_sched_shape *shape, const struct ty_sched_times *times,
                        struct ty_slots *slots, struct ty_arena *arena, struct ty_err *err)
{
    (void)times, (void)arena, (void)err;
    for (uint32_t r = 0; r < shape->p; r++) {
        ty_slots_steady(slots, shape, r, shape->m, shape->p - 1 - r, ty_slot_plain);
    }
    return 0;
}

uint32_t ty_sched_1f1b_held(const struct ty_sched_shape *shape, uint32_t rank)
{
    const uint32_t window = shape->p - rank;
    return window < shape->m ? window : shape->m;
}

double ty_sched_one_round_each(const struct ty_sched_shape *shape,
                               const struct ty_sched_times *times)
{
    return (shape->m + shape->p - 1.0) * (times->forward + times->backward);
}
