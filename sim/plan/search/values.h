/* values.h - a key of the model or the run with several values (--over): a result for each, and one
 * ranking of them all. */
#ifndef TY_PLAN_VALUES_H
#define TY_PLAN_VALUES_H

#include "sim/plan/search/answer.h"
#include "sim/trainyard.h"

#define TY_PLAN_RESULTS_MOST 64u

/* What --over says of such a key; the others are for the space of every result. */
struct ty_plan_values {
    const char *set[TY_PLAN_RESULTS_MOST]; /* [n] "run.packing=balanced"; n 0: there is none */
    uint32_t n;
    const char *const *over; /* [n_over] */
    size_t n_over;
};

/* Owned by the arena. TY_EUSAGE: two such keys, or one without values. */
int ty_plan_values(struct ty_plan_values *out, const struct ty_plan_options *options,
                   struct ty_arena *arena, struct ty_err *err);

/* Appends a setting to those of a source. NULL, as from ty_arena_printf: no memory. */
int ty_plan_values_set(struct ty_source *source, const char *set, struct ty_arena *arena,
                       struct ty_err *err);

/* The best `top` rows of the results: of all where they are values of a key, else of the best. */
int ty_plan_rank(struct ty_plan_answer *a, uint32_t top, struct ty_err *err);

/* What the layouts of results are compared by: time for a token, GPU time for it, or memory. */
double ty_plan_worth(const struct ty_plan_answer *a, const struct ty_plan_result *r,
                     const struct ty_plan_row *row);

#endif
