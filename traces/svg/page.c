/* page.c - around the rows of a picture: sizes, time axis, legend. */
#include "traces/svg/page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "traces/view/axis.h"

/* ---- remarks ---- */

/* Whether two thirds of the boxes of a phase would have room for their numbers in a picture so many
 * times as wide. */
static bool would_fit(const struct ty_svg_sheet *sheet, uint32_t phase, double times)
{
    size_t n = 0, fit = 0;
    for (size_t k = 0; k < sheet->marks.n; k++) {
        struct ty_svg_mark mark = sheet->marks.mark[k];
        if (!ty_svg_is_idle(mark.kind) && mark.kind % TY_SVG_OTHER == phase) {
            mark.x1 = mark.x0 + (int32_t)((mark.x1 - mark.x0) * times);
            n++;
            fit += ty_svg_number_fits(&mark, TY_SVG_MIN_NUMBER);
        }
    }
    return 3 * fit >= 2 * n;
}

/* The width from which on all phases have numbers, mm; 0: they have, or there is none. */
static double width_for_numbers(const struct ty_svg_page *page)
{
    const double most = TY_SVG_MAX_WIDTH_M * 1e6 / page->width;
    double times = 1;
    for (uint32_t i = 0; i < page->svg->n_panels; i++) {
        const struct ty_svg_sheet *sheet = &page->sheet[i];
        for (uint32_t phase = 0; phase < TY_N_PHASES; phase++) {
            const bool numbered = phase != TY_PHASE_STEP && sheet->number[phase] == 0;
            while (numbered && times <= most && !would_fit(sheet, phase, times)) {
                times *= 1.02;
            }
        }
    }
    return times == 1 || times > most ? 0 : ceil(times * page->width / 1e4) * 10;
}

/* A time of the axis, with its unit. */
static void add_time(const struct ty_svg_page *page, ty_ps t, struct ty_text *out)
{
    double unit = (double)page->svg->unit;
    const char *name = page->svg->unit != 0 ? "" : ty_axis_unit(t > 0 ? t : page->to, &unit);
    ty_text_add(out, "%.4g%s%s", (double)t / unit, name[0] != '\0' ? " " : "", name);
}

static void put_remark(struct ty_svg_page *page, const char *remark)
{
    page->y += page->small;
    ty_svg_put_lines(page, page->small * 9 / 10, " fill=\"#555\"", remark);
    page->y += page->small * 2 / 10;
}

static void put_remark_of_numbers(struct ty_svg_page *page)
{
    char remark[160];
    const double mm = width_for_numbers(page);
    if (mm > 0) {
        ty_snprintf(remark, sizeof(remark),
                    "boxes are too narrow for the numbers of all micro-batches: from a width of "
                    "%.0f mm on they fit",
                    mm);
        put_remark(page, remark);
    }
}

/* Which part of a run there is, where it is not the whole. */
static void put_remark_of_stretch(struct ty_svg_page *page)
{
    ty_ps end = 0;
    struct ty_text remark = {.data = NULL};
    for (uint32_t i = 0; i < page->svg->n_panels; i++) {
        const ty_ps own = page->svg->panels[i].timeline->makespan;
        end = own > end ? own : end;
    }
    if (page->from == 0 && page->to >= end) {
        return;
    }
    ty_text_add(&remark, "a part of the run: ");
    add_time(page, page->from, &remark);
    ty_text_add(&remark, " to ");
    add_time(page, page->to < end ? page->to : end, &remark);
    ty_text_add(&remark, " of ");
    add_time(page, end, &remark);
    page->out->failed = page->out->failed || remark.failed;
    if (!remark.failed) {
        put_remark(page, remark.data);
    }
    ty_text_release(&remark);
}

static void put_remark_of_slow(struct ty_svg_page *page)
{
    char remark[160];
    for (uint32_t i = 0; i < page->svg->n_panels; i++) {
        const struct ty_svg_items *items = &page->sheet[i].items;
        if (items->slowest.by > 0) {
            ty_snprintf(remark, sizeof(remark),
                        "rank %u computes %.0f %% longer than the median of its stage%s%s",
                        (unsigned)items->slowest.rank, 100 * items->slowest.by,
                        items->slowest.shown ? "" : "; it is not shown",
                        items->marked && !items->slowest.shown ? ", others are marked" : "");
            put_remark(page, remark);
        }
    }
}

static void svg_put_remarks(struct ty_svg_page *page)
{
    uint64_t n = 0, merged = 0;
    bool shared = false;
    char remark[160];
    for (uint32_t i = 0; i < page->svg->n_panels; i++) {
        n += page->sheet[i].marks.n_boxes;
        merged += page->sheet[i].marks.n_merged;
        shared = shared || page->sheet[i].items.merged;
    }
    if (merged > 0) {
        ty_snprintf(
            remark, sizeof(remark),
            "%llu of %llu passes are thinner than %g mm: drawn together, heights are shares "
            "of time",
            (unsigned long long)merged, (unsigned long long)n, page->thin / 1000.0);
        put_remark(page, remark);
    }
    put_remark_of_numbers(page);
    put_remark_of_stretch(page);
    put_remark_of_slow(page);
    if (shared) {
        put_remark(page, "ranks that do the same at the same time share a row");
    }
}

/* ---- the page ---- */

/* Sizes on a picture of TY_SVG_WIDTH_M, um: 8 and 7 points, as captions and labels of papers. */
#define FONT     2820
#define SMALL    2470
#define ROW_MAX  5600
#define ROW_MIN  350
#define SEAMLESS 1000   /* rows closer than that touch: lines between them would be all one sees */
#define ROWS_MAX 190000 /* height of all rows: with the rest, an A4 page */

/* ---- elements ---- */

static void put_attribute(struct ty_text *out, const char *name, int32_t um)
{
    ty_text_add(out, " %s=\"", name);
    ty_svg_put_um(out, um);
    ty_text_add(out, "\"");
}

void ty_svg_put_text(struct ty_svg_page *page, int32_t x, int32_t y, int32_t font,
                     const char *anchor, const char *attributes, const char *text)
{
    ty_text_add(page->out, "<text");
    put_attribute(page->out, "x", x);
    put_attribute(page->out, "y", y);
    put_attribute(page->out, "font-size", font);
    if (strcmp(anchor, "start") != 0) {
        ty_text_add(page->out, " text-anchor=\"%s\"", anchor);
    }
    ty_text_add(page->out, "%s>", attributes);
    ty_svg_put_escaped(page->out, text);
    ty_text_add(page->out, "</text>\n");
}

void ty_svg_put_lines(struct ty_svg_page *page, int32_t font, const char *attributes,
                      const char *text)
{
    char line[256];
    while (*text != '\0') {
        size_t n = ty_svg_text_fits(text, font, page->width - page->left);
        n = n < sizeof(line) ? n : sizeof(line) - 1;
        size_t end = n; /* at a blank, if there is one */
        while (text[n] != '\0' && end > 0 && text[end] != ' ') {
            end--;
        }
        end = end > 0 ? end : n;
        snprintf(line, sizeof(line), "%.*s", (int)end, text);
        ty_svg_put_text(page, page->left, page->y, font, "start", attributes, line);
        text += end;
        text += *text == ' ';
        page->y += *text != '\0' ? font * 12 / 10 : 0;
    }
}

void ty_svg_put_rect(struct ty_text *out, int32_t x, int32_t y, int32_t width, int32_t height)
{
    ty_text_add(out, "<rect");
    put_attribute(out, "x", x);
    put_attribute(out, "y", y);
    put_attribute(out, "width", width);
    put_attribute(out, "height", height);
}

void ty_svg_put_box(struct ty_text *out, const struct ty_svg_mark *mark)
{
    ty_text_add(out, "M");
    ty_svg_put_um(out, mark->x0);
    ty_text_add(out, " ");
    ty_svg_put_um(out, mark->y0);
    ty_text_add(out, "h");
    ty_svg_put_um(out, mark->x1 - mark->x0);
    ty_text_add(out, "v");
    ty_svg_put_um(out, mark->y1 - mark->y0);
    ty_text_add(out, "h");
    ty_svg_put_um(out, mark->x0 - mark->x1);
    ty_text_add(out, "z");
}

/* ---- sizes ---- */

/* Unit of the axis, its name in the label column. */
static const char *axis_name(const struct ty_svg_page *page, double *unit, char buf[32])
{
    if (page->svg->unit != 0) {
        *unit = (double)page->svg->unit;
        return "time";
    }
    snprintf(buf, 32, "time, %s", ty_axis_unit(page->to, unit));
    return buf;
}

static int32_t label_width(const struct ty_svg_page *page)
{
    char buf[32];
    double unit;
    int32_t widest = ty_svg_text_um(axis_name(page, &unit, buf), page->small);
    for (uint32_t i = 0; i < page->svg->n_panels; i++) {
        const struct ty_svg_items *items = &page->sheet[i].items;
        for (uint32_t k = 0; k < items->n_rows; k++) {
            const int32_t w = ty_svg_text_um(items->row[k].label, page->small);
            widest = w > widest ? w : widest;
        }
    }
    return widest;
}

/* Boxes of a phase; all: also those whose number does not fit in that size. */
static size_t count(const struct ty_svg_sheet *sheet, uint32_t phase, int32_t font, bool all)
{
    size_t n = 0;
    for (size_t k = 0; k < sheet->marks.n; k++) {
        const struct ty_svg_mark *mark = &sheet->marks.mark[k];
        n += !ty_svg_is_idle(mark->kind) && mark->kind % TY_SVG_OTHER == phase &&
             (all || ty_svg_number_fits(mark, font));
    }
    return n;
}

/* The largest font in which nearly as many numbers fit as in the smallest, phase by phase. One that
 * would have numbers here and there only has none. */
static void choose_numbers(const struct ty_svg_page *page, struct ty_svg_sheet *sheet)
{
    const int32_t most = page->row * 6 / 10 < page->font ? page->row * 6 / 10 : page->font;
    for (uint32_t phase = 0; phase < TY_N_PHASES; phase++) {
        const size_t fit = count(sheet, phase, TY_SVG_MIN_NUMBER, false);
        int32_t font = most;
        if (most < TY_SVG_MIN_NUMBER || fit == 0 || 3 * fit < 2 * count(sheet, phase, 0, true)) {
            continue;
        }
        while (font > TY_SVG_MIN_NUMBER && count(sheet, phase, font, false) < fit - fit / 10) {
            font = font * 95 / 100;
        }
        sheet->number[phase] = font > TY_SVG_MIN_NUMBER ? font : TY_SVG_MIN_NUMBER;
    }
}

/* One size for all phases of a panel that have numbers. */
static void even_out_numbers(struct ty_svg_sheet *sheet)
{
    int32_t least = INT32_MAX;
    for (uint32_t phase = 0; phase < TY_N_PHASES; phase++) {
        const int32_t font = sheet->number[phase];
        least = font > 0 && font < least ? font : least;
    }
    for (uint32_t phase = 0; phase < TY_N_PHASES; phase++) {
        sheet->number[phase] = sheet->number[phase] > 0 ? least : 0;
    }
}

int ty_svg_lay_out(struct ty_svg_page *page)
{
    const double asked = page->svg->style.width_m > 0 ? page->svg->style.width_m : TY_SVG_WIDTH_M;
    double scale = asked / TY_SVG_WIDTH_M; /* a slide is read from further away than a paper */
    scale = scale < 0.85 ? 0.85 : scale > 3 ? 3 : scale;
    page->width = (int32_t)lround(asked * 1e6);
    page->font = (int32_t)(FONT * scale);
    page->small = (int32_t)(SMALL * scale);
    double pitch = ROWS_MAX * scale / page->n_rows;
    pitch = pitch > ROW_MAX * 1.18 * scale ? ROW_MAX * 1.18 * scale
            : pitch < ROW_MIN              ? ROW_MIN
                                           : pitch;
    page->pitch = (int32_t)pitch;
    page->pitch -= page->pitch % 2; /* the middle of a row is a whole number, too */
    page->row = page->pitch < SEAMLESS ? page->pitch : (int32_t)(pitch / 2.36) * 2;
    page->thin =
        TY_SVG_THIN_UM * (page->n_rows > TY_SVG_ROWS ? (int32_t)(page->n_rows / TY_SVG_ROWS) : 1);
    const int32_t label = label_width(page);
    const int32_t room = page->width / 3;
    page->left = (label < room ? label : room) + (int32_t)(1600 * scale);
    page->plot = page->width - page->left - (int32_t)(2600 * scale);
    int rc = 0;
    for (uint32_t i = 0; i < page->svg->n_panels; i++) {
        struct ty_svg_sheet *sheet = &page->sheet[i];
        for (uint32_t k = 0; k < sheet->items.n_rows && rc == 0; k++) {
            const struct ty_svg_frame frame = {.from = page->from,
                                               .to = page->to,
                                               .left = page->left,
                                               .width = page->plot,
                                               .y0 = (int32_t)k * page->pitch,
                                               .y1 = (int32_t)k * page->pitch + page->row,
                                               .thin = page->thin};
            rc = ty_svg_mark_row(&sheet->marks, &sheet->items, &sheet->items.row[k], &frame,
                                 &page->arena);
        }
        for (size_t k = 0; k < sheet->marks.n; k++) {
            page->used[sheet->marks.mark[k].kind] = true;
        }
        choose_numbers(page, sheet);
        even_out_numbers(sheet);
    }
    return rc;
}

/* ---- time axis ---- */

/* Ticks: the i-th lies at (first + i) steps. */
struct ticks {
    double unit, step, first;
    uint32_t n;
};

static struct ticks find_ticks(const struct ty_svg_page *page)
{
    char buf[32], number[32];
    struct ticks t;
    (void)axis_name(page, &t.unit, buf);
    const double span = (double)(page->to - page->from) / t.unit, last = (double)page->to / t.unit;
    ty_snprintf(number, sizeof(number), "%.6g", last);
    const double apart = 2.2 * ty_svg_text_um(number, page->small) + page->small;
    t.step = ty_axis_step(apart * span / page->plot);
    t.first = ceil((double)page->from / t.unit / t.step - 1e-9);
    t.n = (uint32_t)(floor(last / t.step + 1e-9) - t.first + 1);
    return t;
}

static int32_t tick_x(const struct ty_svg_page *page, const struct ticks *t, uint32_t i)
{
    const double at = (t->first + i) * t->step * t->unit - (double)page->from;
    return page->left + (int32_t)lround(at / (double)(page->to - page->from) * page->plot);
}

int32_t ty_svg_page_x(const struct ty_svg_page *page, ty_ps t)
{
    const struct ty_svg_frame frame = {
        .from = page->from, .to = page->to, .left = page->left, .width = page->plot};
    return ty_svg_x(&frame, t);
}

void ty_svg_put_grid(struct ty_svg_page *page, int32_t y0, int32_t y1)
{
    const struct ticks t = find_ticks(page);
    ty_text_add(page->out, "<path fill=\"none\" stroke=\"#d0d0d0\" stroke-width=\"0.1\" d=\"");
    for (uint32_t i = 0; i < t.n; i++) {
        ty_text_add(page->out, "M");
        ty_svg_put_um(page->out, tick_x(page, &t, i));
        ty_text_add(page->out, " ");
        ty_svg_put_um(page->out, y0);
        ty_text_add(page->out, "v");
        ty_svg_put_um(page->out, y1 - y0);
    }
    ty_text_add(page->out, "\"/>\n");
}

void ty_svg_put_axis(struct ty_svg_page *page)
{
    const struct ticks t = find_ticks(page);
    const int32_t length = page->small * 4 / 10;
    char buf[32];
    double unit;
    ty_text_add(page->out, "<g id=\"axis\" fill=\"#333\">\n<path fill=\"none\" stroke=\"#333\" "
                           "stroke-width=\"0.15\" d=\"M");
    ty_svg_put_um(page->out, page->left);
    ty_text_add(page->out, " ");
    ty_svg_put_um(page->out, page->y);
    ty_text_add(page->out, "h");
    ty_svg_put_um(page->out, page->plot);
    for (uint32_t i = 0; i < t.n; i++) {
        ty_text_add(page->out, "M");
        ty_svg_put_um(page->out, tick_x(page, &t, i));
        ty_text_add(page->out, " ");
        ty_svg_put_um(page->out, page->y);
        ty_text_add(page->out, "v");
        ty_svg_put_um(page->out, length);
    }
    ty_text_add(page->out, "\"/>\n");
    const int32_t base = page->y + length + page->small * 9 / 10;
    ty_svg_put_text(page, page->left - page->small * 11 / 10, base, page->small, "end", "",
                    axis_name(page, &unit, buf));
    for (uint32_t i = 0; i < t.n; i++) {
        char number[32];
        ty_snprintf(number, sizeof(number), "%.6g", (t.first + i) * t.step);
        const int32_t x = tick_x(page, &t, i), half = ty_svg_text_um(number, page->small) / 2;
        /* the first and the last one may stand a little inside: next to them is a word, and
         * nothing */
        const int32_t least = page->left - page->small * 5 / 10 + half, most = page->width - half;
        ty_svg_put_text(page,
                        x < least  ? least
                        : x < most ? x
                                   : most,
                        base, page->small, "middle", "", number);
    }
    ty_text_add(page->out, "</g>\n");
    page->y = base + page->small * 7 / 10;
}

/* ---- legend ---- */

struct flow {
    struct ty_svg_page *page;
    int32_t x; /* where the next entry goes */
};

/* Moves to a place where so much fits, on this line or the next. */
static void make_room(struct flow *f, int32_t width)
{
    const int32_t left = f->page->left;
    if (f->x > left && f->x + width > f->page->width) {
        f->x = left;
        f->page->y += f->page->small * 16 / 10;
    }
}

static int32_t entry_width(const struct ty_svg_page *page, uint32_t kind, const char *word)
{
    const int32_t swatch = kind < TY_SVG_N_KINDS ? page->small * 18 / 10 : 0;
    return swatch + ty_svg_text_um(word, page->small) + page->small * 9 / 10;
}

/* A swatch and a word; kind TY_SVG_N_KINDS: the word only. */
static void put_entry(struct flow *f, uint32_t kind, const char *word)
{
    struct ty_svg_page *page = f->page;
    const int32_t font = page->small, swatch = kind < TY_SVG_N_KINDS ? font * 14 / 10 : 0;
    const int32_t gap = swatch > 0 ? font * 4 / 10 : 0;
    make_room(f, entry_width(page, kind, word) - font * 9 / 10);
    const int32_t base = page->y + font;
    if (swatch > 0) {
        ty_svg_put_rect(page->out, f->x, base - font * 85 / 100, swatch, font);
        ty_text_add(page->out, " fill=\"");
        ty_svg_put_fill(page->words, page->palette, kind, page->out);
        ty_text_add(page->out, "\"");
        if (page->palette == TY_SVG_PRINT) {
            ty_text_add(page->out, " stroke=\"%s\" stroke-width=\"0.12\"",
                        ty_svg_is_idle(kind) ? "#aaa" : ty_svg_line(page->palette));
        }
        ty_text_add(page->out, "/>\n");
    }
    ty_svg_put_text(page, f->x + swatch + gap, base, font, "start", "", word);
    f->x += entry_width(page, kind, word);
}

/* Causes of idling: next to the phases where all fit, else on lines of their own. */
static void put_causes(struct flow *f)
{
    struct ty_svg_page *page = f->page;
    const uint32_t heading = TY_SVG_N_KINDS; /* "idle:" has no swatch */
    int32_t width = entry_width(page, heading, "idle:");
    bool any = false;
    for (uint32_t i = 0, k; (k = ty_svg_cause(page->words, i)) < TY_SVG_N_KINDS; i++) {
        width += page->used[k] ? entry_width(page, k, ty_svg_word(page->words, k)) : 0;
        any = any || page->used[k];
    }
    if (!any || page->bubbles != TY_SVG_SHADED) {
        return;
    }
    make_room(f, width - page->small * 9 / 10);
    put_entry(f, heading, "idle:");
    f->x -= page->small * 5 / 10;
    for (uint32_t i = 0, k; (k = ty_svg_cause(page->words, i)) < TY_SVG_N_KINDS; i++) {
        if (page->used[k]) {
            put_entry(f, k, ty_svg_word(page->words, k));
        }
    }
}

void ty_svg_put_legend(struct ty_svg_page *page)
{
    struct flow f = {.page = page, .x = page->left};
    bool others = false;
    uint32_t other = 0;
    ty_text_add(page->out, "<g id=\"legend\" fill=\"#333\">\n");
    for (uint32_t k = 0; k < TY_SVG_OTHER; k++) {
        if (page->used[k] || page->used[k + TY_SVG_OTHER]) {
            put_entry(&f, k, ty_svg_word(page->words, k));
        }
        if (page->used[k + TY_SVG_OTHER] && !others) {
            others = true;
            other = k + TY_SVG_OTHER;
        }
    }
    if (others) {
        put_entry(&f, other, "other chunk or direction");
    }
    put_causes(&f);
    page->y += page->small * 15 / 10;
    svg_put_remarks(page);
    ty_text_add(page->out, "</g>\n");
}
