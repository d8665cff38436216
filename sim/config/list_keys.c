/* list_keys.c - `trainyard list keys`: a line a key, or all about some, for reading. */
#include <string.h>

#include "sim/base/err.h"
#include "sim/base/text.h"
#include "sim/trainyard.h"

#define DOMAIN_COLUMN  34 /* of what may be written */
#define DEFAULT_COLUMN 72
#define DOC_COLUMN     90

#define PAGE_WIDTH 80 /* columns of what is for reading */
#define WORD_PAD   19 /* from the beginning of a word to what it means */

static void line_add(struct ty_text *out, const struct ty_key *key)
{
    ty_text_add(out, "%s", key->name);
    ty_text_pad(out, DOMAIN_COLUMN);
    ty_text_add(out, "%s", key->accepts);
    ty_text_pad(out, DEFAULT_COLUMN);
    ty_text_add(out, "%s", key->fallback ? key->fallback : key->required ? "required" : "-");
    ty_text_pad(out, DOC_COLUMN);
    ty_text_add(out, "%s\n", key->doc);
}

/* Adds `text` from column `at` of a line on, broken between words. */
static void wrap(struct ty_text *out, size_t at, const char *text)
{
    size_t column = at;
    while (*text != '\0') {
        const size_t n = strcspn(text, " ");
        if (column > at && column + 1 + n > PAGE_WIDTH) {
            ty_text_add(out, "\n%*s", (int)at, "");
            column = at;
        } else if (column > at) {
            ty_text_add(out, " ");
            column++;
        }
        ty_text_bytes(out, text, n);
        column += n;
        text += n + strspn(text + n, " ");
    }
    ty_text_add(out, "\n");
}

static void words_add(struct ty_text *out, const struct ty_key *key)
{
    for (size_t i = 0; i < key->n_words; i++) {
        const struct ty_key_word *word = &key->words[i];
        if (word->doc[0] != '\0') {
            const size_t n = strlen(word->name);
            ty_text_add(out, "      %s%*s", word->name, n < WORD_PAD ? (int)(WORD_PAD - n) : 1, "");
            wrap(out, 6 + (n < WORD_PAD ? WORD_PAD : n + 1), word->doc);
        }
    }
}

static void entry_add(struct ty_text *out, const struct ty_key *key)
{
    ty_text_add(out, "%s\n    ", key->name);
    wrap(out, 4, key->doc);
    ty_text_add(out, "    value    ");
    wrap(out, 13, key->accepts);
    words_add(out, key);
    if (key->required) {
        ty_text_add(out, "    required, here or by a preset\n");
    } else if (key->fallback != NULL && key->fallback[0] != '\0') {
        ty_text_add(out, "    default  ");
        wrap(out, 13, key->fallback);
    }
}

/* Whether a key is meant by the name of a section, itself, or a mapping that it is part of. */
static bool meant(const struct ty_key *key, const char *about)
{
    const size_t n = strlen(about);
    return strncmp(key->name, about, n) == 0 && (key->name[n] == '\0' || key->name[n] == '.');
}

static int unknown(const struct ty_keys *keys, const char *about, struct ty_err *err)
{
    const char *names[512];
    size_t n = 0;
    for (size_t i = 0; i < keys->n_sections && n < TY_COUNT(names); i++) {
        names[n++] = keys->section[i].name;
    }
    for (size_t i = 0; i < keys->n && n < TY_COUNT(names); i++) {
        names[n++] = keys->key[i].name;
    }
    ty_fail(err, TY_EUSAGE,
            "the run file has no section or key \"%s\"; trainyard list keys has all", about);
    const char *near = ty_nearest(about, names, n);
    if (near != NULL) {
        ty_hint(err, "did you mean \"%s\"?", near);
    }
    return TY_EUSAGE;
}

static int about_add(struct ty_text *out, const struct ty_keys *keys, const char *about,
                     struct ty_err *err)
{
    bool any = false;
    for (size_t i = 0; i < keys->n_sections; i++) {
        if (strcmp(keys->section[i].name, about) == 0) {
            ty_text_add(out, "%s: %s\n", about, keys->section[i].doc);
            any = true;
        }
    }
    for (size_t i = 0; i < keys->n; i++) {
        if (meant(&keys->key[i], about)) {
            ty_text_add(out, "%s", any ? "\n" : "");
            entry_add(out, &keys->key[i]);
            any = true;
        }
    }
    return any ? 0 : unknown(keys, about, err);
}

int ty_list_keys(const char *about, char **text, struct ty_err *err)
{
    struct ty_text out = {.data = NULL};
    struct ty_keys *keys;
    int rc = ty_keys_new(&keys, err);
    *text = NULL;
    if (rc < 0) {
        return rc;
    }
    if (about != NULL) {
        rc = about_add(&out, keys, about, err);
    }
    for (size_t i = 0; i < keys->n && about == NULL; i++) {
        line_add(&out, &keys->key[i]);
    }
    ty_keys_free(keys);
    if (rc < 0) {
        ty_text_release(&out);
        return rc;
    }
    *text = ty_text_take(&out);
    return *text != NULL ? 0 : ty_fail_memory(err);
}
