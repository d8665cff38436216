/* words.c - formats counts, seconds, bytes and shares for reports. */
#include "sim/base/words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/number_text.h"

char *ty_words_count(double x, char *buf, size_t size)
{
    char digits[32];
    ty_snprintf(digits, sizeof(digits), "%.0f", x);
    size_t n = strlen(digits), at = 0;
    for (size_t i = 0; i < n && at + 2 < size; i++) {
        if (i > 0 && (n - i) % 3 == 0 && digits[i - 1] != '-') {
            buf[at++] = ',';
        }
        buf[at++] = digits[i];
    }
    buf[at] = '\0';
    return buf;
}

char *ty_words_seconds(double s, char *buf, size_t size)
{
    static const struct {
        double unit;
        const char *name;
    } units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    size_t u = 0;
    while (u + 1 < sizeof(units) / sizeof(units[0]) && s < units[u].unit) {
        u++;
    }
    const double x = s / units[u].unit;
    int decimals = 3;
    for (double limit = 10; limit <= 1000 && x >= limit; limit *= 10) {
        decimals--;
    }
    if (s == 0) {
        ty_snprintf(buf, size, "0 s");
    } else {
        ty_snprintf(buf, size, "%.*f %s", decimals, x, units[u].name);
    }
    return buf;
}

char *ty_words_bytes(double bytes, char *buf, size_t size)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t u = 0;
    while (bytes >= 1024 && u + 1 < sizeof(names) / sizeof(names[0])) {
        bytes /= 1024;
        u++;
    }
    ty_snprintf(buf, size, "%.*f %s", u == 0 ? 0 : 1, bytes, names[u]);
    return buf;
}

char *ty_words_share(double share, char *buf, size_t size)
{
    ty_snprintf(buf, size, "%.2f %%", 100 * share);
    return buf;
}

char *ty_words_range(unsigned first, unsigned count, char *buf, size_t size)
{
    if (count == 0) {
        ty_snprintf(buf, size, "none");
    } else if (count == 1) {
        ty_snprintf(buf, size, "%u", first);
    } else {
        ty_snprintf(buf, size, "%u-%u", first, first + count - 1);
    }
    return buf;
}
