/* mismatch.h - do partners agree about what they say to each other?
 *
 * A communicator knows no names: NCCL matches the k-th send from one rank to another with the k-th
 * receive there, and the k-th collective of each member with that of the others. Where the two
 * sides mean different things a real job hangs, or goes on with wrong numbers; the executors, which
 * match by number, would not notice. So it is looked for in the program itself, before it runs.
 *
 * Messages of one name ("act", "grad") from one gang to another share a communicator. */
#ifndef TY_CORE_MISMATCH_H
#define TY_CORE_MISMATCH_H

#include "sim/core/program.h"

struct ty_mismatch {
    uint32_t n;      /* communicators whose members disagree; 0: none, and nothing else is set */
    char text[1024]; /* the first, by position in the orders: ranks, operations, group, bytes */
    uint8_t *barred; /* [n_slots] of enum ty_bar (stall.h): what cannot be matched */
};

/* Looks at all messages and collectives across gangs of a sealed program: order, kind, size, group,
 * and whether what is sent is received. (A message that is awaited and never sent is a deadlock,
 * and found as one.) Columns are owned by the arena. TY_ENOMEM with a message. O(passes + messages)
 */
int ty_mismatch_find(struct ty_mismatch *out, const struct ty_program *p, struct ty_arena *arena,
                     struct ty_err *err);

#endif
