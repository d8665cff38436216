/* utf8.h - text as UTF-8 (RFC 3629): where characters begin, and whether a text is one.
 *
 * Columns of messages count characters, as editors do, not bytes. */
#ifndef TY_BASE_UTF8_H
#define TY_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/err.h"

/* Whether a byte begins a character; the others continue one. */
static inline bool ty_utf8_begins(char byte)
{
    return ((unsigned char)byte & 0xC0u) != 0x80u;
}

/* Characters in n bytes. */
static inline size_t ty_utf8_count(const char *text, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        count += ty_utf8_begins(text[i]);
    }
    return count;
}

/* Refuses what is no text in one byte a character: UTF-16, compressed and other binary data. What
 * is wrong with single characters is not looked at. 0 or TY_EINPUT. */
int ty_utf8_kind(const char *file, const char *text, size_t len, struct ty_err *err);

/* The place where a character is malformed, or is a control character other than a tab or a line
 * end, is reported as that of `file`;
 * before that, what ty_utf8_kind refuses. 0 or TY_EINPUT. */
int ty_utf8_check(const char *file, const char *text, size_t len, struct ty_err *err);

#endif
