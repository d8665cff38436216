/* uneven.h - what a stage's fullest rank holds beyond a mean one: its experts get more rows.
 *
 * The moment is the one that is fullest for a mean rank. What a rank holds then follows its own
 * loads, summed over the layers and micro-batches that are held; what a layer needs for a moment
 * follows its load in that layer, the largest in the pass. Room for rows that arrive
 * (framework.dispatch_buffer) grows only where it is too small. */
#ifndef TY_RUN_UNEVEN_H
#define TY_RUN_UNEVEN_H

#include "sim/run/run.h"

struct ty_uneven {
    double bytes;  /* beyond a mean rank */
    uint32_t rank; /* the fullest */
    double load;   /* its rows over those of a balanced load, mean over what it holds */
};

#endif
