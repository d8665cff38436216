/* toml_string.c - strings: basic with escapes, literal without; of one line or of several. */
#include "sim/document/toml_read.h"

#include <stdlib.h>
#include <string.h>

#define SURROGATES     0xD800u
#define SURROGATES_END 0xDFFFu
#define LAST_CHARACTER 0x10FFFFu

/* Code points become UTF-8 (RFC 3629, section 3). */
static void put_character(struct ty_text *out, uint32_t code)
{
    char bytes[4];
    size_t n = 0;
    if (code < 0x80) {
        bytes[n++] = (char)code;
    } else if (code < 0x800) {
        bytes[n++] = (char)(0xC0u | code >> 6);
    } else if (code < 0x10000) {
        bytes[n++] = (char)(0xE0u | code >> 12);
        bytes[n++] = (char)(0x80u | (code >> 6 & 0x3Fu));
    } else {
        bytes[n++] = (char)(0xF0u | code >> 18);
        bytes[n++] = (char)(0x80u | (code >> 12 & 0x3Fu));
        bytes[n++] = (char)(0x80u | (code >> 6 & 0x3Fu));
    }
    if (code >= 0x80) {
        bytes[n++] = (char)(0x80u | (code & 0x3Fu));
    }
    ty_text_bytes(out, bytes, n);
}

/* \uXXXX or \UXXXXXXXX, behind its backslash. */
static void read_code(struct ty_toml_reader *r)
{
    const size_t digits = *r->at == 'u' ? 4 : 8;
    const size_t given = strspn(r->at + 1, "0123456789abcdefABCDEF");
    if (given < digits) {
        ty_toml_stop(r, "\\%c is followed by %zu hexadecimal digits; write %zu", *r->at, given,
                     digits);
        return;
    }
    char hex[9] = "";
    memcpy(hex, r->at + 1, digits);
    const uint32_t code = (uint32_t)strtoul(hex, NULL, 16);
    if (code == 0 || code > LAST_CHARACTER || (code >= SURROGATES && code <= SURROGATES_END)) {
        ty_toml_stop(r, "\\%c%s is no character; write one of Unicode, above 0", *r->at, hex);
        return;
    }
    put_character(&r->text, code);
    ty_toml_advance(r, 1 + digits);
}

/* A backslash at the end of a line takes away all blanks and line ends up to what follows. */
static bool ends_line(const char *at)
{
    at += strspn(at, " \t");
    return *at == '\n' || (at[0] == '\r' && at[1] == '\n');
}

static void read_escape(struct ty_toml_reader *r, bool lines)
{
    static const char letters[] = "btnfr\"\\", meant[] = "\b\t\n\f\r\"\\";
    ty_toml_advance(r, 1);
    const char *letter = *r->at != '\0' ? strchr(letters, *r->at) : NULL;
    if (letter != NULL) {
        ty_text_bytes(&r->text, &meant[letter - letters], 1);
        ty_toml_advance(r, 1);
    } else if (*r->at == 'u' || *r->at == 'U') {
        read_code(r);
    } else if (lines && ends_line(r->at)) {
        ty_toml_advance(r, strspn(r->at, " \t\r\n"));
    } else {
        ty_toml_stop(r,
                     "a backslash before %s; write \\\\ for one, or '...' for text without "
                     "escapes",
                     *r->at != '\0' && (unsigned char)*r->at < 0x7F && *r->at > ' '
                         ? (const char[]){*r->at, '\0'}
                         : "what it does not escape");
    }
}

/* Up to its quotes; one or two of them may stand before the three that end several lines. */
static bool at_end(const struct ty_toml_reader *r, char quote, bool lines)
{
    if (*r->at != quote) {
        return false;
    }
    return !lines || (r->at[1] == quote && r->at[2] == quote && r->at[3] != quote);
}

static void read_characters(struct ty_toml_reader *r, char quote, bool lines, uint32_t line,
                            uint32_t col)
{
    while (r->code == 0 && !at_end(r, quote, lines)) {
        const bool line_end = *r->at == '\n' || (r->at[0] == '\r' && r->at[1] == '\n');
        if (*r->at == '\0' || (line_end && !lines)) {
            ty_toml_stop_at(r, line, col, "a string is not closed; write %s%c at its end",
                            lines ? "three times " : "", quote);
        } else if (*r->at == '\\' && quote == '"') {
            read_escape(r, lines);
        } else {
            ty_text_bytes(&r->text, r->at, 1);
            ty_toml_advance(r, 1);
        }
    }
}

char *ty_toml_string(struct ty_toml_reader *r, bool may_have_lines)
{
    const char quote = *r->at;
    const bool lines = r->at[1] == quote && r->at[2] == quote;
    if (lines && !may_have_lines) {
        return ty_toml_stop(r, "a key of several lines; write it in one");
    }
    const uint32_t line = r->line, col = r->col;
    r->text.len = 0;
    ty_toml_advance(r, lines ? 3 : 1);
    if (lines) { /* a line end right behind the quotes is not part of it */
        ty_toml_advance(r, *r->at == '\n' ? 1 : r->at[0] == '\r' && r->at[1] == '\n' ? 2 : 0);
    }
    read_characters(r, quote, lines, line, col);
    if (r->code < 0) {
        return NULL;
    }
    ty_toml_advance(r, lines ? 3 : 1);
    const char *read = r->text.len > 0 ? r->text.data : "";
    char *copy = r->text.failed ? NULL : ty_arena_strndup(r->arena, read, r->text.len);
    if (copy == NULL) {
        r->code = ty_fail_memory(r->err);
    }
    return copy;
}
