/* number_text.h - numbers in text, with a decimal point whatever the locale of the program.
 *
 * A program that uses the library may have chosen a locale in which 1.5 is written 1,5. Run files,
 * traces and tables have one spelling: every real number of the library is written and read by
 * these (tests/lint/numbers.py). They are the functions of the C library that have these names, in
 * the "C" locale for the calling thread and the time of the call. */
#ifndef TY_BASE_NUMBER_TEXT_H
#define TY_BASE_NUMBER_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/compiler.h"

int ty_snprintf(char *buf, size_t size, const char *format, ...) TY_PRINTF(3, 4);
int ty_vsnprintf(char *buf, size_t size, const char *format, va_list args) TY_PRINTF(3, 0);
double ty_strtod(const char *text, char **end);

/* The whole number whose decimal digits stand at *at, before `end` (NULL: the text ends with a
 * zero); *at moves behind them. False where there are none, or the number is above max:
 * then *at stays and *out is 0. */
bool ty_scan_number(const char **at, const char *end, uint32_t max, uint32_t *out);

#endif
