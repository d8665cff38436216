/* test_autopsy.c - orders that cannot finish: where they stop, what is said, and what is kept; and
 * partners who mean different things. */
#include <string.h>

#include "model/orders/program.h"
#include "model/vocabulary.h"
#include "sim/base/noise.h"
#include "sim/core/analyse/stats.h"
#include "sim/core/deadlock/mismatch.h"
#include "sim/core/deadlock/stall.h"
#include "sim/core/execute/execute.h"
#include "tests/unit/suite.h"

typedef int executor(struct ty_timeline *, struct ty_err *);
static executor *const executors[] = {ty_sweep, ty_events};

/* ---- random orders ---- */

/* 1F1B of random size with its atoms thrown about: some such orders finish, most do not. */
static void shuffled(struct ty_program *program, uint64_t seed, struct ty_arena *arena,
                     struct ty_err *err)
{
    uint64_t n = 2;
    const struct ty_sched_shape shape = {.p = 2 + (uint32_t)(ty_hash4(seed, 0, 0, 0) % 5),
                                         .m = 1 + (uint32_t)(ty_hash4(seed, 1, 0, 0) % 6),
                                         .v = 1,
                                         .slices = 1};
    const struct ty_sched_times times = {.forward = 1, .backward = 2, .overlap = -1};
    const struct ty_sched_durations d = {.forward = 7, .backward = 11, .edge = 3};
    struct ty_slots slots;
    ck_assert_int_eq(ty_sched_slots(ty_sched_find("1f1b"), &shape, &times, &slots, arena, err), 0);
    const uint32_t swaps = (uint32_t)(ty_hash4(seed, n++, 0, 0) % 4);
    for (uint32_t i = 0; i < swaps; i++) {
        struct ty_rank_slots *rank = &slots.rank[ty_hash4(seed, n++, 0, 0) % shape.p];
        struct ty_slot *a = &rank->slot[ty_hash4(seed, n++, 0, 0) % rank->n];
        struct ty_slot *b = &rank->slot[ty_hash4(seed, n++, 0, 0) % rank->n];
        const struct ty_slot kept = *a;
        *a = *b;
        *b = kept;
    }
    ck_assert_int_eq(ty_sched_program_of(program, TY_PLACE_LOOPED, &shape, &slots, &d, arena, err),
                     0);
}

/* Passes of a gang of the cut program are those of the whole one, the last perhaps shorter, and
 * their tasks start when the other executor says. */
static void same_prefix(const struct ty_timeline *a, const struct ty_timeline *b)
{
    ck_assert_ptr_eq(a->halt->whole, b->halt->whole);
    ck_assert_uint_eq(a->makespan, b->makespan);
    for (uint32_t g = 0; g < a->program->n_gangs; g++) {
        const struct ty_gang *x = &a->program->gangs[g], *y = &b->program->gangs[g];
        ck_assert_uint_eq(x->n_ops, y->n_ops);
        ck_assert_uint_le(x->n_ops, a->halt->whole->gangs[g].n_ops);
        for (uint32_t i = 0; i < x->n_ops; i++) {
            ck_assert_uint_eq(*ty_timeline_starts(a, x, i), *ty_timeline_starts(b, y, i));
        }
    }
}

TEST(both_executors_say_the_same_of_any_order_and_keep_the_same)
{
    uint32_t halted = 0, finished = 0;
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        struct ty_arena arena = {.head = NULL};
        struct ty_program program;
        struct ty_timeline t[2];
        struct ty_stall stall;
        struct ty_err err[2] = {TY_ERR_NONE, TY_ERR_NONE};
        int rc[2];
        shuffled(&program, seed, &arena, &err[0]);
        for (size_t e = 0; e < 2; e++) {
            ck_assert_int_eq(ty_timeline_init(&t[e], &program, &err[e]), 0);
            rc[e] = executors[e](&t[e], &err[e]);
        }
        ck_assert_int_eq(rc[0], rc[1]);
        ck_assert_str_eq(err[0].text, err[1].text);
        ck_assert_int_eq(ty_stall_find(&stall, &program, NULL, &arena), 0);
        ck_assert_int_eq(rc[0], stall.n_stuck > 0 ? TY_EDEADLOCK : 0);
        if (rc[0] == 0) {
            ck_assert_ptr_null(t[0].halt);
            finished++;
        } else {
            struct ty_stats stats;
            same_prefix(&t[0], &t[1]);
            ck_assert_int_eq(ty_stats_compute(&stats, &t[0], &arena, &err[0]), 0);
            halted++;
        }
        for (size_t e = 0; e < 2; e++) {
            ty_timeline_release(&t[e]);
        }
        ty_arena_release(&arena);
    }
    ck_assert_uint_gt(halted, 300);
    ck_assert_uint_gt(finished, 300);
}

TEST(published_schedules_have_no_mismatch)
{
    struct ty_err err = TY_ERR_NONE;
    const struct ty_sched_durations d = {.forward = 7, .backward = 11, .input = 5, .weight = 6};
    uint32_t n = 0;
    for (size_t i = 0; ty_schedules[i] != NULL; i++) {
        for (uint32_t p = 2; p <= 8; p += 2) {
            const uint32_t v = ty_schedules[i]->chunks > 0 ? ty_schedules[i]->chunks : 1;
            const struct ty_sched_shape shape = {.p = p, .m = 2 * p, .v = v, .slices = 1};
            struct ty_arena arena = {.head = NULL};
            struct ty_program program;
            struct ty_mismatch mismatch;
            if (ty_sched_program(&program, ty_schedules[i], &shape, &d, &arena, NULL) == 0) {
                ck_assert_int_eq(ty_mismatch_find(&mismatch, &program, &arena, &err), 0);
                ck_assert_msg(mismatch.n == 0, "%s, %u ranks", ty_schedules[i]->name, (unsigned)p);
                n++;
            }
            ty_arena_release(&arena);
        }
    }
    ck_assert_uint_gt(n, 50);
}

/* ---- mismatches by hand ---- */

/* What two gangs of one rank issue, one operation a pass: kind, link, micro-batch. */
struct issue {
    uint32_t gang;
    enum ty_sync sync;
    uint16_t kind, link, mb;
};

enum {
    SMALL,
    LARGE,
    SUM,
    BIG_SUM,
    GATHER
};

static void lay_out(struct ty_program *program, const struct issue *issues, uint32_t n,
                    struct ty_arena *arena, struct ty_err *err)
{
    static const uint32_t both[] = {0, 1};
    struct ty_builder b = {.program = program, .arena = arena, .err = err};
    *program = (struct ty_program){.words = &ty_transformer_words, .n_steps = 1};
    ty_build_kind(&b, &(struct ty_kind){.name = "msg", .bytes = 8, .category = TY_CAT_COMM_DATA});
    ty_build_kind(&b, &(struct ty_kind){.name = "msg", .bytes = 9, .category = TY_CAT_COMM_DATA});
    ty_build_kind(&b, &(struct ty_kind){.name = "all-reduce", .bytes = 8, .group = "pair"});
    ty_build_kind(&b, &(struct ty_kind){.name = "all-reduce", .bytes = 9, .group = "pair"});
    ty_build_kind(&b, &(struct ty_kind){.name = "all-gather", .bytes = 8, .group = "pair"});
    ty_build_channel(&b, &(struct ty_channel){.name = "act", .from = 0, .to = 1, .n_seq = 4});
    for (uint32_t i = 0; i < 4; i++) { /* two collectives of each of two communicators */
        ty_build_meet(&b, &(struct ty_meet){.name = i < 2 ? "pair" : "other",
                                            .group = TY_NONE,
                                            .n_gangs = 2,
                                            .gangs = both});
    }
    for (uint32_t g = 0; g < 2; g++) {
        uint32_t *rank = ty_arena_array(arena, uint32_t, 1);
        rank[0] = g;
        ty_build_gang(&b,
                      &(struct ty_gang){.name = g == 0 ? "a" : "b", .n_ranks = 1, .rank_of = rank});
        for (uint32_t i = 0; i < n; i++) {
            if (issues[i].gang != g) {
                continue;
            }
            const int block = ty_build_block(&b, &(struct ty_block){.n_ops = 0});
            struct ty_op op = TY_OP_INIT;
            op.kind = issues[i].kind;
            op.sync = (uint8_t)issues[i].sync;
            op.stream = op.sync == TY_SYNC_RECV   ? TY_STREAM_RECV
                        : op.sync == TY_SYNC_SEND ? TY_STREAM_SEND
                                                  : TY_STREAM_DATA;
            op.link = issues[i].link;
            ty_build_op(&b, &op);
            ty_build_pass(&b, &(struct ty_pass){.block = (uint32_t)block,
                                                .seq = issues[i].mb,
                                                .mb = issues[i].mb,
                                                .phase = TY_PHASE_FORWARD});
        }
    }
    ck_assert_int_eq(ty_program_seal(program, arena, err), 0);
}

#define S TY_SYNC_SEND
#define R TY_SYNC_RECV
#define M TY_SYNC_MEET

static const struct {
    struct issue issue[6];
    uint32_t n, found;
    const char *text;
} mismatches[] = {
    {{{0, S, SMALL, 0, 0}, {0, S, SMALL, 0, 1}, {1, R, SMALL, 0, 0}, {1, R, SMALL, 0, 1}},
     4,
     0,
     ""},
    {{{0, S, SMALL, 0, 0}, {0, S, SMALL, 0, 1}, {1, R, SMALL, 0, 1}, {1, R, SMALL, 0, 0}},
     4,
     1,
     "message 1 of act from a to b: a (rank 0) sends act of micro-batch 0 (8 B) in forward 0, "
     "b (rank 1) receives act of micro-batch 1 (8 B) in forward 1; messages between two ranks "
     "are matched in the order of issue"},
    {{{0, S, SMALL, 0, 0}, {0, S, LARGE, 0, 1}, {1, R, SMALL, 0, 0}, {1, R, SMALL, 0, 1}},
     4,
     1,
     "message 2 of act from a to b: a (rank 0) sends act of micro-batch 1 (9 B) in forward 1, "
     "b (rank 1) receives act of micro-batch 1 (8 B) in forward 1; both sides must mean "
     "equally many bytes"},
    {{{0, S, SMALL, 0, 0}, {0, S, SMALL, 0, 1}, {1, R, SMALL, 0, 0}},
     3,
     1,
     "message 2 of act from a to b: a (rank 0) sends act of micro-batch 1 (8 B) in forward 1, "
     "which is never received"},
    {{{0, S, SMALL, 0, 2}, {0, S, SMALL, 0, 2}, {1, R, SMALL, 0, 2}},
     3,
     1,
     "message 2 of act from a to b: a (rank 0) sends act of micro-batch 2 (8 B) in forward 2 "
     "again"},
    {{{0, M, SUM, 0, 0}, {0, M, GATHER, 1, 1}, {1, M, SUM, 0, 0}, {1, M, GATHER, 1, 1}}, 4, 0, ""},
    {{{0, M, SUM, 0, 0}, {0, M, GATHER, 1, 1}, {1, M, GATHER, 0, 0}, {1, M, SUM, 1, 1}},
     4,
     1,
     "collective 1 of pair: a (rank 0) issues all-reduce (8 B, group pair) in forward 0, "
     "b (rank 1) issues all-gather (8 B, group pair) in forward 0; collectives must be issued "
     "in the same order by all members"},
    {{{0, M, SUM, 0, 0}, {0, M, SUM, 1, 3}, {1, M, SUM, 0, 0}, {1, M, BIG_SUM, 1, 3}},
     4,
     1,
     "collective 2 of pair: a (rank 0) issues all-reduce (8 B, group pair) in forward 3, "
     "b (rank 1) issues all-reduce (9 B, group pair) in forward 3; all members must mean "
     "equally many bytes"},
    {{{0, M, SUM, 0, 0}, {1, M, GATHER, 0, 0}},
     2,
     1,
     "collective 1 of pair: a (rank 0) issues all-reduce (8 B, group pair) in forward 0, "
     "b (rank 1) issues all-gather (8 B, group pair) in forward 0; all members must issue the "
     "same collective"},
    {{{0, M, SUM, 0, 0}, {0, M, SUM, 2, 1}, {1, M, SUM, 2, 0}, {1, M, SUM, 0, 1}},
     4,
     1,
     "collective 1 of those that two stages share: a (rank 0) issues all-reduce (8 B, group "
     "pair) in forward 0, b (rank 1) issues all-reduce (8 B, group pair) in forward 0; "
     "collectives must be issued in the same order by all members"},
    {{{0, M, SUM, 0, 0}, {1, M, SUM, 2, 0}},
     2,
     1,
     "collective 1 of pair: a (rank 0) issues all-reduce (8 B, group pair) in forward 0, "
     "b (rank 1) issues all-reduce (8 B, group pair) in forward 0; all members must name the "
     "same group"},
    {{{0, M, SUM, 0, 0}}, 1, 0, ""}, /* a deadlock */
};

TEST(the_first_mismatch_is_told_with_rank_operation_group_bytes_and_micro_batch)
{
    for (size_t i = 0; i < TY_COUNT(mismatches); i++) {
        struct ty_err err = TY_ERR_NONE;
        struct ty_arena arena = {.head = NULL};
        struct ty_program program;
        struct ty_mismatch mismatch;
        char text[TY_MISMATCH_TEXT] = "";
        lay_out(&program, mismatches[i].issue, mismatches[i].n, &arena, &err);
        ck_assert_int_eq(ty_mismatch_find(&mismatch, &program, &arena, &err), 0);
        if (mismatch.last != NULL) {
            ty_mismatch_say(&program, mismatch.last, text);
        }
        ck_assert_str_eq(text, mismatches[i].text);
        ck_assert_uint_eq(mismatch.n, mismatches[i].found);
        ty_arena_release(&arena);
    }
}

TEST(a_member_that_never_comes_is_named)
{
    static const struct issue issues[] = {{0, M, SUM, 0, 2}, {1, M, SUM, 2, 0}, {0, M, SUM, 2, 0}};
    for (size_t e = 0; e < 2; e++) {
        struct ty_err err = TY_ERR_NONE;
        struct ty_arena arena = {.head = NULL};
        struct ty_program program;
        struct ty_timeline t;
        lay_out(&program, issues, TY_COUNT(issues), &arena, &err);
        ck_assert_int_eq(ty_timeline_init(&t, &program, &err), 0);
        ck_assert_int_eq(executors[e](&t, &err), TY_EDEADLOCK);
        ck_assert_str_eq(err.text,
                         "deadlock: 2 of 2 ranks can never finish; none of them ever moved\n"
                         "what never comes:\n"
                         "  a (rank 0) stands at forward 2, data comm stream: waits in all-reduce "
                         "(8 B, group pair), 1 of 2 have come to it, and b never comes\n"
                         "one waits behind these:\n"
                         "  b (rank 1) stands at forward 0, data comm stream: waits in other: "
                         "all-reduce (8 B, group pair), 1 of 2 have come to it, for a, which comes "
                         "in forward 0");
        ty_timeline_release(&t);
        ty_arena_release(&arena);
    }
}

TY_SUITE("autopsy")
