/* oracle.c - see oracle.h. */
#include "model/vocabulary.h"
#include "tests/common/oracle.h"

#include <string.h>

static uint32_t seq_of(const struct oracle_op *x)
{
    return x->op->second ? x->pass->seq2 : x->pass->seq;
}

/* ---- what needs what ---- */

static void list_ops(struct oracle *o, struct ty_arena *arena)
{
    const struct ty_program *p = o->p;
    o->first = ty_arena_array(arena, uint32_t, (size_t)p->n_gangs + 1);
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        for (uint32_t i = 0; i < p->gangs[g].n_passes; i++) {
            o->n_ops += p->blocks[p->passes[p->gangs[g].first_pass + i].block].n_ops;
        }
        o->first[g + 1] = o->n_ops;
    }
    o->ops = ty_arena_array(arena, struct oracle_op, (size_t)o->n_ops + 1);
    struct oracle_op *x = o->ops;
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        for (uint32_t i = 0; i < p->gangs[g].n_passes; i++) {
            const struct ty_pass *pass = &p->passes[p->gangs[g].first_pass + i];
            for (uint32_t k = 0; k < p->blocks[pass->block].n_ops; k++, x++) {
                *x = (struct oracle_op){.pass = pass,
                                        .op = &p->ops[p->blocks[pass->block].first + k],
                                        .gang = g,
                                        .number = (uint32_t)(x - o->ops) - o->first[g],
                                        .sender = ORACLE_NONE};
                x->start = ty_arena_array(arena, ty_ps, p->gangs[g].n_ranks);
                x->end = ty_arena_array(arena, ty_ps, p->gangs[g].n_ranks);
            }
        }
    }
}

/* The operation before it on its stream, and those that last recorded the events it waits for. */
static void find_needs(struct oracle *o, struct oracle_op *x)
{
    for (int w = -1; w < (int)TY_WAITS; w++) {
        for (const struct oracle_op *y = x; y > o->ops + o->first[x->gang];) {
            y--;
            if (w < 0 ? y->op->stream == x->op->stream
                      : x->op->wait[w] != TY_NO_EVENT && y->op->record == x->op->wait[w]) {
                x->need[x->n_need++] = y->number;
                break;
            }
        }
    }
    for (uint32_t i = 0; x->op->sync == TY_SYNC_RECV && i < o->n_ops; i++) {
        const struct oracle_op *y = &o->ops[i];
        if (y->op->sync == TY_SYNC_SEND && y->op->link == x->op->link && seq_of(y) == seq_of(x)) {
            x->sender = i;
        }
    }
}

/* Whether messages go between the same gangs under one name. */
static bool is_same_comm(const struct oracle *o, const struct oracle_op *x,
                         const struct oracle_op *y)
{
    const struct ty_channel *a = &o->p->channels[x->op->link], *b = &o->p->channels[y->op->link];
    return a->from == b->from && a->to == b->to && strcmp(a->name, b->name) == 0;
}

/* The receive of a message that is sent, or ORACLE_NONE. */
static uint32_t receiver_of(const struct oracle *o, uint32_t send)
{
    for (uint32_t i = 0; i < o->n_ops; i++) {
        if (o->ops[i].op->sync == TY_SYNC_RECV && o->ops[i].sender == send) {
            return i;
        }
    }
    return ORACLE_NONE;
}

/* Whether the k-th receive is of another message than the k-th send, or of another size, where
 * receives of what is never sent do not count. */
static bool is_out_of_order(const struct oracle *o, const struct oracle_op *x)
{
    uint32_t k = 0;
    if (x->sender == ORACLE_NONE) {
        return false;
    }
    for (const struct oracle_op *y = o->ops + o->first[x->gang]; y < x; y++) {
        k += y->op->sync == TY_SYNC_RECV && y->sender != ORACLE_NONE && is_same_comm(o, x, y);
    }
    const uint32_t from = o->ops[x->sender].gang;
    for (uint32_t i = o->first[from]; i < o->first[from + 1]; i++) {
        const struct oracle_op *y = &o->ops[i];
        if (y->op->sync != TY_SYNC_SEND || !is_same_comm(o, x, y)) {
            continue;
        }
        if (receiver_of(o, i) == ORACLE_NONE) {
            return false; /* that is where they disagree */
        }
        if (k-- == 0) {
            const double out = oracle_kind(o, y)->bytes, in = oracle_kind(o, x)->bytes;
            return i != x->sender || out < in || out > in;
        }
    }
    return false;
}

/* The k-th receive of a communicator, of those whose message is sent, or ORACLE_NONE. */
static uint32_t receive_number(const struct oracle *o, const struct oracle_op *x, uint32_t k)
{
    for (uint32_t i = 0; i < o->n_ops; i++) {
        const struct oracle_op *y = &o->ops[i];
        const bool one = y->op->sync == TY_SYNC_RECV && y->sender != ORACLE_NONE;
        if (one && is_same_comm(o, x, y) && k-- == 0) {
            return i;
        }
    }
    return ORACLE_NONE;
}

/* Whether nobody receives what is sent, and each of those before it was received in its turn: both
 * sides part here. */
static bool is_unreceived(const struct oracle *o, const struct oracle_op *x)
{
    uint32_t k = 0;
    for (uint32_t i = o->first[x->gang]; &o->ops[i] < x; i++) {
        const struct oracle_op *y = &o->ops[i];
        if (y->op->sync == TY_SYNC_SEND && is_same_comm(o, x, y)) {
            const uint32_t to = receiver_of(o, i);
            if (to == ORACLE_NONE || receive_number(o, x, k++) != to ||
                is_out_of_order(o, &o->ops[to])) {
                return false;
            }
        }
    }
    return receiver_of(o, (uint32_t)(x - o->ops)) == ORACLE_NONE;
}

static bool differ(const struct ty_kind *a, const struct ty_kind *b)
{
    return !oracle_same(a->name, b->name) || !oracle_same(a->group, b->group) ||
           a->ranks != b->ranks || a->bytes < b->bytes || a->bytes > b->bytes;
}

/* A meeting of which two members mean different things. */
static void refuse_meeting(struct oracle *o, struct oracle_op *x)
{
    for (uint32_t i = 0; i < o->n_ops; i++) {
        if (oracle_is_meeting(x, &o->ops[i]) &&
            differ(oracle_kind(o, x), oracle_kind(o, &o->ops[i]))) {
            x->refused = o->ops[i].refused = true;
        }
    }
}

static void refuse(struct oracle *o)
{
    for (uint32_t i = 0; i < o->n_ops; i++) {
        struct oracle_op *x = &o->ops[i];
        if (x->op->sync == TY_SYNC_MEET) {
            refuse_meeting(o, x);
        } else if (x->op->sync == TY_SYNC_SEND || x->op->sync == TY_SYNC_RECV) {
            x->refused = x->op->sync == TY_SYNC_SEND ? is_unreceived(o, x) : is_out_of_order(o, x);
        }
    }
}

/* ---- when ---- */

/* When one member could start, partners aside. */
static ty_ps ready_at(const struct oracle *o, const struct oracle_op *x, uint32_t member)
{
    ty_ps t = 0;
    for (uint32_t i = 0; i < x->n_need; i++) {
        t = oracle_later(t, o->ops[o->first[x->gang] + x->need[i]].end[member]);
    }
    if (x->op->sync == TY_SYNC_RECV) {
        t = oracle_later(t, o->ops[x->sender].end[member] + o->p->channels[x->op->link].delay);
    }
    return t;
}

/* Whether two members of a gang are in one group. */
static bool together(const struct oracle *o, uint32_t group, uint32_t a, uint32_t b)
{
    const struct ty_group *g = &o->p->groups[group];
    const uint32_t run = g->stride * g->count;
    return a / run == b / run && a % g->stride == b % g->stride;
}

/* When one member starts, given who is in it with whom. */
static ty_ps start_at(const struct oracle *o, const struct oracle_op *x, uint32_t member)
{
    const bool meets = x->op->sync == TY_SYNC_MEET;
    const uint32_t group = meets ? o->p->meets[x->op->link].group : x->op->link;
    ty_ps t = ready_at(o, x, member);
    if (!meets && x->op->sync != TY_SYNC_GROUP) {
        return t;
    }
    for (uint32_t i = 0; i < o->n_ops; i++) {
        const struct oracle_op *y = &o->ops[i];
        if (y != x && !oracle_is_meeting(x, y)) {
            continue;
        }
        for (uint32_t m = 0; m < o->p->gangs[y->gang].n_ranks; m++) {
            const bool with = m == member || (group != TY_NONE && together(o, group, member, m));
            t = with ? oracle_later(t, ready_at(o, y, m)) : t;
        }
    }
    return t;
}

static void run_op(const struct oracle *o, struct oracle_op *x, double *factor)
{
    const struct ty_gang *gang = &o->p->gangs[x->gang];
    const bool varies = ty_program_varies(o->p) && x->op->stream == TY_STREAM_COMPUTE;
    if (varies) {
        ty_program_factors(o->p, gang, (uint32_t)(x->pass - o->p->passes) - gang->first_pass,
                           x->op->layer, factor);
    }
    for (uint32_t m = 0; m < gang->n_ranks; m++) {
        const ty_ps dur = ty_kind_duration(oracle_kind(o, x), m);
        x->start[m] = start_at(o, x, m);
        x->end[m] = x->start[m] + (varies ? ty_jittered(dur, factor[m]) : dur);
    }
    x->done = true;
}

/* Whether an operation starts, now that some have ended. */
static bool can_start(struct oracle *o, struct oracle_op *x)
{
    uint32_t there = 0;
    if (x->done || !oracle_needs_done(o, x)) {
        return false;
    }
    if (x->op->sync != TY_SYNC_MEET) {
        return !x->refused && (x->op->sync != TY_SYNC_RECV ||
                               (x->sender != ORACLE_NONE && o->ops[x->sender].done));
    }
    x->arrived = true;
    for (uint32_t i = 0; i < o->n_ops; i++) {
        there += oracle_is_meeting(x, &o->ops[i]) && (o->ops[i].arrived || o->ops[i].done);
    }
    return !x->refused && there == o->p->meets[x->op->link].n_gangs;
}

static void run_all(struct oracle *o, struct ty_arena *arena)
{
    double *factor = ty_arena_array(arena, double, (size_t)o->p->slot_width + 1);
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t i = 0; i < o->n_ops; i++) {
            if (can_start(o, &o->ops[i])) {
                run_op(o, &o->ops[i], factor);
                moved = true;
            }
        }
    }
}

void oracle_make(struct oracle *o, const struct ty_program *p, bool matched, struct ty_arena *arena)
{
    *o = (struct oracle){.p = p};
    list_ops(o, arena);
    for (uint32_t i = 0; i < o->n_ops; i++) {
        find_needs(o, &o->ops[i]);
    }
    if (matched) {
        refuse(o);
    }
    run_all(o, arena);
    oracle_find_stands(o, arena);
}
