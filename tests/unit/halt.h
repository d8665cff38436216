/* halt.h - timelines cut where a test says. */
#ifndef TY_TESTS_HALT_H
#define TY_TESTS_HALT_H

#include "sim/core/program/timeline.h"

/* Every gang stops with all its streams before stop[gang]. */
static inline int halt_at(struct ty_timeline *timeline, struct ty_stop *stop,
                          struct ty_arena *arena, struct ty_err *err)
{
    const uint32_t gangs = timeline->program->n_gangs, n_lanes = timeline->program->n_lanes;
    struct ty_halt halt = {.stop = stop};
    halt.front = ty_arena_array(arena, struct ty_stop, (size_t)gangs * n_lanes + 1);
    for (uint32_t i = 0; i < gangs * n_lanes; i++) {
        halt.front[i] = stop[i / n_lanes];
    }
    return ty_timeline_cut(timeline, &halt, arena, err);
}

#endif
