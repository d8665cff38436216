/* search.h - the best layouts of a space, proven.
 *
 *     every point --(memory)--> fits --(lower bound)--> best bound first --> simulated in full
 *
 * A layout is simulated unless its bound is behind the K best, and some simulated layout is as fast
 * as its bound with no more memory: then it can be neither among the K best nor of the Pareto set.
 * So what is left out is no answer, whatever the simulator would have said, and both sets are those
 * of an exhaustive sweep.
 *
 * Layouts are decided on in one order, by bound and then by row: whether one is to be simulated
 * depends on the results of all before it, and on nothing else. So what is simulated, too, is the
 * same for any number of threads, and after an interruption. Threads that have nothing else to do
 * begin with the next ones before those results are known; what such a guess finds is told when its
 * turn has come, or thrown away. */
#ifndef TY_PLAN_SEARCH_H
#define TY_PLAN_SEARCH_H

#include "sim/plan/search/answer.h"
#include "sim/sweep/crew.h"

#define TY_PLAN_ABREAST 32u /* simulations that are begun before their turn has come */

struct ty_plan_search {
    enum ty_plan_objective objective;
    uint32_t top; /* K */
    uint32_t jobs;
    uint32_t shard, n_shards; /* as in struct ty_plan_answer */
    /* With whom bounds and simulations are shared, or NULL. Each member has the result. */
    const struct ty_crew *crew;
    const volatile int *stop; /* not 0: no more layouts are simulated; or NULL */
    ty_progress_fn *progress; /* one call at a time, from any thread; or NULL */
    void *progress_arg;
    /* Of each layout that is finished, one call at a time. 0, or why the search ends; or NULL. */
    int (*finished)(void *arg, const struct ty_plan_result *result, const struct ty_plan_row *row,
                    struct ty_err *err);
    /* What is known of a row already; NULL: nothing. Or NULL. */
    const struct ty_plan_row *(*known)(void *arg, uint32_t row);
    void *arg;
};

/* Fills in what is found in result->space; *exact: nothing was left undone. Rows are the arena's of
 * the result. */
int ty_plan_search(struct ty_plan_result *result, const struct ty_plan_search *search, bool *exact,
                   struct ty_err *err);

/* Simulates one point, as a search does. */
int ty_plan_simulate(const struct ty_plan_result *result, uint32_t point, struct ty_plan_row *row,
                     struct ty_err *err);

#endif
