/* autopsy.h - who waits for whom where nobody can go on.
 *
 * Every stream that cannot go on stands before one operation. Either that waits for an event of its
 * own rank: then the stream is behind another one. Or it waits for one stream of another rank, or
 * for something that will never be: a message that nobody sends, a partner that does not come, an
 * operation that its partners issue differently. Following the arrows from any stream ends in such
 * a cause, or runs into a circle; all others merely wait behind one of these.
 *
 *     stage 3 ──> stage 2 ──> stage 0 ──> stage 1          a circle of two,
 *                               ^            │             and two that wait behind it
 *                               └────────────┘
 */
#ifndef TY_CORE_DEADLOCK_AUTOPSY_H
#define TY_CORE_DEADLOCK_AUTOPSY_H

#include "sim/core/deadlock/stall.h"

#define TY_NOBODY UINT32_MAX

enum ty_why {
    TY_WHY_FINISHED,
    TY_WHY_BEHIND,     /* another stream of its gang */
    TY_WHY_WAITS,      /* for another gang, which has an operation `at` that would help */
    TY_WHY_NEVER_SENT, /* the message */
    TY_WHY_NO_PARTNER, /* a meeting of more gangs than ever come */
    TY_WHY_MISMATCHED, /* partners who mean something else have come to it, too */
};

/* Of one front. */
struct ty_wait {
    uint8_t why;         /* enum ty_why */
    bool is_end;         /* a cause, or in a circle */
    uint32_t next;       /* BEHIND: that stream; WAITS: the front that holds `at` up */
    struct ty_op_ref at; /* WAITS: what that gang has still to execute */
    uint32_t missing;    /* NO_PARTNER: gangs, ... */
    uint32_t absent;     /* ... the only one, or TY_NOBODY */
    uint32_t seen;       /* search that passed here, 1 + its first front; 0: none */
};

/* Who still comes to a meeting; looked up once. */
struct ty_comers {
    bool known;
    uint32_t n;          /* gangs that stand there or will come */
    struct ty_op_ref at; /* where the first of those that will come issues it; gang TY_NOBODY */
};

struct ty_autopsy {
    const struct ty_program *p; /* whole */
    struct ty_stall stall;
    bool *unmatched;           /* [n_slots]: both sides of a disagreement have come to it */
    struct ty_wait *wait;      /* [n_fronts] */
    uint32_t n_fronts, n_ends; /* n_ends: causes and circles */
    struct ty_comers *comers;  /* [meetings], from the first slot of one */
    uint32_t first_meeting;
};

/* Finds out about a sealed program; where everybody finishes, only `stall` is set. mismatch: what
 * partners mean differently, which is taken to stop them; or NULL. Columns are the arena's.
 * TY_ENOMEM. */
int ty_autopsy_make(struct ty_autopsy *a, const struct ty_program *p,
                    const struct ty_mismatch *mismatch, struct ty_arena *arena);

/* Follows the arrows from a front to where they end: a cause, or the lowest front of a circle, and
 * how many are in it (0: a cause). TY_NOBODY: another search has been there. */
uint32_t ty_autopsy_follow(const struct ty_autopsy *a, uint32_t start, uint32_t *n);

/* Where a gang is said to stand when there is room for one place: in a circle or at a cause if it
 * does, else where it was held up first. pass == n_passes: it finishes. */
struct ty_stop ty_autopsy_stop(const struct ty_autopsy *a, uint32_t gang);

/* The gang, and the operation, of a front. */
static inline uint32_t ty_front_gang(const struct ty_program *p, uint32_t front)
{
    return front / p->n_lanes;
}
static inline struct ty_op_ref ty_autopsy_issue(const struct ty_autopsy *a, uint32_t front)
{
    const struct ty_stop at = a->stall.front[front].at;
    return (struct ty_op_ref){ty_front_gang(a->p, front), at.pass, at.op};
}

/* Whether a front waits for another gang, or for what never comes: that is what can be told. That
 * computation waits for a message on its own rank goes without saying. */
static inline bool ty_wait_is_told(const struct ty_wait *w)
{
    return w->why != TY_WHY_FINISHED && w->why != TY_WHY_BEHIND;
}

#endif
