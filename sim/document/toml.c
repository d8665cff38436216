/* toml.c - tables, headers, keys: see toml.h.
 *
 * A file is a list of lines: [header], [[header]] or key = value. Keys and headers are paths,
 * "a.b", whose tables come to be as they are walked; what may be added to a table depends on how it
 * came to be (enum ty_toml_origin), so that no table is written twice. */
#include "sim/document/toml.h"

#include <stdarg.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/base/utf8.h"
#include "sim/document/toml_read.h"

#define KEY_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

/* ---- the cursor ---- */

void ty_toml_advance(struct ty_toml_reader *r, size_t n)
{
    for (; n > 0; n--, r->at++) {
        if (*r->at == '\n') {
            r->line++;
            r->col = 1;
        } else if (ty_utf8_begins(r->at[1])) {
            r->col++; /* counted with the last byte of a character */
        }
    }
}

static bool at_line_end(const struct ty_toml_reader *r)
{
    return *r->at == '\n' || (r->at[0] == '\r' && r->at[1] == '\n');
}

void ty_toml_skip(struct ty_toml_reader *r, bool lines)
{
    for (;;) {
        ty_toml_advance(r, strspn(r->at, " \t"));
        if (!lines) {
            return;
        }
        if (*r->at == '#') {
            ty_toml_advance(r, strcspn(r->at, "\n"));
        }
        if (!at_line_end(r)) {
            return;
        }
        ty_toml_advance(r, *r->at == '\r' ? 2 : 1);
    }
}

static void vstop(struct ty_toml_reader *r, uint32_t line, uint32_t col, const char *format,
                  va_list args)
{
    char message[256];
    const struct ty_place at = {
        .file = r->doc->file, .source = r->doc->source, .line = line, .col = col};
    (void)ty_vsnprintf(message, sizeof(message), format, args);
    if (r->code == 0) {
        r->code = ty_fail_at(r->err, TY_EINPUT, &at, "%s", message);
    }
}

void *ty_toml_stop(struct ty_toml_reader *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vstop(r, r->line, r->col, format, args);
    va_end(args);
    return NULL;
}

void *ty_toml_stop_at(struct ty_toml_reader *r, uint32_t line, uint32_t col, const char *format,
                      ...)
{
    va_list args;
    va_start(args, format);
    vstop(r, line, col, format, args);
    va_end(args);
    return NULL;
}

void *ty_toml_stop_deep(struct ty_toml_reader *r)
{
    return ty_toml_stop(r, "nested too deep; at most %u levels are read", TY_TOML_MAX_DEPTH);
}

struct ty_toml_node *ty_toml_new(struct ty_toml_reader *r, enum ty_node_kind kind,
                                 enum ty_toml_origin origin)
{
    if (r->n_nodes == TY_TOML_MAX_NODES) {
        return ty_toml_stop(r, "a file may have at most %u values", TY_TOML_MAX_NODES);
    }
    struct ty_toml_node *made = ty_arena_array(r->arena, struct ty_toml_node, 1);
    if (made == NULL) {
        r->code = r->code < 0 ? r->code : ty_fail_memory(r->err);
        return NULL;
    }
    r->n_nodes++;
    made->node.kind = kind;
    made->node.line = r->line;
    made->node.col = r->col;
    made->origin = origin;
    return made;
}

void ty_toml_append(struct ty_toml_node *parent, struct ty_toml_node *child)
{
    if (parent->last != NULL) {
        parent->last->node.next = &child->node;
    } else {
        parent->node.first = &child->node;
    }
    parent->last = child;
    parent->node.n_children++;
}

/* ---- keys ---- */

/* One part of a path. */
struct part {
    const char *name;
    uint32_t line, col;
};

static bool read_part(struct ty_toml_reader *r, struct part *part)
{
    *part = (struct part){.line = r->line, .col = r->col};
    if (*r->at == '"' || *r->at == '\'') {
        part->name = ty_toml_string(r, false);
        return part->name != NULL;
    }
    const size_t n = strspn(r->at, KEY_CHARACTERS);
    if (n == 0) {
        ty_toml_stop(r, "no key; write letters, digits, - and _, other keys in quotes");
        return false;
    }
    part->name = ty_arena_strndup(r->arena, r->at, n);
    ty_toml_advance(r, n);
    if (part->name == NULL) {
        r->code = ty_fail_memory(r->err);
    }
    return part->name != NULL;
}

/* Whether another part follows: moves behind the point. */
static bool take_point(struct ty_toml_reader *r)
{
    ty_toml_skip(r, false);
    if (*r->at != '.') {
        return false;
    }
    ty_toml_advance(r, 1);
    ty_toml_skip(r, false);
    return true;
}

static struct ty_toml_node *child_of(const struct ty_toml_node *table, const char *name)
{
    struct ty_node *child = table->node.first;
    while (child != NULL && strcmp(child->key, name) != 0) {
        child = child->next;
    }
    return (struct ty_toml_node *)child;
}

static void name_child(struct ty_toml_node *table, struct ty_toml_node *child,
                       const struct part *part)
{
    child->node.key = part->name;
    child->node.key_line = part->line;
    child->node.key_col = part->col;
    ty_toml_append(table, child);
}

static struct ty_toml_node *add_table(struct ty_toml_reader *r, struct ty_toml_node *table,
                                      const struct part *part, enum ty_toml_origin origin)
{
    if (table->depth + 1 >= TY_TOML_MAX_DEPTH) {
        return ty_toml_stop_deep(r);
    }
    struct ty_toml_node *made =
        ty_toml_new(r, origin == TY_TOML_REPEATED ? TY_NODE_LIST : TY_NODE_MAP, origin);
    if (made != NULL) {
        made->depth = table->depth + 1;
        made->node.line = part->line;
        made->node.col = part->col;
        name_child(table, made, part);
    }
    return made;
}

static void *stop_twice(struct ty_toml_reader *r, const struct part *part,
                        const struct ty_toml_node *before)
{
    return ty_toml_stop_at(
        r, part->line, part->col,
        "%.60s: given before, on line %u; keep one, and keys of a table together", part->name,
        (unsigned)before->node.key_line);
}

void ty_toml_key_value(struct ty_toml_reader *r, struct ty_toml_node *table)
{
    struct part part;
    if (!read_part(r, &part)) {
        return;
    }
    while (take_point(r)) {
        struct ty_toml_node *next = child_of(table, part.name);
        if (next != NULL && next->origin != TY_TOML_DOTTED) {
            stop_twice(r, &part, next);
            return;
        }
        table = next != NULL ? next : add_table(r, table, &part, TY_TOML_DOTTED);
        if (table == NULL || !read_part(r, &part)) {
            return;
        }
    }
    if (*r->at != '=') {
        ty_toml_stop(r, "no = behind the key %.60s; write key = value", part.name);
        return;
    }
    ty_toml_advance(r, 1);
    ty_toml_skip(r, false);
    const struct ty_toml_node *before = child_of(table, part.name);
    struct ty_toml_node *value = ty_toml_value(r, table->depth + 1);
    if (before != NULL) {
        stop_twice(r, &part, before);
    } else if (value != NULL) {
        name_child(table, value, &part);
    }
}

/* ---- headers ---- */

/* The table that a header goes through on its way; of repeated ones the last. */
static struct ty_toml_node *walk_through(struct ty_toml_reader *r, struct ty_toml_node *table,
                                         const struct part *part)
{
    struct ty_toml_node *next = child_of(table, part->name);
    if (next == NULL) {
        return add_table(r, table, part, TY_TOML_ON_PATH);
    }
    return next->origin == TY_TOML_CLOSED     ? stop_twice(r, part, next)
           : next->origin == TY_TOML_REPEATED ? next->last
                                              : next;
}

/* The table that a header opens. */
static struct ty_toml_node *open_table(struct ty_toml_reader *r, struct ty_toml_node *table,
                                       const struct part *part, bool repeated)
{
    struct ty_toml_node *named = child_of(table, part->name);
    if (repeated) {
        if (named == NULL) {
            named = add_table(r, table, part, TY_TOML_REPEATED);
        } else if (named->origin != TY_TOML_REPEATED) {
            return stop_twice(r, part, named);
        }
        struct ty_toml_node *item =
            named != NULL ? ty_toml_new(r, TY_NODE_MAP, TY_TOML_HEADER) : NULL;
        if (item != NULL) {
            item->depth = named->depth + 1;
            ty_toml_append(named, item);
        }
        return item;
    }
    if (named == NULL) {
        return add_table(r, table, part, TY_TOML_HEADER);
    }
    if (named->origin != TY_TOML_ON_PATH) {
        return stop_twice(r, part, named);
    }
    named->origin = TY_TOML_HEADER;
    return named;
}

static struct ty_toml_node *read_header(struct ty_toml_reader *r, struct ty_toml_node *root)
{
    const bool repeated = r->at[1] == '[';
    struct ty_toml_node *table = root;
    struct part part;
    ty_toml_advance(r, repeated ? 2 : 1);
    ty_toml_skip(r, false);
    if (!read_part(r, &part)) {
        return NULL;
    }
    while (take_point(r)) {
        table = walk_through(r, table, &part);
        if (table == NULL || !read_part(r, &part)) {
            return NULL;
        }
    }
    if (*r->at != ']' || (repeated && r->at[1] != ']')) {
        return ty_toml_stop(r, "a header is not closed; write %s at its end",
                            repeated ? "]]" : "]");
    }
    ty_toml_advance(r, repeated ? 2 : 1);
    return open_table(r, table, &part, repeated);
}

static void read_lines(struct ty_toml_reader *r, struct ty_toml_node *root)
{
    struct ty_toml_node *table = root;
    for (;;) {
        ty_toml_skip(r, true);
        if (*r->at == '\0' || r->code < 0) {
            return;
        }
        if (*r->at == '[') {
            table = read_header(r, root);
        } else {
            ty_toml_key_value(r, table);
        }
        ty_toml_skip(r, false);
        if (r->code == 0 && *r->at != '\0' && *r->at != '#' && !at_line_end(r)) {
            ty_toml_stop(r, "more behind what ends here; write it on a line of its own");
        }
        if (r->code < 0) {
            return;
        }
    }
}

int ty_toml_parse(struct ty_doc *doc, struct ty_arena *arena, const char *file, const char *text,
                  size_t len, struct ty_err *err)
{
    *doc = (struct ty_doc){
        .file = ty_arena_strndup(arena, file, strlen(file)),
        .source = ty_arena_strndup(arena, text, len),
    };
    const int rc = ty_utf8_check(file, text, len, err);
    if (rc < 0) {
        return rc;
    }
    if (doc->file == NULL || doc->source == NULL) {
        return ty_fail_memory(err);
    }
    struct ty_toml_reader r = {
        .doc = doc, .arena = arena, .err = err, .at = doc->source, .line = 1, .col = 1};
    struct ty_toml_node *root = ty_toml_new(&r, TY_NODE_MAP, TY_TOML_HEADER);
    if (root != NULL) {
        doc->root = &root->node;
        read_lines(&r, root);
    }
    ty_text_release(&r.text);
    return r.code;
}
