/* A text that grows while it is written. */
#include "sim/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/suite.h"

TEST(text_grows_and_is_handed_over_once)
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

TEST(text_pads_by_characters_of_the_last_line)
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

TEST(a_failed_text_gives_null)
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

/* Each is replaced by one mark; what stands around it stays. */
static const struct {
    const char *text, *tame;
} foreign[] = {
    {"a\x1b[31mb\x7f\r", "a?[31mb??"},                        /* what terminals obey */
    {"\xC2\x85\xC2\x9B\xC2\xA0", "??\xC2\xA0"},               /* C1 controls; then a space */
    {"\xE2\x80\xA8\xE2\x80\xA9", "??"},                       /* line ends of some */
    {"\xE2\x80\xAE\xE2\x81\xA6x\xE2\x81\xA9", "??x?"},        /* directions of writing */
    {"\xE2\x80\xA7\xE2\x80\xAF", "\xE2\x80\xA7\xE2\x80\xAF"}, /* their neighbours */
    {"\xEF\xBF\xBE\xEF\xBF\xBD", "?\xEF\xBF\xBD"},
    {"\xFF\x80z\xC3", "??z?"},                   /* lone bytes, and one cut short */
    {"\xC0\xAF\xE0\x80\xAF", "?????"},           /* overlong slashes */
    {"\xED\xA0\x80\xF4\x90\x80\x80", "???????"}, /* a surrogate, beyond Unicode */
    {"\xF0\x9F\x98\x80\xE4\xB8\xAD\xC3\xA9", "\xF0\x9F\x98\x80\xE4\xB8\xAD\xC3\xA9"},
};

TEST(what_is_added_is_fit_to_be_shown)
{
    for (size_t i = 0; i < TY_COUNT(foreign); i++) {
        struct ty_text text = {0};
        ty_text_add(&text, "begin\t%s\n", foreign[i].text);
        ty_text_add(&text, "%s end", foreign[i].text);
        char *s = ty_text_take(&text), want[96];
        snprintf(want, sizeof(want), "begin %s\n%s end", foreign[i].tame, foreign[i].tame);
        ck_assert_str_eq(s, want);
        free(s);
    }
}

TY_SUITE("text")
