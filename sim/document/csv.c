/* csv.c - reads a table of text cells with libcsv. */
#include "sim/document/csv.h"

#include <csv.h>
#include <stdbool.h>
#include <string.h>

#include "sim/base/file.h"
#include "sim/base/utf8.h"

struct reader {
    struct ty_arena *arena;
    const char **cell; /* [cap], all rows one after the other */
    size_t n, cap;
    uint32_t *width; /* [rows_cap]: cells of each row */
    size_t n_rows, rows_cap;
    uint32_t in_row;
    bool failed, too_long; /* without memory; a cell beyond all measure */
};

/* Doubles a column in the arena when it is full. */
static bool grow(struct reader *r, void **column, size_t n, size_t *cap, size_t size)
{
    if (n < *cap) {
        return true;
    }
    const size_t more = *cap == 0 ? 1024 : 2 * *cap;
    void *larger = ty_arena_alloc(r->arena, more, size);
    if (larger == NULL) {
        r->failed = true;
        return false;
    }
    if (n > 0) {
        memcpy(larger, *column, n * size);
    }
    *column = larger;
    *cap = more;
    return true;
}

static void on_cell(void *text, size_t len, void *arg)
{
    struct reader *r = arg;
    r->too_long = r->too_long || len > TY_CSV_MAX_CELL;
    if (!r->failed && !r->too_long && grow(r, (void **)&r->cell, r->n, &r->cap, sizeof(*r->cell))) {
        r->cell[r->n] = ty_arena_strndup(r->arena, text != NULL ? text : "", len);
        r->failed = r->cell[r->n] == NULL;
        r->n++;
        r->in_row++;
    }
}

static void on_row(int end, void *arg)
{
    struct reader *r = arg;
    (void)end;
    if (!r->failed && !r->too_long &&
        grow(r, (void **)&r->width, r->n_rows, &r->rows_cap, sizeof(*r->width))) {
        r->width[r->n_rows++] = r->in_row;
        r->in_row = 0;
    }
}

static int parse(const struct ty_csv *csv, struct reader *r, size_t len, struct ty_err *err)
{
    struct csv_parser parser;
    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0) {
        return ty_fail_memory(err);
    }
    const bool whole = csv_parse(&parser, csv->source, len, on_cell, on_row, r) == len &&
                       csv_fini(&parser, on_cell, on_row, r) == 0;
    const int error = csv_error(&parser);
    csv_free(&parser);
    if (r->failed || error == CSV_ENOMEM) {
        return ty_fail_memory(err);
    }
    if (whole && !r->too_long) {
        return 0;
    }
    const struct ty_place at = ty_csv_place(csv, (uint32_t)r->n_rows, 0);
    if (r->too_long) {
        return ty_fail_at(err, TY_EINPUT, &at, "a cell of more than %u KiB in this row",
                          (unsigned)(TY_CSV_MAX_CELL >> 10));
    }
    return ty_fail_at(err, TY_EINPUT, &at,
                      "a quote in the wrong place of this row, or never closed; write \"\" for a "
                      "quote inside quotes");
}

/* Spreadsheets of some countries write semicolons, and call it CSV all the same. */
static int has_commas(const struct ty_csv *csv, const struct reader *r, struct ty_err *err)
{
    const char *other = r->width[0] == 1 ? strpbrk(r->cell[0], ";\t") : NULL;
    if (other == NULL || csv->source[0] == '"') {
        return 0;
    }
    return ty_fail(err, TY_EINPUT, "%s: its columns are separated by %s; separate them by commas",
                   csv->file, *other == ';' ? "semicolons" : "tabs");
}

/* Rows of equal width. */
static int square(struct ty_csv *csv, const struct reader *r, struct ty_err *err)
{
    const size_t columns = r->width[0], n = r->n_rows * columns; /* both have 32 bits */
    if (n > TY_CSV_MAX_CELLS) { /* rows may be short, so this is not in proportion to the file */
        return ty_fail(err, TY_ELIMIT, "%s: %zu rows of %zu columns; a table may have %u cells",
                       csv->file, r->n_rows, columns, TY_CSV_MAX_CELLS);
    }
    const char **cell = ty_arena_array(r->arena, const char *, n + 1);
    size_t from = 0;
    if (cell == NULL) {
        return ty_fail_memory(err);
    }
    for (size_t row = 0; row < r->n_rows; row++) {
        if (r->width[row] > columns) {
            const struct ty_place at = ty_csv_place(csv, (uint32_t)row, (uint32_t)columns);
            return ty_fail_at(err, TY_EINPUT, &at, "%u cells in this row, the header has %zu",
                              (unsigned)r->width[row], columns);
        }
        for (size_t k = 0; k < columns; k++) {
            cell[row * columns + k] = k < r->width[row] ? r->cell[from + k] : "";
        }
        from += r->width[row];
    }
    csv->cell = cell;
    csv->n_columns = (uint32_t)columns;
    csv->n_rows = (uint32_t)(r->n_rows - 1);
    return 0;
}

/* A cell would end there, unnoticed. */
static int no_nul(const char *path, const char *text, size_t len, struct ty_err *err)
{
    const char *nul = memchr(text, '\0', len);
    struct ty_place at = {.file = path, .line = 1, .col = 1};
    if (nul == NULL) {
        return 0;
    }
    for (const char *p = text; p < nul; p++) {
        at.line += *p == '\n';
        at.col = *p == '\n' ? 1 : at.col + ty_utf8_begins(*p);
    }
    return ty_fail_at(err, TY_EINPUT, &at, "a control character (byte 0x00); remove it");
}

int ty_csv_load(struct ty_csv *csv, const char *path, struct ty_arena *arena, struct ty_err *err)
{
    struct reader r = {.arena = arena};
    const char *text = NULL;
    size_t len;
    int rc = ty_file_read(arena, path, TY_CSV_MAX_BYTES, &text, &len, err);
    if (rc == 0) {
        rc = ty_utf8_kind(path, text, len, err);
    }
    if (rc == 0) {
        rc = no_nul(path, text, len, err);
    }
    *csv = (struct ty_csv){.file = ty_arena_strndup(arena, path, strlen(path)), .source = text};
    rc = rc == 0 && csv->file == NULL ? ty_fail_memory(err) : rc;
    if (rc == 0) {
        rc = parse(csv, &r, len, err);
    }
    if (rc == 0 && r.n_rows == 0) {
        rc = ty_fail(err, TY_EINPUT, "%s: an empty table; its first row names the columns", path);
    }
    if (rc == 0) {
        rc = has_commas(csv, &r, err);
    }
    return rc < 0 ? rc : square(csv, &r, err);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* The text is read again, as libcsv reads it: lines without a cell are no rows, and what is inside
 * quotes separates nothing. */
struct ty_place ty_csv_place(const struct ty_csv *csv, uint32_t row, uint32_t column)
{
    struct ty_place at = {.file = csv->file, .source = csv->source, .line = 1, .col = 1};
    uint32_t in_row = 0, in_column = 0;
    bool quoted = false, begun = false;
    for (const char *p = csv->source; *p != '\0'; p++) {
        const bool ends_line = *p == '\n' || (*p == '\r' && p[1] != '\n');
        const bool blank = is_blank(*p);
        if (in_row == row && in_column == column && (!blank || (ends_line && begun))) {
            return at;
        }
        begun = begun || !blank;
        quoted = quoted != (*p == '"');
        in_column += *p == ',' && !quoted;
        at.col += ty_utf8_begins(*p);
        if (ends_line) {
            at.line++;
            at.col = 1;
            in_row += begun && !quoted;
            in_column = quoted ? in_column : 0;
            begun = begun && quoted;
        }
    }
    return at;
}
