/* words.c - see words.h. */
#include "sim/import/words.h"

#include <string.h>
#include <strings.h>

#include "sim/base/number_text.h"
#include "sim/base/path.h"
#include "sim/document/toml.h"

#define GPUS_MAX (1u << 24)

/* ---- from trees ---- */

struct ty_doc *ty_words_doc(struct ty_draft *d, const struct ty_draft_file *file)
{
    struct ty_doc *doc = ty_arena_array(d->arena, struct ty_doc, 1);
    const struct ty_draft_from from = {.word = file->path};
    int rc = 0;
    if (doc == NULL) {
        rc = ty_fail_memory(d->err);
    } else if (ty_path_ends(file->path, ".toml")) {
        rc = ty_toml_parse(doc, d->arena, file->path, file->text, file->len, d->err);
    } else {
        rc = ty_doc_parse_foreign(doc, d->arena, file->path, file->text, file->len, d->err);
    }
    if (rc == 0 && (doc->root == NULL || doc->root->kind != TY_NODE_MAP)) {
        rc = ty_draft_refuse(d, &from, "it holds no settings, no lines of key and value");
    }
    if (rc == 0 && doc->again != NULL) {
        const struct ty_draft_from again = {.word = doc->again->key,
                                            .at = ty_node_key_place(doc, doc->again)};
        ty_draft_remark(d, &again, "it is given more than once: the last counts");
    }
    d->code = d->code < 0 ? d->code : rc;
    return rc == 0 ? doc : NULL;
}

bool ty_words_is_null(const struct ty_node *node)
{
    static const char *const none[] = {"null", "Null", "NULL", "~", "", "None"};
    bool is = node->kind == TY_NODE_SCALAR && node->text == NULL;
    for (size_t i = 0; node->kind == TY_NODE_SCALAR && !node->quoted && i < TY_COUNT(none); i++) {
        is = is || (node->text != NULL && strcmp(node->text, none[i]) == 0);
    }
    return is;
}

int ty_words_truth(const char *text)
{
    static const char *const yes[] = {"true", "yes", "on", "1"};
    static const char *const no[] = {"false", "no", "off", "0"};
    for (size_t i = 0; i < TY_COUNT(yes); i++) {
        if (strcasecmp(text, yes[i]) == 0 || strcasecmp(text, no[i]) == 0) {
            return strcasecmp(text, yes[i]) == 0;
        }
    }
    return -1;
}

/* Scalars of lists, whatever their depth, are values of the word. */
static void add_items(struct ty_flags *words, const struct ty_doc *doc, const struct ty_node *list,
                      const char *name)
{
    for (const struct ty_node *item = list->first; item != NULL; item = item->next) {
        if (item->kind == TY_NODE_LIST) {
            add_items(words, doc, item, name);
        } else if (item->kind == TY_NODE_SCALAR && item->text != NULL) {
            ty_flags_value(words, item->text, NULL);
        }
    }
    for (const struct ty_node *item = list->first; item != NULL; item = item->next) {
        if (item->kind == TY_NODE_MAP) {
            ty_words_add(words, doc, item, ty_draft_text(words->draft, "%s.", name));
        }
    }
}

void ty_words_add(struct ty_flags *words, const struct ty_doc *doc, const struct ty_node *map,
                  const char *prefix)
{
    for (const struct ty_node *node = map->first; node != NULL; node = node->next) {
        const char *name = ty_draft_text(words->draft, "%s%s", prefix, node->key);
        const struct ty_draft_from from = {.word = name, .at = ty_node_key_place(doc, node)};
        if (node->kind == TY_NODE_MAP) {
            ty_words_add(words, doc, node, ty_draft_text(words->draft, "%s.", name));
        } else if (ty_words_is_null(node)) {
            ty_draft_idle(words->draft, &from);
        } else {
            const uint32_t before = words->n;
            ty_flags_put(words, name, &from, NULL);
            if (words->n == before) {
                return; /* no memory, which is told */
            }
            if (node->kind == TY_NODE_LIST) {
                add_items(words, doc, node, name);
            } else {
                ty_flags_value(words, node->text, NULL);
            }
        }
    }
}

struct ty_doc *ty_words_read(struct ty_flags *words, const struct ty_draft_file *file)
{
    struct ty_doc *doc = ty_words_doc(words->draft, file);
    if (doc != NULL) {
        ty_words_add(words, doc, doc->root, "");
    }
    return doc;
}

/* ---- what they say ---- */

bool ty_words_true(struct ty_flags *words, const char *name, bool otherwise)
{
    const char *text = ty_flags_text(words, name, NULL);
    const int is = text != NULL ? ty_words_truth(text) : otherwise;
    if (is < 0) {
        ty_draft_refuse(words->draft, &ty_flags_find(words, name)->from,
                        "'%s' is neither true nor false", text);
    }
    return is < 0 ? otherwise : is == 1;
}

void ty_words_set_truth(struct ty_flags *words, const char *name, const char *key)
{
    const struct ty_flag *word = ty_flags_get(words, name);
    if (word != NULL) {
        ty_draft_set(words->draft, key, &word->from, "%s",
                     ty_words_true(words, name, false) ? "true" : "false");
    }
}

bool ty_words_list(struct ty_flags *words, const char *name, const char *item)
{
    const struct ty_flag *word = ty_flags_get(words, name);
    for (uint32_t i = 0; word != NULL && i < word->n_values; i++) {
        if (ty_text_begins(word->values[i].text, item)) {
            return true;
        }
    }
    return false;
}

void ty_words_set_lines(struct ty_draft *d, const char *section, const struct ty_draft_from *from,
                        const char *lines)
{
    for (const char *line = lines; *line != '\0';) {
        const size_t n = strcspn(line, "\n"), key = strcspn(line, ":");
        if (key < n) {
            size_t length = n - key - 1;
            const char *value = ty_text_trim(line + key + 1, &length);
            if (length >= 2 && *value == '\'') { /* a name, in quotes as YAML has them */
                value++;
                length -= 2;
            }
            ty_draft_set(d, ty_draft_text(d, "%s.%.*s", section, (int)key, line), from, "%.*s",
                         (int)length, value);
        }
        line += n + (line[n] == '\n');
    }
}

uint32_t ty_words_env(struct ty_draft *d, const char *name, uint32_t otherwise)
{
    const char *given = ty_draft_env(d, name), *at = given;
    uint32_t n = otherwise;
    if (given != NULL && (!ty_scan_number(&at, NULL, GPUS_MAX, &n) || *at != '\0' || n == 0)) {
        const struct ty_draft_from from = {.word = ty_draft_text(d, "--env %s", name)};
        ty_draft_refuse(d, &from, "'%s' is no whole number above 0; write one", given);
        return otherwise;
    }
    return n;
}

/* ---- how many GPUs ---- */

/* The number among the last words before "GPU" at `at`: "64 A100 GPUs" is 64; 0: there is none. */
static uint32_t number_before(const char *line, const char *at)
{
    for (uint32_t words = 0; words < 3 && at > line; words++) {
        while (at > line && strchr(" \t-", at[-1]) != NULL) {
            at--;
        }
        const char *end = at;
        while (at > line && strchr(" \t-", at[-1]) == NULL) {
            at--;
        }
        const char *digits = at;
        uint32_t n;
        if (ty_scan_number(&digits, NULL, GPUS_MAX, &n) && (digits == end || *digits == 'x')) {
            return n;
        }
    }
    return 0;
}

/* What a comment line says of the world. */
static bool read_comment(struct ty_draft *d, const char *line, size_t n,
                         const struct ty_place *place)
{
    for (const char *at = line; at + 3 <= line + n; at++) {
        if (strncasecmp(at, "GPU", 3) == 0 && number_before(line, at) > 0) {
            d->gpus = number_before(line, at);
            d->gpus_from = (struct ty_draft_from){.word = "a comment", .at = *place};
            ty_draft_notice_gpu(d, ty_draft_text(d, "%.*s", (int)n, line), &d->gpus_from);
            ty_draft_remark(d, &d->gpus_from, "%u GPUs are said there alone; --gpus N counts",
                            (unsigned)d->gpus);
            return true;
        }
    }
    return false;
}

void ty_words_world(struct ty_draft *d, const char *env, const struct ty_draft_file *file)
{
    if (d->options->gpus > 0 || d->gpus > 0) {
        return;
    }
    d->gpus = ty_words_env(d, env, 0);
    if (d->gpus > 0) {
        d->gpus_from = (struct ty_draft_from){.word = ty_draft_text(d, "--env %s", env)};
        return;
    }
    struct ty_place place = {.file = file->path, .source = file->text, .line = 1, .col = 1};
    for (const char *line = file->text; *line != '\0'; place.line++) {
        const size_t n = strcspn(line, "\n"), blanks = strspn(line, " \t");
        if (line[blanks] == '#' && read_comment(d, line, n, &place)) {
            return;
        }
        line += n + (line[n] == '\n');
    }
}

uint32_t ty_words_gpus(const struct ty_draft *d)
{
    return d->options->gpus > 0 ? d->options->gpus : d->gpus;
}
