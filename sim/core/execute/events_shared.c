/* events_shared.c - speeds of what shares links and GPUs; see links.h and maxmin.h.
 *
 *     all-reduce   |latency|==== full speed ====|== half ==|=== full ===|
 *     message                             |latency|===  half  ===|
 *     computation  |---- slower beside the collective ----------------------|-- full speed --|
 *
 * A flow that meets nobody keeps the duration of its cost model to the picosecond: its work is then
 * a whole number below 2^53 and its speed is 1. */
#include "sim/core/execute/events_internal.h"

/* Beyond the clock where a link is next to nothing; the executor stops there. */
static ty_ps end_of(const struct ty_events *q, const struct ty_work *w)
{
    if (!(w->left / w->speed < (double)TY_CLOCK_END)) {
        return q->now + TY_CLOCK_END;
    }
    return q->now + (ty_ps)(w->left / w->speed + 0.5);
}

/* The work of a lane goes on at another speed. */
static void set_speed(struct ty_events *q, uint32_t lane, double speed)
{
    struct ty_work *w = &q->work[lane];
    const double done = w->speed * (double)(q->now - w->since);
    w->left = done < w->left ? w->left - done : 0;
    w->since = q->now;
    w->speed = speed;
    ty_evq_set(&q->queue, lane, end_of(q, w));
}

/* Share of its speed that a rank's computation has left beside its collectives: the most disturbing
 * one counts. */
static double compute_speed(const struct ty_events *q, uint32_t rank)
{
    double most = 0;
    for (uint32_t l = 0; l < q->n_lanes; l++) {
        const double slows = q->slows[(size_t)rank * q->n_lanes + l];
        most = slows > most ? slows : most;
    }
    return 1 - most;
}

/* Computations that were to end together go on one by one. One that is over now may as well have
 * made way: nothing is left of it. */
static void break_up(struct ty_events *q, uint32_t compute)
{
    struct ty_lane *l = &q->lane[compute];
    struct ty_work *w = &q->work[compute];
    while (l->ahead > 0 && q->timeline->start[ty_events_next(q, l).task] <= q->now) {
        ty_events_go_on(q, l);
    }
    l->ahead = 0;
    *w = (struct ty_work){.left = (double)ty_events_nominal(q, &l->at),
                          .speed = w->speed,
                          .since = q->timeline->start[l->at.task]};
}

bool ty_events_full_speed(const struct ty_events *q, uint32_t rank)
{
    return q->shared == NULL || compute_speed(q, rank) >= 1;
}

/* A collective on this lane begins to slow computation down (0: stops). */
static void disturb(struct ty_events *q, uint32_t lane, double slows)
{
    const uint32_t rank = q->lane[lane].at.rank, compute = rank * q->n_lanes;
    q->slows[lane] = slows;
    if (q->lane[compute].state == TY_LANE_RUNNING && q->work[compute].speed > 0) {
        const double speed = compute_speed(q, rank);
        if (speed < q->work[compute].speed || speed > q->work[compute].speed) {
            if (q->lane[compute].ahead > 0) {
                break_up(q, compute);
            }
            set_speed(q, compute, speed);
        }
    }
}

/* The flow that a lane stands for. */
static const struct ty_flow *flow_at(const struct ty_events *q, uint32_t lane)
{
    if (q->lane[lane].ends != TY_ENDS_MESSAGE) {
        return ty_events_own_flow(q, &q->lane[lane].at);
    }
    const struct ty_player *player = &q->player[lane];
    const struct ty_message *messages = q->p->messages + player->script->first;
    return &player->flows[messages[player->next].pair];
}

static void begin_flow(struct ty_events *q, uint32_t lane, const struct ty_flow *flow)
{
    const uint32_t f =
        ty_maxmin_add(q->maxmin, q->shared->uses + flow->first_use, flow->n_uses, flow->weight);
    if (q->meter != NULL) {
        ty_link_meter_begin(q->meter, f, flow);
    }
    q->lane_of_flow[f] = lane;
    q->flow_of_lane[lane] = f;
    q->lane[lane].state = TY_LANE_RUNNING;
    q->work[lane].since = q->now;
}

void ty_events_latency_elapsed(struct ty_events *q, uint32_t lane)
{
    begin_flow(q, lane, flow_at(q, lane));
}

void ty_events_begin(struct ty_events *q, uint32_t lane, const struct ty_flow *flow, ty_ps nominal)
{
    const ty_ps lead = flow->lead < nominal ? flow->lead : nominal;
    q->work[lane] = (struct ty_work){.left = (double)(nominal - lead), .since = q->now};
    if (flow->n_uses == 0) {
        ty_evq_set(&q->queue, lane, q->now + nominal);
    } else if (lead == 0) {
        begin_flow(q, lane, flow);
    } else {
        q->lane[lane].state = TY_LANE_LEADING;
        ty_evq_set(&q->queue, lane, q->now + lead);
    }
}

void ty_events_work(struct ty_events *q, uint32_t lane, const struct ty_at *at, ty_ps nominal)
{
    const struct ty_kind *kind = &q->p->kinds[at->op->kind];
    const struct ty_flow *flow = ty_events_flow(q, at);
    struct ty_work *w = &q->work[lane];
    if (kind->slows > 0) {
        disturb(q, lane, kind->slows);
    }
    if (nominal == TY_NEVER) {
        return;
    }
    if (flow != NULL) {
        ty_events_begin(q, lane, flow, nominal);
        return;
    }
    *w = (struct ty_work){.left = (double)nominal, .since = q->now};
    if (at->op->stream == TY_STREAM_COMPUTE && at->op->sync == TY_SYNC_LOCAL) {
        w->speed = compute_speed(q, at->rank);
        ty_evq_set(&q->queue, lane, end_of(q, w));
    } else {
        ty_evq_set(&q->queue, lane, q->now + nominal);
    }
}

static void changed(void *arg, uint32_t flow, double now)
{
    struct ty_events *q = arg;
    set_speed(q, q->lane_of_flow[flow], now);
    if (q->meter != NULL) {
        ty_link_meter_speed(q->meter, flow, now);
    }
}

void ty_events_share(struct ty_events *q)
{
    ty_maxmin_solve(q->maxmin, changed, q);
    if (q->meter != NULL) {
        ty_link_meter_read(q->meter, q->now);
    }
}

void ty_events_flow_over(struct ty_events *q, uint32_t lane)
{
    if (q->flow_of_lane[lane] != UINT32_MAX) {
        if (q->meter != NULL) {
            ty_link_meter_end(q->meter, q->flow_of_lane[lane]);
        }
        ty_maxmin_remove(q->maxmin, q->flow_of_lane[lane]);
        q->flow_of_lane[lane] = UINT32_MAX;
    }
    q->work[lane].speed = 0;
}

void ty_events_work_over(struct ty_events *q, uint32_t lane)
{
    ty_events_flow_over(q, lane);
    if (q->slows[lane] > 0) {
        disturb(q, lane, 0);
    }
}
