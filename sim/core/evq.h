/* evq.h - the pending-event set: a binary heap of 16-byte rows.
 *
 * Order is time, then id: it comes from the data, never from insertion. Every lane has at most one
 * running task, so the heap stays as small as the cluster. Pop follows the smaller child down to a
 * leaf and climbs back (bottom-up heapsort, Wegener 1993): a popped row's replacement is usually
 * late and belongs near the bottom. */
#ifndef TY_CORE_EVQ_H
#define TY_CORE_EVQ_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/units.h"

struct ty_ev {
    ty_ps t;
    uint64_t id;
};
_Static_assert(sizeof(struct ty_ev) == 16, "a pending event is 16 bytes");

struct ty_evq {
    struct ty_ev *row; /* [cap], owned by whoever made it; the caller sees to it that n < cap */
    uint32_t n, cap;
};

/* Without a branch on the time: simultaneous events are the rule in training steps. */
static inline bool ty_ev_before(const struct ty_ev *a, const struct ty_ev *b)
{
    return (a->t < b->t) | ((a->t == b->t) & (a->id < b->id));
}

static inline void ty_evq_climb(struct ty_evq *q, uint32_t i, struct ty_ev ev)
{
    while (i > 0) {
        const uint32_t parent = (i - 1) / 2;
        if (!ty_ev_before(&ev, &q->row[parent])) {
            break;
        }
        q->row[i] = q->row[parent];
        i = parent;
    }
    q->row[i] = ev;
}

static inline void ty_evq_push(struct ty_evq *q, ty_ps t, uint64_t id)
{
    ty_evq_climb(q, q->n++, (struct ty_ev){t, id});
}

/* The earliest event; q->n > 0. */
static inline struct ty_ev ty_evq_pop(struct ty_evq *q)
{
    const struct ty_ev top = q->row[0];
    const struct ty_ev last = q->row[--q->n];
    uint32_t i = 0;
    for (uint32_t child = 1; child < q->n; child = 2 * i + 1) {
        child += child + 1 < q->n && ty_ev_before(&q->row[child + 1], &q->row[child]);
        q->row[i] = q->row[child];
        i = child;
    }
    if (q->n > 0) {
        ty_evq_climb(q, i, last);
    }
    return top;
}

#endif
