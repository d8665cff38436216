/* gantt_rows.h - what a text Gantt shows: boxes of passes, in rows of ranks. */
#ifndef TY_TRACES_VIEW_GANTT_ROWS_H
#define TY_TRACES_VIEW_GANTT_ROWS_H

#include "traces/view/gantt.h"

struct ty_gantt_box {
    ty_ps start, end;
    uint16_t mb;
    uint8_t phase;
    bool other; /* an odd chunk of its rank, or the second direction */
};

/* A rank, or several of one gang whose boxes are equal. */
struct ty_gantt_row {
    char label[64];
    uint32_t gang, rank;
    uint32_t first, n; /* boxes */
};

struct ty_gantt_rows {
    struct ty_gantt_row *row; /* [n_rows] */
    struct ty_gantt_box *box; /* [n_boxes] */
    uint32_t n_rows, n_boxes;
    uint32_t label_width; /* of the longest label */
    uint32_t last_mb;     /* largest micro-batch number */
    bool merged;          /* a row stands for several ranks */
    bool others;          /* some box is of another chunk or direction */
    bool phases[TY_N_PHASES];
};

/* Boxes between `from` and `to`, clipped. Columns are owned by the arena. 0 or TY_ENOMEM. */
int ty_gantt_collect(struct ty_gantt_rows *rows, const struct ty_timeline *t,
                     const struct ty_gantt *options, ty_ps from, ty_ps to, struct ty_arena *arena);

#endif
