/* fold.h - one member for all of a gang, where they cannot differ.
 *
 * Members of a gang issue the same operations. When every duration holds for all of them and
 * nothing is random, they start the same operation at the same time, so that one of them tells the
 * times of all: by induction over the operations, the maximum over a group of equal times is that
 * time. A folded program has one member per gang and the makespan of the whole; it is for those who
 * need no timeline of every rank. */
#ifndef TY_CORE_FOLD_H
#define TY_CORE_FOLD_H

#include "sim/core/program.h"

/* True when members cannot differ: no duration is given member by member, none varies, and all
 * gangs are of one size. */
bool ty_program_folds(const struct ty_program *program);

/* A sealed program like `program`, which folds, with one member per gang: rank g is gang g. It
 * shares the columns that do not change; the rest is the arena's. 0, or TY_ENOMEM, TY_EBUG. */
int ty_program_fold(struct ty_program *out, const struct ty_program *program,
                    struct ty_arena *arena, struct ty_err *err);

#endif
