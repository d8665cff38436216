/* check.h - is an order of slots a pipeline schedule? Every rule that is broken, by rank and
 * slot. Slots of a rank are counted from 0; an overlapped pair is one slot. */
#ifndef TY_MODEL_ORDERS_CHECK_H
#define TY_MODEL_ORDERS_CHECK_H

#include "model/schedule/schedule.h"

/* Where an atom was written: 1-based line, 1-based column in characters. */
struct ty_slot_mark {
    uint32_t line, col;
};

struct ty_rank_marks {
    struct ty_slot_mark row;         /* where the rank begins */
    const struct ty_slot_mark *slot; /* [n], like the atoms of the rank */
};

/* Where a whole schedule was written, for messages with place and excerpt. */
struct ty_slots_marks {
    const char *file, *source;        /* source: zero-terminated */
    const struct ty_rank_marks *rank; /* [p] */
};

/* Checks every rank by itself: each piece (micro-batch, stage, slice, direction) that it has any of
 * has one F and either one B or one I and one W, all on the rank of the stage and in an order that
 * can run. `marks` NULL: messages have no place. All broken rules are reported in one go. Such
 * orders can be lowered. Errors: TY_EINPUT, TY_ENOMEM. O(atoms) time, 12 bytes per piece. */
int ty_slots_check(enum ty_sched_placement placement, const struct ty_sched_shape *shape,
                   const struct ty_slots *slots, const struct ty_slots_marks *marks,
                   struct ty_err *err);

/* What only shows when such ranks are laid side by side: pieces that one rank has and another lacks
 * whole; if there are none, ranks that wait for each other. TY_EDEADLOCK where some can never
 * finish, else TY_EINPUT; TY_ENOMEM, TY_ELIMIT. */
int ty_slots_check_between(enum ty_sched_placement placement, const struct ty_sched_shape *shape,
                           const struct ty_slots *slots, const struct ty_slots_marks *marks,
                           struct ty_err *err);

#endif
