/* schema.c - `trainyard list schema`: a JSON schema of the run file, for editors that complete keys
 * and mark mistakes while one types.
 *
 * From the same rows that read the file. It knows keys, words, ranges of whole numbers and names of
 * presets; units and what only a combination makes wrong are left to `trainyard check`. */
#include <string.h>

#include "sim/config/config.h"
#include "sim/config/jobs.h"
#include "sim/document/json.h"
#include "sim/trainyard.h"

/* {"type": "integer", "minimum": 1, "maximum": 8} */
static void whole(struct ty_text *t, const struct ty_field *field)
{
    ty_text_add(t, "{\"type\": \"integer\", \"minimum\": %.0f", field->min);
    if (field->max > 0) {
        ty_text_add(t, ", \"maximum\": %.0f", field->max);
    }
    ty_text_add(t, "}");
}

/* What YAML reads as no text is a word all the same. */
static void words(struct ty_text *t, const struct ty_field *field)
{
    ty_text_add(t, "{\"enum\": [");
    for (size_t i = 0; field->words[i].name != NULL; i++) {
        const char *const name = field->words[i].name;
        ty_text_add(t, "%s", i > 0 ? ", " : "");
        ty_json_put(t, name);
        if (strcmp(name, "true") == 0 || strcmp(name, "false") == 0) {
            ty_text_add(t, ", %s", name);
        }
    }
    ty_text_add(t, "]}");
}

static void texts(struct ty_text *t, const struct ty_preset *presets)
{
    ty_text_add(t, "{\"type\": \"string\"");
    for (size_t i = 0; presets != NULL && presets[i].name != NULL; i++) {
        ty_text_add(t, "%s", i > 0 ? ", " : ", \"enum\": [");
        ty_json_put(t, presets[i].name);
    }
    ty_text_add(t, "%s}", presets != NULL ? "]" : "");
}

/* One form of a value or a list of them; a list may be written without brackets when it has one. */
static void value(struct ty_text *t, const struct ty_field *field, const struct ty_preset *presets)
{
    const bool bare = field->dim == TY_DIM_COUNT || field->dim == TY_DIM_RATIO;
    switch (field->type) {
    case TY_TYPE_UINT:
    case TY_TYPE_UINT64:
        whole(t, field);
        break;
    case TY_TYPE_QUANTITY:
        ty_text_add(t, "{\"type\": %s}", bare ? "[\"number\", \"string\"]" : "\"string\"");
        break;
    case TY_TYPE_BOOL:
        ty_text_add(t, "{\"type\": \"boolean\"}");
        break;
    case TY_TYPE_WORD:
        words(t, field);
        break;
    case TY_TYPE_STRING:
        texts(t, presets);
        break;
    case TY_TYPE_WORDS:
        ty_text_add(t, "{\"type\": \"array\", \"uniqueItems\": true, \"items\": ");
        words(t, field);
        ty_text_add(t, "}");
        break;
    case TY_TYPE_SET: /* or a text: words joined by + */
        ty_text_add(t, "{\"type\": \"string\"}, {\"type\": \"array\", \"items\": ");
        words(t, field);
        ty_text_add(t, "}");
        break;
    case TY_TYPE_UINTS:
        ty_text_add(t, "{\"type\": \"array\", \"items\": ");
        whole(t, field);
        ty_text_add(t, "}");
        break;
    case TY_TYPE_COUNTS: /* numbers, or texts: words with numbers joined by + */
    case TY_TYPE_STRINGS:
        ty_text_add(t, "{\"type\": [\"string\", \"integer\", \"number\", \"array\"], \"items\": "
                       "{\"type\": [\"string\", \"integer\", \"number\"]}}");
        break;
    }
}

/* The forms of a key's own value: with the word that is accepted instead. */
static void forms(struct ty_text *t, const struct ty_field *field, const struct ty_preset *presets)
{
    value(t, field, presets);
    if (field->blank != NULL || field->searched) {
        ty_text_add(t, ", {\"const\": ");
        ty_json_put(t, field->blank != NULL ? field->blank : "auto");
        ty_text_add(t, "}");
    }
}

static void about(struct ty_text *t, const struct ty_field *field)
{
    char expects[512];
    ty_text_add(t, "\"description\": ");
    ty_json_put(t, field->doc);
    ty_text_add(t, ", \"$comment\": ");
    ty_json_put(t, ty_field_expects(field, expects, sizeof(expects)));
    if (field->fallback != NULL) {
        ty_text_add(t, ", \"default\": ");
        ty_json_put(t, field->fallback);
    }
}

/* `"key": {...}`; name is the key as it stands there. */
static void property(struct ty_text *t, const struct ty_field *field, const char *name,
                     const struct ty_preset *presets)
{
    ty_text_add(t, "\n          ");
    ty_json_put(t, name);
    ty_text_add(t, ": {");
    about(t, field);
    ty_text_add(t, ", \"anyOf\": [");
    forms(t, field, presets);
    ty_text_add(t, "]}");
}

/* Whether a row is "key.x", a part of the mapping that `key` may be written as. */
static bool is_part(const struct ty_field *field, const struct ty_field *of)
{
    const size_t n = strlen(of->key);
    return of->inner != NULL && strncmp(field->key, of->key, n) == 0 && field->key[n] == '.';
}

/* A key that may be a value, or a mapping of it and its parts. */
static void mapping(struct ty_text *t, const struct ty_section *s, const struct ty_field *field)
{
    ty_text_add(t, "\n          ");
    ty_json_put(t, field->key);
    ty_text_add(t, ": {");
    about(t, field);
    ty_text_add(t, ", \"anyOf\": [");
    forms(t, field, NULL);
    ty_text_add(t, ", {\"type\": \"object\", \"additionalProperties\": false, \"properties\": {");
    property(t, field, field->inner, NULL);
    for (uint32_t k = 0; k < s->n_fields; k++) {
        if (is_part(&s->fields[k], field)) {
            ty_text_add(t, ",");
            property(t, &s->fields[k], s->fields[k].key + strlen(field->key) + 1, NULL);
        }
    }
    ty_text_add(t, "}}]}");
}

static void section(struct ty_text *t, const struct ty_section *s, enum ty_section_index index)
{
    ty_text_add(t, "\n    ");
    ty_json_put(t, s->name);
    ty_text_add(t, ": {\"type\": [\"object\", \"null\"], \"additionalProperties\": false, "
                   "\"description\": ");
    ty_json_put(t, s->doc);
    ty_text_add(t, ",\n        \"properties\": {");
    bool first = true;
    for (uint32_t k = 0; k < s->n_fields; k++) {
        const struct ty_field *field = &s->fields[k];
        if (strchr(field->key, '.') != NULL) {
            continue; /* told with the key before the dot */
        }
        ty_text_add(t, "%s", first ? "" : ",");
        first = false;
        if (field->inner != NULL) {
            mapping(t, s, field);
        } else {
            property(t, field, field->key, ty_config_presets(index, field->key));
        }
    }
    ty_text_add(t, "}}");
}

static void reference(struct ty_text *t, const char *name, const char *before)
{
    ty_text_add(t, "%s\n    ", before);
    ty_json_put(t, name);
    ty_text_add(t, ": {\"$ref\": \"#/definitions/%s\"}", name);
}

static void jobs(struct ty_text *t, const struct ty_config *config)
{
    ty_text_add(t, ",\n    \"jobs\": {\"description\": \"other jobs on the same cluster\", "
                   "\"anyOf\": [{\"const\": \"none\"}, {\"type\": \"array\", \"items\": "
                   "{\"type\": \"object\", \"additionalProperties\": false, "
                   "\"required\": [\"name\"], \"properties\": {\n"
                   "    \"name\": {\"type\": \"string\", \"pattern\": \"^[A-Za-z0-9_-]+$\"},\n"
                   "    \"file\": {\"type\": \"string\"},\n"
                   "    \"steps\": {\"anyOf\": [{\"type\": \"integer\", \"minimum\": 1, "
                   "\"maximum\": 65535}, {\"const\": \"auto\"}]}");
    for (int i = 0; i < TY_N_SECTIONS; i++) {
        if (ty_jobs_section((enum ty_section_index)i)) {
            reference(t, config->sections[i].name, ",");
        }
    }
    ty_text_add(t, "}}}]}");
}

int ty_config_schema(char **text, struct ty_err *err)
{
    struct ty_config config;
    struct ty_text t = {.data = NULL};
    const int rc = ty_config_init(&config, err);
    *text = NULL;
    if (rc == 0) {
        ty_text_add(&t, "{\"$schema\": \"http://json-schema.org/draft-07/schema#\",\n"
                        "  \"title\": \"trainyard run file, version " TRAINYARD_VERSION "\",\n"
                        "  \"type\": \"object\", \"additionalProperties\": false,\n"
                        "  \"definitions\": {");
        for (int i = 0; i < TY_N_SECTIONS; i++) {
            ty_text_add(&t, "%s", i > 0 ? "," : "");
            section(&t, &config.sections[i], (enum ty_section_index)i);
        }
        ty_text_add(&t, "},\n  \"properties\": {");
        for (int i = 0; i < TY_N_SECTIONS; i++) {
            reference(&t, config.sections[i].name, i > 0 ? "," : "");
        }
        jobs(&t, &config);
        ty_text_add(&t, "}\n}\n");
    }
    ty_arena_release(&config.arena);
    if (rc < 0) {
        return rc;
    }
    *text = ty_text_take(&t);
    return *text != NULL ? 0 : ty_fail_memory(err);
}
