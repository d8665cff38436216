/* store.h - what a plan keeps in a folder: rows.csv, a line for every layout that was simulated.
 * While it searches they are in rows.csv.partial (sim/sweep/sweep_store.h): whatever ends the
 * process, no finished one is lost, and a search that finds them there does not repeat them. */
#ifndef TY_PLAN_STORE_H
#define TY_PLAN_STORE_H

#include "sim/plan/search/answer.h"
#include "sim/sweep/sweep_store.h"

struct ty_plan_store {
    struct ty_sweep_store rows;
    const struct ty_plan_answer *answer;
    struct ty_plan_row *kept; /* [n_kept] by row, of an earlier search */
    bool *used;               /* [n_kept] by this one, too */
    uint32_t n_kept, cap;
    char *head;
    struct ty_arena arena;
};

/* Opens the folder of the options, making it, for a search of so many rows. Without --resume, rows
 * that are there are an error; with it one of them is simulated again, and has to come out as it
 * did. Processes that share the search meet in it. To be released whatever comes back. */
int ty_plan_store_open(struct ty_plan_store *store, const struct ty_plan_answer *answer,
                       uint32_t n_rows, const struct ty_plan_options *options, struct ty_err *err);

/* A kept row, or NULL. */
const struct ty_plan_row *ty_plan_store_row(const struct ty_plan_store *store, uint32_t row);

/* Adds a finished row, unless it was kept: one call at a time. */
int ty_plan_store_add(struct ty_plan_store *store, const struct ty_plan_result *result,
                      const struct ty_plan_row *row, struct ty_err *err);

/* Puts the rows of this search in order under their name. */
int ty_plan_store_finish(struct ty_plan_store *store, struct ty_err *err);

void ty_plan_store_release(struct ty_plan_store *store);

#endif
