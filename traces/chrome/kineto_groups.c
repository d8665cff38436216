/* kineto_groups.c - the process groups of a rank.
 *
 * What PyTorch calls a process group is here an instance of a group within a gang, of a meeting of
 * gangs, or the two ends of a channel. They are numbered by what they are of and by a rank that
 * only one instance has. */
#include <stdlib.h>

#include "sim/core/program/issue.h"
#include "sim/core/program/peers.h"
#include "traces/chrome/kineto.h"

uint32_t ty_kineto_links(const struct ty_program *p)
{
    return p->n_groups + p->n_meets + p->n_channels;
}

uint32_t ty_kineto_link(const struct ty_program *p, const struct ty_op *op)
{
    switch ((enum ty_sync)op->sync) {
    case TY_SYNC_LOCAL:
    case TY_SYNC_GROUP:
        return op->link;
    case TY_SYNC_MEET:
        return p->n_groups + op->link;
    case TY_SYNC_SEND:
    case TY_SYNC_RECV:
        return p->n_groups + p->n_meets + op->link;
    }
    return 0;
}

/* Appends the members of a group that has `member`, as global ranks. */
static void add_members(const struct ty_gang *gang, const struct ty_group *group, uint32_t member,
                        struct ty_kineto_group *out)
{
    const uint32_t first = ty_group_first(group, member);
    for (uint32_t i = 0; i < group->count; i++) {
        out->ranks[out->n++] = gang->rank_of[first + i * group->stride];
    }
}

/* A gang takes part when it is listed or, without a list, when it issues the meeting. */
static bool takes_part(const struct ty_program *p, uint32_t gang, uint32_t number)
{
    const struct ty_meet *meet = &p->meets[number];
    for (uint32_t i = 0; meet->gangs != NULL && i < meet->n_gangs; i++) {
        if (meet->gangs[i] == gang) {
            return true;
        }
    }
    return meet->gangs == NULL && ty_gang_meets(p, &p->gangs[gang], number);
}

static void add_meeting(const struct ty_program *p, uint32_t number, uint32_t member,
                        struct ty_kineto_group *out)
{
    const struct ty_meet *meet = &p->meets[number];
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        if (!takes_part(p, g, number)) {
            continue;
        }
        const struct ty_group group = ty_meet_group(p, meet, p->gangs[g].n_ranks);
        add_members(&p->gangs[g], &group, meet->n_members > 0 ? 0 : member, out);
    }
}

static int ascending(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

int ty_kineto_group(const struct ty_program *p, struct ty_seat seat, const struct ty_op *op,
                    struct ty_arena *arena, struct ty_kineto_group *out)
{
    const struct ty_gang *gang = &p->gangs[seat.gang];
    *out = (struct ty_kineto_group){.ranks = ty_arena_array(arena, uint32_t, p->n_ranks)};
    if (out->ranks == NULL) {
        return TY_ENOMEM;
    }
    if (op->sync == TY_SYNC_GROUP) {
        add_members(gang, &p->groups[op->link], seat.member, out);
    } else if (op->sync == TY_SYNC_MEET) {
        add_meeting(p, op->link, seat.member, out);
    } else {
        const struct ty_peers peers = ty_op_peers(p, op, seat.member);
        const struct ty_gang *other = &p->gangs[ty_op_peer_gang(p, op)];
        out->ranks[out->n++] = gang->rank_of[seat.member];
        for (uint32_t i = 0; i < peers.n; i++) {
            out->ranks[out->n++] = other->rank_of[peers.first + i];
        }
    }
    qsort(out->ranks, out->n, sizeof(*out->ranks), ascending);
    out->number = (uint64_t)ty_kineto_link(p, op) * p->n_ranks + out->ranks[0];
    out->what = p->kinds[op->kind].group != NULL ? p->kinds[op->kind].group : "pp";
    return 0;
}
