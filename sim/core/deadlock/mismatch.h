/* mismatch.h - do partners agree about what they say to each other?
 *
 * A communicator knows no names: NCCL matches the k-th send from one rank to another with the k-th
 * receive there, and the k-th collective of each member with that of the others. Where the two
 * sides mean different things a real job hangs, or goes on with wrong numbers; the executors, which
 * match by number, would not notice. So it is looked for in the program itself, before it runs.
 *
 * Messages of one name ("act", "grad") from one gang to another share a communicator. */
#ifndef TY_CORE_DEADLOCK_MISMATCH_H
#define TY_CORE_DEADLOCK_MISMATCH_H

#include "sim/core/program/say.h"

/* What is taken never to happen, by slot. */
enum ty_bar {
    TY_BAR_SEND = 1,
    TY_BAR_RECV = 2,
    TY_BAR_MEET = 4,
};

/* barred: [n_slots] of enum ty_bar; NULL: nothing is. */
static inline bool ty_is_barred(const uint8_t *barred, uint32_t slot, enum ty_bar bar)
{
    return barred != NULL && (barred[slot] & bar) != 0;
}

enum ty_disagreement {
    TY_DISAGREE_ORDER,      /* the k-th send is of another message than the k-th receive */
    TY_DISAGREE_SIZE,       /* of one message, as sent and as received */
    TY_DISAGREE_UNRECEIVED, /* sent, and never received */
    TY_DISAGREE_REPEATED,   /* sent or received twice, or met twice in a step */
    TY_DISAGREE_KIND,       /* one meeting, different collectives */
    TY_DISAGREE_SWAPPED,    /* the same, and the other side issues the first one's later */
    TY_DISAGREE_BYTES,      /* one meeting, one collective, different sizes */
    TY_DISAGREE_CROSSED,    /* two meetings in different orders */
    TY_DISAGREE_GROUP,      /* two meetings that both lack members, of groups that differ */
};

/* The first disagreement of a communicator. */
struct ty_finding {
    struct ty_finding *before; /* found before this one; NULL: none */
    enum ty_disagreement what;
    uint32_t nth;          /* message or collective of its communicator, from 1 */
    struct ty_op_ref a, b; /* what the two sides issue; REPEATED: the two times */
};

struct ty_mismatch {
    uint32_t n;              /* communicators whose members disagree; 0: none */
    struct ty_finding *last; /* found; [n] */
    uint8_t *barred;         /* [n_slots] of enum ty_bar: what cannot be matched */
};

/* What is barred; NULL: nothing. */
static inline const uint8_t *ty_mismatch_bars(const struct ty_mismatch *mismatch)
{
    return mismatch != NULL && mismatch->n > 0 ? mismatch->barred : NULL;
}

#define TY_MISMATCH_TEXT 1024

/* Ranks, operations, group and bytes of both sides; returns buf. */
char *ty_mismatch_say(const struct ty_program *p, const struct ty_finding *f,
                      char buf[TY_MISMATCH_TEXT]);

/* Looks at all messages and collectives across gangs of a sealed program: order, kind, size, group,
 * and whether what is sent is received. (A message that is awaited and never sent is a deadlock,
 * and found as one.) Columns are owned by the arena. TY_ENOMEM with a message. O(passes + messages)
 */
int ty_mismatch_find(struct ty_mismatch *out, const struct ty_program *p, struct ty_arena *arena,
                     struct ty_err *err);

#endif
