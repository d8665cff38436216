/* comma_locale.c - to be preloaded: the program has chosen the locale of its environment before
 * main, as graphical programs and some languages do. Ends the program where there is no such locale
 * or it writes 1.5 as 1.5: the test would prove nothing. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor)) static void start(void)
{
    if (setlocale(LC_ALL, "") == NULL || localeconv()->decimal_point[0] != ',') {
        fputs("no locale with a decimal comma\n", stderr);
        abort();
    }
}
