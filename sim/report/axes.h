/* axes.h - what diagrams of reports have in common: axes with ticks at round values, and text.
 * Lengths are pixels at 96 to the inch. */
#ifndef TY_REPORT_AXES_H
#define TY_REPORT_AXES_H

#include <stdbool.h>

#include "sim/base/text.h"

struct ty_scale {
    double low, high; /* values at its ends */
    double from, to;  /* where these are */
    double step;      /* from tick to tick */
    bool log;         /* ticks are at powers of ten */
};

/* From one round value to another. */
struct ty_scale ty_scale_linear(double low, double high, double from, double to);
/* From one power of ten, or 2 or 5 of it, to another. */
struct ty_scale ty_scale_log(double low, double high, double from, double to);

double ty_scale_at(const struct ty_scale *axis, double value);

/* A white picture of that size; who calls it ends it. */
void ty_axes_begin(struct ty_text *out, double width, double height);

/* Grid, values and the frame below and to the left. */
void ty_axes_put(struct ty_text *out, const struct ty_scale *x, const struct ty_scale *y);

/* `anchor`: start, middle or end. */
void ty_axes_text(struct ty_text *out, double x, double y, const char *anchor, const char *text);

/* Along the vertical axis. */
void ty_axes_text_up(struct ty_text *out, double x, double y, const char *text);

#endif
