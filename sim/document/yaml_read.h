/* yaml_read.h - from libyaml's events to the tree; used by doc.c only. */
#ifndef TY_DOCUMENT_YAML_READ_H
#define TY_DOCUMENT_YAML_READ_H

#include "sim/document/yaml.h"

/* Reads `text` (valid UTF-8) into doc->root. doc->file and doc->source are what messages show; NULL
 * in one of them is reported as exhausted memory. */
int ty_yaml_read(struct ty_doc *doc, struct ty_arena *arena, const char *text, size_t len,
                 struct ty_err *err);

#endif
