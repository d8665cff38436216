/* text.c - pieces of the text of a picture. */
#include <string.h>

#include "sim/base/utf8.h"
#include "traces/svg/internal.h"

/* Thousandths of the font size, of DejaVu Sans, the widest of the fonts that "sans-serif" commonly
 * means; letters in groups, each as wide as its widest (digits are 636). */
static int32_t advance(unsigned char c)
{
    static const struct {
        const char *letters;
        int32_t advance;
    } groups[] = {
        {"ijl", 290}, {" .,;:'|!I", 330}, {"tfr()[]/-", 420}, {"sczxkvy", 600}, {"mwMW%@", 990},
    };
    for (size_t i = 0; i < TY_COUNT(groups); i++) {
        if (strchr(groups[i].letters, c) != NULL) {
            return groups[i].advance;
        }
    }
    return c >= 'A' && c <= 'Z' ? 780 : 640;
}

int32_t ty_svg_text_um(const char *text, int32_t font_um)
{
    int64_t sum = 0;
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        sum += (*c & 0xC0u) == 0x80 ? 0 : advance(*c); /* once per code point */
    }
    return (int32_t)((sum * font_um + 999) / 1000);
}

size_t ty_svg_text_fits(const char *text, int32_t font_um, int32_t um)
{
    const unsigned char *c = (const unsigned char *)text;
    const int64_t most = (int64_t)um * 1000 / font_um;
    int64_t sum = 0;
    size_t n = 0;
    while (c[n] != '\0') {
        sum += advance(c[n]);
        if (n > 0 && sum > most) {
            break;
        }
        for (n++; (c[n] & 0xC0u) == 0x80; n++) {}
    }
    return n;
}

void ty_svg_put_um(struct ty_text *out, int64_t um)
{
    char digits[32];
    size_t n = 0;
    int64_t rest = um < 0 ? -um : um;
    int places = 3;
    for (; places > 0 && rest % 10 == 0; places--) {
        rest /= 10;
    }
    for (int i = 0; i < places; i++, rest /= 10) {
        digits[n++] = (char)('0' + rest % 10);
    }
    if (places > 0) {
        digits[n++] = '.';
    }
    for (; rest > 0 || n == 0; rest /= 10) { /* ".5" needs no zero */
        digits[n++] = (char)('0' + rest % 10);
    }
    if (um < 0) {
        digits[n++] = '-';
    }
    for (size_t i = 0; i < n / 2; i++) {
        const char c = digits[i];
        digits[i] = digits[n - 1 - i];
        digits[n - 1 - i] = c;
    }
    ty_text_bytes(out, digits, n);
}

/* Bytes at the beginning that stand for themselves: printable ASCII without markup. */
static size_t plain_bytes(const char *text)
{
    size_t n = 0;
    while (text[n] >= 0x20 && text[n] < 0x7F && text[n] != '&' && text[n] != '<' &&
           text[n] != '>' && text[n] != '"') {
        n++;
    }
    return n;
}

void ty_svg_put_escaped(struct ty_text *out, const char *text)
{
    for (;;) {
        const size_t n = plain_bytes(text);
        ty_text_bytes(out, text, n);
        text += n;
        if (*text == '\0') {
            return;
        }
        const struct ty_utf8_char c = ty_utf8_next(text, strnlen(text, 4));
        const char *as = c.code == '&'   ? "&amp;"
                         : c.code == '<' ? "&lt;"
                         : c.code == '>' ? "&gt;"
                         : c.code == '"' ? "&quot;"
                         : !c.shown      ? "?" /* XML has no escapes for most of these */
                                         : NULL;
        ty_text_bytes(out, as != NULL ? as : text, as != NULL ? strlen(as) : c.bytes);
        text += c.bytes;
    }
}
