/* test_link_load.c - what one link carries in programs of a few operations, worked out by hand. */
#include "model/vocabulary.h"
#include "sim/core/analyse/link_load.h"

#include "sim/core/execute/execute.h"
#include "sim/core/execute/fold.h"
#include "tests/unit/suite.h"

static struct ty_err err;

struct seen {
    ty_ps t[16];
    double Bps[16];
    uint32_t n;
};

static void see(void *arg, ty_ps t, double Bps)
{
    struct seen *s = arg;
    ck_assert_uint_lt(s->n, 16);
    ck_assert(s->n == 0 || t > s->t[s->n - 1]);
    s->t[s->n] = t;
    s->Bps[s->n++] = Bps;
}

/* Ranks whose operations take the link, 1 GB/s, alone for `dur`, but for the lead. */
struct pair {
    struct ty_arena arena;
    struct ty_program program;
    struct ty_timeline timeline;
    struct ty_contention shared;
    struct ty_link_load load;
};
static const struct ty_link one_link = {TY_LINK_NIC, TY_NO_NODE, 1e9};
static const uint32_t rank_of[] = {0, 1};

static void add_flow(struct pair *h, struct ty_builder *b, ty_ps dur, ty_ps lead)
{
    struct ty_flow flow = {.first_use = h->program.n_uses, .n_uses = 1, .weight = 1, .lead = lead};
    struct ty_kind kind = {.name = "flow", .category = TY_CAT_COMM_DATA, .dur = dur};
    struct ty_op op = TY_OP_INIT;
    ty_build_use(b, &(struct ty_use){0, 1e9});
    kind.first_flow = (uint32_t)ty_build_flow(b, &flow) + 1;
    op.kind = (uint16_t)ty_build_kind(b, &kind);
    op.stream = TY_STREAM_DATA;
    ty_build_op(b, &op);
}

static void add_rank(struct pair *h, struct ty_builder *b)
{
    ty_build_gang(b, &(struct ty_gang){
                         .name = "rank", .n_ranks = 1, .rank_of = &rank_of[h->program.n_gangs]});
    const int block = ty_build_block(b, &(struct ty_block){.n_ops = 0});
    ty_build_pass(b, &(struct ty_pass){.block = (uint32_t)block});
}

static struct ty_builder begin_pair(struct pair *h)
{
    *h = (struct pair){
        .program = {
            .words = &ty_transformer_words, .n_steps = 1, .links = &one_link, .n_links = 1}};
    return (struct ty_builder){.program = &h->program, .arena = &h->arena, .err = &err};
}

static void run_pair(struct pair *h)
{
    ck_assert_int_eq(ty_program_seal(&h->program, &h->arena, &err), 0);
    ck_assert_int_eq(ty_contention_find(&h->shared, &h->program, &h->arena, &err), 0);
    ck_assert_int_eq(ty_timeline_init(&h->timeline, &h->program, &err), 0);
    ck_assert_int_eq(ty_events_shared(&h->timeline, &h->shared, &err), 0);
    ck_assert_int_eq(ty_link_load_init(&h->load, &h->program, &h->arena, &err), 0);
}

static void release_pair(struct pair *h)
{
    ty_timeline_release(&h->timeline);
    ty_arena_release(&h->arena);
}

/* The first runs alone until 300, at half its speed until 1700; the second then alone. */
TEST(two_flows_that_meet_fill_their_link_and_no_more)
{
    struct pair h;
    struct seen even = {.n = 0}, bent = {.n = 0};
    struct ty_link_load_peak peak;
    const uint32_t link = 0;
    struct ty_builder b = begin_pair(&h);
    add_rank(&h, &b);
    add_flow(&h, &b, 1000, 0);
    add_rank(&h, &b);
    add_flow(&h, &b, 1300, 300);
    run_pair(&h);
    ck_assert_double_eq_tol(h.load.bytes[0], 2000e-12 * 1e9, 1e-12);
    ck_assert_int_eq(ty_link_load_walk(&h.load, &h.timeline, &link, 1, 1, see, &even, &err), 0);
    ck_assert_uint_eq(even.n, 4);
    ck_assert_uint_eq(even.t[1], 300);
    ck_assert_double_eq_tol(even.Bps[0], 1e9 * 1000 / 1700, 1);
    ck_assert_double_eq_tol(even.Bps[1], 2 * 1e9 * 1000 / 1700, 1); /* means: above the link */
    ck_assert_uint_eq(even.t[2], 1700);
    ck_assert_uint_eq(even.t[3], 2000);
    ck_assert(even.Bps[3] == 0);
    ck_assert_int_eq(
        ty_link_load_replay(&h.load, &h.program, &h.shared, &h.timeline, &h.arena, &err), 0);
    ck_assert_int_eq(ty_link_load_walk(&h.load, &h.timeline, &link, 1, 1, see, &bent, &err), 0);
    for (uint32_t i = 0; i + 1 < bent.n; i++) {
        ck_assert_double_eq_tol(bent.Bps[i], 1e9, 1);
    }
    ck_assert_uint_eq(bent.t[bent.n - 1], 2000);
    ck_assert(bent.Bps[bent.n - 1] == 0);
    ck_assert_int_eq(ty_link_load_peaks(&h.load, &h.timeline, &peak, &err), 0);
    ck_assert_double_eq_tol(peak.Bps, 1e9, 1);
    ck_assert_uint_eq(peak.full, 2000);
    release_pair(&h);
}

/* At a clock of 700 the third takes [0, 700); those before it go into it, and the last, ten
 * picoseconds without a stretch of their own, are put behind. */
TEST(a_coarse_clock_loses_no_byte)
{
    struct pair h;
    struct seen seen = {.n = 0};
    const uint32_t link = 0;
    struct ty_builder b = begin_pair(&h);
    add_rank(&h, &b);
    add_flow(&h, &b, 10, 0);
    add_flow(&h, &b, 20, 0);
    add_flow(&h, &b, 1000, 0);
    add_flow(&h, &b, 10, 0);
    run_pair(&h);
    ck_assert_int_eq(ty_link_load_walk(&h.load, &h.timeline, &link, 1, 700, see, &seen, &err), 0);
    ck_assert_uint_eq(seen.n, 3);
    ck_assert_uint_eq(seen.t[0], 0);
    ck_assert_double_eq_tol(seen.Bps[0] * 700, 1030 * 1e9, 1);
    ck_assert_uint_eq(seen.t[1], 700);
    ck_assert_double_eq_tol(seen.Bps[1] * 700, 10 * 1e9, 1);
    ck_assert_uint_eq(seen.t[2], 1400);
    ck_assert(seen.Bps[2] == 0);
    release_pair(&h);
}

/* One gang of two in lockstep, with latencies of their own; what was executed is its fold. */
TEST(members_in_lockstep_keep_their_own_latencies)
{
    struct pair h;
    struct seen seen = {.n = 0};
    struct ty_program folded;
    const uint32_t link = 0;
    struct ty_builder b = begin_pair(&h);
    struct ty_kind kind = {.name = "flow", .category = TY_CAT_COMM_DATA, .dur = 1000};
    struct ty_op op = TY_OP_INIT;
    ty_build_gang(&b, &(struct ty_gang){.name = "pair", .n_ranks = 2, .rank_of = rank_of});
    const int block = ty_build_block(&b, &(struct ty_block){.n_ops = 0});
    ty_build_pass(&b, &(struct ty_pass){.block = (uint32_t)block});
    ty_build_use(&b, &(struct ty_use){0, 1e8});
    kind.first_flow = 1 + (uint32_t)ty_build_flow(&b, &(struct ty_flow){.n_uses = 1, .weight = 1});
    ty_build_flow(&b, &(struct ty_flow){.n_uses = 1, .weight = 1, .lead = 600});
    op.kind = (uint16_t)ty_build_kind(&b, &kind);
    op.stream = TY_STREAM_DATA;
    ty_build_op(&b, &op);
    ty_build_op(&b, &op);
    ck_assert_int_eq(ty_program_seal(&h.program, &h.arena, &err), 0);
    ck_assert_int_eq(ty_program_fold(&folded, &h.program, &h.arena, &err), 0);
    ck_assert_int_eq(ty_timeline_init(&h.timeline, &folded, &err), 0);
    ck_assert_int_eq(ty_sweep(&h.timeline, &err), 0);
    ck_assert_int_eq(ty_link_load_init(&h.load, &h.program, &h.arena, &err), 0);
    h.load.lockstep = true;
    ck_assert_int_eq(ty_link_load_walk(&h.load, &h.timeline, &link, 1, 1, see, &seen, &err), 0);
    ck_assert_uint_eq(seen.n, 5);
    ck_assert_double_eq_tol(seen.Bps[0], 1e8, 1);
    ck_assert_uint_eq(seen.t[1], 600);
    ck_assert_double_eq_tol(seen.Bps[1], 2e8, 1);
    ck_assert_uint_eq(seen.t[2], 1000);
    ck_assert_double_eq_tol(seen.Bps[2], 1e8, 1);
    ck_assert_uint_eq(seen.t[3], 1600);
    ck_assert_uint_eq(seen.t[4], 2000);
    release_pair(&h);
}

/* Two gangs come to a meeting with one kind: it happens once. */
TEST(a_meeting_counts_once)
{
    struct pair h;
    struct ty_builder b = begin_pair(&h);
    struct ty_op op = TY_OP_INIT;
    add_rank(&h, &b);
    add_flow(&h, &b, 1000, 0);
    add_rank(&h, &b);
    op.stream = TY_STREAM_DATA;
    ty_build_op(&b, &op); /* of kind 0 */
    op.sync = TY_SYNC_MEET;
    op.link = (uint16_t)ty_build_meet(
        &b, &(struct ty_meet){.name = "both", .group = TY_NONE, .n_gangs = 2});
    h.program.ops[0] = h.program.ops[1] = op;
    run_pair(&h);
    ck_assert_double_eq_tol(h.load.bytes[0], 1000e-12 * 1e9, 1e-12);
    release_pair(&h);
}

TY_SUITE("load")
