/* stall.h - where everybody stands when nobody can go on. */
#ifndef TY_CORE_STALL_H
#define TY_CORE_STALL_H

#include "sim/core/timeline.h"

/* What is known never to happen, by slot: bits of stall_find's `barred`. */
enum ty_bar {
    TY_BAR_SEND = 1,
    TY_BAR_RECV = 2,
    TY_BAR_MEET = 4,
};

struct ty_stall {
    struct ty_stop *stop; /* [n_gangs] */
    uint32_t *arrived;    /* [n_slots]: sends done, or gangs that stand at the meeting */
    uint32_t n_stuck;     /* gangs that never finish */
};

/* Runs every gang through its order without a clock, each operation after the one issued before
 * it, until nobody can go on. That is the meaning of a deadlock (program.h): the sweep stops there,
 * too; the queue may have got further on streams that do not depend on what is missing. barred:
 * [n_slots] of enum ty_bar, or NULL. O(operations). Columns are owned by the arena. TY_ENOMEM. */
int ty_stall_find(struct ty_stall *stall, const struct ty_program *p, const uint8_t *barred,
                  struct ty_arena *arena);

#endif
