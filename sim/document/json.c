/* json.c - writes JSON, and formats its numbers and strings. */
#include "sim/document/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/base/text.h"
#include "sim/base/utf8.h"

#define REPLACEMENT 0xFFFDu /* the character that Unicode has for what could not be read */
#define ESCAPE      8u      /* bytes that a character needs in a string, with a zero */

char *ty_json_number(double x, char buf[TY_JSON_NUMBER])
{
    if (!isfinite(x)) {
        return memcpy(buf, "null", sizeof("null"));
    }
    if (fabs(x) < 1e15 && x == floor(x)) {
        ty_snprintf(buf, TY_JSON_NUMBER, "%.0f", x);
        return buf;
    }
    for (int digits = 15; digits <= 17; digits++) {
        ty_snprintf(buf, TY_JSON_NUMBER, "%.*g", digits, x);
        if (ty_strtod(buf, NULL) == x) {
            break;
        }
    }
    return buf;
}

/* Bytes at the beginning of s that stand for themselves in a string: printable ASCII other than
 * quotes, backslashes and `also`. */
static size_t plain(const char *s, const char *also)
{
    size_t n = 0;
    while ((unsigned char)s[n] >= 0x20 && (unsigned char)s[n] < 0x7F && s[n] != '"' &&
           s[n] != '\\' && strchr(also, s[n]) == NULL) {
        n++;
    }
    return n;
}

/* The one character that s begins with, as a string has it: "\\n", "\\u001b", itself; what is not
 * shown is escaped, and what is no UTF-8 becomes U+FFFD. Returns its bytes in s; s is not "". */
static size_t escape(const char *s, char buf[ESCAPE])
{
    const struct ty_utf8_char c = ty_utf8_next(s, strnlen(s, 4));
    if (c.code == '"' || c.code == '\\') {
        (void)snprintf(buf, ESCAPE, "\\%c", *s);
    } else if (c.code < 0x7F || !c.shown) {
        const uint16_t code = c.code == TY_UTF8_BROKEN ? REPLACEMENT : (uint16_t)c.code;
        (void)snprintf(buf, ESCAPE, "\\u%04x", (unsigned)code);
    } else {
        memcpy(buf, s, c.bytes);
        buf[c.bytes] = '\0';
    }
    return c.bytes;
}

void ty_json_string(ty_json_put_fn *put, void *to, const char *s, const char *also)
{
    put(to, "\"", 1);
    while (*s != '\0') {
        char buf[ESCAPE];
        const size_t n = plain(s, also);
        put(to, s, n);
        s += n;
        if (*s != '\0' && strchr(also, *s) != NULL) {
            (void)snprintf(buf, sizeof(buf), "\\u%04x", (unsigned)(unsigned char)*s++);
            put(to, buf, strlen(buf));
        } else if (*s != '\0') {
            s += escape(s, buf);
            put(to, buf, strlen(buf));
        }
    }
    put(to, "\"", 1);
}

static void put_bytes(void *to, const char *bytes, size_t n)
{
    ty_text_bytes(to, bytes, n);
}

void ty_json_put(struct ty_text *text, const char *s)
{
    ty_json_string(put_bytes, text, s, "");
}

/* ---- the writer ---- */

struct ty_json ty_json_to_text(struct ty_text *text)
{
    return (struct ty_json){.put = put_bytes, .to = text, .also = ""};
}

static void put(struct ty_json *j, const char *s)
{
    j->put(j->to, s, strlen(s));
}

void ty_json_line(struct ty_json *j, uint32_t blanks)
{
    j->line = true;
    j->next = blanks;
}

static void break_line(struct ty_json *j)
{
    put(j, "\n");
    for (uint32_t i = 0; i < j->next; i++) {
        put(j, " ");
    }
    j->indent = j->next;
    j->line = false;
}

/* What stands between items of what is open: a comma, and a blank or the end of the line. */
static void separate(struct ty_json *j, struct ty_json_level *in)
{
    const bool first = !in->any;
    if (!first) {
        put(j, ",");
    }
    if (in->rows && !j->line && !(first && j->tight)) {
        ty_json_line(j, j->tight ? 0 : in->begun + 2);
    }
    if (!first && !j->line && !j->tight) {
        put(j, " ");
    }
    in->any = true;
}

void ty_json_key(struct ty_json *j, const char *key)
{
    if (j->depth > 0) {
        separate(j, &j->level[j->depth - 1]);
    }
    if (j->line) {
        break_line(j);
    }
    if (key != NULL) {
        ty_json_string(j->put, j->to, key, j->also);
        put(j, j->tight ? ":" : ": ");
    }
}

static void begin(struct ty_json *j, const char *key, const char *open, char close)
{
    ty_json_key(j, key);
    assert(j->depth < TY_JSON_DEPTH);
    j->level[j->depth++] = (struct ty_json_level){.close = close, .begun = j->indent};
    put(j, open);
}

void ty_json_object(struct ty_json *j, const char *key)
{
    begin(j, key, "{", '}');
}

void ty_json_array(struct ty_json *j, const char *key)
{
    begin(j, key, "[", ']');
}

void ty_json_end(struct ty_json *j)
{
    assert(j->depth > 0);
    const struct ty_json_level *in = &j->level[--j->depth];
    if (in->lines && in->any && !j->tight) {
        ty_json_line(j, in->begun);
    }
    if (j->line) {
        break_line(j);
    }
    j->put(j->to, &in->close, 1);
}

void ty_json_rows(struct ty_json *j)
{
    j->level[j->depth - 1].rows = true;
}

void ty_json_lines(struct ty_json *j)
{
    j->level[j->depth - 1].rows = j->level[j->depth - 1].lines = true;
}

void ty_json_text(struct ty_json *j, const char *key, const char *value)
{
    ty_json_key(j, key);
    if (value != NULL) {
        ty_json_string(j->put, j->to, value, j->also);
    } else {
        put(j, "null");
    }
}

void ty_json_real(struct ty_json *j, const char *key, double value)
{
    char buf[TY_JSON_NUMBER];
    ty_json_key(j, key);
    put(j, ty_json_number(value, buf));
}

void ty_json_whole(struct ty_json *j, const char *key, uint64_t value)
{
    char buf[TY_JSON_NUMBER];
    ty_json_key(j, key);
    (void)snprintf(buf, sizeof(buf), "%" PRIu64, value);
    put(j, buf);
}

void ty_json_bool(struct ty_json *j, const char *key, bool value)
{
    ty_json_key(j, key);
    put(j, value ? "true" : "false");
}
