/* internal.h - steps of a picture: items of rows, marks on paper, ink.
 *
 *     timeline --svg_items--> passes and idle stretches of every row, in picoseconds
 *              --svg_marks--> rectangles, in micrometres
 *              --svg--> text */
#ifndef TY_TRACES_SVG_INTERNAL_H
#define TY_TRACES_SVG_INTERNAL_H

#include "sim/core/program/vocabulary.h"
#include "traces/svg/svg.h"

/* What fills a stretch of a row: a phase, a phase of another chunk or direction, a cause of idling
 * (a bucket), a deadlock, idle for no known cause. */
#define TY_SVG_OTHER    ((uint32_t)TY_N_PHASES)
#define TY_SVG_CAUSE    (2 * (uint32_t)TY_N_PHASES)
#define TY_SVG_DEADLOCK (TY_SVG_CAUSE + TY_MAX_BUCKETS)
#define TY_SVG_UNKNOWN  (TY_SVG_DEADLOCK + 1) /* idle, measured: nobody said why */
#define TY_SVG_N_KINDS  (TY_SVG_UNKNOWN + 1)

static inline bool ty_svg_is_idle(uint32_t kind)
{
    return kind >= TY_SVG_CAUSE;
}

/* ---- items ---- */

struct ty_svg_item {
    ty_ps start, end;
    uint16_t mb;
    uint8_t kind;
};

/* Items of a row tile it from `from` to the end of its run, in time order. */
struct ty_svg_row {
    const char *label;
    size_t first, n;
};

/* The rank that falls furthest behind the others of its gang, when it is slow. */
struct ty_svg_slow {
    uint32_t rank;
    double by; /* time to compute over the median of its gang, less 1; 0: none is slow */
    bool shown;
};

struct ty_svg_items {
    struct ty_svg_item *item; /* [n_items] */
    struct ty_svg_row *row;   /* [n_rows] */
    size_t n_items, room;
    uint32_t n_rows;
    ty_ps time[TY_SVG_N_KINDS];   /* sum over rows */
    ty_ps inside[TY_MAX_BUCKETS]; /* waited inside passes, part of their boxes; sum over rows */
    ty_ps end;                    /* of the run, from `from` to `to` */
    struct ty_svg_slow slowest;
    bool marked; /* labels of slow ranks say by how much */
    bool merged; /* a row stands for several ranks */
    bool halted; /* the run ended in a deadlock */
};

/* Of the stretch from..to of a panel. Columns are owned by the arena. 0 or TY_ENOMEM. */
int ty_svg_collect(struct ty_svg_items *items, const struct ty_svg_panel *panel, ty_ps from,
                   ty_ps to, struct ty_arena *arena);

/* ---- marks ---- */

#define TY_SVG_THIN_UM 50 /* what is thinner is merged with neighbours that are, too ... */
#define TY_SVG_BIN     10 /* ... until there is so many times that; the same with more rows than */
#define TY_SVG_ROWS    64 /* these, for which it grows in proportion */

struct ty_svg_mark {
    int32_t x0, x1, y0, y1; /* um */
    uint16_t mb;
    uint8_t kind;
    bool whole; /* one item, not a share of merged ones */
};

struct ty_svg_marks {
    struct ty_svg_mark *mark; /* [n] */
    size_t n, room;
    uint64_t n_boxes, n_merged; /* passes, of which merged */
};

/* Where a row lies on paper. */
struct ty_svg_frame {
    ty_ps from, to;      /* the stretch ... */
    int32_t left, width; /* ... and its place, um */
    int32_t y0, y1;      /* of the row */
    int32_t thin;        /* what is thinner is merged, um */
};

/* Distance from the left edge, um. */
int32_t ty_svg_x(const struct ty_svg_frame *frame, ty_ps t);

/* Appends the marks of a row. 0 or TY_ENOMEM. */
int ty_svg_mark_row(struct ty_svg_marks *marks, const struct ty_svg_items *items,
                    const struct ty_svg_row *row, const struct ty_svg_frame *frame,
                    struct ty_arena *arena);

/* ---- ink ---- */

/* The value of a fill attribute: #7ec894, url(#ty-b). */
void ty_svg_put_fill(const struct ty_vocabulary *words, int palette, uint32_t kind,
                     struct ty_text *out);

/* Patterns that fills refer to, of the kinds in use; nothing for colours. */
void ty_svg_put_patterns(const struct ty_vocabulary *words, int palette, const bool *used,
                         struct ty_text *out);

/* What is between boxes: "#fff". */
const char *ty_svg_line(int palette);

/* Kind number i of idle stretches in the order of legends; TY_SVG_N_KINDS after the last. */
uint32_t ty_svg_cause(const struct ty_vocabulary *words, uint32_t i);

/* True when text on it needs a plate to be legible. */
bool ty_svg_patterned(const struct ty_vocabulary *words, int palette, uint32_t kind);

/* "forward", "weight gradient"; causes: "fill", "exposed data". */
const char *ty_svg_word(const struct ty_vocabulary *words, uint32_t kind);

/* ---- text ---- */

/* At least what a text of common sans-serif fonts takes; um. */
int32_t ty_svg_text_um(const char *text, int32_t font_um);

/* Bytes of the text, whole characters, that take at most so much; at least one character. */
size_t ty_svg_text_fits(const char *text, int32_t font_um, int32_t um);

void ty_svg_put_um(struct ty_text *out, int64_t um);            /* millimetres: "12.345", ".5" */
void ty_svg_put_escaped(struct ty_text *out, const char *text); /* well-formed whatever it is */

#endif
