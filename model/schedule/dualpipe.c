/* dualpipe.c - two opposite pipes whose forwards run under each other's backwards.
 *
 *     p = 4, m = 8
 *     rank 0 |F0 F1 F2 f0 i0 w0 f1 F3|b1 == .. f2|B0 == b2 == .. f3|B1 == b3 == I2 W2 I3 W3|
 *     rank 1 |.. F0 f0 F1 f1 F2 b0 == f2|B0 == F3|b1 == f3|B1 == b2 == B2 == .. i3 I3 w3 W3|
 *     rank 2 |.. f0 F0 f1 F1 f2 B0 == F2|b0 == f3|B1 == F3|b1 == B2 == b2 == .. I3 i3 W3 w3|
 *     rank 3 |f0 f1 f2 F0 I0 W0 F1 f3|B1 == .. F2|b0 == B2 == .. F3|b1 == B3 == i2 w2 i3 w3|
 *
 * Half of the micro-batches enter at rank 0, half at rank p - 1 (lower case): every rank holds a
 * stage of either pipe and two copies of weights. In the steady state a slot is a forward of one
 * pipe and a backward of the other, joined by a bar, whose layers alternate so that messages of one
 * pass hide under compute of the other. dual.c has the rule. Rank p - 1 - r mirrors rank r,
 * and the first p / 2 ranks do what DualPipeV does with p / 2 ranks and m / 2 micro-batches.
 * Source: DeepSeek-AI, "DeepSeek-V3 technical report", 2024; deepseek-ai/DualPipe. */
#include "model/schedule/dual.h"

static int check(const struct ty_sched_shape *shape, struct ty_err *err)
{
    if (shape->p % 2 != 0) {
        return ty_fail(err, TY_EUSAGE,
                       "dualpipe: %u pipeline ranks; two opposite pipes fold over an even "
                       "number of ranks: %u, for example",
                       (unsigned)shape->p, (unsigned)shape->p + 1);
    }
    if (shape->m % 2 != 0 || shape->m < 2 * shape->p) {
        const uint32_t even = shape->m + shape->m % 2, least = 2 * shape->p;
        return ty_fail(err, TY_EUSAGE,
                       "dualpipe: %u micro-batches over %u ranks; both directions together "
                       "have an even number of at least %u: %u, for example",
                       (unsigned)shape->m, (unsigned)shape->p, (unsigned)least,
                       (unsigned)(even > least ? even : least));
    }
    return 0;
}

static int generate(const struct ty_sched_shape *shape, const struct ty_sched_times *times,
                    struct ty_slots *slots, struct ty_arena *arena, struct ty_err *err)
{
    (void)times, (void)arena, (void)err;
    for (uint32_t r = 0; r < shape->p; r++) {
        const bool second_half = r >= shape->p / 2;
        ty_dual_steps(slots, &(struct ty_dual_rank){.rank = r,
                                                    .h = second_half ? shape->p - 1 - r : r,
                                                    .n = shape->p / 2,
                                                    .m = shape->m / 2,
                                                    .near_direction = second_half ? 1 : 0,
                                                    .far_direction = second_half ? 0 : 1});
    }
    return 0;
}

static double makespan(const struct ty_sched_shape *shape, const struct ty_sched_times *times)
{
    return ty_dual_makespan(shape->p / 2, shape->m, times);
}

static uint32_t in_flight(const struct ty_sched_shape *shape, uint32_t rank)
{
    (void)rank;
    return shape->p + 1;
}

extern const struct ty_sched ty_sched_dualpipe;
const struct ty_sched ty_sched_dualpipe = {
    .name = "dualpipe",
    .summary = "two opposite pipes, forwards under each other's backwards, two weight copies",
    .source = "DeepSeek-AI 2024, DeepSeek-V3; order of deepseek-ai/DualPipe",
    .pairs = TY_PAIRS_ALWAYS,
    .placement = TY_PLACE_TWO_WAY,
    .chunks = 1,
    .check = check,
    .generate = generate,
    .formula = "3/2 p tF + (m - p/2 - 2) tFB + (p - 1) tI + tW + 2 tB",
    .domain = "equal stages, tF = tI = tW",
    .makespan = makespan,
    .in_domain = ty_dual_in_domain,
    .in_flight = in_flight,
    .weight_copies = ty_sched_two_copies,
};
