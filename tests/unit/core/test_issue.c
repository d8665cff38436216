/* test_issue.c - operations in issue order: against the tasks of each rank, which stand in it. */
#include "sim/core/program/issue.h"

#include "sim/core/program/timeline.h"
#include "tests/common/random_program.h"
#include "tests/unit/suite.h"

static struct ty_err err;

/* Every operation of a gang, as the timeline's cursor has them for one of its ranks. */
static void check_gang(const struct ty_timeline *t, const struct ty_gang *gang)
{
    struct ty_span_cursor cursor = ty_spans_of(t, gang->rank_of[0]);
    struct ty_span span;
    uint64_t n = 0;
    for (struct ty_issue at = ty_issue_of(t->program, gang); ty_issue_next(&at); n++) {
        ck_assert(ty_span_next(&cursor, &span));
        ck_assert_ptr_eq(at.pass, span.pass);
        ck_assert_ptr_eq(at.op, span.op);
        ck_assert_uint_eq(at.ordinal, span.ordinal);
    }
    ck_assert(!ty_span_next(&cursor, &span));
    ck_assert_uint_eq(n, gang->n_ops);
}

TEST(operations_come_in_the_order_of_tasks)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct ty_arena arena = {.head = NULL};
        struct ty_program program;
        struct ty_timeline timeline;
        ck_assert_int_eq(random_program(&program, seed, &arena, &err), 0);
        ck_assert_int_eq(ty_timeline_init(&timeline, &program, &err), 0);
        for (uint32_t g = 0; g < program.n_gangs; g++) {
            check_gang(&timeline, &program.gangs[g]);
        }
        ty_timeline_release(&timeline);
        ty_arena_release(&arena);
    }
}

/* Blocks of 0, 2, 0 and 1 operations; a pass may do nothing, a gang, too. */
TEST(passes_without_operations_are_skipped)
{
    struct ty_op ops[] = {TY_OP_INIT, TY_OP_INIT, TY_OP_INIT};
    struct ty_block blocks[] = {{.first = 0}, {.n_ops = 2}, {.first = 2}, {.first = 2, .n_ops = 1}};
    struct ty_pass passes[] = {{.block = 0},
                               {.block = 1},
                               {.block = 2, .first_op = 2},
                               {.block = 3, .first_op = 2},
                               {.block = 0, .first_op = 3}};
    const struct ty_gang gangs[] = {{.n_passes = 5, .n_ops = 3}, {.first_pass = 4, .n_passes = 1}};
    const struct ty_program program = {.ops = ops,
                                       .blocks = blocks,
                                       .passes = passes,
                                       .n_ops = 3,
                                       .n_blocks = TY_COUNT(blocks),
                                       .n_passes = TY_COUNT(passes)};
    struct ty_issue at = ty_issue_of(&program, &gangs[0]);
    ops[2].sync = TY_SYNC_MEET;
    ops[2].link = 7;
    for (uint32_t i = 0; i < 3; i++) {
        ck_assert(ty_issue_next(&at));
        ck_assert_ptr_eq(at.op, &ops[i]);
        ck_assert_ptr_eq(at.pass, &passes[i < 2 ? 1 : 3]);
        ck_assert_uint_eq(at.ordinal, i);
    }
    ck_assert(!ty_issue_next(&at));
    ck_assert(ty_gang_meets(&program, &gangs[0], 7));
    ck_assert(!ty_gang_meets(&program, &gangs[0], 6));
    ck_assert(!ty_gang_meets(&program, &gangs[1], 7));
}

TY_SUITE("issue")
