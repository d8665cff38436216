/* sweep_bands.h - how sure a sweep is of its rows, and which rows may be as fast as the fastest.
 *
 * Each row has a band (band.h). What two rows share cancels: a machine that is slower than assumed
 * is slower with every layout. What is left is what moves the two differently, and the scatter of
 * each. */
#ifndef TY_SWEEP_BANDS_H
#define TY_SWEEP_BANDS_H

#include "sim/sweep/band.h"
#include "sim/sweep/sweep_best.h"

struct ty_sweep_bands {
    const struct ty_row_source *rows; /* NULL: bands are not asked for */
    struct ty_band *band;             /* [n] a step time of 0: not known yet */
    struct ty_arena *arena;           /* [n] of each */
    double *speed, *deviation;        /* [n] tokens/s of rows that fit, else 0; of its logarithm */
    uint32_t n;
};

#endif
