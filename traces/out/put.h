/* put.h - numbers and text into a buffer, fast: what a trace consists of.
 *
 * Each function writes at p, which has room, and returns the new end. Numbers are integers, two
 * digits a step; copies go in whole blocks of 16 bytes. */
#ifndef TY_TRACES_OUT_PUT_H
#define TY_TRACES_OUT_PUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TY_PUT_BLOCK 16u

extern const char ty_digit_pairs[201]; /* "000102...99" */

/* Copies n bytes in blocks: source and target must be readable and writable up to the next
 * multiple of TY_PUT_BLOCK. */
static inline char *ty_put_blocks(char *p, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i += TY_PUT_BLOCK) {
        memcpy(p + i, s + i, TY_PUT_BLOCK);
    }
    return p + n;
}

/* A string of any length. */
static inline char *ty_put_str(char *p, const char *s)
{
    const size_t n = strlen(s);
    memcpy(p, s, n);
    return p + n;
}

/* Decimal digits of x: at most 20. */
static inline char *ty_put_u64(char *p, uint64_t x)
{
    char digits[20];
    size_t i = sizeof(digits);
    while (x >= 100) {
        i -= 2;
        memcpy(digits + i, ty_digit_pairs + 2 * (x % 100), 2);
        x /= 100;
    }
    if (x >= 10) {
        i -= 2;
        memcpy(digits + i, ty_digit_pairs + 2 * x, 2);
    } else {
        digits[--i] = (char)('0' + x);
    }
    memcpy(p, digits + i, sizeof(digits) - i);
    return p + (sizeof(digits) - i);
}

/* x nanoseconds as microseconds with exactly three decimals: 1234567 -> "1234.567". */
static inline char *ty_put_ns_as_us(char *p, uint64_t x)
{
    p = ty_put_u64(p, x / 1000);
    const uint32_t rest = (uint32_t)(x % 1000);
    p[0] = '.';
    p[1] = (char)('0' + rest / 100);
    memcpy(p + 2, ty_digit_pairs + (size_t)2 * (rest % 100), 2);
    return p + 4;
}

/* x tenths of a nanosecond as microseconds with exactly four decimals: 12345678 -> "1234.5678". */
static inline char *ty_put_tenths_as_us(char *p, uint64_t x)
{
    p = ty_put_u64(p, x / 10000);
    const uint32_t rest = (uint32_t)(x % 10000);
    p[0] = '.';
    memcpy(p + 1, ty_digit_pairs + (size_t)2 * (rest / 100), 2);
    memcpy(p + 3, ty_digit_pairs + (size_t)2 * (rest % 100), 2);
    return p + 5;
}

#endif
