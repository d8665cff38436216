/* exceptions_internal.h - shared by exceptions.c and exceptions_read.c. */
#ifndef TY_TOPOLOGY_EXCEPTIONS_INTERNAL_H
#define TY_TOPOLOGY_EXCEPTIONS_INTERNAL_H

#include "topology/exceptions.h"

/* Fills the tables from the items. 0 or TY_ENOMEM. */
int ty_exceptions_tables(struct ty_exceptions *e, const struct ty_cluster *cluster,
                         struct ty_arena *arena);

/* Number of the generation of a GPU preset, made when it is the first of its name: the cluster with
 * the preset's GPU in place of its own. 0: no such preset; TY_EINPUT: the cluster's reserve leaves
 * nothing of its memory; neither is reported. Or another negative code. */
int ty_exceptions_generation_of(struct ty_exceptions *e, const struct ty_cluster *cluster,
                                const char *preset, struct ty_arena *arena, struct ty_err *err);

#endif
