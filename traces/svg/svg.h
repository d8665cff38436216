/* svg.h - timelines as pictures for papers and slides.
 *
 *     1f1b                       33 time units, idle 27.3 %: fill 9.1, stall 9.1, drain 9.1
 *     stage 0  [0][1]            [ 0  ][ 1  ]
 *     stage 1     [0][  0 ][1][  1 ]
 *     time     0         5         10
 *     # forward  # backward   idle: # fill  # stall  # drain
 *
 * One panel per timeline, all on one axis. Lengths are millimetres in the file, text is text, there
 * is no script and no style sheet: every program that takes SVG shows the same. Equal input gives
 * equal bytes. */
#ifndef TY_TRACES_SVG_SVG_H
#define TY_TRACES_SVG_SVG_H

#include "sim/base/text.h"
#include "traces/out/writer.h"

#define TY_SVG_WIDTH_M     0.17 /* when none is asked for: A4 between its margins */
#define TY_SVG_MIN_WIDTH_M 0.06
#define TY_SVG_MAX_WIDTH_M 2.0

struct ty_svg_panel {
    const struct ty_timeline *timeline;
    const uint32_t *ranks; /* [n_ranks] rows; none: the first rank of every gang */
    uint32_t n_ranks;
    const struct ty_stats *stats; /* marks slow ranks; NULL: it does not */
    const char *title;            /* "1f1b"; NULL: none */
    const char *remark;           /* behind the length of the run; NULL: none */
    const char *difference; /* to the length of the first panel's, in few words; NULL: not shown */
};

struct ty_svg {
    const struct ty_svg_panel *panels;
    uint32_t n_panels;
    ty_ps from, to; /* stretch to draw, which may be longer than the runs; to 0: to the last end */
    ty_ps unit;     /* what the user calls one unit of time; 0: seconds and parts of them */
    struct ty_svg_style style;
    const char *about; /* what it is and how it was made, for those who cannot see it; or NULL */
};

/* Appends the picture. TY_ENOMEM with a message. */
int ty_svg(const struct ty_svg *svg, struct ty_text *out, struct ty_err *err);

#endif
