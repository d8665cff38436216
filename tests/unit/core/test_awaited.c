/* test_awaited.c - ranks of a group with different work wait for the slowest at every collective:
 * a step costs the sum of maxima, and what of it is waiting is told apart from transfer. */
#include "model/vocabulary.h"
#include "sim/core/analyse/stats.h"
#include "sim/core/execute/execute.h"
#include "tests/unit/suite.h"

#define MEMBERS 2u

/* Computation, exchange and so on, of two ranks: what they compute in each layer, the exchange, and
 * how long they compute in the end. */
struct layers {
    ty_ps work[4][MEMBERS]; /* [n] */
    uint32_t n;
    ty_ps exchange, last;
    enum ty_category category;
    bool queued; /* each exchange goes behind another one on its stream */
};

struct played {
    struct ty_arena arena;
    struct ty_program program;
    struct ty_timeline timeline;
    struct ty_stats stats;
};

static void add_op(struct ty_builder *b, uint16_t kind, uint8_t stream, uint16_t layer,
                   uint8_t wait, uint8_t record)
{
    struct ty_op op = TY_OP_INIT;
    op.kind = kind;
    op.stream = stream;
    op.layer = layer;
    op.wait[0] = wait;
    op.record = record;
    if (stream != TY_STREAM_COMPUTE) {
        op.sync = TY_SYNC_GROUP;
        op.link = 0;
    }
    ck_assert_int_ge(ty_build_op(b, &op), 0);
}

static void play(struct played *p, const struct layers *x)
{
    static struct ty_err err;
    static const uint32_t ranks[MEMBERS] = {0, 1};
    *p = (struct played){.program = {.words = &ty_transformer_words, .n_steps = 1}};
    struct ty_builder b = {.program = &p->program, .arena = &p->arena, .err = &err};
    ty_build_group(&b, &(struct ty_group){"ep", 1, MEMBERS});
    ty_build_kind(&b, &(struct ty_kind){.name = "dispatch",
                                        .category = (uint8_t)x->category,
                                        .group = "ep",
                                        .dur = x->exchange});
    ty_build_block(&b, &(struct ty_block){.n_ops = 0});
    for (uint32_t i = 0; i < x->n; i++) {
        const int kind = ty_build_kind(&b, &(struct ty_kind){.name = "experts",
                                                             .category = TY_CAT_FORWARD,
                                                             .dur = x->work[i][0],
                                                             .dur_of = x->work[i]});
        add_op(&b, (uint16_t)kind, TY_STREAM_COMPUTE, (uint16_t)i, i == 0 ? TY_NO_EVENT : 1, 0);
        for (uint32_t k = 0; k < (x->queued ? 2u : 1u); k++) {
            add_op(&b, 0, TY_STREAM_EXPERT, (uint16_t)i, 0, 1);
        }
    }
    const int last = ty_build_kind(
        &b, &(struct ty_kind){.name = "end", .category = TY_CAT_FORWARD, .dur = x->last});
    add_op(&b, (uint16_t)last, TY_STREAM_COMPUTE, TY_NONE, 1, TY_NO_EVENT);
    ty_build_gang(&b, &(struct ty_gang){.name = "stage 0", .n_ranks = MEMBERS, .rank_of = ranks});
    ty_build_pass(&b, &(struct ty_pass){.phase = TY_PHASE_FORWARD});
    ck_assert_int_eq(b.code, 0);
    ck_assert_msg(ty_program_seal(&p->program, &p->arena, &err) == 0, "%s", err.text);
    ck_assert_int_eq(ty_timeline_init(&p->timeline, &p->program, &err), 0);
    ck_assert_int_eq(ty_sweep(&p->timeline, &err), 0);
    ck_assert_int_eq(ty_stats_compute(&p->stats, &p->timeline, &p->arena, &err), 0);
}

static void end(struct played *p)
{
    ty_timeline_release(&p->timeline);
    ty_arena_release(&p->arena);
}

TEST(a_step_takes_the_sum_of_maxima)
{
    static const struct layers x = {.work = {{100, 300}, {300, 100}, {200, 200}, {1, 2}},
                                    .n = 4,
                                    .exchange = 50,
                                    .last = 10,
                                    .category = TY_CAT_COMM_EXPERT};
    struct played p;
    play(&p, &x);
    ck_assert_uint_eq(p.timeline.makespan, 300 + 300 + 200 + 2 + 4 * 50 + 10); /* 603 in sums */
    end(&p);
}

TEST(waiting_for_the_slowest_is_told_from_transfer)
{
    static const struct layers x = {.work = {{100, 300}, {310, 100}},
                                    .n = 2,
                                    .exchange = 50,
                                    .last = 10,
                                    .category = TY_CAT_COMM_EXPERT};
    struct played p;
    play(&p, &x);
    const struct ty_rank_stats *rank = p.stats.rank;
    ck_assert_uint_eq(rank[0].waited, 200);
    ck_assert_uint_eq(rank[1].waited, 210);
    for (uint32_t r = 0; r < MEMBERS; r++) { /* waiting is part of what is exposed */
        ck_assert_uint_eq(rank[r].bucket[TY_BUCKET_EXPOSED_EXPERT], rank[r].waited + 2 * 50);
    }
    ck_assert_double_eq_tol(p.stats.waited_s, 205e-12, 1e-18);
    ck_assert_uint_eq(p.stats.n_layers, 2);
    ck_assert_double_eq_tol(p.stats.layer_waited_s[0], 100e-12, 1e-18);
    ck_assert_double_eq_tol(p.stats.layer_waited_s[1], 105e-12, 1e-18);
    end(&p);
}

/* The second of two exchanges stands behind the first: that is no waiting for others. */
TEST(a_busy_stream_is_not_waiting_for_others)
{
    static const struct layers x = {.work = {{300, 100}},
                                    .n = 1,
                                    .exchange = 50,
                                    .last = 10,
                                    .category = TY_CAT_COMM_EXPERT,
                                    .queued = true};
    struct played p;
    play(&p, &x);
    ck_assert_uint_eq(p.stats.rank[0].waited, 0);
    ck_assert_uint_eq(p.stats.rank[0].bucket[TY_BUCKET_EXPOSED_EXPERT], 100);
    ck_assert_uint_eq(p.stats.rank[1].waited, 200); /* for the first */
    ck_assert_uint_eq(p.stats.rank[1].bucket[TY_BUCKET_EXPOSED_EXPERT], 300);
    end(&p);
}

TEST(waiting_at_other_collectives_is_not_told_apart)
{
    static const struct layers x = {
        .work = {{100, 300}}, .n = 1, .exchange = 50, .last = 10, .category = TY_CAT_COMM_TENSOR};
    struct played p;
    play(&p, &x);
    ck_assert_uint_eq(p.stats.rank[0].bucket[TY_BUCKET_EXPOSED_TENSOR], 250);
    ck_assert_double_eq(p.stats.waited_s, 0);
    end(&p);
}

TY_SUITE("awaited")
