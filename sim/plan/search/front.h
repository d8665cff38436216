/* front.h - the best layouts so far: the K best by one objective, and the Pareto set of time and
 * memory, a staircase. */
#ifndef TY_PLAN_FRONT_H
#define TY_PLAN_FRONT_H

#include "sim/plan/search/answer.h"

/* The key by which layouts are compared: smaller in `first`, then in `second`, then in row. */
struct ty_plan_key {
    double first, second;
    uint32_t row;
};

/* Returns the key of a layout, or a bound of it. A job's GPUs cost by the hour, so time is cost. Of
 * two layouts as fast the one with less memory is better. */
static inline struct ty_plan_key ty_plan_key(enum ty_plan_objective objective, double step_s,
                                             double peak_B, uint32_t row)
{
    const bool memory = objective == TY_PLAN_MEMORY;
    return (struct ty_plan_key){memory ? peak_B : step_s, memory ? step_s : peak_B, row};
}

static inline bool ty_plan_key_before(const struct ty_plan_key *a, const struct ty_plan_key *b)
{
    return a->first != b->first     ? a->first < b->first
           : a->second != b->second ? a->second < b->second
                                    : a->row < b->row;
}

struct ty_plan_stair {
    double step_s, peak_B;
    uint32_t row;
};

struct ty_plan_front {
    struct ty_plan_key *best; /* [n_best] at most `top`, best first */
    uint32_t n_best, top;
    struct ty_plan_key *tight; /* [n_tight] the same of layouts that are tight; no other list has
                                * those */
    uint32_t n_tight;
    struct ty_plan_stair *stair; /* [n_stairs] fastest first, and so in falling memory */
    uint32_t n_stairs;
    double slowest; /* the longest step on the stairs, over the fastest */
};

#endif
