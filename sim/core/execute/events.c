/* events.c - the executor with a queue: completions in time order, one task at a time.
 *
 * A lane is one stream of one rank. It stands before its next operation until the events that
 * operation waits for have been recorded often enough (the n-th record of an event, n counted in
 * issue order, so that streams may run ahead of each other), its message has arrived, or its
 * partners have joined. Everything happens at the time of the event that made it possible, so a
 * start time is simply the current time. With fixed durations the result equals the sweep; where
 * links and GPUs are shared, a lane's event moves while its task runs. */
#include <stdlib.h>
#include <string.h>

#include "sim/base/compiler.h"
#include "sim/core/deadlock/deadlock.h"
#include "sim/core/execute/events_internal.h"
#include "sim/core/execute/execute.h"
#include "sim/core/execute/link_meter.h"
#include "sim/core/execute/rows.h"
#include "sim/core/program/peers.h"

/* What a task takes by itself. */
static ty_ps events_nominal(const struct ty_events *q, const struct ty_at *at)
{
    const struct ty_kind *kind = &q->p->kinds[at->op->kind];
    assert(at->task < q->p->n_tasks);
    if (ty_program_varies(q->p)) {
        return q->timeline->dur[at->task];
    }
    return q->shared != NULL ? ty_kind_alone(kind, at->member) : ty_kind_duration(kind, at->member);
}

/* The operation of its block behind the one that a lane runs. */
static struct ty_at events_next(const struct ty_events *q, const struct ty_lane *l)
{
    struct ty_at at = l->at;
    const struct ty_lane_ops *list = &q->of_block[(size_t)at.pass->block * q->n_lanes + l->number];
    assert(l->pos + 1 < list->n);
    const uint32_t index = q->lane_op[list->first + l->pos + 1];
    at.op = &ty_pass_ops(q->p, at.pass)[index];
    at.task =
        at.gang->first_task + (uint64_t)(at.pass->first_op + index) * at.gang->n_ranks + at.member;
    return at;
}

/* To that one, which it runs with the one before it: that has ended. */
static void events_go_on(struct ty_events *q, struct ty_lane *l)
{
    assert(l->ahead > 0);
    if (l->at.op->record != TY_NO_EVENT) {
        q->recorded[(size_t)l->at.rank * TY_EVENTS + l->at.op->record]++;
    }
    l->at = events_next(q, l);
    l->pos++;
    l->ahead--;
}

/* ---- speeds of what shares links and GPUs (links.h, maxmin.h) ---- */

/*
 *     all-reduce   |latency|==== full speed ====|== half ==|=== full ===|
 *     message                             |latency|===  half  ===|
 *     computation  |---- slower next to the collective ----------------------|-- full speed --|
 *
 * A flow that meets nobody keeps the duration of its cost model to the picosecond: its work is then
 * a whole number below 2^53 and its speed is 1. */

/* Beyond the clock where a link is next to nothing; the executor stops there. */
static ty_ps end_of(const struct ty_events *q, const struct ty_work *w)
{
    assert(w->speed > 0 && w->left >= 0);
    if (!(w->left / w->speed < (double)TY_CLOCK_END)) {
        return q->now + TY_CLOCK_END;
    }
    return q->now + (ty_ps)(w->left / w->speed + 0.5);
}

/* The work of a lane goes on at another speed. */
static void set_speed(struct ty_events *q, uint32_t lane, double speed)
{
    struct ty_work *w = &q->work[lane];
    assert(speed > 0 && w->since <= q->now);
    const double done = w->speed * (double)(q->now - w->since);
    w->left = done < w->left ? w->left - done : 0;
    w->since = q->now;
    w->speed = speed;
    ty_evq_set(&q->queue, lane, end_of(q, w));
}

/* Share of its speed that a rank's computation has left next to its collectives: the most
 * disturbing one counts. */
static double compute_speed(const struct ty_events *q, uint32_t rank)
{
    double most = 0;
    for (uint32_t l = 0; l < q->n_lanes; l++) {
        const double slows = q->slows[(size_t)rank * q->n_lanes + l];
        most = slows > most ? slows : most;
    }
    assert(most >= 0 && most < 1);
    return 1 - most;
}

/* Computations that were to end together go on one by one. One that is over now may as well have
 * made way: nothing is left of it. */
static void break_up(struct ty_events *q, uint32_t compute)
{
    struct ty_lane *l = &q->lane[compute];
    struct ty_work *w = &q->work[compute];
    while (l->ahead > 0 && q->timeline->start[events_next(q, l).task] <= q->now) {
        events_go_on(q, l);
    }
    l->ahead = 0;
    *w = (struct ty_work){.left = (double)events_nominal(q, &l->at),
                          .speed = w->speed,
                          .since = q->timeline->start[l->at.task]};
}

/* Whether nothing slows down what the rank computes. */
static bool events_full_speed(const struct ty_events *q, uint32_t rank)
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
    assert(f < q->shared->max_flows && q->flow_of_lane[lane] == UINT32_MAX);
    q->lane_of_flow[f] = lane;
    q->flow_of_lane[lane] = f;
    q->lane[lane].state = TY_LANE_RUNNING;
    q->work[lane].since = q->now;
}

/* The latency of its flow has passed. */
static void events_latency_elapsed(struct ty_events *q, uint32_t lane)
{
    assert(q->lane[lane].state == TY_LANE_LEADING);
    begin_flow(q, lane, flow_at(q, lane));
}

/* Starts the work of a flow: `nominal` in all, with its latency. */
static void events_begin(struct ty_events *q, uint32_t lane, const struct ty_flow *flow,
                         ty_ps nominal)
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

/* The lane's operation starts now and would take `nominal` by itself: sets its event. TY_NEVER:
 * another lane stands for it. */
static void events_work(struct ty_events *q, uint32_t lane, const struct ty_at *at, ty_ps nominal)
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
        events_begin(q, lane, flow, nominal);
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
    assert(q->flow_of_lane[q->lane_of_flow[flow]] == flow);
    set_speed(q, q->lane_of_flow[flow], now);
    if (q->meter != NULL) {
        ty_link_meter_speed(q->meter, flow, now);
    }
}

/* Speeds after all flows that began or ended now. */
static void events_share(struct ty_events *q)
{
    ty_maxmin_solve(q->maxmin, changed, q);
    if (q->meter != NULL) {
        ty_link_meter_read(q->meter, q->now);
    }
}

/* The flow of a lane ends now, not its operation. */
static void events_flow_over(struct ty_events *q, uint32_t lane)
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

/* The lane's operation ends now. */
static void events_work_over(struct ty_events *q, uint32_t lane)
{
    events_flow_over(q, lane);
    if (q->slows[lane] > 0) {
        disturb(q, lane, 0);
    }
}

/* ---- collectives played message by message (script.h) ---- */

#define AHEAD 4u /* messages: more than a cache line has */

static bool all_arrived(const struct ty_events *q, const struct ty_player *player,
                        const struct ty_message *m)
{
    for (uint32_t i = 0; i < m->n_after; i++) {
        if (player->arrived[q->p->afters[m->first_after + i]] == 0) {
            return false;
        }
    }
    return true;
}

/* Fetches what the message after this one needs: hundreds of members send in turn, so that by then
 * it has left the nearest cache. */
static void prefetch_next(const struct ty_events *q, const struct ty_player *player,
                          const struct ty_message *m)
{
    const uint32_t left = player->end - player->next;
    if (left > AHEAD) {
        TY_PREFETCH(m + AHEAD);
    }
    if (left > 1 && m[1].n_after > 0) {
        TY_PREFETCH(player->arrived + q->p->afters[m[1].first_after]);
    }
}

/* Sends the next message of a lane if nothing is missing for it. */
static void send_next(struct ty_events *q, uint32_t lane)
{
    struct ty_player *player = &q->player[lane];
    if (player->sending || player->next == player->end) {
        return;
    }
    const struct ty_message *m = &q->p->messages[player->script->first + player->next];
    if (all_arrived(q, player, m)) {
        player->sending = true;
        q->lane[lane].state = TY_LANE_RUNNING;
        events_begin(q, lane, &player->flows[m->pair], m->alone);
        prefetch_next(q, player, m);
    }
}

/* All members of the group of `leader`, the lane of its first, have come: they start to send. */
static void events_play(struct ty_events *q, uint32_t leader, const struct ty_group *g)
{
    const struct ty_at *at = &q->lane[leader].at;
    const struct ty_kind *kind = &q->p->kinds[at->op->kind];
    assert(kind->script > 0 && q->p->scripts[kind->script - 1].positions == g->count);
    const struct ty_script *script = &q->p->scripts[kind->script - 1];
    const uint32_t *send = q->p->sends + script->first_send;
    const uint32_t lanes = g->stride * q->n_lanes;
    uint8_t *arrived = q->arrived[(size_t)at->op->link * q->p->n_ranks * q->n_lanes + leader];
    memset(arrived, 0, script->n);
    for (uint32_t i = 0; i < g->count; i++) {
        q->player[leader + i * lanes] = (struct ty_player){
            .script = script,
            .flows = q->shared->flows + ty_script_flow(q->p, kind, g, at->member),
            .arrived = arrived,
            .next = send[i],
            .end = send[i + 1],
        };
    }
    for (uint32_t m = 0; m < script->n; m++) {
        q->player[leader + q->p->messages[script->first + m].to * lanes].missing++;
    }
    for (uint32_t i = 0; i < g->count; i++) {
        send_next(q, leader + i * lanes);
    }
}

static bool is_over(const struct ty_player *player)
{
    return player->next == player->end && player->missing == 0;
}

/* The lane of another position of the same group. */
static uint32_t lane_of(const struct ty_events *q, uint32_t lane, uint32_t position)
{
    const struct ty_at *at = &q->lane[lane].at;
    const struct ty_group *g = &q->p->groups[at->op->link];
    assert(position < g->count);
    return lane + (position - ty_group_position(g, at->member)) * g->stride * q->n_lanes;
}

/* A message of the lane has been sent. True: the lane's operation, or the receiver's, ends now, and
 * over[2] lists the lanes, TY_NO_LANE where there is none. */
static void events_message_over(struct ty_events *q, uint32_t lane, uint32_t over[2])
{
    struct ty_player *player = &q->player[lane];
    const uint32_t message = player->next++;
    const uint32_t to = lane_of(q, lane, q->p->messages[player->script->first + message].to);
    assert(player->sending && player->arrived[message] == 0 && q->player[to].missing > 0);
    events_flow_over(q, lane);
    player->sending = false;
    player->arrived[message] = 1;
    q->player[to].missing--;
    send_next(q, lane);
    send_next(q, to);
    over[0] = over[1] = TY_NO_LANE;
    uint32_t n = 0;
    if (is_over(player)) {
        over[n++] = lane;
    }
    if (to != lane && is_over(&q->player[to])) {
        over[n++] = to;
    }
}

void ty_events_settle(struct ty_events *q, uint32_t lane)
{
    struct ty_lane *l = &q->lane[lane];
    const struct ty_gang *gang = l->at.gang;
    const struct ty_pass *pass = &ty_gang_passes(q->p, gang)[l->pass];
    for (; l->pass < gang->n_passes; l->pass++, pass++, l->pos = 0) {
        const struct ty_lane_ops *ops = &q->of_block[(size_t)pass->block * q->n_lanes + l->number];
        if (l->pos < ops->n) {
            const uint32_t index = q->lane_op[ops->first + l->pos];
            l->at.pass = pass;
            l->at.op = &ty_pass_ops(q->p, pass)[index];
            l->at.task = gang->first_task + (uint64_t)(pass->first_op + index) * gang->n_ranks +
                         l->at.member;
            return;
        }
    }
    l->state = TY_LANE_DONE;
    q->n_done++;
}

/* Computations that follow one that starts now, of which nothing but the next one waits for the end
 * of any but the last: they need no events of their own, as long as nothing slows them down
 * ("speeds of what shares links" above). Returns how long all take. */
static ty_ps follow_up(struct ty_events *q, const struct ty_lane *lane, ty_ps takes,
                       uint32_t *ahead)
{
    struct ty_lane l = *lane;
    ty_ps sum = takes;
    uint32_t left = q->follow[l.at.op - q->p->ops];
    for (; left > 0; left--, l.pos++, (*ahead)++) {
        if (q->timeline->dur != NULL) {
            q->timeline->dur[l.at.task] = takes;
        }
        l.at = events_next(q, &l);
        takes = events_nominal(q, &l.at);
        q->timeline->start[l.at.task] = q->now + sum;
        sum += takes;
    }
    return sum;
}

/* The lane's task starts now. `leads`: its event is its own; it ends what `ends` says. */
static void start(struct ty_events *q, uint32_t lane, const struct ty_at *at, bool leads,
                  enum ty_lane_ends ends)
{
    assert(q->lane[lane].state == TY_LANE_IDLE || q->lane[lane].state == TY_LANE_JOINED);
    q->timeline->start[at->task] = q->now;
    q->lane[lane].state = TY_LANE_RUNNING;
    q->lane[lane].ends = (uint8_t)ends;
    if (!leads) {
        if (q->shared != NULL) {
            events_work(q, lane, at, TY_NEVER);
        }
        return;
    }
    if (q->replay != NULL && at->op->lane == 0 && ty_events_replay(q, lane, at)) {
        return;
    }
    ty_ps takes = events_nominal(q, at);
    if (q->follow[at->op - q->p->ops] > 0 && events_full_speed(q, at->rank)) {
        takes = follow_up(q, &q->lane[lane], takes, &q->lane[lane].ahead);
    }
    if (q->shared != NULL) {
        events_work(q, lane, at, takes);
    } else {
        ty_evq_set(&q->queue, lane, q->now + takes);
    }
}

/* Whether all members of a gang take equally long. */
static bool equally_long(const struct ty_events *q, const struct ty_at *at)
{
    const struct ty_kind *kind = &q->p->kinds[at->op->kind];
    return kind->dur_of == NULL && kind->alone_of == NULL &&
           !(ty_program_varies(q->p) && at->op->stream == TY_STREAM_COMPUTE);
}

static void join_group(struct ty_events *q, uint32_t lane, const struct ty_at *at)
{
    const struct ty_group *g = &q->p->groups[at->op->link];
    if (g->count == 1 &&
        q->p->kinds[at->op->kind].script == 0) { /* any group of a folded program */
        start(q, lane, at, true, TY_ENDS_ITSELF);
        return;
    }
    const uint32_t first_rank = at->rank - at->member;
    const uint32_t first = first_rank + ty_group_first(g, at->member);
    uint32_t *joined =
        &q->joined[((size_t)at->op->link * q->n_lanes + at->op->lane) * q->p->n_ranks + first];
    assert(*joined < g->count);
    q->lane[lane].state = TY_LANE_JOINED;
    if (++*joined < g->count) {
        return;
    }
    *joined = 0;
    /* one event ends them all when they share a flow or take equally long */
    const uint32_t leader = first * q->n_lanes + at->op->lane;
    if (q->shared != NULL && q->p->kinds[at->op->kind].script != 0) {
        for (uint32_t i = 0; i < g->count; i++) {
            const uint32_t peer = leader + i * g->stride * q->n_lanes;
            start(q, peer, &q->lane[peer].at, false, TY_ENDS_MESSAGE);
        }
        events_play(q, leader, g);
        return;
    }
    const bool together = ty_events_flow(q, &q->lane[leader].at) != NULL || equally_long(q, at);
    for (uint32_t i = 0; i < g->count; i++) {
        const uint32_t peer = leader + i * g->stride * q->n_lanes;
        start(q, peer, &q->lane[peer].at, i == 0 || !together,
              together ? TY_ENDS_GROUP : TY_ENDS_ITSELF);
    }
}

/* Where the lanes of a meeting's group are chained. */
static size_t chain_of(const struct ty_events *q, const struct ty_at *at)
{
    const struct ty_group group =
        ty_meet_group(q->p, &q->p->meets[at->op->link], at->gang->n_ranks);
    const uint32_t first = ty_group_first(&group, at->member);
    return (size_t)ty_op_slot(q->p, at->pass, at->op) * q->p->slot_width + first;
}

/* All have come. The first of them stands for the flow, as in contention.c. */
static void start_meeting(struct ty_events *q, uint32_t head)
{
    uint32_t leader = head;
    for (uint32_t peer = head; peer != TY_NO_LANE; peer = q->lane[peer].chain) {
        leader = peer < leader ? peer : leader;
    }
    assert(leader != TY_NO_LANE && q->lane[leader].state == TY_LANE_JOINED);
    const bool together = ty_events_flow(q, &q->lane[leader].at) != NULL;
    for (uint32_t peer = head; peer != TY_NO_LANE; peer = q->lane[peer].chain) {
        start(q, peer, &q->lane[peer].at, peer == leader || !together,
              together ? TY_ENDS_MEETING : TY_ENDS_ITSELF);
    }
}

static void join_meeting(struct ty_events *q, uint32_t lane, const struct ty_at *at)
{
    const struct ty_meet *m = &q->p->meets[at->op->link];
    const uint32_t members = m->n_members > 0      ? m->n_members
                             : m->group == TY_NONE ? m->n_gangs
                                                   : q->p->groups[m->group].count * m->n_gangs;
    const size_t here = chain_of(q, at);
    q->lane[lane].state = TY_LANE_JOINED;
    q->lane[lane].chain = q->chain[here];
    q->chain[here] = lane;
    assert(q->meeting[here] < members);
    if (++q->meeting[here] == members &&
        !ty_is_barred(q->barred, ty_op_slot(q->p, at->pass, at->op), TY_BAR_MEET)) {
        start_meeting(q, lane);
    }
}

/* True when the event was recorded as often as the operation needs; else notes what is missing. */
static bool events_done(struct ty_events *q, uint32_t lane, const struct ty_at *at)
{
    const uint32_t *recorded = q->recorded + (size_t)at->rank * TY_EVENTS;
    const uint32_t *base = q->base + (size_t)(at->pass - q->p->passes) * TY_EVENTS;
    const uint32_t *need = q->need + (size_t)(at->op - q->p->ops) * TY_WAITS;
    for (uint32_t w = 0; w < TY_WAITS && at->op->wait[w] != TY_NO_EVENT; w++) {
        const uint8_t event = at->op->wait[w];
        if (recorded[event] < base[event] + need[w]) {
            q->lane[lane].blocked = event;
            return false;
        }
    }
    return true;
}

/* When the last message for a member arrives; TY_NEVER: some are not even sent. */
static ty_ps arrival_of(const struct ty_events *q, const struct ty_at *at, uint32_t slot)
{
    const uint32_t share = ty_channel_share(q->p, &q->p->channels[at->op->link], at->gang->n_ranks);
    assert(slot < q->p->n_slots && (at->member + 1) * share <= q->p->slot_width);
    const ty_ps *row = &q->arrival[(size_t)slot * q->p->slot_width + (size_t)at->member * share];
    ty_ps latest = row[0];
    for (uint32_t i = 1; i < share; i++) {
        latest = ty_later(latest, row[i]);
    }
    return latest;
}

void ty_events_look(struct ty_events *q, uint32_t lane)
{
    struct ty_lane *l = &q->lane[lane];
    if (l->state != TY_LANE_IDLE) {
        return;
    }
    const struct ty_at *at = &l->at;
    l->blocked = TY_NO_EVENT;
    if (!events_done(q, lane, at)) {
        return;
    }
    switch ((enum ty_sync)at->op->sync) {
    case TY_SYNC_LOCAL:
        start(q, lane, at, true, TY_ENDS_ITSELF);
        return;
    case TY_SYNC_SEND:
        if (!ty_is_barred(q->barred, ty_op_slot(q->p, at->pass, at->op), TY_BAR_SEND)) {
            start(q, lane, at, true, TY_ENDS_ITSELF);
        }
        return;
    case TY_SYNC_GROUP:
        join_group(q, lane, at);
        return;
    case TY_SYNC_MEET:
        join_meeting(q, lane, at);
        return;
    case TY_SYNC_RECV: {
        const uint32_t slot = ty_op_slot(q->p, at->pass, at->op);
        const ty_ps arrival = arrival_of(q, at, slot);
        if (ty_is_barred(q->barred, slot, TY_BAR_RECV)) {
            return;
        }
        if (arrival <= q->now) {
            start(q, lane, at, true, TY_ENDS_ITSELF);
        } else if (arrival != TY_NEVER) {
            l->state = TY_LANE_ASLEEP;
            ty_evq_set(&q->queue, lane, arrival);
        }
        return;
    }
    }
}

static void post(struct ty_events *q, const struct ty_at *at)
{
    const struct ty_channel *c = &q->p->channels[at->op->link];
    const uint32_t senders = at->gang->n_ranks, receivers = q->p->gangs[c->to].n_ranks;
    const uint32_t slot = ty_op_slot(q->p, at->pass, at->op);
    struct ty_peers times = {at->member, 1}, to = times;
    if (senders != receivers) {
        times = ty_peers_of(at->member, senders, senders > receivers ? senders : receivers);
        to = ty_peers_of(at->member, senders, receivers);
    }
    assert(times.first + times.n <= q->p->slot_width && to.first + to.n <= receivers);
    for (uint32_t i = 0; i < times.n; i++) {
        q->arrival[(size_t)slot * q->p->slot_width + times.first + i] = q->now + c->delay;
    }
    for (uint32_t i = 0; i < to.n; i++) {
        ty_events_look(q, (q->first_rank[c->to] + to.first + i) * q->n_lanes + q->p->receive_lane);
    }
}

/* The lane's task ends now. */
static void complete(struct ty_events *q, uint32_t lane)
{
    struct ty_lane *l = &q->lane[lane];
    while (l->ahead > 0) {
        events_go_on(q, l);
    }
    if (l->replays > 0) {
        ty_events_replay_over(q, lane);
    }
    const struct ty_at at = l->at;
    assert(l->state == TY_LANE_RUNNING && q->timeline->start[at.task] <= q->now);
    if (q->shared != NULL) {
        q->timeline->dur[at.task] = q->now - q->timeline->start[at.task];
        events_work_over(q, lane);
    }
    assert(l->ahead == 0 && l->replays == 0);
    l->state = TY_LANE_IDLE;
    l->pos++;
    ty_events_settle(q, lane);
    if (at.op->sync == TY_SYNC_SEND) {
        post(q, &at);
    }
    const uint8_t event = at.op->record;
    if (event != TY_NO_EVENT) {
        const uint32_t first = at.rank * q->n_lanes;
        q->recorded[(size_t)at.rank * TY_EVENTS + event]++;
        for (uint32_t peer = first; peer < first + q->n_lanes; peer++) {
            if (q->lane[peer].blocked == event) {
                ty_events_look(q, peer);
            }
        }
    }
    ty_events_look(q, lane);
}

/* The lane's task ends now, and those that it stands for. */
static void complete_all(struct ty_events *q, uint32_t lane)
{
    const struct ty_at at = q->lane[lane].at;
    switch ((enum ty_lane_ends)q->lane[lane].ends) {
    case TY_ENDS_ITSELF:
        complete(q, lane);
        return;
    case TY_ENDS_GROUP: {
        const struct ty_group *g = &q->p->groups[at.op->link];
        for (uint32_t i = 0; i < g->count; i++) {
            complete(q, lane + i * g->stride * q->n_lanes);
        }
        return;
    }
    case TY_ENDS_MEETING:
        for (uint32_t peer = q->chain[chain_of(q, &at)], next; peer != TY_NO_LANE; peer = next) {
            next = q->lane[peer].chain;
            complete(q, peer);
        }
        return;
    case TY_ENDS_MESSAGE: {
        uint32_t over[2];
        events_message_over(q, lane, over);
        for (int i = 0; i < 2 && over[i] != TY_NO_LANE; i++) {
            complete(q, over[i]);
        }
        return;
    }
    }
}

static void handle(struct ty_events *q, uint32_t lane)
{
    switch ((enum ty_lane_state)q->lane[lane].state) {
    case TY_LANE_RUNNING:
        complete_all(q, lane);
        return;
    case TY_LANE_LEADING:
        events_latency_elapsed(q, lane);
        return;
    default:
        assert(q->lane[lane].state == TY_LANE_ASLEEP);
        q->lane[lane].state = TY_LANE_IDLE;
        ty_events_look(q, lane);
        return;
    }
}

#define TOLD_EVERY 65536u /* events; a look at all lanes costs less than a thousandth of them */

/* Share of the passes that the lanes have been through. */
static void tell(const struct ty_events *q)
{
    const struct ty_progress *progress = &q->timeline->progress;
    double done = 0, all = 0;
    if (progress->tell == NULL) {
        return;
    }
    for (uint32_t g = 0; g < q->p->n_gangs; g++) {
        const struct ty_gang *gang = &q->p->gangs[g];
        const struct ty_lane *lane = &q->lane[(size_t)q->first_rank[g] * q->n_lanes];
        done += lane->pass; /* of one member: the others are about as far */
        all += gang->n_passes;
    }
    progress->tell(progress->arg, all > 0 ? done / all : 0);
}

/* What begins or ends at one instant is shared out at once, before time moves on. */
static void run(struct ty_events *q)
{
    for (uint32_t n = 1;; n++) {
        if (n % TOLD_EVERY == 0) {
            if (ty_progress_ends(&q->timeline->progress)) {
                return;
            }
            tell(q);
        }
        if (q->shared != NULL && ty_maxmin_is_dirty(q->maxmin) &&
            (q->queue.n == 0 || q->queue.row[0].t > q->now)) {
            events_share(q);
        }
        if (q->queue.n == 0) {
            return;
        }
        TY_DEBUG_CHECK(!TY_NOW_AND_THEN(n) || ty_evq_is_heap(&q->queue));
        const struct ty_ev ev = ty_evq_pop(&q->queue);
        assert(ev.t >= q->now);
        q->now = ev.t;
        if (q->now >= TY_CLOCK_END) {
            return;
        }
        handle(q, ev.lane);
    }
}

/* What holds at the end: every flow has ended. */
static bool nothing_moves(const struct ty_events *q)
{
    bool none = true;
    for (uint32_t lane = 0; q->shared != NULL && lane < q->p->n_ranks * q->n_lanes; lane++) {
        none = none && q->flow_of_lane[lane] == UINT32_MAX;
    }
    return none;
}

static int execute(struct ty_events *q, struct ty_arena *arena, struct ty_err *err)
{
    if (ty_events_prepare(q, arena) < 0) {
        return ty_fail_memory(err);
    }
    if (ty_progress_ends(&q->timeline->progress)) {
        return ty_progress_stopped(err);
    }
    const uint32_t lanes = q->p->n_ranks * q->n_lanes;
    for (uint32_t lane = 0; lane < lanes; lane++) {
        q->lane[lane].blocked = TY_NO_EVENT;
        ty_events_settle(q, lane);
    }
    for (uint32_t lane = 0; lane < lanes; lane++) {
        ty_events_look(q, lane);
    }
    run(q);
    if (ty_progress_ends(&q->timeline->progress)) {
        return ty_progress_stopped(err);
    }
    if (q->now >= TY_CLOCK_END) {
        return ty_fail(err, TY_ELIMIT,
                       "links are shared so narrowly that the run lasts longer than the simulated "
                       "clock can hold (4.6e6 s); simulate fewer steps, or check bandwidths and "
                       "oversubscription");
    }
    assert(q->n_done <= lanes);
    q->timeline->makespan = q->now;
    if (q->n_done < lanes) {
        return ty_deadlock_report(q->timeline, err);
    }
    TY_DEBUG_CHECK(nothing_moves(q) && ty_timeline_is_ordered(q->timeline));
    return 0;
}

int ty_events(struct ty_timeline *timeline, struct ty_err *err)
{
    return ty_events_shared(timeline, NULL, err);
}

int ty_events_shared(struct ty_timeline *timeline, const struct ty_contention *shared,
                     struct ty_err *err)
{
    struct ty_events q = {.timeline = timeline,
                          .p = timeline->program,
                          .n_lanes = timeline->program->n_lanes,
                          .shared = shared,
                          .barred = ty_mismatch_bars(timeline->mismatch)};
    struct ty_arena arena = {.head = NULL};
    int rc = shared == NULL ? 0 : ty_timeline_keep_durations(timeline, err);
    if (rc == 0) {
        rc = execute(&q, &arena, err);
    }
    ty_arena_release(&arena);
    return rc;
}
