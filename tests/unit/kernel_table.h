/* kernel_table.h - tables of measured kernels from their text. */
#ifndef TY_TESTS_KERNEL_TABLE_H
#define TY_TESTS_KERNEL_TABLE_H

#include <stdio.h>

#include "model/kernel/operators.h"
#include "tests/unit/temp_dir.h"
#include "tests/unit/suite.h"

static inline int kernel_table_load(struct ty_operators *table, const char *text,
                                    struct ty_arena *arena, struct ty_err *err)
{
    struct temp_dir dir;
    temp_dir_make(&dir);
    FILE *file = fopen(temp_dir_file(&dir, "k.csv"), "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
    *err = (struct ty_err)TY_ERR_NONE;
    const int rc = ty_operators_load(table, dir.file, arena, err);
    temp_dir_remove(&dir);
    return rc;
}

static inline struct ty_operators kernel_table(const char *text, struct ty_arena *arena)
{
    struct ty_operators table;
    struct ty_err err;
    ck_assert_msg(kernel_table_load(&table, text, arena, &err) == 0, "%s", err.text);
    return table;
}

#endif
