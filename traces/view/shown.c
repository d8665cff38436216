/* shown.c - which members of each gang are shown, and the partners of what they communicate.
 *
 * Members of one communicator share args.group and args.seq. The group is named by its lowest
 * member's global rank ("tp 8"); a collective that spans gangs, by that rank in the first gang. */
#include "sim/core/program/issue.h"
#include "sim/core/program/peers.h"
#include "traces/view/view.h"

/* The partners of an operation, by number: nobody, then the groups, the meetings, the channels as
 * their sender, the channels as their receiver. */
uint32_t ty_view_partner_of(const struct ty_program *p, const struct ty_op *op)
{
    switch ((enum ty_sync)op->sync) {
    case TY_SYNC_LOCAL:
        break;
    case TY_SYNC_GROUP:
        return 1 + op->link;
    case TY_SYNC_MEET:
        return 1 + p->n_groups + op->link;
    case TY_SYNC_SEND:
        return 1 + p->n_groups + p->n_meets + op->link;
    case TY_SYNC_RECV:
        return 1 + p->n_groups + p->n_meets + p->n_channels + op->link;
    }
    return 0;
}

/* The first gang that takes part in a meeting. */
static const struct ty_gang *host(const struct ty_program *p, uint32_t meet)
{
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        if (ty_gang_meets(p, &p->gangs[g], meet)) {
            return &p->gangs[g];
        }
    }
    return NULL;
}

/* Row numbers as in ty_view_partner_of. */
struct ty_view_partner ty_view_partner(struct ty_view *v, const struct ty_view_shown *shown,
                                       uint32_t partner, uint32_t member)
{
    const struct ty_program *p = v->program;
    if (partner > p->n_groups + p->n_meets) {
        const uint32_t i = partner - 1 - p->n_groups - p->n_meets;
        const bool sends = i < p->n_channels;
        const struct ty_channel *channel = &p->channels[sends ? i : i - p->n_channels];
        const struct ty_gang *other = &p->gangs[sends ? channel->to : channel->from];
        const struct ty_peers peers = ty_peers_of(member, shown->gang->n_ranks, other->n_ranks);
        return (struct ty_view_partner){NULL, other->rank_of[peers.first]};
    }
    if (partner > p->n_groups) {
        const uint32_t number = partner - 1 - p->n_groups;
        const struct ty_meet *meet = &p->meets[number];
        const struct ty_group group = ty_meet_group(p, meet, shown->gang->n_ranks);
        const uint32_t first = ty_group_first(&group, member);
        if (v->hosts[number] == NULL) {
            v->hosts[number] = host(p, number);
        }
        return (struct ty_view_partner){meet->name != NULL ? meet->name : "",
                                        v->hosts[number]->rank_of[first]};
    }
    const struct ty_group *group = &p->groups[partner - 1];
    return (struct ty_view_partner){group->name != NULL ? group->name : "",
                                    shown->gang->rank_of[ty_group_first(group, member)]};
}

/* ---- who is shown ---- */

static int show_members(struct ty_view *v, struct ty_view_shown *shown, const bool *is_shown)
{
    const struct ty_gang *gang = shown->gang;
    shown->member = ty_arena_array(&v->arena, uint32_t, gang->n_ranks);
    shown->slot = ty_arena_array(&v->arena, uint32_t, gang->n_ranks);
    if (shown->member == NULL || shown->slot == NULL) {
        return TY_ENOMEM;
    }
    for (uint32_t m = 0; m < gang->n_ranks; m++) {
        shown->slot[m] = TY_VIEW_NONE;
        if (is_shown[gang->rank_of[m]]) {
            shown->slot[m] = shown->n;
            shown->member[shown->n++] = m;
        }
    }
    v->largest = shown->n > v->largest ? shown->n : v->largest;
    return 0;
}

static int find_shown(struct ty_view *v, struct ty_err *err)
{
    const struct ty_program *p = v->program;
    bool *is_shown = ty_arena_array(&v->arena, bool, p->n_ranks);
    v->shown = ty_arena_array(&v->arena, struct ty_view_shown, p->n_gangs);
    int rc = is_shown == NULL || v->shown == NULL ? TY_ENOMEM : 0;
    for (uint32_t i = 0; i < v->trace->n_ranks && rc == 0; i++) {
        if (v->trace->ranks[i] >= p->n_ranks || is_shown[v->trace->ranks[i]]) {
            return ty_fail(err, TY_EBUG, "trace: rank %u does not exist or is listed twice",
                           (unsigned)v->trace->ranks[i]);
        }
        is_shown[v->trace->ranks[i]] = true;
    }
    for (uint32_t g = 0; g < p->n_gangs && rc == 0; g++) {
        v->shown[g].gang = &p->gangs[g];
        rc = show_members(v, &v->shown[g], is_shown);
    }
    return rc == 0 ? 0 : ty_fail_memory(err);
}

/* Whether the passes of a gang, but for the optimizer's, are of several virtual stages. */
static bool several_stages(const struct ty_program *p, const struct ty_gang *gang)
{
    const struct ty_pass *passes = ty_gang_passes(p, gang);
    for (uint32_t i = 1; i < gang->n_passes; i++) {
        if (passes[i].stage != passes[0].stage && passes[i].phase != TY_PHASE_STEP) {
            return true;
        }
    }
    return false;
}

/* Whether two meetings are of one group, by name and by gangs. */
static bool same_group(const struct ty_meet *a, const struct ty_meet *b)
{
    return a->gangs != NULL && b->gangs != NULL && a->n_gangs == b->n_gangs && a->name != NULL &&
           b->name != NULL && strcmp(a->name, b->name) == 0 &&
           memcmp(a->gangs, b->gangs, a->n_gangs * sizeof(*a->gangs)) == 0;
}

static int number_turns(struct ty_view *v)
{
    const struct ty_program *p = v->program;
    v->turns = ty_arena_array(&v->arena, struct ty_view_turn, (size_t)p->n_meets + 1);
    for (uint32_t i = 0; i < p->n_meets && v->turns != NULL; i++) {
        v->turns[i].n = 1;
        for (uint32_t k = 0; k < p->n_meets; k++) {
            const bool same = k != i && same_group(&p->meets[i], &p->meets[k]);
            v->turns[i].n += same;
            v->turns[i].number += same && k < i;
        }
    }
    return v->turns != NULL ? 0 : TY_ENOMEM;
}

int ty_view_init(struct ty_view *v, const struct ty_trace *trace, struct ty_err *err)
{
    *v = (struct ty_view){.trace = trace, .timeline = trace->timeline};
    const struct ty_program *p = v->program = trace->timeline->program;
    v->from_ns = trace->window_from / 1000;
    v->to_ns = trace->window_to / 1000;
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        v->several_stages = v->several_stages || several_stages(p, &p->gangs[g]);
    }
    v->n_plans = (size_t)p->n_blocks * TY_N_PHASES;
    v->n_partners = 1 + p->n_groups + p->n_meets + 2 * p->n_channels;
    v->plans = ty_arena_array(&v->arena, struct ty_view_plan, v->n_plans);
    v->hosts = ty_arena_array(&v->arena, const struct ty_gang *, (size_t)p->n_meets + 1);
    if (v->plans == NULL || v->hosts == NULL || number_turns(v) != 0) {
        return ty_fail_memory(err);
    }
    return find_shown(v, err);
}

void ty_view_release(struct ty_view *v)
{
    ty_view_release_path(v);
    ty_arena_release(&v->arena);
}
