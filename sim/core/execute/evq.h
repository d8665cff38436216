/* evq.h - the pending-event set: a binary heap of 16-byte rows, at most one for each lane.
 *
 * Order is time, then lane: it comes from the data, never from insertion. A lane's event can be
 * moved, which is what a task does whose link gets busier. Pop follows the smaller child down to a
 * leaf and climbs back (bottom-up heapsort, Wegener 1993): a popped row's replacement is usually
 * late and belongs near the bottom. */
#ifndef TY_CORE_EXECUTE_EVQ_H
#define TY_CORE_EXECUTE_EVQ_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/check.h"
#include "sim/base/units.h"

struct ty_ev {
    ty_ps t;
    uint32_t lane;
    uint32_t pad;
};
_Static_assert(sizeof(struct ty_ev) == 16, "a pending event is 16 bytes");

struct ty_evq {
    struct ty_ev *row; /* [lanes], owned by whoever made it */
    uint32_t *at;      /* [lanes]: 1 + index of the lane's row; 0: none. Zeroed to begin with */
    uint32_t n;
};

/* Without a branch on the time: simultaneous events are the rule in training steps. */
static inline bool ty_ev_before(const struct ty_ev *a, const struct ty_ev *b)
{
    return (a->t < b->t) | ((a->t == b->t) & (a->lane < b->lane));
}

static inline void ty_evq_place(struct ty_evq *q, uint32_t i, struct ty_ev ev)
{
    assert(i < q->n);
    q->row[i] = ev;
    q->at[ev.lane] = i + 1;
}

/* Fills the hole at i with a row that belongs there or above it. */
static inline void ty_evq_sift_up(struct ty_evq *q, uint32_t i, struct ty_ev ev)
{
    while (i > 0) {
        const uint32_t parent = (i - 1) / 2;
        if (!ty_ev_before(&ev, &q->row[parent])) {
            break;
        }
        ty_evq_place(q, i, q->row[parent]);
        i = parent;
    }
    ty_evq_place(q, i, ev);
}

/* Fills the hole at i with a row that belongs there or below it. */
static inline void ty_evq_sift_down(struct ty_evq *q, uint32_t i, struct ty_ev ev)
{
    for (uint32_t child = 2 * i + 1; child < q->n; child = 2 * i + 1) {
        child += child + 1 < q->n && ty_ev_before(&q->row[child + 1], &q->row[child]);
        ty_evq_place(q, i, q->row[child]);
        i = child;
    }
    ty_evq_sift_up(q, i, ev);
}

/* The event of a lane is at t: a new one, or the one it has, earlier or later. */
static inline void ty_evq_set(struct ty_evq *q, uint32_t lane, ty_ps t)
{
    const struct ty_ev ev = {.t = t, .lane = lane};
    const uint32_t at = q->at[lane];
    assert(at <= q->n && (at == 0 || q->row[at - 1].lane == lane));
    if (at == 0) {
        ty_evq_sift_up(q, q->n++, ev);
    } else if (ty_ev_before(&ev, &q->row[at - 1])) {
        ty_evq_sift_up(q, at - 1, ev);
    } else {
        ty_evq_sift_down(q, at - 1, ev);
    }
}

/* What holds of it: no row before its parent, and each lane knows its own. */
static inline bool ty_evq_is_heap(const struct ty_evq *q)
{
    for (uint32_t i = 0; i < q->n; i++) {
        if (q->at[q->row[i].lane] != i + 1 ||
            (i > 0 && ty_ev_before(&q->row[i], &q->row[(i - 1) / 2]))) {
            return false;
        }
    }
    return true;
}

/* The earliest event; q->n > 0. */
static inline struct ty_ev ty_evq_pop(struct ty_evq *q)
{
    assert(q->n > 0 && q->at[q->row[0].lane] == 1);
    const struct ty_ev top = q->row[0];
    const struct ty_ev last = q->row[--q->n];
    q->at[top.lane] = 0;
    if (q->n > 0) {
        ty_evq_sift_down(q, 0, last);
    }
    return top;
}

#endif
