/* search.h - searches a space for its best layouts, proven.
 *
 *     every point --(memory)--> fits --(lower bound)--> best bound first --> simulated in full
 *
 * A layout is simulated unless its bound is behind the K best, and some simulated layout is as fast
 * as its bound with no more memory: then it can be neither among the K best nor of the Pareto set.
 * So no layout that is left out is an answer, whatever its simulation would say, and both sets are
 * those of an exhaustive sweep.
 *
 * Layouts are decided on in one order, by bound and then by row. Whether one is simulated depends
 * on the results of all layouts before it, and on nothing else. So the same layouts are simulated
 * with any number of threads, and after an interruption. Threads that have nothing else to do
 * simulate the next layouts before those results are known. Such a result is kept until its turn
 * comes, or discarded. */
#ifndef TY_PLAN_SEARCH_H
#define TY_PLAN_SEARCH_H

#include "sim/plan/search/answer.h"
#include "sim/sweep/crew.h"

struct ty_plan_search {
    enum ty_plan_objective objective;
    uint32_t top; /* K */
    uint32_t jobs;
    uint32_t shard, n_shards; /* as in struct ty_plan_answer */
    /* Processes that share bounds and simulations, or NULL. Each member gets the result. */
    const struct ty_crew *crew;
    double until_s;           /* of ty_wall_s: no more layouts are simulated after it; 0: no end */
    const volatile int *stop; /* once not 0, no more layouts are simulated; or NULL */
    ty_progress_fn *progress; /* one call at a time, from any thread; or NULL */
    void *progress_arg;
    /* Called for each layout that is taken, one call at a time; or NULL. Returns 0, or the error
     * with which the search ends. */
    int (*finished)(void *arg, const struct ty_plan_result *result, const struct ty_plan_row *row,
                    struct ty_err *err);
    /* Returns a row that an earlier search simulated, or NULL. The function may be NULL. */
    const struct ty_plan_row *(*known)(void *arg, uint32_t row);
    void *arg;
};

/* Searches result->space and fills in the result, whose arena has the rows. *exact: the search was
 * not interrupted. */
int ty_plan_search(struct ty_plan_result *result, const struct ty_plan_search *search, bool *exact,
                   struct ty_err *err);

/* Simulates one point as a search does. */
int ty_plan_simulate(const struct ty_plan_result *result, uint32_t point, struct ty_plan_row *row,
                     struct ty_err *err);

#endif
