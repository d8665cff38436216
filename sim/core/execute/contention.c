/* contention.c - finds the links that can be asked for more than they carry. */
#include "sim/core/execute/contention.h"

#include <string.h>

#include "sim/core/program/owners.h"

#define MARGIN (1 + 1e-9) /* sums of rates are rounded */

struct finder {
    struct ty_contention *out;
    const struct ty_program *p;
    const struct ty_owner *owner; /* [n_kinds] */
    const bool *spread;           /* [n_groups] that come by themselves; NULL: none */
    uint32_t *users, n_users;     /* [n_kinds]: kinds on the stream at hand */
    double *asked;                /* [n_links]: sum over streams */
    double *most;                 /* [n_links]: of the stream of one member */
    uint32_t *touched, n_touched;
    uint32_t most_uses; /* of one flow of the stream at hand */
    uint32_t *number;   /* [n_links]: 1 + number among contended links; 0: none */
};

static bool prepare(struct finder *f, struct ty_arena *arena)
{
    const struct ty_program *p = f->p;
    f->users = ty_arena_array(arena, uint32_t, (size_t)p->n_kinds + 1);
    f->asked = ty_arena_array(arena, double, (size_t)p->n_links + 1);
    f->most = ty_arena_array(arena, double, (size_t)p->n_links + 1);
    f->touched = ty_arena_array(arena, uint32_t, (size_t)p->n_links + 1);
    f->number = ty_arena_array(arena, uint32_t, (size_t)p->n_links + 1);
    return f->users && f->asked && f->most && f->touched && f->number;
}

static const struct ty_use *uses_of(const struct ty_program *p, const struct ty_flow *flow)
{
    return p->uses + flow->first_use;
}

typedef void flow_fn(struct finder *f, uint32_t row);

/* The flows that a member starts in operations of the kind. */
static void each_flow(struct finder *f, uint32_t k, uint32_t member, flow_fn *visit)
{
    const struct ty_program *p = f->p;
    const struct ty_kind *kind = &p->kinds[k];
    const struct ty_owner *owner = &f->owner[k];
    if (kind->script == 0) {
        if (ty_owner_is_first(p, owner, member)) {
            visit(f, kind->first_flow - 1 + member);
        }
        return;
    }
    struct ty_sender sender = ty_script_sender(p, kind, &p->groups[owner->group], member);
    while (ty_sender_next(&sender)) {
        visit(f, sender.flow);
    }
}

static void touch(struct finder *f, uint32_t row)
{
    const struct ty_flow *flow = &f->p->flows[row];
    const struct ty_use *use = uses_of(f->p, flow);
    for (uint32_t i = 0; i < flow->n_uses; i++) {
        assert(use[i].link < f->p->n_links);
        double *most = &f->most[use[i].link];
        if (*most <= 0) {
            assert(f->n_touched < f->p->n_links);
            f->touched[f->n_touched++] = use[i].link;
        }
        *most = use[i].Bps > *most ? use[i].Bps : *most;
    }
}

/* The most that one member's operations of the stream ask of each link, added up. */
static void ask(struct finder *f, uint32_t member)
{
    f->n_touched = 0;
    for (uint32_t u = 0; u < f->n_users; u++) {
        each_flow(f, f->users[u], member, touch);
    }
    for (uint32_t i = 0; i < f->n_touched; i++) {
        f->asked[f->touched[i]] += f->most[f->touched[i]];
        f->most[f->touched[i]] = 0;
    }
}

static void count_uses(struct finder *f, uint32_t row)
{
    const uint32_t n = f->out->flows[row].n_uses;
    f->most_uses = n > f->most_uses ? n : f->most_uses;
}

/* How many flows on contended links a member's operations of the stream can be, and uses. */
static void count(struct finder *f, uint32_t member)
{
    f->most_uses = 0;
    for (uint32_t u = 0; u < f->n_users; u++) {
        each_flow(f, f->users[u], member, count_uses);
    }
    assert(f->n_users > 0);
    f->out->max_flows += f->most_uses > 0;
    f->out->max_uses += f->most_uses;
}

/* Whose flows other parts of the job have, too. */
static bool is_spread(const struct finder *f, uint32_t kind)
{
    const uint16_t group = f->owner[kind].group;
    return f->spread != NULL && group != TY_NONE && f->spread[group];
}

/* Members with the operations of one of their streams, those of groups that are spread or not. */
static void each_user(struct finder *f, uint32_t gang, uint32_t lane, bool spread,
                      void (*visit)(struct finder *, uint32_t))
{
    f->n_users = 0;
    for (uint32_t k = 0; k < f->p->n_kinds; k++) {
        if (f->owner[k].gang == gang && f->owner[k].lane == lane && is_spread(f, k) == spread) {
            f->users[f->n_users++] = k;
        }
    }
    for (uint32_t i = 0; f->n_users > 0 && i < f->p->gangs[gang].n_ranks; i++) {
        visit(f, i);
    }
}

static void each_member(struct finder *f, void (*visit)(struct finder *, uint32_t))
{
    for (uint32_t g = 0; g < f->p->n_gangs; g++) {
        for (uint32_t l = 0; l < f->p->n_lanes; l++) {
            if (f->spread != NULL) {
                each_user(f, g, l, true, visit);
            }
            each_user(f, g, l, false, visit);
        }
    }
}

static bool can_fill(const struct finder *f, uint32_t link)
{
    return f->asked[link] > f->p->links[link].capacity * MARGIN;
}

static int keep_links(struct finder *f, struct ty_arena *arena)
{
    const struct ty_program *p = f->p;
    for (uint32_t l = 0; l < p->n_links; l++) {
        if (can_fill(f, l)) {
            f->number[l] = ++f->out->n_links;
        }
    }
    f->out->links = ty_arena_array(arena, struct ty_link, (size_t)f->out->n_links + 1);
    f->out->link_of = ty_arena_array(arena, uint32_t, (size_t)f->out->n_links + 1);
    for (uint32_t l = 0; f->out->links && f->out->link_of && l < p->n_links; l++) {
        if (f->number[l] > 0) {
            assert(f->number[l] <= f->out->n_links);
            f->out->links[f->number[l] - 1] = p->links[l];
            f->out->link_of[f->number[l] - 1] = l;
        }
    }
    return f->out->links && f->out->link_of ? 0 : TY_ENOMEM;
}

/* The uses of a flow that are left, by where they begin in the program. */
struct kept {
    uint32_t n_uses; /* of the flow; 0: none was seen yet */
    uint32_t first, n_left;
};

/* Appends the uses of links that can fill to rows[n..). Returns how many they are. */
static uint32_t append_uses(const struct finder *f, const struct ty_flow *flow, struct ty_use *rows,
                            uint32_t n)
{
    const struct ty_use *use = uses_of(f->p, flow);
    const uint32_t first = n;
    for (uint32_t u = 0; u < flow->n_uses; u++) {
        if (f->number[use[u].link] > 0) {
            rows[n++] = (struct ty_use){f->number[use[u].link] - 1, use[u].Bps};
        }
    }
    return n - first;
}

/* Flows without the links that never fill. Members of a group share the rows of the first: a group
 * of 10,000 has as many flows of 10,000 uses, and they are looked at once. */
static int keep_uses(struct finder *f, struct ty_arena *arena)
{
    const struct ty_program *p = f->p;
    uint32_t n = 0;
    f->out->flows = ty_arena_array(arena, struct ty_flow, (size_t)p->n_flows + 1);
    f->out->uses = ty_arena_array(arena, struct ty_use, (size_t)p->n_uses + 1);
    struct kept *kept = ty_arena_array(arena, struct kept, (size_t)p->n_uses + 1);
    if (!f->out->flows || !f->out->uses || !kept) {
        return TY_ENOMEM;
    }
    for (uint32_t i = 0; i < p->n_flows; i++) {
        const struct ty_flow *flow = &p->flows[i];
        struct kept *k = &kept[flow->first_use];
        if (flow->n_uses > 0 && k->n_uses == 0) {
            k->n_uses = flow->n_uses;
            k->first = n;
            k->n_left = append_uses(f, flow, f->out->uses, n);
            n += k->n_left;
        }
        assert(flow->n_uses == 0 || k->n_uses == flow->n_uses); /* as links.h says */
        f->out->flows[i] = *flow;
        f->out->flows[i].first_use = flow->n_uses > 0 ? k->first : 0;
        f->out->flows[i].n_uses = flow->n_uses > 0 ? k->n_left : 0;
    }
    return 0;
}

/* What has another time alone: computation that was found to run during a collective, and
 * communication whose links are divided beforehand. */
static void find_estimates(struct ty_contention *out, const struct ty_program *p)
{
    for (uint32_t k = 0; k < p->n_kinds; k++) {
        const struct ty_kind *kind = &p->kinds[k];
        const bool differs = kind->alone != 0 || kind->alone_of != NULL;
        const bool computes = ty_kind_computes(p, kind);
        out->gpus = out->gpus || (differs && computes);
        out->estimates = out->estimates || (differs && !computes);
    }
}

int ty_contention_find(struct ty_contention *out, const struct ty_program *p,
                       struct ty_arena *arena, struct ty_err *err)
{
    struct finder f = {.out = out, .p = p};
    *out = (struct ty_contention){.scripts = p->n_scripts > 0};
    find_estimates(out, p);
    const int rc = ty_owners_find(&f.owner, p, arena, err);
    if (rc < 0) {
        return rc;
    }
    if (!prepare(&f, arena)) {
        return ty_fail_memory(err);
    }
    each_member(&f, ask);
    if (keep_links(&f, arena) < 0 || keep_uses(&f, arena) < 0) {
        return ty_fail_memory(err);
    }
    each_member(&f, count);
    return 0;
}

/* Whether a stream of a gang has flows of both. -1: no memory. */
static int is_mixed(const struct finder *f, struct ty_arena *arena)
{
    uint8_t *has = ty_arena_array(arena, uint8_t, (size_t)f->p->n_gangs * f->p->n_lanes + 1);
    bool mixed = false;
    for (uint32_t k = 0; has != NULL && k < f->p->n_kinds; k++) {
        const struct ty_owner *owner = &f->owner[k];
        if (owner->gang != TY_NO_GANG) {
            uint8_t *of_lane = &has[(size_t)owner->gang * f->p->n_lanes + owner->lane];
            *of_lane |= is_spread(f, k) ? 1 : 2;
            mixed = mixed || *of_lane == 3;
        }
    }
    return has != NULL ? mixed : -1;
}

/* Where other parts ask for more than the first. */
static int count_mixed(struct finder *f, uint32_t *n_links, uint32_t times, struct ty_arena *arena)
{
    const int mixed = is_mixed(f, arena);
    if (mixed <= 0) {
        return mixed;
    }
    if (!prepare(f, arena)) {
        return -1;
    }
    each_member(f, ask);
    *n_links /= times;
    for (uint32_t l = 0; l < f->p->n_links; l++) {
        *n_links += can_fill(f, l) ? times - 1 : 0;
    }
    return 0;
}

int ty_contention_count(uint32_t *n_links, const struct ty_contention *found,
                        const struct ty_program *p, const bool *spread, uint32_t times,
                        struct ty_arena *arena, struct ty_err *err)
{
    struct finder f = {.p = p, .spread = spread};
    *n_links = found->n_links * times;
    const int rc = ty_owners_find(&f.owner, p, arena, err);
    if (rc < 0) {
        return rc;
    }
    return count_mixed(&f, n_links, times, arena) < 0 ? ty_fail_memory(err) : 0;
}
