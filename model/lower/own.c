/* own.c - collectives between pipeline ranks that a user's schedule file asks for.
 *
 * Ranks of equal tensor, context and data coordinates combine. A group is a communicator: the k-th
 * collective that each member issues on it in a step is one collective, whatever the members call
 * it; whether they agree is for sim/core/deadlock/mismatch.h to find. */
#include "model/lower/internal.h"

#include <string.h>

#define NAME_RANKS 24 /* most bytes of a list of ranks in the name of a group */

/* A group of pipeline ranks. */
struct ty_own_group {
    const struct ty_slot_coll *like; /* some collective of it */
    const uint32_t *gangs;           /* [like->n_ranks] */
    const char *name;                /* "pp 0-1" */
    uint16_t *meet;                  /* [n] its first, second, ... collective of a step */
    uint32_t n;                      /* most that one rank issues in a step */
    uint32_t issued;                 /* by the rank being lowered */
};

static struct ty_own_group *group_of(struct ty_lowering *l, const struct ty_slot_coll *c)
{
    for (uint32_t i = 0; i < l->links.n_own; i++) {
        if (strcmp(l->links.own[i].like->ranks, c->ranks) == 0) {
            return &l->links.own[i];
        }
    }
    struct ty_own_group *group = &l->links.own[l->links.n_own++];
    group->like = c;
    return group;
}

static void forget_issued(struct ty_lowering *l)
{
    for (uint32_t i = 0; i < l->links.n_own; i++) {
        l->links.own[i].issued = 0;
    }
}

/* Names, members and meetings of a group whose size is known. */
static int make_group(struct ty_lowering *l, struct ty_own_group *group)
{
    uint32_t *gangs = ty_arena_array(l->arena, uint32_t, group->like->n_ranks);
    group->meet = ty_arena_array(l->arena, uint16_t, group->n);
    const char *ranks = group->like->ranks;
    group->name = ty_arena_printf(l->arena, "pp %.*s%s", NAME_RANKS, ranks,
                                  strlen(ranks) > NAME_RANKS ? "..." : "");
    if (gangs == NULL || group->meet == NULL || group->name == NULL) {
        return ty_fail_memory(l->b.err);
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < group->like->n_spans; i++) {
        for (uint32_t r = group->like->spans[i].first; r <= group->like->spans[i].last; r++) {
            gangs[n++] = r;
        }
    }
    group->gangs = gangs;
    for (uint32_t k = 0; k < group->n; k++) {
        const int index = ty_build_meet(
            &l->b,
            &(struct ty_meet){.name = group->name, .group = TY_NONE, .n_gangs = n, .gangs = gangs});
        group->meet[k] = index < 0 ? 0 : (uint16_t)index;
    }
    return 0;
}

int ty_lower_own_groups(struct ty_lowering *l, const struct ty_slots *slots)
{
    size_t n = 0;
    for (uint32_t r = 0; r < slots->p; r++) {
        n += slots->rank[r].n_colls;
    }
    if (n == 0) {
        return 0;
    }
    l->links.own = ty_arena_array(l->arena, struct ty_own_group, n);
    if (l->links.own == NULL) {
        return ty_fail_memory(l->b.err);
    }
    for (uint32_t r = 0; r < slots->p; r++) {
        forget_issued(l);
        for (uint32_t i = 0; i < slots->rank[r].n_colls; i++) {
            struct ty_own_group *group = group_of(l, &slots->rank[r].coll[i]);
            group->issued++;
            group->n = group->issued > group->n ? group->issued : group->n;
        }
    }
    int rc = 0;
    for (uint32_t i = 0; i < l->links.n_own && rc == 0; i++) {
        rc = make_group(l, &l->links.own[i]);
    }
    return rc;
}

/* One block for all that are alike, found by its kind and meeting. */
static uint32_t block_of(struct ty_lowering *l, uint16_t kind, uint16_t meet)
{
    const struct ty_program *p = l->b.program;
    for (uint32_t b = l->here.own_first_block; b < p->n_blocks; b++) {
        const struct ty_op *op = &p->ops[p->blocks[b].first];
        if (p->blocks[b].n_ops == 1 && op->sync == TY_SYNC_MEET && op->kind == kind &&
            op->link == meet) {
            return b;
        }
    }
    return ty_lower_meeting(l, kind, meet);
}

/* A pass of its own for the collective, which belongs to the pass before it. */
static void add(struct ty_lowering *l, const struct ty_slot_coll *c, struct ty_own_group *group)
{
    struct ty_pass pass = l->b.program->passes[l->b.program->n_passes - 1];
    const struct ty_stages stages = {group->name, group->gangs, c->n_ranks};
    const uint16_t kind = ty_lower_stages_kind(l, &stages, (enum ty_coll)c->coll,
                                               (enum ty_phase)pass.phase, c->bytes);
    pass.block = block_of(l, kind, group->meet[group->issued++]);
    ty_build_pass(&l->b, &pass);
}

void ty_lower_own_begin(struct ty_lowering *l)
{
    l->here.own_next = 0;
    forget_issued(l);
}

void ty_lower_own(struct ty_lowering *l, const struct ty_rank_slots *order, uint32_t after)
{
    while (l->here.own_next < order->n_colls && order->coll[l->here.own_next].after <= after &&
           l->b.code == 0) {
        const struct ty_slot_coll *c = &order->coll[l->here.own_next++];
        add(l, c, group_of(l, c));
    }
}
