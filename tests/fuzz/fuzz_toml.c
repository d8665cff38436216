/* fuzz_toml.c - any bytes as TOML: what is accepted is written again as inline tables, and read as
 * the same tree. */
#include <stdlib.h>
#include <string.h>

#include "sim/document/json.h"
#include "sim/document/toml.h"
#include "tests/fuzz/fuzz.h"

/* A value; TOML's strings have the escapes of JSON. */
static void write_value(struct ty_text *out, const struct ty_node *node)
{
    static const char brackets[][3] = {"", "[]", "{}"};
    FUZZ_DEMAND(node->line > 0 && node->col > 0);
    if (node->kind == TY_NODE_SCALAR) {
        if (node->quoted) {
            ty_json_put(out, node->text);
        } else {
            ty_text_add(out, "%s", node->text);
        }
        return;
    }
    uint32_t n = 0;
    ty_text_bytes(out, brackets[node->kind], 1);
    for (const struct ty_node *child = node->first; child != NULL; child = child->next, n++) {
        ty_text_add(out, n > 0 ? "," : "");
        if (node->kind == TY_NODE_MAP) {
            FUZZ_DEMAND(child->key_line > 0 && child->key_col > 0);
            FUZZ_DEMAND(ty_node_child(node, child->key) == child);
            ty_json_put(out, child->key);
            ty_text_add(out, "=");
        }
        write_value(out, child);
    }
    FUZZ_DEMAND(n == node->n_children);
    ty_text_bytes(out, brackets[node->kind] + 1, 1);
}

/* The lines of a document, as a new string. */
static char *written(const struct ty_node *root)
{
    struct ty_text out = {.data = NULL};
    for (const struct ty_node *child = root->first; child != NULL; child = child->next) {
        ty_json_put(&out, child->key);
        ty_text_add(&out, "=");
        write_value(&out, child);
        ty_text_add(&out, "\n");
    }
    char *text = ty_text_take(&out);
    FUZZ_DEMAND(text != NULL);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_err err = TY_ERR_NONE;
    struct ty_doc doc;
    char *text = fuzz_text(data, size);
    const int rc = ty_toml_parse(&doc, &arena, "f", text, size, &err);
    fuzz_check(rc, &err);
    if (rc == 0) {
        char *once = written(doc.root);
        FUZZ_DEMAND(ty_toml_parse(&doc, &arena, "f", once, strlen(once), &err) == 0);
        char *twice = written(doc.root);
        FUZZ_DEMAND(strcmp(once, twice) == 0);
        free(once);
        free(twice);
    }
    free(text);
    ty_arena_release(&arena);
    return 0;
}
