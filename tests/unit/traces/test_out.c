/* test_out.c - files appear whole or not at all; numbers and strings are written exactly. */
#include "traces/out/out.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <zlib.h>

#include "tests/unit/suite.h"
#include "tests/unit/temp_dir.h"

static struct ty_err err;
static struct temp_dir dir;

static void begin(void)
{
    err = (struct ty_err)TY_ERR_NONE;
    temp_dir_make(&dir);
}

TEST(nothing_appears_under_the_final_name_before_commit)
{
    struct ty_out out;
    size_t n;
    begin();
    const char *path = temp_dir_file(&dir, "a.json");
    ck_assert_int_eq(ty_out_open(&out, path, &err), 0);
    ty_out_str(&out, "whole");
    ty_out_flush(&out);
    ck_assert_int_ne(access(path, F_OK), 0);
    ck_assert_uint_eq(temp_dir_count(&dir), 1);
    ck_assert_int_eq(ty_out_commit(&out, &err), 0);
    ck_assert_uint_eq(temp_dir_count(&dir), 1);
    char *text = file_text(path, &n);
    ck_assert_str_eq(text, "whole");
    ck_assert_uint_eq(out.total, 5);
    free(text);
    ty_out_discard(&out); /* after commit: nothing */
    ck_assert_int_eq(access(path, F_OK), 0);
    temp_dir_remove(&dir);
}

TEST(discard_leaves_nothing_behind_and_an_old_file_as_it_was)
{
    struct ty_out out;
    size_t n;
    begin();
    const char *path = temp_dir_file(&dir, "a.json");
    for (int round = 0; round < 2; round++) {
        ck_assert_int_eq(ty_out_open(&out, path, &err), 0);
        ty_out_str(&out, round == 0 ? "old" : "new");
        if (round == 0) {
            ck_assert_int_eq(ty_out_commit(&out, &err), 0);
        } else {
            ty_out_discard(&out);
        }
    }
    char *text = file_text(path, &n);
    ck_assert_str_eq(text, "old");
    free(text);
    ck_assert_uint_eq(temp_dir_count(&dir), 1);
    temp_dir_remove(&dir);
}

TEST(a_link_keeps_pointing_at_the_file_that_is_replaced)
{
    struct ty_out out;
    struct stat st;
    char target[192];
    size_t n;
    begin();
    strcpy(target, temp_dir_file(&dir, "target"));
    fclose(fopen(target, "w"));
    const char *path = temp_dir_file(&dir, "link");
    ck_assert_int_eq(symlink(target, path), 0);
    ck_assert_int_eq(ty_out_open(&out, path, &err), 0);
    ty_out_str(&out, "new");
    ck_assert_int_eq(ty_out_commit(&out, &err), 0);
    ck_assert(lstat(path, &st) == 0 && S_ISLNK(st.st_mode));
    char *text = file_text(target, &n);
    ck_assert_str_eq(text, "new");
    free(text);
    temp_dir_remove(&dir);
}

TEST(a_path_that_cannot_be_written_is_named_with_the_reason)
{
    struct ty_out out;
    char expected[256];
    begin();
    const char *path = temp_dir_file(&dir, "nowhere/a.json");
    ck_assert_int_eq(ty_out_open(&out, path, &err), TY_EIO);
    snprintf(expected, sizeof(expected), "%s: cannot be written (its folder does not exist)", path);
    ck_assert_str_eq(err.text, expected);
    err = (struct ty_err)TY_ERR_NONE;
    ck_assert_int_eq(ty_out_open(&out, dir.path, &err), TY_EIO);
    snprintf(expected, sizeof(expected), "%s: cannot be written (it is a folder)", dir.path);
    ck_assert_str_eq(err.text, expected);
    ck_assert_uint_eq(temp_dir_count(&dir), 0);
    temp_dir_remove(&dir);
}

TEST(a_full_disk_is_reported_by_commit_and_devices_are_never_replaced)
{
    struct ty_out out;
    struct stat st;
    begin();
    if (stat("/dev/full", &st) == 0 && S_ISCHR(st.st_mode)) {
        ck_assert_int_eq(ty_out_open(&out, "/dev/full", &err), 0);
        for (int i = 0; i < 3; i++) {
            ty_out_str(&out, "text");
            ty_out_flush(&out);
        }
        ck_assert_int_eq(ty_out_commit(&out, &err), TY_EIO);
        ck_assert_str_eq(err.text, "/dev/full: cannot be written (No space left on device)");
        ck_assert(stat("/dev/full", &st) == 0 && S_ISCHR(st.st_mode));
    }
    temp_dir_remove(&dir);
}

TEST(pieces_longer_than_the_buffer_arrive_whole)
{
    struct ty_out out;
    size_t n;
    const size_t size = 3 * (size_t)TY_OUT_BUFFER + 12345;
    begin();
    char *big = malloc(size + 1);
    for (size_t i = 0; i < size; i++) {
        big[i] = (char)('a' + i * i % 26);
    }
    big[size] = '\0';
    const char *path = temp_dir_file(&dir, "big");
    ck_assert_int_eq(ty_out_open(&out, path, &err), 0);
    ty_out_str(&out, "x");
    ty_out_bytes(&out, big, size);
    ty_out_printf(&out, "%s", big);
    ck_assert_int_eq(ty_out_commit(&out, &err), 0);
    char *text = file_text(path, &n);
    ck_assert_uint_eq(n, 2 * size + 1);
    ck_assert_mem_eq(text + 1, big, size);
    ck_assert_mem_eq(text + 1 + size, big, size);
    free(text);
    free(big);
    temp_dir_remove(&dir);
}

TEST(gz_inflates_to_the_plain_bytes_and_is_the_same_each_time)
{
    struct ty_out out;
    char *packed[2], *plain = malloc(1 << 22);
    size_t n[2];
    begin();
    for (int i = 0; i < 2; i++) {
        const char *path = temp_dir_file(&dir, i == 0 ? "a.gz" : "b.gz");
        ck_assert_int_eq(ty_out_open(&out, path, &err), 0);
        for (unsigned k = 0; k < 300000; k++) {
            ty_out_u64(&out, k * 7919ULL % 1000);
            ty_out_str(&out, "\n");
        }
        ck_assert_int_eq(ty_out_commit(&out, &err), 0);
        packed[i] = file_text(path, &n[i]);
    }
    ck_assert_uint_eq(n[0], n[1]);
    ck_assert_mem_eq(packed[0], packed[1], n[0]);
    ck_assert_uint_lt(n[0], out.total / 2);
    gzFile gz = gzopen(dir.file, "rb");
    ck_assert_int_eq(gzread(gz, plain, 1 << 22), (int)out.total);
    gzclose(gz);
    char *p = plain, number[24];
    for (unsigned k = 0; k < 300000; k++) {
        const int len = snprintf(number, sizeof(number), "%llu\n", k * 7919ULL % 1000);
        ck_assert_mem_eq(p, number, (size_t)len);
        p += len;
    }
    free(plain);
    free(packed[0]);
    free(packed[1]);
    temp_dir_remove(&dir);
}

TEST(blocks_compressed_side_by_side_are_one_gzip_stream)
{
    const size_t size = 24 * (size_t)TY_OUT_BUFFER + 4321; /* more blocks than are kept at once */
    struct ty_out out;
    size_t n;
    char *plain = malloc(size), *unpacked = malloc(size + 1);
    uint32_t x = 1;
    begin();
    for (size_t i = 0; i < size; i++) {
        x = x * 1664525 + 1013904223; /* compressible, and refers back across blocks */
        plain[i] = i % 40000 < 20000 || i < 40000 ? (char)('a' + (x >> 28)) : plain[i - 40000];
        plain[i] = i / TY_OUT_BUFFER % 8 == 3 ? (char)(x >> 24) : plain[i]; /* not: noise */
    }
    const char *path = temp_dir_file(&dir, "a.gz");
    ck_assert_int_eq(ty_out_open(&out, path, &err), 0);
    ty_out_bytes(&out, plain, 5);
    ty_out_flush(&out); /* a block may be of any length */
    ty_out_bytes(&out, plain + 5, size - 5);
    ck_assert_int_eq(ty_out_commit(&out, &err), 0);
    char *packed = file_text(path, &n);
    ck_assert_uint_lt(n, size);
    z_stream z = {.next_in = (unsigned char *)packed,
                  .avail_in = (uInt)n,
                  .next_out = (unsigned char *)unpacked,
                  .avail_out = (uInt)(size + 1)};
    ck_assert_int_eq(inflateInit2(&z, MAX_WBITS + 16), Z_OK);
    ck_assert_int_eq(inflate(&z, Z_FINISH), Z_STREAM_END); /* check sum and length included */
    ck_assert_uint_eq(z.avail_in, 0);                      /* there is one member */
    ck_assert_uint_eq(z.total_out, size);
    ck_assert_mem_eq(plain, unpacked, size);
    inflateEnd(&z);
    free(packed);
    free(plain);
    free(unpacked);
    temp_dir_remove(&dir);
}

TEST(a_check_says_what_opening_would_and_leaves_nothing)
{
    struct ty_out out;
    char said[256];
    begin();
    const char *path = temp_dir_file(&dir, "nowhere/a.json");
    ck_assert_int_eq(ty_out_check(path, &err), TY_EIO);
    strcpy(said, err.text);
    err = (struct ty_err)TY_ERR_NONE;
    ck_assert_int_eq(ty_out_open(&out, path, &err), TY_EIO);
    ck_assert_str_eq(err.text, said);
    ck_assert_int_eq(ty_out_check(temp_dir_file(&dir, "a.json"), NULL), 0);
    ck_assert_int_eq(ty_out_check("-", NULL), 0);
    ck_assert_int_eq(ty_out_check("null:", NULL), 0);
    ck_assert_int_eq(ty_out_check("/dev/null", NULL), 0);
    ck_assert_uint_eq(temp_dir_count(&dir), 0);
    temp_dir_remove(&dir);
}

TEST(the_null_sink_counts_and_keeps_nothing)
{
    struct ty_out out;
    begin();
    ck_assert_int_eq(ty_out_open(&out, "null:", &err), 0);
    for (int i = 0; i < 100000; i++) {
        ty_out_str(&out, "0123456789abcdefghij");
    }
    ck_assert_int_eq(ty_out_commit(&out, &err), 0);
    ck_assert_uint_eq(out.total, 2000000);
    ck_assert_int_ne(access("null:", F_OK), 0);
    temp_dir_remove(&dir);
}

TEST(whole_numbers_have_their_decimal_digits)
{
    char text[64], expected[64];
    uint64_t x = 1;
    for (int i = 0; i < 20; i++, x *= 10) {
        const uint64_t around[] = {x - 1, x, x + 1, x * 9 + 7};
        for (size_t k = 0; k < 4; k++) {
            *ty_put_u64(text, around[k]) = '\0';
            snprintf(expected, sizeof(expected), "%llu", (unsigned long long)around[k]);
            ck_assert_str_eq(text, expected);
        }
    }
    *ty_put_u64(text, UINT64_MAX) = '\0';
    ck_assert_str_eq(text, "18446744073709551615");
}

TEST(nanoseconds_are_microseconds_with_three_decimals)
{
    static const struct {
        uint64_t ns;
        const char *us;
    } rows[] = {{0, "0.000"},
                {1, "0.001"},
                {10, "0.010"},
                {999, "0.999"},
                {1000, "1.000"},
                {1234567, "1234.567"},
                {8404800000, "8404800.000"},
                {UINT64_MAX, "18446744073709551.615"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[32];
        *ty_put_ns_as_us(text, rows[i].ns) = '\0';
        ck_assert_str_eq(text, rows[i].us);
    }
}

TEST(microseconds_with_four_decimals)
{
    static const struct {
        uint64_t tenths;
        const char *us;
    } rows[] = {{0, "0.0000"},
                {9, "0.0009"},
                {10, "0.0010"},
                {9999, "0.9999"},
                {10000, "1.0000"},
                {12345678, "1234.5678"},
                {84047999999, "8404799.9999"},
                {UINT64_MAX, "1844674407370955.1615"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[32];
        *ty_put_tenths_as_us(text, rows[i].tenths) = '\0';
        ck_assert_str_eq(text, rows[i].us);
    }
}

/* What a put function wrote. */
static char *written(void (*put)(struct ty_out *, const void *), const void *what)
{
    struct ty_out out;
    size_t n;
    const char *path = temp_dir_file(&dir, "piece");
    ck_assert_int_eq(ty_out_open(&out, path, &err), 0);
    put(&out, what);
    ck_assert_int_eq(ty_out_commit(&out, &err), 0);
    return file_text(path, &n);
}

static void put_string(struct ty_out *out, const void *what)
{
    ty_out_json_string(out, what);
}

static void put_number(struct ty_out *out, const void *what)
{
    ty_out_json_number(out, *(const double *)what);
}

TEST(json_strings_escape_what_json_demands_and_nothing_else)
{
    static const char *const rows[][2] = {
        {"", "\"\""},
        {"rank 12 · pp1", "\"rank 12 · pp1\""},
        {"a\"b\\c/", "\"a\\\"b\\\\c/\""},
        {"\n\t\x01\x1f\x7f", "\"\\u000a\\u0009\\u0001\\u001f\\u007f\""},
    };
    begin();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *text = written(put_string, rows[i][0]);
        ck_assert_str_eq(text, rows[i][1]);
        free(text);
    }
    temp_dir_remove(&dir);
}

TEST(json_numbers_are_short_read_back_equal_and_are_never_nan)
{
    static const struct {
        double x;
        const char *text;
    } rows[] = {{0, "0"},
                {1, "1"},
                {0.1, "0.1"},
                {-2.5, "-2.5"},
                {1e300, "1e+300"},
                {0.1 + 0.2, "0.30000000000000004"},
                {(double)NAN, "null"},
                {HUGE_VAL, "null"},
                {-HUGE_VAL, "null"},
                {DBL_MIN, "2.2250738585072014e-308"}};
    begin();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *text = written(put_number, &rows[i].x);
        ck_assert_str_eq(text, rows[i].text);
        free(text);
    }
    temp_dir_remove(&dir);
}

TY_SUITE("out")
