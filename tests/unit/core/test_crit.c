/* test_crit.c - the critical path is a chain without gaps, as long as the run. */
#include "sim/core/analyse/crit.h"
#include "sim/core/execute/execute.h"
#include "tests/common/floor_program.h"
#include "tests/common/random_program.h"
#include "tests/unit/suite.h"

struct chain {
    ty_ps next; /* start of the task visited before, which comes after */
    ty_ps sum;
    bool broken;
};

static void follow(void *arg, const struct ty_crit_task *task)
{
    struct chain *chain = arg;
    chain->broken = chain->broken || task->start + task->dur + task->delay != chain->next;
    chain->next = task->start;
    chain->sum += task->dur + task->delay;
}

TEST(the_path_of_random_programs_has_no_gap_and_spans_the_run)
{
    static struct ty_err err;
    for (uint64_t seed = 1; seed <= 600; seed++) {
        struct ty_arena arena = {.head = NULL};
        struct ty_program program;
        struct ty_timeline t;
        ck_assert_int_eq(random_program(&program, seed, &arena, &err), 0);
        ck_assert_int_eq(ty_timeline_init(&t, &program, &err), 0);
        ck_assert_int_eq(ty_sweep(&t, &err), 0);
        struct chain chain = {.next = t.makespan};
        ck_assert_msg(ty_critical_path(&t, follow, &chain, &err) == 0, "seed %lu: %s",
                      (unsigned long)seed, err.text);
        ck_assert_msg(!chain.broken && chain.next == 0 && chain.sum == t.makespan, "seed %lu",
                      (unsigned long)seed);
        ty_timeline_release(&t);
        ty_arena_release(&arena);
    }
}

/* 1F1B with equal stages: the path is one fill, all rounds of one stage, one drain; of 8.4048 s
 * here 263 passes of each direction compute, and 90 us are waited for on each hop. */
TEST(the_path_of_1f1b_is_m_plus_p_minus_1_rounds_and_their_messages)
{
    static struct ty_err err;
    const struct floor_shape shape = {1, 4, 1, 8, 2};
    struct ty_arena arena = {.head = NULL};
    struct ty_program program;
    struct ty_timeline t;
    ck_assert_int_eq(floor_program(&program, &shape, &arena, &err), 0);
    ck_assert_int_eq(ty_timeline_init(&t, &program, &err), 0);
    ck_assert_int_eq(ty_sweep(&t, &err), 0);
    const ty_ps round = 2 * (ty_ps)(1080 + 2100) * 1000000;
    struct chain chain = {.next = t.makespan};
    ck_assert_int_eq(ty_critical_path(&t, follow, &chain, &err), 0);
    ck_assert_uint_eq(chain.sum, t.makespan);
    ck_assert_uint_eq(t.makespan, (8 + 3) * round + 2 * (3 * 2 + 2) * (ty_ps)90000000);
    ty_timeline_release(&t);
    ty_arena_release(&arena);
}

TY_SUITE("crit")
