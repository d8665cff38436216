/* test_joined.c - timelines on one clock: each is in the whole as it was by itself. */
#include "sim/core/analyse/joined.h"

#include <string.h>

#include "sim/core/analyse/stats.h"
#include "sim/core/execute/execute.h"
#include "tests/common/random_program.h"
#include "tests/unit/halt.h"
#include "tests/unit/suite.h"

#define PARTS 3u

static struct ty_err err;

struct several {
    struct ty_arena arena;
    struct ty_program program[PARTS];
    struct ty_timeline alone[PARTS], all;
};

static void several_make(struct several *s, uint64_t seed)
{
    struct ty_beside_part parts[PARTS];
    *s = (struct several){.all = {.makespan = 0}};
    for (uint32_t i = 0; i < PARTS; i++) {
        ck_assert_int_eq(random_program(&s->program[i], 5 * seed + i, &s->arena, &err), 0);
        ck_assert_int_eq(ty_timeline_init(&s->alone[i], &s->program[i], &err), 0);
        ck_assert_int_eq(ty_sweep(&s->alone[i], &err), 0);
        parts[i] = (struct ty_beside_part){"run", &s->alone[i]};
    }
    ck_assert_msg(ty_timeline_beside(&s->all, parts, PARTS, &s->arena, &err) == 0, "%s", err.text);
}

static void several_release(struct several *s)
{
    for (uint32_t i = 0; i < PARTS; i++) {
        ty_timeline_release(&s->alone[i]);
    }
    ty_timeline_release(&s->all);
    ty_arena_release(&s->arena);
}

TEST(every_task_is_where_it_was)
{
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct several s;
        ty_ps longest = 0;
        uint32_t rank = 0;
        several_make(&s, seed);
        for (uint32_t i = 0; i < PARTS; i++) {
            longest = s.alone[i].makespan > longest ? s.alone[i].makespan : longest;
            for (uint32_t r = 0; r < s.program[i].n_ranks; r++, rank++) {
                struct ty_span_cursor a = ty_spans_of(&s.alone[i], r);
                struct ty_span_cursor b = ty_spans_of(&s.all, rank);
                struct ty_span x, y;
                while (ty_span_next(&a, &x)) {
                    ck_assert(ty_span_next(&b, &y));
                    ck_assert_uint_eq(x.start, y.start);
                    ck_assert_uint_eq(x.dur, y.dur);
                    ck_assert_str_eq(x.kind->name, y.kind->name);
                }
                ck_assert(!ty_span_next(&b, &y));
            }
        }
        ck_assert_uint_eq(s.all.makespan, longest);
        several_release(&s);
    }
}

TEST(statistics_of_a_rank_are_those_of_its_run)
{
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct several s;
        struct ty_stats all, own;
        uint32_t rank = 0;
        several_make(&s, seed);
        ck_assert_int_eq(ty_stats_compute(&all, &s.all, &s.arena, &err), 0);
        for (uint32_t i = 0; i < PARTS; i++) {
            ck_assert_int_eq(ty_stats_compute(&own, &s.alone[i], &s.arena, &err), 0);
            for (uint32_t r = 0; r < s.program[i].n_ranks; r++, rank++) {
                ck_assert_mem_eq(all.rank[rank].bucket, own.rank[r].bucket,
                                 sizeof(own.rank[r].bucket));
            }
        }
        several_release(&s);
    }
}

TEST(where_one_stopped_the_whole_is_cut_there)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct several s;
        struct ty_beside_part parts[2];
        struct ty_timeline both;
        const struct ty_pass *pass;
        several_make(&s, seed);
        struct ty_timeline cut = s.alone[1];
        struct ty_stop *stop = ty_arena_array(&s.arena, struct ty_stop, s.program[1].n_gangs);
        cut.arena = (struct ty_arena){.head = NULL};
        stop[0].pass = 1; /* the first gang gets that far, the others nowhere */
        ck_assert_int_eq(halt_at(&cut, stop, &s.arena, &err), 0);
        parts[0] = (struct ty_beside_part){"a", &s.alone[0]};
        parts[1] = (struct ty_beside_part){"b", &cut};
        ck_assert_msg(ty_timeline_beside(&both, parts, 2, &s.arena, &err) == 0, "%s", err.text);
        ck_assert_ptr_nonnull(both.halt);
        for (uint32_t g = 0; g < both.program->n_gangs; g++) {
            const bool first = g < s.program[0].n_gangs;
            const uint32_t kept =
                first ? s.program[0].gangs[g].n_passes : g == s.program[0].n_gangs;
            ck_assert_uint_eq(both.program->gangs[g].n_passes, kept);
            const bool over =
                first || s.program[1].gangs[g - s.program[0].n_gangs].n_passes <= kept;
            ck_assert_int_eq(ty_timeline_blocked_op(&both, g, &pass) == NULL, over);
        }
        ck_assert_uint_eq(both.makespan,
                          cut.makespan > s.alone[0].makespan ? cut.makespan : s.alone[0].makespan);
        ty_timeline_release(&both);
        several_release(&s);
    }
}

TY_SUITE("joined")
