/* test_json.c - numbers and strings as JSON wants them. */
#include "sim/document/json.h"

#include <math.h>
#include <stdlib.h>

#include "sim/base/compiler.h"
#include "tests/unit/suite.h"

/* Shortest, and equal when read back; 0.1 + 0.2 needs all 17 digits. */
static const struct {
    double x;
    const char *text;
} numbers[] = {
    {0, "0"},
    {-3, "-3"},
    {1e14, "100000000000000"},
    {0.1, "0.1"},
    {0.1 + 0.2, "0.30000000000000004"},
    {1e300, "1e+300"},
    {-2.5e-7, "-2.5e-07"},
    {HUGE_VAL, "null"},
    {-HUGE_VAL, "null"},
    {(double)NAN, "null"},
};

TEST(a_number_is_short_and_reads_back_equal)
{
    char buf[TY_JSON_NUMBER];
    for (size_t i = 0; i < TY_COUNT(numbers); i++) {
        ck_assert_str_eq(ty_json_number(numbers[i].x, buf), numbers[i].text);
        if (isfinite(numbers[i].x)) {
            ck_assert(strtod(buf, NULL) == numbers[i].x);
        }
    }
}

TEST(strings_are_quoted_and_escaped)
{
    struct ty_text text = {0};
    ty_json_put(&text, "a \"b\" \\ \n \x01 \xC2\xB5s");
    char *s = ty_text_take(&text);
    ck_assert_str_eq(s, "\"a \\\"b\\\" \\\\ \\u000a \\u0001 \xC2\xB5s\"");
    free(s);
}

TEST(what_is_not_shown_is_escaped_and_what_is_no_text_replaced)
{
    struct ty_text text = {0};
    ty_json_put(&text, "\xC2\x9B\x7F\xE2\x80\xAE|\xFF\xED\xA0\x80|\xF0\x9F\x98\x80\xC3");
    char *s = ty_text_take(&text);
    ck_assert_str_eq(s, "\"\\u009b\\u007f\\u202e|\\ufffd\\ufffd\\ufffd\\ufffd|\xF0\x9F\x98\x80"
                        "\\ufffd\"");
    free(s);
}

/* An object of each kind of value, a list in rows and one of lines. */
static void put_all(struct ty_json *j)
{
    ty_json_object(j, NULL);
    ty_json_text(j, "text", "<a>");
    ty_json_text(j, "none", NULL);
    ty_json_real(j, "real", 0.5);
    ty_json_whole(j, "whole", UINT64_MAX);
    ty_json_array(j, "rows");
    ty_json_rows(j);
    ty_json_whole(j, NULL, 1);
    ty_json_whole(j, NULL, 2);
    ty_json_end(j);
    ty_json_line(j, 1);
    ty_json_object(j, "lines");
    ty_json_lines(j);
    ty_json_bool(j, "yes", true);
    ty_json_object(j, "no");
    ty_json_lines(j);
    ty_json_end(j);
    ty_json_end(j);
    ty_json_end(j);
}

static void check_written(bool tight, const char *also, const char *expected)
{
    struct ty_text text = {0};
    struct ty_json j = ty_json_to_text(&text);
    j.tight = tight;
    j.also = also;
    put_all(&j);
    char *s = ty_text_take(&text);
    ck_assert_str_eq(s, expected);
    free(s);
}

TEST(commas_blanks_and_lines_are_the_writers)
{
    check_written(false, "",
                  "{\"text\": \"<a>\", \"none\": null, \"real\": 0.5, \"whole\": "
                  "18446744073709551615, \"rows\": [\n  1,\n  2],\n \"lines\": {\n   \"yes\": "
                  "true,\n   \"no\": {}\n }}");
}

TEST(the_tight_style_has_lines_after_commas_only)
{
    check_written(true, "<>",
                  "{\"text\":\"\\u003ca\\u003e\",\"none\":null,\"real\":0.5,\"whole\":"
                  "18446744073709551615,\"rows\":[1,\n2],\n \"lines\":{\"yes\":true,\n\"no\":{}}}");
}

TY_SUITE("json")
