/* fronts.c - advances each stream of a gang as far as it gets by itself.
 *
 * An operation waits for events as last recorded before it in issue order. While streams run ahead
 * of each other an event may have been recorded again by then, or not often enough; so what is
 * waited for is the very operation that records it. It is the last one before in the same block,
 * or else the last one of an earlier pass, which each front keeps as it walks past all passes. An
 * event is recorded on one stream only, which executes in order: that operation has been executed
 * when the front of its stream has passed it. */
#include "sim/core/deadlock/fronts.h"

#include <string.h>

#include "sim/core/deadlock/mismatch.h"

#define NO_OP UINT32_MAX

/* Who records what, block by block. */
struct recorders {
    uint32_t *within; /* [n_ops][TY_WAITS]: last of the block before the operation, or NO_OP */
    uint32_t *last;   /* [n_blocks][TY_EVENTS]: last of the block, or NO_OP */
    uint32_t *events; /* [n_blocks]: bits, of those with one */
    uint32_t *lanes;  /* [n_blocks]: bits */
};
_Static_assert(TY_EVENTS <= 32 && TY_MAX_STREAMS <= 32, "a bit for each");

struct walk {
    struct ty_fronts *f;
    struct recorders by;
    bool *queued;    /* [fronts] on the stack */
    uint32_t *ready; /* [fronts] stack of those that may be able to move */
    uint32_t n_ready;
};

static void index_block(struct recorders *by, const struct ty_program *p, uint32_t b)
{
    const struct ty_block *block = &p->blocks[b];
    uint32_t *last = by->last + (size_t)b * TY_EVENTS;
    memset(last, 0xff, TY_EVENTS * sizeof(*last)); /* NO_OP */
    for (uint32_t k = 0; k < block->n_ops; k++) {
        const struct ty_op *op = &p->ops[block->first + k];
        for (uint32_t w = 0; w < TY_WAITS && op->wait[w] != TY_NO_EVENT; w++) {
            by->within[(size_t)(block->first + k) * TY_WAITS + w] = last[op->wait[w]];
        }
        if (op->record != TY_NO_EVENT) {
            last[op->record] = k;
            by->events[b] |= UINT32_C(1) << op->record;
        }
        by->lanes[b] |= UINT32_C(1) << op->lane;
    }
}

static int index_blocks(struct recorders *by, const struct ty_program *p, struct ty_arena *arena)
{
    by->within = ty_arena_array(arena, uint32_t, (size_t)p->n_ops * TY_WAITS + 1);
    by->last = ty_arena_array(arena, uint32_t, (size_t)p->n_blocks * TY_EVENTS + 1);
    by->events = ty_arena_array(arena, uint32_t, (size_t)p->n_blocks + 1);
    by->lanes = ty_arena_array(arena, uint32_t, (size_t)p->n_blocks + 1);
    if (by->within == NULL || by->last == NULL || by->events == NULL || by->lanes == NULL) {
        return TY_ENOMEM;
    }
    for (uint32_t b = 0; b < p->n_blocks; b++) {
        index_block(by, p, b);
    }
    return 0;
}

static const struct ty_pass *pass_of(const struct walk *w, uint32_t front, uint32_t pass)
{
    assert(pass < w->f->p->gangs[front / w->f->p->n_lanes].n_passes);
    return &ty_gang_passes(w->f->p, &w->f->p->gangs[front / w->f->p->n_lanes])[pass];
}

/* Notes what a pass records, as the front leaves it behind. */
static void leave_pass(const struct walk *w, struct ty_front *front, uint32_t block)
{
    for (uint32_t e = 0, left = w->by.events[block]; left != 0; e++, left >>= 1) {
        if ((left & 1) != 0) {
            front->last[e] = front->at.pass + 1;
        }
    }
    front->at = (struct ty_stop){.pass = front->at.pass + 1};
}

/* Moves a front to the next operation of its stream, from `at` on. */
static void settle(const struct walk *w, uint32_t i)
{
    const struct ty_program *p = w->f->p;
    const uint32_t lane = i % p->n_lanes;
    struct ty_front *front = &w->f->front[i];
    while (!ty_front_is_over(p, i, &front->at)) {
        const struct ty_pass *pass = pass_of(w, i, front->at.pass);
        const struct ty_op *ops = ty_pass_ops(p, pass);
        const bool any = (w->by.lanes[pass->block] >> lane & 1) != 0;
        for (; any && front->at.op < p->blocks[pass->block].n_ops; front->at.op++) {
            if (ops[front->at.op].lane == lane) {
                return;
            }
        }
        leave_pass(w, front, pass->block);
    }
}

static void make_ready(struct walk *w, uint32_t i)
{
    if (!w->queued[i]) {
        w->queued[i] = true;
        w->ready[w->n_ready++] = i;
    }
}

/* Something happened at a slot: a front that waits for it may move again. */
static void wake(struct walk *w, uint32_t i, uint32_t slot)
{
    if (w->f->front[i].slot == slot) {
        make_ready(w, i);
    }
}

/* Finds who records the events that the operation at a front waits for; false when one of them has
 * still to be executed: then the front stands behind its stream. */
static bool find_after(const struct walk *w, uint32_t i, struct ty_turn *turn)
{
    const struct ty_program *p = w->f->p;
    const uint32_t own = i - i % p->n_lanes;
    struct ty_front *front = &w->f->front[i];
    const size_t row = (size_t)(turn->op - p->ops) * TY_WAITS;
    turn->n_after = 0;
    for (uint32_t k = 0; k < TY_WAITS && turn->op->wait[k] != TY_NO_EVENT; k++) {
        const uint8_t event = turn->op->wait[k];
        struct ty_stop by = {front->at.pass, w->by.within[row + k]};
        if (by.op == NO_OP && front->last[event] == 0) {
            continue; /* nobody has recorded it before */
        }
        if (by.op == NO_OP) {
            by.pass = front->last[event] - 1;
            by.op = w->by.last[(size_t)pass_of(w, i, by.pass)->block * TY_EVENTS + event];
        }
        const struct ty_pass *pass = pass_of(w, i, by.pass);
        const struct ty_op *op = &ty_pass_ops(p, pass)[by.op];
        const struct ty_stop *there = &w->f->front[own + op->lane].at;
        if (there->pass < by.pass || (there->pass == by.pass && there->op <= by.op)) {
            front->behind = op->lane;
            return false;
        }
        assert(op->record == event);
        turn->after[turn->n_after] = op;
        turn->after_ordinal[turn->n_after++] = (uint64_t)pass->first_op + by.op;
    }
    return true;
}

static void tell(const struct walk *w, const struct ty_turn *turn)
{
    if (w->f->turn != NULL) {
        w->f->turn(w->f->arg, turn);
    }
}

/* Brings a front to a meeting; true when all are there. */
static bool meet(struct walk *w, struct ty_front *front, struct ty_turn *turn, uint32_t slot)
{
    const struct ty_program *p = w->f->p;
    const uint32_t n_gangs = p->meets[turn->op->link].n_gangs;
    uint32_t *arrived = &w->f->arrived[slot];
    if (!front->met) {
        front->met = true;
        turn->arrives = true;
        tell(w, turn);
        turn->arrives = false;
        assert(*arrived < n_gangs);
        ++*arrived;
        for (uint32_t i = 0; i < p->n_gangs * p->n_lanes && *arrived == n_gangs; i++) {
            wake(w, i, slot);
        }
    }
    return *arrived >= n_gangs && !ty_is_barred(w->f->barred, slot, TY_BAR_MEET);
}

/* Whether the partners of the operation at a front are there. */
static bool partners_ready(struct walk *w, uint32_t i, struct ty_turn *turn)
{
    struct ty_front *front = &w->f->front[i];
    if (turn->op->sync == TY_SYNC_LOCAL || turn->op->sync == TY_SYNC_GROUP) {
        return true;
    }
    const uint32_t slot = ty_op_slot(w->f->p, pass_of(w, i, turn->pass), turn->op);
    const bool ready =
        turn->op->sync == TY_SYNC_MEET ? meet(w, front, turn, slot)
        : turn->op->sync == TY_SYNC_RECV
            ? w->f->arrived[slot] > 0 && !ty_is_barred(w->f->barred, slot, TY_BAR_RECV)
            : !ty_is_barred(w->f->barred, slot, TY_BAR_SEND);
    front->slot = ready ? TY_NO_SLOT : slot;
    return ready;
}

/* The message of a send that was executed. */
static void post(struct walk *w, uint32_t i, const struct ty_turn *turn)
{
    const struct ty_program *p = w->f->p;
    const uint32_t slot = ty_op_slot(p, pass_of(w, i, turn->pass), turn->op);
    assert(w->f->arrived[slot] == 0); /* it was sent once */
    w->f->arrived[slot] = 1;
    wake(w, p->channels[turn->op->link].to * p->n_lanes + p->receive_lane, slot);
}

/* Executes the operation at a front; false when it has to wait. */
static bool step(struct walk *w, uint32_t i)
{
    struct ty_front *front = &w->f->front[i];
    const struct ty_pass *pass = pass_of(w, i, front->at.pass);
    struct ty_turn turn = {.gang = i / w->f->p->n_lanes,
                           .pass = front->at.pass,
                           .op = &ty_pass_ops(w->f->p, pass)[front->at.op],
                           .ordinal = (uint64_t)pass->first_op + front->at.op};
    if (!find_after(w, i, &turn) || !partners_ready(w, i, &turn)) {
        return false;
    }
    tell(w, &turn);
    front->met = false;
    assert(turn.op->lane == i % w->f->p->n_lanes);
    front->at.op++;
    settle(w, i);
    if (turn.op->sync == TY_SYNC_SEND) {
        post(w, i, &turn);
    }
    return true;
}

/* Moves one front as far as it goes, and has those looked at that stood behind it. */
static void advance(struct walk *w, uint32_t i)
{
    struct ty_front *front = &w->f->front[i];
    const uint32_t n_lanes = w->f->p->n_lanes, lane = i % n_lanes, own = i - lane;
    bool moved = false;
    front->slot = TY_NO_SLOT;
    front->behind = TY_IN_NO_LANE;
    while (!ty_front_is_over(w->f->p, i, &front->at) && step(w, i)) {
        moved = true;
    }
    for (uint32_t k = own; moved && k < own + n_lanes; k++) {
        if (w->f->front[k].behind == lane) {
            make_ready(w, k);
        }
    }
}

/* The fronts of a gang that executed what it issued before `stop`. */
static void place(const struct walk *w, uint32_t gang, struct ty_stop stop, bool met)
{
    const struct ty_program *p = w->f->p;
    struct ty_front first = {.slot = TY_NO_SLOT, .behind = TY_IN_NO_LANE};
    while (first.at.pass < stop.pass) {
        leave_pass(w, &first, pass_of(w, gang * p->n_lanes, first.at.pass)->block);
    }
    first.at = stop;
    for (uint32_t s = 0; s < p->n_lanes; s++) {
        const uint32_t i = gang * p->n_lanes + s;
        struct ty_front *front = &w->f->front[i];
        *front = first;
        settle(w, i);
        front->met = met && !ty_front_is_over(p, i, &front->at) && front->at.pass == stop.pass &&
                     front->at.op == stop.op;
    }
}

int ty_fronts_run(struct ty_fronts *f, const struct ty_stop *stop, const bool *met,
                  struct ty_arena *arena)
{
    const size_t n = (size_t)f->p->n_gangs * f->p->n_lanes;
    struct walk w = {.f = f};
    f->front = ty_arena_array(arena, struct ty_front, n + 1);
    w.queued = ty_arena_array(arena, bool, n + 1);
    w.ready = ty_arena_array(arena, uint32_t, n + 1);
    if (f->front == NULL || w.queued == NULL || w.ready == NULL ||
        index_blocks(&w.by, f->p, arena) < 0) {
        return TY_ENOMEM;
    }
    for (uint32_t g = 0; g < f->p->n_gangs; g++) {
        place(&w, g, stop[g], met[g]);
    }
    for (size_t i = n; i > 0; i--) {
        make_ready(&w, (uint32_t)i - 1);
    }
    while (w.n_ready > 0) {
        const uint32_t i = w.ready[--w.n_ready];
        w.queued[i] = false;
        advance(&w, i);
    }
    return 0;
}
