/* sweep_bands.h - how sure a sweep is of its rows, and which it cannot tell from the fastest.
 *
 * Each row has a band (band.h). Of two rows what both share cancels: a machine that is slower than
 * it is taken for is so under every layout. What is left is what moves the two differently, and the
 * scatter of each. */
#ifndef TY_SWEEP_BANDS_H
#define TY_SWEEP_BANDS_H

#include "sim/sweep/band.h"
#include "sim/sweep/sweep_best.h"

#define TY_SWEEP_TIED 0.05 /* a chance of being faster, above which two rows are not told apart */

struct ty_sweep_bands {
    const struct ty_row_source *rows; /* NULL: nobody asked */
    struct ty_band *band;             /* [n] a step time of 0: not known yet */
    struct ty_arena *arena;           /* [n] of each */
    double *speed, *deviation;        /* [n] tokens/s of rows that fit, else 0; of its logarithm */
    uint32_t n;
};

/* 0 or TY_ENOMEM. */
int ty_sweep_bands_init(struct ty_sweep_bands *bands, const struct ty_row_source *rows,
                        struct ty_err *err);
void ty_sweep_bands_release(struct ty_sweep_bands *bands);

/* Finds the band of a row and notes its ends; of nothing where nobody asked. Rows may be beside
 * each other. */
int ty_sweep_bands_find(struct ty_sweep_bands *bands, uint32_t row,
                        struct ty_sweep_figures *figures, struct ty_err *err);

/* Notes a row of the table, found or of an earlier sweep. */
void ty_sweep_bands_note(struct ty_sweep_bands *bands, const struct ty_sweep_figures *figures);

/* Says in `best` how likely each is faster than the first, and how many rows of all are not told
 * from it. On `jobs` threads. */
int ty_sweep_bands_judge(struct ty_sweep_bands *bands, struct ty_sweep_best *best, uint32_t jobs,
                         struct ty_err *err);

#endif
