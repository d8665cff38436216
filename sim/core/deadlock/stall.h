/* stall.h - where everybody stands when nobody can go on. */
#ifndef TY_CORE_DEADLOCK_STALL_H
#define TY_CORE_DEADLOCK_STALL_H

#include "sim/core/deadlock/fronts.h"
#include "sim/core/deadlock/mismatch.h"

struct ty_stall {
    struct ty_front *front; /* [n_gangs][n_lanes]; NULL: everybody finishes */
    uint32_t *arrived;      /* [n_slots]: sends done, or gangs that stand at the meeting */
    uint32_t n_stuck;       /* gangs that never finish */
};

/* Runs every stream of every gang through its operations without a clock until nobody can go on:
 * where they stand then is where any executor halts. barred: [n_slots] of enum ty_bar, or NULL.
 * O(operations). Columns are owned by the arena. TY_ENOMEM. */
int ty_stall_find(struct ty_stall *stall, const struct ty_program *p, const uint8_t *barred,
                  struct ty_arena *arena);

/* Whether a disagreement was come to: about a meeting by all its members, about two meetings by
 * both sides; about a message by who receives it, or sends what is never received. */
bool ty_stall_reaches(const struct ty_stall *stall, const struct ty_program *p,
                      const struct ty_finding *f);

/* The first disagreement that was come to, by pass and gang; NULL: none, all stop before. */
const struct ty_finding *ty_stall_disagreement(const struct ty_stall *stall,
                                               const struct ty_program *p,
                                               const struct ty_mismatch *mismatch);

#endif
