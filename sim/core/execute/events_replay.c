/* events_replay.c - what a rank does by itself takes as long every time; see events.c.
 *
 *     compute   A  B     C  D  E     F  G  H | I
 *     tensor         T1           T2         |     T3
 *               `------ a stretch -------'
 *
 * A stretch of a block is played once, event by event, and copied from then on: starts and
 * durations are those of that time, later by a constant. It begins with a computation and ends with
 * one, and when either starts nothing else of the stretch is under way; between them it takes no
 * link that others take, and waits for nothing but itself. So what it does, from when its streams
 * stand before it, is the same at any time, as long as no other stream of the rank slows it down or
 * waits for what it records. That none does is proved when it begins: whatever another stream
 * issues next, and its own behind it, waits for its last operation or for a later one. Streams that
 * wait for no events and slow nobody down, as those that receive, may do what they want.
 *
 * What is left of it are times in the timeline, the event of its last operation, and how often
 * events were recorded. Those who waited for some of them are looked at before the last one ends,
 * so that they know which is missing. */
#include <string.h>

#include "sim/core/execute/events_internal.h"

#define FEWEST 6u /* operations that are worth it */

/* ---- stretches of a block ---- */

struct walk {
    struct ty_events *q;
    const struct ty_block *block;
    uint32_t begin, end;             /* the stretch at hand: ends with the last computation that
                                      * nothing else is under way next to; none: begin */
    uint32_t lanes;                  /* bits: something is under way */
    uint32_t recorded[TY_EVENTS];    /* 1 + operation that recorded an event last */
    uint32_t latest[TY_MAX_STREAMS]; /* [n_lanes] operation issued last */
    uint32_t n_before;               /* operations of the block ... */
    struct ty_replay before;         /* ... and what they issue and record */
};

/* Whether how long it takes depends on its rank alone. */
static bool is_own(const struct ty_events *q, const struct ty_op *op)
{
    const struct ty_kind *kind = &q->p->kinds[op->kind];
    const bool alone = op->sync == TY_SYNC_LOCAL ||
                       (op->sync == TY_SYNC_GROUP && q->p->groups[op->link].count == 1);
    return alone && kind->script == 0 &&
           (kind->first_flow == 0 || q->shared->flows[kind->first_flow - 1].n_uses == 0);
}

static bool waits_within(const struct walk *w, const struct ty_op *op)
{
    for (uint32_t i = 0; i < TY_WAITS && op->wait[i] != TY_NO_EVENT; i++) {
        if (w->recorded[op->wait[i]] <= w->begin) {
            return false;
        }
    }
    return true;
}

/* What streams have issued of the block up to the end of the stretch. */
static void describe(struct walk *w, const struct ty_op *ops, struct ty_replay *out)
{
    for (; w->n_before < w->end; w->n_before++) {
        const struct ty_op *op = &ops[w->n_before];
        w->before.issued[op->lane]++;
        if (op->record != TY_NO_EVENT) {
            w->before.records[op->record]++;
        }
    }
    *out = w->before;
    out->end = w->end;
    out->issued[ops[w->end].lane]++;
    for (uint32_t k = w->begin; k <= w->end; k++) {
        const bool records = ops[k].record != TY_NO_EVENT && k < w->end;
        out->lanes |= 1u << ops[k].lane;
        out->events |= records ? 1u << ops[k].record : 0;
    }
}

/* What comes next is not of the stretch. */
static void close_stretch(struct walk *w, uint32_t next)
{
    struct ty_events *q = w->q;
    uint32_t *replay_of = q->replay_of + w->block->first;
    const bool worth = w->end >= w->begin + FEWEST;
    if (worth) {
        describe(w, q->p->ops + w->block->first, &q->replay[++q->n_replays]);
    }
    for (uint32_t k = w->begin; k < next; k++) {
        replay_of[k] = worth && replay_of[k] != 0 && k + FEWEST <= w->end ? q->n_replays : 0;
    }
    w->begin = w->end = next;
    w->lanes = 0;
}

/* When a computation starts, what it waits for is over, and all before that on the same stream. */
static void take(struct walk *w, const struct ty_op *ops, uint32_t k)
{
    const struct ty_op *op = &ops[k];
    w->latest[op->lane] = k;
    if (op->lane != 0) {
        w->lanes |= 1u << op->lane;
    }
    for (uint32_t i = 0; op->lane == 0 && i < TY_WAITS && op->wait[i] != TY_NO_EVENT; i++) {
        const uint32_t by = w->recorded[op->wait[i]];
        if (by > w->begin && w->latest[ops[by - 1].lane] == by - 1) {
            w->lanes &= ~(1u << ops[by - 1].lane);
        }
    }
    if (op->lane == 0 && w->lanes == 0) {
        w->q->replay_of[w->block->first + k] = UINT32_MAX; /* one begins here */
        w->end = k;
    }
}

static void index_block(struct ty_events *q, const struct ty_block *block)
{
    const struct ty_op *ops = q->p->ops + block->first;
    struct walk w = {.q = q, .block = block};
    for (uint32_t k = 0; k < block->n_ops; k++) {
        const struct ty_op *op = &ops[k];
        const bool own = is_own(q, op);
        if (!own || !waits_within(&w, op)) {
            close_stretch(&w, own ? k : k + 1);
        }
        if (own) {
            take(&w, ops, k);
        }
        if (op->record != TY_NO_EVENT) {
            w.recorded[op->record] = own ? k + 1 : 0;
        }
    }
    close_stretch(&w, block->n_ops);
}

int ty_events_replay_prepare(struct ty_events *q, struct ty_arena *arena)
{
    const struct ty_program *p = q->p;
    uint32_t *n_passes = ty_arena_array(arena, uint32_t, (size_t)p->n_blocks + 1);
    q->replay = ty_arena_array(arena, struct ty_replay, (size_t)p->n_ops / FEWEST + 1);
    q->replay_of = ty_arena_array(arena, uint32_t, (size_t)p->n_ops + 1);
    if (n_passes == NULL || q->replay == NULL || q->replay_of == NULL) {
        return TY_ENOMEM;
    }
    for (uint32_t i = 0; i < p->n_passes; i++) {
        n_passes[p->passes[i].block]++;
    }
    q->quiet = UINT32_MAX;
    for (uint32_t i = 0; i < p->n_ops; i++) {
        const struct ty_op *op = &p->ops[i];
        if (op->wait[0] != TY_NO_EVENT || p->kinds[op->kind].slows > 0) {
            q->quiet &= ~(1u << op->lane);
        }
        if (op->record != TY_NO_EVENT) {
            q->recorder[op->record] = op->lane;
        }
    }
    for (uint32_t b = 0; b < p->n_blocks; b++) {
        if (n_passes[b] > 1) {
            index_block(q, &p->blocks[b]);
        }
    }
    return 0;
}

/* ---- whether one can be replayed ---- */

/* The operation that a lane comes to n after the one it stands at, and its pass; NULL: none. */
static const struct ty_op *op_after(const struct ty_events *q, const struct ty_lane *l, uint32_t n,
                                    const struct ty_pass **pass)
{
    const struct ty_pass *passes = ty_gang_passes(q->p, l->at.gang);
    uint32_t pos = l->pos + n;
    for (uint32_t i = l->pass; i < l->at.gang->n_passes; i++, pos = 0) {
        const struct ty_lane_ops *ops =
            &q->of_block[(size_t)passes[i].block * q->n_lanes + l->number];
        if (pos < ops->n) {
            *pass = &passes[i];
            return &ty_pass_ops(q->p, &passes[i])[q->lane_op[ops->first + pos]];
        }
    }
    return NULL;
}

/* Whether an operation cannot start before a stretch of the pass ends whose streams stand at it. */
static bool waits_for_end(const struct ty_events *q, const struct ty_replay *replay,
                          const struct ty_pass *now, const struct ty_pass *pass,
                          const struct ty_op *op)
{
    const uint32_t *base = q->base + (size_t)(pass - q->p->passes) * TY_EVENTS;
    const uint32_t *until = q->base + (size_t)(now - q->p->passes) * TY_EVENTS;
    const uint32_t *need = q->need + (size_t)(op - q->p->ops) * TY_WAITS;
    for (uint32_t w = 0; w < TY_WAITS && op->wait[w] != TY_NO_EVENT; w++) {
        const uint8_t event = op->wait[w];
        if ((replay->lanes >> q->recorder[event] & 1) != 0 &&
            base[event] + need[w] > until[event] + replay->records[event]) {
            return true;
        }
    }
    return false;
}

/* Whether a lane stands before its part of what is left of a stretch, all of which is to come. */
static bool stands_before(const struct ty_events *q, const struct ty_lane *l,
                          const struct ty_at *at)
{
    if (l->state != TY_LANE_IDLE || l->at.pass != at->pass || l->at.op < at->op) {
        return false;
    }
    const struct ty_lane_ops *ops = &q->of_block[(size_t)at->pass->block * q->n_lanes + l->number];
    const uint32_t k = (uint32_t)(at->op - ty_pass_ops(q->p, at->pass));
    return l->pos == 0 || q->lane_op[ops->first + l->pos - 1] < k;
}

/* Whether a lane leaves a stretch alone. */
static bool lets_be(const struct ty_events *q, const struct ty_replay *replay,
                    const struct ty_lane *l, const struct ty_at *at)
{
    const bool own = (replay->lanes >> l->number & 1) != 0, idle = l->state == TY_LANE_IDLE;
    const struct ty_pass *pass;
    uint32_t n = idle ? 0 : 1;
    if (own) {
        if (!stands_before(q, l, at)) {
            return false;
        }
        n = replay->issued[l->number] - l->pos;
    } else if (l->state == TY_LANE_DONE || (q->quiet >> l->number & 1) != 0) {
        return true;
    } else if (!idle && q->p->kinds[l->at.op->kind].slows > 0) {
        return false;
    }
    const struct ty_op *next = op_after(q, l, n, &pass);
    return next == NULL || waits_for_end(q, replay, at->pass, pass, next);
}

/* Whether every one of the rank's other lanes does. */
static bool is_undisturbed(const struct ty_events *q, const struct ty_replay *replay,
                           const struct ty_at *at)
{
    const struct ty_lane *lane = &q->lane[(size_t)at->rank * q->n_lanes];
    for (uint32_t l = 1; l < q->n_lanes; l++) {
        if (!lets_be(q, replay, &lane[l], at)) {
            return false;
        }
    }
    return true;
}

/* Operations that a lane has in what is left of a stretch. */
static uint32_t left_of(const struct ty_replay *replay, const struct ty_lane *l)
{
    const bool own = (replay->lanes >> l->number & 1) != 0;
    assert(!own || replay->issued[l->number] >= l->pos);
    return own ? replay->issued[l->number] - l->pos : 0;
}

/* Whether all streams stood where they stand now when it was played. */
static bool began_alike(const struct ty_events *q, const struct ty_replay *replay,
                        const struct ty_at *at, const ty_ps *start)
{
    const struct ty_lane *lane = &q->lane[(size_t)at->rank * q->n_lanes];
    for (uint32_t l = 1; l < q->n_lanes; l++) {
        if (left_of(replay, &lane[l]) > 0 && start[lane[l].at.op - at->op] < start[0]) {
            return false;
        }
    }
    return true;
}

/* ---- replaying ---- */

/* Computes `n` more operations than this one as they were computed before, from task `from` on. */
static void copy(struct ty_events *q, uint32_t lane, const struct ty_at *at, uint64_t from,
                 uint32_t n)
{
    assert(from + n < q->p->n_tasks && at->task + n < q->p->n_tasks);
    ty_ps *start = q->timeline->start, *dur = q->timeline->dur;
    const ty_ps later = q->now - start[from];
    for (uint32_t i = 0; i <= n; i++) {
        start[at->task + i] = start[from + i] + later;
        dur[at->task + i] = dur[from + i];
    }
    q->lane[lane].ends = TY_ENDS_ITSELF;
    q->work[lane].speed = 0;
    ty_evq_set(&q->queue, lane, start[at->task + n] + dur[at->task + n]);
}

bool ty_events_replay(struct ty_events *q, uint32_t lane, const struct ty_at *at)
{
    const uint32_t number = q->replay_of[at->op - q->p->ops];
    struct ty_replay *replay = &q->replay[number];
    const bool over = replay->played && q->lane[replay->lane].pass > replay->pass;
    const uint32_t k = (uint32_t)(at->op - ty_pass_ops(q->p, at->pass));
    if (number == 0 || at->gang->n_ranks != 1 || (replay->played && !over) ||
        !is_undisturbed(q, replay, at)) {
        return false;
    }
    if (!over || k < replay->from ||
        !began_alike(q, replay, at, q->timeline->start + replay->task + k)) {
        replay->played = true; /* this time */
        replay->from = k;
        replay->lane = lane;
        replay->pass = q->lane[lane].pass;
        replay->task = at->task - k;
        return false;
    }
    assert(k <= replay->end && q->timeline->dur != NULL);
    copy(q, lane, at, replay->task + k, replay->end - k);
    for (uint32_t l = 0; l < q->n_lanes; l++) {
        if (left_of(replay, &q->lane[lane + l]) > 0) {
            q->lane[lane + l].state = TY_LANE_RUNNING;
        }
    }
    q->lane[lane].replays = replay->end - k;
    return true;
}

void ty_events_replay_over(struct ty_events *q, uint32_t lane)
{
    struct ty_lane *l = &q->lane[lane];
    const struct ty_replay *replay = &q->replay[q->replay_of[l->at.op - q->p->ops]];
    const uint32_t *base = q->base + (size_t)(l->at.pass - q->p->passes) * TY_EVENTS;
    uint32_t *recorded = q->recorded + (size_t)l->at.rank * TY_EVENTS;
    for (uint32_t e = 0; e < TY_EVENTS; e++) {
        recorded[e] = (replay->events >> e & 1) != 0 ? base[e] + replay->records[e] : recorded[e];
    }
    for (uint32_t i = 1; i < q->n_lanes; i++) {
        const uint32_t left = left_of(replay, &l[i]);
        if (left > 0) {
            l[i].state = TY_LANE_IDLE;
            l[i].pos += left;
            ty_events_settle(q, lane + i);
        }
        const bool waits = l[i].blocked != TY_NO_EVENT && (replay->events >> l[i].blocked & 1) != 0;
        if (left > 0 || waits) {
            ty_events_look(q, lane + i);
            assert(l[i].state == TY_LANE_IDLE || l[i].state == TY_LANE_DONE);
        }
    }
    assert(replay->issued[0] > 0);
    l->at.op += l->replays;
    l->at.task += l->replays;
    l->pos = replay->issued[0] - 1;
    l->replays = 0;
}
