/* waits.h - what the nodes of a rank wait for on other streams, no more than they have to, and an
 * order of issue in which few events are open at a time. */
#ifndef TY_EXCHANGE_READ_WAITS_H
#define TY_EXCHANGE_READ_WAITS_H

#include "sim/exchange/read/plan.h"

struct ty_traced_waits {
    uint32_t *first, *wait; /* [n + 1], [..] nodes, of which TY_TRACED_START: their start */
    uint32_t *end_waiters, *start_waiters; /* [n] nodes that wait for its end, its start */
    uint32_t *issue;                       /* [n] nodes in the order of issue */
};

/* Owned by the arena. 0 or TY_ENOMEM. */
int ty_traced_find_waits(struct ty_traced_waits *out, const struct ty_traced_rank *rank,
                         const uint32_t *order, struct ty_arena *arena);

#endif
