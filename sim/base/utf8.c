/* utf8.c - see utf8.h. */
#include "sim/base/utf8.h"

#include <stdint.h>
#include <string.h>

/* Bytes of the UTF-8 character at p (at most n), or 0 when it is malformed. RFC 3629. */
static size_t utf8_length(const unsigned char *p, size_t n)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t least;
    } forms[] = {{0x80, 0x00, 0}, {0xE0, 0xC0, 0x80}, {0xF0, 0xE0, 0x800}, {0xF8, 0xF0, 0x10000}};
    for (size_t form = 0; form < TY_COUNT(forms); form++) {
        if ((p[0] & forms[form].mask) != forms[form].lead) {
            continue;
        }
        uint32_t code = p[0] & (unsigned char)~forms[form].mask;
        for (size_t i = 1; i <= form; i++) {
            if (i >= n || ty_utf8_begins((char)p[i])) {
                return 0;
            }
            code = code << 6 | (p[i] & 0x3Fu);
        }
        const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
        return code < forms[form].least || code > 0x10FFFF || surrogate ? 0 : form + 1;
    }
    return 0;
}

/* Characters that are no text: most control characters, and the line ends that only some programs
 * know (U+0085, U+2028, U+2029), which would make line numbers ambiguous. */
static bool is_foreign(const unsigned char *p, size_t len)
{
    if (len == 1) {
        return (p[0] < 0x20 && p[0] != '\t' && p[0] != '\n' && p[0] != '\r') || p[0] == 0x7F;
    }
    if (len == 2) {
        return p[0] == 0xC2 && p[1] < 0xA0;
    }
    return len == 3 && p[0] == 0xE2 && p[1] == 0x80 && (p[2] == 0xA8 || p[2] == 0xA9);
}

/* Whether every other byte at the beginning is zero: UTF-16 of English without its mark. */
static bool alternates(const char *text, size_t len)
{
    const size_t n = len < 16 ? len & ~(size_t)1 : 16;
    size_t even = 0, odd = 0;
    for (size_t i = 0; i < n; i += 2) {
        even += text[i] == 0;
        odd += text[i + 1] == 0;
    }
    return n >= 4 && even + odd == n / 2 && (even == 0 || odd == 0);
}

/* What is no text at all deserves a better word than its first odd byte. */
static const char *other_kind(const char *text, size_t len)
{
    static const struct {
        const char *begin;
        size_t len;
        const char *words;
    } kinds[] = {
        {"\xFF\xFE\0\0", 4, "UTF-32 text; save the file as UTF-8"},
        {"\0\0\xFE\xFF", 4, "UTF-32 text; save the file as UTF-8"},
        {"\xFF\xFE", 2, "UTF-16 text; save the file as UTF-8"},
        {"\xFE\xFF", 2, "UTF-16 text; save the file as UTF-8"},
        {"\x1F\x8B", 2, "compressed by gzip; unpack the file first"},
        {"PK\3\4", 4, "a zip archive or a spreadsheet; save a sheet as CSV in UTF-8"},
    };
    for (size_t i = 0; i < TY_COUNT(kinds); i++) {
        if (len >= kinds[i].len && memcmp(text, kinds[i].begin, kinds[i].len) == 0) {
            return kinds[i].words;
        }
    }
    if (alternates(text, len)) {
        return "UTF-16 text; save the file as UTF-8";
    }
    const char *zero = memchr(text, 0, len);
    return zero && memchr(zero + 1, 0, len - 1 - (size_t)(zero - text))
               ? "binary data, no text; name another file"
               : NULL;
}

int ty_utf8_kind(const char *file, const char *text, size_t len, struct ty_err *err)
{
    const char *kind = other_kind(text, len);
    return kind ? ty_fail_at(err, TY_EINPUT, &(struct ty_place){.file = file}, "%s", kind) : 0;
}

int ty_utf8_check(const char *file, const char *text, size_t len, struct ty_err *err)
{
    struct ty_place at = {.file = file, .line = 1, .col = 1};
    const unsigned char *p = (const unsigned char *)text;
    for (size_t i = 0; i < len;) {
        const size_t n = utf8_length(p + i, len - i);
        if ((n == 0 || is_foreign(p + i, n)) && ty_utf8_kind(file, text, len, err) < 0) {
            return TY_EINPUT;
        }
        if (n == 0) {
            return ty_fail_at(err, TY_EINPUT, &at,
                              "not UTF-8 text (byte 0x%02X); save the file as UTF-8", p[i]);
        }
        if (is_foreign(p + i, n)) {
            return ty_fail_at(err, TY_EINPUT, &at, "a control character (byte 0x%02X); remove it",
                              p[i]);
        }
        const bool line_end = p[i] == '\n' || (p[i] == '\r' && (i + 1 >= len || p[i + 1] != '\n'));
        at.line += line_end;
        at.col = line_end ? 1 : at.col + 1;
        i += n;
    }
    return 0;
}
