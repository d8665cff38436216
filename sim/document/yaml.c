/* yaml.c - libyaml's events become a tree.
 *
 * A recursive descent over the event stream; its depth is limited, so the C stack is. Every node
 * knows its height and its weight (itself and all below, aliases counted in full), so that an alias
 * costs nothing to expand and the limits still hold for whoever walks the tree. Mistakes that do
 * not stop the reading (duplicate keys, tags) are collected; syntax errors and limits end it. */
#include "sim/document/yaml_read.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "sim/base/compiler.h"
#include "sim/base/number_text.h"
#include "sim/base/utf8.h"
#include "sim/document/yaml_syntax.h"

/* ---- keys of a map that come more than once ---- */

/* They are sorted, so that wide maps stay quick. */

/* By key, then by place: the first of equal keys comes first. */
static int compare_keys(const void *a, const void *b)
{
    const struct ty_node *x = *(const struct ty_node *const *)a;
    const struct ty_node *y = *(const struct ty_node *const *)b;
    const int order = strcmp(x->key, y->key);
    if (order != 0) {
        return order;
    }
    if (x->key_line != y->key_line) {
        return x->key_line < y->key_line ? -1 : 1;
    }
    return x->key_col < y->key_col ? -1 : x->key_col > y->key_col;
}

/* Takes nodes without a key out of the list. */
static void drop(struct ty_node *map)
{
    for (struct ty_node **link = &map->first; *link != NULL;) {
        if ((*link)->key == NULL) {
            *link = (*link)->next;
            map->n_children--;
        } else {
            link = &(*link)->next;
        }
    }
}

static int map_duplicates(struct ty_node *map, ty_duplicate_fn *tell, void *data,
                          const struct ty_node **again)
{
    const uint32_t n = map->n_children;
    struct ty_node **sorted = malloc((n > 0 ? n : 1) * sizeof(*sorted));
    uint32_t i = 0;
    if (sorted == NULL) {
        return TY_ENOMEM;
    }
    for (struct ty_node *child = map->first; child != NULL; child = child->next) {
        sorted[i++] = child;
    }
    qsort(sorted, n, sizeof(struct ty_node *), compare_keys);
    struct ty_node *first = n > 0 ? sorted[0] : NULL;
    bool dropped = false;
    for (i = 1; i < n; i++) {
        if (strcmp(first->key, sorted[i]->key) != 0) {
            first = sorted[i];
        } else if (tell != NULL) {
            tell(data, first, sorted[i]);
        } else {
            first->key = NULL;
            *again = first = sorted[i];
            dropped = true;
        }
    }
    free(sorted);
    if (dropped) {
        drop(map);
    }
    return 0;
}

/* ---- messages ---- */

/* libyaml says what its grammar expected; these say what the user did, and what would be right.
 * The problems are sentences of parser.c and scanner.c of libyaml 0.2.5. */

static const struct {
    const char *problem, *words;
} syntax_words[] = {
    {"did not find expected key",
     "indented differently from its neighbours; keys of one mapping begin in one column"},
    {"did not find expected '-' indicator",
     "no item of the list above; begin it with \"- \", or end the list by indenting less"},
    {"did not find expected ',' or '}'",
     "a { is not closed; write a comma between entries and } at the end"},
    {"did not find expected ',' or ']'",
     "a [ is not closed; write a comma between items and ] at the end"},
    {"found unexpected end of stream", "a quote that is not closed; write it at the end, too"},
    {"mapping values are not allowed in this context",
     "a second \": \" on a line, a line indented too far, or no blank behind the colon of the line "
     "before; put text with a colon in quotes"},
    {"could not find expected ':'", "a line without a colon; write key: value"},
    {"did not find expected node content",
     "a value is missing, or a bracket before it is not closed"},
    {"found character that cannot start any token",
     "a value cannot begin with this character; put it in quotes"},
    {"did not find expected <document start>", "text behind the end of the value; remove it"},
    {"found unknown escape character",
     "a backslash that begins no escape; write it twice, or use single quotes"},
    {"block sequence entries are not allowed in this context",
     "a list cannot begin here; write its \"- \" on a line of its own"},
};

/* What is wrong, and what would be right, for a problem that libyaml names; the problem itself when
 * it is one of the rare ones. NULL is answered, too. */
static const char *yaml_problem(const char *problem)
{
    for (size_t i = 0; problem && i < TY_COUNT(syntax_words); i++) {
        if (strcmp(problem, syntax_words[i].problem) == 0) {
            return syntax_words[i].words;
        }
    }
    return problem ? problem : "not YAML; write \"key: value\" lines";
}

/* The line that ends before `end`, without its blanks; false at the beginning of the text. */
static bool line_before(const char *source, const char *end, const char **begin)
{
    if (end == source) {
        return false;
    }
    const char *p = end - 1; /* its newline */
    while (p > source && p[-1] != '\n') {
        p--;
    }
    *begin = p;
    return true;
}

/* Whether the problem comes from "key:value" on the line before that at `at`, indented alike: says
 * so, and moves the place there. */
static bool yaml_no_blank(const char *problem, struct ty_place *at, char *said, size_t size)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const char *here = at->source, *before = NULL;
    if (problem == NULL || strncmp(problem, "mapping values", 14) != 0 || here == NULL) {
        return false;
    }
    for (uint32_t line = 1; line < at->line && strchr(here, '\n') != NULL; line++) {
        here = strchr(here, '\n') + 1;
    }
    const size_t indent = strspn(here, " ");
    if (!line_before(at->source, here, &before) || strspn(before, " ") != indent) {
        return false;
    }
    const char *key = before + indent;
    const size_t n = strspn(key, letters), value = strcspn(key, "\r\n");
    if (n == 0 || key[n] != ':' || value <= n + 1 || strchr(" \t", key[n + 1]) != NULL) {
        return false;
    }
    at->line--;
    at->col = (uint32_t)(indent + n) + 1;
    (void)snprintf(said, size, "no blank behind the colon; write \"%.*s: %.*s\"", (int)n, key,
                   (int)(value - n - 1 < 60 ? value - n - 1 : 60), key + n + 1);
    return true;
}

/* What libyaml was in: "while parsing a block mapping" is about a block mapping. */
static const char *yaml_context(const char *context)
{
    const char *article = strstr(context, " a ");
    return article ? article + 3 : context;
}

#define CORE_TAG "tag:yaml.org,2002:" /* what libyaml makes of "!!" */

/* What is kept of a node while reading; `node` comes first, so that pointers to both convert. */
struct built {
    struct ty_node node;
    uint32_t height; /* 1: a scalar */
    uint32_t weight; /* nodes */
};

struct anchor {
    const char *name;
    struct built *target; /* NULL while it is still being read */
};

struct reader {
    yaml_parser_t parser;
    struct ty_doc *doc;
    struct ty_arena *arena;
    struct ty_err *err;
    int code;                    /* of the first error */
    bool stopped;                /* reading cannot go on */
    uint64_t n_nodes, n_aliased; /* values so far; those that aliases stand for */
    uint32_t n_anchors;
    struct anchor anchors[TY_YAML_MAX_ANCHORS];
    const char *path[TY_YAML_MAX_DEPTH + 2]; /* keys from the root; NULL: in a list */
};

static struct ty_place mark_place(const struct reader *r, const yaml_mark_t *mark)
{
    return (struct ty_place){
        .file = r->doc->file,
        .source = r->doc->source,
        .line = (uint32_t)mark->line + 1,
        .col = (uint32_t)mark->column + 1,
    };
}

static void TY_PRINTF(4, 5)
    reader_fail(struct reader *r, int code, const struct ty_place *at, const char *format, ...)
{
    char message[512];
    va_list args;
    va_start(args, format);
    (void)ty_vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    (void)ty_fail_at(r->err, code, at, "%s", message);
    r->code = r->code == 0 ? code : r->code;
}

static void reader_stop(struct reader *r, int code, const struct ty_place *at, const char *message)
{
    if (!r->stopped) {
        reader_fail(r, code, at, "%s", message);
        r->stopped = true;
    }
}

static void reader_nomem(struct reader *r)
{
    const struct ty_place at = {.file = r->doc->file};
    reader_stop(r, TY_ENOMEM, &at, "memory is exhausted");
}

/* In our words; a tab is what people meet most often. */
static void syntax_fail(struct reader *r)
{
    const yaml_parser_t *p = &r->parser;
    char message[400];
    struct ty_place at = mark_place(r, &p->problem_mark);
    const char *problem = yaml_problem(p->problem);
    if (p->error == YAML_MEMORY_ERROR) {
        reader_nomem(r);
        return;
    }
    if (p->error == YAML_SCANNER_ERROR && p->problem &&
        strstr(p->problem, "cannot start any token") && *p->buffer.pointer == '\t') {
        reader_stop(r, TY_EINPUT, &at, "a tab where YAML allows only spaces; indent with spaces");
        return;
    }
    const bool elsewhere = p->context && (p->context_mark.line != p->problem_mark.line ||
                                          p->context_mark.column != p->problem_mark.column);
    if (elsewhere &&
        p->problem_mark.index >= ty_utf8_count(r->doc->source, strlen(r->doc->source))) {
        at = mark_place(r, &p->context_mark); /* the end of the text says nothing */
        (void)snprintf(message, sizeof(message), "%s", problem);
    } else if (elsewhere) {
        (void)snprintf(message, sizeof(message), "%s (in the %s from line %zu, column %zu)",
                       problem, yaml_context(p->context), p->context_mark.line + 1,
                       p->context_mark.column + 1);
    } else if (!yaml_no_blank(p->problem, &at, message, sizeof(message))) {
        (void)snprintf(message, sizeof(message), "%s", problem);
    }
    reader_stop(r, TY_EINPUT, &at, message);
}

/* The next event; false (and reading has stopped) when there is none. */
static bool next_event(struct reader *r, yaml_event_t *event)
{
    if (r->stopped) {
        return false;
    }
    if (!yaml_parser_parse(&r->parser, event)) {
        syntax_fail(r);
        return false;
    }
    return true;
}

/* "layout.order: ", or "" at the root. */
static const char *path_text(const struct reader *r, uint32_t depth, char *buf, size_t size)
{
    size_t len = 0;
    buf[0] = '\0';
    for (uint32_t i = 1; i <= depth; i++) {
        if (r->path[i] && len < size) {
            const int n =
                snprintf(buf + len, size - len, "%s%.60s", len > 0 ? "." : "", r->path[i]);
            len += n > 0 ? (size_t)n : 0;
        }
    }
    if (len > 0 && len + 2 < size) {
        memcpy(buf + len, ": ", 3);
    }
    return buf;
}

/* Counts nodes towards the limit of the document. */
static bool count_nodes(struct reader *r, const struct ty_place *at, uint32_t n)
{
    r->n_nodes += n;
    if (r->n_nodes > TY_YAML_MAX_NODES) {
        reader_stop(r, TY_ELIMIT, at, "too many values; a file may have at most 200000");
        return false;
    }
    return true;
}

static struct built *node_new(struct reader *r, enum ty_node_kind kind, const struct ty_place *at)
{
    struct built *built = ty_arena_array(r->arena, struct built, 1);
    if (!built) {
        reader_nomem(r);
        return NULL;
    }
    if (!count_nodes(r, at, 1)) {
        return NULL;
    }
    built->node.kind = kind;
    built->node.line = at->line;
    built->node.col = at->col;
    built->height = built->weight = 1;
    return built;
}

static char *copy_text(struct reader *r, const yaml_char_t *text, size_t len)
{
    char *copy = ty_arena_strndup(r->arena, (const char *)text, len);
    if (!copy) {
        reader_nomem(r);
    }
    return copy;
}

/* Opens an anchor; the caller completes it when the node is read. */
static struct anchor *anchor_open(struct reader *r, const yaml_char_t *name,
                                  const struct ty_place *at)
{
    if (!name || r->stopped) {
        return NULL;
    }
    if (r->n_anchors == TY_YAML_MAX_ANCHORS) {
        reader_stop(r, TY_ELIMIT, at, "too many anchors; a file may have at most 1000");
        return NULL;
    }
    const char *copy = copy_text(r, name, strlen((const char *)name));
    if (!copy) {
        return NULL;
    }
    struct anchor *anchor = &r->anchors[r->n_anchors++];
    *anchor = (struct anchor){.name = copy};
    return anchor;
}

/* A copy of the anchored node, with the same children. The latest anchor of a name counts. */
static struct built *alias_read(struct reader *r, const char *name, const struct ty_place *at,
                                uint32_t depth)
{
    char path[256];
    path_text(r, depth, path, sizeof(path));
    const struct anchor *anchor = NULL;
    for (uint32_t i = r->n_anchors; i-- > 0 && !anchor;) {
        if (strcmp(r->anchors[i].name, name) == 0) {
            anchor = &r->anchors[i];
        }
    }
    if (!anchor) {
        reader_fail(r, TY_EINPUT, at, "%sunknown alias (*%.60s); define it before with &%.60s",
                    path, name, name);
        return node_new(r, TY_NODE_SCALAR, at);
    }
    if (!anchor->target) {
        reader_fail(r, TY_EINPUT, at,
                    "%san alias inside its own anchor (*%.60s); a value cannot contain itself",
                    path, name);
        return node_new(r, TY_NODE_SCALAR, at);
    }
    if (depth + anchor->target->height > TY_YAML_MAX_DEPTH) {
        reader_stop(r, TY_ELIMIT, at, "aliases nest too deep; at most 32 levels are read");
        return NULL;
    }
    struct built *built = node_new(r, TY_NODE_SCALAR, at);
    if (!built || !count_nodes(r, at, anchor->target->weight - 1)) {
        return NULL;
    }
    r->n_aliased += anchor->target->weight;
    if (r->n_aliased > TY_YAML_MAX_ALIASED) {
        reader_stop(r, TY_ELIMIT, at,
                    "aliases expand too far; they may stand for at most 20000 values");
        return NULL;
    }
    *built = *anchor->target;
    built->node.key = NULL;
    built->node.next = NULL;
    return built;
}

static struct built *node_read(struct reader *r, yaml_event_t *event, uint32_t depth);

static void append(struct built *parent, struct ty_node ***tail, struct built *child)
{
    **tail = &child->node;
    *tail = &child->node.next;
    parent->node.n_children++;
    parent->weight += child->weight;
    if (child->height >= parent->height) {
        parent->height = child->height + 1;
    }
}

static void list_read(struct reader *r, struct built *list, uint32_t depth)
{
    struct ty_node **tail = &list->node.first;
    yaml_event_t event;
    r->path[depth + 1] = NULL;
    while (next_event(r, &event)) {
        if (event.type == YAML_SEQUENCE_END_EVENT) {
            yaml_event_delete(&event);
            return;
        }
        struct built *child = node_read(r, &event, depth + 1);
        if (child) {
            append(list, &tail, child);
        }
    }
}

struct at_depth {
    struct reader *reader;
    uint32_t depth;
};

static void fail_duplicate(void *data, const struct ty_node *first, const struct ty_node *again)
{
    const struct at_depth *of = data;
    struct reader *r = of->reader;
    char path[256];
    const struct ty_place at = ty_node_key_place(r->doc, again);
    r->path[of->depth + 1] = again->key;
    path_text(r, of->depth + 1, path, sizeof(path));
    reader_fail(r, TY_EINPUT, &at, "%sduplicate key, first given on line %u; keep one%s", path,
                (unsigned)first->key_line, at.col > 1 ? "" : ", or indent keys of a section");
}

static void map_check_duplicates(struct reader *r, struct built *map, uint32_t depth)
{
    struct at_depth of = {.reader = r, .depth = depth};
    if (map_duplicates(&map->node, r->doc->last_counts ? NULL : fail_duplicate, &of,
                       &r->doc->again) < 0) {
        reader_nomem(r);
    }
}

/* The key of the next entry, or NULL when it cannot be one (its value is still to be read). */
static const char *key_read(struct reader *r, yaml_event_t *event, uint32_t depth)
{
    char path[256];
    const struct ty_place at = mark_place(r, &event->start_mark);
    path_text(r, depth, path, sizeof(path));
    if (event->type != YAML_SCALAR_EVENT) {
        r->path[depth + 1] = NULL;
        reader_fail(r, TY_EINPUT, &at, "%sa key that is not plain text; write key: value", path);
        (void)node_read(r, event, depth + 1);
        return NULL;
    }
    const char *key = NULL;
    const bool quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    if (strlen((const char *)event->data.scalar.value) != event->data.scalar.length) {
        reader_fail(r, TY_EINPUT, &at, "%sa zero character in a key; remove it", path);
    } else if (!quoted && strcmp((const char *)event->data.scalar.value, "<<") == 0) {
        reader_fail(r, TY_EINPUT, &at,
                    "%smerge keys are not read (<<); write the keys out, or alias single values",
                    path);
    } else {
        key = copy_text(r, event->data.scalar.value, event->data.scalar.length);
    }
    yaml_event_delete(event);
    return key;
}

static void map_read(struct reader *r, struct built *map, uint32_t depth)
{
    struct ty_node **tail = &map->node.first;
    yaml_event_t event;
    while (next_event(r, &event)) {
        if (event.type == YAML_MAPPING_END_EVENT) {
            yaml_event_delete(&event);
            map_check_duplicates(r, map, depth);
            return;
        }
        const struct ty_place at = mark_place(r, &event.start_mark);
        const char *key = key_read(r, &event, depth);
        r->path[depth + 1] = key;
        if (!next_event(r, &event)) {
            return;
        }
        struct built *child = node_read(r, &event, depth + 1);
        if (child && key) {
            child->node.key = key;
            child->node.key_line = at.line;
            child->node.key_col = at.col;
            append(map, &tail, child);
        }
    }
}

static struct built *scalar_read(struct reader *r, const yaml_event_t *event,
                                 const struct ty_place *at, uint32_t depth)
{
    struct built *built = node_new(r, TY_NODE_SCALAR, at);
    if (!built) {
        return NULL;
    }
    const size_t len = event->data.scalar.length;
    if (strlen((const char *)event->data.scalar.value) != len) {
        char path[256];
        path_text(r, depth, path, sizeof(path));
        reader_fail(r, TY_EINPUT, at, "%sa zero character in a value; remove it", path);
    }
    built->node.text = copy_text(r, event->data.scalar.value, len);
    built->node.quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    return built;
}

/* Anchor and tag of an event that starts a node; NULL when it has none. */
struct labels {
    const yaml_char_t *anchor, *tag;
};

static struct labels event_labels(const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return (struct labels){event->data.scalar.anchor, event->data.scalar.tag};
    case YAML_SEQUENCE_START_EVENT:
        return (struct labels){event->data.sequence_start.anchor, event->data.sequence_start.tag};
    case YAML_MAPPING_START_EVENT:
        return (struct labels){event->data.mapping_start.anchor, event->data.mapping_start.tag};
    default:
        return (struct labels){NULL, NULL};
    }
}

/* The node that `event` starts (consumed), depth levels below the root. NULL: reading has stopped.
 */
static struct built *node_read(struct reader *r, yaml_event_t *event, uint32_t depth)
{
    const struct ty_place at = mark_place(r, &event->start_mark);
    const yaml_event_type_t type = event->type;
    const struct labels labels = event_labels(event);
    struct anchor *anchor = NULL;
    struct built *built = NULL;
    if (depth >= TY_YAML_MAX_DEPTH) {
        reader_stop(r, TY_ELIMIT, &at, "nested too deep; at most 32 levels are read");
        yaml_event_delete(event);
        return NULL;
    }
    if (labels.tag) {
        char path[256];
        path_text(r, depth, path, sizeof(path));
        const char *tag = (const char *)labels.tag;
        const bool core = strncmp(tag, CORE_TAG, sizeof(CORE_TAG) - 1) == 0;
        reader_fail(r, TY_EINPUT, &at, "%stags are not read (%s%.60s); write the plain value", path,
                    core ? "!!" : "", core ? tag + sizeof(CORE_TAG) - 1 : tag);
    }
    anchor = anchor_open(r, labels.anchor, &at);
    if (type == YAML_ALIAS_EVENT) {
        built = alias_read(r, (const char *)event->data.alias.anchor, &at, depth);
    } else if (type == YAML_SCALAR_EVENT) {
        built = scalar_read(r, event, &at, depth);
    } else {
        built = node_new(r, type == YAML_SEQUENCE_START_EVENT ? TY_NODE_LIST : TY_NODE_MAP, &at);
    }
    yaml_event_delete(event);
    if (built && type == YAML_SEQUENCE_START_EVENT) {
        list_read(r, built, depth);
    } else if (built && type == YAML_MAPPING_START_EVENT) {
        map_read(r, built, depth);
    }
    if (anchor) {
        anchor->target = built;
    }
    return r->stopped ? NULL : built;
}

/* The stream: at most one document. */
static void stream_read(struct reader *r)
{
    bool seen = false;
    yaml_event_t event;
    while (next_event(r, &event)) {
        const yaml_event_type_t type = event.type;
        if (type == YAML_STREAM_START_EVENT || type == YAML_DOCUMENT_END_EVENT) {
            yaml_event_delete(&event);
        } else if (type == YAML_STREAM_END_EVENT) {
            yaml_event_delete(&event);
            return;
        } else if (type == YAML_DOCUMENT_START_EVENT) {
            const struct ty_place at = mark_place(r, &event.start_mark);
            yaml_event_delete(&event);
            if (seen) {
                reader_stop(r, TY_EINPUT, &at,
                            "a second document begins here; write each to a file of its own");
            }
            seen = true;
        } else {
            struct built *root = node_read(r, &event, 0);
            const bool blank = root && root->node.kind == TY_NODE_SCALAR && root->node.text &&
                               root->node.text[0] == '\0' && !root->node.quoted;
            r->doc->root = root && !blank ? &root->node : NULL;
        }
    }
}

int ty_yaml_read(struct ty_doc *doc, struct ty_arena *arena, const char *text, size_t len,
                 struct ty_err *err)
{
    struct reader *r = calloc(1, sizeof(*r));
    if (!r || !doc->file || !doc->source || !yaml_parser_initialize(&r->parser)) {
        free(r);
        return ty_fail_memory(err);
    }
    r->doc = doc;
    r->arena = arena;
    r->err = err;
    yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)text, len);
    stream_read(r);
    const int code = r->code;
    yaml_parser_delete(&r->parser);
    free(r);
    return code;
}
