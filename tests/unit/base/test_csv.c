/* test_csv.c - what a table file may be, beyond what libcsv says. */
#include "sim/document/csv.h"

#include <stdio.h>
#include <string.h>

#include "tests/unit/suite.h"
#include "tests/unit/temp_dir.h"

static int load(struct ty_csv *csv, const char *bytes, size_t n, struct ty_arena *arena,
                struct ty_err *err)
{
    struct temp_dir dir;
    temp_dir_make(&dir);
    FILE *file = fopen(temp_dir_file(&dir, "t.csv"), "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, n, file), n);
    ck_assert_int_eq(fclose(file), 0);
    *err = (struct ty_err)TY_ERR_NONE;
    const int rc = ty_csv_load(csv, dir.file, arena, err);
    temp_dir_remove(&dir);
    return rc;
}

TEST(a_byte_of_nothing_is_refused_where_it_stands)
{
    static const char bytes[] = "name,value\none,1\ntwo,2\0000\n";
    struct ty_arena arena = {0};
    struct ty_csv csv;
    struct ty_err err;
    ck_assert_int_eq(load(&csv, bytes, sizeof(bytes) - 1, &arena, &err), TY_EINPUT);
    const char *said = strstr(err.text, "t.csv");
    ck_assert_ptr_nonnull(said);
    ck_assert_str_eq(said, "t.csv:3:6: a control character (byte 0x00); remove it");
    ty_arena_release(&arena);
}

/* What spreadsheets export, and what was never a table: one message that says so. */
TEST(a_file_of_another_kind_is_told_as_what_it_is)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *said; /* behind the name */
    } rows[] = {
        {"\xFF\xFE"
         "a\0,\0b\0\n\0",
         10, ": UTF-16 text; save the file as UTF-8"},
        {"\xFE\xFF\0a\0,\0b\0\n", 10, ": UTF-16 text; save the file as UTF-8"},
        {"a\0,\0b\0\n\0", 8, ": UTF-16 text; save the file as UTF-8"},
        {"\0a\0,\0b\0\n", 8, ": UTF-16 text; save the file as UTF-8"},
        {"\xFF\xFE\0\0a\0\0\0\n\0\0\0", 12, ": UTF-32 text; save the file as UTF-8"},
        {"\0\0\xFE\xFF\0\0\0a\0\0\0\n", 12, ": UTF-32 text; save the file as UTF-8"},
        {"PK\3\4\0\0", 6, ": a zip archive or a spreadsheet; save a sheet as CSV in UTF-8"},
        {"\x1F\x8B\x08", 3, ": compressed by gzip; unpack the file first"},
        {"a,b\n1,\0\0\0", 9, ": binary data, no text; name another file"},
        {"a;b\n1;2,5\n", 10, ": its columns are separated by semicolons; separate them by commas"},
        {"a\tb\n1\t2\n", 8, ": its columns are separated by tabs; separate them by commas"},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct ty_arena arena = {0};
        struct ty_csv csv;
        struct ty_err err;
        ck_assert_int_eq(load(&csv, rows[i].bytes, rows[i].n, &arena, &err), TY_EINPUT);
        const char *said = strstr(err.text, "t.csv");
        ck_assert_ptr_nonnull(said);
        ck_assert_str_eq(said + 5, rows[i].said);
        ty_arena_release(&arena);
    }
}

/* A name in quotes is what it is, and cells may have semicolons. */
TEST(semicolons_inside_cells_are_text)
{
    static const char *const texts[] = {"\"a;b\"\n1\n", "a,b\n1;2,3\n", "a\n1;2\n"};
    for (size_t i = 0; i < TY_COUNT(texts); i++) {
        struct ty_arena arena = {0};
        struct ty_csv csv;
        struct ty_err err;
        ck_assert_msg(load(&csv, texts[i], strlen(texts[i]), &arena, &err) == 0, "%s", err.text);
        ty_arena_release(&arena);
    }
}

/* Else the first column would be one of an unknown name. */
TEST(a_byte_order_mark_is_no_part_of_a_name)
{
    static const char bytes[] = "\xEF\xBB\xBFname,value\r\none,1\r\n";
    struct ty_arena arena = {0};
    struct ty_csv csv;
    struct ty_err err;
    ck_assert_msg(load(&csv, bytes, sizeof(bytes) - 1, &arena, &err) == 0, "%s", err.text);
    ck_assert_str_eq(ty_csv_header(&csv, 0), "name");
    ck_assert_str_eq(ty_csv_cell(&csv, 0, 1), "1");
    const struct ty_place at = ty_csv_place(&csv, 1, 1);
    ck_assert(at.line == 2 && at.col == 5);
    ty_arena_release(&arena);
}

TY_SUITE("csv")
