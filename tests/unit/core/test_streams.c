/* test_streams.c - streams advance independently: executors, and what is said of halts, against an
 * oracle that works it out the slow way. */
#include <string.h>

#include "model/vocabulary.h"
#include "sim/core/deadlock/stall.h"
#include "sim/core/execute/execute.h"
#include "tests/common/oracle.h"
#include "tests/common/random_program.h"
#include "tests/unit/suite.h"

typedef int executor(struct ty_timeline *, struct ty_err *);
static executor *const executors[] = {ty_sweep, ty_events};
static struct ty_err err;

/* How many programs were looked at, and what became of them. */
struct tally {
    uint32_t finished, halted;
    uint32_t out_of_order; /* finished, though not when each gang executes in the order of issue */
};

/* Whether the partners of an operation are there when gangs have executed the first at[] of what
 * they issue; who meets stands there, or has passed. */
static bool partners_there(const struct oracle *o, const struct oracle_op *x, const uint32_t *at)
{
    bool there = true;
    if (x->op->sync == TY_SYNC_RECV) {
        const struct oracle_op *y = x->sender == ORACLE_NONE ? NULL : &o->ops[x->sender];
        return y != NULL && y->number < at[y->gang];
    }
    for (uint32_t i = 0; i < o->n_ops; i++) {
        const struct oracle_op *y = &o->ops[i];
        there = there && (!oracle_is_meeting(x, y) || at[y->gang] >= y->number);
    }
    return there;
}

/* Whether a program finishes when an operation also waits for the one issued before it. */
static bool finishes_in_order(const struct oracle *o, struct ty_arena *arena)
{
    uint32_t *at = ty_arena_array(arena, uint32_t, (size_t)o->p->n_gangs + 1), left = o->n_ops;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t g = 0; g < o->p->n_gangs; g++) {
            const uint32_t i = o->first[g] + at[g];
            if (i < o->first[g + 1] && partners_there(o, &o->ops[i], at)) {
                at[g]++;
                left--;
                moved = true;
            }
        }
    }
    return left == 0;
}

/* Both executors, and the walk without a clock, do what the oracle does. */
static void compare(const struct ty_program *program, struct tally *tally, const char *name,
                    uint64_t seed, struct ty_arena *arena)
{
    struct oracle o;
    struct ty_stall stall;
    oracle_make(&o, program, false, arena);
    ck_assert_int_eq(ty_stall_find(&stall, program, NULL, arena), 0);
    ck_assert_msg(stall.n_stuck == o.n_stuck, "%s %lu: %u gangs stuck, not %u", name,
                  (unsigned long)seed, (unsigned)stall.n_stuck, (unsigned)o.n_stuck);
    for (size_t e = 0; e < TY_COUNT(executors); e++) {
        struct ty_timeline t;
        err = (struct ty_err)TY_ERR_NONE;
        ck_assert_int_eq(ty_timeline_init(&t, program, &err), 0);
        const int rc = executors[e](&t, &err);
        ck_assert_msg(rc == (o.n_stuck > 0 ? TY_EDEADLOCK : 0), "%s %lu, executor %zu: %d %s", name,
                      (unsigned long)seed, e, rc, err.text);
        const char *wrong = oracle_check_timeline(&o, &t);
        wrong = wrong == NULL && rc < 0 ? oracle_check_report(&o, err.text) : wrong;
        ck_assert_msg(wrong == NULL, "%s %lu, executor %zu: %s\n%s", name, (unsigned long)seed, e,
                      wrong, err.text);
        ty_timeline_release(&t);
    }
    if (o.n_stuck > 0) {
        tally->halted++;
    } else {
        tally->finished++;
        tally->out_of_order += !finishes_in_order(&o, arena);
    }
}

TEST(random_programs_run_and_halt_as_streams_do)
{
    struct tally tally = {0};
    const uint64_t n = suite_whole() ? 100000 : 6000;
    for (uint64_t seed = 1; seed <= n; seed++) {
        struct ty_arena arena = {.head = NULL};
        struct ty_program program;
        ck_assert_msg(random_program_small(&program, seed, seed % 2 == 0, &arena, &err) == 0, "%s",
                      err.text);
        compare(&program, &tally, "seed", seed, &arena);
        ty_arena_release(&arena);
    }
    ck_assert_uint_gt(tally.out_of_order, n / 4);
    ck_assert_uint_gt(tally.halted, n / 5);
    ck_assert_uint_gt(tally.finished, n / 2 - 1);
}

/* ---- every small program ---- */

/* What two gangs of one rank can issue: local work, or a message to the other, or the next meeting
 * with it, on one of two streams, or the next receive on the third; each after what was last
 * recorded on one of the other two, or not. Each records the event of its stream. */
static const struct choice {
    uint8_t sync, stream;
    uint8_t wait; /* stream, or TY_NO_EVENT */
} choices[] = {
#define AFTER(sync, stream, a, b)                                                                  \
    {sync, stream, TY_NO_EVENT}, {sync, stream, a},                                                \
    {                                                                                              \
        sync, stream, b                                                                            \
    }
#define TWICE(sync)                                                                                \
    AFTER(sync, TY_STREAM_COMPUTE, TY_STREAM_DATA, TY_STREAM_RECV),                                \
        AFTER(sync, TY_STREAM_DATA, TY_STREAM_COMPUTE, TY_STREAM_RECV)
    TWICE(TY_SYNC_LOCAL),
    TWICE(TY_SYNC_MEET),
    TWICE(TY_SYNC_SEND),
    AFTER(TY_SYNC_RECV, TY_STREAM_RECV, TY_STREAM_COMPUTE, TY_STREAM_DATA),
#undef TWICE
#undef AFTER
};
#define N_CHOICES ((uint32_t)TY_COUNT(choices))
#define MOST_OPS  4u /* of both gangs together */

/* The operations of one gang, from the digits of `number`, one a pass: what it meets, sends and
 * receives is numbered by itself. */
static void add_gang(struct ty_builder *b, uint32_t gang, uint32_t n, uint32_t *number)
{
    uint32_t seq[TY_SYNC_RECV + 1] = {0};
    uint32_t *rank = ty_arena_array(b->arena, uint32_t, 1);
    rank[0] = gang;
    ty_build_gang(b,
                  &(struct ty_gang){.name = gang == 0 ? "a" : "b", .n_ranks = 1, .rank_of = rank});
    for (uint32_t i = 0; i < n; i++, *number /= N_CHOICES) {
        const struct choice *c = &choices[*number % N_CHOICES];
        struct ty_op op = TY_OP_INIT;
        op.kind = (uint16_t)(gang * MOST_OPS + i);
        op.stream = c->stream;
        op.sync = c->sync;
        op.wait[0] = c->wait;
        op.record = c->stream;
        op.link = c->sync == TY_SYNC_LOCAL  ? TY_NONE
                  : c->sync == TY_SYNC_MEET ? (uint16_t)seq[c->sync]
                  : c->sync == TY_SYNC_SEND ? (uint16_t)gang
                                            : (uint16_t)(1 - gang);
        const int block = ty_build_block(b, &(struct ty_block){.n_ops = 0});
        ty_build_op(b, &op);
        ty_build_pass(b, &(struct ty_pass){
                             .block = (uint32_t)block, .seq = seq[c->sync]++, .mb = (uint16_t)i});
    }
}

static void lay_out(struct ty_program *program, const uint32_t n[2], uint32_t number,
                    struct ty_arena *arena)
{
    static const uint32_t both[] = {0, 1};
    struct ty_builder b = {.program = program, .arena = arena, .err = &err};
    *program = (struct ty_program){.words = &ty_transformer_words, .n_steps = 1};
    for (uint32_t i = 0; i < 2 * MOST_OPS; i++) {
        ty_build_kind(&b, &(struct ty_kind){.name = "work", .dur = 3 + i * i});
        ty_build_meet(
            &b, &(struct ty_meet){.name = "pair", .group = TY_NONE, .n_gangs = 2, .gangs = both});
    }
    ty_build_channel(&b, &(struct ty_channel){"act", 0, 1, MOST_OPS, 2, 0});
    ty_build_channel(&b, &(struct ty_channel){"grad", 1, 0, MOST_OPS, 5, 0});
    add_gang(&b, 0, n[0], &number);
    add_gang(&b, 1, n[1], &number);
    ck_assert_msg(b.code == 0 && ty_program_seal(program, arena, &err) == 0, "%s", err.text);
}

TEST(every_small_program_on_three_streams_runs_and_halts_as_streams_do)
{
    struct tally tally = {0};
    for (uint32_t ops = 1; ops <= MOST_OPS; ops++) {
        const uint32_t step = ops < MOST_OPS || suite_whole() ? 1 : 37; /* does not divide 21 */
        uint32_t n_programs = 1;
        for (uint32_t i = 0; i < ops; i++) {
            n_programs *= N_CHOICES;
        }
        for (uint32_t second = 0; second <= ops / 2; second++) { /* the gangs are alike */
            const uint32_t n[2] = {ops - second, second};
            for (uint32_t number = 0; number < n_programs; number += step) {
                struct ty_arena arena = {.head = NULL};
                struct ty_program program;
                lay_out(&program, n, number, &arena);
                compare(&program, &tally, second == 0 ? "alone" : "both", number, &arena);
                ty_arena_release(&arena);
            }
        }
    }
    ck_assert_uint_gt(tally.finished, 1000);
    ck_assert_uint_gt(tally.out_of_order, 10);
    ck_assert_uint_gt(tally.halted, 10000);
}

TY_SUITE("streams")
