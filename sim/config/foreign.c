/* foreign.c - readers of this library for programs that read files of other stacks: YAML and JSON
 * as a tree with places, the model of a Hugging Face config.json, and whether an overlay loads. */
#include <string.h>

#include "model/arch.h"
#include "sim/base/text.h"
#include "sim/config/config.h"
#include "sim/document/json.h"
#include "sim/document/yaml.h"
#include "sim/trainyard.h"

/* ---- trees ---- */

static void put_map(struct ty_text *t, const struct ty_node *map);

/* Recursion is as deep as a document may be, TY_YAML_MAX_DEPTH. */
static void put_node(struct ty_text *t, const struct ty_node *node)
{
    ty_text_add(t, "[%u,%u,", (unsigned)node->line, (unsigned)node->col);
    if (node->kind == TY_NODE_MAP) {
        put_map(t, node);
    } else if (node->kind == TY_NODE_LIST) {
        ty_text_add(t, "[");
        for (const struct ty_node *item = node->first; item != NULL; item = item->next) {
            put_node(t, item);
            ty_text_add(t, "%s", item->next != NULL ? "," : "");
        }
        ty_text_add(t, "]");
    } else if (node->text == NULL) {
        ty_text_add(t, "null");
    } else {
        ty_json_put(t, node->text);
    }
    ty_text_add(t, node->quoted ? ",true]" : ",false]");
}

static void put_map(struct ty_text *t, const struct ty_node *map)
{
    ty_text_add(t, "{");
    for (const struct ty_node *child = map->first; child != NULL; child = child->next) {
        ty_json_put(t, child->key);
        ty_text_add(t, ":[%u,%u,", (unsigned)child->key_line, (unsigned)child->key_col);
        put_node(t, child);
        ty_text_add(t, "]%s", child->next != NULL ? "," : "");
    }
    ty_text_add(t, "}");
}

int ty_foreign_tree(const char *name, const char *text, char **json, struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_text t = {.data = NULL};
    struct ty_doc doc;
    *json = NULL;
    int rc = ty_doc_parse_foreign(&doc, &arena, name, text, strlen(text), err);
    if (rc == 0) {
        ty_text_add(&t, "[");
        if (doc.root != NULL) {
            put_node(&t, doc.root);
        } else {
            ty_text_add(&t, "null");
        }
        if (doc.again != NULL) {
            ty_text_add(&t, ",[%u,%u,", (unsigned)doc.again->key_line,
                        (unsigned)doc.again->key_col);
            ty_json_put(&t, doc.again->key);
            ty_text_add(&t, "]");
        }
        ty_text_add(&t, "]");
        *json = ty_text_take(&t);
        rc = *json != NULL ? 0 : ty_fail_memory(err);
    }
    ty_arena_release(&arena);
    return rc;
}

/* ---- models ---- */

int ty_foreign_model(const char *path, char **lines, char **remarks, struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_huggingface found;
    *lines = *remarks = NULL;
    int rc = ty_arch_huggingface(&arena, path, &found, err);
    if (rc == 0) {
        struct ty_text text = {.data = NULL}, told = {.data = NULL};
        ty_text_add(&text, "%s", found.text);
        ty_text_add(&told, "%s", found.remarks != NULL ? found.remarks : "");
        *lines = ty_text_take(&text);
        *remarks = ty_text_take(&told);
        rc = *lines != NULL && *remarks != NULL ? 0 : ty_fail_memory(err);
    }
    ty_arena_release(&arena);
    return rc;
}

/* ---- overlays ---- */

int ty_foreign_overlay(const char *name, const char *text, struct ty_err *err)
{
    struct ty_config config;
    struct ty_doc doc;
    int rc = ty_config_init(&config, err);
    if (rc == 0) {
        rc = ty_doc_parse(&doc, &config.arena, name, text, strlen(text), err);
    }
    for (size_t i = 0; rc == 0 && i < TY_N_SECTIONS; i++) {
        const struct ty_value_source source = {
            .doc = &doc, .kind = TY_ORIGIN_FILE, .name = doc.file};
        const struct ty_node *map = ty_node_child(doc.root, config.sections[i].name);
        rc = map != NULL ? ty_section_apply(&config.sections[i], &source, map, &config.arena, err)
                         : 0;
    }
    ty_arena_release(&config.arena);
    return rc;
}
