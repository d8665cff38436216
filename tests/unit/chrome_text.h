/* chrome_text.h - the Chrome trace of a small run as text, with every rule of trace_rules.h
 * kept. */
#ifndef TY_TESTS_CHROME_TEXT_H
#define TY_TESTS_CHROME_TEXT_H

#include "tests/unit/tiny_trace.h"
#include "tests/unit/trace_rules.h"

/* Writes, checks every rule, and returns the text; `rules` keeps the counts. */
static inline char *checked(const struct ty_trace *trace, struct rules *rules)
{
    size_t n;
    char *text = write_text(trace, "chrome", &n);
    const bool ok = rules_check(rules, text, n);
    ck_assert_msg(ok, "%s", rules->why);
    rules_release(rules);
    return text;
}

/* Without strstr: under AddressSanitizer each of its calls measures all that is left of the
 * text. */
static inline size_t count(const char *text, const char *what)
{
    const size_t len = strlen(what);
    const char *const end = text + strlen(text);
    size_t n = 0;
    for (const char *p = text; (p = memchr(p, what[0], (size_t)(end - p))) != NULL; p++) {
        n += (size_t)(end - p) >= len && memcmp(p, what, len) == 0;
    }
    return n;
}

#endif
