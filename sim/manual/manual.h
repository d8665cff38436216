/* manual.h - manual pages and docs/keys.md, made while trainyard is built.
 *
 * All of it is told once, in sim/cli/table.h and by ty_keys_new; a form is a file with one function
 * that writes it to standard output, and a row in main.c. */
#ifndef TY_MANUAL_MANUAL_H
#define TY_MANUAL_MANUAL_H

#include "sim/cli/table.h"
#include "sim/cli_api.h"

#define MANUAL_WORDS_MAX 64

/* Words that may stand somewhere, and what they mean. */
struct manual_words {
    size_t n;
    struct ty_key_word word[MANUAL_WORDS_MAX];
    char text[4096]; /* what they point into, where they are cut out of something */
};

struct manual {
    struct ty_keys *keys;
    struct manual_words formats, catalogues;
    char date[16];       /* "2026-11-21", or "" */
    const char *doc_dir; /* where the guides are installed */
};

/* Looks everything up. Prints what is wrong and returns non-zero. */
int manual_init(struct manual *manual, const char *doc_dir);
void manual_release(struct manual *manual);

/* The commands of an option as "run, check"; returns buf. */
char *manual_commands(const struct cli_option_row *row, char *buf, size_t size);

/* The forms. */
void manual_page(const struct manual *manual);      /* trainyard(1) */
void manual_page_keys(const struct manual *manual); /* trainyard(5), the run file */
void manual_markdown(const struct manual *manual);  /* docs/keys.md */

#endif
