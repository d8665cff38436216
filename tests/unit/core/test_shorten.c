/* A shortened execution stands for the whole one: every start and duration of random pipelines, and
 * every sum over them, with and without shared links, by both executors. */
#include "sim/core/execute/shorten.h"

#include <stdio.h>
#include <string.h>

#include "model/vocabulary.h"
#include "sim/base/noise.h"
#include "sim/core/analyse/stats.h"
#include "sim/core/execute/execute.h"
#include "tests/unit/suite.h"

/* ---- random pipelines ---- */

#define STAGES         6u
#define LINKS          3u
#define EVENT_RECEIVED 0
#define EVENT_COMPUTED 1
#define EVENT_SUMMED   2
#define EVENT_COPIED   4

enum style {
    ONE_BY_ONE, /* a forward, a backward, behind a warm-up of any depth */
    IN_GROUPS,  /* so many forwards, as many backwards */
    FLUSHED,    /* all forwards, then all backwards */
    REVERSED,   /* the same, the last first */
    N_STYLES
};

struct pipeline {
    struct ty_arena arena;
    struct ty_program program;
    struct ty_builder b;
    struct ty_link links[LINKS];
    uint64_t seed, n_rolls;
    uint32_t p, m, group, warm[STAGES];
    enum style style;
    bool shares, uneven, exchanges, late; /* late: some take as long as many passes */
};
static struct ty_err err;
static const uint32_t rank_of[STAGES] = {0, 1, 2, 3, 4, 5};

static uint32_t roll(struct pipeline *l, uint32_t below)
{
    return (uint32_t)(ty_hash4(l->seed, l->n_rolls++, 77, 0) % below);
}

static ty_ps duration(struct pipeline *l)
{
    const uint32_t scale = l->uneven ? 400 : 3;
    if (l->late && roll(l, 12) == 0) {
        return 500 + roll(l, 20000);
    }
    return roll(l, 8) == 0 ? 0 : 1 + (ty_ps)roll(l, scale) * (l->uneven ? 1 : 100);
}

/* An operation that waits for up to two events. */
static void add(struct pipeline *l, uint8_t stream, uint8_t category, enum ty_sync sync,
                uint16_t link, uint8_t wait, uint8_t also, uint8_t record)
{
    struct ty_kind kind = {.name = "work", .category = category, .dur = duration(l)};
    struct ty_op op = TY_OP_INIT;
    if (stream != TY_STREAM_COMPUTE && l->shares && roll(l, 3) != 0) {
        const double Bps = 1e9 * (1 + roll(l, 4));
        struct ty_flow flow = {
            .first_use = l->program.n_uses, .n_uses = 1, .weight = 1 / Bps, .lead = roll(l, 20)};
        ty_build_use(&l->b, &(struct ty_use){roll(l, LINKS), Bps});
        kind.first_flow = (uint32_t)ty_build_flow(&l->b, &flow) + 1;
        kind.slows = roll(l, 2) == 0 ? 0.2 : 0;
        kind.alone = kind.dur + roll(l, 5);
    }
    op.kind = (uint16_t)ty_build_kind(&l->b, &kind);
    op.stream = stream;
    op.sync = (uint8_t)sync;
    op.link = sync == TY_SYNC_LOCAL ? TY_NONE : link;
    op.wait[0] = wait == TY_NO_EVENT ? also : wait;
    op.wait[1] = wait == TY_NO_EVENT ? TY_NO_EVENT : also;
    op.record = record;
    op.layer = (uint16_t)roll(l, 3);
    ty_build_op(&l->b, &op);
}

/* A pass: what is received, computed, summed up beside it and sent. */
static uint32_t add_block(struct pipeline *l, int in, int out, bool sums)
{
    const int block = ty_build_block(&l->b, &(struct ty_block){.acquire_B = 1});
    const uint32_t n = 1 + roll(l, 3);
    if (in >= 0) {
        add(l, TY_STREAM_RECV, TY_CAT_COMM_PIPELINE, TY_SYNC_RECV, (uint16_t)in, TY_NO_EVENT,
            TY_NO_EVENT, EVENT_RECEIVED);
    }
    for (uint32_t i = 0; i < n; i++) {
        const bool exchanges = l->exchanges && roll(l, 2) == 0;
        add(l, TY_STREAM_COMPUTE, TY_CAT_FORWARD, TY_SYNC_LOCAL, 0, in >= 0 ? EVENT_RECEIVED : 3,
            roll(l, 3) == 0   ? EVENT_SUMMED
            : roll(l, 3) == 0 ? EVENT_COPIED
                              : TY_NO_EVENT,
            EVENT_COMPUTED);
        if (exchanges) {
            add(l, TY_STREAM_TENSOR, TY_CAT_COMM_EXPERT, TY_SYNC_GROUP, 0, EVENT_COMPUTED,
                TY_NO_EVENT, 3);
        }
    }
    if (sums) {
        add(l, TY_STREAM_DATA, TY_CAT_COMM_DATA, TY_SYNC_GROUP, 0, EVENT_COMPUTED, TY_NO_EVENT,
            EVENT_SUMMED);
    }
    if (sums && roll(l, 2) == 0) { /* on a stream of its own, waited for by whoever comes */
        add(l, TY_STREAM_REPLICA, TY_CAT_COMM_DATA, TY_SYNC_GROUP, 0,
            roll(l, 2) == 0 ? EVENT_COMPUTED : TY_NO_EVENT, TY_NO_EVENT, EVENT_COPIED);
    }
    if (out >= 0) {
        add(l, TY_STREAM_SEND, TY_CAT_COMM_PIPELINE, TY_SYNC_SEND, (uint16_t)out, EVENT_COMPUTED,
            TY_NO_EVENT, TY_NO_EVENT);
    }
    return (uint32_t)block;
}

static void add_pass(struct pipeline *l, uint32_t block, uint32_t step, uint32_t mb)
{
    ty_build_pass(&l->b, &(struct ty_pass){.block = block,
                                           .seq = step * l->m + mb,
                                           .mb = (uint16_t)mb,
                                           .step = (uint16_t)step,
                                           .phase = TY_PHASE_FORWARD});
}

/* The order of one step of a stage: f[0] is the block of the first forward, f[1] of others. */
static void add_step(struct pipeline *l, uint32_t s, uint32_t step, const uint32_t f[2],
                     const uint32_t b[2])
{
    const uint32_t m = l->m;
    uint32_t warm = l->style == FLUSHED || l->style == REVERSED ? m : l->warm[s];
    warm = warm < m ? warm : m;
    uint32_t forward = 0, backward = 0;
    for (; forward < warm; forward++) {
        add_pass(l, f[forward > 0], step, forward);
    }
    while (backward < m) {
        for (uint32_t i = 0; i < l->group && forward < m; i++, forward++) {
            add_pass(l, f[forward > 0], step, forward);
        }
        for (uint32_t i = 0; i < l->group && backward < m; i++, backward++) {
            add_pass(l, b[backward == m - 1], step,
                     l->style == REVERSED ? m - 1 - backward : backward);
        }
    }
}

static void add_stage(struct pipeline *l, uint32_t s, uint32_t steps, int meet)
{
    const int in = (int)s - 1, out = s + 1 < l->p ? (int)s : -1, back = (int)l->p - 1;
    const int grad = out >= 0 ? back + (int)s : -1, given = s > 0 ? back + in : -1;
    ty_build_gang(&l->b, &(struct ty_gang){.name = "stage", .n_ranks = 1, .rank_of = &rank_of[s]});
    uint32_t f[2], b[2];
    const bool special = roll(l, 2) == 0, sums = roll(l, 2) == 0;
    f[1] = add_block(l, in, out, false);
    f[0] = special ? add_block(l, in, out, true) : f[1];
    b[0] = add_block(l, grad, given, sums);
    b[1] = special ? add_block(l, grad, given, true) : b[0];
    const int over = ty_build_block(&l->b, &(struct ty_block){.n_ops = 0});
    add(l, TY_STREAM_COMPUTE, TY_CAT_OPTIMIZER, meet >= 0 ? TY_SYNC_MEET : TY_SYNC_LOCAL,
        (uint16_t)meet, EVENT_SUMMED, TY_NO_EVENT, TY_NO_EVENT);
    for (uint32_t step = 0; step < steps; step++) {
        add_step(l, s, step, f, b);
        ty_build_pass(&l->b, &(struct ty_pass){.block = (uint32_t)over,
                                               .seq = step * l->m,
                                               .step = (uint16_t)step,
                                               .phase = TY_PHASE_STEP});
    }
}

static struct pipeline *pipeline_new(uint64_t seed)
{
    struct pipeline *l = calloc(1, sizeof(*l));
    l->seed = seed;
    l->program.words = &ty_transformer_words;
    l->b = (struct ty_builder){.program = &l->program, .arena = &l->arena, .err = &err};
    l->p = 1 + roll(l, STAGES);
    l->m = 8 + roll(l, 120);
    l->style = (enum style)roll(l, N_STYLES);
    l->group = l->style == IN_GROUPS ? 2 + roll(l, 3) : 1;
    l->uneven = roll(l, 2) == 0;
    l->shares = roll(l, 2) == 0;
    l->exchanges = roll(l, 2) == 0;
    l->late = roll(l, 3) == 0;
    for (uint32_t s = l->p - 1, depth = 0; s < l->p; s--) {
        l->warm[s] = depth;
        depth += l->group * (1 + roll(l, 2));
    }
    const uint32_t steps = 1 + roll(l, 3);
    l->program.n_steps = steps;
    for (uint32_t i = 0; i < LINKS; i++) {
        l->links[i] = (struct ty_link){TY_LINK_NIC, TY_NO_NODE, 1e9 * (1 + roll(l, 4))};
    }
    l->program.links = l->links;
    l->program.n_links = LINKS;
    ty_build_group(&l->b, &(struct ty_group){"dp", 1, 1});
    const bool meets = roll(l, 2) == 0;
    const int meet =
        meets ? ty_build_meet(&l->b, &(struct ty_meet){"world", TY_NONE, l->p, 0, NULL, 0, 0}) : -1;
    for (uint32_t way = 0; way < 2; way++) {
        for (uint32_t s = 0; s + 1 < l->p; s++) {
            ty_build_channel(&l->b, &(struct ty_channel){.name = way == 0 ? "act" : "grad",
                                                         .from = way == 0 ? s : s + 1,
                                                         .to = way == 0 ? s + 1 : s,
                                                         .n_seq = steps * l->m,
                                                         .delay = roll(l, l->late ? 4000 : 40)});
        }
    }
    for (uint32_t s = 0; s < l->p; s++) {
        add_stage(l, s, steps, meet);
    }
    ck_assert_msg(l->b.code == 0 && ty_program_seal(&l->program, &l->arena, &err) == 0, "%s",
                  err.text);
    return l;
}

static void pipeline_free(struct pipeline *l)
{
    ty_arena_release(&l->arena);
    free(l);
}

/* ---- whole and shortened ---- */

/* NULL: by the sweep. */
static void execute(struct ty_timeline *t, const struct ty_program *p,
                    const struct ty_contention *shared)
{
    ck_assert_int_eq(ty_timeline_init(t, p, &err), 0);
    const int rc = shared == NULL ? ty_sweep(t, &err) : ty_events_shared(t, shared, &err);
    ck_assert_msg(rc == 0, "%s", err.text);
}

/* Whether a program was shortened. */
static bool execute_short(struct pipeline *l, struct ty_shortening *s, struct ty_timeline *t,
                          const struct ty_contention *shared)
{
    const struct ty_program *program;
    ck_assert_int_eq(ty_shorten_begin(s, &l->program, &l->arena, &err), 0);
    for (int rc; (rc = ty_shorten_next(s, &program, &err)) != 0; ty_timeline_release(t)) {
        ck_assert_int_eq(rc, 1);
        ck_assert_uint_lt(program->n_tasks, l->program.n_tasks);
        execute(t, program, shared);
        if (ty_shorten_holds(s, t, &err) > 0) {
            return true;
        }
    }
    return false;
}

static void assert_same_stats(const struct ty_stats *a, const struct ty_stats *b, uint32_t n_gangs)
{
    ck_assert_uint_eq(a->makespan, b->makespan);
    ck_assert_mem_eq(a->rank, b->rank, a->n_ranks * sizeof(*a->rank));
    ck_assert_mem_eq(a->memory, b->memory, n_gangs * sizeof(*a->memory));
    ck_assert_mem_eq(a->bucket_s, b->bucket_s, sizeof(a->bucket_s));
    ck_assert_mem_eq(a->layer_waited_s, b->layer_waited_s,
                     a->n_layers * sizeof(*a->layer_waited_s));
    ck_assert_double_eq(a->waited_s, b->waited_s);
    ck_assert_double_eq(a->bubble_s, b->bubble_s);
}

static void assert_stands_for(const struct pipeline *l, const struct ty_timeline *t,
                              const struct ty_timeline *whole)
{
    const struct ty_program *p = &l->program;
    struct ty_arena arena = {.head = NULL};
    struct ty_timeline all;
    struct ty_stats a, b;
    ck_assert_int_eq(ty_timeline_init(&all, p, &err), 0);
    ck_assert_int_eq(ty_timeline_lengthen(&all, t, &err), 0);
    ck_assert_uint_eq(all.makespan, whole->makespan);
    for (uint64_t i = 0; i < p->n_tasks; i++) {
        ck_assert_msg(all.start[i] == whole->start[i], "seed %lu: task %lu", (unsigned long)l->seed,
                      (unsigned long)i);
        ck_assert(whole->dur == NULL || all.dur[i] == whole->dur[i]);
    }
    ck_assert_int_eq(ty_stats_compute(&a, t, &arena, &err), 0);
    ck_assert_int_eq(ty_stats_compute(&b, whole, &arena, &err), 0);
    assert_same_stats(&a, &b, p->n_gangs);
    ty_timeline_release(&all);
    ty_arena_release(&arena);
}

static uint32_t compare(uint64_t first, uint32_t n, bool links)
{
    uint32_t shortened = 0;
    for (uint64_t seed = first; seed < first + n; seed++) {
        struct pipeline *l = pipeline_new(seed);
        struct ty_contention shared = {.n_links = 0};
        struct ty_shortening s;
        struct ty_timeline t, whole;
        ck_assert_int_eq(ty_contention_find(&shared, &l->program, &l->arena, &err), 0);
        const struct ty_contention *how = links ? &shared : NULL;
        execute(&whole, &l->program, how);
        if (execute_short(l, &s, &t, how)) {
            assert_stands_for(l, &t, &whole);
            ty_timeline_release(&t);
            shortened++;
        }
        ty_timeline_release(&whole);
        pipeline_free(l);
    }
    return shortened;
}

TEST(a_shortened_execution_stands_for_the_whole)
{
    const uint32_t n = suite_part(8000, 20);
    const uint32_t shortened = compare(1, n, false);
    printf("# %u of %u\n", shortened, n);
    ck_assert_uint_gt(shortened, n / 4);
}

TEST(with_shared_links_and_computation_slowed_down_too)
{
    const uint32_t n = suite_part(8000, 20);
    const uint32_t shortened = compare(100000, n, true);
    printf("# %u of %u\n", shortened, n);
    ck_assert_uint_gt(shortened, n / 5);
}

TY_SUITE("shorten")
