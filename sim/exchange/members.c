/* members.c - who communicates with whom in an executed program, and by which number. */
#include "sim/exchange/members.h"

#include <stdlib.h>

#include "sim/core/program/issue.h"

/* Members of a gang that one of its groups splits it into; index TY_NONE: each alone. */
static uint32_t group_size(const struct ty_program *p, uint16_t group)
{
    return group == TY_NONE ? 1 : p->groups[group].count;
}

static uint32_t *slot_of(const struct ty_members *m, uint32_t gang, const struct ty_op *op)
{
    return op->sync == TY_SYNC_MEET ? &m->of_meet[op->link]
                                    : &m->of_group[(size_t)gang * m->program->n_groups + op->link];
}

/* Gives the sets of a collective their numbers, unless it has them or joins nobody. */
static void number(struct ty_members *m, uint32_t gang, const struct ty_op *op)
{
    const struct ty_program *p = m->program;
    const bool meet = op->sync == TY_SYNC_MEET;
    if (!meet && op->sync != TY_SYNC_GROUP) {
        return;
    }
    if (meet) {
        m->meets[(size_t)op->link * p->n_gangs + gang] = true;
    }
    const uint32_t size = group_size(p, meet ? p->meets[op->link].group : op->link);
    const uint32_t joined = size * (meet ? p->meets[op->link].n_gangs : 1);
    uint32_t *first = slot_of(m, gang, op);
    if (*first == 0 && joined > 1) {
        *first = m->n + 1;
        m->n += p->gangs[gang].n_ranks / size;
        m->most = joined > m->most ? joined : m->most;
    }
}

int ty_members_find(struct ty_members *out, const struct ty_program *program,
                    struct ty_arena *arena, struct ty_err *err)
{
    const size_t n_groups = (size_t)program->n_gangs * program->n_groups;
    const size_t n_meetings = (size_t)program->n_gangs * program->n_meets;
    *out = (struct ty_members){.program = program,
                               .of_group = ty_arena_array(arena, uint32_t, n_groups + 1),
                               .of_meet = ty_arena_array(arena, uint32_t, program->n_meets + 1u),
                               .meets = ty_arena_array(arena, bool, n_meetings + 1),
                               .most = 1};
    if (out->of_group == NULL || out->of_meet == NULL || out->meets == NULL) {
        return ty_fail_memory(err);
    }
    for (uint32_t g = 0; g < program->n_gangs; g++) {
        for (struct ty_issue at = ty_issue_of(program, &program->gangs[g]); ty_issue_next(&at);) {
            number(out, g, at.op);
        }
    }
    return 0;
}

/* Adds the members of a gang that share a group with `member`. */
static void add_group(const struct ty_program *p, uint32_t gang, uint16_t group, uint32_t member,
                      struct ty_member_set *set)
{
    const struct ty_group alone = {.stride = 1, .count = 1};
    const struct ty_group *g = group == TY_NONE ? &alone : &p->groups[group];
    const uint32_t first = ty_group_first(g, member);
    for (uint32_t i = 0; i < g->count; i++) {
        set->ranks[set->n++] = p->gangs[gang].rank_of[first + i * g->stride];
    }
}

void ty_members_of(const struct ty_members *m, uint32_t gang, uint32_t member,
                   const struct ty_op *op, struct ty_member_set *set)
{
    const struct ty_program *p = m->program;
    const struct ty_group alone = {.stride = 1, .count = 1};
    set->n = set->position = set->number = 0;
    const bool meet = op->sync == TY_SYNC_MEET;
    const uint16_t group = meet                        ? p->meets[op->link].group
                           : op->sync == TY_SYNC_GROUP ? op->link
                                                       : TY_NONE;
    const struct ty_group *g = group == TY_NONE ? &alone : &p->groups[group];
    for (uint32_t other = 0; meet && other < p->n_gangs; other++) {
        if (m->meets[(size_t)op->link * p->n_gangs + other]) {
            set->position += other < gang ? g->count : 0;
            add_group(p, other, group, member, set);
        }
    }
    if (!meet) {
        add_group(p, gang, group, member, set);
    }
    set->position += ty_group_position(g, member);
    if (set->n > 1) {
        set->number = *slot_of(m, gang, op) + ty_group_number(g, member);
    }
}

/* The sets of one collective that has numbers. */
static void tell_sets(const struct ty_members *m, uint32_t gang, const struct ty_op *op,
                      struct ty_member_set *set, ty_member_set_fn *tell, void *arg)
{
    const struct ty_program *p = m->program;
    const uint16_t group = op->sync == TY_SYNC_MEET ? p->meets[op->link].group : op->link;
    for (uint32_t i = 0; i < p->gangs[gang].n_ranks; i++) {
        if (group == TY_NONE || ty_group_position(&p->groups[group], i) == 0) {
            ty_members_of(m, gang, i, op, set);
            tell(arg, set);
        }
    }
}

int ty_members_each(const struct ty_members *m, ty_member_set_fn *tell, void *arg,
                    struct ty_err *err)
{
    const struct ty_program *p = m->program;
    struct ty_member_set set = {.ranks = calloc(m->most, sizeof(*set.ranks))};
    uint32_t told = 0;
    if (set.ranks == NULL) {
        return ty_fail_memory(err);
    }
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        for (struct ty_issue at = ty_issue_of(p, &p->gangs[g]); ty_issue_next(&at);) {
            const bool joins = at.op->sync == TY_SYNC_GROUP || at.op->sync == TY_SYNC_MEET;
            if (joins && *slot_of(m, g, at.op) == told + 1) {
                tell_sets(m, g, at.op, &set, tell, arg);
                told = set.number;
            }
        }
    }
    free(set.ranks);
    return 0;
}
