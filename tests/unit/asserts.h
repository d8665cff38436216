/* asserts.h - Check, with assertions that cost nothing where they hold.
 *
 * Check writes down the place of every assertion that holds, a call of the system each, so that a
 * test that dies of a signal can say after which one. In loops of thousands this is more than half
 * of the time of a test, and a debugger says it better. */
#ifndef TY_TESTS_ASSERTS_H
#define TY_TESTS_ASSERTS_H

#include <check.h>

#undef ck_assert_msg
#define ck_assert_msg(holds, ...)                                                                  \
    ((holds)                                                                                       \
         ? (void)0                                                                                 \
         : _ck_assert_failed(__FILE__, __LINE__, "Assertion '" #holds "' failed", __VA_ARGS__))

#endif
