/* sweep_best.h - the fastest rows of a sweep that fit, as a table for people. */
#ifndef TY_SWEEP_BEST_H
#define TY_SWEEP_BEST_H

#include "sim/sweep/sweep_line.h"
#include "sim/sweep/sweep_table.h"

#define TY_SWEEP_BEST 5u

/* Those that fit, most tokens a second first; of equal ones the earlier row. */
struct ty_sweep_best {
    struct ty_sweep_figures row[TY_SWEEP_BEST];
    uint32_t n;
    bool judged;                  /* what follows is known (sweep_bands.h) */
    double faster[TY_SWEEP_BEST]; /* chance that it is faster than the first */
    uint32_t n_tied, n_others;    /* rows that are not told apart from the first, of all that fit */
};
void ty_sweep_best_add(struct ty_sweep_best *best, const struct ty_sweep_figures *figures);

/* The keys that vary in the table and what came out of them, a line a row; NULL: no memory, or
 * nothing fits. */
char *ty_sweep_best_text(const struct ty_sweep_best *best, const struct ty_sweep_table *table);

#endif
