/* sched_1f1b.c - one forward, one backward.
 *
 *     stage 0 |F0 F1 .. B0 F2 B1 F3 B2 .. B3|     p = 2, m = 4, tB = tF
 *     stage 1 |.. F0 B0 F1 B1 F2 B2 F3 B3 ..|
 *
 * Rank r warms up with min(p - 1 - r, m) forwards, then alternates, then drains the backwards that
 * are left. Same makespan as GPipe, but at most min(m, p - r) micro-batches are held.
 * Source: Narayanan et al., "Memory-efficient pipeline-parallel DNN training", ICML 2021
 * (PipeDream-flush); Fan et al., "DAPPLE", PPoPP 2021. */
#include "model/sched.h"

static uint32_t warm_up(const struct ty_sched_shape *shape, uint32_t rank)
{
    const uint32_t w = shape->p - 1 - rank;
    return w < shape->m ? w : shape->m;
}

static uint32_t order(const struct ty_sched_shape *shape, uint32_t rank, struct ty_slot *out)
{
    const uint32_t m = shape->m, w = warm_up(shape, rank);
    for (uint32_t k = 0; out != NULL && k < 2 * m; k++) {
        bool forward;
        uint32_t mb;
        if (k < w) {
            forward = true;
            mb = k;
        } else if (k < 2 * m - w) {
            forward = (k - w) % 2 == 0;
            mb = (k - w) / 2 + (forward ? w : 0);
        } else {
            forward = false;
            mb = k - m;
        }
        out[k] = (struct ty_slot){.mb = (uint16_t)mb,
                                  .stage = (uint16_t)rank,
                                  .phase = forward ? TY_PHASE_FORWARD : TY_PHASE_BACKWARD};
    }
    return 2 * m;
}

static double makespan(const struct ty_sched_shape *shape, const struct ty_sched_times *times)
{
    return (shape->m + shape->p - 1.0) * (times->forward + times->backward);
}

static uint32_t in_flight(const struct ty_sched_shape *shape, uint32_t rank)
{
    const uint32_t w = shape->p - rank;
    return w < shape->m ? w : shape->m;
}

extern const struct ty_sched ty_sched_1f1b;
const struct ty_sched ty_sched_1f1b = {
    .name = "1f1b",
    .summary = "one forward, one backward; holds at most p micro-batches",
    .source = "Narayanan et al. 2021, PipeDream-flush; Fan et al. 2021, DAPPLE",
    .max_chunks = 1,
    .order = order,
    .formula = "(m + p - 1)(tF + tB)",
    .makespan = makespan,
    .in_flight = in_flight,
};
