/* peers.h - who of another gang are partners of a member, where gangs may be of different size. */
#ifndef TY_CORE_PROGRAM_PEERS_H
#define TY_CORE_PROGRAM_PEERS_H

#include "sim/core/program/program.h"

/* Neighbours in a row: members of a gang, or times of a slot. */
struct ty_peers {
    uint32_t first, n;
};

/* Of `wide` places, those that are for member i of `n`: one, or several where there are more. */
static inline struct ty_peers ty_peers_of(uint32_t i, uint32_t n, uint32_t wide)
{
    assert(i < n && wide > 0 && (wide > n ? wide % n : n % wide) == 0);
    return wide > n ? (struct ty_peers){i * (wide / n), wide / n}
                    : (struct ty_peers){i / (n / wide), 1};
}

/* Times of a slot that are of one member of a gang with n. */
static inline uint32_t ty_channel_share(const struct ty_program *p, const struct ty_channel *c,
                                        uint32_t n)
{
    const uint32_t from = p->gangs[c->from].n_ranks, to = p->gangs[c->to].n_ranks;
    assert(n == from || n == to);
    return from == to ? 1 : (from > to ? from : to) / n;
}

/* The other gang of a message, and who of it are partners of a member. */
static inline uint32_t ty_op_peer_gang(const struct ty_program *p, const struct ty_op *op)
{
    assert(op->sync == TY_SYNC_SEND || op->sync == TY_SYNC_RECV);
    const struct ty_channel *c = &p->channels[op->link];
    return op->sync == TY_SYNC_SEND ? c->to : c->from;
}
static inline struct ty_peers ty_op_peers(const struct ty_program *p, const struct ty_op *op,
                                          uint32_t member)
{
    const struct ty_channel *c = &p->channels[op->link];
    const uint32_t from = p->gangs[c->from].n_ranks, to = p->gangs[c->to].n_ranks;
    return op->sync == TY_SYNC_SEND ? ty_peers_of(member, from, to) : ty_peers_of(member, to, from);
}

/* The rank of the first of them. */
static inline uint32_t ty_op_peer(const struct ty_program *p, const struct ty_op *op,
                                  uint32_t member)
{
    return p->gangs[ty_op_peer_gang(p, op)].rank_of[ty_op_peers(p, op, member).first];
}

/* Who of a gang with n members combine with one of them in a meeting. */
static inline struct ty_group ty_meet_group(const struct ty_program *p, const struct ty_meet *m,
                                            uint32_t n)
{
    return m->n_members > 0      ? (struct ty_group){m->name, 1, n}
           : m->group != TY_NONE ? p->groups[m->group]
                                 : (struct ty_group){m->name, 1, 1};
}

#endif
