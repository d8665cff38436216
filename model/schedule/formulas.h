/* formulas.h - makespans, where they hold, and counts, for descriptors of several schedules. */
#ifndef TY_MODEL_SCHEDULE_FORMULAS_H
#define TY_MODEL_SCHEDULE_FORMULAS_H

#include "model/schedule/schedule.h"

/* Makespan (n + p - 1)(tF + tB), n the pieces of a rank: one round for each of them and for each
 * other rank, as every flushed order of whole backwards does at best. */
double ty_sched_one_round_each(const struct ty_sched_shape *shape,
                               const struct ty_sched_times *times);

/* Makespan n (tF + tI + tW) + (p - 1) max(tF, tI, tF + tI - tW). */
double ty_sched_late_weights(const struct ty_sched_shape *shape,
                             const struct ty_sched_times *times);

/* Domain m >= p: every rank has work while the first micro-batch goes down and back. */
bool ty_sched_fills_ranks(const struct ty_sched_shape *shape, const struct ty_sched_times *times);

/* In flight: every piece of the rank. */
uint32_t ty_sched_holds_all(const struct ty_sched_shape *shape, uint32_t rank);

/* Copies of weights: two on every rank. */
uint32_t ty_sched_two_copies(const struct ty_sched_shape *shape, uint32_t rank);

#endif
