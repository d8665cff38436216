/* toml.h - a TOML document as the tree that YAML gives (yaml.h), every node with its place.
 *
 * TOML 1.0.0, written for jobs of other stacks: Debian 12 has no library of C that keeps places.
 * Tables become maps, arrays lists; strings are scalars that are `quoted`, other values scalars as
 * they stand but without the "_" of numbers. The first mistake ends the reading. */
#ifndef TY_DOCUMENT_TOML_H
#define TY_DOCUMENT_TOML_H

#include "sim/document/yaml.h"

#define TY_TOML_MAX_NODES 10000u
#define TY_TOML_MAX_DEPTH TY_YAML_MAX_DEPTH

/* Parses `len` bytes of `text`, zero-terminated; the root is a map. Everything is the arena's. */
int ty_toml_parse(struct ty_doc *doc, struct ty_arena *arena, const char *file, const char *text,
                  size_t len, struct ty_err *err);

#endif
