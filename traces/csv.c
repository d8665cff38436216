/* csv.c - every task of the shown ranks as one row of a table, in whole picoseconds.
 *
 * Rank by rank in display order, then in issue order. Detail does not matter; the window does:
 * tasks outside are left out, those across its border are whole, so that their bytes and FLOPs are
 * of the time next to them. Empty cells mean "none". A rank that could not finish ends with a row
 * named "deadlock": what it stands at. */
#include <stdio.h>

#include "sim/base/number_text.h"
#include "sim/base/utf8.h"

#include "traces/view/view.h"

static const char header[] =
    "rank,stream,phase,micro_batch,stage,step,layer,name,category,start_ps,dur_ps,bytes,flops,"
    "group\n";

#define CSV_LINE 1024u /* most bytes of a row; words are cut to a tenth of it */

/* Whether a cell can have the text as it is: most can. */
static bool is_bare(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (text[i] < 0x20 || text[i] >= 0x7F || text[i] == ',' || text[i] == '"') {
            return false;
        }
    }
    return true;
}

/* A cell: quoted when it holds a comma or a quote (RFC 4180); what is not shown becomes '_', so a
 * row is one line. */
static char *put_cell(char *p, const char *text)
{
    char tame[CSV_LINE / 10];
    size_t n = text == NULL ? 0 : strlen(text);
    n = n > sizeof(tame) ? sizeof(tame) : n;
    if (n == 0 || is_bare(text, n)) {
        memcpy(p, n > 0 ? text : "", n);
        return p + n;
    }
    memcpy(tame, text, n);
    n = ty_utf8_replace(tame, n, '_');
    const bool quoted = memchr(tame, ',', n) != NULL || memchr(tame, '"', n) != NULL;
    *p = '"';
    p += quoted;
    for (size_t i = 0; i < n; i++) {
        *p = '"';
        p += tame[i] == '"';
        *p++ = tame[i];
    }
    *p = '"';
    return p + quoted;
}

static char *put_number(char *p, double x)
{
    return p + ty_snprintf(p, 40, "%.0f", x);
}

/* The cells of a kind of operation, rendered once: `,name,category,` and `,bytes,flops,group\n`. */
struct cells {
    const char *words, *amounts;
    size_t words_len, amounts_len;
};

static const char *keep(struct ty_arena *arena, const char *line, const char *end, size_t *len)
{
    *len = (size_t)(end - line);
    return ty_arena_strndup(arena, line, *len);
}

/* Cells of all kinds; NULL when memory is exhausted. */
static struct cells *make_cells(const struct ty_program *p, struct ty_arena *arena)
{
    struct cells *cells = ty_arena_array(arena, struct cells, p->n_kinds);
    bool ok = cells != NULL;
    for (uint32_t i = 0; i < p->n_kinds && ok; i++) {
        const struct ty_kind *kind = &p->kinds[i];
        char line[CSV_LINE], *q = line;
        *q++ = ',';
        q = put_cell(q, kind->name);
        *q++ = ',';
        q = put_cell(q, ty_category(p, kind->category)->name);
        *q++ = ',';
        cells[i].words = keep(arena, line, q, &cells[i].words_len);
        q = line;
        *q++ = ',';
        q = kind->bytes > 0 ? put_number(q, kind->bytes) : q;
        *q++ = ',';
        q = kind->flops > 0 ? put_number(q, kind->flops) : q;
        *q++ = ',';
        q = put_cell(q, kind->group);
        *q++ = '\n';
        cells[i].amounts = keep(arena, line, q, &cells[i].amounts_len);
        ok = cells[i].words != NULL && cells[i].amounts != NULL;
    }
    return ok ? cells : NULL;
}

/* `rank,stream,phase,micro_batch,stage,step` */
static char *put_pass(char *p, const struct ty_program *program, const struct ty_gang *gang,
                      uint32_t rank, const struct ty_op *op, const struct ty_pass *pass)
{
    const char *row = ty_view_row(program, gang, op->stream);
    p = ty_put_u64(p, rank);
    *p++ = ',';
    p = gang->row != NULL ? put_cell(p, row) : ty_put_str(p, row);
    *p++ = ',';
    p = ty_put_str(p, ty_phase_word((enum ty_phase)pass->phase));
    *p++ = ',';
    p = pass->phase != TY_PHASE_STEP && pass->mb != TY_NONE ? ty_put_u64(p, ty_op_mb(pass, op)) : p;
    *p++ = ',';
    p = ty_put_u64(p, pass->stage);
    *p++ = ',';
    return ty_put_u64(p, pass->step);
}

static void put_rank(const struct ty_trace *trace, uint32_t rank, const struct cells *cells,
                     struct ty_out *out)
{
    struct ty_span_cursor cursor = ty_spans_of(trace->timeline, rank);
    struct ty_span span;
    while (ty_span_next(&cursor, &span)) {
        if (span.start + span.dur < trace->window_from || span.start > trace->window_to) {
            continue;
        }
        const struct cells *cell = &cells[span.op->kind];
        char *q = ty_out_room(out, CSV_LINE);
        q = put_pass(q, trace->timeline->program, cursor.gang, rank, span.op, span.pass);
        *q++ = ',';
        q = span.op->layer != TY_NONE ? ty_put_u64(q, span.op->layer) : q;
        memcpy(q, cell->words, cell->words_len);
        q = ty_put_u64(q + cell->words_len, span.start);
        *q++ = ',';
        q = ty_put_u64(q, span.dur);
        memcpy(q, cell->amounts, cell->amounts_len);
        ty_out_advance(out, q + cell->amounts_len);
    }
}

/* A row for the operation that a rank can never start, at the time when the last rank stopped. */
static void put_stuck(const struct ty_trace *trace, uint32_t rank, struct ty_out *out)
{
    const struct ty_timeline *t = trace->timeline;
    const struct ty_pass *pass = NULL;
    const uint32_t gang = ty_program_seat(t->program, rank).gang;
    const struct ty_op *op = ty_timeline_blocked_op(t, gang, &pass);
    if (op == NULL || t->makespan < trace->window_from || t->makespan > trace->window_to) {
        return;
    }
    char *q = ty_out_room(out, CSV_LINE);
    q = put_pass(q, t->program, &t->program->gangs[gang], rank, op, pass);
    *q++ = ',';
    q = op->layer != TY_NONE ? ty_put_u64(q, op->layer) : q;
    q = ty_put_str(q, ",deadlock,deadlock,");
    q = ty_put_u64(q, t->makespan);
    ty_out_advance(out, ty_put_str(q, ",0,,,\n"));
}

static double csv_estimate(const struct ty_trace *trace)
{
    const struct ty_program *p = trace->timeline->program;
    const double row_B = 110; /* measured on transformer programs */
    double rows = 0;
    for (uint32_t i = 0; i < trace->n_ranks; i++) {
        rows += p->gangs[ty_program_seat(p, trace->ranks[i]).gang].n_ops;
    }
    return ty_trace_window_share(trace) * rows * row_B + sizeof(header);
}

static int csv_write(const struct ty_trace *trace, struct ty_out *out, struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    const struct cells *cells = make_cells(trace->timeline->program, &arena);
    if (cells != NULL) {
        ty_out_str(out, header);
        for (uint32_t i = 0; i < trace->n_ranks; i++) {
            put_rank(trace, trace->ranks[i], cells, out);
            put_stuck(trace, trace->ranks[i], out);
        }
    }
    ty_arena_release(&arena);
    return cells != NULL ? 0 : ty_fail_memory(err);
}

const struct ty_trace_format ty_trace_csv = {
    .name = "csv",
    .extension = "csv",
    .summary = "every task of the shown ranks as a table, times in picoseconds",
    .estimate = csv_estimate,
    .write = csv_write,
};
