/* units.c - numbers as people write them.
 *
 * Reading is exact: the digits, the decimal point and every power of ten (of the exponent and of
 * the unit) are brought into the form "digits e exponent", converted once with correct rounding;
 * what is left (1024s, and 8 bits in a byte) are powers of two. So "2 us" is the double nearest to
 * 2e-6, and no radix character ever reaches a function that depends on the locale. */
#include "sim/base/units.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sim/base/compiler.h"
#include "sim/base/err.h"
#include "sim/base/number_text.h"

#define TEXT_BYTES  64  /* a formatted quantity */
#define WHY_BYTES   256 /* a message */
#define SHOWN_BYTES 40  /* of a wrong value, in a message */

/* One way to write a quantity: value = number * 10^ten * 2^two * times base units. */
struct unit {
    const char *name;
    enum ty_dimension dim;
    int ten, two;
    bool writes; /* used for output, too */
    int times;
};

/* All sizes of a unit; bits are 2^-3 bytes. */
#define SI_UNITS(dim, name, two, writes)                                                           \
    {name, dim, 0, two, writes, 1}, {"k" name, dim, 3, two, writes, 1},                            \
        {"M" name, dim, 6, two, writes, 1}, {"G" name, dim, 9, two, writes, 1},                    \
        {"T" name, dim, 12, two, writes, 1}, {"P" name, dim, 15, two, writes, 1},                  \
    {                                                                                              \
        "E" name, dim, 18, two, writes, 1                                                          \
    }
#define BINARY_UNITS(dim, name, two, writes)                                                       \
    {"Ki" name, dim, 0, 10 + (two), writes, 1}, {"Mi" name, dim, 0, 20 + (two), writes, 1},        \
        {"Gi" name, dim, 0, 30 + (two), writes, 1}, {"Ti" name, dim, 0, 40 + (two), writes, 1},    \
    {                                                                                              \
        "Pi" name, dim, 0, 50 + (two), writes, 1                                                   \
    }

/* Rows of one dimension that write stand in the order of preference for equally short texts. */
static const struct unit units[] = {
    {"s", TY_DIM_SECONDS, 0, 0, true, 1},
    {"ms", TY_DIM_SECONDS, -3, 0, true, 1},
    {"us", TY_DIM_SECONDS, -6, 0, true, 1},
    {"\xC2\xB5s", TY_DIM_SECONDS, -6, 0, false, 1}, /* U+00B5 micro sign */
    {"\xCE\xBCs", TY_DIM_SECONDS, -6, 0, false, 1}, /* U+03BC Greek mu */
    {"ns", TY_DIM_SECONDS, -9, 0, true, 1},
    {"ps", TY_DIM_SECONDS, -12, 0, true, 1},
    {"min", TY_DIM_SECONDS, 0, 0, false, 60},
    {"h", TY_DIM_SECONDS, 0, 0, false, 3600},
    {"d", TY_DIM_SECONDS, 0, 0, false, 86400},
    SI_UNITS(TY_DIM_BYTES, "B", 0, true),
    BINARY_UNITS(TY_DIM_BYTES, "B", 0, true),
    SI_UNITS(TY_DIM_BYTES, "b", -3, false),
    BINARY_UNITS(TY_DIM_BYTES, "b", -3, false),
    SI_UNITS(TY_DIM_BYTES_PER_S, "B/s", 0, true),
    SI_UNITS(TY_DIM_BYTES_PER_S, "b/s", -3, false),
    BINARY_UNITS(TY_DIM_BYTES_PER_S, "B/s", 0, false),
    BINARY_UNITS(TY_DIM_BYTES_PER_S, "b/s", -3, false),
    {"mm", TY_DIM_METRES, -3, 0, true, 1},
    {"cm", TY_DIM_METRES, -2, 0, false, 1},
    {"m", TY_DIM_METRES, 0, 0, true, 1},
    SI_UNITS(TY_DIM_FLOPS, "FLOP/s", 0, true),
    SI_UNITS(TY_DIM_WATTS, "W", 0, true),
    {"%", TY_DIM_RATIO, -2, 0, false, 1},
};

static const struct {
    const char *base, *example;
} dimensions[] = {
#define X(name, base, example) {base, example},
    TY_DIMENSIONS(X)
#undef X
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

#define DIGITS_MAX 40 /* more digits than that are not a measurement */

/* A decimal number taken apart: digits * 10^ten. */
struct decimal {
    char digits[DIGITS_MAX + 2]; /* with sign, zero-terminated */
    int ten;
};

/* The exponent at p, "e-3", and moves behind it; 0 where there is none. */
static int exponent_read(const char **p)
{
    if (**p != 'e' && **p != 'E') {
        return 0;
    }
    const bool negative = (*p)[1] == '-';
    const char *e = *p + 1 + (negative || (*p)[1] == '+');
    if (!is_digit(*e)) {
        return 0;
    }
    int exponent = 0;
    for (; is_digit(*e); e++) {
        exponent = exponent < 10000 ? exponent * 10 + (*e - '0') : exponent;
    }
    *p = e;
    return negative ? -exponent : exponent;
}

/* Reads a decimal number at *text and moves behind it. False: there is none, or it is too long. */
static bool decimal_read(const char **text, struct decimal *d)
{
    const char *p = *text;
    size_t n = 0, n_digits = 0;
    bool point = false;
    d->ten = 0;
    if (*p == '-' || *p == '+') {
        d->digits[n++] = *p++;
    }
    for (; is_digit(*p) || (*p == '.' && !point); p++) {
        if (*p == '.') {
            point = true;
            continue;
        }
        if (++n_digits > DIGITS_MAX) {
            return false;
        }
        d->digits[n++] = *p;
        d->ten -= point;
    }
    d->digits[n] = '\0';
    if (n_digits == 0) {
        return false;
    }
    d->ten += exponent_read(&p);
    *text = p;
    return true;
}

/* digits * 10^ten * 2^two, correctly rounded. */
static double decimal_value(const struct decimal *d, int ten, int two)
{
    char text[sizeof(d->digits) + 16];
    (void)snprintf(text, sizeof(text), "%se%d", d->digits, d->ten + ten);
    return ldexp(ty_strtod(text, NULL), two);
}

/* The unit called name[0..len) in dimension `dim`; TY_N_DIMENSIONS: in any. */
static const struct unit *unit_find(const char *name, size_t len, enum ty_dimension dim)
{
    for (size_t i = 0; i < TY_COUNT(units); i++) {
        if ((dim == TY_N_DIMENSIONS || units[i].dim == dim) && strlen(units[i].name) == len &&
            memcmp(units[i].name, name, len) == 0) {
            return &units[i];
        }
    }
    return NULL;
}

/* A text that could not be read, and where its unit is. */
struct reading {
    const char *text, *unit;
    size_t len, unit_len;
    enum ty_dimension dim;
    const char *example; /* that a message shows */
};

/* The name that differs from a word in case only; of bits and bytes the bytes. */
static const char *other_case(const char *word, const char *const *names, size_t n)
{
    const char *found = NULL;
    for (size_t i = 0; i < n; i++) {
        if (strcasecmp(word, names[i]) == 0 && (found == NULL || strchr(names[i], 'B') != NULL)) {
            found = names[i];
        }
    }
    return found;
}

/* Writes "what (text); remedy": the nearest unit for a misspelt one, else an example. */
static int unit_fail(const struct reading *r, const char *what, char *why, size_t why_size)
{
    const char *names[TY_COUNT(units)];
    size_t n = 0;
    for (size_t i = 0; i < TY_COUNT(units); i++) {
        if (units[i].dim == r->dim) {
            names[n++] = units[i].name;
        }
    }
    char word[24] = "";
    if (r->unit_len > 0 && r->unit_len < sizeof(word)) {
        memcpy(word, r->unit, r->unit_len);
    }
    const char *nearest = other_case(word, names, n);
    nearest = nearest == NULL && word[0] != '\0' ? ty_nearest(word, names, n) : nearest;
    const char *remedy =
        r->dim == TY_DIM_COUNT && r->unit_len > 0 ? "write just the number, like" : "write it like";
    const int shown = r->len < SHOWN_BYTES ? (int)r->len : SHOWN_BYTES;
    if (nearest && r->unit_len > 0) {
        const int number = (int)(r->unit - r->text) - (r->unit[-1] == ' ');
        (void)snprintf(why, why_size, "%s (%.*s); did you mean \"%.*s %s\"?", what, shown, r->text,
                       number < SHOWN_BYTES ? number : SHOWN_BYTES, r->text, nearest);
    } else {
        (void)snprintf(why, why_size, "%s (%.*s); %s %s", what, shown, r->text, remedy, r->example);
    }
    return -1;
}

/* What is wrong with a unit that was not found. */
static const char *unit_problem(const struct reading *r)
{
    if (r->unit_len == 0) {
        return "a bare number where a unit is due";
    }
    if (r->dim == TY_DIM_COUNT) {
        return "a unit where a bare number is due";
    }
    return unit_find(r->unit, r->unit_len, TY_N_DIMENSIONS) ? "a unit of another kind"
                                                            : "an unknown unit";
}

int ty_quantity_parse(const char *text, enum ty_dimension dim, double *out, char *why,
                      size_t why_size)
{
    return ty_quantity_parse_like(text, dim, dimensions[dim].example, out, why, why_size);
}

int ty_quantity_parse_like(const char *text, enum ty_dimension dim, const char *example,
                           double *out, char *why, size_t why_size)
{
    struct reading r = {.text = text + strspn(text, " "), .dim = dim, .example = example};
    r.len = strlen(r.text);
    while (r.len > 0 && r.text[r.len - 1] == ' ') {
        r.len--;
    }
    const char *p = r.text;
    struct decimal number;
    if (r.len == 0 || !decimal_read(&p, &number)) {
        return unit_fail(&r, "not a number", why, why_size);
    }
    p += strspn(p, " ");
    r.unit = p;
    r.unit_len = p < r.text + r.len ? (size_t)(r.text + r.len - p) : 0;
    const struct unit *unit = unit_find(r.unit, r.unit_len, dim);
    const bool bare = r.unit_len == 0 && (dim == TY_DIM_COUNT || dim == TY_DIM_RATIO);
    if (!unit && !bare) {
        return unit_fail(&r, unit_problem(&r), why, why_size);
    }
    const int times = unit ? unit->times : 1;
    const double value = times * decimal_value(&number, unit ? unit->ten : 0, unit ? unit->two : 0);
    if (!isfinite(value)) {
        r.unit_len = 0;
        return unit_fail(&r, "too large a number", why, why_size);
    }
    *out = value;
    return 0;
}

/* Writes the value in one unit with 6 significant digits. True when that is without an exponent and
 * reads back as the value. */
static bool unit_write(double value, const struct unit *unit, char *buf, size_t size)
{
    const double power = pow(10.0, abs(unit->ten));
    const double scaled = ldexp(unit->ten < 0 ? value * power : value / power, -unit->two);
    (void)ty_snprintf(buf, size, "%.6g", scaled);
    const bool exponent = strchr(buf, 'e') != NULL;
    if (unit->name[0] != '\0') {
        const size_t len = strlen(buf);
        (void)snprintf(buf + len, size - len, " %s", unit->name);
    }
    double back = 0;
    char why[WHY_BYTES];
    return !exponent && ty_quantity_parse(buf, unit->dim, &back, why, sizeof(why)) == 0 &&
           back == value;
}

/* Of the units that bring the value to at least 1, the largest; else the smallest of all. */
static const struct unit *unit_near(double value, enum ty_dimension dim)
{
    const struct unit *best = NULL, *smallest = NULL;
    for (size_t i = 0; i < TY_COUNT(units); i++) {
        const struct unit *u = &units[i];
        if (u->dim != dim || !u->writes || u->two != 0) {
            continue;
        }
        if (fabs(value) >= pow(10.0, u->ten) && (!best || u->ten > best->ten)) {
            best = u;
        }
        if (!smallest || u->ten < smallest->ten) {
            smallest = u;
        }
    }
    return best ? best : smallest;
}

/* Counts and shares have one way to be written each. */
static void bare_format(double value, enum ty_dimension dim, char *text, size_t size)
{
    static const struct unit plain = {"", TY_DIM_COUNT, 0, 0, true, 1};
    static const struct unit percent = {"%", TY_DIM_RATIO, -2, 0, true, 1};
    const bool share = dim == TY_DIM_RATIO && value >= 0 && value <= 1;
    if (!unit_write(value, share ? &percent : &plain, text, size) && fabs(value) >= 1e6 &&
        fabs(value) < 1e18) {
        (void)ty_snprintf(text, size, "%.0f", value);
    }
}

char *ty_quantity_format(double value, enum ty_dimension dim, char *buf, size_t size)
{
    char text[TEXT_BYTES], shortest[TEXT_BYTES] = "";
    if (dim == TY_DIM_COUNT || dim == TY_DIM_RATIO) {
        bare_format(value, dim, shortest, sizeof(shortest));
    } else if (value == 0) {
        (void)snprintf(shortest, sizeof(shortest), "0 %s", dimensions[dim].base);
    }
    const bool done = shortest[0] != '\0';
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < TY_COUNT(units) && !done; i++) {
        if (units[i].dim == dim && units[i].writes &&
            unit_write(value, &units[i], text, sizeof(text))) {
            /* "2.039 TB/s" reads better than "2039 GB/s". */
            const size_t length = strlen(text) + (strspn(text, "0123456789") > 3 ? 2 : 0);
            if (length < least) {
                least = length;
                memcpy(shortest, text, sizeof(shortest));
            }
        }
    }
    if (shortest[0] == '\0') {
        (void)unit_write(value, unit_near(value, dim), shortest, sizeof(shortest));
    }
    (void)snprintf(buf, size, "%s", shortest);
    return buf;
}

const char *ty_dimension_example(enum ty_dimension dim)
{
    return dimensions[dim].example;
}

const char *ty_dimension_base(enum ty_dimension dim)
{
    return dimensions[dim].base;
}

int ty_ps_from_s(double s, ty_ps *out)
{
    const double ps = s * 1e12;
    if (!(ps >= 0 && ps <= 0x1p62)) {
        return -1;
    }
    const double whole = floor(ps);
    *out = (ty_ps)whole + (ps - whole >= 0.5);
    return 0;
}
