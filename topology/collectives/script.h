/* script.h - the messages of a collective, with what each waits for.
 *
 * What an algorithm emits step by step (coll.h) becomes lists by sender. A member sends one message
 * at a time, and one of a step when all that earlier steps brought it has arrived. Trees work on
 * chunks, every other one through the mirrored tree, as NCCL's two do.
 *
 * A message takes a latency and its bytes at one rate, such that the whole takes what the cost
 * model says: bytes of the longest chain at that rate, its messages at that latency. Links are left
 * aside in that: a tree, whose messages meet at the NICs of inner nodes, takes longer when it is
 * played. */
#ifndef TY_TOPOLOGY_COLLECTIVES_SCRIPT_H
#define TY_TOPOLOGY_COLLECTIVES_SCRIPT_H

#include "sim/base/arena.h"
#include "topology/collectives/coll.h"

struct ty_coll_message {
    uint32_t from, to;
    uint32_t pair;
    uint32_t first_after, n_after; /* of the script's `after` */
    double bytes;
};

struct ty_coll_script {
    struct ty_coll_message *message; /* [n]: by sender, in the order they are sent */
    uint32_t *send;                  /* [ranks + 1]: number of the first of each sender; n */
    uint32_t *after;                 /* [n_after] numbers of messages to the sender */
    uint32_t *pair_from, *pair_to;   /* [n_pairs] */
    uint32_t n, n_after, n_pairs;
    double latency_s, s_per_B; /* of a message */
};

/* Whether a collective of this cost can be told apart into messages: its algorithm has steps, of
 * one rate, and nodes hold equal numbers of members (rings do not mind). */
bool ty_coll_has_script(const struct ty_coll_cost *cost, const struct ty_reach *reach);

/* Owned by the arena. `bytes` are nccl-tests' S; the root is one member. 0, TY_ENOMEM, or TY_ELIMIT
 * above 16 million messages. */
int ty_coll_script(struct ty_coll_script *out, const struct ty_coll_cost *cost, enum ty_coll coll,
                   double bytes, const struct ty_reach *reach, struct ty_arena *arena,
                   struct ty_err *err);

#endif
