/* test_sharding.c - parameters and gradients in shards, gathered ahead and reduced after one or
 * all micro-batches; volumes exact, overlap emergent, under every schedule and executor. */
#include "model/parallel/whole.h"
#include "tests/unit/replicas.h"

/* ---- ZeRO-3 ---- */

struct change {
    ty_ps at;
    int by;
};

static int by_time(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    return x->at != y->at ? (x->at < y->at ? -1 : 1) : x->by - y->by;
}

/* Whether span i of n is a computation after which its unit is not computed again in its pass. The
 * head stays between its forward and its backward. */
static bool ends_unit(const struct ty_span *spans, uint32_t i, uint32_t n)
{
    const struct ty_span *s = &spans[i];
    if (s->op->stream != TY_STREAM_COMPUTE || s->op->part == TY_PART_NONE ||
        (s->op->part == TY_PART_HEAD && s->pass->phase == TY_PHASE_FORWARD)) {
        return false;
    }
    bool last = true;
    for (uint32_t k = i + 1; last && k < n && spans[k].pass == s->pass; k++) {
        last = spans[k].op->stream != TY_STREAM_COMPUTE || spans[k].op->layer != s->op->layer ||
               (s->op->layer == TY_NONE && spans[k].op->part != s->op->part);
    }
    return last;
}

/* Whole units of rank 0 over time: one more when a gather starts, one less when a pass has computed
 * a unit for the last time. */
static int most_whole(const struct quick_run *q)
{
    static struct change change[SPANS_MAX];
    uint32_t n = 0;
    const uint32_t count = spans_of(q, NULL, TY_N_PHASES, span);
    for (uint32_t i = 0; i < count; i++) {
        const struct ty_span *s = &span[i];
        if (s->op->stream == TY_STREAM_DATA && strcmp(s->kind->name, "all-gather") == 0) {
            change[n++] = (struct change){s->start, 1};
        }
        if (ends_unit(span, i, count)) {
            change[n++] = (struct change){end_of(s), -1};
        }
    }
    qsort(change, n, sizeof(change[0]), by_time);
    int whole = 0, most = 0;
    for (uint32_t i = 0; i < n; i++) {
        whole += change[i].by;
        most = whole > most ? whole : most;
    }
    ck_assert_int_eq(whole, 0);
    return most;
}

TEST(one_plus_prefetch_units_exist_whole)
{
    for (int prefetch = 0; prefetch <= 4; prefetch++) {
        char set[32];
        snprintf(set, sizeof(set), "framework.prefetch=%d", prefetch);
        struct quick_run q = run(SETS("layout.zero=3", set, "layout.global_batch=48"));
        ck_assert_int_eq(most_whole(&q), 1 + prefetch);
        quick_run_free(&q);
    }
}

/* The bill counts them: another layer of 16-bit weights for each gather ahead. */
TEST(prefetch_trades_memory_for_time)
{
    struct quick_run q[3];
    for (int prefetch = 0; prefetch < 3; prefetch++) {
        char set[32];
        snprintf(set, sizeof(set), "framework.prefetch=%d", prefetch);
        q[prefetch] = run(SETS("layout.zero=3", set, "layout.recompute=full"));
    }
    const double layer = 2 * ty_arch_layer_params(&q[0].config->arch);
    const double more = q[2].run->lowered.stage[0].buffers_B - q[1].run->lowered.stage[0].buffers_B;
    ck_assert_double_lt(exposed(&q[1]), 0.5 * exposed(&q[0]));
    ck_assert_double_eq(more, layer);
    for (int prefetch = 0; prefetch < 3; prefetch++) {
        quick_run_free(&q[prefetch]);
    }
}

/* Without a second gather: 2 X. Every micro-batch gathers anew, because its backward gave up. */
TEST(keeping_parameters_after_the_forward_saves_a_gather)
{
    struct quick_run one = run(SETS("layout.zero=3", "framework.reshard_after_forward=false"));
    struct quick_run three = run(
        SETS("layout.zero=3", "framework.reshard_after_forward=false", "layout.global_batch=48"));
    struct quick_run again = run(SETS("layout.zero=3"));
    const double volume = 2 * 15 * X(&one);
    ck_assert_double_eq_tol(quick_run_traffic(&one, "dp"), volume, 1e-9 * volume);
    ck_assert_double_eq_tol(quick_run_traffic(&three, "dp"), 3 * volume, 1e-9 * volume);
    ck_assert_double_eq_tol(quick_run_traffic(&again, "dp"), 1.5 * volume - 15 * head_bytes(&again),
                            1e-9 * volume);
    ck_assert_double_eq(one.run->lowered.stage[0].states.weights, X(&one) / 16);
    ck_assert_double_ge(one.run->lowered.stage[0].buffers_B, X(&one));
    quick_run_free(&one);
    quick_run_free(&three);
    quick_run_free(&again);
}

/* A unit's backward does not begin before the reduction of the unit two before has ended, even
 * where no gather makes it wait. */
TEST(one_reduction_is_under_way_at_a_time)
{
    struct quick_run q = run(SETS("layout.zero=3", "framework.reshard_after_forward=false",
                                  "cluster.nic_bandwidth=20 Gb/s"));
    const uint32_t layers = q.config->arch.layers;
    ty_ps reduced[256] = {0};
    uint32_t waited = 0;
    const uint32_t n = spans_of(&q, NULL, TY_PHASE_BACKWARD, span);
    for (uint32_t i = 0; i < n; i++) {
        const uint16_t layer = span[i].op->layer;
        if (layer == TY_NONE) {
            continue;
        }
        if (span[i].op->stream == TY_STREAM_DATA) {
            reduced[layer] = end_of(&span[i]);
        } else if (layer + 2u < layers) {
            ck_assert_uint_ge(span[i].start, reduced[layer + 2]);
            waited += span[i].start == reduced[layer + 2];
        }
    }
    ck_assert_uint_eq(waited, layers - 2);
    quick_run_free(&q);
}

/* The first computation of a pass comes after every reduction of the passes before it, be it
 * between replicas, of another chunk, or of weight gradients alone. */
TEST(a_pass_waits_for_the_reductions_of_the_last)
{
    static const char *const layouts[][4] = {
        {"layout.global_batch=48"},
        {"layout.global_batch=48", "layout.shard=8"},
        {"layout.global_batch=48", "layout.shard=8", "framework.reshard_after_forward=false"},
        {"layout.pipeline=2", "schedule.name=interleaved", "schedule.chunks=2",
         "framework.reshard_after_forward=false"},
        {"layout.pipeline=2", "schedule.name=zb-2p", "cluster.nvlink_bandwidth=10 GB/s"},
    };
    for (size_t i = 0; i < TY_COUNT(layouts); i++) {
        struct quick_run q =
            run(SETS("layout.zero=3", "layout.global_batch=64", "cluster.nic_bandwidth=10 Gb/s",
                     layouts[i][0], layouts[i][1], layouts[i][2], layouts[i][3]));
        const struct ty_pass *pass = NULL;
        ty_ps reduced = 0, before = 0;
        const uint32_t n = spans_of_rank(&q, 15, NULL, TY_N_PHASES, span);
        for (uint32_t k = 0; k < n; k++) {
            const ty_ps end = end_of(&span[k]);
            if (span[k].pass != pass) {
                pass = span[k].pass;
                before = reduced;
            }
            if (span[k].op->stream == TY_STREAM_COMPUTE) {
                ck_assert_msg(span[k].start >= before, "layout %zu, operation %u", i, (unsigned)k);
                before = 0; /* the first one only */
            } else if (strcmp(span[k].kind->name, "reduce-scatter") == 0 ||
                       span[k].op->stream == TY_STREAM_REPLICA) {
                reduced = end > reduced ? end : reduced;
            }
        }
        ck_assert_uint_gt(reduced, 0);
        quick_run_free(&q);
    }
}

/* ---- accumulation over micro-batches ---- */

static double volume_of(const char *zero, const char *k, const char *every)
{
    struct quick_run q = run(SETS(zero, k, every));
    const double bytes = quick_run_traffic(&q, "dp") / 15;
    quick_run_free(&q);
    return bytes;
}

/* Volumes for three micro-batches, in X: gathers, then reductions. The head of ZeRO-3 stays
 * gathered between forward and backward. */
TEST(reducing_after_the_last_micro_batch_saves_reductions_only)
{
    static const struct {
        const char *zero;
        double every, last, heads;
    } rows[] = {{"layout.zero=0", 6, 2, 0},
                {"layout.zero=1", 1 + 3, 1 + 1, 0},
                {"layout.zero=2", 1 + 3, 1 + 1, 0},
                {"layout.zero=3", 6 + 3, 6 + 1, 3}};
    struct quick_run any = run(NULL);
    const double x = X(&any), head = head_bytes(&any);
    quick_run_free(&any);
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const char *k = "layout.global_batch=48";
        const double every = rows[i].every * x - rows[i].heads * head;
        const double last = rows[i].last * x - rows[i].heads * head;
        ck_assert_double_eq_tol(volume_of(rows[i].zero, k, "framework.sync_every=true"), every,
                                1e-9 * every);
        ck_assert_double_eq_tol(volume_of(rows[i].zero, k, "framework.sync_every=false"), last,
                                1e-9 * last);
    }
}

/* ... at the price of whole gradients, in the type they are reduced in. One micro-batch has nothing
 * to add up. */
TEST(gradients_added_up_are_whole)
{
    static const char *const batch[] = {"layout.global_batch=16", "layout.global_batch=48"};
    for (int k = 0; k < 2; k++) {
        struct quick_run q = run(SETS("layout.zero=3", "framework.sync_every=false",
                                      "framework.reduce_dtype=fp32", batch[k]));
        const double grads = q.run->lowered.stage[0].states.grads;
        ck_assert_double_eq(grads, k == 0 ? X(&q) / 16 : 2 * X(&q));
        quick_run_free(&q);
    }
}

/* DeepSpeed all-reduces the buckets of ZeRO-1 and -2 and gathers parameters all the same: 3 X. */
TEST(all_reduced_shards_move_three_times_the_parameters)
{
    static const char *const zero[] = {"layout.zero=1", "layout.zero=2"};
    for (int i = 0; i < 2; i++) {
        struct quick_run q = run(SETS(zero[i], "framework.reduce_scatter=false"));
        const double expected = 3 * 15 * X(&q);
        ck_assert_double_eq_tol(quick_run_traffic(&q, "dp"), expected, 1e-9 * expected);
        quick_run_free(&q);
    }
}

/* What the presets of stacks move for three micro-batches, in X: 16-bit gathers, and reductions in
 * the type that each stack reduces in. */
TEST(presets_move_what_their_stacks_move)
{
    static const struct {
        const char *preset, *zero;
        double x, heads;
    } rows[] = {{"framework.preset=ddp", "layout.zero=0", 3 * 2, 0},
                {"framework.preset=megatron-lm", "layout.zero=0", 2 * 2, 0},
                {"framework.preset=megatron-lm", "layout.zero=1", 2 + 1, 0},
                {"framework.preset=megatron-deepspeed", "layout.zero=1", 2 + 1, 0},
                {"framework.preset=megatron-deepspeed", "layout.zero=2", 3 * 2 + 1, 0},
                {"framework.preset=fsdp", "layout.zero=3", 3 * (2 + 2), 3}};
    struct quick_run any = run(NULL);
    const double x = X(&any), head = head_bytes(&any);
    quick_run_free(&any);
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const double expected = rows[i].x * x - rows[i].heads * head;
        const double bytes = volume_of(rows[i].zero, "layout.global_batch=48", rows[i].preset);
        ck_assert_msg(bytes > expected * (1 - 1e-9) && bytes < expected * (1 + 1e-9),
                      "%s, %s: %.9g X", rows[i].preset, rows[i].zero, bytes / x);
    }
}

/* Sharded gradients have no place to wait: without overlap each bucket stops the backward. */
TEST(without_overlap_sharded_gradients_stop_the_backward)
{
    static const char *const zero[] = {"layout.zero=2", "layout.zero=3"};
    for (int i = 0; i < 2; i++) {
        struct quick_run q = run(SETS(zero[i], "framework.overlap_grad_reduce=false"));
        const uint32_t n = spans_of(&q, NULL, TY_PHASE_BACKWARD, span);
        ty_ps reduced = 0;
        for (uint32_t k = 0; k < n; k++) {
            if (strcmp(span[k].kind->name, "reduce-scatter") == 0) {
                reduced = end_of(&span[k]);
            } else if (span[k].op->stream == TY_STREAM_COMPUTE) {
                ck_assert_uint_ge(span[k].start, reduced);
            }
        }
        ck_assert_uint_gt(reduced, 0);
        quick_run_free(&q);
    }
}

/* ---- both executors ---- */

TEST(executors_agree_on_sharded_layouts)
{
    static const char *const layouts[][5] = {
        {"layout.zero=3", "framework.prefetch=3", "layout.global_batch=48"},
        {"layout.zero=3", "framework.prefetch=0", "layout.tensor=2",
         "layout.sequence_parallel=true", "run.steps=2"},
        {"layout.zero=3", "framework.reshard_after_forward=false", "layout.pipeline=2",
         "framework.overlap_p2p=false", "layout.global_batch=32"},
        {"layout.zero=3", "layout.pipeline=2", "layout.tensor=2", "layout.global_batch=32",
         "schedule.name=zb-1p"},
        {"layout.zero=1", "framework.bucket=30 MB", "run.steps=2", "run.jitter=3 %"},
        {"layout.zero=3", "layout.shard=4", "layout.tensor=2", "layout.global_batch=48",
         "layout.sequence_parallel=true"},
        {"layout.zero=3", "layout.shard=2", "layout.pipeline=4", "layout.global_batch=64",
         "framework.overlap_p2p=false"},
        {"layout.zero=2", "layout.shard=8", "run.steps=2", "framework.overlap_grad_reduce=false"},
        {"layout.zero=1", "layout.shard=2", "layout.pipeline=4", "schedule.name=dualpipe",
         "layout.global_batch=64"},
    };
    for (size_t i = 0; i < TY_COUNT(layouts); i++) {
        const char *const *s =
            SETS(layouts[i][0], layouts[i][1], layouts[i][2], layouts[i][3], layouts[i][4]);
        struct quick_run a = quick_run(small, "sweep", s), b = quick_run(small, "events", s);
        ck_assert(memcmp(a.run->timeline.start, b.run->timeline.start,
                         (size_t)a.run->lowered.program.n_tasks * sizeof(ty_ps)) == 0);
        quick_run_free(&a);
        quick_run_free(&b);
    }
}

/* Messages that block, no host time that would take up waits, sequence parallelism, hybrid
 * sharding, nothing gathered ahead: an operation never has to wait for more than it can name. */
TEST(every_schedule_runs_under_every_stage)
{
    static const char tight[] =
        "cluster: {preset: dgx-a100-80g, nodes: 4}\n"
        "model: {preset: gpt3-1.3b, layers: 16, sequence: 512, tied: false}\n"
        "layout: {global_batch: 64, pipeline: 4, tensor: 2, sequence_parallel: true}\n"
        "framework: {overlap_p2p: false, pass_overhead: 0 s, prefetch: 0}\n";
    static const char *const layouts[][2] = {
        {"layout.zero=1", "framework.overlap_param_gather=true"},
        {"layout.zero=2", "layout.shard=2"},
        {"layout.zero=3", "framework.reshard_after_forward=false"},
        {"layout.zero=3", "layout.shard=2"},
    };
    for (size_t i = 0; ty_schedules[i] != NULL; i++) {
        for (size_t k = 0; k < TY_COUNT(layouts); k++) {
            char name[64];
            snprintf(name, sizeof(name), "schedule.name=%s", ty_schedules[i]->name);
            const char *const *s =
                SETS(layouts[k][0], layouts[k][1], name,
                     ty_schedules[i]->sliced ? "schedule.slices=4" : "run.seed=1");
            struct quick_run a = quick_run(tight, "sweep", s), b = quick_run(tight, "events", s);
            ck_assert(memcmp(a.run->timeline.start, b.run->timeline.start,
                             (size_t)a.run->lowered.program.n_tasks * sizeof(ty_ps)) == 0);
            quick_run_free(&a);
            quick_run_free(&b);
        }
    }
}

TY_SUITE("sharding")
