/* utf8.c - decodes and checks UTF-8, and replaces what a terminal should not get. */
#include "sim/base/utf8.h"

#include <string.h>

/* What a terminal, a browser or an editor obeys instead of showing it. The first four rows are the
 * control characters of ECMA-48 and the line ends that only some programs know; then what turns the
 * direction of the text that follows (Unicode Standard Annex 9; Boucher and Anderson, "Trojan
 * Source", 2021), and what Unicode says is no character. */
static const struct {
    uint32_t first, last;
} unseen[] = {
    {0x00, 0x1F},     {0x7F, 0x9F},     {0x2028, 0x2028}, {0x2029, 0x2029},
    {0x202A, 0x202E}, {0x2066, 0x2069}, {0xFFFE, 0xFFFF},
};

static bool is_shown(uint32_t code)
{
    for (size_t i = 0; i < TY_COUNT(unseen); i++) {
        if (code >= unseen[i].first && code <= unseen[i].last) {
            return false;
        }
    }
    return true;
}

/* RFC 3629. */
struct ty_utf8_char ty_utf8_next(const char *text, size_t n)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t least;
    } forms[] = {{0x80, 0x00, 0}, {0xE0, 0xC0, 0x80}, {0xF0, 0xE0, 0x800}, {0xF8, 0xF0, 0x10000}};
    const unsigned char *p = (const unsigned char *)text;
    const struct ty_utf8_char broken = {TY_UTF8_BROKEN, 1, false};
    size_t form = 0;
    if (p[0] >= 0x20 && p[0] < 0x7F) {
        return (struct ty_utf8_char){p[0], 1, true}; /* most of them */
    }
    while (form < TY_COUNT(forms) && (p[0] & forms[form].mask) != forms[form].lead) {
        form++;
    }
    if (form == TY_COUNT(forms) || form >= n) {
        return broken;
    }
    uint32_t code = p[0] & (unsigned char)~forms[form].mask;
    for (size_t i = 1; i <= form; i++) {
        if (ty_utf8_begins(text[i])) {
            return broken;
        }
        code = code << 6 | (p[i] & 0x3Fu);
    }
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    if (code < forms[form].least || code > 0x10FFFF || surrogate) {
        return broken;
    }
    return (struct ty_utf8_char){code, (uint8_t)(form + 1), is_shown(code)};
}

size_t ty_utf8_replace(char *text, size_t n, char by)
{
    size_t out = 0;
    for (size_t i = 0; i < n;) {
        const struct ty_utf8_char c = ty_utf8_next(text + i, n - i);
        if (c.shown) {
            memmove(text + out, text + i, c.bytes);
            out += c.bytes;
        } else {
            text[out++] = by;
        }
        i += c.bytes;
    }
    return out;
}

size_t ty_utf8_sanitize_line(char *text, size_t n)
{
    size_t out = 0;
    for (size_t i = 0; i < n;) {
        size_t end = i;
        while (end < n && ((text[end] >= 0x20 && text[end] < 0x7F) || text[end] == '\n')) {
            end++;
        }
        if (end > i && out < i) {
            memmove(text + out, text + i, end - i);
        }
        out += end - i;
        i = end;
        if (i < n) {
            const struct ty_utf8_char c = ty_utf8_next(text + i, n - i);
            memmove(text + out, text + i, c.bytes);
            out += ty_utf8_replace(text + out, c.bytes, c.code == '\t' ? ' ' : '?');
            i += c.bytes;
        }
    }
    return out;
}

/* Characters that a text file has no use for. Of those that are not shown it may have tabs and
 * line ends, and what turns the direction of writing: somebody's remark may need it. */
static bool is_foreign(struct ty_utf8_char c)
{
    return !c.shown && c.code != '\t' && c.code != '\n' && c.code != '\r' &&
           (c.code < 0xA0 || c.code == 0x2028 || c.code == 0x2029);
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
    for (size_t i = 0; i < len;) {
        const struct ty_utf8_char c = ty_utf8_next(text + i, len - i);
        const bool broken = c.code == TY_UTF8_BROKEN;
        if ((broken || is_foreign(c)) && ty_utf8_kind(file, text, len, err) < 0) {
            return TY_EINPUT;
        }
        if (broken) {
            return ty_fail_at(err, TY_EINPUT, &at,
                              "not UTF-8 text (byte 0x%02X); save the file as UTF-8",
                              (unsigned char)text[i]);
        }
        if (is_foreign(c)) {
            return ty_fail_at(err, TY_EINPUT, &at, "a control character (byte 0x%02X); remove it",
                              (unsigned char)text[i]);
        }
        const bool line_end =
            text[i] == '\n' || (text[i] == '\r' && (i + 1 >= len || text[i + 1] != '\n'));
        at.line += line_end;
        at.col = line_end ? 1 : at.col + 1;
        i += c.bytes;
    }
    return 0;
}
