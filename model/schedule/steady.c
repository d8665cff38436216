/* steady.c - builds the orders of 1F1B and its variants from two answers. */
#include "model/schedule/steady.h"

void ty_sched_steady(const struct ty_sched *sched, const struct ty_sched_shape *shape,
                     struct ty_slots *slots)
{
    const uint32_t n = ty_sched_pieces(shape);
    for (uint32_t r = 0; r < shape->p; r++) {
        struct ty_rank_slots *order = &slots->rank[r];
        const uint32_t warm = sched->warm_up(shape, r), ahead = warm < n ? warm : n;
        for (uint32_t k = 0; k < n + ahead; k++) {
            if (k < n) {
                order->slot[order->n++] = sched->piece(shape, r, k, TY_PHASE_FORWARD);
            }
            if (k >= ahead) {
                order->slot[order->n++] = sched->piece(shape, r, k - ahead, TY_PHASE_BACKWARD);
            }
        }
    }
}

/* A period and a step behind the warm-up every stage has run backward. One more period is left then
 * before the last group begins, which runs the last forward of a stage: a step sooner where
 * neighbours are paired. */
uint32_t ty_sched_settled(const struct ty_sched *sched, const struct ty_sched_shape *shape)
{
    if (sched->generate != NULL) {
        return shape->m;
    }
    const uint32_t group = sched->period != NULL ? sched->period(shape) : 1;
    const uint64_t period = (uint64_t)group * shape->v * shape->slices;
    uint64_t warm = 0;
    for (uint32_t r = 0; r < shape->p; r++) {
        const uint32_t own = sched->warm_up(shape, r);
        warm = own > warm ? own : warm;
    }
    const uint64_t least = (warm / period + 3) * group + (shape->m - 1) % group + 1;
    return least < shape->m ? (uint32_t)least : shape->m;
}

uint32_t ty_sched_1f1b_warm_up(const struct ty_sched_shape *shape, uint32_t rank)
{
    return shape->p - 1 - rank;
}

struct ty_slot ty_sched_1f1b_piece(const struct ty_sched_shape *shape, uint32_t rank, uint32_t k,
                                   enum ty_phase phase)
{
    (void)shape;
    return (struct ty_slot){.mb = (uint16_t)k, .stage = (uint16_t)rank, .phase = (uint8_t)phase};
}
