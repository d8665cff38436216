/* gantt.c - a schedule as text: layout of the time axis, boxes, legend.
 *
 * Three scales, tried in this order: a unit of time takes as many columns as a labelled box needs
 * ("F12" and a blank); a unit takes fewer but whole columns, and labels give way to letters;
 * columns are fractions of the run. The first two are exact. */
#include "traces/view/gantt.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "traces/out/writer.h"
#include "traces/view/axis.h"
#include "traces/view/gantt_rows.h"

#define FRAME 3u /* columns next to the label and the picture: a blank and two bars */

struct picture {
    const struct ty_timeline *t;
    const struct ty_gantt *options;
    struct ty_arena arena;
    struct ty_gantt_rows rows;
    ty_ps from, to;
    ty_ps unit;      /* one cell, divides all times */
    uint32_t cell;   /* columns of a unit; 0: scaled */
    uint32_t wanted; /* columns that a unit with labels needs */
    uint32_t columns;
    uint32_t lost; /* boxes shorter than a column */
};

static uint32_t digits_of(uint64_t x)
{
    uint32_t n = 1;
    while (x >= 10) {
        x /= 10;
        n++;
    }
    return n;
}

/* ---- scale ---- */

static ty_ps divisor(ty_ps a, ty_ps b)
{
    while (b != 0) {
        const ty_ps rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The user's unit when it divides every time of the picture, else the largest that
 * does. Never 0: the picture has a length. */
static ty_ps common_unit(const struct picture *g)
{
    ty_ps unit = g->to - g->from;
    for (uint32_t i = 0; i < g->rows.n_boxes; i++) {
        unit = divisor(unit, g->rows.box[i].start - g->from);
        unit = divisor(unit, g->rows.box[i].end - g->from);
    }
    const ty_ps wished = g->options->unit;
    return wished != 0 && unit % wished == 0 ? wished : unit;
}

static void choose_scale(struct picture *g)
{
    uint32_t width = g->options->width != 0 ? g->options->width : TY_GANTT_WIDTH;
    width = width < TY_GANTT_MIN_WIDTH ? TY_GANTT_MIN_WIDTH : width;
    width = width > TY_GANTT_MAX_WIDTH ? TY_GANTT_MAX_WIDTH : width;
    const uint32_t frame = g->rows.label_width + FRAME;
    const uint32_t room = width > frame + 8 ? width - frame : 8;
    g->unit = common_unit(g);
    g->wanted = 2 + digits_of(g->rows.last_mb); /* letter, number, blank */
    const ty_ps units = (g->to - g->from) / g->unit;
    if (units <= room) {
        g->cell = room / (uint32_t)units < g->wanted ? room / (uint32_t)units : g->wanted;
        g->columns = (uint32_t)units * g->cell;
    } else {
        g->cell = 0;
        g->columns = room;
    }
}

static uint32_t column_of(const struct picture *g, ty_ps t)
{
    const ty_ps past = t - g->from;
    if (g->cell != 0) {
        return (uint32_t)(past / g->unit) * g->cell;
    }
    return (uint32_t)((double)past / (double)(g->to - g->from) * g->columns);
}

/* ---- drawing ---- */

static char filler(uint8_t phase)
{
    static const char fillers[TY_N_PHASES] = {
        [TY_PHASE_FORWARD] = '-', [TY_PHASE_BACKWARD] = '=', [TY_PHASE_DGRAD] = '~',
        [TY_PHASE_WGRAD] = '+',   [TY_PHASE_STEP] = '#',     [TY_PHASE_OTHER] = ':',
    };
    return fillers[phase];
}

/* A line drawn in ASCII, with lines and dots for those who take them. */
static void put_line(struct ty_text *out, const char *line, size_t n, bool ascii)
{
    for (size_t i = 0; i < n; i++) {
        const char *as = NULL;
        switch (line[i]) {
        case '-':
            as = "─";
            break;
        case '=':
            as = "═";
            break;
        case '.':
            as = "·";
            break;
        case '|':
            as = "│";
            break;
        default:
            break;
        }
        if (ascii || as == NULL) {
            ty_text_bytes(out, &line[i], 1);
        } else {
            ty_text_bytes(out, as, strlen(as));
        }
    }
}

/* Idle: dots, and a blank between cells that have room for one. */
static void draw_idle(const struct picture *g, char *line)
{
    memset(line, '.', g->columns);
    for (uint32_t i = 0; g->cell > 1 && i < g->columns; i += g->cell) {
        line[i + g->cell - 1] = ' ';
    }
}

/* A box of `width` columns: label, filler, blank; without room for a blank or the number, less. */
static void draw_box(const struct ty_gantt_box *box, char *line, uint32_t width)
{
    char label[16];
    const char letter = ty_phase_letter((enum ty_phase)box->phase);
    label[0] = box->other ? (char)tolower((unsigned char)letter) : letter;
    label[1] = '\0';
    if (box->phase != TY_PHASE_STEP && box->mb != TY_NONE) {
        snprintf(label + 1, sizeof(label) - 1, "%u", (unsigned)box->mb);
    }
    const uint32_t n = (uint32_t)strlen(label);
    memset(line, filler(box->phase), width);
    memcpy(line, label, width < n ? 1 : n);
    if (width > n) {
        line[width - 1] = ' ';
    }
}

static void draw_row(struct picture *g, const struct ty_gantt_row *row, char *line,
                     struct ty_text *out)
{
    draw_idle(g, line);
    for (uint32_t i = 0; i < row->n; i++) {
        const struct ty_gantt_box *box = &g->rows.box[row->first + i];
        const uint32_t a = column_of(g, box->start), b = column_of(g, box->end);
        if (b > a) {
            draw_box(box, line + a, b - a);
        } else {
            g->lost++;
        }
    }
    ty_text_add(out, "%-*s ", (int)g->rows.label_width, row->label);
    put_line(out, "|", 1, g->options->ascii);
    uint32_t end = g->columns;
    if (g->cell > 1 && line[end - 1] == ' ') {
        end--; /* the bar takes the place of the last blank */
    }
    put_line(out, line, end, g->options->ascii);
    put_line(out, "|", 1, g->options->ascii);
    const struct ty_pass *stuck;
    const bool is_stuck = ty_timeline_blocked_op(g->t, row->gang, &stuck) != NULL;
    ty_text_add(out, is_stuck && g->to >= g->t->makespan ? " deadlock\n" : "\n");
}

/* ---- axis and legend ---- */

/* Numbers at regular steps, each at the column where its time begins. */
static void put_axis(const struct picture *g, struct ty_text *out)
{
    const ty_ps span = g->to - g->from;
    double tick = g->options->unit != 0 ? (double)g->options->unit : (double)g->unit;
    const char *name = "time"; /* in units of the user, or of one cell */
    if (g->cell == 0 && g->options->unit == 0) {
        name = ty_axis_unit(g->to, &tick);
    }
    const double last = (double)g->to / tick;
    const uint32_t apart = 4 + digits_of((uint64_t)last); /* columns between ticks, at least */
    double step = ty_axis_step(apart * (double)span / g->columns / tick);
    step = g->cell != 0 && step < 1 ? 1 : step;
    ty_text_add(out, "%-*s  ", (int)g->rows.label_width, name);
    uint32_t at = 0; /* columns written */
    const double first = (double)(uint64_t)((double)g->from / tick / step) * step;
    for (uint32_t i = 0; first + i * step <= last; i++) {
        const double past = (first + i * step) * tick - (double)g->from;
        const uint32_t column = past <= 0 ? 0 : (uint32_t)(past / (double)span * g->columns + 0.5);
        char number[32];
        const int n = ty_snprintf(number, sizeof(number), "%.6g", first + i * step);
        if (past >= 0 && column >= at && column + (uint32_t)n <= g->columns + 2) {
            ty_text_add(out, "%*s%s", (int)(column - at), "", number);
            at = column + (uint32_t)n;
        }
    }
    ty_text_add(out, "\n");
}

/* A time in words, to so many significant digits: "one time unit", "0.5 time units", "2.5 ms". */
static void put_time(const struct picture *g, double ps, int digits, struct ty_text *out)
{
    char number[32];
    double unit = (double)g->options->unit;
    const char *name = ps == unit ? "time unit" : "time units";
    if (g->options->unit == 0) {
        name = ty_axis_unit((ty_ps)ps, &unit);
    }
    ty_snprintf(number, sizeof(number), "%.*g", digits, ps / unit);
    ty_text_add(out, "%s %s", g->options->unit != 0 && ps == unit ? "one" : number, name);
}

static void put_scale(const struct picture *g, struct ty_text *out)
{
    const ty_ps units = (g->to - g->from) / g->unit;
    const unsigned long long frame = g->rows.label_width + FRAME;
    if (g->cell == 0) {
        ty_text_add(out, "scaled to fit: one column is about ");
        put_time(g, (double)(g->to - g->from) / g->columns, 3, out);
        if (units + frame <= TY_GANTT_MAX_WIDTH) {
            ty_text_add(out, "; exact from a width of %llu", units + frame);
        }
    } else if (g->cell == g->wanted) {
        ty_text_add(out, "one cell is ");
        put_time(g, (double)g->unit, 12, out);
    } else {
        ty_text_add(out, g->cell == 1 ? "1 column is " : "%u columns are ", (unsigned)g->cell);
        put_time(g, (double)g->unit, 12, out);
        ty_text_add(out, "; micro-batch numbers need a width of %llu", units * g->wanted + frame);
    }
    if (g->lost > 0) {
        ty_text_add(out, "; %u pass%s shorter than a column and not drawn", (unsigned)g->lost,
                    g->lost == 1 ? " is" : "es are");
    }
    ty_text_add(out, "\n");
}

static void put_legend(const struct picture *g, struct ty_text *out)
{
    for (uint32_t phase = 0; phase < TY_N_PHASES; phase++) {
        if (g->rows.phases[phase]) {
            ty_text_add(out, "%c %s   ", ty_phase_letter((enum ty_phase)phase),
                        ty_phase_word((enum ty_phase)phase));
        }
    }
    ty_text_add(out, g->rows.others ? "lower case: other chunk or direction   " : "");
    put_line(out, ".", 1, g->options->ascii);
    ty_text_add(out, " idle   ");
    put_scale(g, out);
    double busy = 0;
    for (uint32_t i = 0; i < g->rows.n_boxes; i++) {
        busy += (double)(g->rows.box[i].end - g->rows.box[i].start);
    }
    const double span = (double)(g->to - g->from);
    ty_text_add(out, g->t->halt != NULL                        ? "incomplete: stretch of "
                     : g->from == 0 && g->to == g->t->makespan ? "makespan "
                                                               : "stretch of ");
    if (g->options->unit != 0) {
        ty_text_add(out, "%.12g", span / (double)g->options->unit);
    } else {
        put_time(g, span, 6, out);
    }
    if (g->t->program->n_tenants <= 1) { /* else runs of different length: none is of all rows */
        ty_text_add(out, ", idle %.1f %%", 100 * (1 - busy / (span * g->rows.n_rows)));
    }
    ty_text_add(out, "%s\n", g->rows.merged ? "; ranks that do the same share a row" : "");
}

int ty_gantt(const struct ty_timeline *timeline, const struct ty_gantt *options,
             struct ty_text *out, struct ty_err *err)
{
    struct picture g = {.t = timeline, .options = options, .from = options->from};
    g.to = options->to == 0 ? timeline->makespan : options->to;
    if (g.to <= g.from) {
        ty_text_add(out, "nothing happens\n");
        return 0;
    }
    int rc = ty_gantt_collect(&g.rows, timeline, options, g.from, g.to, &g.arena);
    if (rc == 0) {
        choose_scale(&g);
        char *line = ty_arena_array(&g.arena, char, g.columns + 1);
        rc = line == NULL ? TY_ENOMEM : 0;
        if (line != NULL) {
            put_axis(&g, out);
            for (uint32_t i = 0; i < g.rows.n_rows; i++) {
                draw_row(&g, &g.rows.row[i], line, out);
            }
            if (!options->bare) {
                put_legend(&g, out);
            }
        }
    }
    ty_arena_release(&g.arena);
    rc = out->failed ? TY_ENOMEM : rc;
    return rc == 0 ? 0 : ty_fail_memory(err);
}

/* ---- as a trace format ---- */

static int gantt_write(const struct ty_trace *trace, struct ty_out *out, struct ty_err *err)
{
    const struct ty_gantt options = {
        .ranks = trace->ranks,
        .n_ranks = trace->n_ranks,
        .from = trace->window_from,
        .to = trace->window_to < trace->timeline->makespan ? trace->window_to : 0,
        .ascii = true};
    struct ty_text text = {.data = NULL};
    int rc = ty_gantt(trace->timeline, &options, &text, err);
    if (rc == 0 && text.failed) {
        rc = ty_fail_memory(err);
    }
    if (rc == 0) {
        ty_out_bytes(out, text.data, text.len);
    }
    ty_text_release(&text);
    return rc;
}

const struct ty_trace_format ty_trace_gantt = {
    .name = "gantt",
    .extension = "txt",
    .summary = "passes of the compute streams as a picture in plain text",
    .write = gantt_write,
};
