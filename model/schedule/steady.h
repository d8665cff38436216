/* steady.h - the frame of 1F1B and its relatives, who differ in three answers: how many
 * forwards a rank runs first, what its k-th forward is, and what its k-th backward. */
#ifndef TY_MODEL_SCHEDULE_STEADY_H
#define TY_MODEL_SCHEDULE_STEADY_H

#include "model/schedule/schedule.h"

/* The k-th forward or backward of a rank, counted from 0 in the order it runs them. */
typedef struct ty_slot ty_slot_at(const struct ty_sched_shape *shape, uint32_t rank, uint32_t k,
                                  enum ty_phase phase);

/* Appends the order of a rank with n pieces: `warm` forwards (n at most), then one forward and one
 * backward in turn, then the backwards that are left. */
void ty_slots_steady(struct ty_slots *slots, const struct ty_sched_shape *shape, uint32_t rank,
                     uint32_t n, uint32_t warm, ty_slot_at *at);

/* Micro-batch k of a rank's only stage. */
ty_slot_at ty_slot_plain;

/* What 1F1B and its relatives have in common, for their descriptors: warm up with p - 1 - r
 * forwards; hold at most min(m, p - r) micro-batches; take (m + p - 1)(tF + tB), one round for each
 * micro-batch and for each other rank, as every flushed order of whole stages does at best. */
int ty_sched_1f1b_order(const struct ty_sched_shape *shape, const struct ty_sched_times *times,
                        struct ty_slots *slots, struct ty_arena *arena, struct ty_err *err);
uint32_t ty_sched_1f1b_held(const struct ty_sched_shape *shape, uint32_t rank);
double ty_sched_one_round_each(const struct ty_sched_shape *shape,
                               const struct ty_sched_times *times);

#endif
