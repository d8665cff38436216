/* fronts.h - how far the streams of every gang get, each by itself.
 *
 * A rank issues one list of operations, and its streams work it off side by side (program.h): what
 * stands on one of them does not hold up the others. The front of a stream is the first of its
 * operations that has not been executed. Fronts move without a clock, each operation after all that
 * it waits for; where none can move, those that are left never will, whatever the order in which
 * they were tried. */
#ifndef TY_CORE_DEADLOCK_FRONTS_H
#define TY_CORE_DEADLOCK_FRONTS_H

#include "sim/core/program/timeline.h"

#define TY_NO_SLOT    UINT32_MAX
#define TY_IN_NO_LANE UINT8_MAX

struct ty_front {
    struct ty_stop at; /* the operation it stands before; pass == n_passes: at its end */
    uint32_t slot;     /* message or meeting that is missing for it; TY_NO_SLOT */
    uint8_t behind;    /* lane of its own gang that has not recorded an event yet; TY_IN_NO_LANE */
    bool met;          /* it stands at a meeting and has arrived there */
    uint32_t last[TY_EVENTS]; /* 1 + the last pass before `at` that records an event; 0: none */
};

/* An operation whose turn has come. */
struct ty_turn {
    uint32_t gang, pass; /* pass within the gang */
    const struct ty_op *op;
    uint64_t ordinal; /* of the operation within the gang */
    bool arrives;     /* at a meeting, where it may have to wait; its turn comes again */
    uint32_t n_after; /* operations of its gang whose events it waits for: */
    const struct ty_op *after[TY_WAITS];
    uint64_t after_ordinal[TY_WAITS];
};
typedef void ty_turn_fn(void *arg, const struct ty_turn *turn);

struct ty_fronts {
    const struct ty_program *p;
    const uint8_t *barred; /* [n_slots] of enum ty_bar (mismatch.h), or NULL */
    uint32_t *arrived;     /* [n_slots]: sends done, or gangs that stand at the meeting */
    ty_turn_fn *turn;      /* told of each operation; NULL: nobody is */
    void *arg;
    struct ty_front *front; /* [n_gangs][n_lanes]: the result, the arena's */
};

/* Moves all fronts as far as they go. Gangs have executed what they issued before stop[n_gangs],
 * and have arrived at the meeting that stands there if met[n_gangs] says so; what `arrived` holds
 * agrees with that. O(operations x streams). TY_ENOMEM. */
int ty_fronts_run(struct ty_fronts *f, const struct ty_stop *stop, const bool *met,
                  struct ty_arena *arena);

static inline bool ty_front_is_over(const struct ty_program *p, uint32_t front,
                                    const struct ty_stop *at)
{
    return at->pass >= p->gangs[front / p->n_lanes].n_passes;
}

#endif
