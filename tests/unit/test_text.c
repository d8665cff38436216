/* A text that grows while it is written. */
#include "sim/base/text.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/suite.h"

START_TEST(text_grows_and_is_handed_over_once)
{
    struct ty_text text = {0};
    for (int i = 0; i < 1000; i++) {
        ty_text_add(&text, "%d,", i % 10);
    }
    ty_text_bytes(&text, "xyz", 2);
    ck_assert_uint_eq(text.len, 2002);
    char *s = ty_text_take(&text);
    ck_assert_uint_eq(strlen(s), 2002);
    ck_assert_str_eq(s + 1994, "7,8,9,xy");
    free(s);
    s = ty_text_take(&text);
    ck_assert_str_eq(s, "");
    free(s);
}
END_TEST

START_TEST(text_pads_by_characters_of_the_last_line)
{
    struct ty_text text = {0};
    ty_text_add(&text, "a long first line\n\xC2\xB5s");
    ty_text_pad(&text, 5);
    ty_text_add(&text, "x");
    ty_text_pad(&text, 3);
    ty_text_add(&text, "y");
    char *s = ty_text_take(&text);
    ck_assert_str_eq(s, "a long first line\n\xC2\xB5s   x y");
    free(s);
}
END_TEST

START_TEST(a_failed_text_gives_null)
{
    struct ty_text text = {0};
    ty_text_add(&text, "abc");
    text.failed = true;
    ty_text_add(&text, "def");
    ck_assert_ptr_null(ty_text_take(&text));
    ty_text_add(&text, "new");
    char *s = ty_text_take(&text);
    ck_assert_str_eq(s, "new");
    free(s);
}
END_TEST

TY_SUITE("text", text_grows_and_is_handed_over_once, text_pads_by_characters_of_the_last_line,
         a_failed_text_gives_null)
