/* test_text.c - strings that grow, and numbers and strings as JSON wants them. */
#include "sim/base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/json.h"
#include "sim/base/number_text.h"
#include "tests/unit/suite.h"

static void is_taken(struct ty_text *text, const char *expected)
{
    char *taken = ty_text_take(text);
    ck_assert_str_eq(taken, expected);
    free(taken);
}

START_TEST(a_text_holds_what_was_added_and_is_empty_when_taken)
{
    struct ty_text text = {0};
    is_taken(&text, "");
    ty_text_add(&text, "%s %d", "rank", 7);
    ty_text_bytes(&text, ", and more", 5);
    is_taken(&text, "rank 7, and");
    for (int i = 0; i < 5000; i++) {
        ty_text_add(&text, "%04d", i);
    }
    ck_assert_uint_eq(text.len, 20000);
    ck_assert_mem_eq(text.data + 4 * 4321, "4321", 4);
    ty_text_release(&text);
    is_taken(&text, "");
}
END_TEST

START_TEST(columns_are_counted_in_characters_of_the_last_line)
{
    struct ty_text text = {0};
    ty_text_add(&text, "µs");
    ty_text_pad(&text, 4);
    ty_text_add(&text, "|\nlonger");
    ty_text_pad(&text, 4);
    ty_text_add(&text, "|");
    is_taken(&text, "µs  |\nlonger |");
}
END_TEST

START_TEST(a_text_beyond_its_limit_fails_for_good)
{
    struct ty_text text = {0};
    ty_text_add(&text, "begun");
    text.failed = true;
    ty_text_add(&text, "not added");
    ck_assert_ptr_null(ty_text_take(&text));
    ty_text_release(&text);
}
END_TEST

START_TEST(json_numbers_read_back_equal)
{
    static const struct {
        double x;
        const char *text;
    } rows[] = {
        {0, "0"},
        {-3, "-3"},
        {1e14, "100000000000000"},
        {0.1, "0.1"},
        {1e22, "1e+22"},
        {NAN, "null"},
        {INFINITY, "null"},
        {1.0 / 3, "0.3333333333333333"},
        {5e-324, "4.94065645841247e-324"},
    };
    char buf[TY_JSON_NUMBER];
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        ck_assert_str_eq(ty_json_number(rows[i].x, buf), rows[i].text);
    }
    double x = 1e-300;
    for (int i = 0; i < 1800; i++, x *= -2.1) {
        ck_assert_double_eq(ty_strtod(ty_json_number(x, buf), NULL), x);
        ck_assert_uint_lt(strlen(buf), TY_JSON_NUMBER);
    }
}
END_TEST

START_TEST(json_strings_escape_what_json_reserves)
{
    struct ty_text text = {0};
    ty_json_put(&text, "a \"b\" \\ µ\n\x01");
    is_taken(&text, "\"a \\\"b\\\" \\\\ µ\\u000a\\u0001\"");
    ty_json_put_member(&text, "mfu", 0.5);
    is_taken(&text, "\"mfu\": 0.5");
}
END_TEST

TY_SUITE("text", a_text_holds_what_was_added_and_is_empty_when_taken,
         columns_are_counted_in_characters_of_the_last_line, a_text_beyond_its_limit_fails_for_good,
         json_numbers_read_back_equal, json_strings_escape_what_json_reserves)
