/* Stretches of a block that are copied from when they were played before: starts and durations are
 * those of a program in which every pass has operations of its own, which are played once. So is
 * what was idle, which is not worked out again where a stretch took place as before. */
#include <string.h>

#include "model/vocabulary.h"
#include "sim/base/noise.h"
#include "sim/core/analyse/gaps.h"
#include "sim/core/execute/execute.h"
#include "tests/unit/suite.h"

#define GANGS  3u
#define BLOCKS 3u
#define PASSES 14u
#define OPS    24u

static struct ty_err err;
static const uint32_t rank_of[GANGS] = {0, 1, 2};

struct made {
    struct ty_arena arena;
    struct ty_program program;
    struct ty_builder b;
    struct ty_link link;
    struct ty_timeline timeline;
    struct ty_contention shared;
    uint64_t seed;
    uint32_t n;
};

static uint32_t roll(struct made *m, uint32_t below)
{
    return (uint32_t)(ty_hash4(m->seed, m->n++, 7, 0) % below);
}

/* Streams: computation, its collectives, what meets others on a link. */
static const uint8_t stream_of[] = {TY_STREAM_COMPUTE, TY_STREAM_TENSOR, TY_STREAM_DATA};

/* Events 0 and 3 are of computations, 1 and 4 of their collectives, 2 and 5 of flows. */
static void wire(struct made *m, struct ty_op *op, uint32_t s)
{
    op->record = (uint8_t)(s + 3 * roll(m, 2));
    if (s == 0 && roll(m, 3) > 0) {
        return;
    }
    const uint32_t on = s > 0 ? 0 : 1 + (roll(m, 12) == 0), odd = roll(m, 2);
    op->wait[0] = (uint8_t)(on + 3 * odd);
    if (roll(m, 4) == 0) {
        op->wait[1] = (uint8_t)((s > 0 ? 0 : roll(m, 2) == 0 ? on : 3 - on) + 3 * (1 - odd));
    }
}

/* Computations of which some wait for the collective before them, collectives beside or between
 * them, and now and then a flow that takes a link of others and slows down what goes on beside. */
static struct ty_op draw(struct made *m, uint32_t calm)
{
    struct ty_op op = TY_OP_INIT;
    const uint32_t kind = roll(m, 8), s = kind < 5 ? 0 : kind < 7 || roll(m, calm) > 0 ? 1 : 2;
    struct ty_kind made = {.name = "work",
                           .category = s == 0 ? TY_CAT_FORWARD : TY_CAT_COMM_TENSOR,
                           .dur = roll(m, 10) == 0 ? 0 : 1 + roll(m, 40)};
    if (s == 1) {
        op.sync = TY_SYNC_GROUP;
        op.link = 0;
        made.slows = roll(m, 3) == 0 ? 0 : 0.18;
    } else if (s == 2) {
        const struct ty_flow flow = {
            .first_use = m->program.n_uses, .n_uses = 1, .weight = 1e-9, .lead = roll(m, 4)};
        ty_build_use(&m->b, &(struct ty_use){0, 1e9});
        made.first_flow = (uint32_t)ty_build_flow(&m->b, &flow) + 1;
        made.dur = 20 + roll(m, 200);
        made.slows = roll(m, 2) == 0 ? 0 : 0.1;
    }
    op.kind = (uint16_t)ty_build_kind(&m->b, &made);
    op.stream = stream_of[s];
    wire(m, &op, s);
    return op;
}

static uint32_t add_block(struct made *m, const struct ty_op *ops)
{
    const int block = ty_build_block(&m->b, &(struct ty_block){.n_ops = 0});
    for (uint32_t k = 0; k < OPS; k++) {
        ty_build_op(&m->b, &ops[k]);
    }
    return (uint32_t)block;
}

/* Messages go down the line of gangs: each pass begins with one and ends with one. */
static void add_messages(struct made *m, uint32_t gang, struct ty_op *ops)
{
    const uint16_t kind = (uint16_t)ty_build_kind(
        &m->b, &(struct ty_kind){.name = "message", .category = TY_CAT_COMM_PIPELINE, .dur = 3});
    const struct ty_op none = TY_OP_INIT;
    if (gang > 0) {
        ops[0] = none;
        ops[0].kind = kind;
        ops[0].stream = TY_STREAM_RECV;
        ops[0].sync = TY_SYNC_RECV;
        ops[0].link = (uint16_t)(gang - 1);
        ops[0].record = 9;
        ops[1].wait[0] = 9;
    }
    if (gang + 1 < GANGS) {
        struct ty_op *last = &ops[OPS - 1];
        *last = none;
        last->kind = kind;
        last->stream = TY_STREAM_SEND;
        last->sync = TY_SYNC_SEND;
        last->link = (uint16_t)gang;
        last->wait[0] = (uint8_t)(3 * roll(m, 2));
        last->wait[1] = (uint8_t)(3 - last->wait[0]);
        last->record = 10;
    }
}

/* `apart`: every pass has a block of its own. */
static struct made *make(uint64_t seed, bool apart)
{
    struct made *m = calloc(1, sizeof(*m));
    m->seed = seed;
    m->program.words = &ty_transformer_words;
    m->program.n_steps = 1;
    m->program.matched = true;
    m->link = (struct ty_link){TY_LINK_NIC, TY_NO_NODE, 1e9};
    m->program.links = &m->link;
    m->program.n_links = 1;
    m->b = (struct ty_builder){.program = &m->program, .arena = &m->arena, .err = &err};
    ty_build_group(&m->b, &(struct ty_group){"tp", 1, 1});
    for (uint32_t c = 0; c + 1 < GANGS; c++) {
        ty_build_channel(&m->b, &(struct ty_channel){"act", c, c + 1, PASSES, 2, 0});
    }
    const uint32_t calm = 1 + roll(m, 40);
    for (uint32_t g = 0; g < GANGS; g++) {
        struct ty_op ops[BLOCKS][OPS];
        uint32_t block[BLOCKS];
        ty_build_gang(&m->b,
                      &(struct ty_gang){.name = "rank", .n_ranks = 1, .rank_of = &rank_of[g]});
        for (uint32_t b = 0; b < BLOCKS; b++) {
            for (uint32_t k = 0; k < OPS; k++) {
                ops[b][k] = draw(m, calm);
            }
            add_messages(m, g, ops[b]);
            block[b] = apart ? 0 : add_block(m, ops[b]);
        }
        for (uint32_t i = 0; i < PASSES; i++) {
            const uint32_t b = roll(m, BLOCKS);
            ty_build_pass(&m->b, &(struct ty_pass){.block = apart ? add_block(m, ops[b]) : block[b],
                                                   .seq = i});
        }
    }
    ck_assert_msg(m->b.code == 0, "%s", err.text);
    return m;
}

static void play(struct made *m)
{
    ck_assert_msg(ty_program_seal(&m->program, &m->arena, &err) == 0, "%s", err.text);
    ck_assert_int_eq(ty_contention_find(&m->shared, &m->program, &m->arena, &err), 0);
    ck_assert_int_eq(ty_timeline_init(&m->timeline, &m->program, &err), 0);
    ck_assert_msg(ty_events_shared(&m->timeline, &m->shared, &err) == 0, "%s", err.text);
}

static void discard(struct made *m)
{
    ty_timeline_release(&m->timeline);
    ty_arena_release(&m->arena);
    free(m);
}

TEST(what_is_copied_is_what_is_played)
{
    for (uint64_t seed = 0; seed < suite_part(20000, 10); seed++) {
        struct made *again = make(seed, false), *once = make(seed, true);
        play(again);
        play(once);
        ck_assert_uint_eq(again->program.n_tasks, once->program.n_tasks);
        for (uint64_t i = 0; i < once->program.n_tasks; i++) {
            ck_assert_msg(again->timeline.start[i] == once->timeline.start[i] &&
                              again->timeline.dur[i] == once->timeline.dur[i],
                          "seed %lu: task %lu", (unsigned long)seed, (unsigned long)i);
        }
        ck_assert_uint_eq(again->timeline.makespan, once->timeline.makespan);
        discard(again);
        discard(once);
    }
}

/* Gaps of a program, each told without what the two programs have their own of. */
struct seen {
    struct ty_gap gap[GANGS * PASSES * OPS * TY_WAITS];
    uint32_t pass[GANGS * PASSES * OPS * TY_WAITS];
    uint32_t n;
    const struct ty_program *program;
};

static void see(void *arg, uint32_t member, const struct ty_gap *gap)
{
    struct seen *seen = arg;
    ck_assert_uint_eq(member, 0);
    ck_assert_uint_lt(seen->n, TY_COUNT(seen->gap));
    seen->pass[seen->n] =
        gap->before == NULL ? UINT32_MAX : (uint32_t)(gap->before - seen->program->passes);
    seen->gap[seen->n] = *gap;
    seen->gap[seen->n].before = NULL;
    seen->gap[seen->n++].op = NULL;
}

static struct seen *gaps_of(struct made *m)
{
    struct seen *seen = calloc(1, sizeof(*seen));
    struct ty_gaps gaps;
    play(m);
    seen->program = &m->program;
    ck_assert_int_eq(ty_gaps_init(&gaps, &m->timeline, &m->arena), 0);
    for (uint32_t g = 0; g < GANGS; g++) {
        ty_gaps_walk(&gaps, g, 0, 1, see, seen);
    }
    return seen;
}

TEST(what_is_idle_again_is_what_was_idle)
{
    for (uint64_t seed = 0; seed < suite_part(6000, 3); seed++) {
        struct made *again = make(seed, false), *once = make(seed, true);
        struct seen *a = gaps_of(again), *b = gaps_of(once);
        ck_assert_uint_eq(a->n, b->n);
        ck_assert_uint_gt(a->n, 0);
        for (uint32_t i = 0; i < a->n; i++) {
            const struct ty_gap *x = &a->gap[i], *y = &b->gap[i];
            ck_assert_msg(x->start == y->start && x->dur == y->dur && x->bucket == y->bucket &&
                              x->event == y->event && x->layer == y->layer &&
                              x->waited == y->waited && x->times == y->times &&
                              a->pass[i] == b->pass[i],
                          "seed %lu: gap %u", (unsigned long)seed, (unsigned)i);
        }
        free(a);
        free(b);
        discard(again);
        discard(once);
    }
}

TY_SUITE("replayed")
