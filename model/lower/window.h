/* window.h - how few ranks tell what all do; see window.c. */
#ifndef TY_MODEL_LOWER_WINDOW_H
#define TY_MODEL_LOWER_WINDOW_H

#include "model/lower/internal.h"

/* Finds the ranks that tell what all do, if they are asked for. Needs the grid. 0 or TY_ENOMEM. */
int ty_lower_window(struct ty_lowering *l);

/* What a window stands for, or members of a gang, of which one would be executed, turn out to
 * differ: what is done so far ends, and all ranks are lowered. */
void ty_lower_differs(struct ty_lowering *l);

/* How many parts like the one in the window a group has. */
uint32_t ty_lower_parts(const struct ty_lowering *l, const struct ty_group *whole);

/* Where a GPU is among those with links. */
uint32_t ty_lower_port(const struct ty_lowering *l, uint32_t gpu);

/* What members send in an operation, mean over all of the gang, from l->cost_of. Of a window, if
 * that is told, rounded as if each member came in its turn. */
void ty_lower_sent(const struct ty_lowering *l, struct ty_kind *kind);

#endif
