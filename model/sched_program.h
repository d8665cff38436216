/* sched_program.h - a schedule alone, as a program: one rank per stage, one task per pass.
 *
 * For teaching and for tests against closed forms; durations are whatever the caller says. */
#ifndef TY_MODEL_SCHED_PROGRAM_H
#define TY_MODEL_SCHED_PROGRAM_H

#include "model/sched.h"
#include "sim/core/program.h"

struct ty_sched_durations {
    ty_ps forward, backward;
    ty_ps edge; /* delay of a message between ranks; the ranks stay free */
};

/* Builds and seals the program in the arena; gang r is pipeline rank r. */
int ty_sched_program(struct ty_program *program, const struct ty_sched *sched,
                     const struct ty_sched_shape *shape, const struct ty_sched_durations *times,
                     struct ty_arena *arena, struct ty_err *err);

#endif
