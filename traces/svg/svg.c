/* svg.c - panels of rows, and the frame around them.
 *
 * Everything is grouped by what it is, and a group has one colour: in a drawing program a click
 * selects all forwards. Boxes that are to be seen are rectangles with a hairline between them, the
 * others one path. Marks are made once; y is counted from the first row of their panel. */
#include "traces/svg/svg.h"

#include <stdio.h>
#include <string.h>

#include "traces/out/writer.h"
#include "traces/svg/page.h"
#include "traces/view/axis.h"

/* ---- heads ---- */

static void add_time(const struct ty_svg_page *page, ty_ps t, struct ty_text *text)
{
    double unit = (double)page->svg->unit;
    const char *name = t == page->svg->unit ? "time unit" : "time units";
    if (page->svg->unit == 0) {
        name = ty_axis_unit(t, &unit);
    }
    ty_text_add(text, "%.*g %s", page->svg->unit != 0 ? 6 : 4, (double)t / unit, name);
}

/* "33 time units, idle 27.3 %: fill 9.1, stall 9.1, drain 9.1" */
static void add_figures(const struct ty_svg_page *page, const struct ty_svg_sheet *sheet,
                        struct ty_text *text)
{
    const struct ty_svg_items *items = &sheet->items;
    const double whole = (double)(items->end - page->from) * items->n_rows / 100;
    double idle = 0, inside = 0;
    bool any = false;
    if (items->end == page->from) {
        ty_text_add(text, "nothing happens");
        return;
    }
    ty_text_add(text, items->halted ? "incomplete: " : "");
    add_time(page, items->end - page->from, text);
    if (sheet->panel->remark != NULL) {
        ty_text_add(text, " (%s)", sheet->panel->remark);
    }
    for (uint32_t k = TY_SVG_CAUSE; k < TY_SVG_N_KINDS; k++) {
        idle += (double)items->time[k];
    }
    ty_text_add(text, ", idle %.1f %%", idle / whole);
    for (uint32_t i = 0, k; (k = ty_svg_cause(page->words, i)) < TY_SVG_N_KINDS; i++) {
        if ((double)items->time[k] / whole >= 0.05) {
            ty_text_add(text, "%s%s %.1f", any ? ", " : ": ", ty_svg_word(page->words, k),
                        (double)items->time[k] / whole);
            any = true;
        }
    }
    for (uint32_t b = 0; b < page->words->n_buckets; b++) {
        inside += (double)items->inside[b];
    }
    if (inside / whole >= 0.05) {
        ty_text_add(text, "; waiting within boxes %.1f %%", inside / whole);
    }
}

/* Whether title and figures of all panels fit on one line each: all heads look alike. */
static bool svg_heads_fit(struct ty_svg_page *page)
{
    bool fit = true;
    for (uint32_t i = 0; i < page->svg->n_panels && fit; i++) {
        const struct ty_svg_sheet *sheet = &page->sheet[i];
        const char *title = sheet->panel->title;
        struct ty_text figures = {.data = NULL};
        add_figures(page, sheet, &figures);
        page->out->failed = page->out->failed || figures.failed;
        fit = title != NULL && figures.data != NULL &&
              ty_svg_text_um(title, page->font * 108 / 100) + page->font +
                      ty_svg_text_um(figures.data, page->small * 9 / 10) <=
                  page->plot;
        ty_text_release(&figures);
    }
    return fit;
}

/* "1f1b     33 time units, idle 27.3 %: fill 9.1, stall 9.1, drain 9.1", on one line or two. */
static void svg_put_head(struct ty_svg_page *page, const struct ty_svg_sheet *sheet)
{
    const char *title = sheet->panel->title;
    struct ty_text figures = {.data = NULL};
    add_figures(page, sheet, &figures);
    page->out->failed = page->out->failed || figures.failed;
    const char *words = figures.data != NULL ? figures.data : "";
    const int32_t right = page->left + page->plot, font = page->small * 9 / 10;
    if (title != NULL) {
        page->y += page->font;
        ty_svg_put_lines(page, page->font, " fill=\"#111\" font-weight=\"bold\"", title);
    }
    if (page->beside) {
        ty_svg_put_text(page, right, page->y, font, "end", " fill=\"#555\"", words);
    } else {
        page->y += page->small * 13 / 10;
        ty_svg_put_lines(page, font, " fill=\"#555\"", words);
    }
    page->y += page->font * 5 / 10;
    ty_text_release(&figures);
}

/* Where the first run ends, across a panel that is compared with it; from where this one ends to
 * there an arrow with the difference, if that leaves room for it.
 *
 *     ########    :
 *     ########<-->: -75 ms
 *     ########    :        */
static void svg_put_difference(struct ty_svg_page *page, const struct ty_svg_sheet *sheet,
                               int32_t height)
{
    const int32_t own = ty_svg_page_x(page, sheet->items.end);
    const int32_t first = ty_svg_page_x(page, page->sheet[0].items.end);
    const int32_t font = page->small * 9 / 10, tip = font / 3, y = height / 2;
    const int32_t needed = ty_svg_text_um(sheet->panel->difference, font) + font;
    struct ty_text *out = page->out;
    ty_text_add(out, "<path fill=\"none\" stroke=\"#555\" stroke-width=\"0.2\" "
                     "stroke-dasharray=\"0.8 0.6\" d=\"M");
    ty_svg_put_um(out, first);
    ty_text_add(out, " 0v");
    ty_svg_put_um(out, height);
    ty_text_add(out, "\"/>\n");
    if (first - own < 4 * tip) {
        return;
    }
    ty_text_add(out, "<path fill=\"none\" stroke=\"#333\" stroke-width=\"0.2\" d=\"M");
    ty_svg_put_um(out, own + tip);
    ty_text_add(out, " ");
    ty_svg_put_um(out, y - tip / 2);
    ty_text_add(out, "l");
    ty_svg_put_um(out, -tip);
    ty_text_add(out, " ");
    ty_svg_put_um(out, tip / 2);
    ty_text_add(out, "l");
    ty_svg_put_um(out, tip);
    ty_text_add(out, " ");
    ty_svg_put_um(out, tip / 2);
    ty_text_add(out, "M");
    ty_svg_put_um(out, own);
    ty_text_add(out, " ");
    ty_svg_put_um(out, y);
    ty_text_add(out, "h");
    ty_svg_put_um(out, first - own);
    ty_text_add(out, "\"/>\n");
    if (first - own >= needed) {
        ty_svg_put_text(page, (own + first) / 2, y - font * 4 / 10, font, "middle",
                        " fill=\"#333\"", sheet->panel->difference);
    }
}

/* ---- the picture ---- */

#define LINED_UM     450  /* boxes from here on have a hairline around them ... */
#define LINED_ROW_UM 1500 /* ... in rows from here on */
#define MIN_NAME_UM  1500 /* font of the names of idle stretches, at least */

bool ty_svg_number_fits(const struct ty_svg_mark *mark, int32_t font_um)
{
    char number[16];
    if (!mark->whole || ty_svg_is_idle(mark->kind) || mark->mb == TY_NONE ||
        mark->kind % TY_SVG_OTHER == TY_PHASE_STEP) {
        return false;
    }
    snprintf(number, sizeof(number), "%u", (unsigned)mark->mb);
    return ty_svg_text_um(number, font_um) + font_um * 35 / 100 <= mark->x1 - mark->x0;
}

/* ---- rows ---- */

/* Thin marks as pieces of one broad line along each row: a third of the bytes of rectangles. */
static void put_thin(struct ty_svg_page *page, const struct ty_svg_marks *marks, uint32_t kind,
                     int32_t least)
{
    struct ty_text *out = page->out;
    int32_t y = INT32_MIN, x = 0;
    for (size_t i = 0; i < marks->n; i++) {
        const struct ty_svg_mark *mark = &marks->mark[i];
        if (mark->kind != kind || !mark->whole || mark->x1 - mark->x0 >= least) {
            continue;
        }
        if (y == INT32_MIN) {
            ty_text_add(out, "<path fill=\"none\" stroke=\"");
            ty_svg_put_fill(page->words, page->palette, kind, out);
            ty_text_add(out, "\" stroke-width=\"");
            ty_svg_put_um(out, page->row);
            ty_text_add(out, "\" d=\"");
        }
        if (mark->y0 == y) {
            ty_text_add(out, "m");
            ty_svg_put_um(out, mark->x0 - x);
            ty_text_add(out, " 0h");
        } else {
            ty_text_add(out, "M");
            ty_svg_put_um(out, mark->x0);
            ty_text_add(out, " ");
            ty_svg_put_um(out, (mark->y0 + mark->y1) / 2);
            ty_text_add(out, "h");
        }
        ty_svg_put_um(out, mark->x1 - mark->x0);
        x = mark->x1;
        y = mark->y0;
    }
    ty_text_add(out, y != INT32_MIN ? "\"/>\n" : "");
}

/* Marks of one kind: rectangles under one group, layers of merged ones as a path. */
static void put_kind(struct ty_svg_page *page, const struct ty_svg_marks *marks, uint32_t kind)
{
    struct ty_text *out = page->out;
    const bool broad = ty_svg_is_idle(kind) || page->row < LINED_ROW_UM;
    const int32_t least = broad ? INT32_MAX : LINED_UM;
    bool open = false, layers = false;
    ty_text_add(out, "<g fill=\"");
    ty_svg_put_fill(page->words, page->palette, kind, out);
    ty_text_add(out, "\">\n");
    for (size_t i = 0; i < marks->n; i++) {
        const struct ty_svg_mark *mark = &marks->mark[i];
        if (mark->kind == kind && !mark->whole) {
            ty_text_add(out, layers ? "" : "<path d=\"");
            ty_svg_put_box(out, mark);
            layers = true;
        }
    }
    ty_text_add(out, layers ? "\"/>\n" : "");
    put_thin(page, marks, kind, least);
    for (size_t i = 0; i < marks->n; i++) {
        const struct ty_svg_mark *mark = &marks->mark[i];
        if (mark->kind == kind && mark->whole && mark->x1 - mark->x0 >= least) {
            if (!open) {
                ty_text_add(out, "<g stroke=\"%s\" stroke-width=\"0.15\">\n",
                            ty_svg_line(page->palette));
            }
            open = true;
            ty_svg_put_rect(out, mark->x0, mark->y0, mark->x1 - mark->x0, mark->y1 - mark->y0);
            ty_text_add(out, "/>\n");
        }
    }
    ty_text_add(out, open ? "</g>\n</g>\n" : "</g>\n");
}

/* White behind a text in the middle of a mark, as path data: digits are shorter than their font. */
static void put_plate(struct ty_text *out, const struct ty_svg_mark *mark, const char *text,
                      int32_t font)
{
    const int32_t x = (mark->x0 + mark->x1) / 2, y = (mark->y0 + mark->y1) / 2;
    const int32_t half = ty_svg_text_um(text, font) * 47 / 100;
    const struct ty_svg_mark plate = {
        .x0 = x - half, .x1 = x + half, .y0 = y - font * 45 / 100, .y1 = y + font * 45 / 100};
    ty_svg_put_box(out, &plate);
}

/* The font of a mark's number; 0: it has none, or no room for it. */
static int32_t number_font(const struct ty_svg_sheet *sheet, const struct ty_svg_mark *mark)
{
    if (ty_svg_is_idle(mark->kind)) {
        return 0;
    }
    const int32_t font = sheet->number[mark->kind % TY_SVG_OTHER];
    return font > 0 && ty_svg_number_fits(mark, font) ? font : 0;
}

/* White behind numbers that stand on a pattern. */
static void put_plates(struct ty_svg_page *page, const struct ty_svg_sheet *sheet)
{
    const struct ty_svg_marks *marks = &sheet->marks;
    bool any = false;
    for (size_t i = 0; i < marks->n; i++) {
        const struct ty_svg_mark *mark = &marks->mark[i];
        const int32_t font = number_font(sheet, mark);
        if (font == 0 || !ty_svg_patterned(page->words, page->palette, mark->kind)) {
            continue;
        }
        char number[16];
        snprintf(number, sizeof(number), "%u", (unsigned)mark->mb);
        ty_text_add(page->out, any ? "" : "<path fill=\"#fff\" d=\"");
        any = true;
        put_plate(page->out, mark, number, font);
    }
    ty_text_add(page->out, any ? "\"/>\n" : "");
}

static void put_numbers(struct ty_svg_page *page, const struct ty_svg_sheet *sheet)
{
    const struct ty_svg_marks *marks = &sheet->marks;
    struct ty_text *out = page->out;
    bool any = false;
    for (size_t i = 0; i < marks->n; i++) {
        const struct ty_svg_mark *mark = &marks->mark[i];
        const int32_t font = number_font(sheet, mark);
        if (font == 0) {
            continue;
        }
        if (!any) {
            ty_text_add(out, "<g font-size=\"");
            ty_svg_put_um(out, font);
            ty_text_add(out, "\" text-anchor=\"middle\" fill=\"#111\">\n");
        }
        any = true;
        ty_text_add(out, "<text x=\"");
        ty_svg_put_um(out, (mark->x0 + mark->x1) / 2);
        ty_text_add(out, "\" y=\"");
        ty_svg_put_um(out, (mark->y0 + mark->y1) / 2 + font * 36 / 100);
        ty_text_add(out, "\">%u</text>\n", (unsigned)mark->mb);
    }
    ty_text_add(out, any ? "</g>\n" : "");
}

/* The widest idle stretch of each cause in a row bears its name, where there is room. */
static void put_names(struct ty_svg_page *page, const struct ty_svg_marks *marks)
{
    const int32_t font = page->small < page->row * 6 / 10 ? page->small * 9 / 10 : page->row / 2;
    for (size_t i = 0; i < marks->n && font >= MIN_NAME_UM;) {
        const struct ty_svg_mark *widest[TY_SVG_N_KINDS] = {NULL};
        const int32_t y0 = marks->mark[i].y0;
        for (; i < marks->n && marks->mark[i].y0 == y0; i++) {
            const struct ty_svg_mark *mark = &marks->mark[i], **best = &widest[mark->kind];
            if (mark->whole && (*best == NULL || mark->x1 - mark->x0 > (*best)->x1 - (*best)->x0)) {
                *best = mark;
            }
        }
        for (uint32_t k = TY_SVG_CAUSE; k < TY_SVG_N_KINDS; k++) {
            const struct ty_svg_mark *mark = widest[k];
            const int32_t needed = ty_svg_text_um(ty_svg_word(page->words, k), font) + font / 2;
            if (mark != NULL && mark->x1 - mark->x0 >= needed) {
                if (ty_svg_patterned(page->words, page->palette, k) &&
                    page->bubbles == TY_SVG_SHADED) {
                    ty_text_add(page->out, "<path fill=\"#fff\" d=\"");
                    put_plate(page->out, mark, ty_svg_word(page->words, k), font);
                    ty_text_add(page->out, "\"/>\n");
                }
                ty_svg_put_text(page, (mark->x0 + mark->x1) / 2,
                                (mark->y0 + mark->y1) / 2 + font * 36 / 100, font, "middle", "",
                                ty_svg_word(page->words, k));
            }
        }
    }
}

static void put_rows(struct ty_svg_page *page, const struct ty_svg_sheet *sheet)
{
    for (uint32_t k = TY_SVG_N_KINDS; k-- > 0;) { /* idle stretches lie under the boxes */
        bool any = false;
        for (size_t i = 0; i < sheet->marks.n && !any; i++) {
            any = sheet->marks.mark[i].kind == k;
        }
        if (any && (!ty_svg_is_idle(k) || page->bubbles == TY_SVG_SHADED || k == TY_SVG_DEADLOCK)) {
            put_kind(page, &sheet->marks, k);
        }
    }
    put_plates(page, sheet);
    put_numbers(page, sheet);
    if (page->bubbles != TY_SVG_NONE) {
        ty_text_add(page->out, "<g fill=\"#555\">\n");
        put_names(page, &sheet->marks);
        ty_text_add(page->out, "</g>\n");
    }
}

static void put_labels(struct ty_svg_page *page, const struct ty_svg_items *items)
{
    const int32_t font = page->small;
    const uint32_t every = (uint32_t)((font * 11 / 10 + page->pitch - 1) / page->pitch);
    ty_text_add(page->out, "<g fill=\"#333\">\n");
    for (uint32_t k = 0; k < items->n_rows; k += every) {
        const char *label = items->row[k].label;
        const int32_t x = page->left - font * 6 / 10;
        const size_t n = ty_svg_text_fits(label, font, x - font); /* room for the ellipsis */
        char shown[80];
        snprintf(shown, sizeof(shown), "%.*s…", (int)n, label);
        ty_svg_put_text(page, x, (int32_t)k * page->pitch + page->row / 2 + font * 36 / 100, font,
                        "end", "", ty_svg_text_um(label, font) <= x ? label : shown);
    }
    ty_text_add(page->out, "</g>\n");
}

/* ---- a panel ---- */

/* Title, figures, rows. */
static void put_panel(struct ty_svg_page *page, struct ty_svg_sheet *sheet)
{
    struct ty_text *out = page->out;
    svg_put_head(page, sheet);
    const int32_t height = (int32_t)sheet->items.n_rows * page->pitch - (page->pitch - page->row);
    ty_text_add(out, "<g transform=\"translate(0 ");
    ty_svg_put_um(out, page->y);
    ty_text_add(out, ")\">\n");
    ty_svg_put_grid(page, 0, height + page->font * 3 / 10);
    put_rows(page, sheet);
    put_labels(page, &sheet->items);
    if (sheet->panel->difference != NULL && page->from == 0) {
        svg_put_difference(page, sheet, height);
    }
    ty_text_add(out, "</g>\n");
    page->y += height + page->font * 3 / 10;
}

/* ---- the whole ---- */

static int collect(struct ty_svg_page *page)
{
    const struct ty_svg *svg = page->svg;
    page->sheet = ty_arena_array(&page->arena, struct ty_svg_sheet, svg->n_panels);
    page->from = svg->from;
    page->to = svg->to;
    for (uint32_t i = 0; i < svg->n_panels && svg->to == 0; i++) {
        const ty_ps end = svg->panels[i].timeline->makespan;
        page->to = end > page->to ? end : page->to;
    }
    if (page->to <= page->from) {
        page->to = page->from + (svg->unit != 0 ? svg->unit : 1); /* nothing happens */
    }
    int rc = page->sheet == NULL ? TY_ENOMEM : 0;
    for (uint32_t i = 0; i < svg->n_panels && rc == 0; i++) {
        page->sheet[i].panel = &svg->panels[i];
        rc = ty_svg_collect(&page->sheet[i].items, &svg->panels[i], page->from, page->to,
                            &page->arena);
        page->n_rows += page->sheet[i].items.n_rows;
    }
    return rc;
}

static void put_begin(const struct ty_svg_page *page, struct ty_text *out)
{
    ty_text_add(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"");
    ty_svg_put_um(out, page->width);
    ty_text_add(out, "mm\" height=\"");
    ty_svg_put_um(out, page->y);
    ty_text_add(out, "mm\" viewBox=\"0 0 ");
    ty_svg_put_um(out, page->width);
    ty_text_add(out, " ");
    ty_svg_put_um(out, page->y);
    ty_text_add(out, "\" font-family=\"Helvetica, Arial, 'Liberation Sans', sans-serif\" "
                     "role=\"img\">\n<title>");
    ty_svg_put_escaped(out, page->sheet[0].panel->title != NULL ? page->sheet[0].panel->title
                                                                : "timeline");
    for (uint32_t i = 1; i < page->svg->n_panels; i++) {
        ty_text_add(out, ", ");
        ty_svg_put_escaped(out, page->sheet[i].panel->title != NULL ? page->sheet[i].panel->title
                                                                    : "timeline");
    }
    ty_text_add(out, "</title>\n");
    if (page->svg->about != NULL) {
        ty_text_add(out, "<desc>");
        ty_svg_put_escaped(out, page->svg->about);
        ty_text_add(out, "</desc>\n");
    }
    ty_svg_put_patterns(page->words, page->palette, page->used, out);
}

static void put_body(struct ty_svg_page *page)
{
    page->beside = svg_heads_fit(page);
    for (uint32_t i = 0; i < page->svg->n_panels; i++) {
        page->y += i == 0 ? 0 : page->font;
        put_panel(page, &page->sheet[i]);
    }
    ty_svg_put_axis(page);
    ty_svg_put_legend(page);
}

int ty_svg(const struct ty_svg *svg, struct ty_text *out, struct ty_err *err)
{
    struct ty_text body = {.data = NULL};
    struct ty_svg_page page = {.svg = svg,
                               .words = svg->panels[0].timeline->program->words,
                               .palette = svg->style.palette,
                               .bubbles = svg->style.bubbles,
                               .out = &body};
    int rc = collect(&page);
    if (rc == 0) {
        rc = ty_svg_lay_out(&page);
    }
    if (rc == 0) {
        put_body(&page);
        put_begin(&page, out);
        ty_text_bytes(out, body.data, body.len);
        ty_text_add(out, "</svg>\n");
        rc = body.failed || out->failed ? TY_ENOMEM : 0;
    }
    ty_text_release(&body);
    ty_arena_release(&page.arena);
    return rc == 0 ? 0 : ty_fail_memory(err);
}

/* ---- as a trace format ---- */

static const char *text_of(const struct ty_trace *trace, const char *key)
{
    for (uint32_t i = 0; i < trace->n_meta; i++) {
        if (strcmp(trace->meta[i].key, key) == 0) {
            return trace->meta[i].text;
        }
    }
    return NULL;
}

/* "llama-30b, 1f1b" from what is known. */
static void add_title(const struct ty_trace *trace, struct ty_text *text)
{
    const char *model = text_of(trace, "model"), *schedule = text_of(trace, "schedule");
    ty_text_add(text, "%s%s%s", model != NULL ? model : "",
                model != NULL && schedule != NULL ? ", " : "", schedule != NULL ? schedule : "");
}

static void add_about(const struct ty_trace *trace, struct ty_text *text)
{
    ty_text_add(text, "Passes of pipeline stages over time.");
    for (uint32_t i = 0; i < trace->n_meta; i++) {
        const struct ty_meta *meta = &trace->meta[i];
        if (meta->text != NULL) {
            ty_text_add(text, " %s: %s.", meta->key, meta->text);
        } else if (meta->flag) {
            ty_text_add(text, " %s.", meta->key);
        } else {
            ty_text_add(text, " %s: %.9g.", meta->key, meta->number);
        }
    }
}

static int svg_write(const struct ty_trace *trace, struct ty_out *out, struct ty_err *err)
{
    struct ty_text title = {.data = NULL}, about = {.data = NULL}, text = {.data = NULL};
    add_title(trace, &title);
    add_about(trace, &about);
    const struct ty_svg_panel panel = {.timeline = trace->timeline,
                                       .ranks = trace->ranks,
                                       .n_ranks = trace->n_ranks,
                                       .stats = trace->stats,
                                       .title = title.len > 0 ? title.data : NULL};
    struct ty_svg svg = {.panels = trace->n_panels > 0 ? trace->panels : &panel,
                         .n_panels = trace->n_panels > 0 ? trace->n_panels : 1,
                         .from = trace->window_from,
                         .to = trace->window_to == UINT64_MAX ? 0 : trace->window_to,
                         .style = trace->svg,
                         .about = about.data};
    svg.style.bubbles = trace->bubbles ? svg.style.bubbles : TY_SVG_NONE;
    const int rc = title.failed || about.failed ? ty_fail_memory(err) : ty_svg(&svg, &text, err);
    if (rc == 0) {
        ty_out_bytes(out, text.data, text.len);
    }
    ty_text_release(&title);
    ty_text_release(&about);
    ty_text_release(&text);
    return rc;
}

const struct ty_trace_format ty_trace_svg = {
    .name = "svg",
    .extension = "svg",
    .summary = "the same as a picture for papers and slides (output.svg)",
    .write = svg_write,
};
