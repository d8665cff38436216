/* owners.h - who starts the flows of each kind of operation. */
#ifndef TY_CORE_PROGRAM_OWNERS_H
#define TY_CORE_PROGRAM_OWNERS_H

#include "sim/core/program/program.h"

/* Of a kind with flows. A group has one flow, its first member's; a meeting has those of the first
 * gang that comes to it. */
struct ty_owner {
    uint32_t gang;  /* TY_NO_GANG: the kind has no flows, or another gang's stand for them */
    uint16_t group; /* whose members share a flow; TY_NONE: each has its own */
    uint8_t lane;
};
#define TY_NO_GANG UINT32_MAX

/* (*owners)[n_kinds], owned by the arena. 0, TY_ENOMEM, or TY_EBUG: a kind with flows is used by
 * two gangs, on two streams or with two groups. */
int ty_owners_find(const struct ty_owner **owners, const struct ty_program *p,
                   struct ty_arena *arena, struct ty_err *err);

/* Whether a member of the owner's gang stands for a flow. */
static inline bool ty_owner_is_first(const struct ty_program *p, const struct ty_owner *owner,
                                     uint32_t member)
{
    const struct ty_group *g = owner->group == TY_NONE ? NULL : &p->groups[owner->group];
    return g == NULL || ty_group_position(g, member) == 0;
}

#endif
