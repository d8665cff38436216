/* fields.c - sections: finding keys, remembering origins, filling defaults, writing values out. */
#include "sim/document/fields.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "sim/document/field_value.h"

#define NAMES_MAX 256u /* keys looked at for a hint */
#define INNER_MAX 8u   /* of them, values of keys that may be written as mappings */

static uint32_t field_index(const struct ty_section *section, const struct ty_field *field)
{
    return (uint32_t)(field - section->fields);
}

static void *field_slot(const struct ty_section *section, const struct ty_field *field)
{
    return (char *)section->base + field->offset;
}

/* True for "key.inner". */
static bool is_inner(const struct ty_field *field, const char *key)
{
    const size_t n = strlen(field->key);
    return field->inner && strncmp(key, field->key, n) == 0 && key[n] == '.' &&
           strcmp(key + n + 1, field->inner) == 0;
}

const struct ty_field *ty_section_field(const struct ty_section *section, const char *key)
{
    for (uint32_t i = 0; i < section->n_fields; i++) {
        if (strcmp(section->fields[i].key, key) == 0 || is_inner(&section->fields[i], key)) {
            return &section->fields[i];
        }
    }
    return NULL;
}

const struct ty_origin *ty_field_origin(const struct ty_section *section,
                                        const struct ty_field *field)
{
    return &section->origins[field_index(section, field)];
}

struct ty_place ty_section_place(const struct ty_section *section, const char *key)
{
    const struct ty_field *field = ty_section_field(section, key);
    const struct ty_origin *origin = field ? ty_field_origin(section, field) : NULL;
    const bool visible =
        origin && (origin->kind == TY_ORIGIN_FILE || origin->kind == TY_ORIGIN_COMMAND);
    return visible ? origin->at : section->at;
}

bool ty_field_is_blank(const struct ty_section *section, const struct ty_field *field)
{
    static const unsigned char zeros[sizeof(uint64_t)];
    /* Lists begin with their length. */
    const size_t size = ty_value_size(field->type);
    const size_t looked_at = size > sizeof(zeros) ? sizeof(uint32_t) : size;
    return memcmp(field_slot(section, field), zeros, looked_at) == 0;
}

/* Whether a value is left to a plan. */
static bool is_left(const struct ty_field *field, const struct ty_node *node)
{
    return field->searched && node->kind == TY_NODE_SCALAR && !node->quoted && node->text &&
           strcmp(node->text, "auto") == 0;
}

int ty_field_apply(const struct ty_section *section, const struct ty_field *field,
                   const struct ty_value_source *source, const struct ty_node *node,
                   struct ty_arena *arena, struct ty_err *err)
{
    const struct ty_value_context context = {section->name, field, source->doc, arena, err};
    section->origins[field_index(section, field)] = (struct ty_origin){
        .kind = source->kind,
        .name = source->name,
        .at = ty_node_place(source->doc, node),
        .searched = is_left(field, node),
    };
    return is_left(field, node) ? 0 : ty_value_read(&context, node, field_slot(section, field));
}

static char plain(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c == '-' ? '_' : c;
}

/* Whether one of the words of a list is this one, in either case; "-" is as good as "_". */
static bool has_word(const char *list, const char *word)
{
    for (const char *p = list; *p != '\0'; p += *p == ' ') {
        const char *w = word;
        bool same = true;
        for (; *p != '\0' && *p != ' '; p++) {
            same = same && *p == plain(*w);
            w += *w != '\0';
        }
        if (same && *w == '\0') {
            return true;
        }
    }
    return false;
}

/* What others call `key`, or NULL. */
static const struct ty_synonym *known_as(const struct ty_section *section, const char *key)
{
    for (const struct ty_synonym *s = section->synonyms; s && s->section; s++) {
        if (strcmp(s->section, section->name) == 0 && has_word(s->words, key)) {
            return s;
        }
    }
    return NULL;
}

int ty_section_unknown(const struct ty_section *section, const char *key, const struct ty_place *at,
                       struct ty_err *err)
{
    const char *names[NAMES_MAX];
    char inner[INNER_MAX][80];
    size_t n = 0, n_inner = 0;
    for (uint32_t i = 0; i < section->n_fields && n + 1 < NAMES_MAX; i++) {
        const struct ty_field *field = &section->fields[i];
        names[n++] = field->key;
        if (field->inner && n_inner < INNER_MAX) {
            (void)snprintf(inner[n_inner], sizeof(inner[0]), "%s.%s", field->key, field->inner);
            names[n++] = inner[n_inner++];
        }
    }
    const struct ty_synonym *known = known_as(section, key);
    const char *nearest = known ? known->key : ty_nearest(key, names, n);
    if (nearest) {
        const char *note = known ? known->note : NULL;
        return ty_fail_at(err, TY_EINPUT, at,
                          "%s.%.60s: unknown key; hint: did you mean \"%s\"?%s%s", section->name,
                          key, nearest, note ? " " : "", note ? note : "");
    }
    return ty_fail_at(err, TY_EINPUT, at,
                      "%s.%.60s: unknown key; \"trainyard list keys %s\" shows all", section->name,
                      key, section->name);
}

/* One entry of a mapping; `within` is the row whose mapping it is in, or NULL. */
static int entry_apply(const struct ty_section *section, const struct ty_field *within,
                       const struct ty_value_source *source, const struct ty_node *node,
                       struct ty_arena *arena, struct ty_err *err)
{
    const char *key = within ? ty_arena_printf(arena, "%s.%s", within->key, node->key) : node->key;
    if (!key) {
        return ty_fail_memory(err);
    }
    const struct ty_field *field = ty_section_field(section, key);
    const struct ty_place at = ty_node_key_place(source->doc, node);
    if (!field) {
        return ty_section_unknown(section, key, &at, err);
    }
    if (within || !field->inner || node->kind != TY_NODE_MAP) {
        return ty_field_apply(section, field, source, node, arena, err);
    }
    int code = 0;
    for (const struct ty_node *child = node->first; child; child = child->next) {
        const int rc = entry_apply(section, field, source, child, arena, err);
        code = code < 0 ? code : rc;
    }
    return code;
}

int ty_section_apply(const struct ty_section *section, const struct ty_value_source *source,
                     const struct ty_node *map, struct ty_arena *arena, struct ty_err *err)
{
    if (map->kind != TY_NODE_MAP) {
        const struct ty_place at = ty_node_place(source->doc, map);
        return ty_fail_at(err, TY_EINPUT, &at,
                          "%s: %s where a mapping is due; write \"key: value\" lines below it",
                          section->name, map->kind == TY_NODE_LIST ? "a list" : "one value");
    }
    int code = 0;
    for (const struct ty_node *node = map->first; node; node = node->next) {
        const int rc = entry_apply(section, NULL, source, node, arena, err);
        code = code < 0 ? code : rc;
    }
    return code;
}

/* A default as a document. Nearly all are plain words and numbers, which need no parser: there are
 * hundreds in every run file. */
static int read_default(const struct ty_field *field, struct ty_doc *doc, struct ty_arena *arena,
                        struct ty_err *err)
{
    const char *text = field->fallback;
    if (!ty_text_is_plain(text)) {
        const int rc = ty_doc_parse(doc, arena, "default", text, strlen(text), err);
        return rc == 0 && !doc->root ? ty_fail(err, TY_EBUG, "empty") : rc;
    }
    *doc =
        (struct ty_doc){.file = "default", .source = text, .root = ty_node_plain(arena, text, 1)};
    return doc->root != NULL ? 0 : ty_fail_memory(err);
}

int ty_section_defaults(const struct ty_section *section, struct ty_arena *arena,
                        struct ty_err *err)
{
    struct ty_err inner;
    ty_err_init(&inner);
    for (uint32_t i = 0; i < section->n_fields; i++) {
        const struct ty_field *field = &section->fields[i];
        const struct ty_origin before = section->origins[i];
        if (!field->fallback || (before.kind != TY_ORIGIN_UNSET && !before.searched)) {
            continue;
        }
        struct ty_doc doc;
        const struct ty_value_source source = {&doc, TY_ORIGIN_DEFAULT, NULL};
        int rc = read_default(field, &doc, arena, &inner);
        if (rc == 0) {
            rc = ty_field_apply(section, field, &source, doc.root, arena, &inner);
        }
        if (rc < 0) {
            return ty_fail(err, rc == TY_ENOMEM ? rc : TY_EBUG,
                           "the default of %s.%s cannot be read:\n%s", section->name, field->key,
                           inner.text);
        }
        section->origins[i].at = (struct ty_place){.line = 0};
        section->origins[i] = before.searched ? before : section->origins[i];
    }
    return 0;
}

static bool is_missing(const struct ty_section *section, uint32_t i)
{
    return section->fields[i].required && section->origins[i].kind == TY_ORIGIN_UNSET;
}

/* Of keys that a preset would set the user has to hear of the preset. 1: there is no such key. */
static int require_preset(const struct ty_section *section, struct ty_err *err)
{
    const struct ty_field *preset = ty_section_field(section, "preset");
    char keys[256] = "";
    uint32_t n = 0, last = 0;
    for (uint32_t i = 0; i < section->n_fields; i++) {
        n += is_missing(section, i);
        last = is_missing(section, i) ? i : last;
    }
    if (!preset || ty_field_origin(section, preset)->kind != TY_ORIGIN_UNSET || n < 2) {
        return 1;
    }
    for (uint32_t i = 0; i < section->n_fields; i++) {
        const size_t len = strlen(keys);
        if (is_missing(section, i)) {
            (void)snprintf(keys + len, sizeof(keys) - len, "%s%s",
                           len == 0    ? ""
                           : i == last ? " and "
                                       : ", ",
                           section->fields[i].key);
        }
    }
    return ty_fail_at(err, TY_EINPUT, &section->at,
                      "%s: %s are missing; write them, or a preset (\"trainyard list %ss\" "
                      "shows all)",
                      section->name, keys, section->name);
}

int ty_section_require(const struct ty_section *section, struct ty_err *err)
{
    int code = require_preset(section, err);
    if (code <= 0) {
        return code;
    }
    code = 0;
    for (uint32_t i = 0; i < section->n_fields; i++) {
        const struct ty_field *field = &section->fields[i];
        if (!is_missing(section, i)) {
            continue;
        }
        char right[512];
        const int rc =
            ty_fail_at(err, TY_EINPUT, &section->at, "%s.%s: missing (%s); write %s", section->name,
                       field->key, field->doc, ty_field_expects(field, right, sizeof(right)));
        code = code < 0 ? code : rc;
    }
    return code;
}

/* ---- writing out ---- */

static const char *word_name(const struct ty_field *field, int value)
{
    for (const struct ty_word *w = field->words; w->name; w++) {
        if (w->value == value) {
            return w->name;
        }
    }
    return "?";
}

/* Appends an item of a list; what does not fit is cut. */
static void item_append(char *buf, size_t size, uint32_t i, const char *item)
{
    const size_t len = strlen(buf);
    (void)snprintf(buf + len, size - len, "%s%s", i > 0 ? ", " : "", item);
}

/* A word that says all of it, else words of parts. Of neighbours in the table that say the same the
 * first is a word for it alone, the last its name among others. */
void ty_set_format(const struct ty_field *field, uint32_t set, char *buf, size_t size)
{
    const char *whole = word_name(field, (int)set);
    uint32_t left = strcmp(whole, "?") == 0 ? set : 0;
    (void)snprintf(buf, size, "%s", left != 0 ? "" : whole);
    for (const struct ty_word *w = field->words; w->name && left != 0; w++) {
        const uint32_t bits = (uint32_t)w->value;
        const bool named = w[1].name == NULL || w[1].value != w->value;
        if (named && bits != 0 && (bits & set) == bits && (bits & left) != 0) {
            const size_t len = strlen(buf);
            (void)snprintf(buf + len, size - len, "%s%s", len > 0 ? "+" : "", w->name);
            left &= ~bits;
        }
    }
}

/* "4", "full:2+norm+mla_up:3". */
static const char *counts_format(const struct ty_field *field, const struct ty_counts *counts,
                                 char *buf, size_t size)
{
    size_t len = 0;
    buf[0] = '\0';
    for (uint32_t i = 0; i < counts->n && len + 1 < size; i++) {
        char words[TY_SET_TEXT] = "";
        const bool plain = counts->item[i].set == TY_COUNTS_PLAIN;
        if (!plain) {
            ty_set_format(field, counts->item[i].set, words, sizeof(words));
        }
        (void)snprintf(buf + len, size - len, "%s%s%s%u", i > 0 ? "+" : "", words, plain ? "" : ":",
                       (unsigned)counts->item[i].n);
        len = strlen(buf);
    }
    return buf;
}

static void list_format(const struct ty_field *field, const void *slot, char *buf, size_t size)
{
    (void)snprintf(buf, size, "[");
    if (field->type == TY_TYPE_WORDS) {
        const struct ty_word_list *list = slot;
        for (uint32_t i = 0; i < list->n; i++) {
            item_append(buf, size, i, word_name(field, list->item[i]));
        }
    } else if (field->type == TY_TYPE_UINTS) {
        const struct ty_uint_list *list = slot;
        for (uint32_t i = 0; i < list->n; i++) {
            char number[16];
            (void)snprintf(number, sizeof(number), "%u", (unsigned)list->item[i]);
            item_append(buf, size, i, number);
        }
    } else if (field->type == TY_TYPE_COUNTS) {
        const struct ty_counts_list *list = slot;
        for (uint32_t i = 0; i < list->n; i++) {
            char counts[256];
            item_append(buf, size, i, counts_format(field, &list->item[i], counts, sizeof(counts)));
        }
    } else {
        const struct ty_string_list *list = slot;
        for (uint32_t i = 0; i < list->n; i++) {
            item_append(buf, size, i, list->item[i]);
        }
    }
    const size_t len = strlen(buf);
    (void)snprintf(buf + len, size - len, "]");
}

/* The first line of a text stands for all. */
static void text_format(const char *text, char *buf, size_t size)
{
    if (text == NULL || text[0] == '\0') {
        (void)snprintf(buf, size, "%s", text == NULL ? "-" : "\"\"");
        return;
    }
    const size_t line = strcspn(text, "\n");
    (void)snprintf(buf, size, "%.*s%s", (int)line, text, text[line] != '\0' ? " ..." : "");
}

char *ty_field_format(const struct ty_section *section, const struct ty_field *field, char *buf,
                      size_t size)
{
    const void *slot = field_slot(section, field);
    if (field->blank && ty_field_is_blank(section, field)) {
        (void)snprintf(buf, size, "%s", field->blank);
        return buf;
    }
    switch (field->type) {
    case TY_TYPE_UINT:
        (void)snprintf(buf, size, "%u", (unsigned)*(const uint32_t *)slot);
        break;
    case TY_TYPE_UINT64:
        (void)snprintf(buf, size, "%llu", (unsigned long long)*(const uint64_t *)slot);
        break;
    case TY_TYPE_QUANTITY:
        ty_quantity_format(*(const double *)slot, field->dim, buf, size);
        break;
    case TY_TYPE_BOOL:
        (void)snprintf(buf, size, "%s", *(const bool *)slot ? "true" : "false");
        break;
    case TY_TYPE_WORD:
        (void)snprintf(buf, size, "%s", word_name(field, *(const int *)slot));
        break;
    case TY_TYPE_SET:
        ty_set_format(field, *(const uint32_t *)slot, buf, size);
        break;
    case TY_TYPE_STRING:
        text_format(*(const char *const *)slot, buf, size);
        break;
    case TY_TYPE_WORDS:
    case TY_TYPE_UINTS:
    case TY_TYPE_STRINGS:
    case TY_TYPE_COUNTS:
        list_format(field, slot, buf, size);
        break;
    }
    return buf;
}

char *ty_origin_format(const struct ty_origin *origin, char *buf, size_t size)
{
    switch (origin->kind) {
    case TY_ORIGIN_UNSET:
        (void)snprintf(buf, size, "not set");
        break;
    case TY_ORIGIN_DEFAULT:
        (void)snprintf(buf, size, "default");
        break;
    case TY_ORIGIN_PRESET:
        (void)snprintf(buf, size, "preset %s", origin->name);
        break;
    case TY_ORIGIN_FILE:
        (void)snprintf(buf, size, "%s:%u", origin->name, (unsigned)origin->at.line);
        break;
    case TY_ORIGIN_COMMAND:
        (void)snprintf(buf, size, "--set");
        break;
    }
    return buf;
}

/* ---- presets ---- */

const struct ty_preset *ty_preset_find(const struct ty_preset *presets, const char *name)
{
    while (presets->name != NULL && strcmp(presets->name, name) != 0) {
        presets++;
    }
    return presets->name != NULL ? presets : NULL;
}

const char *ty_preset_line(const char *text, const char *key)
{
    const size_t n = strlen(key);
    while (text != NULL && !(strncmp(text, key, n) == 0 && text[n] == ':')) {
        text = strchr(text, '\n');
        text += text != NULL;
    }
    return text;
}

/* Whether a line begins with a key that the text has, too. */
static bool is_replaced(const char *line, const char *text)
{
    char key[64];
    const size_t n = strcspn(line, ": #\n");
    if (n == 0 || n >= sizeof(key) || line[n] != ':') {
        return false;
    }
    memcpy(key, line, n);
    key[n] = '\0';
    return ty_preset_line(text, key) != NULL;
}

const char *ty_preset_text(const struct ty_preset *presets, const struct ty_preset *preset,
                           struct ty_arena *arena)
{
    if (preset->base == NULL) {
        return preset->text;
    }
    const struct ty_preset *base = ty_preset_find(presets, preset->base);
    assert(base != NULL && base != preset);
    const char *line = ty_preset_text(presets, base, arena);
    const size_t own = strlen(preset->text), most = line != NULL ? strlen(line) : 0;
    char *text = line != NULL ? ty_arena_alloc(arena, most + own + 1, 1) : NULL;
    size_t n = 0;
    bool kept = true;
    while (text != NULL && *line != '\0') {
        const size_t len = strcspn(line, "\n") + 1;
        const bool goes_on = *line == '#' || *line == ' ';
        kept = goes_on ? kept : !is_replaced(line, preset->text);
        if (kept) {
            memcpy(text + n, line, len);
            n += len;
        }
        line += len;
    }
    if (text != NULL) {
        memcpy(text + n, preset->text, own + 1);
    }
    return text;
}
