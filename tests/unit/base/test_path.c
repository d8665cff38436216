/* test_path.c - the words of a path. */
#include "sim/base/path.h"

#include "tests/unit/suite.h"

TEST(an_ending_may_be_the_whole_path_and_no_more)
{
    ck_assert(ty_path_ends("step.json.gz", ".gz"));
    ck_assert(ty_path_ends(".gz", ".gz"));
    ck_assert(!ty_path_ends("gz", ".gz"));
    ck_assert(!ty_path_ends("step.gz.json", ".gz"));
    ck_assert(ty_path_ends("", ""));
}

TEST(a_name_is_what_is_behind_the_last_slash)
{
    ck_assert_str_eq(ty_path_name("/tmp/a.log"), "a.log");
    ck_assert_str_eq(ty_path_name("a.log"), "a.log");
    ck_assert_str_eq(ty_path_name("folder/"), "");
}

TEST(a_stem_is_a_name_without_its_last_ending)
{
    ck_assert_uint_eq(ty_path_stem("llama.json"), 5);
    ck_assert_uint_eq(ty_path_stem("llama-3.1.json"), 9);
    ck_assert_uint_eq(ty_path_stem("llama"), 5);
    ck_assert_uint_eq(ty_path_stem(".hidden"), 7);
    ck_assert_uint_eq(ty_path_stem(""), 0);
}

TY_SUITE("path")
