/* file.c - a whole text file in memory: of bounded size, UTF-8, without control characters. */
#include "sim/base/yaml.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads at most one byte more than the limit, so that the caller sees that there is more. */
static int stream_read(FILE *stream, size_t most, char **data, size_t *len)
{
    size_t cap = 0;
    for (*len = 0; *len <= most;) {
        if (*len == cap) {
            cap = cap ? 2 * cap : 16384;
            char *larger = realloc(*data, cap);
            if (!larger) {
                return ENOMEM;
            }
            *data = larger;
        }
        const size_t n = fread(*data + *len, 1, cap - *len, stream);
        *len += n;
        if (n == 0) {
            return ferror(stream) ? errno : 0;
        }
    }
    return 0;
}

int ty_file_read(struct ty_arena *arena, const char *path, size_t most, const char **text,
                 size_t *len, struct ty_err *err)
{
    const int is_stdin = strcmp(path, "-") == 0;
    const char *name = is_stdin ? "<stdin>" : path;
    errno = 0;
    FILE *stream = is_stdin ? stdin : fopen(path, "rb");
    if (!stream) {
        return ty_fail(err, ty_code_of_errno(errno), "%s: cannot be opened (%s)", name,
                       strerror(errno));
    }
    char *data = NULL;
    size_t n = 0;
    const int failure = stream_read(stream, most, &data, &n);
    if (!is_stdin) {
        (void)fclose(stream);
    }
    int rc = 0;
    if (failure == ENOMEM) {
        rc = ty_fail(err, TY_ENOMEM, "%s: memory is exhausted", name);
    } else if (failure != 0) {
        rc = ty_fail(err, TY_EIO, "%s: cannot be read (%s)", name, strerror(failure));
    } else if (n > most) {
        rc = ty_fail(err, TY_ELIMIT, "%s: too large; a file may have at most %zu MiB", name,
                     most >> 20);
    } else {
        /* a byte order mark, as spreadsheets and some editors write, is no text */
        const size_t mark = n >= 3 && memcmp(data, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
        *text = ty_arena_strndup(arena, n > 0 ? data + mark : "", n - mark);
        *len = n - mark;
        rc = *text ? 0 : ty_fail(err, TY_ENOMEM, "%s: memory is exhausted", name);
    }
    free(data);
    return rc;
}

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
            if (i >= n || (p[i] & 0xC0u) != 0x80u) {
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

int ty_text_check(const char *file, const char *text, size_t len, struct ty_err *err)
{
    struct ty_place at = {.file = file, .line = 1, .col = 1};
    const unsigned char *p = (const unsigned char *)text;
    for (size_t i = 0; i < len;) {
        const size_t n = utf8_length(p + i, len - i);
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
