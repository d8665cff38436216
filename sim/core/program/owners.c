/* owners.c - finds the members that start the flows of each kind of operation. Blocks are looked
 * at once per gang, however many passes use them. */
#include "sim/core/program/owners.h"

struct search {
    const struct ty_program *p;
    struct ty_owner *owner;
    uint32_t *gang_of_meet; /* [n_meets]: 1 + the first gang that comes to it; 0: none yet */
    uint32_t *seen;         /* [n_blocks]: 1 + the gang that last had it */
};

static bool note(struct search *s, uint32_t gang, const struct ty_op *op)
{
    struct ty_owner *owner = &s->owner[op->kind];
    const bool meet = op->sync == TY_SYNC_MEET;
    const struct ty_owner found = {gang,
                                   meet                        ? s->p->meets[op->link].group
                                   : op->sync == TY_SYNC_GROUP ? op->link
                                                               : TY_NONE,
                                   op->lane};
    if (s->p->kinds[op->kind].first_flow == 0) {
        return true;
    }
    if (meet) {
        uint32_t *first = &s->gang_of_meet[op->link];
        *first = *first == 0 ? gang + 1 : *first;
        if (*first != gang + 1) {
            return true;
        }
    }
    if (owner->gang != TY_NO_GANG) {
        return owner->gang == found.gang && owner->group == found.group &&
               owner->lane == found.lane;
    }
    *owner = found;
    return true;
}

static bool note_block(struct search *s, uint32_t gang, uint32_t index)
{
    const struct ty_block *block = &s->p->blocks[index];
    if (s->seen[index] == gang + 1) {
        return true;
    }
    s->seen[index] = gang + 1;
    for (uint32_t k = 0; k < block->n_ops; k++) {
        if (!note(s, gang, &s->p->ops[block->first + k])) {
            return false;
        }
    }
    return true;
}

int ty_owners_find(const struct ty_owner **owners, const struct ty_program *p,
                   struct ty_arena *arena, struct ty_err *err)
{
    struct search s = {.p = p};
    s.owner = ty_arena_array(arena, struct ty_owner, (size_t)p->n_kinds + 1);
    s.gang_of_meet = ty_arena_array(arena, uint32_t, (size_t)p->n_meets + 1);
    s.seen = ty_arena_array(arena, uint32_t, (size_t)p->n_blocks + 1);
    if (s.owner == NULL || s.gang_of_meet == NULL || s.seen == NULL) {
        return ty_fail_memory(err);
    }
    for (uint32_t k = 0; k < p->n_kinds; k++) {
        s.owner[k] = (struct ty_owner){TY_NO_GANG, TY_NONE, 0};
    }
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        for (uint32_t i = 0; i < p->gangs[g].n_passes; i++) {
            if (!note_block(&s, g, ty_gang_passes(p, &p->gangs[g])[i].block)) {
                return ty_fail(err, TY_EBUG,
                               "program: a kind with flows is used in two ways (gang %u)",
                               (unsigned)g);
            }
        }
    }
    *owners = s.owner;
    return 0;
}
