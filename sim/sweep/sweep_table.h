/* sweep_table.h - which runs a sweep makes: the rows of a table, or the product of lists. */
#ifndef TY_SWEEP_TABLE_H
#define TY_SWEEP_TABLE_H

#include <stdbool.h>

#include "sim/document/csv.h"

/* Columns that name keys ("layout.tensor") set them, the others pass through. */
struct ty_sweep_table {
    struct ty_csv csv;
    bool *is_key;             /* [n_columns] */
    const uint32_t *n_values; /* [n_columns] of the lists; NULL: rows of a file */
    const char *remark;       /* lines about it, such as columns that look like keys; or NULL */
};

/* One --over. */
struct ty_sweep_list {
    const char *key;
    const char **value; /* [n] */
    uint32_t n;
};

/* Cuts "KEY=V1,V2" at commas that are not inside brackets, into the arena. */
int ty_sweep_list(struct ty_sweep_list *list, const char *text, struct ty_arena *arena,
                  struct ty_err *err);

/* Adds a line to the remark. */
void ty_sweep_remark(struct ty_sweep_table *table, struct ty_arena *arena, const char *format, ...)
    TY_PRINTF(3, 4);

/* From a file, or from "KEY=V1,V2" lists whose last one varies fastest; exactly one of both. A
 * column that looks like a key (has a dot) and is none is an error with the nearest one, and so is
 * a key that has two columns. */
int ty_sweep_table(struct ty_sweep_table *table, const char *path, const char *const *over,
                   size_t n_over, struct ty_arena *arena, struct ty_err *err);

#endif
