/* random_program.c - see random_program.h.
 *
 * Actions are drawn in one global order and appended to the gangs they concern: a local operation,
 * a group collective, a meeting of all gangs, the sending of a message, or the receiving of one
 * that was sent before. Every gang then issues its actions in that order, so no cycle can arise. */
#include "tests/common/random_program.h"

#include <string.h>

#include "sim/base/noise.h"

#define MAX_GANGS   4u
#define MAX_ACTIONS 160u

struct dice {
    uint64_t seed, n;
};

static uint32_t roll(struct dice *d, uint32_t below)
{
    return (uint32_t)(ty_hash4(d->seed, d->n++, 0, 0) % below);
}

struct maker {
    struct ty_builder b;
    struct dice dice;
    uint32_t n_gangs, members;
    struct ty_op list[MAX_GANGS][MAX_ACTIONS * 2];
    uint32_t n[MAX_GANGS];
    uint16_t pending[MAX_ACTIONS]; /* channels sent on and not yet received from */
    uint32_t n_pending;
};

static uint16_t make_kind(struct maker *m, uint8_t category)
{
    struct ty_kind kind = {.name = "work", .category = category, .dur = roll(&m->dice, 50)};
    if (roll(&m->dice, 4) == 0) {
        ty_ps *dur = ty_arena_array(m->b.arena, ty_ps, m->members);
        for (uint32_t i = 0; i < m->members; i++) {
            dur[i] = roll(&m->dice, 50);
        }
        kind.dur_of = dur;
    }
    return (uint16_t)ty_build_kind(&m->b, &kind);
}

/* Event e belongs to stream e % streams, so that it is recorded on one stream only. */
static void wire(struct maker *m, struct ty_op *op)
{
    const uint32_t waits = roll(&m->dice, TY_WAITS + 1);
    for (uint32_t w = 0; w < waits; w++) {
        op->wait[w] = (uint8_t)roll(&m->dice, TY_EVENTS);
    }
    if (roll(&m->dice, 3) != 0) {
        op->record = (uint8_t)(op->stream + TY_N_STREAMS * roll(&m->dice, 4));
    }
}

static void append(struct maker *m, uint32_t gang, const struct ty_op *op)
{
    m->list[gang][m->n[gang]++] = *op;
}

static void act(struct maker *m)
{
    static const uint8_t category[TY_N_STREAMS] = {TY_CAT_FORWARD, TY_CAT_COMM_TENSOR,
                                                   TY_CAT_COMM_DATA, TY_CAT_COMM_PIPELINE,
                                                   TY_CAT_COMM_PIPELINE};
    const uint32_t gang = roll(&m->dice, m->n_gangs), what = roll(&m->dice, 10);
    struct ty_op op = TY_OP_INIT;
    op.stream = (uint8_t)roll(&m->dice, 3);
    op.layer = (uint16_t)roll(&m->dice, 3);
    if (what == 0) { /* meeting of all gangs */
        op.stream = TY_STREAM_DATA;
        op.sync = TY_SYNC_MEET;
        op.link = (uint16_t)ty_build_meet(
            &m->b, &(struct ty_meet){.name = "meeting",
                                     .group = roll(&m->dice, 2) ? 1 : TY_NONE,
                                     .n_gangs = m->n_gangs});
        for (uint32_t g = 0; g < m->n_gangs; g++) {
            op.kind = make_kind(m, TY_CAT_COMM_DATA);
            wire(m, &op);
            append(m, g, &op);
        }
        return;
    }
    if (what <= 2) {
        const uint32_t to = roll(&m->dice, m->n_gangs);
        op.stream = TY_STREAM_SEND;
        op.sync = TY_SYNC_SEND;
        op.link = (uint16_t)ty_build_channel(
            &m->b, &(struct ty_channel){"message", gang, to, 1, roll(&m->dice, 30), 0});
        m->pending[m->n_pending++] = op.link;
    } else if (what <= 4 && m->n_pending > 0) {
        const uint32_t pick = roll(&m->dice, m->n_pending);
        op.stream = TY_STREAM_RECV;
        op.sync = TY_SYNC_RECV;
        op.link = m->pending[pick];
        m->pending[pick] = m->pending[--m->n_pending];
        op.kind = make_kind(m, TY_CAT_COMM_PIPELINE);
        wire(m, &op);
        append(m, m->b.program->channels[op.link].to, &op);
        return;
    } else if (what <= 6) {
        op.sync = TY_SYNC_GROUP;
        op.link = (uint16_t)roll(&m->dice, 3);
    }
    op.kind = make_kind(m, category[op.stream]);
    wire(m, &op);
    append(m, gang, &op);
}

/* Cuts a gang's operations into passes; some local ones are repeated, to share blocks. */
static void cut(struct maker *m, uint32_t gang)
{
    uint32_t at = 0;
    while (at < m->n[gang]) {
        const int block = ty_build_block(&m->b, &(struct ty_block){.n_ops = 0});
        uint32_t len = 1 + roll(&m->dice, 6);
        bool repeatable = true;
        for (; len > 0 && at < m->n[gang]; len--, at++) {
            const struct ty_op *op = &m->list[gang][at];
            repeatable = repeatable && op->sync <= TY_SYNC_GROUP;
            ty_build_op(&m->b, op);
        }
        const uint32_t times = repeatable ? 1 + roll(&m->dice, 3) : 1;
        for (uint32_t i = 0; i < times; i++) {
            ty_build_pass(&m->b, &(struct ty_pass){.block = (uint32_t)block});
        }
    }
}

/* Ranks that are slow for the whole run. */
static const double *some_slow(uint32_t n_ranks, struct dice *dice, struct ty_arena *arena)
{
    double *slow = ty_arena_array(arena, double, n_ranks);
    for (uint32_t r = 0; r < n_ranks; r++) {
        slow[r] = roll(dice, 4) == 0 ? 1.25 : 1;
    }
    return slow;
}

int random_program(struct ty_program *program, uint64_t seed, struct ty_arena *arena,
                   struct ty_err *err)
{
    static struct maker m;
    memset(&m, 0, sizeof(m));
    m.b = (struct ty_builder){.program = program, .arena = arena, .err = err};
    m.dice.seed = seed;
    *program = (struct ty_program){.n_steps = 1};
    m.n_gangs = 1 + roll(&m.dice, MAX_GANGS);
    m.members = 4u << roll(&m.dice, 2);
    ty_build_group(&m.b, &(struct ty_group){"pairs", 1, 2});
    ty_build_group(&m.b, &(struct ty_group){"strided", 2, 2});
    ty_build_group(&m.b, &(struct ty_group){"fours", 1, 4});
    const uint32_t actions = 20 + roll(&m.dice, MAX_ACTIONS - 20);
    for (uint32_t i = 0; i < actions; i++) {
        act(&m);
    }
    for (uint32_t g = 0; g < m.n_gangs; g++) {
        uint32_t *ranks = ty_arena_array(arena, uint32_t, m.members);
        for (uint32_t i = 0; i < m.members; i++) {
            ranks[i] = i * m.n_gangs + g;
        }
        ty_build_gang(&m.b,
                      &(struct ty_gang){.name = "gang", .n_ranks = m.members, .rank_of = ranks});
        cut(&m, g);
    }
    if (seed % 3 == 0) {
        program->jitter = (struct ty_jitter){.seed = seed, .cv = 0.3, .spread = 0.1, .group = 0};
    }
    if (seed % 4 == 1) {
        program->slow_of = some_slow(m.members * m.n_gangs, &m.dice, arena);
    }
    return m.b.code < 0 ? m.b.code : ty_program_seal(program, arena, err);
}
