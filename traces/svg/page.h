/* page.h - a picture while it is laid out, from above to below. */
#ifndef TY_TRACES_SVG_PAGE_H
#define TY_TRACES_SVG_PAGE_H

#include "traces/svg/internal.h"

struct ty_svg_sheet {
    const struct ty_svg_panel *panel;
    struct ty_svg_items items;
    struct ty_svg_marks marks;
    int32_t number[TY_N_PHASES]; /* font of micro-batch numbers, um; 0: no room for them */
};

/* Lengths are um. */
struct ty_svg_page {
    const struct ty_svg *svg;
    const struct ty_vocabulary *words; /* of all panels */
    int palette, bubbles;
    ty_ps from, to;
    struct ty_svg_sheet *sheet; /* [svg->n_panels] */
    struct ty_arena arena;
    uint32_t n_rows; /* of all panels */
    bool used[TY_SVG_N_KINDS];

    int32_t width, left, plot; /* of the picture; where the time axis begins; its length */
    int32_t font, small;       /* of titles and labels; of figures and the axis */
    int32_t thin;              /* what is thinner is merged */
    int32_t row, pitch;        /* height of a row; from row to row */
    bool beside;               /* figures stand next to titles */
    int32_t y;                 /* what is above is written */
    struct ty_text *out;
};

/* Sizes that depend on the picture's width and what is in it. 0 or TY_ENOMEM. */
int ty_svg_lay_out(struct ty_svg_page *page);

/* Distance of a time from the left edge. */
int32_t ty_svg_page_x(const struct ty_svg_page *page, ty_ps t);

#define TY_SVG_MIN_NUMBER 1200 /* a micro-batch number smaller than 3.4 points is left out, um */

/* Below the panels: axis, legend, and remarks.c: remarks. */
void ty_svg_put_axis(struct ty_svg_page *page);
void ty_svg_put_legend(struct ty_svg_page *page);

/* Thin lines at the ticks of the axis, from y0 to y1. */
void ty_svg_put_grid(struct ty_svg_page *page, int32_t y0, int32_t y1);

/* Whether the micro-batch number of a mark fits into it, in that font. */
bool ty_svg_number_fits(const struct ty_svg_mark *mark, int32_t font_um);

/* A text whose base line is at y; anchor "start", "middle" or "end". */
void ty_svg_put_text(struct ty_svg_page *page, int32_t x, int32_t y, int32_t font,
                     const char *anchor, const char *attributes, const char *text);

/* Text from the left end of the axis, in as many lines as it takes; the first base line is page->y,
 * which becomes the last one. `font` is what is asked of its widths, too. */
void ty_svg_put_lines(struct ty_svg_page *page, int32_t font, const char *attributes,
                      const char *text);

/* <rect x y width height, without its end; path data of the same rectangle. */
void ty_svg_put_rect(struct ty_text *out, int32_t x, int32_t y, int32_t width, int32_t height);
void ty_svg_put_box(struct ty_text *out, const struct ty_svg_mark *mark);

#endif
