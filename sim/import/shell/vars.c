/* vars.c - variables, and files that a script writes; see shell.h.
 *
 * What is assigned below a condition that nobody can decide hangs on it: the whole value, or of one
 * that grew what was added, word by word. */
#include <string.h>

#include "sim/base/path.h"
#include "sim/import/shell/shell.h"

#define VARS_MAX 4096u

struct ty_shell_var *ty_shell_var(struct ty_shell *sh, const char *name, bool make)
{
    for (uint32_t i = 0; i < sh->n_vars; i++) {
        if (strcmp(sh->vars[i].name, name) == 0) {
            return &sh->vars[i];
        }
    }
    void *items = sh->vars;
    if (!make || sh->n_vars >= VARS_MAX ||
        !ty_shell_grow(sh, &items, sh->n_vars, &sh->cap_vars, sizeof(sh->vars[0]))) {
        return NULL;
    }
    sh->vars = items;
    sh->vars[sh->n_vars] = (struct ty_shell_var){.name = ty_draft_text(sh->draft, "%s", name)};
    return &sh->vars[sh->n_vars++];
}

/* Bytes from `begin` on hang on the condition that the shell is below. */
static void put_in_doubt(const struct ty_shell *sh, struct ty_shell_text *t, uint32_t begin)
{
    for (uint32_t i = begin; i < t->len && sh->doubt != 0; i++) {
        if (t->marks[i].doubt == 0) {
            t->marks[i].doubt = sh->doubt;
        }
    }
}

/* What becomes of a value by an assignment that may not happen. */
static struct ty_shell_text doubted(struct ty_shell *sh, const struct ty_shell_text *old, bool set,
                                    const struct ty_shell_text *value)
{
    struct ty_shell_text t = {.len = 0};
    const bool same = set && old->len == value->len &&
                      (old->len == 0 || memcmp(old->bytes, value->bytes, old->len) == 0);
    const bool grew = set && value->len > old->len &&
                      (old->len == 0 || memcmp(old->bytes, value->bytes, old->len) == 0);
    ty_shell_append(sh, &t, value);
    if (same) {
        return *old;
    }
    if (t.len == 0) { /* emptied, or not */
        const struct ty_shell_mark mark = {.line = 0, .doubt = sh->doubt};
        ty_shell_put(sh, &t, '?', mark);
        return t;
    }
    put_in_doubt(sh, &t, grew ? old->len : 0);
    return t;
}

void ty_shell_assign(struct ty_shell *sh, const char *name, const struct ty_shell_text *value,
                     bool append)
{
    struct ty_shell_var *var = ty_shell_var(sh, name, true);
    if (var == NULL) {
        return;
    }
    struct ty_shell_text now = {.len = 0};
    const bool joined = append && var->set && !var->array;
    if (joined) {
        ty_shell_append(sh, &now, &var->value);
    }
    ty_shell_append(sh, &now, value);
    var->value = sh->doubt != 0 ? doubted(sh, &var->value, var->set && !var->array, &now) : now;
    var->set = true;
    var->array = false;
}

void ty_shell_assign_given(struct ty_shell *sh, const char *name, const struct ty_shell_text *value,
                           bool append)
{
    const uint16_t doubt = ty_shell_doubt_of(value);
    struct ty_shell_text own = {.len = 0};
    bool whole = doubt != 0;
    for (uint32_t i = 0; i < value->len; i++) {
        whole = whole && value->marks[i].doubt == doubt;
    }
    if (!whole || strstr(sh->doubts[doubt].why, "--env") != NULL) {
        ty_shell_assign(sh, name, value, append);
        return;
    }
    const char *given = ty_draft_env(sh->draft, name);
    if (given != NULL) {
        const struct ty_shell_mark mark = {.line = 0};
        ty_shell_puts(sh, &own, given, strlen(given), mark);
        ty_shell_assign(sh, name, &own, false);
        return;
    }
    const uint16_t asks =
        ty_shell_doubt(sh, false, "%s; give it with --env %s=VALUE", sh->doubts[doubt].why, name);
    ty_shell_append(sh, &own, value);
    for (uint32_t i = 0; i < own.len; i++) {
        own.marks[i].doubt = asks;
    }
    ty_shell_assign(sh, name, &own, append);
}

static void add_item(struct ty_shell *sh, struct ty_shell_var *var, const char *key,
                     const struct ty_shell_text *value)
{
    struct ty_shell_text own = {.len = 0};
    void *items = var->items;
    ty_shell_append(sh, &own, value);
    put_in_doubt(sh, &own, 0);
    for (uint32_t i = 0; i < var->n_items; i++) {
        if (strcmp(var->items[i].key, key) == 0) {
            var->items[i].value = own;
            return;
        }
    }
    if (ty_shell_grow(sh, &items, var->n_items, &var->cap_items, sizeof(var->items[0]))) {
        var->items = items;
        var->items[var->n_items++] =
            (struct ty_shell_item){.key = ty_draft_text(sh->draft, "%s", key), .value = own};
    }
}

/* A variable as an array: a value becomes its first item. */
static struct ty_shell_var *array_of(struct ty_shell *sh, const char *name, bool keep)
{
    struct ty_shell_var *var = ty_shell_var(sh, name, true);
    if (var != NULL && (!keep || !var->array)) {
        const bool first = keep && var->set;
        var->n_items = var->cap_items = 0; /* a new list: an old one may be walked */
        var->items = NULL;
        if (first) {
            const uint16_t doubt = sh->doubt;
            sh->doubt = 0;
            add_item(sh, var, "0", &var->value);
            sh->doubt = doubt;
        }
    }
    if (var != NULL) {
        var->set = var->array = true;
    }
    return var;
}

void ty_shell_assign_item(struct ty_shell *sh, const char *name, const char *key,
                          const struct ty_shell_text *value)
{
    struct ty_shell_var *var = array_of(sh, name, true);
    if (var != NULL) {
        add_item(sh, var, key, value);
    }
}

void ty_shell_assign_array(struct ty_shell *sh, const char *name,
                           const struct ty_shell_words *words, bool append)
{
    struct ty_shell_var *var = array_of(sh, name, append);
    for (uint32_t i = 0; var != NULL && i < words->n && !sh->ended; i++) {
        const struct ty_shell_text *word = &words->item[i];
        const char *end = word->len > 0 && word->bytes[0] == '[' ? strstr(word->bytes, "]=") : NULL;
        if (end != NULL) { /* ["7B"]=4096 of an associative array */
            const uint32_t n = (uint32_t)(end - word->bytes);
            const struct ty_shell_text value = ty_shell_part(sh, word, n + 2, word->len);
            add_item(sh, var, ty_draft_text(sh->draft, "%.*s", (int)n - 1, word->bytes + 1),
                     &value);
        } else {
            add_item(sh, var, ty_draft_text(sh->draft, "%u", (unsigned)var->n_items), word);
        }
    }
}

const struct ty_shell_text *ty_shell_value(struct ty_shell *sh, const char *name)
{
    struct ty_shell_var *var = ty_shell_var(sh, name, false);
    static const struct ty_shell_text empty = {.len = 0};
    if (var != NULL && var->set && var->array) {
        for (uint32_t i = 0; i < var->n_items; i++) {
            if (strcmp(var->items[i].key, "0") == 0) {
                return &var->items[i].value;
            }
        }
        return &empty;
    }
    if (var != NULL && var->set) {
        return &var->value;
    }
    const char *given = ty_draft_env(sh->draft, name);
    if (given == NULL) {
        return NULL;
    }
    struct ty_shell_text text = {.len = 0};
    const struct ty_shell_mark mark = {.line = 0};
    const uint16_t doubt = sh->doubt;
    ty_shell_puts(sh, &text, given, strlen(given), mark);
    sh->doubt = 0; /* it was there before the script */
    ty_shell_assign(sh, name, &text, false);
    sh->doubt = doubt;
    var = ty_shell_var(sh, name, false);
    return var != NULL ? &var->value : NULL;
}

/* ---- files ---- */

static struct ty_shell_file *written(const struct ty_shell *sh, const char *path)
{
    for (uint32_t i = sh->n_written; i > 0; i--) {
        if (strcmp(sh->written[i - 1].path, path) == 0) {
            return &sh->written[i - 1];
        }
    }
    return NULL;
}

void ty_shell_write(struct ty_shell *sh, const char *path, const struct ty_shell_text *text,
                    bool append)
{
    struct ty_shell_file *file = written(sh, path);
    void *items = sh->written;
    if (file == NULL) {
        if (!ty_shell_grow(sh, &items, sh->n_written, &sh->cap_written, sizeof(sh->written[0]))) {
            return;
        }
        sh->written = items;
        file = &sh->written[sh->n_written++];
        *file = (struct ty_shell_file){.path = ty_draft_text(sh->draft, "%s", path)};
    }
    if (!append) {
        file->text = (struct ty_shell_text){.len = 0};
    }
    ty_shell_append(sh, &file->text, text);
    put_in_doubt(sh, &file->text, 0);
}

const struct ty_shell_text *ty_shell_file_text(struct ty_shell *sh, const char *path,
                                               struct ty_shell_mark mark)
{
    const struct ty_shell_file *own = written(sh, path);
    if (own != NULL) {
        return &own->text;
    }
    const struct ty_draft_file *file = ty_draft_named(sh->draft, sh->files[mark.file], path);
    if (file == NULL || sh->n_files == TY_SHELL_FILES) {
        return NULL;
    }
    struct ty_shell_text text = {.len = 0};
    struct ty_shell_mark at = {.line = 1, .file = sh->n_files, .col = 1};
    sh->files[sh->n_files++] = file;
    for (const char *c = file->text; *c != '\0' && !sh->ended; c++) {
        ty_shell_put(sh, &text, *c, at);
        at.line += *c == '\n';
        at.col = *c == '\n' ? 1 : (uint16_t)(at.col + (at.col < UINT16_MAX));
    }
    ty_shell_write(sh, path, &text, false);
    own = written(sh, path);
    return own != NULL ? &own->text : NULL;
}
