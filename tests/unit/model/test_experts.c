/* test_experts.c - mixtures of experts: rows, who sends them where, and what it costs. Figures: two
 * layers of Mixtral 8x7B, 4096 tokens a rank, experts on 8 ranks of a node. */
#include <stdio.h>
#include <string.h>

#include "model/parallel/kinds.h"
#include "tests/common/quick_run.h"
#include "tests/unit/model_case.h"

#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define H         4096.0
#define TOKENS    4096.0

static const char mixtral[] =
    "cluster: {preset: dgx-h100, nodes: 2}\n"
    "model: {hidden: 4096, layers: 2, heads: 32, kv_heads: 8, ffn: 14336, mlp: swiglu, attention: "
    "flash3, vocabulary: 32000, sequence: 4096, experts: 8, experts_per_token: 2}\n"
    "layout: {expert: 8, zero: 1, global_batch: 32}\n"
    "framework: {preset: ideal}\n";

static const char *const dispatchers[] = {
    "framework.dispatcher=alltoall", "framework.dispatcher=allgather",
    "framework.dispatcher=deepep", "framework.dispatcher=hybridep"};

static const struct ty_unit_ops *layer_of(const struct quick_run *q)
{
    for (enum ty_unit_kind k = TY_UNIT_LAYER; k < TY_UNIT_HEAD; k++) {
        const struct ty_unit_ops *unit = &q->run->lowered.units->kind[k];
        if (unit->n > 0 && unit->op[unit->n - 1].part == TY_PART_MOE) {
            return unit;
        }
    }
    ck_abort_msg("no layer with experts");
    return NULL;
}

static const struct ty_unit_op *op_of(const struct quick_run *q, const char *name)
{
    const struct ty_unit_ops *unit = layer_of(q);
    for (uint32_t i = 0; i < unit->n; i++) {
        if (strcmp(unit->op[i].name, name) == 0) {
            return &unit->op[i];
        }
    }
    ck_abort_msg("no %s", name);
    return NULL;
}

/* ---- rows ---- */

/* C = ceil(c_f k T / E) of a rank and expert: 1024 of 4096 tokens, top-2 of 8. */
TEST(capacity_says_how_many_rows_an_expert_gets)
{
    static const struct {
        const char *capacity, *pad;
        double rows;
    } table[] = {{"none", "false", 8192},   {"1", "true", 8 * 1024},    {"1.25", "true", 8 * 1280},
                 {"1.25", "false", 8192}, /* dropped is nothing when all get as many */
                 {"0.5", "false", 8 * 512}, {"0.3333", "true", 8 * 342}};
    for (size_t i = 0; i < TY_COUNT(table); i++) {
        char capacity[64], pad[64];
        snprintf(capacity, sizeof(capacity), "framework.capacity=%s", table[i].capacity);
        snprintf(pad, sizeof(pad), "framework.pad_to_capacity=%s", table[i].pad);
        struct quick_run q = quick_run(mixtral, "sweep", SETS(capacity, pad));
        const struct ty_shard *shard = &q.run->lowered.units->shard;
        ck_assert_double_eq(shard->sent_rows, table[i].rows);
        ck_assert_double_eq(shard->expert_rows, table[i].rows);
        quick_run_free(&q);
    }
}

/* One expert that sees every token is an MLP, without router, permutation or exchange. */
TEST(one_expert_is_an_mlp)
{
    static const char *const layouts[] = {"layout.expert=1", "layout.tensor=2"};
    for (size_t i = 0; i < TY_COUNT(layouts); i++) {
        struct quick_run one =
            quick_run(mixtral, "sweep",
                      SETS("model.experts=1", "model.experts_per_token=1", "layout.expert=1",
                           layouts[i], i == 1 ? "layout.expert_tensor=2" : "layout.zero=1",
                           "layout.sequence_parallel=true"));
        struct quick_run dense =
            quick_run(mixtral, "sweep",
                      SETS("model.experts=0", "model.experts_per_token=0", "layout.expert=1",
                           layouts[i], "layout.sequence_parallel=true"));
        ck_assert_double_eq(one.figures.step_s, dense.figures.step_s);
        quick_run_free(&one);
        quick_run_free(&dense);
    }
}

/* ---- bytes ---- */

/* What a rank sends of a layer, forward and backward, rows first: top-2 of 8 experts on 8 ranks.
 * Everything that leaves arrives: a kind counts what all its members send. */
TEST(dispatchers_send_what_the_formulas_say)
{
    /* 8 (1 - C(7, 2) / C(8, 2)) of distinct ranks */
    const double row = 2 * H, copies = 2 * TOKENS * 7 / 8, tokens = TOKENS * 7;
    const double bytes[] = {
        /* rows there and back, and gradients; probabilities and theirs; counts */
        copies * (4 * row + 2 * 4) + 7 * 8 * 8,
        /* gathered in 16 bit, scattered in 32; the map beside probabilities */
        tokens * (2 * row + 4 * H + 4 * H + 8 * (4 + 1 + 4)), copies * 4 * row, copies * 4 * row};
    for (size_t i = 0; i < TY_COUNT(dispatchers); i++) {
        struct quick_run q = quick_run(mixtral, "sweep", SETS(dispatchers[i]));
        /* 2 micro-batches, 2 layers, 16 ranks */
        ck_assert_double_eq_tol(quick_run_traffic(&q, "ep"), 2 * 2 * 16 * bytes[i],
                                1e-9 * bytes[i]);
        ck_assert_double_gt(q.figures.bucket_s[TY_BUCKET_EXPOSED_EXPERT], 0);
        quick_run_free(&q);
    }
}

/* Rows travel as 8 bit and a scale towards experts only. */
TEST(fp8_halves_the_way_to_the_experts)
{
    struct quick_run q = quick_run(
        mixtral, "sweep", SETS("model.dtype=fp8", "framework.dispatch_dtype=fp8", dispatchers[2]));
    const double sent = 2 * TOKENS * 7 / 8 * H * (2 * (1 + 4 / 128.0) + 2 * 2);
    ck_assert_double_eq_tol(quick_run_traffic(&q, "ep"), 2 * 2 * 16 * sent, 1e-9 * sent);
    quick_run_free(&q);
}

/* The host knows how many rows come when every expert gets as many as it takes. */
TEST(padding_spares_the_host)
{
    static const char wait[] = "framework.dispatch_sync=40 us";
    struct quick_run free = quick_run(mixtral, "sweep", SETS(wait));
    struct quick_run padded = quick_run(
        mixtral, "sweep", SETS(wait, "framework.capacity=1", "framework.pad_to_capacity=true"));
    ck_assert_double_eq(op_of(&free, "permute")->host_s, 40e-6);
    ck_assert_double_eq(op_of(&padded, "permute")->host_s, 0);
    ck_assert_uint_eq(op_of(&free, "permute")->comms[TY_BEFORE_FORWARD].n, 1);
    ck_assert_uint_eq(op_of(&padded, "permute")->comms[TY_BEFORE_FORWARD].n, 0);
    ck_assert_double_gt(free.figures.step_s, padded.figures.step_s + 2 * 2 * 40e-6);
    quick_run_free(&free);
    quick_run_free(&padded);
}

/* ---- order ---- */

/* Nobody waits for rows while shared experts run: what is seen of exchanges is less, by as much as
 * the step is shorter, but for what kernels of deepep take from computation. */
TEST(shared_experts_run_beside_exchanges)
{
    static const double kept[] = {1, 0, 0.5, 0.5}; /* of what is hidden, at least; not allgather */
    for (size_t i = 0; i < TY_COUNT(dispatchers); i++) {
        static const char still[] = "cluster.nvlink_overlap_slowdown=0";
        static const char shared[] = "model.shared_ffn=14336";
        if (i == 1) {
            continue;
        }
        struct quick_run a = quick_run(mixtral, "sweep", SETS(shared, dispatchers[i], still));
        struct quick_run b = quick_run(
            mixtral, "sweep", SETS(shared, dispatchers[i], still, "framework.shared_overlap=true"));
        const double seen = a.figures.bucket_s[TY_BUCKET_EXPOSED_EXPERT];
        const double hidden = seen - b.figures.bucket_s[TY_BUCKET_EXPOSED_EXPERT];
        const double gained = a.figures.step_s - b.figures.step_s;
        ck_assert_double_gt(hidden, 0.5 * seen);
        ck_assert_double_gt(gained, (kept[i] - 0.02) * hidden);
        ck_assert_double_lt(gained, 1.02 * hidden);
        quick_run_free(&a);
        quick_run_free(&b);
    }
}

/* Weight gradients of experts need nothing that dispatch's backward brings. */
TEST(weight_gradients_run_beside_the_way_back)
{
    for (size_t i = 0; i < TY_COUNT(dispatchers); i++) {
        static const char still[] = "cluster.nvlink_overlap_slowdown=0";
        struct quick_run a = quick_run(mixtral, "sweep", SETS(dispatchers[i], still));
        struct quick_run b = quick_run(
            mixtral, "sweep", SETS(dispatchers[i], still, "framework.overlap_dispatch=true"));
        const double seen = a.figures.bucket_s[TY_BUCKET_EXPOSED_EXPERT];
        ck_assert_double_lt(b.figures.bucket_s[TY_BUCKET_EXPOSED_EXPERT], 0.9 * seen);
        ck_assert_double_lt(b.figures.step_s, a.figures.step_s - 0.1 * seen);
        ck_assert_double_eq(quick_run_traffic(&a, "ep"), quick_run_traffic(&b, "ep"));
        quick_run_free(&a);
        quick_run_free(&b);
    }
}

/* With a host of no more than a dense layer's floor on each launch a layer with experts takes as
 * many times that as it has more to launch: a router of framework operators alone has 20. */
TEST(layers_with_experts_take_their_host_longer)
{
    static const char slow[] = "framework.layer_floor=50 ms";
    static const char dense[] = "model.dense_layers=1";
    static const char fused[] = "framework.fused_router=true";
    static const char batch[] = "layout.global_batch=16", by[] = "framework.expert_floor=auto";
    struct quick_run both = quick_run(mixtral, "sweep", SETS(slow, by, batch));
    struct quick_run one = quick_run(mixtral, "sweep", SETS(slow, by, batch, dense));
    struct quick_run less = quick_run(mixtral, "sweep", SETS(slow, by, batch, fused));
    struct quick_run said =
        quick_run(mixtral, "sweep", SETS(slow, batch, "framework.expert_floor=7"));
    const double moe = both.figures.step_s - one.figures.step_s;     /* over a dense layer */
    const double router = both.figures.step_s - less.figures.step_s; /* of both layers */
    /* forward, and 1.3 times that backward */
    const double launch = 2.3 * 50e-3 / 11 / both.config->cluster.gpu.host_speed;
    /* 12 kernels, the router's, permutation twice 2; counts and three exchanges */
    ck_assert_double_eq_tol(router, 2 * (20 - 2) * launch, 0.02 * router);
    ck_assert_double_eq_tol(moe, (12 + 20 + 2 * 2 + 4 - 11) * launch, 0.02 * moe);
    /* or as many times as somebody says */
    ck_assert_double_eq_tol(said.figures.step_s - one.figures.step_s,
                            (2 * 7 - 1 - 40 / 11.0) * 11 * launch, 0.02 * said.figures.step_s);
    quick_run_free(&said);
    quick_run_free(&both);
    quick_run_free(&one);
    quick_run_free(&less);
}

/* Whole layers that run again send everything again: six exchanges of rows in place of four. */
TEST(full_recomputation_repeats_exchanges)
{
    struct quick_run once = quick_run(mixtral, "sweep", SETS(dispatchers[2]));
    struct quick_run again =
        quick_run(mixtral, "sweep", SETS(dispatchers[2], "layout.recompute=full"));
    ck_assert_double_eq_tol(quick_run_traffic(&again, "ep"), 1.5 * quick_run_traffic(&once, "ep"),
                            1e-6);
    quick_run_free(&once);
    quick_run_free(&again);
}

/* What does not go together is told. */
TEST(habits_that_do_not_go_together_are_told)
{
    static const struct {
        struct ty_framework framework;
        const char *message;
    } rows[] = {
        {{.pad_to_capacity = true}, "pad_to_capacity has nothing to fill up to"},
        {{.pad_to_capacity = true, .capacity = 1, .dispatcher = TY_DISPATCHER_DEEPEP},
         "goes with framework.dispatcher alltoall only"},
        {{.shared_overlap = true, .dispatcher = TY_DISPATCHER_ALL_GATHER},
         "shared_overlap does not go with framework.dispatcher allgather"},
        {{.dispatch_dtype = TY_DISPATCH_FP8}, "and model.dtype is another"},
        {{.dispatch_dtype = TY_DISPATCH_MODEL}, NULL},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct model_case c;
        model_case_begin(&c, 1);
        c.layout.framework = rows[i].framework;
        ck_assert_int_eq(model_read(&c, "deepseek-v2-lite", "dtype: bf16"), 0);
        const int rc = layout_read(&c, "{expert: 8, global_batch: 8}", 1);
        ck_assert_int_eq(rc, rows[i].message == NULL ? 0 : TY_EINPUT);
        if (rc < 0) {
            ck_assert_msg(strstr(c.err.text, rows[i].message) != NULL, "%s", c.err.text);
        }
        ty_arena_release(&c.arena);
    }
}

/* Nothing is drawn where all experts get as many rows. */
TEST(balanced_steps_do_not_know_the_seed)
{
    struct quick_run a = quick_run(mixtral, NULL, SETS("run.seed=1"));
    struct quick_run b = quick_run(mixtral, NULL, SETS("run.seed=77"));
    struct quick_run c = quick_run(mixtral, NULL, SETS("run.seed=1", "run.routing=uniform"));
    struct quick_run d = quick_run(mixtral, NULL, SETS("run.seed=77", "run.routing=uniform"));
    ck_assert_double_eq(a.figures.step_s, b.figures.step_s);
    ck_assert_double_ne(c.figures.step_s, d.figures.step_s);
    quick_run_free(&a);
    quick_run_free(&b);
    quick_run_free(&c);
    quick_run_free(&d);
}

/* Both executors, every dispatcher, with other kinds of parallelism and schedules: the same times,
 * and buckets that add up. */
TEST(dispatchers_go_with_other_kinds)
{
    static const char *const with[] = {"layout.pipeline=2",     "layout.zero=3",
                                       "layout.recompute=full", "schedule.name=zb-1p",
                                       "layout.context=2",      "framework.shared_overlap=true"};
    for (size_t i = 0; i < TY_COUNT(dispatchers) * TY_COUNT(with); i++) {
        const size_t dispatcher = i / TY_COUNT(with), other = i % TY_COUNT(with);
        const char *const sets[] = {dispatchers[dispatcher], with[other],
                                    "layout.tensor=2",       "layout.sequence_parallel=true",
                                    "layout.expert=2",       "layout.expert_tensor=2",
                                    "model.shared_ffn=4096", NULL};
        if (dispatcher == 1 && other == TY_COUNT(with) - 1) { /* refused */
            continue;
        }
        quick_run_demand_same(mixtral, sets);
    }
}

/* Elements a token that parts of a layer of DeepSeek-V3 give up, and products that bring them back:
 * queries, keys and values; what norms of hidden states and latents give; activations of eight
 * experts. */
TEST(parts_of_a_sparse_layer_give_up_what_only_they_have)
{
    const double h = 7168, q = 1536, kv = 512, wide = 128 * (2 * 192 + 128), act = 8 * 2048;
    const struct {
        const char *parts;
        double elements, products;
    } rows[] = {
        {"mla_up", wide, q * 128 * 192 + kv * 128 * 256},
        {"norm", 2 * h + q + kv, 0},
        {"moe_act", act, 0},
        {"[norm, mla_up, moe_act]", wide + 2 * h + q + kv + act, q * 128 * 192 + kv * 128 * 256}};
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct model_case c;
        struct ty_units units;
        struct ty_tensors tensors;
        struct ty_unit_costs costs;
        char layout[96];
        double flops = 0;
        (void)snprintf(layout, sizeof(layout), "{expert: 64, global_batch: 64, recompute: %s}",
                       rows[i].parts);
        model_case(&c, 8, "deepseek-v3", "{sequence: 4096, attention: flash2}", layout);
        const struct ty_layers tenth = {.first = 10, .count = 1};
        const enum ty_unit_kind kind = ty_layer_kind(&c.arch, &tenth, 0);
        c.layout.framework.scale_activation = true;
        ty_units_make(&units, &c.arch, &c.layout);
        ty_memory_tensors(&units, &tensors);
        assert_near(ty_tensors_sum(&tensors, kind, TY_LIFE_RECOMPUTED), 2 * 4096 * rows[i].elements,
                    1e-12);
        ty_unit_price(&units.kind[kind], &c.layout, &c.cluster.gpu, &costs);
        for (uint32_t op = 0; op < units.kind[kind].n; op++) {
            flops += costs.op[op].recompute.flops;
        }
        assert_near(flops, 2 * 4096 * rows[i].products, 1e-12);
    }
}

TY_SUITE("experts")
