/* json.c - see json.h. */
#include "sim/base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/base/text.h"

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

const char *ty_json_escape(unsigned char c, char buf[8])
{
    if (c == '"' || c == '\\') {
        snprintf(buf, 8, "\\%c", c);
        return buf;
    }
    if (c < 0x20) {
        snprintf(buf, 8, "\\u%04x", (unsigned)c);
        return buf;
    }
    return NULL;
}

void ty_json_put(struct ty_text *text, const char *s)
{
    char buf[8];
    ty_text_add(text, "\"");
    for (; *s != '\0'; s++) {
        const char *escape = ty_json_escape((unsigned char)*s, buf);
        ty_text_bytes(text, escape != NULL ? escape : s, escape != NULL ? strlen(escape) : 1);
    }
    ty_text_add(text, "\"");
}

void ty_json_put_member(struct ty_text *text, const char *key, double x)
{
    char buf[TY_JSON_NUMBER];
    ty_text_add(text, "\"%s\": %s", key, ty_json_number(x, buf));
}
