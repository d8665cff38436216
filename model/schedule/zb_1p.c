/* zb_1p.c - 1F1B whose weight gradients wait for the holes at the end.
 *
 *     p = 3, m = 5
 *     rank 0 |F0 F1 F2 .. .. I0 W0 F3 I1 W1 F4 I2 W2 I3 W3 I4 W4|
 *     rank 1 |.. F0 F1 .. I0 F2 I1 W0 F3 I2 W1 F4 I3 W2 I4 W3 W4|
 *     rank 2 |.. .. F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 F4 I4 W2 W3 W4|
 *
 * Only input gradients (I) are awaited by another rank. Rank r runs the order of 1F1B with I for
 * B, and runs weight gradients (W) r micro-batches late: what the rank before it still lacks goes
 * first. So every rank, not only the first, holds min(m, p) micro-batches until their W. With a
 * group of g micro-batches no rank runs W more than g - 1 late. That saves memory where W needs
 * more than I, as with recomputation; the authors' search has a limit of memory, too.
 * The authors give the bubble as (p - 1)(tF + tI - tW) for tW <= tI. Since a rank also idles for
 * at least the forward skew, and for the input gradients of the ranks after it before its first
 * own, what holds for any times is (p - 1) max(tF, tI, tF + tI - tW).
 * Source: Qi et al., "Zero bubble pipeline parallelism", ICLR 2024, section 2 (ZB-H1); the order
 * with the fixed lag is that of pytorch torch/distributed/pipelining/schedules.py with v = 1. */
#include "model/schedule/formulas.h"

/* How many micro-batches late a rank runs W. */
static uint32_t lag_of(const struct ty_sched_shape *shape, uint32_t rank)
{
    return shape->group > 0 && shape->group - 1 < rank ? shape->group - 1 : rank;
}

static int generate(const struct ty_sched_shape *shape, const struct ty_sched_times *times,
                    struct ty_slots *slots, struct ty_arena *arena, struct ty_err *err)
{
    (void)times, (void)arena, (void)err;
    const uint32_t m = shape->m;
    for (uint32_t r = 0; r < shape->p; r++) {
        const uint32_t warm = shape->p - 1 - r < m ? shape->p - 1 - r : m, lag = lag_of(shape, r);
        for (uint32_t mb = 0; mb < warm; mb++) {
            ty_slots_add(slots, r, TY_PHASE_FORWARD, mb, r);
        }
        for (uint32_t mb = 0; mb < m; mb++) {
            if (warm + mb < m) {
                ty_slots_add(slots, r, TY_PHASE_FORWARD, warm + mb, r);
            }
            ty_slots_add(slots, r, TY_PHASE_DGRAD, mb, r);
            if (mb >= lag) {
                ty_slots_add(slots, r, TY_PHASE_WGRAD, mb - lag, r);
            }
        }
        for (uint32_t mb = m > lag ? m - lag : 0; mb < m; mb++) {
            ty_slots_add(slots, r, TY_PHASE_WGRAD, mb, r);
        }
    }
    return 0;
}

static uint32_t in_flight(const struct ty_sched_shape *shape, uint32_t rank)
{
    const uint32_t held = shape->p - rank + lag_of(shape, rank);
    return shape->m < held ? shape->m : held;
}

static bool in_domain(const struct ty_sched_shape *shape, const struct ty_sched_times *times)
{
    return ty_sched_fills_ranks(shape, times) && lag_of(shape, shape->p - 1) == shape->p - 1;
}

extern const struct ty_sched ty_sched_zb_1p;
const struct ty_sched ty_sched_zb_1p = {
    .name = "zb-1p",
    .grouped = true,
    .summary = "1F1B with late weight gradients; holds p micro-batches on every rank",
    .source = "Qi et al. 2024, zero bubble, ZB-H1",
    .placement = TY_PLACE_LOOPED,
    .chunks = 1,
    .generate = generate,
    .formula = "m(tF + tI + tW) + (p - 1)max(tF, tI, tF + tI - tW)",
    .domain = "equal stages, m >= p, no group below p",
    .makespan = ty_sched_late_weights,
    .in_domain = in_domain,
    .in_flight = in_flight,
};
