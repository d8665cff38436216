/* text.h - a string that grows while it is written.
 *
 * Nothing needs checking while writing: a failed allocation is remembered, later additions do
 * nothing, and take returns NULL. */
#ifndef TY_BASE_TEXT_H
#define TY_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "sim/base/compiler.h"

#define TY_TEXT_MAX ((size_t)1 << 30) /* bytes; beyond it the text has failed */

/* Zero-initialise. */
struct ty_text {
    char *data; /* [cap], zero-terminated when len > 0 */
    size_t len, cap;
    bool failed;
};

/* Appends lines, fit to be shown whatever was put into them: ty_utf8_sanitize_line. */
void ty_text_add(struct ty_text *text, const char *format, ...) TY_PRINTF(2, 3);

/* Appends bytes as they are. */
void ty_text_bytes(struct ty_text *text, const char *bytes, size_t n);

/* Appends spaces until the last line has `column` characters (UTF-8 counted by code point), at
 * least one. */
void ty_text_pad(struct ty_text *text, size_t column);

/* Hands the string over ("" when nothing was added) and leaves the text empty; NULL when memory was
 * exhausted. The caller frees it. */
char *ty_text_take(struct ty_text *text);

/* Frees what is held; the text is empty and usable again. */
void ty_text_release(struct ty_text *text);

static inline bool ty_text_begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Moves behind the blanks at *text. */
static inline void ty_text_skip_blanks(const char **text)
{
    *text += strspn(*text, " \t");
}

/* And behind a word that comes next, up to a blank or the end; false: another one does. */
static inline bool ty_text_take_word(const char **text, const char *word)
{
    const size_t n = strlen(word);
    ty_text_skip_blanks(text);
    if (!ty_text_begins(*text, word) || strchr(" \t", (*text)[n]) == NULL) {
        return false;
    }
    *text += n;
    return true;
}

/* Where text[0..*n) begins without the blanks around it; *n becomes the length that is left. */
const char *ty_text_trim(const char *text, size_t *n);

#endif
