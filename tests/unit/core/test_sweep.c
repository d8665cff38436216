/* test_sweep.c - executors against closed forms, against each other, and against deadlocks. */
#include <string.h>

#include "model/orders/program.h"
#include "model/vocabulary.h"
#include "sim/core/analyse/stats.h"
#include "sim/core/execute/execute.h"
#include "tests/common/floor_program.h"
#include "tests/common/random_program.h"
#include "tests/unit/suite.h"

typedef int executor(struct ty_timeline *, struct ty_err *);
static executor *const executors[] = {ty_sweep, ty_events};

struct result {
    ty_ps makespan;
    uint32_t held[16];
};

/* One schedule under one executor. */
static struct result run_schedule(executor *execute, const char *name, uint32_t p, uint32_t m,
                                  const struct ty_sched_durations *d)
{
    static struct ty_err err;
    struct ty_arena arena = {.head = NULL};
    struct ty_program program;
    struct ty_timeline timeline;
    struct ty_stats stats;
    struct result r = {0};
    const struct ty_sched_shape shape = {.p = p, .m = m, .v = 1, .slices = 1};
    ck_assert_int_eq(ty_sched_program(&program, ty_sched_find(name), &shape, d, &arena, &err), 0);
    ck_assert_int_eq(ty_timeline_init(&timeline, &program, &err), 0);
    ck_assert_int_eq(execute(&timeline, &err), 0);
    ck_assert_int_eq(ty_stats_compute(&stats, &timeline, &arena, &err), 0);
    r.makespan = timeline.makespan;
    for (uint32_t i = 0; i < p; i++) {
        r.held[i] = stats.memory[i].peak_held;
    }
    ty_timeline_release(&timeline);
    ty_arena_release(&arena);
    return r;
}

TEST(gpipe_and_1f1b_take_m_plus_p_minus_1_slots)
{
    const struct ty_sched_durations d = {.forward = 7, .backward = 11};
    for (size_t e = 0; e < 2; e++) {
        for (uint32_t p = 1; p <= 16; p++) {
            for (uint32_t m = 1; m <= 64; m++) {
                const ty_ps expected = (ty_ps)(m + p - 1) * 18;
                ck_assert_uint_eq(run_schedule(executors[e], "gpipe", p, m, &d).makespan, expected);
                ck_assert_uint_eq(run_schedule(executors[e], "1f1b", p, m, &d).makespan, expected);
            }
        }
    }
}

TEST(gpipe_holds_m_and_1f1b_holds_p_minus_i_micro_batches)
{
    const struct ty_sched_durations d = {.forward = 1, .backward = 2};
    for (uint32_t p = 1; p <= 16; p++) {
        for (uint32_t m = 1; m <= 64; m++) {
            const struct result gpipe = run_schedule(ty_sweep, "gpipe", p, m, &d);
            const struct result one = run_schedule(ty_sweep, "1f1b", p, m, &d);
            for (uint32_t i = 0; i < p; i++) {
                ck_assert_uint_eq(gpipe.held[i], m);
                ck_assert_uint_eq(one.held[i], m < p - i ? m : p - i);
            }
        }
    }
}

/* A message delay costs GPipe one round trip; 1F1B pays it again and again, as stage r has only
 * p - r micro-batches in flight. */
TEST(message_delay_costs_gpipe_once_and_1f1b_every_round)
{
    for (uint32_t p = 2; p <= 16; p++) {
        for (uint32_t m = p; m <= 64; m += p) {
            for (ty_ps c = 1; c <= 21; c += 4) {
                const struct ty_sched_durations d = {.forward = 7, .backward = 11, .edge = c};
                const ty_ps ideal = (ty_ps)(m + p - 1) * 18;
                const struct result gpipe = run_schedule(ty_sweep, "gpipe", p, m, &d);
                const struct result one = run_schedule(ty_sweep, "1f1b", p, m, &d);
                ck_assert_uint_eq(gpipe.makespan, ideal + 2 * (p - 1) * c);
                ck_assert_uint_eq(one.makespan, ideal + 2 * c * ((p - 1) * (m / p) + p - 2));
            }
        }
    }
}

TEST(a_pipeline_of_tensor_groups_takes_8_4048_seconds)
{
    static struct ty_err err;
    const struct floor_shape shape = {4, 8, 8, 256, 10};
    struct ty_arena arena = {.head = NULL};
    struct ty_program program;
    struct ty_timeline timeline;
    ck_assert_int_eq(floor_program(&program, &shape, &arena, &err), 0);
    ck_assert_uint_eq(program.n_tasks, 7979008 + 114688); /* and the receives */
    for (size_t e = 0; e < 2; e++) {
        ck_assert_int_eq(ty_timeline_init(&timeline, &program, &err), 0);
        ck_assert_int_eq(executors[e](&timeline, &err), 0);
        ck_assert_uint_eq(timeline.makespan, 8404800000000);
        ty_timeline_release(&timeline);
    }
    ty_arena_release(&arena);
}

TEST(sweep_and_events_agree_to_the_picosecond)
{
    static struct ty_err err;
    for (uint64_t seed = 1; seed <= 1500; seed++) {
        struct ty_arena arena = {.head = NULL};
        struct ty_program program;
        struct ty_timeline a, b;
        ck_assert_int_eq(random_program(&program, seed, &arena, &err), 0);
        ck_assert_int_eq(ty_timeline_init(&a, &program, &err), 0);
        ck_assert_int_eq(ty_timeline_init(&b, &program, &err), 0);
        ck_assert_msg(ty_sweep(&a, &err) == 0, "seed %lu: %s", (unsigned long)seed, err.text);
        ck_assert_msg(ty_events(&b, &err) == 0, "seed %lu: %s", (unsigned long)seed, err.text);
        const size_t bytes = (size_t)program.n_tasks * sizeof(ty_ps);
        ck_assert_msg(memcmp(a.start, b.start, bytes) == 0, "seed %lu: starts differ",
                      (unsigned long)seed);
        ck_assert(a.dur == NULL || memcmp(a.dur, b.dur, bytes) == 0);
        ck_assert_uint_eq(a.makespan, b.makespan);
        ck_assert(ty_timeline_is_ordered(&a));
        ty_timeline_release(&a);
        ty_timeline_release(&b);
        ty_arena_release(&arena);
    }
}

TEST(buckets_of_every_rank_sum_to_the_makespan)
{
    static struct ty_err err;
    for (uint64_t seed = 1; seed <= 500; seed++) {
        struct ty_arena arena = {.head = NULL};
        struct ty_program program;
        struct ty_timeline t;
        struct ty_stats stats;
        ck_assert_int_eq(random_program(&program, seed, &arena, &err), 0);
        ck_assert_int_eq(ty_timeline_init(&t, &program, &err), 0);
        ck_assert_int_eq(ty_sweep(&t, &err), 0);
        ck_assert_int_eq(ty_stats_compute(&stats, &t, &arena, &err), 0);
        for (uint32_t r = 0; r < stats.n_ranks; r++) {
            ty_ps sum = 0;
            for (uint32_t b = 0; b < TY_N_BUCKETS; b++) {
                sum += stats.rank[r].bucket[b];
            }
            ck_assert_msg(sum == t.makespan, "seed %lu rank %u: %llu of %llu", (unsigned long)seed,
                          (unsigned)r, (unsigned long long)sum, (unsigned long long)t.makespan);
        }
        ty_timeline_release(&t);
        ty_arena_release(&arena);
    }
}

TEST(scaling_all_durations_scales_every_start)
{
    const struct ty_sched_durations one = {.forward = 3, .backward = 5, .edge = 2};
    const struct ty_sched_durations nine = {.forward = 27, .backward = 45, .edge = 18};
    for (uint32_t p = 1; p <= 6; p++) {
        for (uint32_t m = 1; m <= 12; m++) {
            ck_assert_uint_eq(9 * run_schedule(ty_sweep, "1f1b", p, m, &one).makespan,
                              run_schedule(ty_sweep, "1f1b", p, m, &nine).makespan);
        }
    }
}

/* Two stages, each waiting for the other's message before it sends its own. */
static int crossed(struct ty_program *program, struct ty_arena *arena, struct ty_err *err)
{
    struct ty_builder b = {.program = program, .arena = arena, .err = err};
    *program = (struct ty_program){.words = &ty_transformer_words, .n_steps = 1};
    ty_build_kind(&b, &(struct ty_kind){.name = "recv", .category = TY_CAT_COMM_PIPELINE});
    ty_build_kind(&b, &(struct ty_kind){.name = "send", .category = TY_CAT_COMM_PIPELINE});
    ty_build_channel(&b, &(struct ty_channel){"act", 0, 1, 4, 0, 0});
    ty_build_channel(&b, &(struct ty_channel){"grad", 1, 0, 4, 0, 0});
    for (uint32_t g = 0; g < 2; g++) {
        uint32_t *rank = ty_arena_array(arena, uint32_t, 1);
        rank[0] = g;
        ty_build_gang(&b, &(struct ty_gang){.name = g == 0 ? "stage 0" : "stage 1",
                                            .n_ranks = 1,
                                            .rank_of = rank});
        const int block = ty_build_block(&b, &(struct ty_block){.n_ops = 0});
        struct ty_op op = TY_OP_INIT;
        op.kind = 0;
        op.stream = TY_STREAM_RECV;
        op.sync = TY_SYNC_RECV;
        op.link = (uint16_t)(1 - g);
        op.record = 1;
        ty_build_op(&b, &op);
        op = (struct ty_op)TY_OP_INIT;
        op.kind = 1;
        op.stream = TY_STREAM_SEND;
        op.sync = TY_SYNC_SEND;
        op.link = (uint16_t)g;
        op.wait[0] = 1;
        ty_build_op(&b, &op);
        ty_build_pass(&b,
                      &(struct ty_pass){.block = (uint32_t)block,
                                        .seq = 3,
                                        .mb = 3,
                                        .phase = g == 0 ? TY_PHASE_BACKWARD : TY_PHASE_FORWARD});
    }
    return ty_program_seal(program, arena, err);
}

TEST(a_deadlock_names_ranks_streams_and_messages)
{
    for (size_t e = 0; e < 2; e++) {
        struct ty_err err = TY_ERR_NONE;
        struct ty_arena arena = {.head = NULL};
        struct ty_program program;
        struct ty_timeline t;
        ck_assert_int_eq(crossed(&program, &arena, &err), 0);
        ck_assert_int_eq(ty_timeline_init(&t, &program, &err), 0);
        ck_assert_int_eq(executors[e](&t, &err), TY_EDEADLOCK);
        ck_assert_int_eq(ty_exit_status(err.code), 4);
        ck_assert_str_eq(err.text,
                         "deadlock: 2 of 2 ranks can never finish; none of them ever moved\n"
                         "2 wait in a circle, each for the next and the last for the first:\n"
                         "  stage 0 (rank 0) stands at backward 3, pipeline recv stream: waits for "
                         "grad of micro-batch 3 from stage 1, which sends it in forward 3\n"
                         "  stage 1 (rank 1) stands at forward 3, pipeline recv stream: waits for "
                         "act of micro-batch 3 from stage 0, which sends it in backward 3");
        ty_timeline_release(&t);
        ty_arena_release(&arena);
    }
}

TEST(a_full_column_says_which_and_what_to_try)
{
    static struct ty_err err;
    struct ty_arena arena = {.head = NULL};
    struct ty_program program = {.n_kinds = 0};
    struct ty_builder b = {.program = &program, .arena = &arena, .err = &err};
    const struct ty_kind kind = {.name = "x"};
    for (uint32_t i = 0; i < TY_NONE; i++) {
        ck_assert_int_eq(ty_build_kind(&b, &kind), (int)i);
    }
    ck_assert_int_eq(ty_build_kind(&b, &kind), TY_ELIMIT);
    ck_assert_str_eq(err.text, "program: more than 65535 kinds, the most that can be numbered; try "
                               "fewer pipeline ranks, chunks or layers");
    ty_arena_release(&arena);
}

TY_SUITE("sweep")
