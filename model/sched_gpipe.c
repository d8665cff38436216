/* sched_gpipe.c - all forwards, then all backwards.
 *
 *     stage 0 |F0 F1 F2 F3 .. .. .. .. B0 B1 B2 B3|     p = 2, m = 4, tB = tF
 *     stage 1 |.. F0 F1 F2 F3 B0 B1 B2 B3 .. .. ..|
 *
 * Backwards run in the order of the forwards; the last-in-first-out order that automatic
 * differentiation gives has the same makespan. Every rank holds all m micro-batches.
 * Source: Huang et al., "GPipe", NeurIPS 2019, figure 2. */
#include "model/sched.h"

static uint32_t order(const struct ty_sched_shape *shape, uint32_t rank, struct ty_slot *out)
{
    if (out != NULL) {
        for (uint32_t k = 0; k < 2 * shape->m; k++) {
            const bool forward = k < shape->m;
            out[k] = (struct ty_slot){.mb = (uint16_t)(forward ? k : k - shape->m),
                                      .stage = (uint16_t)rank,
                                      .phase = forward ? TY_PHASE_FORWARD : TY_PHASE_BACKWARD};
        }
    }
    return 2 * shape->m;
}

static double makespan(const struct ty_sched_shape *shape, const struct ty_sched_times *times)
{
    return (shape->m + shape->p - 1.0) * (times->forward + times->backward);
}

static uint32_t in_flight(const struct ty_sched_shape *shape, uint32_t rank)
{
    (void)rank;
    return shape->m;
}

extern const struct ty_sched ty_sched_gpipe;
const struct ty_sched ty_sched_gpipe = {
    .name = "gpipe",
    .summary = "all forwards, then all backwards; holds every micro-batch",
    .source = "Huang et al. 2019, GPipe",
    .max_chunks = 1,
    .order = order,
    .formula = "(m + p - 1)(tF + tB)",
    .makespan = makespan,
    .in_flight = in_flight,
};
