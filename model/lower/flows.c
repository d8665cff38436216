/* flows.c - which links a communication takes, member by member.
 *
 * A group has one flow, which all its members name; the sender of a message has its own. */
#include "model/lower/offload.h"
#include "model/lower/stages.h"
#include "model/lower/window.h"

#include <assert.h>
#include <string.h>

struct router {
    struct ty_lowering *l;
    const struct ty_route *route;
    uint32_t *gpus; /* of the flow at hand */
    struct ty_use_list uses;
};

/* Of a group from the place on where its chain begins, if it is one. */
static uint32_t list_gpus(struct router *r, uint32_t member, uint32_t start)
{
    struct ty_lowering *l = r->l;
    if (r->route->of == TY_ROUTE_MESSAGE) {
        const struct ty_peers to = ty_lower_peers(l, member, r->route->stage[1]);
        r->gpus[0] = ty_lower_port(l, ty_grid_gpu(&l->out->grid, l->here.rank_of[member]));
        for (uint32_t i = 0; i < to.n; i++) {
            r->gpus[1 + i] =
                ty_lower_port(l, ty_lower_member_gpu(l, to.first + i, r->route->stage[1]));
        }
        return 1 + to.n;
    }
    if (r->route->of != TY_ROUTE_GROUP) {
        for (uint32_t i = 0; i < r->route->n_stages; i++) {
            r->gpus[i] = ty_lower_port(l, ty_lower_gpu_on(l, member, r->route->stage[i]));
        }
        return r->route->n_stages;
    }
    assert(r->route->group < l->b.program->n_groups && l->b.program->groups != NULL);
    const struct ty_group *g = &l->b.program->groups[r->route->group];
    for (uint32_t i = 0; i < g->count; i++) {
        const uint32_t place = (start + i) % g->count;
        const uint32_t rank = l->here.rank_of[ty_group_first(g, member) + place * g->stride];
        r->gpus[i] = ty_lower_port(l, ty_grid_gpu(&l->out->grid, rank));
    }
    return g->count;
}

/* Kinds of one group differ in bytes, rarely in rates: rows that are there are used again. */
static bool reuse(const struct router *r, uint32_t member, struct ty_flow *flow)
{
    const struct ty_program *p = r->l->b.program;
    for (uint32_t k = p->n_kinds; k > r->l->here.first_kind; k--) {
        const struct ty_kind *kind = &p->kinds[k - 1];
        if (kind->first_flow == 0 || kind->script != 0) {
            continue;
        }
        const struct ty_flow *other = &p->flows[kind->first_flow - 1 + member];
        if (other->n_uses == r->uses.n && memcmp(p->uses + other->first_use, r->uses.row,
                                                 r->uses.n * sizeof(*r->uses.row)) == 0) {
            flow->first_use = other->first_use;
            return true;
        }
    }
    return false;
}

static void keep_rows(const struct router *r, uint32_t member, struct ty_flow *flow)
{
    struct ty_lowering *l = r->l;
    flow->n_uses = r->uses.n;
    if (r->uses.n > 0 && !reuse(r, member, flow)) {
        flow->first_use = l->b.program->n_uses;
        for (uint32_t i = 0; i < r->uses.n; i++) {
            ty_build_use(&l->b, &r->uses.row[i]);
        }
    }
}

static struct ty_flow flow_of(struct router *r, uint32_t member, const struct ty_coll_cost *cost)
{
    struct ty_lowering *l = r->l;
    const uint32_t n = list_gpus(r, member, cost->start), times = r->route->times;
    if (times > 1 && cost->pattern == TY_PATTERN_CHAIN) {
        ty_lower_differs(l); /* its ends are not the same to every node */
    }
    struct ty_flow flow = {.weight = 1, .lead = ty_lower_ps(l, cost->latency_s)};
    const int rc = r->route->of == TY_ROUTE_MESSAGE
                       ? ty_fabric_message(&l->out->fabric, cost, r->gpus[0], &r->gpus[1], n - 1,
                                           &r->uses, &flow.weight, l->arena, l->b.err)
                       : ty_fabric_collective(&l->out->fabric, cost, r->gpus, n, times, &r->uses,
                                              &flow.weight, l->arena, l->b.err);
    ty_build_note(&l->b, rc);
    flow.idle = cost->net_idle;
    flow.port_idle = cost->port_idle;
    keep_rows(r, member, &flow);
    return flow;
}

/* Layers are alike: rows equal to those of another kind are given back. */
static void share_rows(const struct ty_lowering *l, struct ty_kind *kind, uint32_t first)
{
    struct ty_program *p = l->b.program;
    for (uint32_t k = p->n_kinds; k > l->here.first_kind && l->b.code == 0; k--) {
        const uint32_t other = p->kinds[k - 1].script == 0 ? p->kinds[k - 1].first_flow : 0;
        if (other != 0 &&
            memcmp(&p->flows[other - 1], &p->flows[first], l->members * sizeof(*p->flows)) == 0) {
            kind->first_flow = other;
            p->n_flows = first;
            return;
        }
    }
}

void ty_lower_flows(struct ty_lowering *l, struct ty_kind *kind, const struct ty_route *route,
                    const struct ty_coll_cost *cost)
{
    struct router r = {.l = l, .route = route};
    r.gpus = ty_arena_array(l->arena, uint32_t, (size_t)l->most_members + route->n_stages);
    if (r.gpus == NULL) {
        ty_build_no_memory(&l->b);
        return;
    }
    if (route->of == TY_ROUTE_NONE || l->out->fabric.n_links == 0) {
        return;
    }
    const struct ty_group *g =
        route->of == TY_ROUTE_GROUP ? &l->b.program->groups[route->group] : NULL;
    if (g != NULL && g->count * route->times < 2) {
        return;
    }
    const uint32_t first = l->b.program->n_flows;
    for (uint32_t i = 0; i < l->members && l->b.code == 0; i++) {
        const uint32_t leader = g == NULL ? i : ty_group_first(g, i);
        const struct ty_flow flow =
            leader < i ? l->b.program->flows[first + leader] : flow_of(&r, i, &cost[i]);
        ty_build_flow(&l->b, &flow);
    }
    kind->first_flow = first + 1;
    share_rows(l, kind, first);
}

void ty_lower_tier_flows(struct ty_lowering *l, struct ty_kind *kind, struct ty_tier_move move)
{
    struct router r = {.l = l};
    const uint32_t first = l->b.program->n_flows;
    for (uint32_t i = 0; i < l->members && l->b.code == 0; i++) {
        const uint32_t gpu = ty_grid_gpu(&l->out->grid, l->here.rank_of[i]);
        struct ty_flow flow;
        ty_build_note(&l->b, ty_tiers_flow(&l->out->fabric, ty_lower_port(l, gpu), move, &r.uses,
                                           &flow, l->arena, l->b.err));
        keep_rows(&r, i, &flow);
        ty_build_flow(&l->b, &flow);
    }
    kind->first_flow = first + 1;
    share_rows(l, kind, first);
}
