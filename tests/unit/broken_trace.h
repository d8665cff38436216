/* broken_trace.h - a trace with one rule broken, to see whether the rules notice. */
#ifndef TY_TESTS_BROKEN_TRACE_H
#define TY_TESTS_BROKEN_TRACE_H

#include "tests/unit/suite.h"
#include "tests/unit/trace_rules.h"

struct broken {
    const char *what, *with, *why; /* `why` begins the first violation */
    bool all;                      /* occurrences of `what`, not the first only */
};

/* The text with what is replaced, to be freed. */
static inline char *broken_text(const char *text, const struct broken *b)
{
    const size_t n = strlen(b->what), m = strlen(b->with);
    size_t times = 0;
    for (const char *at = strstr(text, b->what); at != NULL; at = strstr(at + n, b->what)) {
        times++;
    }
    ck_assert_msg(times > 0, "not in the trace: %s", b->what);
    times = b->all ? times : 1;
    char *copy = malloc(strlen(text) + times * m + 1), *q = copy;
    ck_assert_ptr_nonnull(copy);
    for (; times > 0; times--) {
        const char *at = strstr(text, b->what);
        memcpy(q, text, (size_t)(at - text));
        q += at - text;
        memcpy(q, b->with, m);
        q += m;
        text = at + n;
    }
    memcpy(q, text, strlen(text) + 1);
    return copy;
}

/* Every one of rows[n] is noticed, for its own reason. */
static inline void broken_check(const char *text, const struct broken *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct rules rules;
        char *copy = broken_text(text, &rows[i]);
        ck_assert_msg(!rules_check(&rules, copy, strlen(copy)), "not caught: %s", rows[i].with);
        ck_assert_msg(strncmp(rules.why, rows[i].why, strlen(rows[i].why)) == 0, "%s: %s",
                      rows[i].with, rules.why);
        rules_release(&rules);
        free(copy);
    }
}

#endif
