/* sweep_line.h - what came out of a row of a sweep, as columns of its table and back. */
#ifndef TY_SEARCH_SWEEP_LINE_H
#define TY_SEARCH_SWEEP_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/text.h"

/* Columns of numbers, in order; `fits` and `framework` follow, then what a fleet section adds. */
enum ty_sweep_value {
    TY_SWEEP_STEP,
    TY_SWEEP_MFU,
    TY_SWEEP_HFU,
    TY_SWEEP_TOKENS,
    TY_SWEEP_BUBBLE,
    TY_SWEEP_PEAK,
    TY_SWEEP_N_VALUES,
    TY_SWEEP_DAYS = TY_SWEEP_N_VALUES,
    TY_SWEEP_GPU_HOURS,
    TY_SWEEP_COST,
    TY_SWEEP_COST_BILLION,
    TY_SWEEP_N_ALL
};

/* A row with an answer. */
struct ty_sweep_figures {
    uint32_t row; /* 0-based */
    bool fits;
    const char *framework; /* name of its preset, static */
    double
        value[TY_SWEEP_N_ALL]; /* in the units of `--stats json`; of the fleet 0: not asked for */
};

/* Appends the names of the columns; `fleet`: with those of a fleet section. */
void ty_sweep_line_head(struct ty_text *t, bool fleet);

/* Appends the columns of an answer, or of an error: a comma before each, but no end of line. */
void ty_sweep_line_put(struct ty_text *t, const struct ty_sweep_figures *figures, bool fleet);
void ty_sweep_line_error(struct ty_text *t, const char *message, bool fleet);

/* A cell as CSV: quoted when it has to be, and with the bytes that it came with. */
void ty_sweep_line_cell(struct ty_text *t, const char *s);

enum ty_sweep_read {
    TY_SWEEP_NONSENSE,
    TY_SWEEP_ANSWER,
    TY_SWEEP_ERROR
};

/* Reads what those wrote, with the end of the line; of an error nothing but that. */
enum ty_sweep_read ty_sweep_line_read(const char *text, bool fleet,
                                      struct ty_sweep_figures *figures);

#endif
