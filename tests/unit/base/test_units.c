/* Quantities: exact reading, shortest writing, messages. */
#include "sim/base/units.h"

#include <locale.h>
#include <math.h>
#include <string.h>

#include "sim/base/compiler.h"
#include "sim/base/number_text.h"
#include "tests/unit/suite.h"

TEST(quantities_are_read_exactly)
{
    static const struct {
        const char *text;
        enum ty_dimension dim;
        double value;
    } rows[] = {
        {"8", TY_DIM_COUNT, 8},
        {"-2.5e3", TY_DIM_COUNT, -2500},
        {"2 us", TY_DIM_SECONDS, 2e-6},
        {"2us", TY_DIM_SECONDS, 2e-6},
        {" 1.1 us ", TY_DIM_SECONDS, 1.1e-6},
        {"8.4 us", TY_DIM_SECONDS, 8.4e-6},
        {"2 \xC2\xB5s", TY_DIM_SECONDS, 2e-6},
        {"2 \xCE\xBCs", TY_DIM_SECONDS, 2e-6},
        {"0.3 ns", TY_DIM_SECONDS, 0.3e-9},
        {"7 ps", TY_DIM_SECONDS, 7e-12},
        {"15 ms", TY_DIM_SECONDS, 15e-3},
        {"1.5 s", TY_DIM_SECONDS, 1.5},
        {".5 s", TY_DIM_SECONDS, 0.5},
        {"5. s", TY_DIM_SECONDS, 5},
        {"1e-3 s", TY_DIM_SECONDS, 1e-3},
        {"1 B", TY_DIM_BYTES, 1},
        {"1 kB", TY_DIM_BYTES, 1000},
        {"80 GB", TY_DIM_BYTES, 80e9},
        {"80 GiB", TY_DIM_BYTES, 80.0 * (1 << 30)},
        {"1.5 KiB", TY_DIM_BYTES, 1536},
        {"1 PB", TY_DIM_BYTES, 1e15},
        {"8 b", TY_DIM_BYTES, 1},
        {"8 Kib", TY_DIM_BYTES, 1024},
        {"300 GB/s", TY_DIM_BYTES_PER_S, 300e9},
        {"200 Gb/s", TY_DIM_BYTES_PER_S, 25e9},
        {"1 GiB/s", TY_DIM_BYTES_PER_S, 1 << 30},
        {"312 TFLOP/s", TY_DIM_FLOPS, 312e12},
        {"1 EFLOP/s", TY_DIM_FLOPS, 1e18},
        {"3 %", TY_DIM_RATIO, 0.03},
        {"3%", TY_DIM_RATIO, 0.03},
        {"0.03", TY_DIM_RATIO, 0.03},
        {"99.9 %", TY_DIM_RATIO, 0.999},
        {"1.05", TY_DIM_RATIO, 1.05},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        double value = -1;
        char why[256] = "";
        ck_assert_msg(ty_quantity_parse(rows[i].text, rows[i].dim, &value, why, sizeof(why)) == 0,
                      "%s: %s", rows[i].text, why);
        ck_assert_msg(value == rows[i].value, "%s: %.17g, not %.17g", rows[i].text, value,
                      rows[i].value);
    }
}

TEST(wrong_quantities_say_why)
{
    static const struct {
        const char *text;
        enum ty_dimension dim;
        const char *why;
    } rows[] = {
        {"200", TY_DIM_BYTES_PER_S,
         "a bare number where a unit is due (200); write it like 300 GB/s or 200 Gb/s"},
        {"0", TY_DIM_SECONDS, "a bare number where a unit is due (0); write it like 2 us"},
        {"300 GBps", TY_DIM_BYTES_PER_S, "an unknown unit (300 GBps); did you mean \"300 GB/s\"?"},
        {"12 KB", TY_DIM_BYTES, "an unknown unit (12 KB); did you mean \"12 kB\"?"},
        {"12 furlongs", TY_DIM_BYTES, "an unknown unit (12 furlongs); write it like 80 GiB"},
        {"2 us", TY_DIM_BYTES, "a unit of another kind (2 us); write it like 80 GiB"},
        {"3 %", TY_DIM_COUNT,
         "a unit where a bare number is due (3 %); write just the number, like 8"},
        {"312", TY_DIM_FLOPS, "a bare number where a unit is due (312); write it like 312 TFLOP/s"},
        {"312 tflop/s", TY_DIM_FLOPS,
         "an unknown unit (312 tflop/s); did you mean \"312 TFLOP/s\"?"},
        {"3 s", TY_DIM_RATIO, "a unit of another kind (3 s); write it like 3 % or 0.03"},
        {"", TY_DIM_SECONDS, "not a number (); write it like 2 us"},
        {"fast", TY_DIM_SECONDS, "not a number (fast); write it like 2 us"},
        {"nan s", TY_DIM_SECONDS, "not a number (nan s); write it like 2 us"},
        {"inf", TY_DIM_RATIO, "not a number (inf); write it like 3 % or 0.03"},
        {"-", TY_DIM_COUNT, "not a number (-); write it like 8"},
        {".", TY_DIM_COUNT, "not a number (.); write it like 8"},
        {"0x10", TY_DIM_RATIO, "an unknown unit (0x10); write it like 3 % or 0.03"},
        {"1,5 s", TY_DIM_SECONDS, "an unknown unit (1,5 s); write it like 2 us"},
        {"1.2.3 s", TY_DIM_SECONDS, "an unknown unit (1.2.3 s); write it like 2 us"},
        {"2 s s", TY_DIM_SECONDS, "an unknown unit (2 s s); write it like 2 us"},
        {"1e999 s", TY_DIM_SECONDS, "too large a number (1e999 s); write it like 2 us"},
        {"1e99999999999999999999 s", TY_DIM_SECONDS,
         "too large a number (1e99999999999999999999 s); write it like 2 us"},
        {"11111111111111111111111111111111111111111 s", TY_DIM_SECONDS,
         "not a number (1111111111111111111111111111111111111111); write it like 2 us"},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        double value = 7;
        char why[256] = "";
        ck_assert_int_eq(ty_quantity_parse(rows[i].text, rows[i].dim, &value, why, sizeof(why)),
                         -1);
        ck_assert_str_eq(why, rows[i].why);
        ck_assert_double_eq(value, 7);
    }
}

static const struct {
    double value;
    enum ty_dimension dim;
    const char *text;
} written[] = {
    {8, TY_DIM_COUNT, "8"},
    {1.05, TY_DIM_COUNT, "1.05"},
    {1e9, TY_DIM_COUNT, "1000000000"},
    {123456.7, TY_DIM_COUNT, "123457"},
    {1e-7, TY_DIM_COUNT, "1e-07"},
    {0, TY_DIM_SECONDS, "0 s"},
    {2e-6, TY_DIM_SECONDS, "2 us"},
    {0.5, TY_DIM_SECONDS, "0.5 s"},
    {3.5e-3, TY_DIM_SECONDS, "3.5 ms"},
    {0.0000084, TY_DIM_SECONDS, "8.4 us"},
    {1e-12, TY_DIM_SECONDS, "1 ps"},
    {123.456789e-6, TY_DIM_SECONDS, "123.457 us"},
    {1 / 3.0, TY_DIM_SECONDS, "333.333 ms"},
    {0, TY_DIM_BYTES, "0 B"},
    {80.0 * (1 << 30), TY_DIM_BYTES, "80 GiB"},
    {80e9, TY_DIM_BYTES, "80 GB"},
    {1536, TY_DIM_BYTES, "1.5 KiB"},
    {16384, TY_DIM_BYTES, "16 KiB"},
    {1234567, TY_DIM_BYTES, "1.23457 MB"},
    {24e9, TY_DIM_BYTES_PER_S, "24 GB/s"},
    {25e9, TY_DIM_BYTES_PER_S, "25 GB/s"},
    {2.039e12, TY_DIM_BYTES_PER_S, "2.039 TB/s"},
    {1e30, TY_DIM_BYTES_PER_S, "1e+12 EB/s"},
    {312e12, TY_DIM_FLOPS, "312 TFLOP/s"},
    {989.4e12, TY_DIM_FLOPS, "989.4 TFLOP/s"},
    {0, TY_DIM_RATIO, "0 %"},
    {0.03, TY_DIM_RATIO, "3 %"},
    {1, TY_DIM_RATIO, "100 %"},
    {1.05, TY_DIM_RATIO, "1.05"},
    {-0.5, TY_DIM_RATIO, "-0.5"},
};

TEST(quantities_are_written_short)
{
    for (size_t i = 0; i < TY_COUNT(written); i++) {
        char buf[64];
        ck_assert_str_eq(ty_quantity_format(written[i].value, written[i].dim, buf, sizeof(buf)),
                         written[i].text);
    }
}

TEST(what_is_written_reads_back_to_six_digits)
{
    for (int dim = 0; dim < TY_N_DIMENSIONS; dim++) {
        for (double value = 1.23456789e-9; value < 1e17; value *= 7.3) {
            char buf[64], why[256];
            double back;
            ty_quantity_format(value, (enum ty_dimension)dim, buf, sizeof(buf));
            ck_assert_msg(ty_quantity_parse(buf, (enum ty_dimension)dim, &back, why, sizeof(why)) ==
                              0,
                          "%s: %s", buf, why);
            ck_assert_msg(fabs(back - value) <= 5e-6 * value, "%s is not %.9g", buf, value);
        }
    }
}

TEST(a_locale_with_commas_changes_nothing)
{
    static const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "nl_NL.UTF-8"};
    for (size_t i = 0; i < TY_COUNT(locales) && !setlocale(LC_ALL, locales[i]); i++) {}
    char buf[64], why[256];
    double value;
    ck_assert_str_eq(ty_quantity_format(3.5e-3, TY_DIM_SECONDS, buf, sizeof(buf)), "3.5 ms");
    ck_assert_int_eq(ty_quantity_parse("1.5 us", TY_DIM_SECONDS, &value, why, sizeof(why)), 0);
    ck_assert(value == 1.5e-6);
    setlocale(LC_ALL, "C");
}

TEST(seconds_become_picoseconds)
{
    static const struct {
        double s;
        ty_ps ps;
    } rows[] = {
        {0, 0},       {2e-6, 2000000},         {1, 1000000000000}, {0.4e-12, 0},
        {0.5e-12, 1}, /* half up */
        {1.5e-12, 2}, {8.4048, 8404800000000},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        ty_ps ps = 99;
        ck_assert_int_eq(ty_ps_from_s(rows[i].s, &ps), 0);
        ck_assert_uint_eq(ps, rows[i].ps);
    }
    static const double wrong[] = {-1e-12, (double)NAN, HUGE_VAL, 4611687};
    for (size_t i = 0; i < TY_COUNT(wrong); i++) {
        ty_ps ps = 99;
        ck_assert_int_eq(ty_ps_from_s(wrong[i], &ps), -1);
        ck_assert_uint_eq(ps, 99);
    }
    ck_assert_double_eq(ty_s_from_ps(1500000000000), 1.5);
}

TEST(digits_are_a_number_up_to_a_limit)
{
    static const struct {
        const char *text;
        size_t len; /* 0: to the zero */
        uint32_t max, number;
        size_t taken; /* 0: none */
    } rows[] = {
        {"12.4", 0, 99, 12, 2},
        {"12", 1, 99, 1, 1},
        {"", 0, 99, 0, 0},
        {"x1", 0, 99, 0, 0},
        {"100", 0, 99, 0, 0},
        {"099", 0, 99, 99, 3},
        {"-1", 0, 99, 0, 0},
        {"0", 0, 0, 0, 1},
        {"4294967295", 0, UINT32_MAX, UINT32_MAX, 10},
        {"4294967296", 0, UINT32_MAX, 0, 0},
        {"99999999999999999999999", 0, UINT32_MAX, 0, 0},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const char *at = rows[i].text;
        uint32_t number = 7;
        const char *end = rows[i].len > 0 ? at + rows[i].len : NULL;
        ck_assert_msg(ty_scan_number(&at, end, rows[i].max, &number) == (rows[i].taken > 0), "%s",
                      rows[i].text);
        ck_assert_uint_eq(number, rows[i].number);
        ck_assert_uint_eq((size_t)(at - rows[i].text), rows[i].taken);
    }
}

TY_SUITE("units")
