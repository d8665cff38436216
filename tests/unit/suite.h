/* suite.h - the frame of a unit test program: one suite, TAP on standard output.
 *
 *     TY_SUITE("units", test_a, test_b)
 *
 * runs the listed Check tests (START_TEST .. END_TEST) and nothing else. Tables that would take
 * seconds are thinned by suite_part; meson's suite `slow` runs such programs again, unthinned. */
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

#define TY_SUITE(name, ...)                                                                        \
    int main(void)                                                                                 \
    {                                                                                              \
        const TTest *const tests[] = {__VA_ARGS__};                                                \
        Suite *suite = suite_create(name);                                                         \
        TCase *all = tcase_create(name);                                                           \
        tcase_set_timeout(all, 120);                                                               \
        for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {                            \
            tcase_add_test(all, tests[i]);                                                         \
        }                                                                                          \
        suite_add_tcase(suite, all);                                                               \
        SRunner *runner = srunner_create(suite);                                                   \
        srunner_set_tap(runner, "-");                                                              \
        srunner_run_all(runner, CK_SILENT);                                                        \
        const int failed = srunner_ntests_failed(runner);                                          \
        srunner_free(runner);                                                                      \
        return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;                                          \
    }

#endif
