/* vary.h - configurations that differ in a few values from one that was read.
 *
 * Reading a run file takes a millisecond: presets, tables, hundreds of defaults. Of two layouts of
 * one job nearly all of that is the same; a variant is a copy of the base in which a few values are
 * set, and what follows from them is derived and checked anew:
 *
 *     struct ty_config c;
 *     ty_config_vary(&c, base);
 *     c.layout.tensor = 4;              (what is derived, such as layout.data, is auto again)
 *     rc = ty_config_complete(&c, err);
 *     ...
 *     ty_config_drop(&c);
 *
 * Values of sections layout, framework and schedule may be set so, but not framework.preset and
 * schedule.file, which bring other values with them, nor a layout.zero for which
 * ty_offload_framework names another stack where none is given. The base must outlive the copy, and
 * may be varied by several threads at once. */
#ifndef TY_CONFIG_VARY_H
#define TY_CONFIG_VARY_H

#include "sim/config/config.h"

/* A copy of the base, of which layout, framework and schedule are as they were given. */
void ty_config_vary(struct ty_config *out, const struct ty_config *base);

/* Derives what is left open and checks what can be wrong with a layout and a schedule: the same
 * messages as from a file, at the places of the base's values. */
int ty_config_complete(struct ty_config *config, struct ty_err *err);

/* Releases what belongs to the copy alone. */
void ty_config_drop(struct ty_config *config);

/* Bases of one source for settings as text, as rows of a table have them: a base for each choice of
 * presets and of other files, read when it is first asked for. One thread's; a bounded number. */
struct ty_config_bases;

/* The source is borrowed, with all that it points to. NULL: no memory. */
struct ty_config_bases *ty_config_bases_new(const struct ty_source *source);
void ty_config_bases_free(struct ty_config_bases *bases);

/* As ty_config_read of the source with more settings behind its own, each message to the letter.
 * To be freed (ty_config_free) before the next one is read: it leans on a base. */
int ty_config_bases_read(struct ty_config **config, struct ty_config_bases *bases,
                         const char *const *sets, size_t n_sets, struct ty_err *err);

#endif
