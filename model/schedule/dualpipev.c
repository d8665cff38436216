/* dualpipev.c - DualPipe cut in half: one pipe down the ranks and back.
 *
 *     p = 2, m = 4, v = 2
 *     rank 0 |F0 F1 F2 f0 i0 w0 f1 F3|b1 == .. f2|B0 == b2 == .. f3|B1 == b3 == I2 W2 I3 W3|
 *     rank 1 |.. F0 f0 F1 f1 F2 b0 == f2|B0 == F3|b1 == f3|B1 == b2 == B2 == .. i3 I3 w3 W3|
 *
 * A rank holds stages r and 2 p - 1 - r (lower case) of one pipe, so one copy of the weights
 * suffices; the rest is DualPipe on twice the ranks, which needs the other half only to feed the
 * same stages from the other end. Slots joined by a bar overlap. dual.c has the rule.
 * Source: Sea AI Lab, "Cut-in-half", and deepseek-ai/DualPipe, dualpipe/dualpipev.py, 2025. */
#include "model/schedule/dual.h"

static int check(const struct ty_sched_shape *shape, struct ty_err *err)
{
    if (shape->m >= 2 * shape->p) {
        return 0;
    }
    return ty_fail(err, TY_EUSAGE,
                   "dualpipev: %u micro-batches over %u ranks; it needs two per rank, %u, "
                   "or more",
                   (unsigned)shape->m, (unsigned)shape->p, (unsigned)(2 * shape->p));
}

static int generate(const struct ty_sched_shape *shape, const struct ty_sched_times *times,
                    struct ty_slots *slots, struct ty_arena *arena, struct ty_err *err)
{
    (void)times, (void)arena, (void)err;
    for (uint32_t r = 0; r < shape->p; r++) {
        ty_dual_steps(slots,
                      &(struct ty_dual_rank){.rank = r, .h = r, .n = shape->p, .m = shape->m});
    }
    return 0;
}

static double makespan(const struct ty_sched_shape *shape, const struct ty_sched_times *times)
{
    return ty_dual_makespan(shape->p, 2 * shape->m, times);
}

static uint32_t in_flight(const struct ty_sched_shape *shape, uint32_t rank)
{
    (void)rank;
    return 2 * shape->p + 1;
}

extern const struct ty_sched ty_sched_dualpipev;
const struct ty_sched ty_sched_dualpipev = {
    .name = "dualpipev",
    .summary = "DualPipe folded into a V: forwards under backwards with one weight copy",
    .source = "deepseek-ai/DualPipe 2025, dualpipev.py; Sea AI Lab, Cut-in-half",
    .pairs = TY_PAIRS_ALWAYS,
    .placement = TY_PLACE_V,
    .chunks = 2,
    .check = check,
    .generate = generate,
    .formula = "3 p tF + (2 m - p - 2) tFB + (2 p - 1) tI + tW + 2 tB",
    .domain = "equal stages, tF = tI = tW",
    .makespan = makespan,
    .in_domain = ty_dual_in_domain,
    .in_flight = in_flight,
};
