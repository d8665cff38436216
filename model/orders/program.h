/* program.h - a schedule alone, as a program: one rank per stage, one task per pass.
 *
 * For teaching and for tests against closed forms; durations are whatever the caller says. */
#ifndef TY_MODEL_ORDERS_PROGRAM_H
#define TY_MODEL_ORDERS_PROGRAM_H

#include "model/schedule/schedule.h"
#include "sim/core/program/program.h"

/* Durations of one pass of one virtual stage (of one slice). */
struct ty_sched_durations {
    ty_ps forward, backward, input, weight;
    ty_ps overlap; /* of an overlapped slot; UINT64_MAX: forward + backward */
    ty_ps edge;    /* delay of a message between ranks; the ranks stay free */
    /* By enum ty_phase: [virtual stages] durations of their own, or NULL: those above. Overlapped
     * slots take the sum of theirs unless `overlap` says otherwise. */
    const ty_ps *of_stage[TY_N_PHASES];
};

/* Builds and seals the program in the arena; gang r is pipeline rank r. A pass is an atom: its
 * number of pass within the gang is its number in the rank's order. The orders must be valid
 * (complete, in their places); an impossible one is found by the executor. */
int ty_sched_program_of(struct ty_program *program, enum ty_sched_placement placement,
                        const struct ty_sched_shape *shape, const struct ty_slots *slots,
                        const struct ty_sched_durations *times, struct ty_arena *arena,
                        struct ty_err *err);

/* Builds and seals the program of the orders that a schedule generates. */
int ty_sched_program(struct ty_program *program, const struct ty_sched *sched,
                     const struct ty_sched_shape *shape, const struct ty_sched_durations *times,
                     struct ty_arena *arena, struct ty_err *err);

#endif
