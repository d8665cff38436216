/* 1f1b.c - one forward, one backward.
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
#include "model/schedule/steady.h"

extern const struct ty_sched ty_sched_1f1b;
const struct ty_sched ty_sched_1f1b = {
    .name = "1f1b",
    .summary = "one forward, one backward; holds at most p micro-batches",
    .source = "Narayanan et al. 2021, PipeDream-flush; Fan et al. 2021, DAPPLE",
    .placement = TY_PLACE_LOOPED,
    .chunks = 1,
    .usual = true,
    .warm_up = ty_sched_1f1b_warm_up,
    .piece = ty_sched_1f1b_piece,
    .formula = "(m + p - 1)(tF + tB)",
    .domain = "equal stages",
    .makespan = ty_sched_one_round_each,
};
