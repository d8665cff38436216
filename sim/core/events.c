/* events.c - the executor with a queue: completions in time order, one task at a time.
 *
 * A lane is one stream of one rank. It stands before its next operation until the events that
 * operation waits for have been recorded often enough (the n-th record of an event, n counted in
 * issue order, so that streams may run ahead of each other), its message has arrived, or its
 * partners have joined. Everything happens at the time of the event that made it possible, so a
 * start time is simply the current time. Today durations are fixed when a task starts and the
 * result equals the sweep; shared links will stretch them while they run. */
#include <stdlib.h>
#include <string.h>

#include "sim/core/deadlock.h"
#include "sim/core/evq.h"
#include "sim/core/execute.h"
#include "sim/core/rows.h"

#define NEVER   UINT64_MAX
#define NO_LANE UINT32_MAX

/* What an event of the queue means: the low bits of its id. */
enum {
    EV_TASK,  /* the lane's task ends */
    EV_GROUP, /* the tasks of the lane's whole group end */
    EV_WAKE,  /* the lane's message arrives */
    EV_BITS = 2
};

enum lane_state {
    LANE_IDLE,    /* stands before its next operation */
    LANE_JOINED,  /* and has joined its partners */
    LANE_ASLEEP,  /* a wake-up is in the queue */
    LANE_RUNNING, /* its task's end is in the queue */
    LANE_DONE
};

struct lane {
    uint32_t pass, pos; /* next: pass within the gang, position in the block's list of the stream */
    uint32_t chain;     /* next lane at the same meeting */
    uint8_t state;
    uint8_t blocked; /* event that was missing at the last look */
};

/* Operations of a block that run on one stream. */
struct stream_ops {
    uint32_t first, n;
};

struct queue_run {
    struct ty_timeline *timeline;
    const struct ty_program *p;
    struct ty_evq queue;
    ty_ps now, last;
    uint32_t n_done;

    /* per lane: rank number here is first_rank[gang] + member, lane = rank * streams + stream */
    struct lane *lane;
    uint32_t *gang_of;    /* [ranks] */
    uint32_t *first_rank; /* [n_gangs] */
    uint32_t *recorded;   /* [ranks][TY_EVENTS]: how often each event has happened */

    /* the program, seen by stream */
    struct stream_ops *of_block; /* [n_blocks][TY_N_STREAMS] */
    uint32_t *stream_op;         /* operation numbers within their block */
    uint32_t *need;    /* [n_ops][TY_WAITS]: records within the block before the operation */
    uint32_t *base;    /* [n_passes][TY_EVENTS]: records before the pass */

    /* partners */
    ty_ps *arrival;      /* [n_slots][slot_width]: messages */
    uint32_t *joined;    /* [n_groups][streams][ranks]: members that stand at a group's operation */
    uint32_t *meeting;   /* [n_slots][slot_width]: lanes that stand at a meeting */
    uint32_t *chain;     /* [n_slots][slot_width]: one of them, or NO_LANE */
};

static void look(struct queue_run *q, uint32_t lane);

static uint32_t lane_rank(uint32_t lane)
{
    return lane / TY_N_STREAMS;
}

/* The operation a lane stands before or runs. */
struct place {
    const struct ty_gang *gang;
    uint32_t member;
    const struct ty_pass *pass;
    const struct ty_op *op;
    uint32_t index; /* of the operation within its block */
};

static struct place place_of(const struct queue_run *q, uint32_t lane)
{
    const struct lane *l = &q->lane[lane];
    const uint32_t rank = lane_rank(lane), gang = q->gang_of[rank];
    struct place at = {.gang = &q->p->gangs[gang], .member = rank - q->first_rank[gang]};
    at.pass = &ty_gang_passes(q->p, at.gang)[l->pass];
    const struct stream_ops *ops =
        &q->of_block[(size_t)at.pass->block * TY_N_STREAMS + lane % TY_N_STREAMS];
    at.index = q->stream_op[ops->first + l->pos];
    at.op = &ty_pass_ops(q->p, at.pass)[at.index];
    return at;
}

/* Moves a lane past passes in which its stream has nothing (more) to do. */
static void settle(struct queue_run *q, uint32_t lane)
{
    struct lane *l = &q->lane[lane];
    const struct ty_gang *gang = &q->p->gangs[q->gang_of[lane_rank(lane)]];
    const struct ty_pass *passes = ty_gang_passes(q->p, gang);
    while (l->pass < gang->n_passes &&
           l->pos >= q->of_block[(size_t)passes[l->pass].block * TY_N_STREAMS +
                                 lane % TY_N_STREAMS].n) {
        l->pass++;
        l->pos = 0;
    }
    if (l->pass >= gang->n_passes) {
        l->state = LANE_DONE;
        q->n_done++;
    }
}

static ty_ps duration(struct queue_run *q, const struct place *at, uint64_t task)
{
    const ty_ps nominal = ty_kind_duration(&q->p->kinds[at->op->kind], at->member);
    return q->timeline->dur == NULL ? nominal : q->timeline->dur[task];
}

/* The lane's task starts now. `code`: who completes it. */
static void start(struct queue_run *q, uint32_t lane, const struct place *at, bool queued,
                  unsigned code)
{
    const uint64_t task = at->gang->first_task +
                          (uint64_t)(at->pass->first_op + at->index) * at->gang->n_ranks +
                          at->member;
    const ty_ps end = q->now + duration(q, at, task);
    q->timeline->start[task] = q->now;
    q->lane[lane].state = LANE_RUNNING;
    q->last = ty_later(q->last, end);
    if (queued) {
        ty_evq_push(&q->queue, end, (uint64_t)lane << EV_BITS | code);
    }
}

/* First member of the group that `member` belongs to. */
static uint32_t group_first(const struct ty_group *g, uint32_t member)
{
    return member / (g->stride * g->count) * (g->stride * g->count) + member % g->stride;
}

static void join_group(struct queue_run *q, uint32_t lane, const struct place *at)
{
    const struct ty_group *g = &q->p->groups[at->op->link];
    const uint32_t first_rank = lane_rank(lane) - at->member;
    const uint32_t first = first_rank + group_first(g, at->member);
    uint32_t *joined = &q->joined[((size_t)at->op->link * TY_N_STREAMS + lane % TY_N_STREAMS) *
                                      q->p->n_ranks + first];
    q->lane[lane].state = LANE_JOINED;
    if (++*joined < g->count) {
        return;
    }
    *joined = 0;
    /* one event ends them all when they take equally long */
    const bool together = q->timeline->dur == NULL && q->p->kinds[at->op->kind].dur_of == NULL;
    for (uint32_t i = 0; i < g->count; i++) {
        const uint32_t rank = first + i * g->stride;
        struct place peer = *at;
        peer.member = rank - first_rank;
        start(q, rank * TY_N_STREAMS + lane % TY_N_STREAMS, &peer, i == 0 || !together,
              together ? EV_GROUP : EV_TASK);
    }
}

static void join_meeting(struct queue_run *q, uint32_t lane, const struct place *at)
{
    const struct ty_meet *m = &q->p->meets[at->op->link];
    const struct ty_group alone = {.stride = 1, .count = 1};
    const struct ty_group *g = m->group == TY_NONE ? &alone : &q->p->groups[m->group];
    const uint32_t slot = ty_op_slot(q->p, at->pass, at->op);
    const size_t here = (size_t)slot * q->p->slot_width + group_first(g, at->member);
    q->lane[lane].state = LANE_JOINED;
    q->lane[lane].chain = q->chain[here];
    q->chain[here] = lane;
    if (++q->meeting[here] < g->count * m->n_gangs) {
        return;
    }
    for (uint32_t peer = lane; peer != NO_LANE; peer = q->lane[peer].chain) {
        const struct place there = place_of(q, peer);
        start(q, peer, &there, true, EV_TASK);
    }
}

/* True when the event was recorded as often as the operation needs; else notes what is missing. */
static bool events_done(struct queue_run *q, uint32_t lane, const struct place *at)
{
    const uint32_t *recorded = q->recorded + (size_t)lane_rank(lane) * TY_EVENTS;
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

/* Looks whether an idle lane can start its next operation, and starts it. */
static void look(struct queue_run *q, uint32_t lane)
{
    struct lane *l = &q->lane[lane];
    if (l->state != LANE_IDLE) {
        return;
    }
    const struct place at = place_of(q, lane);
    l->blocked = TY_NO_EVENT;
    if (!events_done(q, lane, &at)) {
        return;
    }
    switch ((enum ty_sync)at.op->sync) {
    case TY_SYNC_LOCAL:
    case TY_SYNC_SEND:
        start(q, lane, &at, true, EV_TASK);
        return;
    case TY_SYNC_GROUP:
        join_group(q, lane, &at);
        return;
    case TY_SYNC_MEET:
        join_meeting(q, lane, &at);
        return;
    case TY_SYNC_RECV: {
        const uint32_t slot = ty_op_slot(q->p, at.pass, at.op);
        const ty_ps arrival = q->arrival[(size_t)slot * q->p->slot_width + at.member];
        if (arrival <= q->now) {
            start(q, lane, &at, true, EV_TASK);
        } else if (arrival != NEVER) {
            l->state = LANE_ASLEEP;
            ty_evq_push(&q->queue, arrival, (uint64_t)lane << EV_BITS | EV_WAKE);
        }
        return;
    }
    }
}

static void post(struct queue_run *q, const struct place *at)
{
    const struct ty_channel *c = &q->p->channels[at->op->link];
    const uint32_t slot = ty_op_slot(q->p, at->pass, at->op);
    q->arrival[(size_t)slot * q->p->slot_width + at->member] = q->now + c->delay;
    look(q, (q->first_rank[c->to] + at->member) * TY_N_STREAMS + TY_STREAM_RECV);
}

/* The lane's task ends now. */
static void complete(struct queue_run *q, uint32_t lane)
{
    const struct place at = place_of(q, lane);
    struct lane *l = &q->lane[lane];
    l->state = LANE_IDLE;
    l->pos++;
    settle(q, lane);
    if (at.op->sync == TY_SYNC_SEND) {
        post(q, &at);
    }
    const uint8_t event = at.op->record;
    if (event != TY_NO_EVENT) {
        const uint32_t rank = lane_rank(lane);
        q->recorded[(size_t)rank * TY_EVENTS + event]++;
        for (uint32_t s = 0; s < TY_N_STREAMS; s++) {
            if (q->lane[rank * TY_N_STREAMS + s].blocked == event) {
                look(q, rank * TY_N_STREAMS + s);
            }
        }
    }
    look(q, lane);
}

static void complete_group(struct queue_run *q, uint32_t lane)
{
    const struct place at = place_of(q, lane);
    const struct ty_group *g = &q->p->groups[at.op->link];
    for (uint32_t i = 0; i < g->count; i++) {
        complete(q, lane + i * g->stride * TY_N_STREAMS);
    }
}

/* ---- preparation ---- */

/* Lists of each block's operations by stream, and how many records precede each wait. */
static void index_blocks(struct queue_run *q)
{
    uint32_t used = 0;
    for (uint32_t b = 0; b < q->p->n_blocks; b++) {
        const struct ty_block *block = &q->p->blocks[b];
        uint32_t count[TY_EVENTS] = {0};
        for (uint32_t k = 0; k < block->n_ops; k++) {
            const struct ty_op *op = &q->p->ops[block->first + k];
            for (uint32_t w = 0; w < TY_WAITS && op->wait[w] != TY_NO_EVENT; w++) {
                q->need[(size_t)(block->first + k) * TY_WAITS + w] = count[op->wait[w]];
            }
            if (op->record != TY_NO_EVENT) {
                count[op->record]++;
            }
        }
        for (uint32_t s = 0; s < TY_N_STREAMS; s++) {
            struct stream_ops *list = &q->of_block[(size_t)b * TY_N_STREAMS + s];
            list->first = used;
            for (uint32_t k = 0; k < block->n_ops; k++) {
                if (q->p->ops[block->first + k].stream == s) {
                    q->stream_op[used++] = k;
                }
            }
            list->n = used - list->first;
        }
    }
}

static void index_passes(struct queue_run *q)
{
    for (uint32_t g = 0; g < q->p->n_gangs; g++) {
        const struct ty_gang *gang = &q->p->gangs[g];
        uint32_t count[TY_EVENTS] = {0};
        for (uint32_t i = 0; i < gang->n_passes; i++) {
            const uint32_t index = gang->first_pass + i;
            memcpy(q->base + (size_t)index * TY_EVENTS, count, sizeof(count));
            const struct ty_block *block = &q->p->blocks[q->p->passes[index].block];
            for (uint32_t k = 0; k < block->n_ops; k++) {
                const uint8_t event = q->p->ops[block->first + k].record;
                if (event != TY_NO_EVENT) {
                    count[event]++;
                }
            }
        }
    }
}

static int prepare(struct queue_run *q, struct ty_arena *arena)
{
    const struct ty_program *p = q->p;
    const size_t ranks = p->n_ranks, slots = (size_t)p->n_slots * p->slot_width;
    const size_t lanes = ranks * TY_N_STREAMS;
    q->queue.cap = (uint32_t)lanes + 1;
    q->queue.row = ty_arena_array(arena, struct ty_ev, q->queue.cap);
    q->lane = ty_arena_array(arena, struct lane, lanes);
    q->gang_of = ty_arena_array(arena, uint32_t, ranks);
    q->first_rank = ty_arena_array(arena, uint32_t, p->n_gangs);
    q->recorded = ty_arena_array(arena, uint32_t, ranks * TY_EVENTS);
    q->of_block = ty_arena_array(arena, struct stream_ops, (size_t)p->n_blocks * TY_N_STREAMS);
    q->stream_op = ty_arena_array(arena, uint32_t, p->n_ops);
    q->need = ty_arena_array(arena, uint32_t, (size_t)p->n_ops * TY_WAITS);
    q->base = ty_arena_array(arena, uint32_t, (size_t)p->n_passes * TY_EVENTS);
    q->arrival = ty_arena_array(arena, ty_ps, slots);
    q->joined = ty_arena_array(arena, uint32_t, (size_t)p->n_groups * TY_N_STREAMS * ranks);
    q->meeting = ty_arena_array(arena, uint32_t, slots);
    q->chain = ty_arena_array(arena, uint32_t, slots);
    if (q->queue.row == NULL || q->lane == NULL || q->gang_of == NULL || q->first_rank == NULL ||
        q->recorded == NULL || q->of_block == NULL || q->stream_op == NULL || q->need == NULL ||
        q->base == NULL || q->arrival == NULL || q->joined == NULL || q->meeting == NULL ||
        q->chain == NULL) {
        return TY_ENOMEM;
    }
    for (uint32_t g = 0, rank = 0; g < p->n_gangs; g++) {
        q->first_rank[g] = rank;
        for (uint32_t i = 0; i < p->gangs[g].n_ranks; i++) {
            q->gang_of[rank++] = g;
        }
    }
    memset(q->arrival, 0xff, slots * sizeof(*q->arrival)); /* NEVER */
    memset(q->chain, 0xff, slots * sizeof(*q->chain));     /* NO_LANE */
    index_blocks(q);
    index_passes(q);
    return 0;
}

/* Under jitter all durations are drawn first: they are functions of identity, not of order. */
static int draw_durations(struct queue_run *q, struct ty_arena *arena)
{
    const struct ty_program *p = q->p;
    double *factor = ty_arena_array(arena, double, p->slot_width + 1);
    if (factor == NULL) {
        return TY_ENOMEM;
    }
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        const struct ty_gang *gang = &p->gangs[g];
        ty_ps *dur = q->timeline->dur + gang->first_task;
        for (uint32_t i = 0; i < gang->n_passes; i++) {
            const struct ty_pass *pass = &ty_gang_passes(p, gang)[i];
            const struct ty_op *ops = ty_pass_ops(p, pass);
            for (uint32_t k = 0; k < p->blocks[pass->block].n_ops; k++, dur += gang->n_ranks) {
                const bool compute = ops[k].stream == TY_STREAM_COMPUTE;
                if (compute) {
                    ty_program_factors(p, gang, i, ops[k].layer, factor);
                }
                for (uint32_t r = 0; r < gang->n_ranks; r++) {
                    const ty_ps nominal = ty_kind_duration(&p->kinds[ops[k].kind], r);
                    dur[r] = compute ? ty_jittered(nominal, factor[r]) : nominal;
                }
            }
        }
    }
    return 0;
}

static int execute(struct queue_run *q, struct ty_arena *arena, struct ty_err *err)
{
    if (prepare(q, arena) < 0 || (q->timeline->dur != NULL && draw_durations(q, arena) < 0)) {
        return ty_fail(err, TY_ENOMEM, "events: out of memory");
    }
    const uint32_t lanes = q->p->n_ranks * TY_N_STREAMS;
    for (uint32_t lane = 0; lane < lanes; lane++) {
        q->lane[lane].blocked = TY_NO_EVENT;
        settle(q, lane);
    }
    for (uint32_t lane = 0; lane < lanes; lane++) {
        look(q, lane);
    }
    while (q->queue.n > 0) {
        const struct ty_ev ev = ty_evq_pop(&q->queue);
        const uint32_t lane = (uint32_t)(ev.id >> EV_BITS);
        q->now = ev.t;
        switch (ev.id & ((1u << EV_BITS) - 1)) {
        case EV_TASK:
            complete(q, lane);
            break;
        case EV_GROUP:
            complete_group(q, lane);
            break;
        default:
            q->lane[lane].state = LANE_IDLE;
            look(q, lane);
            break;
        }
    }
    q->timeline->makespan = q->last;
    return q->n_done == lanes ? 0 : ty_deadlock_report(q->timeline, NULL, err);
}

int ty_events(struct ty_timeline *timeline, struct ty_err *err)
{
    struct queue_run q = {.timeline = timeline, .p = timeline->program};
    struct ty_arena arena = {.head = NULL};
    const int rc = execute(&q, &arena, err);
    ty_arena_release(&arena);
    return rc;
}
