/* zb_2p.c - twice the micro-batches in flight, and no bubble inside a rank's span.
 *
 *     p = 3, m = 7
 *     rank 0 |F0 F1 F2 F3 F4 I0 F5 W0 I1 F6 W1 I2 W2 I3 W3 I4 W4 I5 W5 I6 W6 .. ..|
 *     rank 1 |.. F0 F1 F2 I0 F3 W0 I1 F4 W1 I2 F5 I3 F6 I4 W2 I5 W3 I6 W4 W5 W6 ..|
 *     rank 2 |.. .. F0 I0 F1 W0 I1 F2 W1 I2 F3 I3 F4 I4 F5 I5 F6 I6 W2 W3 W4 W5 W6|
 *
 * Rank r warms up with 2(p - r) - 1 forwards, as many as run until its first gradient arrives.
 * Then, while there are forwards, one input gradient (I), one forward, one weight gradient (W).
 * The last 2p - 1 micro-batches go faster through the last rank, which leaves out W: so rank r
 * leaves out W next to its last 2r forwards and runs these W at the very end, when nothing else
 * is left to do. Every rank works without a pause from its first forward on; the skew of p - 1
 * forwards between first and last rank stays in the makespan unless the optimizer step of a rank
 * waits for nobody.
 * Source: Qi et al., "Zero bubble pipeline parallelism", ICLR 2024, section 2 (ZB-H2), whose
 * limit of 2p micro-batches this order keeps. */
#include "model/schedule/schedule.h"

/* Whether rank r runs a weight gradient next to input gradient mb. */
static bool weight_beside(const struct ty_sched_shape *shape, uint32_t r, uint32_t mb)
{
    const uint32_t left = shape->m - mb; /* input gradients from this one on */
    return left >= 2 * shape->p || left <= 2 * (shape->p - r) - 1;
}

static int generate(const struct ty_sched_shape *shape, const struct ty_sched_times *times,
                    struct ty_slots *slots, struct ty_arena *arena, struct ty_err *err)
{
    (void)times, (void)arena, (void)err;
    const uint32_t m = shape->m;
    for (uint32_t r = 0; r < shape->p; r++) {
        const uint32_t ahead = 2 * (shape->p - r) - 1, warm = ahead < m ? ahead : m;
        uint32_t weights = 0;
        for (uint32_t mb = 0; mb < warm; mb++) {
            ty_slots_add(slots, r, TY_PHASE_FORWARD, mb, r);
        }
        for (uint32_t mb = 0; mb < m; mb++) {
            ty_slots_add(slots, r, TY_PHASE_DGRAD, mb, r);
            if (warm + mb < m) {
                ty_slots_add(slots, r, TY_PHASE_FORWARD, warm + mb, r);
            }
            if (weight_beside(shape, r, mb)) {
                ty_slots_add(slots, r, TY_PHASE_WGRAD, weights++, r);
            }
        }
        while (weights < m) {
            ty_slots_add(slots, r, TY_PHASE_WGRAD, weights++, r);
        }
    }
    return 0;
}

static double makespan(const struct ty_sched_shape *shape, const struct ty_sched_times *times)
{
    return shape->m * (times->forward + times->input + times->weight) +
           (shape->p - 1.0) * times->forward;
}

static bool in_domain(const struct ty_sched_shape *shape, const struct ty_sched_times *times)
{
    return shape->m >= 2 * shape->p - 1 && times->input <= times->forward &&
           times->forward <= 2 * times->weight;
}

static uint32_t in_flight(const struct ty_sched_shape *shape, uint32_t rank)
{
    const uint32_t cap = rank == 0 ? 2 * shape->p : 2 * shape->p - 1;
    return shape->m < cap ? shape->m : cap;
}

extern const struct ty_sched ty_sched_zb_2p;
const struct ty_sched ty_sched_zb_2p = {
    .name = "zb-2p",
    .summary = "no idle time inside a rank's span; holds 2p micro-batches",
    .source = "Qi et al. 2024, zero bubble, ZB-H2",
    .placement = TY_PLACE_LOOPED,
    .chunks = 1,
    .generate = generate,
    .formula = "m(tF + tI + tW) + (p - 1)tF",
    .domain = "equal stages, m >= 2p - 1, tI <= tF <= 2 tW",
    .makespan = makespan,
    .in_domain = in_domain,
    .in_flight = in_flight,
};
