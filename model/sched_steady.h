/* sched_steady.h - the frame of 1F1B and its relatives, who differ in three answers: how many
 * forwards a rank runs first, what its k-th forward is, and what its k-th backward. */
#ifndef TY_MODEL_SCHED_STEADY_H
#define TY_MODEL_SCHED_STEADY_H

#include "model/sched.h"

/* The k-th forward or backward of a rank, counted from 0 in the order it runs them. */
typedef struct ty_slot ty_slot_at(const struct ty_sched_shape *shape, uint32_t rank, uint32_t k,
                                  enum ty_phase phase);

/* Appends the order of a rank with n pieces: `warm` forwards (n at most), then one forward and one
 * backward in turn, then the backwards that are left. */
void ty_slots_steady(struct ty_slots *slots, const struct ty_sched_shape *shape, uint32_t rank,
                     uint32_t n, uint32_t warm, ty_slot_at *at);

/* Micro-batch k of a rank's only stage. */
ty_slot_at ty_slot_plain;

#endif
