/* sweep_bands.h - how sure a sweep is of its rows, and which rows may be as fast as the fastest.
 *
 * Each row has a band (band.h). What two rows share cancels: a machine that is slower than assumed
 * is slower with every layout. What is left is what moves the two differently, and the scatter of
 * each. */
#ifndef TY_SWEEP_BANDS_H
#define TY_SWEEP_BANDS_H

#include "sim/sweep/band.h"
#include "sim/sweep/sweep_best.h"

#define TY_SWEEP_TIED 0.05 /* chance of being faster above which two rows are tied */

struct ty_sweep_bands {
    const struct ty_row_source *rows; /* NULL: bands are not asked for */
    struct ty_band *band;             /* [n] a step time of 0: not known yet */
    struct ty_arena *arena;           /* [n] of each */
    double *speed, *deviation;        /* [n] tokens/s of rows that fit, else 0; of its logarithm */
    uint32_t n;
};

/* 0 or TY_ENOMEM. */
int ty_sweep_bands_init(struct ty_sweep_bands *bands, const struct ty_row_source *rows,
                        struct ty_err *err);
void ty_sweep_bands_release(struct ty_sweep_bands *bands);

/* Finds the band of a row and notes its ends, if bands are asked for. For several threads. */
int ty_sweep_bands_find(struct ty_sweep_bands *bands, uint32_t row,
                        struct ty_sweep_figures *figures, struct ty_err *err);

/* Notes a row of the table, simulated or of an earlier sweep. */
void ty_sweep_bands_note(struct ty_sweep_bands *bands, const struct ty_sweep_figures *figures);

/* Notes in `best` how likely each row is faster than the first, and how many rows are tied with it.
 * On `jobs` threads. */
int ty_sweep_bands_judge(struct ty_sweep_bands *bands, struct ty_sweep_best *best, uint32_t jobs,
                         struct ty_err *err);

#endif
