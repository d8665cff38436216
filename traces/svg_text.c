/* svg_text.c - pieces of the text of a picture. */
#include <string.h>

#include "traces/svg_internal.h"

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

/* Bytes of a sequence that begins so in UTF-8; 0: none does. */
static size_t sequence_bytes(unsigned char first)
{
    return first < 0x80   ? 1
           : first < 0xC2 ? 0
           : first < 0xE0 ? 2
           : first < 0xF0 ? 3
           : first < 0xF5 ? 4
                          : 0;
}

/* Whether a sequence of the right length is longer than it need be, a surrogate, beyond Unicode, or
 * what XML does not allow. */
static bool is_excluded(const unsigned char *c)
{
    switch (c[0]) {
    case 0xC2:
    case 0xE0:
        return c[1] < 0xA0;
    case 0xED:
        return c[1] > 0x9F;
    case 0xEF:
        return c[1] == 0xBF && c[2] >= 0xBE;
    case 0xF0:
        return c[1] < 0x90;
    case 0xF4:
        return c[1] > 0x8F;
    default:
        return c[0] < 0x20 || c[0] == 0x7F;
    }
}

/* Bytes of a well-formed UTF-8 sequence that XML allows; 0: none begins here. */
static size_t sequence(const unsigned char *c)
{
    const size_t n = sequence_bytes(c[0]);
    for (size_t i = 1; i < n; i++) {
        if ((c[i] & 0xC0u) != 0x80) {
            return 0;
        }
    }
    return n > 0 && is_excluded(c) ? 0 : n;
}

void ty_svg_put_escaped(struct ty_text *out, const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    while (*c != '\0') {
        const size_t n = sequence(c);
        const char *as = *c == '&'   ? "&amp;"
                         : *c == '<' ? "&lt;"
                         : *c == '>' ? "&gt;"
                         : *c == '"' ? "&quot;"
                         : n == 0    ? "?"
                                     : NULL;
        if (as != NULL) {
            ty_text_bytes(out, as, strlen(as));
        } else {
            ty_text_bytes(out, (const char *)c, n);
        }
        c += n == 0 ? 1 : n;
    }
}
