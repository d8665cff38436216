/* random_program.h - random programs, for properties of the executors. */
#ifndef TY_TESTS_RANDOM_PROGRAM_H
#define TY_TESTS_RANDOM_PROGRAM_H

#include "sim/core/program/program.h"

/* Builds and seals a program in the arena; equal seeds give equal programs. Gangs, groups,
 * meetings of all or some on any stream, messages with delays, repeated blocks, waits across
 * streams, operations issued ahead of what unblocks them on another stream, zero durations,
 * durations that differ between members, and (for some seeds) jitter and slow ranks all occur. */
int random_program(struct ty_program *program, uint64_t seed, struct ty_arena *arena,
                   struct ty_err *err);

/* One of half the size; may_halt: many of them never finish. */
int random_program_small(struct ty_program *program, uint64_t seed, bool may_halt,
                         struct ty_arena *arena, struct ty_err *err);

#endif
