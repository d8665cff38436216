/* yaml.h - a YAML document as a tree whose every node knows its place.
 *
 * Built from libyaml's event stream, so that size, depth and alias expansion are limited while
 * reading. libyaml accepts duplicate keys silently; here they are errors. JSON is read by the same
 * code (YAML 1.2 flow style). Only plain structure: no tags, no merge keys, one document.
 *
 * An alias stands for the value of its anchor: its children are shared, not copied, and keep the
 * places where they were written. */
#ifndef TY_DOCUMENT_YAML_H
#define TY_DOCUMENT_YAML_H

#include <stdbool.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"

#define TY_YAML_MAX_BYTES   (4u << 20)
#define TY_YAML_MAX_DEPTH   32u
#define TY_YAML_MAX_NODES   200000u /* after expansion of aliases */
#define TY_YAML_MAX_ALIASED 20000u  /* of these, values that aliases stand for */
#define TY_YAML_MAX_ANCHORS 1000u

enum ty_node_kind {
    TY_NODE_SCALAR,
    TY_NODE_LIST,
    TY_NODE_MAP,
};

struct ty_node {
    enum ty_node_kind kind;
    uint32_t line, col; /* 1-based */
    const char *text;   /* scalar: its value */
    bool quoted;        /* scalar: written in quotes */
    const char *key;    /* when the parent is a map */
    uint32_t key_line, key_col;
    struct ty_node *first; /* list or map: children in file order */
    struct ty_node *next;  /* next sibling */
    uint32_t n_children;
};

/* A text and its tree. Everything is owned by the arena passed to the reader. */
struct ty_doc {
    const char *file;            /* name for messages; "<stdin>" for "-" */
    const char *source;          /* whole text, zero-terminated */
    struct ty_node *root;        /* NULL: empty document */
    bool last_counts;            /* keys may come twice, see ty_doc_parse_foreign */
    const struct ty_node *again; /* one that did; NULL: none */
};

/* Parses `len` bytes of `text`. All problems that can be found in one go are reported at once. */
int ty_doc_parse(struct ty_doc *doc, struct ty_arena *arena, const char *file, const char *text,
                 size_t len, struct ty_err *err);

/* TY_EINPUT, with its place, for a comma before a closing bracket: YAML takes it and JSON does not,
 * so a file of that name would be read here and nowhere else. */
int ty_doc_check_json(const struct ty_doc *doc, struct ty_err *err);

/* The same of a file written for other programs: of equal keys of a map the last one counts, as
 * in Python's readers, and the others are not in the tree. */
int ty_doc_parse_foreign(struct ty_doc *doc, struct ty_arena *arena, const char *file,
                         const char *text, size_t len, struct ty_err *err);

/* Whether YAML reads a text of one line as itself, a scalar without quotes: nearly all values are
 * words and numbers, which need no parser. The node of one in its first line; NULL: no memory. */
bool ty_text_is_plain(const char *text);
struct ty_node *ty_node_plain(struct ty_arena *arena, const char *text, uint32_t col);

/* Parses one value that starts at byte `from` of the one-line `text`; places count from the start
 * of the text. For "--set layout.tensor=8". `text` must live as long as the document. */
int ty_doc_parse_value(struct ty_doc *doc, struct ty_arena *arena, const char *file,
                       const char *text, size_t from, struct ty_err *err);

/* ty_file_read, then ty_doc_parse. */
int ty_doc_load(struct ty_doc *doc, struct ty_arena *arena, const char *path, struct ty_err *err);

/* The child of a map with that key, or NULL. */
const struct ty_node *ty_node_child(const struct ty_node *map, const char *key);

/* The place of a node's value, and of its key, for ty_fail_at. */
struct ty_place ty_node_place(const struct ty_doc *doc, const struct ty_node *node);
struct ty_place ty_node_key_place(const struct ty_doc *doc, const struct ty_node *node);

#endif
