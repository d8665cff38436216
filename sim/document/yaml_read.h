/* yaml_read.h - from libyaml's events to the tree; used in this folder only. */
#ifndef TY_DOCUMENT_YAML_READ_H
#define TY_DOCUMENT_YAML_READ_H

#include "sim/document/yaml.h"

/* Reads `text` (valid UTF-8) into doc->root. doc->file and doc->source are what messages show; NULL
 * in one of them is reported as exhausted memory. */
int ty_yaml_read(struct ty_doc *doc, struct ty_arena *arena, const char *text, size_t len,
                 struct ty_err *err);

/* Tells every key of a map that is there before; without `tell` the last of equal keys stays, the
 * others go, and `again` is one that stayed. TY_ENOMEM: memory is exhausted. */
typedef void ty_duplicate_fn(void *data, const struct ty_node *first, const struct ty_node *again);

#endif
