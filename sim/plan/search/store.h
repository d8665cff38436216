/* store.h - keeps rows.csv in the folder of a plan, a line for every layout that was simulated.
 *
 * During a search they are in rows.csv.partial (sim/sweep/sweep_store.h). Whatever ends the
 * process, no finished row is lost, and a search that resumes does not repeat it. */
#ifndef TY_PLAN_STORE_H
#define TY_PLAN_STORE_H

#include "sim/plan/search/answer.h"
#include "sim/sweep/sweep_store.h"

struct ty_plan_store {
    struct ty_sweep_store rows;
    const struct ty_plan_answer *answer;
    struct ty_plan_row *kept; /* [n_kept] rows of an earlier search, by number */
    bool *used;               /* [n_kept] needed by this search, too */
    uint32_t n_kept, cap;
    char *head;
    struct ty_arena arena;
};

/* Opens the folder of the options, or makes it, for a search of so many rows. Rows that are there
 * are an error without --resume. With it one of them is simulated again and must come out the same.
 * Processes that share the search meet here. To be released in any case. */
int ty_plan_store_open(struct ty_plan_store *store, const struct ty_plan_answer *answer,
                       uint32_t n_rows, const struct ty_plan_options *options, struct ty_err *err);

/* Returns a row that was kept, or NULL. */
const struct ty_plan_row *ty_plan_store_row(const struct ty_plan_store *store, uint32_t row);

/* Adds a finished row, unless it was kept. One call at a time. */
int ty_plan_store_add(struct ty_plan_store *store, const struct ty_plan_result *result,
                      const struct ty_plan_row *row, struct ty_err *err);

/* Writes the rows of this search in order under their name. */
int ty_plan_store_finish(struct ty_plan_store *store, struct ty_err *err);

void ty_plan_store_release(struct ty_plan_store *store);

#endif
