/* sched_1f1b.c - one forward, one backward.
 *
 *     p = 3, m = 4
 *     rank 0 |F0 F1 F2 .. .. .. .. B0 == F3 B1 == .. B2 == .. B3 ==|
 *     rank 1 |.. F0 F1 .. .. B0 == F2 B1 == F3 B2 == .. B3 == .. ..|
 *     rank 2 |.. .. F0 B0 == F1 B1 == F2 B2 == F3 B3 == .. .. .. ..|
 *
 * Rank r warms up with min(p - 1 - r, m) forwards, then alternates, then drains the backwards that
 * are left. Same makespan as GPipe, but at most min(m, p - r) micro-batches are held.
 * Source: Narayanan et al., "Memory-efficient pipeline-parallel DNN training", ICML 2021
 * (PipeDream-flush); Fan et al., "DAPPLE", PPoPP 2021. */
#include "model/sched.h"

static int generate(const struct ty_sched_shape *shape, const struct ty_sched_times *times,
                    struct ty_slots *slots, struct ty_arena *arena, struct ty_err *err)
{
    (void)times, (void)arena, (void)err;
    const uint32_t m = shape->m;
    for (uint32_t r = 0; r < shape->p; r++) {
        const uint32_t warm = shape->p - 1 - r < m ? shape->p - 1 - r : m;
        for (uint32_t mb = 0; mb < warm; mb++) {
            ty_slots_add(slots, r, TY_PHASE_FORWARD, mb, r);
        }
        for (uint32_t mb = warm; mb < m; mb++) {
            ty_slots_add(slots, r, TY_PHASE_FORWARD, mb, r);
            ty_slots_add(slots, r, TY_PHASE_BACKWARD, mb - warm, r);
        }
        for (uint32_t mb = m - warm; mb < m; mb++) {
            ty_slots_add(slots, r, TY_PHASE_BACKWARD, mb, r);
        }
    }
    return 0;
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
    .placement = TY_PLACE_LOOPED,
    .chunks = 1,
    .generate = generate,
    .formula = "(m + p - 1)(tF + tB)",
    .domain = "equal stages",
    .makespan = makespan,
    .in_flight = in_flight,
};
