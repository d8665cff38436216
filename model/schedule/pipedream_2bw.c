/* pipedream_2bw.c - 1F1B that never flushes, with two versions of the weights.
 *
 *     p = 3, m = 4
 *     rank 0 |F0 F1 F2 .. .. .. .. B0 == F3 B1 == .. B2 == .. B3 ==|
 *     rank 1 |.. F0 F1 .. .. B0 == F2 B1 == F3 B2 == .. B3 == .. ..|
 *     rank 2 |.. .. F0 B0 == F1 B1 == F2 B2 == F3 B3 == .. .. .. ..|
 *
 * The order is that of 1F1B; gradients of m micro-batches are added up before each update, and the
 * next step's forwards follow without a pause. All of one step's micro-batches use the older of two
 * versions, so gradients are one update old on every rank; the last p - 1 - r forwards that a rank
 * issues before its update belong to the next step already and use the newer. Two versions are
 * enough only if no micro-batch outlives a whole step: m >= p.
 * Source: Narayanan et al., "Memory-efficient pipeline-parallel DNN training", ICML 2021 (2BW). */
#include "model/schedule/steady.h"

static int check(const struct ty_sched_shape *shape, struct ty_err *err)
{
    if (shape->m >= shape->p) {
        return 0;
    }
    return ty_fail(err, TY_EUSAGE,
                   "pipedream-2bw: %u micro-batches per update over %u ranks; two versions "
                   "of the weights suffice for %u micro-batches or more",
                   (unsigned)shape->m, (unsigned)shape->p, (unsigned)shape->p);
}

extern const struct ty_sched ty_sched_pipedream_2bw;
const struct ty_sched ty_sched_pipedream_2bw = {
    .name = "pipedream-2bw",
    .summary = "1F1B without a flush, updates of m micro-batches, two weight versions",
    .source = "Narayanan et al. 2021, PipeDream-2BW",
    .placement = TY_PLACE_LOOPED,
    .chunks = 1,
    .asynchronous = true,
    .check = check,
    .warm_up = ty_sched_1f1b_warm_up,
    .piece = ty_sched_1f1b_piece,
    .formula = "(m + p - 1)(tF + tB)",
    .domain = "equal stages, m micro-batches from fill to drain",
    .makespan = ty_sched_one_round_each,
    .weight_copies = ty_sched_two_copies,
};
