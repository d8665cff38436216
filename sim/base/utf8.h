/* utf8.h - text as UTF-8 (RFC 3629): where characters begin, and whether a text is one.
 *
 * Columns of messages count characters, as editors do, not bytes.
 *
 * Foreign text (names in profiles and run files, words of a command line, names of files) goes to
 * terminals, reports, JSON and pages through a few writers: messages (err.h), ty_text_add, JSON
 * strings, names in traces. None of them lets through what is not UTF-8 or what makes a terminal or
 * a reader see something else than what is written. */
#ifndef TY_BASE_UTF8_H
#define TY_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#define TY_UTF8_BROKEN UINT32_MAX

/* A character, or a byte that is none. */
struct ty_utf8_char {
    uint32_t code; /* of Unicode; TY_UTF8_BROKEN: malformed, longer than it need be, a surrogate */
    uint8_t bytes; /* 1 when broken */
    bool shown;    /* may be shown as it is: no control character, whatever it controls */
};

/* The character that text[0..n) begins with; n > 0. */
struct ty_utf8_char ty_utf8_next(const char *text, size_t n);

/* Makes text[0..n) fit to be shown, in place: each character that is not becomes `by`. Returns its
 * length, which may be less. */
size_t ty_utf8_replace(char *text, size_t n, char by);

/* The same for lines: line ends stay, a tab becomes a space, the others '?'. */
size_t ty_utf8_sanitize_line(char *text, size_t n);

/* Refuses what is no text in one byte a character: UTF-16, compressed and other binary data. What
 * is wrong with single characters is not looked at. 0 or TY_EINPUT. */
int ty_utf8_kind(const char *file, const char *text, size_t len, struct ty_err *err);

/* The place where a character is malformed, or is a control character other than a tab or a line
 * end, is reported as that of `file`;
 * before that, what ty_utf8_kind refuses. 0 or TY_EINPUT. */
int ty_utf8_check(const char *file, const char *text, size_t len, struct ty_err *err);

#endif
