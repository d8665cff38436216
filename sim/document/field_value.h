/* field_value.h - reading and writing one value; used by the files of fields.h only. */
#ifndef TY_DOCUMENT_FIELD_VALUE_H
#define TY_DOCUMENT_FIELD_VALUE_H

#include "sim/document/fields.h"

/* Whom a message is about. */
struct ty_value_context {
    const char *section;
    const struct ty_field *field;
    const struct ty_doc *doc;
    struct ty_arena *arena;
    struct ty_err *err;
};

/* Reads a node into the field's memory; `slot` is unchanged when that fails. */
int ty_value_read(const struct ty_value_context *context, const struct ty_node *node, void *slot);

/* Bytes of a value in memory. */
size_t ty_value_size(enum ty_field_type type);

#endif
