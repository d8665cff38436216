/* steady.h - the frame of 1F1B and its relatives, who differ in two answers: how many forwards a
 * rank runs first, and which piece is its k-th forward or backward. Behind the warm-up come one
 * forward and one backward in turn, then the backwards that are left; so a rank never holds more
 * than the warm-up and one. */
#ifndef TY_MODEL_SCHEDULE_STEADY_H
#define TY_MODEL_SCHEDULE_STEADY_H

#include "model/schedule/formulas.h"

/* Writes the orders of all ranks by the answers of a schedule that has them. */
void ty_sched_steady(const struct ty_sched *sched, const struct ty_sched_shape *shape,
                     struct ty_slots *slots);

/* The fewest micro-batches, with the same rest in periods as those of the shape, with which a
 * schedule has settled: what more of them add are whole periods, on all ranks behind the first and
 * before the last forward and backward of every stage. All of them where a schedule is not of this
 * frame. */
uint32_t ty_sched_settled(const struct ty_sched *sched, const struct ty_sched_shape *shape);

/* The answers of 1F1B: p - 1 - r forwards, and micro-batch k of a rank's only stage. */
uint32_t ty_sched_1f1b_warm_up(const struct ty_sched_shape *shape, uint32_t rank);
struct ty_slot ty_sched_1f1b_piece(const struct ty_sched_shape *shape, uint32_t rank, uint32_t k,
                                   enum ty_phase phase);

#endif
