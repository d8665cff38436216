/* check.h - reporting a value that does not go with another one. */
#ifndef TY_MODEL_CHECK_H
#define TY_MODEL_CHECK_H

#include "sim/document/fields.h"

/* Appends "section.key: message" at the place where the user gave the value, or named the preset
 * that did; without a place for a default. `section` may be NULL (then only the key is named).
 * Returns TY_EINPUT. */
int ty_check_fail(const struct ty_section *section, const char *key, struct ty_err *err,
                  const char *format, ...) TY_PRINTF(4, 5);

/* True when the user wrote the value, in the file or on the command line. */
bool ty_check_given(const struct ty_section *section, const char *key);

/* Refuses keys, up to NULL, that were written and say nothing: where another one is not given. */
int ty_check_idle(const struct ty_section *section, const char *const *key, const char *why,
                  struct ty_err *err);

/* The code of the first of several checks. */
static inline int ty_check_first(int before, int now)
{
    return before < 0 ? before : now;
}

/* The divisor of n next to x (below or above); n >= 1. */
uint32_t ty_check_divisor(uint32_t n, uint32_t x);

/* Up to 8 numbers as "1, 2, 4". */
struct ty_numbers {
    uint32_t n;
    char text[120];
};
void ty_numbers_add(struct ty_numbers *list, uint64_t x);

#endif
