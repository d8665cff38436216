/* test_steps.c - collectives as messages: lists that can be sent, the time of the closed form when
 * alone, twice that where two meet, whole steps of training that agree with flows. */
#include "topology/collectives/script.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/core/execute/execute.h"
#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

static struct ty_err err;

/* ---- scripts ---- */

static const struct {
    const struct ty_coll_algorithm *algorithm;
    enum ty_coll coll;
} what[] = {
    {&ty_coll_ring, TY_COLL_ALL_REDUCE},     {&ty_coll_ring, TY_COLL_ALL_GATHER},
    {&ty_coll_ring, TY_COLL_REDUCE_SCATTER}, {&ty_coll_ring, TY_COLL_BROADCAST},
    {&ty_coll_ring, TY_COLL_REDUCE},         {&ty_coll_ring_ll128, TY_COLL_ALL_REDUCE},
    {&ty_coll_tree, TY_COLL_ALL_REDUCE},     {&ty_coll_direct, TY_COLL_ALL_TO_ALL},
};
static const struct {
    uint32_t n, g;
} shape[] = {{2, 1}, {8, 8}, {16, 8}, {12, 4}, {24, 1}, {64, 8}};

/* A script with a cost of 1 ms of latency and 7 ms of bytes. */
static bool make(struct ty_coll_script *s, size_t w, size_t i, double bytes, struct ty_arena *arena)
{
    const struct ty_reach reach = {.ranks = shape[i].n,
                                   .nodes = shape[i].n / shape[i].g,
                                   .per_node = shape[i].g,
                                   .sharing = 1,
                                   .root = shape[i].n / 2};
    const struct ty_coll_cost cost = {.latency_s = 1e-3,
                                      .transfer_s = 7e-3,
                                      .pattern = what[w].algorithm->pattern,
                                      .algorithm = what[w].algorithm};
    if ((what[w].algorithm == &ty_coll_tree && reach.nodes < 2) ||
        !ty_coll_has_script(&cost, &reach)) {
        return false;
    }
    ck_assert_msg(ty_coll_script(s, &cost, what[w].coll, bytes, &reach, arena, &err) == 0, "%s",
                  err.text);
    return true;
}

TEST(lists_are_by_sender_and_wait_for_what_comes_to_it)
{
    uint32_t made = 0;
    for (size_t k = 0; k < TY_COUNT(what) * TY_COUNT(shape); k++) {
        struct ty_arena arena = {.head = NULL};
        struct ty_coll_script s;
        const size_t w = k / TY_COUNT(shape), i = k % TY_COUNT(shape);
        if (!make(&s, w, i, 48e6, &arena)) {
            continue;
        }
        made++;
        bool good = s.send[0] == 0 && s.send[shape[i].n] == s.n;
        for (uint32_t m = 0; m < s.n; m++) {
            const struct ty_coll_message *at = &s.message[m];
            good = good && m >= s.send[at->from] && m < s.send[at->from + 1] &&
                   s.pair_from[at->pair] == at->from && s.pair_to[at->pair] == at->to;
            for (uint32_t a = 0; a < at->n_after; a++) {
                good = good && s.message[s.after[at->first_after + a]].to == at->from;
            }
        }
        ck_assert_msg(good, "%s of %u", what[w].algorithm->name, shape[i].n);
        ty_arena_release(&arena);
    }
    ck_assert_uint_ge(made, 35);
}

/* Bytes over all messages are those that the algorithm's steps carry, whatever the chunks. */
static void add_bytes(void *arg, const struct ty_coll_step *step)
{
    *(double *)arg += step->bytes;
}

TEST(no_byte_is_lost_or_added)
{
    for (size_t k = 0; k < TY_COUNT(what) * TY_COUNT(shape); k++) {
        struct ty_arena arena = {.head = NULL};
        struct ty_coll_script s;
        const size_t w = k / TY_COUNT(shape), i = k % TY_COUNT(shape);
        double emitted = 0, sum = 0;
        if (!make(&s, w, i, 48e6, &arena)) {
            continue;
        }
        what[w].algorithm->steps(what[w].coll, shape[i].n, shape[i].g, 48e6, add_bytes, &emitted);
        for (uint32_t m = 0; m < s.n; m++) {
            sum += s.message[m].bytes;
        }
        ck_assert_double_eq_tol(sum, emitted, 1e-9 * emitted);
        ty_arena_release(&arena);
    }
}

/* ---- scripts through the executor ---- */

struct solo {
    struct ty_arena arena;
    struct ty_program program;
    struct ty_link link[2];
    uint32_t rank[64];
    struct ty_timeline timeline;
    struct ty_contention shared;
};

/* Copies a script into a program, every pair a flow over `link` at Bps; returns its number + 1. */
static uint32_t add_script(struct ty_builder *b, const struct ty_coll_script *s, uint32_t positions,
                           uint32_t groups, double Bps, ty_ps *first_flow)
{
    struct ty_program *p = b->program;
    const struct ty_script script = {p->n_messages, s->n, p->n_sends, positions, s->n_pairs};
    const uint32_t after = p->n_afters;
    for (uint32_t i = 0; i < s->n_after; i++) {
        ty_build_after(b, s->after[i]);
    }
    for (uint32_t i = 0; i < s->n; i++) {
        const struct ty_coll_message *m = &s->message[i];
        ty_build_message(
            b, &(struct ty_message){m->to, m->pair, after + m->first_after, m->n_after,
                                    (ty_ps)((s->latency_s + m->bytes * s->s_per_B) * 1e12 + 0.5)});
    }
    for (uint32_t i = 0; i <= positions; i++) {
        ty_build_send(b, s->send[i]);
    }
    *first_flow = p->n_flows + 1;
    for (uint32_t i = 0; i < groups * s->n_pairs; i++) {
        const struct ty_flow flow = {
            .first_use = p->n_uses,
            .n_uses = 1,
            .weight = 1 / Bps,
            .lead = (ty_ps)(s->latency_s * 1e12 + 0.5),
        };
        ty_build_use(b, &(struct ty_use){0, Bps});
        ty_build_flow(b, &flow);
    }
    return (uint32_t)ty_build_script(b, &script) + 1;
}

/* Plays a script in `groups` groups at once, all of whose messages use one link, and returns the
 * makespan. */
static ty_ps play_on(const struct ty_coll_script *s, uint32_t n, uint32_t groups, double Bps,
                     double capacity)
{
    struct solo *q = calloc(1, sizeof(*q));
    struct ty_builder b = {.program = &q->program, .arena = &q->arena, .err = &err};
    ty_ps first_flow;
    q->program.words = &ty_transformer_words;
    q->link[0] = (struct ty_link){TY_LINK_NIC, TY_NO_NODE, capacity};
    q->program.links = q->link;
    q->program.n_links = q->program.n_steps = 1;
    for (uint32_t r = 0; r < n * groups; r++) {
        q->rank[r] = r;
    }
    const int group = ty_build_group(&b, &(struct ty_group){"dp", 1, n});
    ty_build_gang(&b, &(struct ty_gang){.name = "gang", .n_ranks = n * groups, .rank_of = q->rank});
    const int block = ty_build_block(&b, &(struct ty_block){.n_ops = 0});
    struct ty_kind kind = {.name = "all-reduce", .category = TY_CAT_COMM_DATA, .dur = 1};
    kind.script = add_script(&b, s, n, groups, Bps, &first_flow);
    kind.first_flow = (uint32_t)first_flow;
    struct ty_op op = TY_OP_INIT;
    op.kind = (uint16_t)ty_build_kind(&b, &kind);
    op.stream = TY_STREAM_DATA;
    op.sync = TY_SYNC_GROUP;
    op.link = (uint16_t)group;
    ty_build_op(&b, &op);
    ty_build_op(&b, &op); /* and once more after it */
    ty_build_pass(&b, &(struct ty_pass){.block = (uint32_t)block});
    ck_assert_msg(ty_program_seal(&q->program, &q->arena, &err) == 0, "%s", err.text);
    ck_assert_int_eq(ty_contention_find(&q->shared, &q->program, &q->arena, &err), 0);
    ck_assert_int_eq(ty_timeline_init(&q->timeline, &q->program, &err), 0);
    ck_assert_msg(ty_events_shared(&q->timeline, &q->shared, &err) == 0, "%s", err.text);
    const ty_ps makespan = q->timeline.makespan;
    ty_timeline_release(&q->timeline);
    ty_arena_release(&q->arena);
    free(q);
    return makespan;
}

TEST(alone_the_messages_take_what_the_closed_form_says)
{
    for (size_t k = 0; k < TY_COUNT(what) * TY_COUNT(shape); k++) {
        struct ty_arena arena = {.head = NULL};
        struct ty_coll_script s;
        const size_t w = k / TY_COUNT(shape), i = k % TY_COUNT(shape);
        if (!make(&s, w, i, 48e6, &arena)) {
            continue;
        }
        /* twice 8 ms, to within the rounding of each message */
        const double got = (double)play_on(&s, shape[i].n, 1, 1, 1e6) * 1e-12;
        if (what[w].algorithm == &ty_coll_tree) { /* here nodes have ports without end */
            ck_assert_double_le(got, 16e-3 + s.n * 1e-12);
            ck_assert_double_ge(got, 8e-3);
            ty_arena_release(&arena);
            continue;
        }
        ck_assert_msg(fabs(got - 16e-3) < s.n * 1e-12, "%s of %u: %.9f", what[w].algorithm->name,
                      shape[i].n, got);
        ty_arena_release(&arena);
    }
}

/* A ring of two sends two messages at a time; four of them on a link that carries two take twice as
 * long, but for latencies. */
TEST(rings_that_meet_on_a_link_divide_it)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_coll_script s;
    ck_assert(make(&s, 0, 0, 48e6, &arena));
    const double alone = (double)play_on(&s, 2, 1, 10, 20) * 1e-12;
    const double half = (double)play_on(&s, 2, 2, 10, 20) * 1e-12;
    ck_assert_double_eq_tol(alone, 16e-3, 1e-9);
    ck_assert_double_eq_tol(half, 2 * (1e-3 + 14e-3), 1e-9);
    ty_arena_release(&arena);
}

/* ---- training ---- */

#define RUN                                                                                        \
    "cluster:\n  preset: dgx-a100-80g\n  nodes: 4\n  collectives: %s\n"                            \
    "model:\n  preset: llama-13b\n  layers: 8\n  sequence: 2048\n"                                 \
    "layout:\n  tensor: 2\n  pipeline: 2\n  global_batch: 64\n  zero: 1\n"                         \
    "framework:\n  overlap_grad_reduce: false\n"

/* One collective after the other, each with its links to itself: messages sum up to flows. */
TEST(training_takes_as_long_as_with_flows_where_collectives_are_alone)
{
    static const char *const algorithms[] = {"ring", "tree", "auto"};
    for (size_t i = 0; i < TY_COUNT(algorithms); i++) {
        char yaml[1024];
        (void)snprintf(yaml, sizeof(yaml), RUN, algorithms[i]);
        struct quick_run flows = quick_run(yaml, NULL, NULL);
        struct quick_run steps =
            quick_run(yaml, NULL, (const char *const[]){"run.detail=steps", NULL});
        ck_assert_uint_gt(steps.run->lowered.program.n_messages, 100);
        ck_assert_str_eq(steps.run->engine, "events");
        ck_assert_double_eq_tol(steps.figures.step_s / flows.figures.step_s, 1, 2e-3);
        quick_run_free(&flows);
        quick_run_free(&steps);
    }
}

TEST(steps_give_the_same_bits_again)
{
    char yaml[1024];
    (void)snprintf(yaml, sizeof(yaml), RUN, "auto");
    const char *const sets[] = {"run.detail=steps", "cluster.nics_per_node=2",
                                "framework.overlap_grad_reduce=true", NULL};
    struct quick_run a = quick_run(yaml, NULL, sets), b = quick_run(yaml, NULL, sets);
    ck_assert_uint_gt(a.run->shared.n_links, 0);
    ck_assert_mem_eq(a.run->timeline.start, b.run->timeline.start,
                     a.run->lowered.program.n_tasks * sizeof(ty_ps));
    ck_assert_mem_eq(a.run->timeline.dur, b.run->timeline.dur,
                     a.run->lowered.program.n_tasks * sizeof(ty_ps));
    quick_run_free(&a);
    quick_run_free(&b);
}

TY_SUITE("steps")
