/* neighbours.h - plans one change away from an executed run: of layout, schedule, recomputation or
 * framework. Each is executed. The batch of a step and the hardware stay the same. */
#ifndef TY_SEARCH_NEIGHBOURS_H
#define TY_SEARCH_NEIGHBOURS_H

#include "sim/search/change.h"
#include "sim/search/trial.h"

enum ty_neighbour_topic {
    TY_NEIGHBOUR_SCHEDULE, /* another schedule; no `chunks` of its own */
    TY_NEIGHBOUR_BALANCE,  /* layers moved between stages */
    TY_NEIGHBOUR_LAYOUT,
    TY_NEIGHBOUR_STACK
};

struct ty_neighbour {
    enum ty_neighbour_topic topic;
    struct ty_change change; /* none of the plan as it is */
    struct ty_trial trial;
};

/* Fastest first, the plan as it is among them. */
struct ty_neighbours {
    struct ty_neighbour *item; /* [n] the arena's */
    uint32_t n, cap;
    uint32_t own;      /* which one is the plan as it is */
    uint32_t left_out; /* legal changes that were not executed: there would be too much to do */
    bool no_noise;     /* all, the plan as it is too, after ty_trial_disable_noise */
};

/* All changes, or with `schedules` only those of the first two topics. Illegal ones are not
 * offered. Texts are the arena's. */
int ty_run_neighbours(const struct ty_run *run, bool schedules, struct ty_neighbours *out,
                      struct ty_arena *arena, struct ty_err *err);

#endif
