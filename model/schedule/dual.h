/* dual.h - the eight steps that DualPipe and DualPipeV share.
 *
 * Both fold a pipe of 2 n stages over n positions: a position h holds stage h, near the entrance
 * (near), and stage 2 n - 1 - h, near the exit (far). DualPipeV has one rank per position and feeds
 * the pipe from there; DualPipe has two such pipes, one from either end, and both ranks at distance
 * h from their end do the same with the directions swapped. */
#ifndef TY_MODEL_SCHEDULE_DUAL_H
#define TY_MODEL_SCHEDULE_DUAL_H

#include "model/schedule/formulas.h"

/* A rank in its fold. */
struct ty_dual_rank {
    uint32_t rank;
    uint32_t h, n;                          /* position, positions */
    uint32_t m;                             /* micro-batches that enter at one end */
    uint32_t near_direction, far_direction; /* of the two stages */
};

/* Appends the order of one rank. Needs m >= 2 n. */
void ty_dual_steps(struct ty_slots *slots, const struct ty_dual_rank *rank);

/* Makespan for tF = tI = tW with `n` positions and `passes` = micro-batches times stages on a
 * rank. Times of one stage; a negative overlap: tF + tB. */
double ty_dual_makespan(uint32_t n, uint32_t passes, const struct ty_sched_times *times);

/* tF = tI = tW and tB their sum. */
bool ty_dual_in_domain(const struct ty_sched_shape *shape, const struct ty_sched_times *times);

#endif
