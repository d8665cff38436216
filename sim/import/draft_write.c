/* draft_write.c - facts become the text of a run file, and what is not in it is told. */
#include <stdlib.h>
#include <string.h>

#include "sim/base/path.h"
#include "sim/config/config.h"
#include "sim/document/json.h"
#include "sim/import/draft.h"

#define COMMENT_COLUMN 32u
#define LINE           96u

/* ---- the run file ---- */

static void put_place(struct ty_text *out, const struct ty_place *at)
{
    if (at->line > 0) {
        ty_text_add(out, ", %s:%u", ty_path_name(at->file), (unsigned)at->line);
    }
}

/* Lists and mappings are written as YAML by whoever set them. */
static void put_value(struct ty_text *out, const char *value)
{
    if (value[0] == '[' || value[0] == '{' || ty_text_is_plain(value)) {
        ty_text_add(out, "%s", value);
    } else {
        ty_json_put(out, value);
    }
}

static void put_fact(struct ty_text *out, const char *key, const struct ty_draft_fact *fact)
{
    ty_text_add(out, "  %s: ", key);
    put_value(out, fact->value);
    ty_text_pad(out, COMMENT_COLUMN);
    ty_text_add(out, "# %s", fact->from.word);
    put_place(out, &fact->from.at);
    ty_text_add(out, "%s%s\n", fact->remark != NULL ? "; " : "",
                fact->remark != NULL ? fact->remark : "");
}

/* The facts of a section, in the order of its table. */
static void put_section(const struct ty_draft *d, const struct ty_section *section,
                        struct ty_text *out)
{
    const size_t n = strlen(section->name);
    bool any = false;
    for (uint32_t f = 0; f < section->n_fields; f++) {
        for (uint32_t i = 0; i < d->n_facts; i++) {
            const char *key = d->facts[i].key;
            if (strncmp(key, section->name, n) == 0 && key[n] == '.' &&
                strcmp(key + n + 1, section->fields[f].key) == 0) {
                ty_text_add(out, "%s%s%s", any ? "" : section->name, any ? "" : ":\n", "");
                put_fact(out, key + n + 1, &d->facts[i]);
                any = true;
            }
        }
    }
}

/* Words of one kind, as many on a line as fit, each once. */
static void put_words(const struct ty_draft_notes *notes, struct ty_text *out)
{
    size_t column = LINE;
    for (uint32_t i = 0; i < notes->n; i++) {
        const char *word = notes->item[i].from.word;
        bool before = false;
        for (uint32_t k = 0; k < i && !before; k++) {
            before = strcmp(notes->item[k].from.word, word) == 0;
        }
        if (before) {
            continue;
        }
        if (column + strlen(word) + 1 >= LINE) {
            ty_text_add(out, "%s#  ", i > 0 ? "\n" : "");
            column = 3;
        }
        ty_text_add(out, " %s", word);
        column += strlen(word) + 1;
    }
    ty_text_add(out, "\n");
}

static void put_note(const struct ty_draft_note *note, struct ty_text *out)
{
    ty_text_add(out, "#   %s", note->from.word);
    put_place(out, &note->from.at);
    ty_text_add(out, ": %s\n", note->text);
}

static void put_rest(const struct ty_draft *d, struct ty_text *out)
{
    if (d->remarks.n > 0) {
        ty_text_add(out, "# Not as it stood there:\n");
        for (uint32_t i = 0; i < d->remarks.n; i++) {
            put_note(&d->remarks.item[i], out);
        }
    }
    if (d->unknown.n > 0) {
        ty_text_add(out, "# Not understood, and left out:\n");
        for (uint32_t i = 0; i < d->unknown.n; i++) {
            const struct ty_draft_note *note = &d->unknown.item[i];
            ty_text_add(out, "#   %s%s%s", note->from.word, note->text[0] != '\0' ? " " : "",
                        note->text);
            put_place(out, &note->from.at);
            ty_text_add(out, "\n");
        }
    }
    if (d->idle.n > 0) {
        ty_text_add(out, "# Of no part in a step:\n");
        put_words(&d->idle, out);
    }
}

void ty_draft_write(const struct ty_draft *d, const char *title, struct ty_text *out)
{
    struct ty_config config;
    ty_text_add(out, "# %s of %s, imported by trainyard %s from",
                d->half ? "Part of a job" : "A job", title, ty_version());
    for (uint32_t i = 0; i < d->n_files; i++) {
        ty_text_add(out, "%s %s", i > 0 ? "," : "", ty_path_name(d->files[i].path));
    }
    ty_text_add(out, "\n");
    if (d->half) {
        ty_text_add(out, "# It has no model: an overlay, for --with behind a run file that has.\n");
    }
    if (ty_config_init(&config, d->err) == 0) {
        for (size_t i = 0; i < TY_N_SECTIONS; i++) {
            put_section(d, &config.sections[i], out);
        }
    }
    ty_arena_release(&config.arena);
    put_rest(d, out);
}

void ty_draft_notes(const struct ty_draft *d, struct ty_text *out)
{
    for (uint32_t i = 0; i < d->remarks.n; i++) {
        const struct ty_draft_note *note = &d->remarks.item[i];
        if (note->from.at.line > 0) {
            ty_text_add(out, "%s:%u: ", note->from.at.file, (unsigned)note->from.at.line);
        }
        ty_text_add(out, "%s: %s\n", note->from.word, note->text);
    }
    for (uint32_t i = 0; i < d->unknown.n; i++) {
        const struct ty_draft_note *note = &d->unknown.item[i];
        ty_text_add(out, "%s:%u: %s%s%s: not understood, and left out\n", note->from.at.file,
                    (unsigned)note->from.at.line, note->from.word, note->text[0] != '\0' ? " " : "",
                    note->text);
    }
}

/* ---- whether it loads ---- */

/* An overlay by itself: every value on its own. */
static int check_overlay(struct ty_draft *d, const char *name, const char *text)
{
    struct ty_config config;
    struct ty_doc doc;
    int rc = ty_config_init(&config, d->err);
    if (rc == 0) {
        rc = ty_doc_parse(&doc, &config.arena, name, text, strlen(text), d->err);
    }
    for (size_t i = 0; rc == 0 && i < TY_N_SECTIONS; i++) {
        const struct ty_value_source source = {
            .doc = &doc, .kind = TY_ORIGIN_FILE, .name = doc.file};
        const struct ty_node *map = ty_node_child(doc.root, config.sections[i].name);
        rc = map != NULL
                 ? ty_section_apply(&config.sections[i], &source, map, &config.arena, d->err)
                 : 0;
    }
    ty_arena_release(&config.arena);
    return rc;
}

/* A key that no section has would be lost without a word. */
static int check_keys(struct ty_draft *d)
{
    struct ty_config config;
    int rc = ty_config_init(&config, d->err);
    for (uint32_t i = 0; rc == 0 && i < d->n_facts; i++) {
        enum ty_section_index section;
        if (ty_config_field(&config, d->facts[i].key, &section) == NULL) {
            rc = ty_fail(d->err, TY_EBUG, "%s: a reader sets this key, and there is none",
                         d->facts[i].key);
        }
    }
    ty_arena_release(&config.arena);
    return rc;
}

int ty_draft_check(struct ty_draft *d, const char *text)
{
    static const char name[] = "the run file that was imported";
    int rc = check_keys(d);
    if (rc < 0 || d->half) {
        return rc < 0 ? rc : check_overlay(d, name, text);
    }
    struct ty_config *config = NULL;
    const struct ty_source source = {.path = name, .text = text};
    rc = ty_config_read(&config, &source, d->err);
    ty_config_free(config);
    return rc;
}
