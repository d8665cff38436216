/* link_load_replay.c - at which speed contended flows ran, from when they began and ended. See
 * link_load.h.
 *
 * Speeds are decided by which flows run at a time and by nothing else. Beginnings and ends are in
 * the timeline, so that the speeds come out of the same solver once more, without executing. Each
 * change of a speed is kept with the leader and stream whose flow it is. When the messages of a
 * collective began is in no timeline: where there are such, nothing is replayed. */
#include <string.h>

#include "sim/core/analyse/link_load.h"
#include "sim/core/execute/evq.h"
#include "sim/core/execute/maxmin.h"

/* One leader's contended flows on one stream. */
struct lane {
    uint32_t gang, member;
    uint8_t lane;
    bool running;
    uint32_t pass, pos; /* next */
    ty_ps begin, end;   /* of the flow that runs or comes next */
    const struct ty_flow *shared;
    uint32_t flow;              /* of the solver */
    uint32_t last_speed_change; /* 1 + index; 0: none yet */
};

struct replay {
    struct ty_link_load *load;
    const struct ty_program *p; /* whole or folded */
    const struct ty_contention *shared;
    const struct ty_timeline *timeline;
    struct ty_arena *arena; /* of what is kept */
    struct ty_arena own;
    struct lane *lane; /* [n_lanes] */
    uint32_t n_lanes;
    uint32_t *lane_of_flow;
    struct ty_evq queue;
    struct ty_maxmin *maxmin;
    ty_ps now;
    bool failed;
};

/* Begin and end of an execution on the links; false: it takes no contended link, or no time. */
static bool occupy(struct replay *r, struct lane *l, const struct ty_pass *pass, uint32_t k)
{
    const struct ty_timeline *t = r->timeline;
    const struct ty_gang *gang = &t->program->gangs[l->gang];
    const struct ty_op *op = &ty_pass_ops(r->p, pass)[k];
    const struct ty_kind *kind = &r->p->kinds[op->kind];
    const struct ty_owner *owner = &r->load->owner[op->kind];
    if (owner->gang != l->gang || !ty_owner_is_first(r->load->program, owner, l->member)) {
        return false;
    }
    l->shared = &r->shared->flows[kind->first_flow - 1 + l->member];
    const uint64_t ordinal = (uint64_t)pass->first_op + k;
    const ty_ps start = ty_timeline_starts(t, gang, ordinal)[l->member];
    const ty_ps dur = ty_timeline_dur(t, gang, op, ordinal, l->member);
    l->begin = start + (l->shared->lead < dur ? l->shared->lead : dur);
    l->end = start + dur;
    return l->shared->n_uses > 0 && l->end > l->begin;
}

static bool next(struct replay *r, struct lane *l)
{
    const struct ty_gang *gang = &r->p->gangs[l->gang];
    for (; l->pass < gang->n_passes; l->pass++, l->pos = 0) {
        const struct ty_pass *pass = &ty_gang_passes(r->p, gang)[l->pass];
        const uint32_t *list = &r->load->first_op[(size_t)pass->block * r->p->n_lanes + l->lane];
        while (list[0] + l->pos < list[1]) {
            if (occupy(r, l, pass, r->load->op[list[0] + l->pos++])) {
                return true;
            }
        }
    }
    return false;
}

/* A flow begins or ends. */
static void change(struct replay *r, uint32_t index)
{
    struct lane *l = &r->lane[index];
    if (l->running) {
        l->running = false;
        ty_maxmin_remove(r->maxmin, l->flow);
        if (next(r, l)) {
            ty_evq_set(&r->queue, index, l->begin);
        }
        return;
    }
    l->running = true;
    l->flow = ty_maxmin_add(r->maxmin, r->shared->uses + l->shared->first_use, l->shared->n_uses,
                            l->shared->weight);
    r->lane_of_flow[l->flow] = index;
    ty_evq_set(&r->queue, index, l->end);
}

static bool grow(struct replay *r)
{
    struct ty_link_load *h = r->load;
    if (h->n_speed_changes < h->cap_speed_changes) {
        return true;
    }
    const uint32_t cap = h->cap_speed_changes == 0 ? 1024 : 2 * h->cap_speed_changes;
    struct ty_speed_change *more = ty_arena_array(r->arena, struct ty_speed_change, cap);
    if (more == NULL || cap < h->cap_speed_changes) {
        r->failed = true;
        return false;
    }
    if (h->n_speed_changes > 0) {
        memcpy(more, h->speed_change, h->n_speed_changes * sizeof(*more));
    }
    h->speed_change = more;
    h->cap_speed_changes = cap;
    return true;
}

static void changed(void *arg, uint32_t flow, double now)
{
    struct replay *r = arg;
    struct lane *l = &r->lane[r->lane_of_flow[flow]];
    struct ty_link_load *h = r->load;
    if (!grow(r)) {
        return;
    }
    h->speed_change[h->n_speed_changes++] = (struct ty_speed_change){.t = r->now, .speed = now};
    if (l->last_speed_change != 0) {
        h->speed_change[l->last_speed_change - 1].next = h->n_speed_changes;
    } else {
        h->first_speed_change[ty_link_load_lane(h, l->gang, l->member, l->lane)] =
            h->n_speed_changes;
    }
    l->last_speed_change = h->n_speed_changes;
}

/* What begins or ends at one instant is shared out at once, as when it was executed. */
static void run(struct replay *r)
{
    for (uint32_t i = 0; i < r->n_lanes; i++) {
        if (next(r, &r->lane[i])) {
            ty_evq_set(&r->queue, i, r->lane[i].begin);
        }
    }
    while (r->queue.n > 0 && !r->failed) {
        const struct ty_ev ev = ty_evq_pop(&r->queue);
        r->now = ev.t;
        change(r, ev.lane);
        if (r->queue.n == 0 || r->queue.row[0].t > ev.t) {
            ty_maxmin_solve(r->maxmin, changed, r);
        }
    }
}

/* Streams of members on which some kind has a contended flow. */
static int find_lanes(struct replay *r)
{
    const struct ty_program *p = r->p;
    bool *has = ty_arena_array(&r->own, bool, (size_t)p->n_ranks * p->n_lanes + 1);
    r->lane = ty_arena_array(&r->own, struct lane, (size_t)r->shared->max_flows + 1);
    if (has == NULL || r->lane == NULL) {
        return TY_ENOMEM;
    }
    for (uint32_t k = 0; k < p->n_kinds; k++) {
        const struct ty_owner *o = &r->load->owner[k];
        const uint32_t members = o->gang == TY_NO_GANG ? 0 : p->gangs[o->gang].n_ranks;
        for (uint32_t m = 0; m < members; m++) {
            bool *known = &has[ty_link_load_lane(r->load, o->gang, m, o->lane)];
            if (ty_owner_is_first(r->load->program, o, m) && !*known &&
                r->shared->flows[p->kinds[k].first_flow - 1 + m].n_uses > 0) {
                *known = true;
                r->lane[r->n_lanes++] =
                    (struct lane){.gang = o->gang, .member = m, .lane = o->lane};
            }
        }
    }
    return 0;
}

static int prepare(struct replay *r)
{
    struct ty_link_load *h = r->load;
    h->first_lane = ty_arena_array(r->arena, uint32_t, (size_t)r->p->n_gangs + 1);
    h->first_speed_change =
        ty_arena_array(r->arena, uint32_t, (size_t)r->p->n_ranks * r->p->n_lanes + 1);
    if (h->first_lane == NULL || h->first_speed_change == NULL) {
        return TY_ENOMEM;
    }
    for (uint32_t g = 0; g < r->p->n_gangs; g++) {
        h->first_lane[g + 1] = h->first_lane[g] + r->p->gangs[g].n_ranks * r->p->n_lanes;
    }
    if (find_lanes(r) < 0) {
        return TY_ENOMEM;
    }
    r->lane_of_flow = ty_arena_array(&r->own, uint32_t, (size_t)r->shared->max_flows + 1);
    r->queue.row = ty_arena_array(&r->own, struct ty_ev, (size_t)r->n_lanes + 1);
    r->queue.at = ty_arena_array(&r->own, uint32_t, (size_t)r->n_lanes + 1);
    r->maxmin = ty_maxmin_new(r->shared->links, r->shared->n_links, r->shared->max_flows,
                              r->shared->max_uses, &r->own);
    return r->lane_of_flow && r->queue.row && r->queue.at && r->maxmin ? 0 : TY_ENOMEM;
}

int ty_link_load_replay(struct ty_link_load *load, const struct ty_program *p,
                        const struct ty_contention *shared, const struct ty_timeline *timeline,
                        struct ty_arena *arena, struct ty_err *err)
{
    struct replay r = {
        .load = load, .p = p, .shared = shared, .timeline = timeline, .arena = arena};
    if (shared->n_links == 0 || shared->scripts) {
        return 0;
    }
    const int rc = prepare(&r);
    if (rc == 0) {
        run(&r);
    }
    ty_arena_release(&r.own);
    return rc == 0 && !r.failed ? 0 : ty_fail_memory(err);
}
