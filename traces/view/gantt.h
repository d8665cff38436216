/* gantt.h - a schedule as text, to look at in a terminal and to paste into a slide.
 *
 *     time     0              5              10
 *     stage 0 |F0 F1 F2 .. .. .. .. B0=== B1=== B2===|
 *     stage 1 |.. F0 F1 F2 .. B0=== B1=== B2=== .. ..|
 *
 * Boxes are as long as their passes. A letter says what a pass is (F forward, B backward, I input
 * gradient, W weight gradient, S optimizer step), the number is the micro-batch, and what fills the
 * rest of a box differs from letter to letter: no colour is needed. */
#ifndef TY_TRACES_VIEW_GANTT_H
#define TY_TRACES_VIEW_GANTT_H

#include "sim/base/text.h"
#include "sim/core/program/timeline.h"

#define TY_GANTT_WIDTH     160u /* columns when none are asked for */
#define TY_GANTT_MIN_WIDTH 40u  /* below this nothing is legible: widened to it */
#define TY_GANTT_MAX_WIDTH 4096u

/* Zero-initialise; zero means the default. */
struct ty_gantt {
    const uint32_t *ranks; /* [n_ranks] rows; none: the first rank of every gang */
    uint32_t n_ranks;
    uint32_t width; /* most columns of a line; 0: TY_GANTT_WIDTH */
    ty_ps unit; /* what the user calls one unit of time; 0: the largest that divides all times */
    ty_ps from, to; /* stretch to draw, which may be longer than the run; 0, 0: everything */
    bool ascii;     /* only ASCII; else box-drawing characters */
    bool bare;      /* axis and rows only, without legend */
};

/* Appends the picture: a time axis, one line per rank, a legend. When every time is a multiple of
 * the unit and the width suffices, a unit is a whole number of columns; else the picture is scaled,
 * and says so. TY_ENOMEM with a message. */
int ty_gantt(const struct ty_timeline *timeline, const struct ty_gantt *options,
             struct ty_text *out, struct ty_err *err);

#endif
