/* sweep.c - the executor without a queue.
 *
 * Every gang runs ahead through its passes, all members abreast, until it meets a message or a
 * meeting that has not come about; then another gang that can run continues. Each task costs a
 * maximum and an addition. Exact because durations do not depend on what else is running: start
 * times are the longest paths of the program (max-plus), whatever order gangs are visited in.
 *
 * So far a gang stops with all its streams, though only one of them has to wait; that is enough for
 * nearly all programs, and saves looking at streams one by one. Where no gang can go on like this
 * and some are not at their end, streams go round what stands on others, in the order of fronts.h.
 * They may then be apart as far as they like: a row of `event` would be that of another record of
 * it, and the end of what an operation waits for is read off the timeline. */
#include <stdlib.h>
#include <string.h>

#include "sim/core/deadlock/deadlock.h"
#include "sim/core/deadlock/fronts.h"
#include "sim/core/deadlock/mismatch.h"
#include "sim/core/execute/execute.h"
#include "sim/core/execute/rows.h"
#include "sim/core/program/peers.h"

/* Where a gang is, and the state of its streams and events. */
struct runner {
    struct ty_rows rows;
    uint32_t pass, op;
    uint32_t waiting;     /* slot it waits for, or TY_NO_SLOT */
    bool met;             /* it has arrived at the meeting it stands before */
    uint32_t factor_pass; /* factor[] belongs to this pass and layer */
    uint16_t factor_layer;
    double *factor; /* [n_ranks], or NULL */
};

struct sweep {
    struct ty_timeline *timeline;
    const struct ty_program *p;
    struct runner *runner; /* [n_gangs] */
    ty_ps *slot;           /* [n_slots][slot_width]: arrival of messages, start of meetings */
    uint32_t *arrived;     /* [n_slots]: sends done, or gangs at the meeting */
    uint32_t *ready;       /* [n_gangs]: stack of gangs that may run */
    uint32_t n_ready;
    bool *queued;          /* [n_gangs]: on the stack */
    uint64_t n_done;       /* passes */
    const uint8_t *barred; /* [n_slots] of enum ty_bar, or NULL */
};

static ty_ps *slot_row(const struct sweep *s, uint32_t slot)
{
    return s->slot + (size_t)slot * s->p->slot_width;
}

static void make_ready(struct sweep *s, uint32_t gang)
{
    if (!s->queued[gang]) {
        s->queued[gang] = true;
        s->ready[s->n_ready++] = gang;
    }
}

/* Something happened at a slot: a gang that waits for it may run again. */
static void wake(struct sweep *s, uint32_t gang, uint32_t slot)
{
    if (s->runner[gang].waiting == slot) {
        s->runner[gang].waiting = TY_NO_SLOT;
        make_ready(s, gang);
    }
}

/* The members of a gang are at a meeting. */
static void arrive(const struct sweep *s, const struct ty_meet *m, ty_ps *row, ty_ps *ready,
                   uint32_t n)
{
    const struct ty_group group = ty_meet_group(s->p, m, n);
    ty_row_combine(ready, &group, n);
    ty_row_later(row, ready, m->n_members > 0 ? 1 : n);
}

/* All are: where all combine, one time is that of everyone. */
static void begin_together(const struct ty_meet *m, ty_ps *start, const ty_ps *row, uint32_t n)
{
    if (m->n_members == 0) {
        memcpy(start, row, n * sizeof(*start));
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        start[i] = row[0];
    }
}

/* Brings a gang to a meeting; true when all are there and start[] holds the common start. */
static bool meet(struct sweep *s, struct runner *r, const struct ty_pass *pass,
                 const struct ty_op *op, ty_ps *start)
{
    const struct ty_meet *m = &s->p->meets[op->link];
    const uint32_t slot = ty_op_slot(s->p, pass, op), n = r->rows.n;
    ty_ps *row = slot_row(s, slot);
    if (!r->met) {
        ty_rows_ready(&r->rows, op, start);
        arrive(s, m, row, start, n);
        r->met = true;
        assert(s->arrived[slot] < m->n_gangs);
        s->arrived[slot]++;
        for (uint32_t g = 0; g < s->p->n_gangs && s->arrived[slot] == m->n_gangs; g++) {
            wake(s, g, slot);
        }
    }
    if (s->arrived[slot] < m->n_gangs || ty_is_barred(s->barred, slot, TY_BAR_MEET)) {
        r->waiting = slot;
        return false;
    }
    r->met = false;
    begin_together(m, start, row, n);
    return true;
}

/* Messages have arrived at times of a slot: one for each member, or several. */
static void receive(const struct sweep *s, uint32_t slot, const struct ty_op *op, ty_ps *start,
                    uint32_t n)
{
    assert(slot < s->p->n_slots);
    const uint32_t share = ty_channel_share(s->p, &s->p->channels[op->link], n);
    const ty_ps *row = slot_row(s, slot);
    if (share == 1) {
        ty_row_later(start, row, n);
        return;
    }
    for (uint32_t i = 0; i < n * share; i++) {
        start[i / share] = ty_later(start[i / share], row[i]);
    }
}

/* Start times of one operation; false when the gang has to wait. */
static bool start_op(struct sweep *s, struct runner *r, const struct ty_pass *pass,
                     const struct ty_op *op, ty_ps *start)
{
    switch ((enum ty_sync)op->sync) {
    case TY_SYNC_LOCAL:
        ty_rows_ready(&r->rows, op, start);
        return true;
    case TY_SYNC_SEND:
        ty_rows_ready(&r->rows, op, start);
        return !ty_is_barred(s->barred, ty_op_slot(s->p, pass, op), TY_BAR_SEND);
    case TY_SYNC_GROUP:
        ty_rows_ready(&r->rows, op, start);
        ty_row_combine(start, &s->p->groups[op->link], r->rows.n);
        return true;
    case TY_SYNC_RECV: {
        const uint32_t slot = ty_op_slot(s->p, pass, op);
        if (s->arrived[slot] == 0 || ty_is_barred(s->barred, slot, TY_BAR_RECV)) {
            r->waiting = slot;
            return false;
        }
        ty_rows_ready(&r->rows, op, start);
        receive(s, slot, op, start, r->rows.n);
        return true;
    }
    case TY_SYNC_MEET:
        return meet(s, r, pass, op, start);
    }
    return false;
}

/* The message of a finished send is on its way. */
static void post(struct sweep *s, const struct runner *r, uint32_t slot, const struct ty_op *op)
{
    const struct ty_channel *c = &s->p->channels[op->link];
    const ty_ps *sent = ty_rows_lane(&r->rows, op->lane);
    const uint32_t share = ty_channel_share(s->p, c, r->rows.n);
    ty_ps *row = slot_row(s, slot);
    if (share == 1) {
        for (uint32_t i = 0; i < r->rows.n; i++) {
            row[i] = sent[i] + c->delay;
        }
        return;
    }
    assert(r->rows.n * share <= s->p->slot_width);
    for (uint32_t i = 0; i < r->rows.n * share; i++) {
        row[i] = sent[i / share] + c->delay;
    }
}

/* Durations under jitter, into the timeline's own column. */
static const ty_ps *jittered(struct sweep *s, struct runner *r, const struct ty_gang *gang,
                             uint32_t pass, const struct ty_op *op, uint64_t row)
{
    const struct ty_kind *kind = &s->p->kinds[op->kind];
    ty_ps *dur = s->timeline->dur + row;
    const bool compute = op->stream == TY_STREAM_COMPUTE;
    assert(row + gang->n_ranks <= s->p->n_tasks);
    if (compute && (r->factor_pass != pass || r->factor_layer != op->layer)) {
        ty_program_factors(s->p, gang, pass, op->layer, r->factor);
        r->factor_pass = pass;
        r->factor_layer = op->layer;
    }
    for (uint32_t i = 0; i < gang->n_ranks; i++) {
        const ty_ps nominal = ty_kind_duration(kind, i);
        dur[i] = compute ? ty_jittered(nominal, r->factor[i]) : nominal;
    }
    return dur;
}

/* Runs a gang as far as it goes. */
static void run(struct sweep *s, uint32_t g)
{
    const struct ty_gang *gang = &s->p->gangs[g];
    struct runner *r = &s->runner[g];
    const bool jitters = r->factor != NULL;
    for (; r->pass < gang->n_passes && !ty_progress_ends(&s->timeline->progress);
         r->pass++, r->op = 0) {
        const struct ty_pass *pass = &ty_gang_passes(s->p, gang)[r->pass];
        const uint32_t n_ops = s->p->blocks[pass->block].n_ops;
        const struct ty_op *ops = ty_pass_ops(s->p, pass);
        for (; r->op < n_ops; r->op++) {
            const struct ty_op *op = &ops[r->op];
            const uint64_t row =
                gang->first_task + (uint64_t)(pass->first_op + r->op) * gang->n_ranks;
            ty_ps *start = s->timeline->start + row;
            if (!start_op(s, r, pass, op, start)) {
                return;
            }
            const struct ty_kind *kind = &s->p->kinds[op->kind];
            const ty_ps *dur_of = jitters ? jittered(s, r, gang, r->pass, op, row) : kind->dur_of;
            ty_rows_finish(&r->rows, op, start, kind->dur, dur_of);
            if (op->sync == TY_SYNC_SEND) {
                const uint32_t slot = ty_op_slot(s->p, pass, op);
                post(s, r, slot, op);
                s->arrived[slot] = 1;
                wake(s, s->p->channels[op->link].to, slot);
            }
        }
    }
}

/* ---- streams apart ---- */

/* start[i] = when member i could start the operation, partners aside. */
static void ready_after(const struct sweep *s, const struct runner *r, const struct ty_gang *gang,
                        const struct ty_turn *turn, ty_ps *start)
{
    const uint32_t n = r->rows.n;
    assert(turn->n_after <= TY_WAITS);
    memcpy(start, ty_rows_lane(&r->rows, turn->op->lane), n * sizeof(*start));
    for (uint32_t w = 0; w < turn->n_after; w++) {
        const ty_ps *from = ty_timeline_starts(s->timeline, gang, turn->after_ordinal[w]);
        for (uint32_t i = 0; i < n; i++) {
            start[i] =
                ty_later(start[i], from[i] + ty_timeline_dur(s->timeline, gang, turn->after[w],
                                                             turn->after_ordinal[w], i));
        }
    }
}

/* Start times of an operation whose turn has come. */
static void start_turn(const struct sweep *s, const struct runner *r, const struct ty_gang *gang,
                       const struct ty_turn *turn, ty_ps *start)
{
    const struct ty_op *op = turn->op;
    const struct ty_pass *pass = &ty_gang_passes(s->p, gang)[turn->pass];
    const uint32_t n = r->rows.n;
    if (op->sync == TY_SYNC_MEET && !turn->arrives) {
        begin_together(&s->p->meets[op->link], start, slot_row(s, ty_op_slot(s->p, pass, op)), n);
        return;
    }
    ready_after(s, r, gang, turn, start);
    if (op->sync == TY_SYNC_GROUP) {
        ty_row_combine(start, &s->p->groups[op->link], n);
    } else if (op->sync == TY_SYNC_RECV) {
        receive(s, ty_op_slot(s->p, pass, op), op, start, n);
    } else if (op->sync == TY_SYNC_MEET) {
        arrive(s, &s->p->meets[op->link], slot_row(s, ty_op_slot(s->p, pass, op)), start, n);
    }
}

static void tell(const struct sweep *s)
{
    const struct ty_progress *progress = &s->timeline->progress;
    if (progress->tell != NULL) {
        progress->tell(progress->arg, (double)s->n_done / s->p->n_passes);
    }
}

static void take_turn(void *arg, const struct ty_turn *turn)
{
    struct sweep *s = arg;
    if (ty_progress_ends(&s->timeline->progress)) {
        return;
    }
    const struct ty_gang *gang = &s->p->gangs[turn->gang];
    struct runner *r = &s->runner[turn->gang];
    const struct ty_op *op = turn->op;
    const struct ty_kind *kind = &s->p->kinds[op->kind];
    const uint64_t row = gang->first_task + turn->ordinal * gang->n_ranks;
    ty_ps *start = s->timeline->start + row;
    assert(turn->ordinal < gang->n_ops);
    start_turn(s, r, gang, turn, start);
    if (turn->arrives) {
        return;
    }
    ty_rows_finish(&r->rows, op, start, kind->dur,
                   r->factor != NULL ? jittered(s, r, gang, turn->pass, op, row) : kind->dur_of);
    if (op->sync == TY_SYNC_SEND) {
        post(s, r, ty_op_slot(s->p, &ty_gang_passes(s->p, gang)[turn->pass], op), op);
    }
    if (turn->pass > r->pass) {
        s->n_done += turn->pass - r->pass;
        r->pass = turn->pass;
        tell(s);
    }
}

/* Goes on from where gangs stand, stream by stream. 0, TY_EDEADLOCK or TY_ENOMEM. */
static int go_round(struct sweep *s, struct ty_arena *arena)
{
    const struct ty_program *p = s->p;
    struct ty_stop *stop = ty_arena_array(arena, struct ty_stop, (size_t)p->n_gangs + 1);
    bool *met = ty_arena_array(arena, bool, (size_t)p->n_gangs + 1);
    struct ty_fronts fronts = {
        .p = p, .barred = s->barred, .arrived = s->arrived, .turn = take_turn, .arg = s};
    for (uint32_t g = 0; stop != NULL && met != NULL && g < p->n_gangs; g++) {
        stop[g] = (struct ty_stop){.pass = s->runner[g].pass, .op = s->runner[g].op};
        met[g] = s->runner[g].met;
    }
    if (stop == NULL || met == NULL || ty_fronts_run(&fronts, stop, met, arena) < 0) {
        return TY_ENOMEM;
    }
    int rc = 0;
    for (uint32_t i = 0; i < p->n_gangs * p->n_lanes; i++) {
        rc = ty_front_is_over(p, i, &fronts.front[i].at) ? rc : TY_EDEADLOCK;
    }
    return rc;
}

/* ---- the whole ---- */

static int prepare(struct sweep *s, struct ty_arena *arena)
{
    const struct ty_program *p = s->p;
    s->runner = ty_arena_array(arena, struct runner, p->n_gangs);
    s->slot = ty_arena_array(arena, ty_ps, (size_t)p->n_slots * p->slot_width);
    s->arrived = ty_arena_array(arena, uint32_t, p->n_slots);
    s->ready = ty_arena_array(arena, uint32_t, p->n_gangs);
    s->queued = ty_arena_array(arena, bool, p->n_gangs);
    if (s->runner == NULL || s->slot == NULL || s->arrived == NULL || s->ready == NULL ||
        s->queued == NULL) {
        return TY_ENOMEM;
    }
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        struct runner *r = &s->runner[g];
        const size_t n = p->gangs[g].n_ranks;
        *r = (struct runner){.waiting = TY_NO_SLOT, .factor_pass = UINT32_MAX};
        r->rows.n = (uint32_t)n;
        r->rows.lane = ty_arena_array(arena, ty_ps, p->n_lanes * n);
        r->rows.event = ty_arena_array(arena, ty_ps, (TY_EVENTS + 1) * n);
        r->factor = ty_program_varies(p) ? ty_arena_array(arena, double, n) : NULL;
        if (r->rows.lane == NULL || r->rows.event == NULL ||
            (ty_program_varies(p) && r->factor == NULL)) {
            return TY_ENOMEM;
        }
    }
    return 0;
}

/* True when all gangs are at their end. */
static bool finished(const struct sweep *s)
{
    bool all = true;
    for (uint32_t g = 0; g < s->p->n_gangs; g++) {
        all = all && s->runner[g].pass >= s->p->gangs[g].n_passes;
    }
    return all;
}

static int execute(struct sweep *s, struct ty_arena *arena, struct ty_err *err)
{
    const struct ty_program *p = s->p;
    if (prepare(s, arena) < 0) {
        return ty_fail_memory(err);
    }
    for (uint32_t g = p->n_gangs; g > 0; g--) {
        make_ready(s, g - 1);
    }
    while (s->n_ready > 0) {
        const uint32_t g = s->ready[--s->n_ready], before = s->runner[g].pass;
        s->queued[g] = false;
        run(s, g);
        s->n_done += s->runner[g].pass - before;
        tell(s);
    }
    const int rc = finished(s) ? 0 : go_round(s, arena);
    if (ty_progress_ends(&s->timeline->progress)) {
        return ty_progress_stopped(err);
    }
    if (rc < 0) {
        return rc == TY_EDEADLOCK ? ty_deadlock_report(s->timeline, err) : ty_fail_memory(err);
    }
    ty_ps makespan = 0;
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        const struct ty_rows *rows = &s->runner[g].rows;
        for (size_t i = 0; i < (size_t)p->n_lanes * rows->n; i++) {
            makespan = ty_later(makespan, rows->lane[i]);
        }
    }
    s->timeline->makespan = makespan;
    TY_DEBUG_CHECK(ty_timeline_is_ordered(s->timeline));
    return 0;
}

int ty_sweep(struct ty_timeline *timeline, struct ty_err *err)
{
    struct sweep s = {.timeline = timeline,
                      .p = timeline->program,
                      .barred = ty_mismatch_bars(timeline->mismatch)};
    struct ty_arena arena = {.head = NULL};
    const int rc = execute(&s, &arena, err);
    ty_arena_release(&arena);
    return rc;
}
