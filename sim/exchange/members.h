/* members.h - who communicates with whom in an executed program, and by which number.
 *
 * Trace formats know groups by a number and a list of ranks, and messages by a tag. A program has
 * (stride, count) groups of gangs and meetings across gangs; here each set of ranks of theirs that
 * a collective joins gets a number, from 1 on. */
#ifndef TY_EXCHANGE_MEMBERS_H
#define TY_EXCHANGE_MEMBERS_H

#include "sim/core/program/peers.h"
#include "sim/core/program/timeline.h"

struct ty_members {
    const struct ty_program *program;
    uint32_t *of_group; /* [n_gangs][n_groups] number of the first set; 0: no collective joins it */
    uint32_t *of_meet;  /* [n_meets] the same */
    bool *meets;        /* [n_meets][n_gangs] who takes part */
    uint32_t n;         /* sets */
    uint32_t most;      /* members of the largest */
};

/* One set, as a member sees it. */
struct ty_member_set {
    uint32_t number, position, n;
    uint32_t *ranks; /* [n] by position; room of the caller for `most` of ty_members */
};

/* Owned by the arena. 0 or TY_ENOMEM with a message. */
int ty_members_find(struct ty_members *out, const struct ty_program *program,
                    struct ty_arena *arena, struct ty_err *err);

/* Whom an operation of a member joins; n 1, number 0: nobody. `set->ranks` comes in. */
void ty_members_of(const struct ty_members *m, uint32_t gang, uint32_t member,
                   const struct ty_op *op, struct ty_member_set *set);

/* Calls `tell` for every set, in the order of their numbers. TY_ENOMEM with a message. */
typedef void ty_member_set_fn(void *arg, const struct ty_member_set *set);
int ty_members_each(const struct ty_members *m, ty_member_set_fn *tell, void *arg,
                    struct ty_err *err);

/* The rank at the other end of a message. */
static inline uint32_t ty_members_peer(const struct ty_program *p, uint32_t member,
                                       const struct ty_op *op)
{
    return ty_op_peer(p, op, member);
}

/* What tells a message from all others between the same two ranks: those of collectives follow each
 * other on their stream, those of a pipeline have a slot each. */
static inline uint32_t ty_members_tag(const struct ty_program *p, const struct ty_pass *pass,
                                      const struct ty_op *op)
{
    return op->sync == TY_SYNC_GROUP ? op->stream : TY_MAX_STREAMS + ty_op_slot(p, pass, op);
}

#endif
