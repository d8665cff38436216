/* csv.h - a table of text cells, read with libcsv (RFC 4180: quotes, commas and lines in
 * quotes). */
#ifndef TY_DOCUMENT_CSV_H
#define TY_DOCUMENT_CSV_H

#include "sim/base/arena.h"
#include "sim/base/err.h"

#define TY_CSV_MAX_BYTES ((size_t)256 << 20)
#define TY_CSV_MAX_CELL  ((size_t)64 << 10) /* B */
#define TY_CSV_MAX_CELLS (1u << 25)         /* of a table; 256 MiB of pointers */

/* The first row is the header. Every row has n_columns cells, short ones filled with "". Owned by
 * the arena. */
struct ty_csv {
    const char *file, *source; /* the path, and the whole text */
    const char *const *cell;   /* [1 + n_rows][n_columns], header first */
    uint32_t n_columns, n_rows;
};

static inline const char *ty_csv_header(const struct ty_csv *csv, uint32_t column)
{
    return csv->cell[column];
}
static inline const char *ty_csv_cell(const struct ty_csv *csv, uint32_t row, uint32_t column)
{
    return csv->cell[(size_t)(row + 1) * csv->n_columns + column];
}

/* Reads a file ("-": standard input). A row with more cells than the header, an unclosed quote, a
 * byte 0 are errors with their place; so is an empty file, what is no text, semicolons for commas.
 * A byte order mark is passed over. */
int ty_csv_load(struct ty_csv *csv, const char *path, struct ty_arena *arena, struct ty_err *err);

/* Where a cell begins; row 0 is the header, so ty_csv_cell's row plus one. Reads the whole text:
 * for messages. */
struct ty_place ty_csv_place(const struct ty_csv *csv, uint32_t row, uint32_t column);

#endif
