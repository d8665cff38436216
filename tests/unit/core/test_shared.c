/* test_shared.c - links and GPUs that are shared while tasks run: hand-solved cases, random
 * programs against the executors with fixed durations, and folded against whole. */
#include <string.h>

#include "sim/base/noise.h"
#include "sim/core/execute/execute.h"
#include "sim/core/execute/fold.h"
#include "tests/common/quick_run.h"
#include "tests/common/random_program.h"
#include "tests/unit/suite.h"

/* ---- programs made by hand: gangs of one rank, each with a list of operations ---- */

#define GANGS 4u

struct hand {
    struct ty_arena arena;
    struct ty_program program;
    struct ty_builder b;
    struct ty_link links[8];
    struct ty_timeline timeline;
    struct ty_contention shared;
};
static struct ty_err err;
static const uint32_t rank_of[GANGS] = {0, 1, 2, 3};

static struct hand *hand_new(uint32_t n_links, const double *capacity)
{
    struct hand *h = calloc(1, sizeof(*h));
    h->program.words = &ty_transformer_words;
    h->program.n_steps = 1;
    h->b = (struct ty_builder){.program = &h->program, .arena = &h->arena, .err = &err};
    for (uint32_t i = 0; i < n_links; i++) {
        h->links[i] = (struct ty_link){TY_LINK_NIC, TY_NO_NODE, capacity[i]};
    }
    h->program.links = h->links;
    h->program.n_links = n_links;
    return h;
}

/* The next rank: what follows is its. */
static void hand_rank(struct hand *h)
{
    ty_build_gang(
        &h->b,
        &(struct ty_gang){.name = "rank", .n_ranks = 1, .rank_of = &rank_of[h->program.n_gangs]});
    const int block = ty_build_block(&h->b, &(struct ty_block){.n_ops = 0});
    ty_build_pass(&h->b, &(struct ty_pass){.block = (uint32_t)block});
}

/* An operation by itself of `dur`; `latency` of it before it takes Bps of links first .. last. */
static void hand_flow(struct hand *h, uint8_t stream, ty_ps dur, ty_ps latency, uint32_t first,
                      uint32_t last, double Bps)
{
    struct ty_flow flow = {.first_use = h->program.n_uses, .weight = 1 / Bps, .lead = latency};
    for (uint32_t l = first; l <= last; l++) {
        ty_build_use(&h->b, &(struct ty_use){l, Bps});
        flow.n_uses++;
    }
    struct ty_kind kind = {.name = "flow", .category = TY_CAT_COMM_DATA, .dur = dur, .slows = 0.25};
    kind.first_flow = (uint32_t)ty_build_flow(&h->b, &flow) + 1;
    struct ty_op op = TY_OP_INIT;
    op.kind = (uint16_t)ty_build_kind(&h->b, &kind);
    op.stream = stream;
    ty_build_op(&h->b, &op);
}

static void hand_work(struct hand *h, uint8_t stream, ty_ps dur, ty_ps alone)
{
    const struct ty_kind kind = {
        .name = "work", .category = TY_CAT_FORWARD, .dur = dur, .alone = alone};
    struct ty_op op = TY_OP_INIT;
    op.kind = (uint16_t)ty_build_kind(&h->b, &kind);
    op.stream = stream;
    ty_build_op(&h->b, &op);
}

static void hand_run(struct hand *h)
{
    ck_assert_msg(ty_program_seal(&h->program, &h->arena, &err) == 0, "%s", err.text);
    ck_assert_msg(ty_contention_find(&h->shared, &h->program, &h->arena, &err) == 0, "%s",
                  err.text);
    ck_assert_int_eq(ty_timeline_init(&h->timeline, &h->program, &err), 0);
    ck_assert_msg(ty_events_shared(&h->timeline, &h->shared, &err) == 0, "%s", err.text);
}

static ty_ps hand_end(const struct hand *h, uint64_t task)
{
    return h->timeline.start[task] + h->timeline.dur[task];
}

static void hand_free(struct hand *h)
{
    ty_timeline_release(&h->timeline);
    ty_arena_release(&h->arena);
    free(h);
}

/* ---- computations that end together ---- */

#define ROW 12u /* computations of a rank */

static uint32_t roll(uint64_t seed, uint32_t *n, uint32_t below)
{
    return (uint32_t)(ty_hash4(seed, (*n)++, 5, 0) % below);
}

static void hand_event(struct hand *h, uint8_t wait, uint8_t record)
{
    struct ty_op *op = &h->program.ops[h->program.n_ops - 1];
    op->wait[0] = wait;
    op->record = record;
}

/* Computations, and flows that begin behind some of them and slow down what goes on beside.
 * `heard`: somebody waits for each, so that none can end with the next. */
static void compute_beside_flows(struct hand *h, uint64_t seed, bool heard)
{
    uint32_t n = 0;
    for (uint32_t rank = 0; rank < 3; rank++) {
        hand_rank(h);
        for (uint32_t i = 0; i < ROW; i++) {
            const ty_ps dur = roll(seed, &n, 5) == 0 ? 0 : roll(seed, &n, 30);
            hand_work(h, TY_STREAM_COMPUTE, dur, 0);
            hand_event(h, TY_NO_EVENT, 1);
            if (heard) {
                hand_work(h, TY_STREAM_REPLICA, 0, 0);
                hand_event(h, 1, TY_NO_EVENT);
            }
            const uint32_t flows = roll(seed, &n, 3) == 0;
            const ty_ps takes = roll(seed, &n, 60), lead = roll(seed, &n, 5);
            if (flows > 0) {
                hand_flow(h, TY_STREAM_DATA, takes, lead, 0, 0, 1e9);
                hand_event(h, roll(seed, &n, 3) == 0 ? 1 : TY_NO_EVENT, TY_NO_EVENT);
                h->program.kinds[h->program.n_kinds - 1].slows = roll(seed, &n, 2) == 0 ? 0 : 0.25;
            }
        }
    }
    hand_run(h);
}

/* Starts and durations of what a stream computes, in order; returns how many. */
static uint32_t computations(const struct hand *h, ty_ps out[2 * 3 * ROW])
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < h->program.n_ops; i++) {
        if (h->program.ops[i].stream == TY_STREAM_COMPUTE) {
            out[n++] = h->timeline.start[i];
            out[n++] = h->timeline.dur[i];
        }
    }
    return n;
}

TEST(computations_that_end_together_run_as_one_by_one)
{
    for (uint64_t seed = 0; seed < 500; seed++) {
        ty_ps a[2 * 3 * ROW], b[2 * 3 * ROW];
        struct hand *together = hand_new(1, (double[]){1e9}), *apart = hand_new(1, (double[]){1e9});
        compute_beside_flows(together, seed, false);
        compute_beside_flows(apart, seed, true);
        const uint32_t n = computations(together, a);
        ck_assert_uint_eq(n, computations(apart, b));
        for (uint32_t i = 0; i < n; i++) {
            ck_assert_msg(a[i] == b[i], "seed %lu: %u", (unsigned long)seed, (unsigned)i);
        }
        hand_free(together);
        hand_free(apart);
    }
}

TEST(a_link_that_never_ends_is_an_error_and_no_wrapped_clock)
{
    struct hand *h = hand_new(1, (double[]){1e-6});
    hand_rank(h);
    hand_flow(h, TY_STREAM_DATA, 1000000000, 0, 0, 0, 24e9);
    ck_assert_int_eq(ty_program_seal(&h->program, &h->arena, &err), 0);
    ck_assert_int_eq(ty_contention_find(&h->shared, &h->program, &h->arena, &err), 0);
    ck_assert_int_eq(ty_timeline_init(&h->timeline, &h->program, &err), 0);
    ck_assert_int_eq(ty_events_shared(&h->timeline, &h->shared, &err), TY_ELIMIT);
    err.code = 0;
    hand_free(h);
}

TEST(two_on_one_link_take_twice_as_long_and_on_two_not_at_all_longer)
{
    for (uint32_t rails = 1; rails <= 2; rails++) {
        struct hand *h = hand_new(2, (double[]){24e9, 24e9});
        hand_rank(h);
        hand_flow(h, TY_STREAM_DATA, 1000000, 0, 0, 0, 24e9);
        hand_rank(h);
        hand_flow(h, TY_STREAM_DATA, 1000000, 0, rails - 1, rails - 1, 24e9);
        hand_run(h);
        ck_assert_uint_eq(h->shared.n_links, 2 - rails);
        ck_assert_uint_eq(hand_end(h, 0), rails == 1 ? 2000000 : 1000000);
        ck_assert_uint_eq(hand_end(h, 1), rails == 1 ? 2000000 : 1000000);
        hand_free(h);
    }
}

TEST(latency_is_paid_before_a_link_is_taken)
{
    /* alone until 300; then half the speed: the first has 700 left and takes 1400 */
    struct hand *h = hand_new(1, (double[]){1e9});
    hand_rank(h);
    hand_flow(h, TY_STREAM_DATA, 1000, 0, 0, 0, 1e9);
    hand_rank(h);
    hand_flow(h, TY_STREAM_DATA, 1300, 300, 0, 0, 1e9);
    hand_run(h);
    ck_assert_uint_eq(hand_end(h, 0), 300 + 1400);
    /* the second moved half of 1400 until then and the rest alone */
    ck_assert_uint_eq(hand_end(h, 1), 1700 + 300);
    hand_free(h);
}

TEST(a_slow_flow_leaves_the_rest_to_others)
{
    /* one takes a quarter of the link at full speed: the other gets three quarters */
    struct hand *h = hand_new(1, (double[]){1e9});
    hand_rank(h);
    hand_flow(h, TY_STREAM_DATA, 1200, 0, 0, 0, 0.25e9);
    hand_rank(h);
    hand_flow(h, TY_STREAM_DATA, 600, 0, 0, 0, 1e9);
    hand_run(h);
    ck_assert_uint_eq(hand_end(h, 0), 1200);
    ck_assert_uint_eq(hand_end(h, 1), 800);
    hand_free(h);
}

TEST(a_flow_that_meets_nobody_takes_what_the_link_gives)
{
    /* asks 1 GB/s of a link of 0.4: two and a half times as long, however little else there is */
    struct hand *h = hand_new(1, (double[]){0.4e9});
    hand_rank(h);
    hand_flow(h, TY_STREAM_DATA, 1000, 0, 0, 0, 1e9);
    hand_run(h);
    ck_assert_uint_eq(h->shared.n_links, 1);
    ck_assert_uint_eq(hand_end(h, 0), 2500);
    hand_free(h);
}

TEST(streams_of_one_rank_meet_on_its_links_and_operations_of_one_do_not)
{
    struct hand *h = hand_new(1, (double[]){1e9});
    hand_rank(h);
    hand_flow(h, TY_STREAM_DATA, 1000, 0, 0, 0, 1e9);
    hand_flow(h, TY_STREAM_DATA, 1000, 0, 0, 0, 1e9);
    hand_run(h);
    ck_assert_uint_eq(h->shared.n_links, 0);
    ck_assert_uint_eq(hand_end(h, 1), 2000);
    hand_free(h);
    h = hand_new(1, (double[]){1e9});
    hand_rank(h);
    hand_flow(h, TY_STREAM_DATA, 1000, 0, 0, 0, 1e9);
    hand_flow(h, TY_STREAM_TENSOR, 1000, 0, 0, 0, 1e9);
    hand_run(h);
    ck_assert_uint_eq(h->shared.n_links, 1);
    ck_assert_uint_eq(hand_end(h, 1), 2000);
    hand_free(h);
}

TEST(computation_is_slower_while_a_collective_runs_beside_it)
{
    /* a quarter of the speed is lost for 400 of 1000: 300 done, 700 left */
    struct hand *h = hand_new(1, (double[]){1e9});
    hand_rank(h);
    hand_flow(h, TY_STREAM_DATA, 400, 0, 0, 0, 1e9);
    hand_work(h, TY_STREAM_COMPUTE, 1200, 1000);
    hand_run(h);
    ck_assert(h->shared.gpus);
    ck_assert_uint_eq(hand_end(h, 0), 400);
    ck_assert_uint_eq(hand_end(h, 1), 1100);
    hand_free(h);
}

TEST(a_collective_that_is_held_up_disturbs_for_longer)
{
    struct hand *h = hand_new(1, (double[]){1e9});
    hand_rank(h);
    hand_flow(h, TY_STREAM_DATA, 400, 0, 0, 0, 1e9);
    hand_work(h, TY_STREAM_COMPUTE, 1200, 1000);
    hand_rank(h);
    hand_flow(h, TY_STREAM_DATA, 400, 0, 0, 0, 1e9);
    hand_run(h);
    ck_assert_uint_eq(hand_end(h, 0), 800);
    ck_assert_uint_eq(hand_end(h, 1), 800 + 400); /* 600 done beside it */
    hand_free(h);
}

/* ---- random programs ---- */

static bool same_columns(const struct ty_timeline *a, const struct ty_timeline *b)
{
    return memcmp(a->start, b->start, a->program->n_tasks * sizeof(*a->start)) == 0;
}

TEST(where_nothing_is_shared_the_result_is_that_of_the_sweep)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct ty_arena arena = {.head = NULL};
        struct ty_program program;
        struct ty_timeline a, b;
        struct ty_contention shared;
        ck_assert_int_eq(random_program(&program, seed, &arena, &err), 0);
        ck_assert_int_eq(ty_contention_find(&shared, &program, &arena, &err), 0);
        ck_assert(!ty_contention_any(&shared));
        ck_assert_int_eq(ty_timeline_init(&a, &program, &err), 0);
        ck_assert_int_eq(ty_timeline_init(&b, &program, &err), 0);
        ck_assert_int_eq(ty_sweep(&a, &err), 0);
        ck_assert_int_eq(ty_events_shared(&b, &shared, &err), 0);
        ck_assert_msg(same_columns(&a, &b), "seed %lu", (unsigned long)seed);
        ck_assert_uint_eq(a.makespan, b.makespan);
        ty_timeline_release(&a);
        ty_timeline_release(&b);
        ty_arena_release(&arena);
    }
}

/* ---- whole runs ---- */

#define RUN                                                                                        \
    "cluster:\n  preset: dgx-a100-80g\n  nodes: 4\n"                                               \
    "model:\n  preset: llama-13b\n  layers: 8\n  sequence: 2048\n"                                 \
    "layout:\n  tensor: 2\n  pipeline: 4\n  global_batch: 64\n  zero: 1\n"                         \
    "framework:\n  preset: megatron-deepspeed\n"

/* Executes all ranks with shared links. */
static void run_whole(const struct quick_run *q, struct ty_timeline *t, struct ty_arena *arena)
{
    struct ty_contention shared;
    const struct ty_program *p = &q->run->lowered.program;
    ck_assert_int_eq(ty_contention_find(&shared, p, arena, &err), 0);
    ck_assert_int_eq(ty_timeline_init(t, p, &err), 0);
    ck_assert_msg(ty_events_shared(t, &shared, &err) == 0, "%s", err.text);
}

TEST(folded_and_whole_runs_are_equal)
{
    static const char *const variants[][3] = {
        {NULL},
        {"layout.tensor=8", "layout.pipeline=2", NULL},
        {"layout.tensor=1", "layout.zero=3", "layout.pipeline=1"},
        {"cluster.nics_per_node=2", NULL},
        {"cluster.nics_per_node=4", "layout.order=[pipeline,tensor,context,data]", NULL},
        {"schedule.name=zb-v", NULL},
        {"schedule.name=chimera", NULL},
        {"schedule.name=interleaved", "schedule.chunks=2", NULL},
    };
    uint32_t folded = 0;
    for (size_t v = 0; v < TY_COUNT(variants); v++) {
        const char *sets[4] = {variants[v][0], variants[v][1], variants[v][2], NULL};
        struct quick_run q = quick_run(RUN, NULL, sets);
        struct ty_arena arena = {.head = NULL};
        struct ty_timeline whole;
        run_whole(&q, &whole, &arena);
        ck_assert_msg(q.run->timeline.makespan == whole.makespan, "variant %zu: %llu, not %llu", v,
                      (unsigned long long)q.run->timeline.makespan,
                      (unsigned long long)whole.makespan);
        ck_assert_msg(same_columns(&q.run->timeline, &whole), "variant %zu", v);
        folded += q.run->folded.n_ranks > 0;
        ty_timeline_release(&whole);
        ty_arena_release(&arena);
        quick_run_free(&q);
    }
    ck_assert_uint_ge(folded, 6);
}

/* Groups that divide their NICs in lock step get what the estimate gives them beforehand. */
TEST(groups_in_lock_step_divide_a_nic_as_estimated)
{
    const char *sets[] = {"layout.pipeline=1", "cluster.nics_per_node=2", "layout.tensor=4",
                          "framework.overlap_grad_reduce=false", NULL};
    struct quick_run shared = quick_run(RUN, NULL, sets);
    struct quick_run fixed = quick_run(RUN, "sweep", sets);
    ck_assert_str_eq(shared.run->engine, "events");
    ck_assert_double_eq_tol(shared.figures.step_s / fixed.figures.step_s, 1, 1e-3);
    quick_run_free(&shared);
    quick_run_free(&fixed);
}

/* Of two stages on a node only one sends to another node: it has the NIC to itself, as if there
 * were one for each. */
TEST(who_could_share_a_nic_and_does_not_has_all_of_it)
{
    static const char yaml[] =
        "cluster: {preset: dgx-a100-80g, nodes: 2, gpus_per_node: 2, nic_bandwidth: 1 GB/s,\n"
        "  net_overlap_slowdown: 0, nvlink_overlap_slowdown: 0}\n"
        "model: {preset: llama-7b}\n"
        "layout: {pipeline: 4, global_batch: 8}\n";
    static const char *const engines[] = {"run.engine=auto", "run.engine=events"};
    const char *one[] = {"cluster.nics_per_node=1", NULL};
    const char *two[] = {"cluster.nics_per_node=2", NULL};
    struct quick_run own = quick_run(yaml, "auto", two);
    for (size_t i = 0; i < TY_COUNT(engines); i++) {
        const char *sets[] = {one[0], engines[i], NULL};
        struct quick_run q = quick_run(yaml, NULL, sets);
        ck_assert_int_eq((int)q.run->sharing, TY_SHARING_NONE);
        /* but for the norm of the gradients, 4 bytes of all ranks */
        ck_assert_double_eq_tol(q.figures.step_s / own.figures.step_s, 1, 1e-7);
        quick_run_free(&q);
    }
    struct quick_run estimated = quick_run(yaml, "sweep", one);
    ck_assert_double_gt(estimated.figures.step_s / own.figures.step_s, 1.05);
    quick_run_free(&estimated);
    quick_run_free(&own);
}

TEST(turned_off_both_executors_agree)
{
    const char *sets[] = {"cluster.nics_per_node=2", "run.contention=false", NULL};
    struct quick_run events = quick_run(RUN, "events", sets);
    struct quick_run sweep = quick_run(RUN, "sweep", sets);
    ck_assert(same_columns(&events.run->timeline, &sweep.run->timeline));
    quick_run_free(&events);
    quick_run_free(&sweep);
}

TY_SUITE("shared")
