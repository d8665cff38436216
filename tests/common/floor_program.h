/* floor_program.h - a pipeline of tensor groups with fixed durations, for tests and benchmarks.
 *
 * 1F1B over pp stages, m micro-batches, ls layers a stage; per layer and direction six operations,
 * of which one or two are tensor all-reduces; messages of 90 us that leave the compute stream
 * free. For 4 x 8 x 8 ranks, 256 micro-batches and 10 layers the makespan is 8.4048 s. */
#ifndef TY_TESTS_FLOOR_PROGRAM_H
#define TY_TESTS_FLOOR_PROGRAM_H

#include "sim/core/program/program.h"

struct floor_shape {
    uint32_t tp, pp, dp, m, ls;
};

/* Builds and seals the program in the arena. Returns 0 or the builder's error. */
int floor_program(struct ty_program *program, const struct floor_shape *shape,
                  struct ty_arena *arena, struct ty_err *err);

#endif
