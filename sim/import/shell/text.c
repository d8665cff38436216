/* text.c - texts with marks, and doubts; see shell.h. */
#include <stdarg.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/base/path.h"
#include "sim/import/shell/shell.h"

#define SPENT_MAX  (16u << 20) /* bytes that a script may expand to */
#define DOUBTS_MAX 60000u
#define WHY        400u

/* What costs memory is counted: a script that doubles a text in a loop ends here. */
static bool spend(struct ty_shell *sh, size_t bytes)
{
    sh->spent += bytes;
    if (sh->spent <= SPENT_MAX) {
        return true;
    }
    if (!sh->ended) {
        const struct ty_draft_from from = {.word = sh->n_files > 0 ? sh->files[0]->path : ""};
        ty_draft_refuse(sh->draft, &from, "it expands to more than %u MiB of text",
                        SPENT_MAX >> 20);
        sh->ended = true;
    }
    return false;
}

bool ty_shell_grow(struct ty_shell *sh, void **items, uint32_t n, uint32_t *cap, size_t size)
{
    if (n < *cap) {
        return true;
    }
    const uint32_t more = *cap > 0 ? 2 * *cap : 8;
    void *array = spend(sh, more * size / 8) ? ty_arena_alloc(sh->draft->arena, more, size) : NULL;
    if (array == NULL) {
        if (!sh->ended) {
            sh->draft->code = ty_fail_memory(sh->draft->err);
            sh->ended = true;
        }
        return false;
    }
    if (*cap > 0) {
        memcpy(array, *items, *cap * size);
    }
    *items = array;
    *cap = more;
    return true;
}

/* Room for n more bytes and a zero. */
static bool reserve(struct ty_shell *sh, struct ty_shell_text *t, size_t n)
{
    if (t->len + n + 1 <= t->cap) {
        return spend(sh, n);
    }
    const size_t cap = 2 * (t->len + n) + 16;
    char *bytes = NULL;
    struct ty_shell_mark *marks = NULL;
    if (spend(sh, n) && cap < SPENT_MAX) {
        bytes = ty_arena_array(sh->draft->arena, char, cap);
        marks = ty_arena_array(sh->draft->arena, struct ty_shell_mark, cap);
    }
    if (bytes == NULL || marks == NULL) {
        sh->ended = true;
        return false;
    }
    if (t->len > 0) {
        memcpy(bytes, t->bytes, t->len);
        memcpy(marks, t->marks, t->len * sizeof(marks[0]));
    }
    t->bytes = bytes;
    t->marks = marks;
    t->cap = (uint32_t)cap;
    return true;
}

void ty_shell_puts(struct ty_shell *sh, struct ty_shell_text *t, const char *bytes, size_t n,
                   struct ty_shell_mark mark)
{
    if (!reserve(sh, t, n)) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        t->bytes[t->len] = bytes[i];
        t->marks[t->len++] = mark;
    }
    t->bytes[t->len] = '\0';
}

void ty_shell_put(struct ty_shell *sh, struct ty_shell_text *t, char c, struct ty_shell_mark mark)
{
    ty_shell_puts(sh, t, &c, 1, mark);
}

void ty_shell_append(struct ty_shell *sh, struct ty_shell_text *t, const struct ty_shell_text *more)
{
    const struct ty_shell_text from = *more; /* it may be the same */
    if (from.len == 0 || !reserve(sh, t, from.len)) {
        return;
    }
    memmove(t->bytes + t->len, from.bytes, from.len);
    memmove(t->marks + t->len, from.marks, from.len * sizeof(from.marks[0]));
    t->len += from.len;
    t->bytes[t->len] = '\0';
}

struct ty_shell_text ty_shell_part(struct ty_shell *sh, const struct ty_shell_text *t,
                                   uint32_t from, uint32_t n)
{
    struct ty_shell_text part = {.len = 0};
    const uint32_t begin = from < t->len ? from : t->len;
    const uint32_t left = t->len - begin;
    if (left > 0) { /* else there may be no bytes to point into */
        const struct ty_shell_text source = {
            .bytes = t->bytes + begin, .marks = t->marks + begin, .len = n < left ? n : left};
        ty_shell_append(sh, &part, &source);
    }
    return part;
}

const char *ty_shell_string(const struct ty_shell_text *t)
{
    return t->len > 0 ? t->bytes : "";
}

void ty_shell_add_word(struct ty_shell *sh, struct ty_shell_words *words,
                       const struct ty_shell_text *word)
{
    void *items = words->item;
    if (ty_shell_grow(sh, &items, words->n, &words->cap, sizeof(words->item[0]))) {
        words->item = items;
        words->item[words->n++] = *word;
    }
}

/* ---- doubts ---- */

uint16_t ty_shell_doubt_of(const struct ty_shell_text *t)
{
    for (uint32_t i = 0; i < t->len; i++) {
        if (t->marks[i].doubt != 0) {
            return t->marks[i].doubt;
        }
    }
    return 0;
}

uint16_t ty_shell_doubt(struct ty_shell *sh, bool unset, const char *format, ...)
{
    char why[WHY];
    va_list args;
    va_start(args, format);
    (void)ty_vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    for (uint32_t i = 1; i <= sh->n_doubts; i++) {
        if (strcmp(sh->doubts[i].why, why) == 0) {
            return (uint16_t)i;
        }
    }
    void *items = sh->doubts;
    if (sh->n_doubts >= DOUBTS_MAX ||
        !ty_shell_grow(sh, &items, sh->n_doubts + 1, &sh->cap_doubts, sizeof(sh->doubts[0]))) {
        sh->ended = true;
        return 1;
    }
    sh->doubts = items;
    sh->doubts[++sh->n_doubts] =
        (struct ty_shell_doubt){.why = ty_draft_text(sh->draft, "%s", why), .unset = unset};
    return (uint16_t)sh->n_doubts;
}

struct ty_shell_text ty_shell_settled(struct ty_shell *sh, const struct ty_shell_text *t)
{
    struct ty_shell_text settled = {.len = 0};
    for (uint32_t i = 0; i < t->len; i++) {
        const uint16_t doubt = t->marks[i].doubt;
        if (doubt == 0 || !sh->doubts[doubt].unset) {
            ty_shell_put(sh, &settled, t->bytes[i], t->marks[i]);
        }
    }
    return settled;
}

struct ty_place ty_shell_place(const struct ty_shell *sh, struct ty_shell_mark mark)
{
    const struct ty_draft_file *file = sh->files[mark.file];
    return (struct ty_place){
        .file = file->path, .source = file->text, .line = mark.line, .col = mark.col};
}

const char *ty_shell_place_text(const struct ty_shell *sh, struct ty_shell_mark mark)
{
    return ty_draft_text(sh->draft, "%s:%u", ty_path_name(sh->files[mark.file]->path),
                         (unsigned)mark.line);
}
