/* draft.c - see draft.h: facts and notes as they come. */
#include "sim/import/draft.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sim/base/file.h"
#include "sim/base/number_text.h"
#include "sim/base/path.h"
#include "sim/document/yaml.h"

#define MESSAGE 512u

static void out_of_memory(struct ty_draft *d)
{
    if (d->code == 0) {
        d->code = ty_fail_memory(d->err);
    }
}

static const char *vtext(struct ty_draft *d, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    const int n = ty_vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = n >= 0 ? ty_arena_array(d->arena, char, (size_t)n + 1) : NULL;
    if (text == NULL) {
        out_of_memory(d);
        return "";
    }
    (void)ty_vsnprintf(text, (size_t)n + 1, format, args);
    return text;
}

const char *ty_draft_text(struct ty_draft *d, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = vtext(d, format, args);
    va_end(args);
    return text;
}

/* ---- facts ---- */

static struct ty_draft_fact *find(const struct ty_draft *d, const char *key)
{
    for (uint32_t i = 0; i < d->n_facts; i++) {
        if (strcmp(d->facts[i].key, key) == 0) {
            return &d->facts[i];
        }
    }
    return NULL;
}

static struct ty_draft_fact *add(struct ty_draft *d, const char *key)
{
    if (d->n_facts == d->cap_facts) {
        const uint32_t cap = d->cap_facts > 0 ? 2 * d->cap_facts : 64;
        struct ty_draft_fact *more = ty_arena_array(d->arena, struct ty_draft_fact, cap);
        if (more == NULL) {
            out_of_memory(d);
            return NULL;
        }
        if (d->n_facts > 0) {
            memcpy(more, d->facts, d->n_facts * sizeof(more[0]));
        }
        d->facts = more;
        d->cap_facts = cap;
    }
    d->facts[d->n_facts] = (struct ty_draft_fact){.key = key};
    return &d->facts[d->n_facts++];
}

void ty_draft_set(struct ty_draft *d, const char *key, const struct ty_draft_from *from,
                  const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *value = vtext(d, format, args);
    va_end(args);
    struct ty_draft_fact *fact = find(d, key);
    if (fact == NULL) {
        fact = add(d, key);
    }
    if (fact != NULL) {
        fact->value = value;
        fact->from = *from;
        fact->remark = NULL;
    }
}

void ty_draft_explain(struct ty_draft *d, const char *key, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *remark = vtext(d, format, args);
    va_end(args);
    struct ty_draft_fact *fact = find(d, key);
    if (fact != NULL) {
        fact->remark = remark;
    }
}

const struct ty_draft_fact *ty_draft_get(const struct ty_draft *d, const char *key)
{
    return find(d, key);
}

uint32_t ty_draft_count(const struct ty_draft *d, const char *key, uint32_t otherwise)
{
    const struct ty_draft_fact *fact = find(d, key);
    const char *at = fact != NULL ? fact->value : "";
    uint32_t count;
    return ty_scan_number(&at, NULL, UINT32_MAX, &count) && *at == '\0' ? count : otherwise;
}

bool ty_draft_is(const struct ty_draft *d, const char *key, const char *value)
{
    const struct ty_draft_fact *fact = find(d, key);
    return fact != NULL && strcmp(fact->value, value) == 0;
}

/* ---- notes ---- */

static void note(struct ty_draft *d, struct ty_draft_notes *notes, const struct ty_draft_from *from,
                 const char *text)
{
    if (notes->n == notes->cap) {
        const uint32_t cap = notes->cap > 0 ? 2 * notes->cap : 64;
        struct ty_draft_note *more = ty_arena_array(d->arena, struct ty_draft_note, cap);
        if (more == NULL) {
            out_of_memory(d);
            return;
        }
        if (notes->n > 0) {
            memcpy(more, notes->item, notes->n * sizeof(more[0]));
        }
        notes->item = more;
        notes->cap = cap;
    }
    notes->item[notes->n++] = (struct ty_draft_note){.from = *from, .text = text};
}

void ty_draft_remark(struct ty_draft *d, const struct ty_draft_from *from, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    note(d, &d->remarks, from, vtext(d, format, args));
    va_end(args);
}

void ty_draft_unknown(struct ty_draft *d, const struct ty_draft_from *from, const char *value)
{
    note(d, &d->unknown, from, value);
}

void ty_draft_idle(struct ty_draft *d, const struct ty_draft_from *from)
{
    note(d, &d->idle, from, "");
}

int ty_draft_refuse(struct ty_draft *d, const struct ty_draft_from *from, const char *format, ...)
{
    char message[MESSAGE];
    va_list args;
    va_start(args, format);
    (void)ty_vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    const char *word = from->word != NULL ? from->word : "";
    const int rc = ty_fail_at(d->err, TY_EINPUT, &from->at, "%s%s%s", word,
                              word[0] != '\0' ? ": " : "", message);
    d->code = d->code < 0 ? d->code : rc;
    return rc;
}

/* ---- what the command line and other files say ---- */

const char *ty_draft_env(const struct ty_draft *d, const char *name)
{
    const size_t n = strlen(name);
    for (size_t i = d->options->n_env; i > 0; i--) { /* the last one counts */
        const char *given = d->options->env[i - 1];
        if (strncmp(given, name, n) == 0 && given[n] == '=') {
            return given + n + 1;
        }
    }
    return NULL;
}

const struct ty_draft_file *ty_draft_named(struct ty_draft *d, const struct ty_draft_file *beside,
                                           const char *path)
{
    const char *name = ty_path_name(path);
    for (uint32_t i = 0; i < d->n_files; i++) {
        if (strcmp(ty_path_name(d->files[i].path), name) == 0) {
            return &d->files[i];
        }
    }
    if (name[0] == '\0' || beside == NULL || strcmp(beside->path, "-") == 0) {
        return NULL;
    }
    const size_t folder = (size_t)(ty_path_name(beside->path) - beside->path);
    struct ty_draft_file *file = ty_arena_array(d->arena, struct ty_draft_file, 1);
    struct ty_err aside = TY_ERR_NONE; /* it may well not be there */
    if (file == NULL) {
        out_of_memory(d);
        return NULL;
    }
    file->path = ty_draft_text(d, "%.*s%s", (int)folder, beside->path, name);
    return ty_file_read(d->arena, file->path, TY_YAML_MAX_BYTES, &file->text, &file->len, &aside) ==
                   0
               ? file
               : NULL;
}

static bool is_inside_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

void ty_draft_notice_gpu(struct ty_draft *d, const char *text, const struct ty_draft_from *from)
{
    static const char *const known[] = {"gb300", "gb200", "b300", "b200", "h800",
                                        "h200",  "h100",  "a100", "v100", NULL};
    for (size_t k = 0; d->gpu == NULL && known[k] != NULL; k++) {
        const size_t n = strlen(known[k]);
        for (const char *at = text; *at != '\0'; at++) {
            if (strncasecmp(at, known[k], n) == 0 && (at == text || !is_inside_word(at[-1])) &&
                (!is_inside_word(at[n]) || at[n] == 's')) {
                d->gpu = known[k];
                d->gpu_from = *from;
                break;
            }
        }
    }
}
