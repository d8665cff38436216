/* sweep_line.h - the figures of a row of a sweep as columns of its table, and back. */
#ifndef TY_SWEEP_LINE_H
#define TY_SWEEP_LINE_H

#include "sim/base/text.h"
#include "sim/run/figures.h"
#include "sim/sweep/row_run.h"

/* A row with an answer. Its columns are the figures of TY_IN_SWEEP, in order; `fits` and
 * `framework` stand before those that a fleet section asks for. */
struct ty_sweep_figures {
    uint32_t row; /* 0-based */
    bool fits;
    const char *framework;        /* name of its preset, static */
    double value[TY_FIGURES_MAX]; /* of each column; of the fleet 0: not asked for */
    double low_s, high_s;         /* of the step time, where bands are asked for */
};

/* Columns that not every table has. */
struct ty_sweep_columns {
    bool fleet, bands;
};

/* Returns the value of a column, which must exist. */
double ty_sweep_line_value(const struct ty_sweep_figures *figures, const char *name);

/* Appends a cell of CSV, quoted if it has to be. */
void ty_sweep_line_cell(struct ty_text *t, const char *s);

enum ty_sweep_read {
    TY_SWEEP_NONSENSE,
    TY_SWEEP_ANSWER,
    TY_SWEEP_ERROR
};

#endif
