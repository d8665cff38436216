/* number_text.c - converts numbers from and to text with a decimal point in any locale. */
#include "sim/base/number_text.h"

#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static locale_t c_locale;

static void make(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* The calling thread's locale is "C"; returns what it was. Without memory for a locale, which glibc
 * does not need for this one, it stays what it is. */
static locale_t enter(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, make);
    return uselocale(c_locale);
}

int ty_vsnprintf(char *buf, size_t size, const char *format, va_list args)
{
    const locale_t before = enter();
    const int n = vsnprintf(buf, size, format, args);
    (void)uselocale(before);
    return n;
}

int ty_snprintf(char *buf, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = ty_vsnprintf(buf, size, format, args);
    va_end(args);
    return n;
}

double ty_strtod(const char *text, char **end)
{
    const locale_t before = enter();
    const double x = strtod(text, end);
    (void)uselocale(before);
    return x;
}

bool ty_scan_number(const char **at, const char *end, uint32_t max, uint32_t *out)
{
    const char *p = *at;
    uint64_t value = 0;
    *out = 0;
    for (; p != end && *p >= '0' && *p <= '9'; p++) {
        value = 10 * value + (uint64_t)(*p - '0');
        if (value > max) {
            return false;
        }
    }
    if (p == *at) {
        return false;
    }
    *at = p;
    *out = (uint32_t)value;
    return true;
}
