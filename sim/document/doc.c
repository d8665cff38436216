/* doc.c - documents from files, texts and single values; how to find one's way in them. */
#include "sim/document/yaml.h"

#include <string.h>

#include "sim/base/file.h"
#include "sim/base/utf8.h"
#include "sim/document/yaml_read.h"

static int parse(struct ty_doc *doc, struct ty_arena *arena, const char *file, const char *text,
                 size_t len, bool last_counts, struct ty_err *err)
{
    *doc = (struct ty_doc){
        .file = ty_arena_strndup(arena, file, strlen(file)),
        .source = ty_arena_strndup(arena, text, len),
        .last_counts = last_counts,
    };
    const int rc = ty_utf8_check(file, text, len, err);
    return rc < 0 ? rc : ty_yaml_read(doc, arena, text, len, err);
}

int ty_doc_parse(struct ty_doc *doc, struct ty_arena *arena, const char *file, const char *text,
                 size_t len, struct ty_err *err)
{
    return parse(doc, arena, file, text, len, false, err);
}

int ty_doc_parse_foreign(struct ty_doc *doc, struct ty_arena *arena, const char *file,
                         const char *text, size_t len, struct ty_err *err)
{
    return parse(doc, arena, file, text, len, true, err);
}

bool ty_text_is_plain(const char *text)
{
    static const char inside[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./%-+ ";
    const size_t n = strspn(text, inside);
    return n > 0 && text[n] == '\0' && strchr(" %-", text[0]) == NULL && text[n - 1] != ' ';
}

struct ty_node *ty_node_plain(struct ty_arena *arena, const char *text, uint32_t col)
{
    struct ty_node *node = ty_arena_array(arena, struct ty_node, 1);
    if (node != NULL) {
        *node = (struct ty_node){.kind = TY_NODE_SCALAR, .line = 1, .col = col, .text = text};
    }
    return node;
}

int ty_doc_parse_value(struct ty_doc *doc, struct ty_arena *arena, const char *file,
                       const char *text, size_t from, struct ty_err *err)
{
    *doc = (struct ty_doc){.file = ty_arena_strndup(arena, file, strlen(file)), .source = text};
    const size_t len = strlen(text);
    const int rc = ty_utf8_check(file, text, len, err);
    if (rc < 0) {
        return rc;
    }
    if (ty_text_is_plain(text + from)) {
        doc->root = ty_node_plain(arena, text + from, (uint32_t)ty_utf8_count(text, from) + 1);
        return doc->root != NULL && doc->file != NULL ? 0 : ty_fail_memory(err);
    }
    /* A blank for every character before the value keeps the columns. */
    char *blanked = ty_arena_array(arena, char, len + 1);
    if (!blanked) {
        return ty_fail_memory(err);
    }
    const size_t n = ty_utf8_count(text, from);
    memset(blanked, ' ', n);
    memcpy(blanked + n, text + from, len - from);
    return ty_yaml_read(doc, arena, blanked, n + len - from, err);
}

int ty_doc_load(struct ty_doc *doc, struct ty_arena *arena, const char *path, struct ty_err *err)
{
    const char *text;
    size_t len;
    const int rc = ty_file_read(arena, path, TY_YAML_MAX_BYTES, &text, &len, err);
    if (rc < 0) {
        return rc;
    }
    return ty_doc_parse(doc, arena, strcmp(path, "-") == 0 ? "<stdin>" : path, text, len, err);
}

int ty_doc_check_json(const struct ty_doc *doc, struct ty_err *err)
{
    const char *line = doc->source;
    uint32_t number = 1;
    bool quoted = false, comma = false;
    struct ty_place place = {.file = doc->file, .source = doc->source};
    for (const char *p = doc->source; *p != '\0'; p++) {
        if (*p == '\n') {
            line = p + 1;
            number++;
        } else if (quoted && *p == '\\' && p[1] != '\0') {
            p++;
        } else if (*p == '"') {
            quoted = !quoted;
        }
        if (quoted || strchr(" \t\r\n", *p) != NULL) {
            continue;
        }
        if (comma && (*p == '}' || *p == ']')) {
            return ty_fail_at(
                err, TY_EINPUT, &place,
                "a comma behind the last value, which JSON does not allow; remove it");
        }
        comma = *p == ',';
        if (comma) {
            place.col = (uint32_t)ty_utf8_count(line, (size_t)(p - line)) + 1;
            place.line = number;
        }
    }
    return 0;
}

const struct ty_node *ty_node_child(const struct ty_node *map, const char *key)
{
    if (!map || map->kind != TY_NODE_MAP) {
        return NULL;
    }
    for (const struct ty_node *child = map->first; child; child = child->next) {
        if (strcmp(child->key, key) == 0) {
            return child;
        }
    }
    return NULL;
}

static struct ty_place doc_place(const struct ty_doc *doc, uint32_t line, uint32_t col)
{
    return (struct ty_place){.file = doc->file, .source = doc->source, .line = line, .col = col};
}

struct ty_place ty_node_place(const struct ty_doc *doc, const struct ty_node *node)
{
    return doc_place(doc, node->line, node->col);
}

struct ty_place ty_node_key_place(const struct ty_doc *doc, const struct ty_node *node)
{
    return doc_place(doc, node->key_line, node->key_col);
}
