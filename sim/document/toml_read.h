/* toml_read.h - between the files that read TOML: the cursor, and values. */
#ifndef TY_DOCUMENT_TOML_READ_H
#define TY_DOCUMENT_TOML_READ_H

#include "sim/base/text.h"
#include "sim/document/toml.h"

/* How a table or array came to be, which decides what may be added to it. */
enum ty_toml_origin {
    TY_TOML_CLOSED,   /* a value: nothing */
    TY_TOML_ON_PATH,  /* a header went through it: keys, by a header of its own */
    TY_TOML_HEADER,   /* [it]: its keys follow; later only tables inside it */
    TY_TOML_DOTTED,   /* a key went through it: keys, by such keys */
    TY_TOML_REPEATED, /* [[it]]: more of the kind */
};

/* What is kept of a node while reading; `node` comes first, so that pointers to both convert. */
struct ty_toml_node {
    struct ty_node node;
    struct ty_toml_node *last; /* child */
    enum ty_toml_origin origin;
    uint32_t depth; /* of a table: levels between it and the root */
};

struct ty_toml_reader {
    struct ty_doc *doc;
    struct ty_arena *arena;
    struct ty_err *err;
    const char *at; /* what is read next; ends with a zero */
    uint32_t line, col;
    uint32_t n_nodes;
    int code;            /* of the error that ended the reading; 0 */
    struct ty_text text; /* of the string that is being read */
};

/* ---- the cursor ---- */

/* Moves on by n bytes, none of them the zero at the end. */
void ty_toml_advance(struct ty_toml_reader *r, size_t n);

/* Blanks; and with `lines` comments and line ends, too. */
void ty_toml_skip(struct ty_toml_reader *r, bool lines);

/* Ends the reading with a message, here or at a place. Returns NULL. */
void *ty_toml_stop(struct ty_toml_reader *r, const char *format, ...) TY_PRINTF(2, 3);
void *ty_toml_stop_at(struct ty_toml_reader *r, uint32_t line, uint32_t col, const char *format,
                      ...) TY_PRINTF(4, 5);

void *ty_toml_stop_deep(struct ty_toml_reader *r);

/* A node that begins here; NULL: the reading has ended. */
struct ty_toml_node *ty_toml_new(struct ty_toml_reader *r, enum ty_node_kind kind,
                                 enum ty_toml_origin origin);

/* Puts a child behind the others. */
void ty_toml_append(struct ty_toml_node *parent, struct ty_toml_node *child);

/* ---- toml_string.c ---- */

/* The string that begins here with a quote, of one line or, if it may be, of several; its text is
 * the arena's. NULL: the reading has ended. */
char *ty_toml_string(struct ty_toml_reader *r, bool may_have_lines);

/* ---- toml_value.c ---- */

/* Any value, so many levels below the root. NULL: the reading has ended. */
struct ty_toml_node *ty_toml_value(struct ty_toml_reader *r, uint32_t depth);

/* ---- toml.c ---- */

/* "a.b = value" into a table, for the body of a file and for inline tables. */
void ty_toml_key_value(struct ty_toml_reader *r, struct ty_toml_node *table);

#endif
