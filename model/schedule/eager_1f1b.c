/* eager_1f1b.c - 1F1B with twice the warm-up.
 *
 *     p = 3, m = 5
 *     rank 0 |F0 F1 F2 F3 F4 .. .. B0 == .. B1 == .. B2 == .. B3 == .. B4 ==|
 *     rank 1 |.. F0 F1 F2 .. B0 == F3 B1 == F4 B2 == .. B3 == .. B4 == .. ..|
 *     rank 2 |.. .. F0 B0 == F1 B1 == F2 B2 == F3 B3 == F4 B4 == .. .. .. ..|
 *
 * Rank r warms up with min(2 (p - 1 - r), m) forwards and holds at most min(m, 2 (p - r) - 1)
 * micro-batches, about twice what 1F1B holds. Nothing is gained while messages are free; a message
 * delay of up to (tF + tB) / 2 costs one round trip, where 1F1B pays it every p micro-batches.
 * Source: Zhuang et al., "On optimizing the communication of model parallelism", MLSys 2023. */
#include "model/schedule/steady.h"

static uint32_t warm_up(const struct ty_sched_shape *shape, uint32_t rank)
{
    return 2 * (shape->p - 1 - rank);
}

extern const struct ty_sched ty_sched_eager_1f1b;
const struct ty_sched ty_sched_eager_1f1b = {
    .name = "eager-1f1b",
    .summary = "1F1B with twice the warm-up: hides messages for twice the activations",
    .source = "Zhuang et al. 2023, On optimizing the communication of model parallelism",
    .pairs = TY_PAIRS_ASKED,
    .placement = TY_PLACE_LOOPED,
    .chunks = 1,
    .warm_up = warm_up,
    .piece = ty_sched_1f1b_piece,
    .formula = "(m + p - 1)(tF + tB)",
    .domain = "equal stages",
    .makespan = ty_sched_one_round_each,
};
