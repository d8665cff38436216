/* words.h - how the reports write numbers for people. */
#ifndef TY_BASE_WORDS_H
#define TY_BASE_WORDS_H

#include <stddef.h>

/* 1234567.8 -> "1,234,568". Returns buf. */
char *ty_words_count(double x, char *buf, size_t size);

/* Seconds with a fitting unit and four significant digits: "12.34 s", "3.456 ms", "78.90 us". */
char *ty_words_seconds(double s, char *buf, size_t size);

/* Bytes with a binary prefix and one decimal: "63.4 GiB". */
char *ty_words_bytes(double bytes, char *buf, size_t size);

/* A share with two decimals: "4.69 %". */
char *ty_words_share(double share, char *buf, size_t size);

/* Numbers from `first` on: "10-19", "7-7", "none". */
char *ty_words_range(unsigned first, unsigned count, char *buf, size_t size);

#endif
