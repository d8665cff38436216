/* pipedream.c - 1F1B that never flushes.
 *
 *     p = 3, m = 4
 *     rank 0 |F0 F1 F2 .. .. .. .. B0 == F3 B1 == .. B2 == .. B3 ==|
 *     rank 1 |.. F0 F1 .. .. B0 == F2 B1 == F3 B2 == .. B3 == .. ..|
 *     rank 2 |.. .. F0 B0 == F1 B1 == F2 B2 == F3 B3 == .. .. .. ..|
 *
 * The order is that of 1F1B, but weights are updated after every backward and micro-batches follow
 * each other without end: what is drawn is the first fill and the last drain of a run. A backward
 * must meet the weights of its forward, so rank r keeps p - r versions of them, one per micro-batch
 * in flight. Not the mathematics of synchronous descent: gradients are p - 1 - r
 * updates old.
 * Source: Narayanan et al., "PipeDream: generalized pipeline parallelism for DNN training", SOSP
 * 2019, section 3.3 (weight stashing). */
#include "model/schedule/steady.h"

static uint32_t weight_copies(const struct ty_sched_shape *shape, uint32_t rank)
{
    return shape->p - rank;
}

extern const struct ty_sched ty_sched_pipedream;
const struct ty_sched ty_sched_pipedream = {
    .name = "pipedream",
    .summary = "1F1B without a flush: no bubble between steps, p - r weight versions",
    .source = "Narayanan et al. 2019, PipeDream",
    .placement = TY_PLACE_LOOPED,
    .chunks = 1,
    .asynchronous = true,
    .updates_each = true,
    .warm_up = ty_sched_1f1b_warm_up,
    .piece = ty_sched_1f1b_piece,
    .formula = "(m + p - 1)(tF + tB)",
    .domain = "equal stages, m micro-batches from fill to drain",
    .makespan = ty_sched_one_round_each,
    .weight_copies = weight_copies,
};
