/* fold.h - one member for all of a gang, where they cannot differ.
 *
 * Members of a gang issue the same operations. When every duration holds for all of them and
 * nothing is random, they start the same operation at the same time, so that one of them tells the
 * times of all: by induction over the operations, the maximum over a group, or over messages of
 * several neighbours, of equal times is that time. A folded program has one member per gang and the
 * makespan of the whole.
 *
 * Where links are shared, members must also see links alike: all flows of a kind use, as often and
 * at the same rates, links that in turn are used alike. Then all of them get the same speed at any
 * time (links and kinds form an equitable partition, and max-min fair shares are constant on its
 * cells), and a folded link stands for a cell: it has the capacity of one link, and each kind takes
 * of it what its flows together take of that one.
 *
 * Where members of a gang do differ, some may still be twins: neighbours (the ranks of a tensor
 * group) with equal durations, and one draw of what varies. A program folded by twins has one
 * member for so many. */
#ifndef TY_CORE_EXECUTE_FOLD_H
#define TY_CORE_EXECUTE_FOLD_H

#include "sim/core/program/timeline.h"

/* True when members cannot differ, links aside: no duration is given member by member, none
 * varies, no collective is played message by message. */
bool ty_program_folds(const struct ty_program *program);

/* A sealed program like `program`, which folds, with one member per gang: rank g is gang g. It
 * shares the columns that do not change; the rest is the arena's. 0 or TY_ENOMEM. */
int ty_program_fold(struct ty_program *out, const struct ty_program *program,
                    struct ty_arena *arena, struct ty_err *err);

/* fold_twins.c: how many neighbours cannot differ, links aside; 1: none. */
uint32_t ty_program_twins(const struct ty_program *program);

/* The same for so many twins: ranks are numbered gang after gang. */
int ty_program_fold_twins(struct ty_program *out, const struct ty_program *program, uint32_t twins,
                          struct ty_arena *arena, struct ty_err *err);

/* fold_links.c: gives a folded program its links. *alike: whether members see them alike; if not,
 * the folded program must not be executed with shared links. */
int ty_program_fold_links(struct ty_program *folded, const struct ty_program *program, bool *alike,
                          struct ty_arena *arena, struct ty_err *err);

/* fold_twins.c: the same for a program that was folded by twins. */
int ty_program_fold_twin_links(struct ty_program *folded, const struct ty_program *program,
                               uint32_t twins, bool *alike, struct ty_arena *arena,
                               struct ty_err *err);

/* The times of a folded program's timeline, for all members: into an initialised timeline of the
 * whole program, with durations if the folded one has them. */
int ty_timeline_unfold(struct ty_timeline *out, const struct ty_timeline *folded,
                       struct ty_err *err);

#endif
