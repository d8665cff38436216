/* gpipe.c - all forwards, then all backwards.
 *
 *     p = 2, m = 4
 *     rank 0 |F0 F1 F2 F3 .. .. .. B0 == B1 == B2 == B3 ==|
 *     rank 1 |.. F0 F1 F2 F3 B0 == B1 == B2 == B3 == .. ..|
 *
 * Backwards run in the order of the forwards; the last-in-first-out order that automatic
 * differentiation gives has the same makespan. Every rank holds all m micro-batches.
 * Source: Huang et al., "GPipe", NeurIPS 2019, figure 2. */
#include "model/schedule/formulas.h"

static int generate(const struct ty_sched_shape *shape, const struct ty_sched_times *times,
                    struct ty_slots *slots, struct ty_arena *arena, struct ty_err *err)
{
    (void)times, (void)arena, (void)err;
    for (uint32_t r = 0; r < shape->p; r++) {
        for (uint32_t mb = 0; mb < shape->m; mb++) {
            ty_slots_add(slots, r, TY_PHASE_FORWARD, mb, r);
        }
        for (uint32_t mb = 0; mb < shape->m; mb++) {
            ty_slots_add(slots, r, TY_PHASE_BACKWARD, mb, r);
        }
    }
    return 0;
}

extern const struct ty_sched ty_sched_gpipe;
const struct ty_sched ty_sched_gpipe = {
    .name = "gpipe",
    .summary = "all forwards, then all backwards; holds every micro-batch",
    .source = "Huang et al. 2019, GPipe",
    .placement = TY_PLACE_LOOPED,
    .chunks = 1,
    .usual = true,
    .generate = generate,
    .formula = "(m + p - 1)(tF + tB)",
    .domain = "equal stages",
    .makespan = ty_sched_one_round_each,
    .in_flight = ty_sched_holds_all,
};
