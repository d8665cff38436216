/* link_meter.c - the load of contended links while messages are played. */
#include "sim/core/execute/link_meter.h"

#include <assert.h>

struct gauge {
    double Bps;       /* carried now */
    uint32_t n_flows; /* that run */
    bool changed;     /* since the last reading */
    bool full;
    ty_ps since; /* it is full */
};

struct running {
    const struct ty_flow *flow;
    double speed;
};

struct ty_link_meter {
    const struct ty_contention *shared;
    struct ty_link_load_peak *peak; /* [links of the program] */
    struct gauge *gauge;            /* [contended links] */
    struct running *running;        /* [max_flows] */
    uint32_t *changed, n_changed;   /* gauges */
};

struct ty_link_meter *ty_link_meter_new(struct ty_timeline *timeline,
                                        const struct ty_contention *shared, struct ty_arena *arena)
{
    const uint32_t n_links = timeline->program->n_links;
    struct ty_link_meter *m = ty_arena_array(arena, struct ty_link_meter, 1);
    timeline->peak =
        ty_arena_array(&timeline->arena, struct ty_link_load_peak, (size_t)n_links + 1);
    if (m == NULL || timeline->peak == NULL) {
        return NULL;
    }
    m->shared = shared;
    m->peak = timeline->peak;
    m->gauge = ty_arena_array(arena, struct gauge, (size_t)shared->n_links + 1);
    m->running = ty_arena_array(arena, struct running, (size_t)shared->max_flows + 1);
    m->changed = ty_arena_array(arena, uint32_t, (size_t)shared->n_links + 1);
    for (uint32_t l = 0; l < n_links; l++) {
        m->peak[l].Bps = -1;
    }
    for (uint32_t l = 0; l < shared->n_links; l++) {
        m->peak[shared->link_of[l]].Bps = 0;
    }
    return m->gauge != NULL && m->running != NULL && m->changed != NULL ? m : NULL;
}

/* The links of a flow carry so much more of it, as a share of full speed. */
static void add(struct ty_link_meter *m, const struct ty_flow *flow, double speed, int flows)
{
    const struct ty_use *use = m->shared->uses + flow->first_use;
    for (uint32_t i = 0; i < flow->n_uses; i++) {
        assert(use[i].link < m->shared->n_links);
        struct gauge *g = &m->gauge[use[i].link];
        g->Bps += speed * ty_use_moves(flow, &use[i], m->shared->links);
        assert(flows >= 0 || g->n_flows > 0);
        g->n_flows += (uint32_t)flows;
        if (!g->changed) {
            g->changed = true;
            assert(m->n_changed < m->shared->n_links);
            m->changed[m->n_changed++] = use[i].link;
        }
    }
}

void ty_link_meter_begin(struct ty_link_meter *m, uint32_t number, const struct ty_flow *flow)
{
    assert(number < m->shared->max_flows);
    m->running[number] = (struct running){flow, 0}; /* its links hear of it with its first speed */
}

void ty_link_meter_speed(struct ty_link_meter *m, uint32_t number, double speed)
{
    struct running *r = &m->running[number];
    assert(r->flow != NULL && speed > 0 && speed <= 1);
    add(m, r->flow, speed - r->speed, r->speed > 0 ? 0 : 1);
    r->speed = speed;
}

void ty_link_meter_end(struct ty_link_meter *m, uint32_t number)
{
    if (m->running[number].speed > 0) {
        add(m, m->running[number].flow, -m->running[number].speed, -1);
    }
}

void ty_link_meter_read(struct ty_link_meter *m, ty_ps now)
{
    for (uint32_t i = 0; i < m->n_changed; i++) {
        struct gauge *g = &m->gauge[m->changed[i]];
        struct ty_link_load_peak *peak = &m->peak[m->shared->link_of[m->changed[i]]];
        g->changed = false;
        g->Bps = g->n_flows == 0 ? 0 : g->Bps; /* sums of differences are rounded */
        peak->Bps = g->Bps > peak->Bps ? g->Bps : peak->Bps;
        assert(now >= g->since);
        peak->full += g->full ? now - g->since : 0;
        g->since = now;
        g->full = g->Bps >= TY_LINK_FULL * m->shared->links[m->changed[i]].capacity;
    }
    m->n_changed = 0;
}
