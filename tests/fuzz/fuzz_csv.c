/* fuzz_csv.c - any bytes as a table: rows of one width, every cell text with a place in the
 * file. */
#include <string.h>

#include "sim/document/csv.h"
#include "tests/fuzz/fuzz.h"

static void check_cells(const struct ty_csv *csv)
{
    FUZZ_DEMAND(csv->n_columns > 0);
    for (uint32_t row = 0; row <= csv->n_rows; row++) {
        for (uint32_t column = 0; column < csv->n_columns; column++) {
            const char *cell = csv->cell[(size_t)row * csv->n_columns + column];
            FUZZ_DEMAND(cell != NULL && strlen(cell) <= TY_CSV_MAX_BYTES);
        }
        const struct ty_place at = ty_csv_place(csv, row, csv->n_columns - 1);
        FUZZ_DEMAND(at.line > 0 && at.col > 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_err err = TY_ERR_NONE;
    struct ty_csv csv;
    const int rc = ty_csv_load(&csv, fuzz_file(data, size), &arena, &err);
    fuzz_check(rc, &err);
    if (rc == 0) {
        check_cells(&csv);
    }
    ty_arena_release(&arena);
    return 0;
}
