/* suite.h - the frame of a unit test program: one suite, TAP on standard output.
 *
 *     TEST(a_fact) { ... }
 *     TESTS(a_fact_of_every_row, 12) { ... row _i ... }
 *     TY_SUITE("units")
 *
 * Every test of the file enters the suite by itself, in the order of the file. Check runs each in a
 * process of its own; meson alone limits how long the program takes. Tables that would take seconds
 * are thinned by suite_part; meson's suite `slow` runs such programs again, unthinned. */
#ifndef TY_TESTS_SUITE_H
#define TY_TESTS_SUITE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "tests/unit/asserts.h"

/* Whether everything is asked for. */
static inline bool suite_whole(void)
{
    return getenv("TRAINYARD_WHOLE") != NULL;
}

/* How many of n cases to take: a part of them, or all. */
static inline uint32_t suite_part(uint32_t n, uint32_t part)
{
    return suite_whole() ? n : n / part;
}

struct suite_test {
    const TTest *test;
    int times;
};

static struct suite_test suite_tests[64];
static size_t suite_n;

static inline void suite_enter(const TTest *test, int times)
{
    if (suite_n == sizeof(suite_tests) / sizeof(suite_tests[0])) {
        abort(); /* a file has more tests than suite_tests */
    }
    suite_tests[suite_n++] = (struct suite_test){test, times};
}

static inline int suite_run(const char *name)
{
    Suite *suite = suite_create(name);
    TCase *all = tcase_create(name);
    tcase_set_timeout(all, 0);
    for (size_t i = 0; i < suite_n; i++) {
        tcase_add_loop_test(all, suite_tests[i].test, 0, suite_tests[i].times);
    }
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_set_tap(runner, "-");
    srunner_run_all(runner, CK_SILENT);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#define TEST(fact) TESTS(fact, 1)
#define TESTS(fact, times)                                                                         \
    static void fact(int _i);                                                                      \
    __attribute__((constructor)) static void fact##_enters(void)                                   \
    {                                                                                              \
        static const TTest test = {#fact, fact, __FILE__, __LINE__};                               \
        suite_enter(&test, (int)(times));                                                          \
    }                                                                                              \
    static void fact(int _i CK_ATTRIBUTE_UNUSED)

#define TY_SUITE(name)                                                                             \
    int main(void)                                                                                 \
    {                                                                                              \
        return suite_run(name);                                                                    \
    }

#endif
