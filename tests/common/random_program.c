/* random_program.c - see random_program.h.
 *
 * Actions are drawn in one global order and appended to the gangs they concern: a local operation,
 * a group collective, a meeting of all gangs or some, the sending of a message, or the receiving of
 * one that was sent before; all on any stream, but for receives. Executed in that order nobody has
 * to wait for what comes later, so no cycle can arise.
 *
 * Then neighbours change places in the order of issue where they are on different streams and
 * neither waits for what the other records. That leaves what each waits for as it was, but brings
 * operations ahead, in the order of issue, of those that unblock them: a meeting before the send
 * without which a partner cannot come to it. A program that may halt is one in which some change
 * places, or are left out, without regard. */
#include "tests/common/random_program.h"

#include <string.h>

#include "model/vocabulary.h"
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
    uint16_t n_passes;
};

/* Streams of these programs, and what runs there. */
#define STREAMS 6u
static const uint8_t category_of[STREAMS] = {
    [TY_STREAM_COMPUTE] = TY_CAT_FORWARD,    [TY_STREAM_TENSOR] = TY_CAT_COMM_TENSOR,
    [TY_STREAM_DATA] = TY_CAT_COMM_DATA,     [TY_STREAM_SEND] = TY_CAT_COMM_PIPELINE,
    [TY_STREAM_RECV] = TY_CAT_COMM_PIPELINE, [TY_STREAM_REPLICA] = TY_CAT_COMM_DATA,
};

/* A stream for anything but receives. */
static uint8_t any_stream(struct maker *m)
{
    const uint8_t stream = (uint8_t)roll(&m->dice, STREAMS);
    return stream == TY_STREAM_RECV ? TY_STREAM_COMPUTE : stream;
}

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
        op->record = (uint8_t)(op->stream + STREAMS * roll(&m->dice, 4));
    }
}

static void append(struct maker *m, uint32_t gang, const struct ty_op *op)
{
    m->list[gang][m->n[gang]++] = *op;
}

/* All gangs or some of them, each on a stream of its own. */
static void meet(struct maker *m)
{
    uint32_t *gangs = ty_arena_array(m->b.arena, uint32_t, MAX_GANGS);
    const bool some = roll(&m->dice, 2) == 0;
    uint32_t n = 0;
    for (uint32_t g = 0; g < m->n_gangs; g++) {
        if (!some || roll(&m->dice, 2) == 0) {
            gangs[n++] = g;
        }
    }
    if (n == 0) {
        return;
    }
    struct ty_op op = TY_OP_INIT;
    op.sync = TY_SYNC_MEET;
    op.link =
        (uint16_t)ty_build_meet(&m->b, &(struct ty_meet){.name = "meeting",
                                                         .group = roll(&m->dice, 2) ? 1 : TY_NONE,
                                                         .n_gangs = n,
                                                         .gangs = some ? gangs : NULL});
    for (uint32_t i = 0; i < n; i++) {
        op.stream = any_stream(m);
        op.record = TY_NO_EVENT;
        op.kind = make_kind(m, category_of[op.stream]);
        wire(m, &op);
        append(m, gangs[i], &op);
    }
}

static void send(struct maker *m, struct ty_op *op, uint32_t gang)
{
    op->stream = roll(&m->dice, 2) == 0 ? TY_STREAM_SEND : any_stream(m);
    op->sync = TY_SYNC_SEND;
    op->link = (uint16_t)ty_build_channel(&m->b, &(struct ty_channel){"message", gang,
                                                                      roll(&m->dice, m->n_gangs), 1,
                                                                      roll(&m->dice, 30), 0});
    m->pending[m->n_pending++] = op->link;
}

/* Returns the gang that receives. */
static uint32_t receive(struct maker *m, struct ty_op *op)
{
    const uint32_t pick = roll(&m->dice, m->n_pending);
    op->stream = TY_STREAM_RECV;
    op->sync = TY_SYNC_RECV;
    op->link = m->pending[pick];
    m->pending[pick] = m->pending[--m->n_pending];
    return m->b.program->channels[op->link].to;
}

static void act(struct maker *m)
{
    uint32_t gang = roll(&m->dice, m->n_gangs);
    const uint32_t what = roll(&m->dice, 10);
    struct ty_op op = TY_OP_INIT;
    op.stream = any_stream(m);
    op.layer = (uint16_t)roll(&m->dice, 3);
    if (what == 0) {
        meet(m);
        return;
    }
    if (what <= 2) {
        send(m, &op, gang);
    } else if (what <= 4 && m->n_pending > 0) {
        gang = receive(m, &op);
    } else if (what <= 6) {
        op.sync = TY_SYNC_GROUP;
        op.link = (uint16_t)roll(&m->dice, 3);
    }
    op.kind = make_kind(m, category_of[op.stream]);
    wire(m, &op);
    append(m, gang, &op);
}

static bool waits_for(const struct ty_op *a, const struct ty_op *b)
{
    bool waits = false;
    for (uint32_t w = 0; w < TY_WAITS; w++) {
        waits = waits || (b->record != TY_NO_EVENT && a->wait[w] == b->record);
    }
    return waits;
}

/* Some neighbours of a gang change places, where that leaves what each waits for. */
static void mix(struct maker *m, uint32_t gang)
{
    struct ty_op *list = m->list[gang];
    for (uint32_t i = 0; m->n[gang] > 1 && i < 4 * m->n[gang]; i++) {
        const uint32_t at = roll(&m->dice, m->n[gang] - 1);
        const struct ty_op a = list[at], b = list[at + 1];
        if (a.stream != b.stream && !waits_for(&a, &b) && !waits_for(&b, &a)) {
            list[at] = b;
            list[at + 1] = a;
        }
    }
}

/* Some change places without regard, or are left out. */
static void spoil(struct maker *m, uint32_t gang)
{
    struct ty_op *list = m->list[gang];
    for (uint32_t times = roll(&m->dice, 12); times > 0 && m->n[gang] > 1; times--) {
        const uint32_t x = roll(&m->dice, m->n[gang]);
        const uint32_t y = roll(&m->dice, m->n[gang]);
        const struct ty_op kept = list[x];
        list[x] = list[y];
        list[y] = kept;
    }
    if (m->n[gang] > 1 && roll(&m->dice, 2) == 0) {
        list[roll(&m->dice, m->n[gang])] = list[m->n[gang] - 1];
        m->n[gang]--;
    }
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
            ty_build_pass(&m->b, &(struct ty_pass){.block = (uint32_t)block, .mb = m->n_passes++});
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

static int make(struct ty_program *program, uint64_t seed, uint32_t max_actions, bool may_halt,
                struct ty_arena *arena, struct ty_err *err)
{
    static struct maker m;
    memset(&m, 0, sizeof(m));
    m.b = (struct ty_builder){.program = program, .arena = arena, .err = err};
    m.dice.seed = seed;
    *program = (struct ty_program){.words = &ty_transformer_words, .n_steps = 1};
    m.n_gangs = 1 + roll(&m.dice, MAX_GANGS);
    m.members = 4u << roll(&m.dice, 2);
    ty_build_group(&m.b, &(struct ty_group){"pairs", 1, 2});
    ty_build_group(&m.b, &(struct ty_group){"strided", 2, 2});
    ty_build_group(&m.b, &(struct ty_group){"fours", 1, 4});
    const uint32_t actions = max_actions / 8 + roll(&m.dice, max_actions - max_actions / 8);
    for (uint32_t i = 0; i < actions; i++) {
        act(&m);
    }
    for (uint32_t g = 0; g < m.n_gangs; g++) {
        mix(&m, g);
        if (may_halt) {
            spoil(&m, g);
        }
        uint32_t *ranks = ty_arena_array(arena, uint32_t, m.members);
        for (uint32_t i = 0; i < m.members; i++) {
            ranks[i] = i * m.n_gangs + g;
        }
        ty_build_gang(&m.b,
                      &(struct ty_gang){.name = ty_arena_printf(arena, "gang %u", (unsigned)g),
                                        .n_ranks = m.members,
                                        .rank_of = ranks});
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

int random_program(struct ty_program *program, uint64_t seed, struct ty_arena *arena,
                   struct ty_err *err)
{
    return make(program, seed, MAX_ACTIONS, false, arena, err);
}

int random_program_small(struct ty_program *program, uint64_t seed, bool may_halt,
                         struct ty_arena *arena, struct ty_err *err)
{
    return make(program, seed, MAX_ACTIONS / 2, may_halt, arena, err);
}
