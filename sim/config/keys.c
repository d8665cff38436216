/* keys.c - the keys of the run file as rows for others: lists, manual pages, completions.
 *
 * From the field tables that read the file; an entry of `jobs`, which is no section, has rows of
 * its own here. */
#include <stdlib.h>
#include <string.h>

#include "model/framework.h"
#include "sim/base/err.h"
#include "sim/base/text.h"
#include "sim/config/config.h"
#include "sim/trainyard.h"

/* ---- `trainyard list keys`: a line a key, or all about some ---- */

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

static void add_words(struct ty_text *out, const struct ty_key *key)
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
    add_words(out, key);
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

static const struct ty_key job_keys[] = {
    {"jobs", "list | none", "none",
     "other jobs on the cluster; each may also have keys of model, layout, framework and schedule "
     "that differ",
     NULL, 0, false},
    {"jobs.name", "letters, digits, - and _", NULL, "what reports call it", NULL, 0, true},
    {"jobs.file", "text", NULL,
     "another run file, whose sections the job has in place of this one's", NULL, 0, false},
    {"jobs.steps", "whole number 1 .. 65535 | auto", "auto",
     "optimizer steps it takes; auto: until the run file's own job is done", NULL, 0, false},
};

static const struct {
    enum ty_section_index section;
    const char *key;
    const struct ty_preset *presets;
} named[] = {
    {TY_SECTION_CLUSTER, "preset", ty_cluster_presets},
    {TY_SECTION_CLUSTER, "gpu", ty_gpu_presets},
    {TY_SECTION_FABRIC, "preset", ty_fabric_presets},
    {TY_SECTION_MODEL, "preset", ty_arch_presets},
    {TY_SECTION_FRAMEWORK, "preset", ty_framework_presets},
};

const struct ty_preset *ty_config_presets(enum ty_section_index section, const char *key)
{
    for (size_t i = 0; i < TY_COUNT(named); i++) {
        if (named[i].section == section && strcmp(named[i].key, key) == 0) {
            return named[i].presets;
        }
    }
    return NULL;
}

/* ---- what may be written ---- */

static void range_add(struct ty_text *out, const struct ty_field *field)
{
    char low[64], high[64];
    const enum ty_dimension dim = field->type == TY_TYPE_QUANTITY ? field->dim : TY_DIM_COUNT;
    ty_quantity_format(field->min, dim, low, sizeof(low));
    ty_quantity_format(field->max, dim, high, sizeof(high));
    if (field->max != 0) {
        ty_text_add(out, "%s .. %s", low, high);
    } else {
        ty_text_add(out, "from %s", low);
    }
}

static void words_add(struct ty_text *out, const struct ty_field *field, const char *separator)
{
    for (const struct ty_word *w = field->words; w->name; w++) {
        ty_text_add(out, "%s%s", w == field->words ? "" : separator, w->name);
    }
}

static void domain_add(struct ty_text *out, const struct ty_field *field)
{
    switch (field->type) {
    case TY_TYPE_UINT:
    case TY_TYPE_UINT64:
        ty_text_add(out, "whole number ");
        range_add(out, field);
        break;
    case TY_TYPE_QUANTITY:
        ty_text_add(out, "like %s, ", ty_field_example(field));
        range_add(out, field);
        break;
    case TY_TYPE_BOOL:
        ty_text_add(out, "true | false");
        break;
    case TY_TYPE_WORD:
        words_add(out, field, " | ");
        break;
    case TY_TYPE_WORDS:
        ty_text_add(out, "order of ");
        words_add(out, field, ", ");
        break;
    case TY_TYPE_SET:
        ty_text_add(out, "some of ");
        words_add(out, field, ", ");
        break;
    case TY_TYPE_STRING:
        ty_text_add(out, "text");
        break;
    case TY_TYPE_UINTS:
        ty_text_add(out, "list of whole numbers ");
        range_add(out, field);
        break;
    case TY_TYPE_COUNTS:
        ty_text_add(out, "list of whole numbers ");
        range_add(out, field);
        ty_text_add(out, ", alone or behind some of ");
        words_add(out, field, ", ");
        break;
    case TY_TYPE_STRINGS:
        ty_text_add(out, "list of texts");
        break;
    }
    if (field->blank || field->searched) {
        ty_text_add(out, " | %s", field->blank ? field->blank : "auto");
    }
}

/* ---- rows ---- */

/* What a word means; schedules have that in their own table. */
static const char *word_doc(const struct ty_field *field, const struct ty_word *word)
{
    if (field->words == ty_sched_words) {
        return ty_schedules[word->value]->summary;
    }
    return word->doc != NULL ? word->doc : "";
}

/* A row of words while it is counted, `word` NULL, or filled. */
struct words {
    struct ty_key_word *word;
    size_t n;
};

static void word_put(struct words *out, const char *name, const char *doc)
{
    if (out->word != NULL) {
        out->word[out->n] = (struct ty_key_word){name, doc};
    }
    out->n++;
}

static size_t words_put(const struct ty_field *field, const struct ty_preset *preset,
                        struct ty_key_word *word)
{
    struct words out = {.word = word};
    for (; preset != NULL && preset->name != NULL; preset++) {
        word_put(&out, preset->name, preset->summary);
    }
    if (field->words != NULL) {
        for (const struct ty_word *w = field->words; w->name != NULL; w++) {
            word_put(&out, w->name, word_doc(field, w));
        }
    }
    if (field->type == TY_TYPE_BOOL) {
        word_put(&out, "true", "");
        word_put(&out, "false", "");
    }
    if (field->blank != NULL) {
        word_put(&out, field->blank, "");
    }
    if (field->searched) {
        word_put(&out, "auto", "trainyard plan finds the best value");
    }
    return out.n;
}

static int row_fill(struct ty_arena *arena, const struct ty_section *section,
                    enum ty_section_index index, const struct ty_field *field, struct ty_key *key)
{
    struct ty_text domain = {.data = NULL};
    domain_add(&domain, field);
    char *accepts = ty_text_take(&domain);
    const struct ty_preset *presets = ty_config_presets(index, field->key);
    const size_t n = words_put(field, presets, NULL);
    struct ty_key_word *words = ty_arena_array(arena, struct ty_key_word, n + 1);
    *key = (struct ty_key){
        .name = ty_arena_printf(arena, "%s.%s", section->name, field->key),
        .accepts = accepts != NULL ? ty_arena_strndup(arena, accepts, strlen(accepts)) : NULL,
        .fallback = field->fallback,
        .doc = field->doc,
        .words = words,
        .n_words = n,
        .required = field->required,
    };
    free(accepts);
    if (words == NULL || key->name == NULL || key->accepts == NULL) {
        return TY_ENOMEM;
    }
    words_put(field, presets, words);
    return 0;
}

/* What the public struct is the beginning of. */
struct keys {
    struct ty_keys keys;
    struct ty_config config; /* its arena owns the rows */
};

static int fill(struct keys *out)
{
    struct ty_config *config = &out->config;
    size_t n = TY_COUNT(job_keys);
    for (int i = 0; i < TY_N_SECTIONS; i++) {
        n += config->sections[i].n_fields;
    }
    struct ty_key *key = ty_arena_array(&config->arena, struct ty_key, n);
    struct ty_key_word *sections =
        ty_arena_array(&config->arena, struct ty_key_word, TY_N_SECTIONS + 1);
    if (key == NULL || sections == NULL) {
        return TY_ENOMEM;
    }
    out->keys =
        (struct ty_keys){.n = n, .key = key, .n_sections = TY_N_SECTIONS + 1, .section = sections};
    for (int i = 0; i < TY_N_SECTIONS; i++) {
        const struct ty_section *section = &config->sections[i];
        sections[i] = (struct ty_key_word){section->name, section->doc};
        for (uint32_t k = 0; k < section->n_fields; k++) {
            if (row_fill(&config->arena, section, (enum ty_section_index)i, &section->fields[k],
                         key++) < 0) {
                return TY_ENOMEM;
            }
        }
    }
    sections[TY_N_SECTIONS] = (struct ty_key_word){"jobs", "other jobs on the same cluster"};
    memcpy(key, job_keys, sizeof(job_keys));
    return 0;
}

int ty_keys_new(struct ty_keys **keys, struct ty_err *err)
{
    struct keys *out = calloc(1, sizeof(*out));
    *keys = NULL;
    if (out == NULL) {
        return ty_fail_memory(err);
    }
    int rc = ty_config_init(&out->config, err);
    if (rc == 0 && (rc = fill(out)) < 0) {
        ty_fail_memory(err);
    }
    if (rc < 0) {
        ty_keys_free(&out->keys);
        return rc;
    }
    *keys = &out->keys;
    return 0;
}

void ty_keys_free(struct ty_keys *keys)
{
    struct keys *all = (struct keys *)(void *)keys;
    if (all != NULL) {
        ty_arena_release(&all->config.arena);
        free(all);
    }
}
