/* Errors: exact texts, carets, limits, hints. */
#include "sim/base/err.h"

#include <stdio.h>
#include <string.h>

#include "tests/unit/suite.h"

TEST(a_message_is_a_line_and_its_code_comes_back)
{
    struct ty_err err = TY_ERR_NONE;
    ck_assert_int_eq(ty_fail(&err, TY_EINPUT, "%s is wrong", "this"), TY_EINPUT);
    ck_assert_int_eq(ty_fail(&err, TY_EIO, "and %d", 7), TY_EIO);
    ck_assert_str_eq(err.text, "this is wrong\nand 7");
    ck_assert_int_eq(err.code, TY_EINPUT);
    ck_assert_uint_eq(err.n, 2);
    ck_assert_uint_eq(err.len, strlen(err.text));
    ck_assert_int_eq(ty_fail(NULL, TY_ELIMIT, "nobody listens"), TY_ELIMIT);
}

TEST(every_code_has_its_exit_status_and_name)
{
    static const struct {
        int code, status;
        const char *name;
    } rows[] = {
        {0, 0, "E?"},
        {TY_EINFEASIBLE, 1, "EINFEASIBLE"},
        {TY_EUSAGE, 2, "EUSAGE"},
        {TY_EINPUT, 3, "EINPUT"},
        {TY_EIO, 3, "EIO"},
        {TY_ELIMIT, 3, "ELIMIT"},
        {TY_EDEADLOCK, 4, "EDEADLOCK"},
        {TY_ENOMEM, 4, "ENOMEM"},
        {TY_EBUG, 4, "EBUG"},
        {-1000, 4, "E?"},
        {5, 4, "E?"},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        ck_assert_int_eq(ty_exit_status(rows[i].code), rows[i].status);
        ck_assert_str_eq(ty_code_name(rows[i].code), rows[i].name);
    }
}

TEST(the_caret_stands_under_the_place)
{
    static const struct {
        struct ty_place at;
        const char *text;
    } rows[] = {
        {{"f.yaml", "a: 1\n  b: x\nc: 3\n", 2, 6}, "f.yaml:2:6: bad\n      b: x\n         ^"},
        {{"f.yaml", "a: 1", 1, 1}, "f.yaml:1:1: bad\n    a: 1\n    ^"},
        {{"f.yaml", "a: 1\r\nb: 2\r\n", 2, 4}, "f.yaml:2:4: bad\n    b: 2\n       ^"},
        {{"f.yaml", "a: 1\rb: 2\r", 2, 4}, "f.yaml:2:4: bad\n    b: 2\n       ^"},
        /* columns count characters, not bytes */
        {{"f.yaml", "\xC3\xA9\xC3\xA9: x\n", 1, 5},
         "f.yaml:1:5: bad\n    \xC3\xA9\xC3\xA9: x\n        ^"},
        /* a tab takes one column, so that the caret stays below */
        {{"f.yaml", "\tb: 1\n", 1, 2}, "f.yaml:1:2: bad\n     b: 1\n     ^"},
        /* no excerpt: empty line, line behind the end, no text, no line */
        {{"f.yaml", "a: 1\n\n", 2, 1}, "f.yaml:2:1: bad"},
        {{"f.yaml", "a: 1\n", 9, 1}, "f.yaml:9:1: bad"},
        {{"f.yaml", NULL, 3, 4}, "f.yaml:3:4: bad"},
        {{"f.yaml", "a: 1\n", 0, 0}, "f.yaml: bad"},
        {{NULL, NULL, 0, 0}, "bad"},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct ty_err err = TY_ERR_NONE;
        ck_assert_int_eq(ty_fail_at(&err, TY_EINPUT, &rows[i].at, "bad"), TY_EINPUT);
        ck_assert_str_eq(err.text, rows[i].text);
    }
}

TEST(long_lines_are_cut_around_the_place)
{
    char source[400], expected[400];
    memset(source, 'x', sizeof(source));
    source[299] = '!';
    source[399] = '\0';
    const struct ty_place at = {"f", source, 1, 300};
    struct ty_err err = TY_ERR_NONE;
    ty_fail_at(&err, TY_EINPUT, &at, "bad");
    (void)snprintf(expected, sizeof(expected), "f:1:300: bad\n    ...%.48s!%.47s...\n    %51s^",
                   source, source, "");
    ck_assert_str_eq(err.text, expected);
}

TEST(control_characters_never_come_out)
{
    struct ty_err err = TY_ERR_NONE;
    ty_fail(&err, TY_EINPUT, "a\x1b[31mb\tc\x7f");
    ck_assert_str_eq(err.text, "a?[31mb c?");
}

TEST(twenty_messages_are_kept_and_the_rest_is_counted)
{
    struct ty_err err = TY_ERR_NONE;
    for (int i = 1; i <= 21; i++) {
        ty_fail(&err, TY_EINPUT, "message %d", i);
    }
    ck_assert_uint_eq(err.n, 20);
    ck_assert_uint_eq(err.n_dropped, 1);
    ck_assert_ptr_nonnull(strstr(err.text, "message 20\n1 more error, not shown"));
    ck_assert_ptr_null(strstr(err.text, "message 21"));
    ty_hint(&err, "of no use");
    ty_fail(&err, TY_EINPUT, "message 22");
    ck_assert_ptr_nonnull(strstr(err.text, "message 20\n2 more errors, not shown"));
    ck_assert_uint_lt(err.len, strlen(err.text));
}

TEST(a_full_buffer_drops_whole_messages)
{
    struct ty_err err = TY_ERR_NONE;
    char *large = calloc(1, 9000);
    memset(large, 'x', 8999);
    for (int i = 0; i < 5; i++) {
        ty_fail(&err, TY_EINPUT, "%d %s", i, large);
    }
    free(large);
    ck_assert_uint_eq(err.n + err.n_dropped, 5);
    ck_assert_uint_eq(err.n, 2);
    ck_assert_uint_lt(strlen(err.text), sizeof(err.text));
    ck_assert_str_eq(err.text + err.len, "\n3 more errors, not shown");
}

TEST(a_hint_goes_below_the_last_message)
{
    struct ty_err err = TY_ERR_NONE;
    ty_hint(&err, "without a message there is no hint");
    ck_assert_str_eq(err.text, "");
    ty_fail(&err, TY_EINPUT, "wrong");
    ty_hint(&err, "try %s", "that");
    ty_hint(NULL, "nobody");
    ck_assert_str_eq(err.text, "wrong\nhint: try that");
}

TEST(the_nearest_word_is_a_likely_misspelling)
{
    static const char *const names[] = {
        "nodes",    NULL,          "nic_bandwidth",  "1f1b", "gpipe",  "data",   "zero",
        "dgx-h100", "interleaved", "interleaved-zb", "zb-v", "flash1", "flash2", "flash3"};
    static const struct {
        const char *word, *nearest;
    } rows[] = {
        {"node", "nodes"},  /* one missing */
        {"noeds", "nodes"}, /* two swapped */
        {"1f2b", "1f1b"},   /* one replaced */
        {"nic_bandwith", "nic_bandwidth"},
        {"nicbandwidht", "nic_bandwidth"}, /* 3 of 13 */
        {"gipe", "gpipe"},
        {"date", "data"},
        {"NODES", "nodes"},                  /* case hardly counts */
        {"h100", "dgx-h100"},                /* a part of it */
        {"interleaved_1f1b", "interleaved"}, /* the larger part, though one has fewer edits */
        {"flash4", "flash3"},                /* the version next to it */
        {"flash0", "flash1"},
        {"flash_2", "flash2"},
        {"zb", NULL},       /* too short to be a part */
        {"database", NULL}, /* no whole word */
        {"dose", NULL},     /* 2 of 5 from "nodes", 3 of 4 from "zero" */
        {"completely-different", NULL},
        {"", NULL},
        {"x", NULL},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const char *nearest = ty_nearest(rows[i].word, names, TY_COUNT(names));
        if (rows[i].nearest) {
            ck_assert_ptr_nonnull(nearest);
            ck_assert_str_eq(nearest, rows[i].nearest);
        } else {
            ck_assert_msg(nearest == NULL, "%s: %s", rows[i].word, nearest ? nearest : "");
        }
    }
    char longest[200];
    memset(longest, 'n', sizeof(longest) - 1);
    longest[199] = '\0';
    ck_assert_ptr_null(ty_nearest(longest, names, TY_COUNT(names)));
}

TY_SUITE("err")
