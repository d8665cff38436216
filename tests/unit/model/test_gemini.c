/* test_gemini.c - chunks that live where there is room: no rule brings fewer, and at either end
 * they are those of systems without room and without need of it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/lower/offload/belady.h"
#include "sim/base/arena.h"
#include "sim/run/offload.h"
#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- Belady ---- */

#define USES_MAX   12u
#define CHUNKS_MAX 5u

static const double ones[CHUNKS_MAX] = {1, 1, 1, 1, 1};

static uint32_t misses_of(const struct ty_belady *order)
{
    struct ty_arena arena = {.head = NULL};
    bool miss[USES_MAX * 100];
    uint32_t n = 0;
    ck_assert_uint_le(order->n_uses, TY_COUNT(miss));
    ck_assert_double_le(ty_belady_find(order, miss, &arena), order->room);
    for (uint32_t i = 0; i < order->n_uses; i++) {
        n += miss[i];
    }
    ty_arena_release(&arena);
    return n;
}

/* The fewest from use `at` on, with chunks `there` (bits): after a use every set of what is there
 * that has room is tried. */
static uint32_t fewest(const struct ty_belady *o, uint32_t at, uint32_t there)
{
    uint32_t best = UINT32_MAX;
    if (at == o->n_uses) {
        return 0;
    }
    const uint32_t all = there | 1u << o->use[at];
    for (uint32_t kept = 0; kept <= all; kept++) {
        double bytes = 0;
        for (uint32_t i = 0; i < o->n_chunks; i++) {
            bytes += (kept >> i & 1u) != 0 ? o->bytes[i] : 0;
        }
        if ((kept & ~all) == 0 && bytes <= o->room) {
            const uint32_t n = fewest(o, at + 1, kept);
            best = n < best ? n : best;
        }
    }
    return best + ((there >> o->use[at] & 1u) == 0);
}

/* What was used longest ago goes. */
static uint32_t misses_of_lru(const struct ty_belady *o)
{
    uint32_t last[CHUNKS_MAX] = {0}, n = 0, held = 0; /* 1 + use */
    for (uint32_t i = 0; i < o->n_uses; i++) {
        const bool there = last[o->use[i]] > 0;
        n += !there;
        held += !there;
        last[o->use[i]] = i + 1;
        while (held > (uint32_t)o->room) {
            uint32_t oldest = o->n_chunks;
            for (uint32_t c = 0; c < o->n_chunks; c++) {
                oldest =
                    last[c] > 0 && (oldest == o->n_chunks || last[c] < last[oldest]) ? c : oldest;
            }
            last[oldest] = 0;
            held--;
        }
    }
    return n;
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

TEST(no_rule_brings_fewer)
{
    uint64_t state = 13;
    uint32_t better = 0;
    for (uint32_t trial = 0; trial < 300; trial++) {
        uint32_t use[7];
        const uint32_t chunks = 2 + (uint32_t)(next_random(&state) % 3);
        for (uint32_t i = 0; i < TY_COUNT(use); i++) {
            use[i] = (uint32_t)(next_random(&state) % chunks);
        }
        for (uint32_t room = 0; room <= chunks; room++) {
            const struct ty_belady order = {use, TY_COUNT(use), ones, chunks, room};
            const uint32_t n = misses_of(&order);
            ck_assert_uint_eq(n, fewest(&order, 0, 0));
            ck_assert_uint_le(n, misses_of_lru(&order));
            better += n < misses_of_lru(&order);
        }
    }
    ck_assert_uint_gt(better, 0);
}

/* The update of every step: drives.c says which chunks stay once for all. */
TEST(in_an_order_that_repeats_the_same_chunks_stay)
{
    uint32_t use[20 * CHUNKS_MAX];
    struct ty_arena arena = {.head = NULL};
    bool miss[TY_COUNT(use)];
    for (uint32_t i = 0; i < TY_COUNT(use); i++) {
        use[i] = i % CHUNKS_MAX;
    }
    for (uint32_t room = 0; room <= CHUNKS_MAX; room++) {
        const struct ty_belady order = {use, TY_COUNT(use), ones, CHUNKS_MAX, room};
        ck_assert_double_ge(ty_belady_find(&order, miss, &arena), 0);
        for (uint32_t i = CHUNKS_MAX; i < TY_COUNT(use) - CHUNKS_MAX; i++) {
            ck_assert(miss[i] == (use[i] >= room));
        }
    }
    ty_arena_release(&arena);
}

/* Forward and backward again and again is the worst for what forgets the oldest. */
TEST(steps_of_training_are_never_brought_more_often_than_by_lru)
{
    uint32_t use[USES_MAX * 10], n = 0;
    for (uint32_t micro_batch = 0; micro_batch < 12; micro_batch++) {
        for (uint32_t i = 0; i < 2 * CHUNKS_MAX; i++) {
            use[n++] = i < CHUNKS_MAX ? i : 2 * CHUNKS_MAX - 1 - i;
        }
    }
    for (uint32_t room = 0; room <= CHUNKS_MAX; room++) {
        const struct ty_belady order = {use, n, ones, CHUNKS_MAX, room};
        ck_assert_uint_le(misses_of(&order), misses_of_lru(&order));
        /* the first pass brings all, each of the others what there was no room for */
        ck_assert_uint_eq(misses_of(&order), CHUNKS_MAX + 23 * (CHUNKS_MAX - room));
    }
}

TEST(what_is_too_large_goes_at_once_and_what_is_small_stays)
{
    static const double bytes[] = {10, 1, 1};
    static const uint32_t use[] = {0, 1, 2, 0, 2, 1, 0};
    const struct ty_belady order = {use, TY_COUNT(use), bytes, 3, 5};
    ck_assert_uint_eq(misses_of(&order), 3 + 1 + 1); /* small ones once, the large one always */
}

/* ---- runs ---- */

static const char job[] =
    "cluster: {preset: dgx2-v100, nodes: 1, gpus_per_node: 4}\n"
    "model: {layers: 32, hidden: 4096, heads: 32, vocabulary: 50304, sequence: 1024,\n"
    "        dtype: fp16}\n"
    "layout: {global_batch: 4, zero: 3, recompute: full, offload: gemini, offload_depth: 2}\n"
    "framework: {preset: ideal, prefetch: 1}\n";

struct moved {
    double down, up, drive; /* bytes of a rank and step */
};

static struct moved moved_of(const struct quick_run *q)
{
    struct ty_span_cursor at = ty_spans_of(&q->run->timeline, 0);
    struct ty_span span;
    struct moved sum = {0, 0, 0};
    while (ty_span_next(&at, &span)) {
        sum.down += span.op->stream == TY_STREAM_D2H ? span.kind->bytes : 0;
        sum.up += span.op->stream == TY_STREAM_H2D ? span.kind->bytes : 0;
        sum.drive += span.op->stream == TY_STREAM_NVME ? span.kind->bytes : 0;
    }
    return sum;
}

static void demand_same(const char *one, const char *other, const char *const batch)
{
    const char *const sets[][3] = {{one, batch, NULL}, {other, batch, NULL}};
    struct quick_run a = quick_run(job, NULL, sets[0]), b = quick_run(job, NULL, sets[1]);
    const struct moved x = moved_of(&a), y = moved_of(&b);
    struct ty_bill bill[2];
    ck_assert_double_eq(a.figures.step_s, b.figures.step_s);
    ck_assert_double_eq_tol(x.down, y.down, 1);
    ck_assert_double_eq_tol(x.up, y.up, 1);
    ty_run_fullest(a.run, &bill[0]);
    ty_run_fullest(b.run, &bill[1]);
    ck_assert_double_le(bill[0].total_B, bill[1].total_B * (1 + 1e-12));
    quick_run_free(&a);
    quick_run_free(&b);
}

TEST(with_room_for_nothing_it_is_zero3_offload)
{
    demand_same("layout.offload_room=0", "layout.offload=zero3-offload", "layout.global_batch=4");
    demand_same("layout.offload_room=0", "layout.offload=zero3-offload", "layout.global_batch=12");
}

TEST(with_room_for_all_it_is_zero3)
{
    demand_same("cluster.memory=400 GB", "layout.offload=none", "layout.global_batch=4");
    demand_same("cluster.memory=400 GB", "layout.offload=none", "layout.global_batch=12");
}

/* Between them: parameters come once in every step, and again as often as there was no room. Those
 * whose optimizer is on the GPU do not come, nor do their gradients leave. */
TEST(more_room_never_moves_more_and_never_takes_longer)
{
    double before_s = INFINITY;
    struct moved before = {INFINITY, INFINITY, 0};
    uint32_t different = 0;
    for (uint32_t i = 0; i <= 10; i++) {
        char room[64];
        (void)snprintf(room, sizeof(room), "layout.offload_room=%u %%", 10 * i);
        struct quick_run q = quick_run(job, NULL, SETS(room));
        const struct moved m = moved_of(&q);
        const struct ty_stage_plan *plan = &q.run->lowered.stage[0];
        const double all = plan->params / q.config->layout.data;
        struct ty_bill bill;
        ck_assert_double_le(m.up, before.up);
        ck_assert_double_le(m.down, before.down);
        ck_assert_double_le(q.figures.step_s, before_s);
        different += m.up < before.up;
        ty_run_fullest(q.run, &bill);
        ck_assert_double_le(bill.total_B, fmax(0.1 * i * bill.capacity_B, 8e9));
        /* the optimizer is here or there; so are gradients, in the place of parameters */
        ck_assert_double_eq_tol(plan->states.optimizer + plan->away.host.optimizer, 12 * all, 1);
        ck_assert_double_eq_tol(m.down, plan->away.host.optimizer / 6, 1);
        ck_assert_double_eq(plan->states.grads + plan->away.host.grads, 0);
        before = m;
        before_s = q.figures.step_s;
        quick_run_free(&q);
    }
    ck_assert_uint_gt(different, 4);
}

/* A GPU with a few GB more: all parameters stay from forward to backward, so that what moves is
 * what ZeRO-Offload moves. */
TEST(where_parameters_stay_they_come_once)
{
    struct quick_run q = quick_run(job, NULL, SETS("layout.offload_room=30 %"));
    const struct ty_stage_plan *plan = &q.run->lowered.stage[0];
    const double all = 2 * plan->params / q.config->layout.data;
    const struct moved m = moved_of(&q);
    ck_assert_double_le(m.up, 1.2 * all);
    ck_assert_double_ge(m.up, plan->away.host.weights);
    ck_assert_double_eq_tol(m.down, plan->away.host.weights, 1);
    quick_run_free(&q);
}

/* ---- drives ---- */

/* As much as a node has no room for is on its drives, and crosses them: of the optimizer's state
 * each byte twice a step; of parameters, once there is no more of that, twice as they are, once as
 * they are updated, and their gradients twice. */
TEST(what_a_node_has_no_room_for_lives_on_its_drives)
{
    double before_s = INFINITY, before_B = INFINITY;
    uint32_t states = 0, weights = 0;
    for (uint32_t GB = 12; GB <= 112; GB += 10) {
        char host[64];
        (void)snprintf(host, sizeof(host), "cluster.host=%u GB", GB);
        struct quick_run q = quick_run(job, NULL, SETS(host, "layout.offload_room=20 %"));
        const struct ty_stage_plan *plan = &q.run->lowered.stage[0];
        const struct ty_away_bytes *away = &plan->away;
        const double all = plan->params / q.config->layout.data;
        ck_assert_ptr_null(ty_run_offload_short(q.run));
        ck_assert_double_eq_tol(
            plan->states.optimizer + away->host.optimizer + away->nvme.optimizer, 12 * all, 1);
        const double drive = moved_of(&q).drive - 2 * away->nvme.optimizer;
        ck_assert_double_le(drive, 5 * away->nvme.weights + 1);
        ck_assert_double_ge(drive, 4 * away->nvme.weights - 1); /* some are on the GPU again */
        ck_assert(away->nvme.weights <= 0 || away->host.optimizer <= 1);
        states += away->nvme.optimizer > 0 && away->nvme.weights <= 0;
        weights += away->nvme.weights > 0;
        /* no more goes than has to, but for the last chunk */
        ck_assert(moved_of(&q).drive <= 0 || q.run->away[TY_OFFLOAD_HOST].total_B > 0.9e9 * GB);
        ck_assert_double_le(moved_of(&q).drive, before_B);
        ck_assert_double_le(q.figures.step_s, before_s);
        before_B = moved_of(&q).drive;
        before_s = q.figures.step_s;
        quick_run_free(&q);
    }
    ck_assert_uint_ge(states, 2);
    ck_assert_uint_ge(weights, 1);
    ck_assert_double_eq(before_B, 0);
}

/* Drives that nobody needs change nothing; drives that have all of it are ZeRO-Infinity's. */
TEST(drives_for_nothing_and_for_everything)
{
    const char *const tight[][4] = {{"layout.offload_room=0", "cluster.host=8 GB"},
                                    {"layout.offload=zero-infinity", "cluster.host=8 GB"}};
    struct quick_run a = quick_run(job, NULL, SETS("layout.offload_room=20 %"));
    struct quick_run b =
        quick_run(job, NULL, SETS("layout.offload_room=20 %", "cluster.nvme=1 MB"));
    ck_assert_double_eq(a.figures.step_s, b.figures.step_s);
    quick_run_free(&a);
    quick_run_free(&b);
    a = quick_run(job, NULL, tight[0]);
    b = quick_run(job, NULL, tight[1]);
    ck_assert_double_eq(a.figures.step_s, b.figures.step_s);
    ck_assert_double_eq_tol(moved_of(&a).drive, moved_of(&b).drive, 1);
    ck_assert_double_eq_tol(a.run->away[TY_OFFLOAD_HOST].pinned_B,
                            b.run->away[TY_OFFLOAD_HOST].pinned_B, 1);
    quick_run_free(&a);
    quick_run_free(&b);
}

/* A last stage with the head wants more than its share, and all fit together; where there are no
 * drives, or too small ones, the verdict is that of the tier. */
TEST(stages_share_a_node_and_tiers_have_verdicts)
{
    const char *const deep[] = {
        "layout.pipeline=2",        "layout.global_batch=16",       "cluster.host=70 GB",
        "layout.offload_room=20 %", "framework.zero_in_pipeline=3", NULL};
    struct quick_run q = quick_run(job, NULL, deep);
    ck_assert_ptr_null(ty_run_offload_short(q.run));
    for (uint32_t stage = 0; stage < 2; stage++) {
        ck_assert_double_gt(q.run->lowered.stage[stage].away.nvme.optimizer, 0);
    }
    ck_assert_double_gt(q.run->away[TY_OFFLOAD_HOST].total_B, 0.9 * 70e9);
    quick_run_free(&q);
    quick_run_demand_same(job, deep);
    static const char *const tier[] = {"nvme", "host"};
    static const char *const drives[] = {"cluster.nvme=10 GB", "cluster.nvme.capacity=none"};
    for (size_t i = 0; i < TY_COUNT(tier); i++) {
        q = quick_run(job, NULL, SETS(drives[i], "cluster.host=20 GB", "layout.offload_room=20 %"));
        ck_assert_ptr_nonnull(ty_run_offload_short(q.run));
        ck_assert_str_eq(ty_run_offload_short(q.run)->tier, tier[i]);
        quick_run_free(&q);
    }
}

/* Some gradients leave and some stay, and nothing waits for more than an operation can: stacks that
 * wait for every reduction, replicas of shards, tensor ranks, activations beside the GPU. */
TEST(what_stays_and_what_leaves_go_with_every_habit)
{
    static const char *const sets[][6] = {
        {"framework.preset=megatron-deepspeed", "layout.tensor=2", "layout.sequence_parallel=true"},
        {"framework.preset=megatron-lm", "layout.tensor=2", "layout.offload_activations=nvme"},
        {"framework.preset=megatron-deepspeed", "layout.tensor=2", "layout.sequence_parallel=true",
         "layout.recompute=full", "layout.offload_activations=cpu"},
        {"framework.preset=fsdp", "layout.shard=2"},
        {"framework.preset=ideal", "layout.offload_activations=cpu", "framework.sync_every=false",
         "layout.global_batch=8"},
    };
    for (size_t i = 0; i < 2 * TY_COUNT(sets); i++) {
        const bool drives = i >= TY_COUNT(sets);
        const char *all[9] = {"layout.offload_room=70 %", drives ? "cluster.host=20 GB" : NULL};
        uint32_t n = drives ? 2 : 1;
        for (uint32_t k = 0; sets[i % TY_COUNT(sets)][k] != NULL; k++) {
            all[n++] = sets[i % TY_COUNT(sets)][k];
        }
        struct quick_run q = quick_run(job, NULL, all);
        const struct ty_stage_plan *plan = &q.run->lowered.stage[0];
        ck_assert_double_gt(plan->states.optimizer, 0);
        ck_assert_double_gt(plan->away.host.optimizer + plan->away.nvme.optimizer, 0);
        ck_assert((plan->away.nvme.optimizer > 0) == drives);
        quick_run_free(&q);
        quick_run_demand_same(job, all);
    }
}

/* Experts are gathered, all else of a stage only fetched, by whoever shares but experts' states. */
TEST(units_that_are_fetched_go_with_units_that_are_gathered)
{
    static const char mixed[] = "cluster: {preset: dgx-a100-80g, nodes: 1}\n"
                                "model: {preset: mixtral-8x7b, layers: 4, sequence: 512}\n"
                                "layout: {tensor: 8, sequence_parallel: true, expert: 2, "
                                "expert_tensor: 1, global_batch: 4,\n"
                                "         zero: 3, offload: zero3-offload}\n"
                                "framework: {preset: torchtitan}\n";
    struct quick_run q = quick_run(mixed, NULL, NULL);
    const struct ty_stage_plan *plan = &q.run->lowered.stage[0];
    ck_assert_double_gt(plan->away.host.optimizer, 0);
    quick_run_free(&q);
    quick_run_demand_same(mixed, NULL);
}

/* Every step is as the first, stages of a pipeline have room of their own, and both executors say
 * the same. */
TEST(steps_are_alike_and_stages_find_their_own_room)
{
    const char *const deep[] = {"layout.pipeline=2", "layout.global_batch=16",
                                "layout.offload_room=50 %", "framework.zero_in_pipeline=3", NULL};
    struct quick_run one = quick_run(job, "events", SETS("layout.offload_room=45 %"));
    struct quick_run four =
        quick_run(job, "events", SETS("layout.offload_room=45 %", "run.steps=4"));
    ck_assert_double_eq_tol(four.figures.step_s, one.figures.step_s, 0.02 * one.figures.step_s);
    quick_run_free(&one);
    quick_run_free(&four);
    quick_run_demand_same(job, deep);
    struct quick_run q = quick_run(job, NULL, deep);
    ck_assert_double_ne(q.run->room[1].gpu_B, q.run->room[0].gpu_B);
    quick_run_free(&q);
}

TY_SUITE("gemini")
