/* test_merge.c - programs merged onto one set of links: each as by itself where nothing is shared,
 * slowed by what is shared where something is. */
#include "model/vocabulary.h"
#include "sim/core/program/merge.h"

#include <string.h>

#include "sim/core/deadlock/mismatch.h"
#include "sim/core/execute/execute.h"
#include "tests/common/random_program.h"
#include "tests/unit/suite.h"

static struct ty_err err;

/* ---- random programs ---- */

#define PARTS_MAX 4u

struct several {
    struct ty_arena arena;
    struct ty_program program[PARTS_MAX], merged;
    uint32_t n;
};

static void several_make(struct several *s, uint64_t seed)
{
    struct ty_merge_part parts[PARTS_MAX];
    *s = (struct several){.n = 1 + (uint32_t)(seed % PARTS_MAX)};
    for (uint32_t i = 0; i < s->n; i++) {
        ck_assert_int_eq(random_program(&s->program[i], 7 * seed + i, &s->arena, &err), 0);
        parts[i] = (struct ty_merge_part){i == 0 ? "" : "job", &s->program[i]};
    }
    ck_assert_msg(ty_program_merge(&s->merged, parts, s->n, &s->arena, &err) == 0, "%s", err.text);
}

typedef int execute_fn(struct ty_timeline *timeline, struct ty_err *err);

static void run(struct ty_timeline *t, const struct ty_program *p, execute_fn *execute)
{
    ck_assert_int_eq(ty_timeline_init(t, p, &err), 0);
    ck_assert_msg(execute(t, &err) == 0, "%s", err.text);
}

static void check_part(const struct ty_timeline *part, const struct ty_timeline *alone,
                       unsigned long seed)
{
    const struct ty_program *p = part->program;
    const size_t bytes = p->n_tasks * sizeof(ty_ps);
    ck_assert_msg(memcmp(part->start, alone->start, bytes) == 0, "seed %lu", seed);
    ck_assert_uint_eq(part->makespan, alone->makespan);
    for (uint32_t rank = 0; rank < p->n_ranks; rank++) {
        struct ty_span_cursor a = ty_spans_of(part, rank), b = ty_spans_of(alone, rank);
        struct ty_span x, y;
        while (ty_span_next(&a, &x) && ty_span_next(&b, &y)) {
            ck_assert_uint_eq(x.dur, y.dur);
        }
    }
}

static void each_as_by_itself(execute_fn *execute)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct several s;
        struct ty_timeline whole;
        ty_ps longest = 0;
        several_make(&s, seed);
        run(&whole, &s.merged, execute);
        for (uint32_t i = 0; i < s.n; i++) {
            struct ty_timeline alone;
            run(&alone, &s.program[i], execute);
            struct ty_timeline part;
            ck_assert_int_eq(ty_timeline_part(&part, &whole, i, &s.program[i], &s.arena, &err), 0);
            check_part(&part, &alone, (unsigned long)seed);
            longest = alone.makespan > longest ? alone.makespan : longest;
            ty_timeline_release(&alone);
        }
        ck_assert_uint_eq(whole.makespan, longest);
        ty_timeline_release(&whole);
        ty_arena_release(&s.arena);
    }
}

TEST(where_nothing_is_shared_each_part_is_as_by_itself_in_the_sweep)
{
    each_as_by_itself(ty_sweep);
}

TEST(and_in_the_queue)
{
    each_as_by_itself(ty_events);
}

TEST(ranks_tasks_and_gangs_follow_one_another)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct several s;
        uint64_t tasks = 0;
        uint32_t ranks = 0, gangs = 0;
        several_make(&s, seed);
        ck_assert_uint_eq(s.merged.n_tenants, s.n);
        for (uint32_t i = 0; i < s.n; i++) {
            const struct ty_tenant *t = &s.merged.tenants[i];
            ck_assert_uint_eq(t->first_rank, ranks);
            ck_assert_uint_eq(t->first_gang, gangs);
            ck_assert_uint_eq(s.merged.gangs[gangs].first_task, tasks);
            ck_assert_uint_eq(s.merged.gangs[gangs].tenant, i);
            ranks += s.program[i].n_ranks;
            gangs += s.program[i].n_gangs;
            tasks += s.program[i].n_tasks;
        }
        ck_assert_uint_eq(s.merged.n_ranks, ranks);
        ck_assert_uint_eq(s.merged.n_tasks, tasks);
        ty_arena_release(&s.arena);
    }
}

/* ---- programs made by hand: one rank, one flow after another on one link ---- */

static const uint32_t rank_0[] = {0};
static struct ty_link links[] = {
    {TY_LINK_NIC, TY_NO_NODE, 1e9}, {TY_LINK_NIC, TY_NO_NODE, 1e9}, {TY_LINK_NIC, TY_NO_NODE, 1e9}};

/* n flows of 1000 ps at 1 GB/s through a link. */
static void make_flows(struct ty_program *p, uint32_t link, uint32_t n, struct ty_arena *arena)
{
    *p = (struct ty_program){
        .words = &ty_transformer_words, .n_steps = 1, .links = links, .n_links = 3};
    p->jitter.group = TY_NONE;
    struct ty_builder b = {.program = p, .arena = arena, .err = &err};
    ty_build_gang(&b, &(struct ty_gang){.name = "rank", .n_ranks = 1, .rank_of = rank_0});
    ty_build_block(&b, &(struct ty_block){.n_ops = 0});
    ty_build_pass(&b, &(struct ty_pass){.block = 0});
    ty_build_use(&b, &(struct ty_use){link, 1e9});
    ty_build_flow(&b, &(struct ty_flow){.n_uses = 1, .weight = 1e-9});
    ty_build_kind(&b,
                  &(struct ty_kind){
                      .name = "flow", .category = TY_CAT_COMM_DATA, .dur = 1000, .first_flow = 1});
    for (uint32_t i = 0; i < n; i++) {
        struct ty_op op = TY_OP_INIT;
        op.stream = TY_STREAM_DATA;
        ty_build_op(&b, &op);
    }
    ck_assert_msg(ty_program_seal(p, arena, &err) == 0, "%s", err.text);
}

/* Ends of two parts with that many flows each through these links, and how many links could be
 * contended. */
static uint32_t two(const uint32_t link[2], const uint32_t n[2], ty_ps end[2])
{
    struct ty_arena arena = {.head = NULL};
    struct ty_program p[2], merged;
    struct ty_contention shared;
    struct ty_timeline t;
    for (uint32_t i = 0; i < 2; i++) {
        make_flows(&p[i], link[i], n[i], &arena);
    }
    const struct ty_merge_part parts[] = {{"", &p[0]}, {"other", &p[1]}};
    ck_assert_int_eq(ty_program_merge(&merged, parts, 2, &arena, &err), 0);
    ck_assert_int_eq(ty_contention_find(&shared, &merged, &arena, &err), 0);
    ck_assert_int_eq(ty_timeline_init(&t, &merged, &err), 0);
    ck_assert_int_eq(ty_events_shared(&t, &shared, &err), 0);
    for (uint32_t i = 0; i < 2; i++) {
        struct ty_timeline part;
        ck_assert_int_eq(ty_timeline_part(&part, &t, i, &p[i], &arena, &err), 0);
        end[i] = part.makespan;
    }
    ty_timeline_release(&t);
    ty_arena_release(&arena);
    return shared.n_links;
}

TEST(parts_that_share_a_link_take_twice_as_long_and_on_two_not_at_all_longer)
{
    ty_ps end[2];
    ck_assert_uint_eq(two((uint32_t[]){1, 1}, (uint32_t[]){3, 3}, end), 1);
    ck_assert_uint_eq(end[0], 6000);
    ck_assert_uint_eq(end[1], 6000);
    ck_assert_uint_eq(two((uint32_t[]){1, 2}, (uint32_t[]){3, 3}, end), 0);
    ck_assert_uint_eq(end[0], 3000);
    ck_assert_uint_eq(end[1], 3000);
}

TEST(who_stays_has_the_link_to_itself_when_the_other_has_gone)
{
    ty_ps end[2];
    two((uint32_t[]){0, 0}, (uint32_t[]){1, 4}, end);
    ck_assert_uint_eq(end[0], 2000);
    ck_assert_uint_eq(end[1], 5000); /* all bytes through a link that is never idle */
}

TEST(steps_end_where_their_last_task_ends)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct ty_arena arena = {.head = NULL};
        struct ty_program p;
        struct ty_timeline t;
        ck_assert_int_eq(random_program(&p, seed, &arena, &err), 0);
        run(&t, &p, ty_sweep);
        ty_ps *end = ty_arena_array(&arena, ty_ps, p.n_steps);
        ty_timeline_step_ends(&t, end);
        ck_assert_uint_eq(end[p.n_steps - 1], t.makespan);
        ck_assert_uint_eq(ty_timeline_end(&t, 0, p.n_gangs), t.makespan);
        ty_timeline_release(&t);
        ty_arena_release(&arena);
    }
}

/* ---- parts that cannot finish ---- */

/* Two gangs of a rank each that come to a meeting which says who they are; `late` never comes. */
static void make_meeting(struct ty_program *p, bool late, struct ty_arena *arena)
{
    static const uint32_t ranks[] = {0, 1}, both[] = {0, 1};
    *p = (struct ty_program){
        .words = &ty_transformer_words, .n_steps = 1, .links = links, .n_links = 3};
    p->jitter.group = TY_NONE;
    struct ty_builder b = {.program = p, .arena = arena, .err = &err};
    ty_build_kind(&b, &(struct ty_kind){.name = "work", .dur = 10});
    ty_build_kind(&b, &(struct ty_kind){.name = "all-reduce", .dur = 1000});
    ty_build_meet(
        &b, &(struct ty_meet){.name = "meeting", .group = TY_NONE, .n_gangs = 2, .gangs = both});
    for (uint32_t g = 0; g < 2; g++) {
        struct ty_op work = TY_OP_INIT, meeting = TY_OP_INIT;
        meeting.kind = 1;
        meeting.stream = TY_STREAM_DATA;
        meeting.sync = TY_SYNC_MEET;
        meeting.link = 0;
        ty_build_gang(&b, &(struct ty_gang){.name = "gang", .n_ranks = 1, .rank_of = &ranks[g]});
        ty_build_block(&b, &(struct ty_block){.n_ops = 0});
        ty_build_op(&b, &work);
        if (g == 0 || !late) {
            ty_build_op(&b, &meeting);
        }
        ty_build_pass(&b, &(struct ty_pass){.block = g});
    }
    ck_assert_msg(ty_program_seal(p, arena, &err) == 0, "%s", err.text);
}

TEST(members_of_a_meeting_are_those_of_their_part)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_program p, merged;
    struct ty_mismatch mismatch;
    make_meeting(&p, false, &arena);
    const struct ty_merge_part parts[] = {{"", &p}, {"other", &p}, {"third", &p}};
    ck_assert_int_eq(ty_program_merge(&merged, parts, 3, &arena, &err), 0);
    for (uint32_t i = 0; i < 6; i++) {
        ck_assert_uint_eq(merged.meets[i / 2].gangs[i % 2], i);
    }
    ck_assert_int_eq(ty_mismatch_find(&mismatch, &merged, &arena, &err), 0);
    ck_assert_uint_eq(mismatch.n, 0);
    ty_arena_release(&arena);
}

TEST(a_part_that_halts_does_so_alone)
{
    execute_fn *const engines[] = {ty_sweep, ty_events};
    for (size_t e = 0; e < TY_COUNT(engines); e++) {
        struct ty_arena arena = {.head = NULL};
        struct ty_program good, bad, merged;
        struct ty_timeline whole, part;
        make_meeting(&good, false, &arena);
        make_meeting(&bad, true, &arena);
        const struct ty_merge_part parts[] = {{"", &good}, {"stuck", &bad}, {"last", &good}};
        ck_assert_int_eq(ty_program_merge(&merged, parts, 3, &arena, &err), 0);
        ck_assert_int_eq(ty_timeline_init(&whole, &merged, &err), 0);
        err = (struct ty_err)TY_ERR_NONE;
        ck_assert_int_eq(engines[e](&whole, &err), TY_EDEADLOCK);
        ck_assert_ptr_nonnull(strstr(err.text, "stuck gang (rank 0) stands at"));
        ck_assert_ptr_nonnull(strstr(err.text, "stuck gang never comes"));
        for (uint32_t i = 0; i < 3; i++) {
            ck_assert_int_eq(ty_timeline_part(&part, &whole, i, parts[i].program, &arena, &err), 0);
            ck_assert_int_eq(part.halt != NULL, i == 1);
            ck_assert_uint_eq(part.makespan, i == 1 ? 10 : 1000);
            ck_assert_uint_eq(part.program->n_gangs, 2);
        }
        ty_timeline_release(&whole);
        ty_arena_release(&arena);
    }
}

/* ---- what cannot be merged ---- */

TEST(more_kinds_than_can_be_numbered_are_refused)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_program p, merged;
    make_flows(&p, 0, 1, &arena);
    struct ty_kind *kinds = ty_arena_array(&arena, struct ty_kind, 40000);
    for (uint32_t k = 0; k < 40000; k++) {
        kinds[k] = p.kinds[0];
    }
    p.kinds = kinds;
    p.n_kinds = 40000;
    const struct ty_merge_part parts[] = {{"", &p}, {"other", &p}};
    err = (struct ty_err)TY_ERR_NONE;
    ck_assert_int_eq(ty_program_merge(&merged, parts, 2, &arena, &err), TY_ELIMIT);
    ck_assert_ptr_nonnull(strstr(err.text, "more than 65535 kinds"));
    ty_arena_release(&arena);
}

TEST(other_links_are_refused)
{
    static const struct ty_link faster[] = {{TY_LINK_NIC, TY_NO_NODE, 1e9},
                                            {TY_LINK_NIC, TY_NO_NODE, 2e9},
                                            {TY_LINK_NIC, TY_NO_NODE, 1e9}};
    struct ty_arena arena = {.head = NULL};
    struct ty_program a, b, merged;
    make_flows(&a, 0, 1, &arena);
    make_flows(&b, 0, 1, &arena);
    const struct ty_merge_part parts[] = {{"", &a}, {"other", &b}};
    b.n_links = 2;
    ck_assert_int_eq(ty_program_merge(&merged, parts, 2, &arena, &err), TY_EBUG);
    b.n_links = 3;
    b.links = faster;
    ck_assert_int_eq(ty_program_merge(&merged, parts, 2, &arena, &err), TY_EBUG);
    ty_arena_release(&arena);
}

TY_SUITE("merge")
