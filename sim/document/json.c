/* json.c - see json.h. */
#include "sim/document/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/base/text.h"
#include "sim/base/utf8.h"

#define REPLACEMENT 0xFFFDu /* the character that Unicode has for what could not be read */

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

size_t ty_json_plain(const char *s, const char *also)
{
    size_t n = 0;
    while ((unsigned char)s[n] >= 0x20 && (unsigned char)s[n] < 0x7F && s[n] != '"' &&
           s[n] != '\\' && strchr(also, s[n]) == NULL) {
        n++;
    }
    return n;
}

size_t ty_json_escape(const char *s, char buf[TY_JSON_ESCAPE])
{
    const struct ty_utf8_char c = ty_utf8_next(s, strnlen(s, 4));
    if (c.code == '"' || c.code == '\\') {
        (void)snprintf(buf, TY_JSON_ESCAPE, "\\%c", *s);
    } else if (c.code < 0x7F || !c.shown) {
        const uint16_t code = c.code == TY_UTF8_BROKEN ? REPLACEMENT : (uint16_t)c.code;
        (void)snprintf(buf, TY_JSON_ESCAPE, "\\u%04x", (unsigned)code);
    } else {
        memcpy(buf, s, c.bytes);
        buf[c.bytes] = '\0';
    }
    return c.bytes;
}

void ty_json_put(struct ty_text *text, const char *s)
{
    ty_text_bytes(text, "\"", 1);
    while (*s != '\0') {
        char buf[TY_JSON_ESCAPE];
        const size_t n = ty_json_plain(s, "");
        ty_text_bytes(text, s, n);
        s += n;
        if (*s != '\0') {
            s += ty_json_escape(s, buf);
            ty_text_bytes(text, buf, strlen(buf));
        }
    }
    ty_text_bytes(text, "\"", 1);
}

void ty_json_put_member(struct ty_text *text, const char *key, double x)
{
    char buf[TY_JSON_NUMBER];
    ty_text_add(text, "\"%s\": %s", key, ty_json_number(x, buf));
}
