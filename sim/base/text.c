/* text.c - a string that doubles its room when it is full. */
#include "sim/base/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/base/utf8.h"

/* Room for n more bytes and the terminator. */
static bool text_reserve(struct ty_text *text, size_t n)
{
    if (text->failed || n >= TY_TEXT_MAX - text->len) {
        text->failed = true;
        return false;
    }
    const size_t need = text->len + n + 1;
    if (need <= text->cap) {
        return true;
    }
    size_t cap = text->cap ? text->cap : 256;
    while (cap < need) {
        cap *= 2;
    }
    char *data = realloc(text->data, cap);
    if (!data) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->cap = cap;
    return true;
}

void ty_text_bytes(struct ty_text *text, const char *bytes, size_t n)
{
    if (!text_reserve(text, n)) {
        return;
    }
    if (n > 0) {
        memcpy(text->data + text->len, bytes, n);
    }
    text->len += n;
    text->data[text->len] = '\0';
}

/* Into the room that there is, mostly enough; what did not fit is formatted again. */
void ty_text_add(struct ty_text *text, const char *format, ...)
{
    va_list args;
    const size_t room = text->failed ? 0 : text->cap - text->len;
    va_start(args, format);
    const int n = ty_vsnprintf(room > 0 ? text->data + text->len : NULL, room, format, args);
    va_end(args);
    if (n < 0 || !text_reserve(text, (size_t)n)) {
        text->failed = true;
        return;
    }
    if ((size_t)n >= room) {
        va_start(args, format);
        (void)ty_vsnprintf(text->data + text->len, (size_t)n + 1, format, args);
        va_end(args);
    }
    text->len += ty_utf8_sanitize_line(text->data + text->len, (size_t)n);
    text->data[text->len] = '\0';
}

void ty_text_pad(struct ty_text *text, size_t column)
{
    size_t at = 0;
    for (size_t i = text->len; i > 0 && text->data[i - 1] != '\n'; i--) {
        at += ty_utf8_begins(text->data[i - 1]);
    }
    do {
        ty_text_bytes(text, " ", 1);
        at++;
    } while (at < column && !text->failed);
}

char *ty_text_take(struct ty_text *text)
{
    ty_text_bytes(text, "", 0);
    char *data = text->data;
    if (text->failed) {
        free(data);
        data = NULL;
    }
    *text = (struct ty_text){0};
    return data;
}

void ty_text_release(struct ty_text *text)
{
    free(text->data);
    *text = (struct ty_text){0};
}

const char *ty_text_trim(const char *text, size_t *n)
{
    while (*n > 0 && (*text == ' ' || *text == '\t')) {
        text++;
        (*n)--;
    }
    while (*n > 0 && (text[*n - 1] == ' ' || text[*n - 1] == '\t')) {
        (*n)--;
    }
    return text;
}
