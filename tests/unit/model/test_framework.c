/* Habits of training stacks: each key does what it says, in time and in bytes. */
#include "model/framework.h"

#include <stdio.h>

#include "sim/config/stack.h"
#include "sim/run/bill.h"
#include "tests/common/quick_run.h"
#include "tests/unit/model_case.h"
#include "tests/unit/priced.h"

#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char pipeline[] = "cluster: {preset: dgx-a100-80g, nodes: 2}\n"
                               "model: {preset: llama-7b, sequence: 2048}\n"
                               "layout: {tensor: 2, pipeline: 4, zero: 1, global_batch: 32}\n"
                               "framework: {preset: ideal}\n";

static double step_s(const char *const *sets)
{
    struct quick_run q = quick_run(pipeline, NULL, sets);
    const double seconds = q.figures.step_s;
    quick_run_free(&q);
    return seconds;
}

static double traffic(const char *const *sets, const char *group)
{
    struct quick_run q = quick_run(pipeline, NULL, sets);
    const double bytes = (double)quick_run_traffic(&q, group);
    quick_run_free(&q);
    return bytes;
}

/* What costs time in one stack costs none in the ideal one. */
TEST(every_habit_of_an_eager_stack_costs_time)
{
    static const char *const habits[] = {
        "framework.grad_dtype=fp32",
        "framework.fused_accumulation=false",
        "framework.overlap_grad_reduce=false",
        "framework.overlap_param_gather=false",
        "framework.fused_qkv=false",
        "framework.fused_gate=false",
        "framework.overlap_tensor_reduce=false",
        "framework.overlap_p2p=false",
        "framework.fused_activation=false",
        "framework.fused_rotary=false",
        "framework.fused_optimizer=false",
        "framework.parallel_loss=false",
        "framework.norm_speed=1",
        "framework.layer_floor=20 ms",
        "framework.attention_sync=1 ms",
        "framework.pass_overhead=1 ms",
    };
    const double ideal = step_s(NULL);
    for (size_t i = 0; i < TY_COUNT(habits); i++) {
        const double habit = step_s(SETS(habits[i]));
        ck_assert_msg(habit > ideal, "%s: %.9g s, ideal %.9g s", habits[i], habit, ideal);
    }
    ck_assert_double_gt(step_s(SETS("framework.preset=megatron-deepspeed")),
                        step_s(SETS("framework.preset=megatron-lm")));
    ck_assert_double_gt(step_s(SETS("framework.preset=megatron-lm")), ideal);
}

/* Once a step, whatever its micro-batches, and on every rank at the same time. */
TEST(a_step_waits_for_its_host_once)
{
    const char *const wait = "framework.step_overhead=1.5 s", *const two = "run.steps=2";
    const char *const more = "layout.global_batch=64";
    const char *const early = "framework.overlap_param_gather=false"; /* it hides nothing */
    assert_near(step_s(SETS(wait)) - step_s(NULL), 1.5, 1e-9);
    assert_near(step_s(SETS(wait, more)) - step_s(SETS(more)), 1.5, 1e-9);
    assert_near(step_s(SETS(wait, two, early)) - step_s(SETS(two, early)), 1.5, 1e-9);
    const char *const each = "schedule.name=pipedream", *const one = "layout.pipeline=1";
    assert_near(step_s(SETS(wait, each)) - step_s(SETS(each)), 1.5, 1e-9);
    const char *const away = "layout.offload=zero-offload", *const cut = "layout.zero=2";
    const double behind = step_s(SETS(wait, one, away, cut)) - step_s(SETS(one, away, cut));
    ck_assert_msg(behind > 1.49 && behind <= 1.5, "%g s", behind); /* what comes back moves on */
}

TEST(a_fused_loss_takes_less_memory)
{
    struct quick_run apart = quick_run(pipeline, NULL, SETS("layout.pipeline=1"));
    struct quick_run fused =
        quick_run(pipeline, NULL, SETS("layout.pipeline=1", "framework.fused_loss=true"));
    struct ty_bill a, f;
    ty_run_fullest(apart.run, &a);
    ty_run_fullest(fused.run, &f);
    ck_assert_double_lt(f.total_B, a.total_B);
    quick_run_free(&apart);
    quick_run_free(&fused);
}

static double kept_by_layer(const struct quick_run *q)
{
    struct ty_tensors tensors;
    ty_memory_tensors(q->run->lowered.units, &tensors);
    return ty_tensors_sum(&tensors, TY_UNIT_LAYER, TY_LIFE_KEPT);
}

/* Two of three wide tensors are left in every layer, and the backward writes the third. */
TEST(a_product_that_is_made_again_is_not_kept)
{
    struct quick_run kept = quick_run(pipeline, NULL, SETS("run.seed=1"));
    struct quick_run made = quick_run(pipeline, NULL, SETS("framework.keep_product=false"));
    const double product = 2048 * 2 * 11008 / 2; /* tokens, bytes, width on two ranks */
    ck_assert_double_eq(kept_by_layer(&kept) - kept_by_layer(&made), product);
    ck_assert_double_gt(made.figures.step_s, kept.figures.step_s);
    quick_run_free(&kept);
    quick_run_free(&made);
}

/* 32-bit gradients double what is scattered, not the parameters that are gathered. */
TEST(gradients_travel_in_their_type)
{
    const double both16 = traffic(NULL, "dp");
    const double wide = traffic(SETS("framework.reduce_dtype=fp32"), "dp");
    const double kept = traffic(SETS("framework.grad_dtype=fp32"), "dp");
    const double kept16 =
        traffic(SETS("framework.grad_dtype=fp32", "framework.reduce_dtype=model"), "dp");
    ck_assert_double_eq_tol(wide, 1.5 * both16, 1e-9 * both16);
    ck_assert_double_eq_tol(kept, wide, 1e-9 * wide);
    ck_assert_double_eq_tol(kept16, both16, 1e-9 * both16);
}

TEST(auto_means_fp32_in_bf16_training_only)
{
    struct ty_framework f = {.grad_dtype = TY_GRAD_AUTO, .reduce_dtype = TY_GRAD_AUTO};
    ty_framework_finish(&f, TY_DTYPE_BF16);
    ck_assert(f.grad_fp32 && f.reduce_fp32);
    ty_framework_finish(&f, TY_DTYPE_FP16);
    ck_assert(!f.grad_fp32 && !f.reduce_fp32);
    f.reduce_dtype = TY_GRAD_FP32;
    ty_framework_finish(&f, TY_DTYPE_FP16);
    ck_assert(!f.grad_fp32 && f.reduce_fp32);
}

/* Per layer two all-reduces forward and two backward; a gate of its own adds one, three matrices
 * for q, k and v two. */
TEST(matrices_apart_are_reduced_apart)
{
    const double fused = traffic(NULL, "tp");
    const double gate = traffic(SETS("framework.fused_gate=false"), "tp");
    const double apart =
        traffic(SETS("framework.fused_gate=false", "framework.fused_qkv=false"), "tp");
    const double one = gate - fused; /* 32 layers, every micro-batch */
    ck_assert_double_gt(one, fused / 5);
    ck_assert_double_lt(one, fused / 4);
    ck_assert_double_eq_tol(apart - fused, 3 * one, 1e-9 * fused);
}

/* The same bytes, bucket by bucket behind the first forward instead of after the step. */
TEST(parameters_may_come_back_late)
{
    const char *const late = "framework.overlap_param_gather=true";
    const char *const early = "framework.overlap_param_gather=false";
    const char *const slow = "cluster.nic_bandwidth=25 Gb/s";
    ck_assert_double_eq(traffic(SETS(late), "dp"), traffic(SETS(early), "dp"));
    ck_assert_double_lt(step_s(SETS(late, slow)), step_s(SETS(early, slow)));
    struct quick_run a = quick_run(pipeline, "sweep", SETS(late, "run.steps=2"));
    struct quick_run b = quick_run(pipeline, "events", SETS(late, "run.steps=2"));
    ck_assert_double_eq(a.figures.step_s, b.figures.step_s);
    quick_run_free(&a);
    quick_run_free(&b);
}

/* A layer that its host holds up lasts the floor, whatever its collectives take of it; and those it
 * has not, such as all-reduces under sequence parallelism, take nothing. */
TEST(collectives_fit_under_the_floor_of_the_host)
{
    static const char *const base[] = {"framework.layer_floor=20 ms", "layout.pipeline=1",
                                       "framework.overlap_tensor_reduce=false"};
    static const char *const modes[] = {"layout.sequence_parallel=false",
                                        "layout.sequence_parallel=true"};
    static const char *const slower[] = {"cluster.nvlink_latency=500 us",
                                         "cluster.nvlink_gather_latency=500 us",
                                         "cluster.collective_derate=1.5"};
    for (size_t m = 0; m < TY_COUNT(modes); m++) {
        const double before = step_s(SETS(base[0], base[1], base[2], modes[m]));
        for (size_t i = 0; i < TY_COUNT(slower); i++) {
            const double after = step_s(SETS(base[0], base[1], base[2], modes[m], slower[i]));
            ck_assert_msg(after > 0.999 * before && after < 1.01 * before, "%s, %s: %.9g s, %.9g s",
                          modes[m], slower[i], before, after);
        }
    }
}

/* The host launches the kernels of every step of a product on a grid of ranks, too: where it sets
 * the pace, twice the time makes layers twice as long. */
TEST(products_in_steps_last_as_long_as_their_launches)
{
    static const char *const schemes[] = {"2d", "3d"}, *const ranks[] = {"4", "8"};
    for (size_t i = 0; i < TY_COUNT(schemes); i++) {
        char scheme[40], tensor[40];
        (void)snprintf(scheme, sizeof(scheme), "layout.tensor_scheme=%s", schemes[i]);
        (void)snprintf(tensor, sizeof(tensor), "layout.tensor=%s", ranks[i]);
        const char *const one[] = {scheme,
                                   tensor,
                                   "layout.pipeline=1",
                                   "layout.micro_batch=4",
                                   "framework.layer_floor=60 ms",
                                   NULL};
        const char *const two[] = {one[0], one[1], one[2], one[3], "framework.layer_floor=120 ms",
                                   NULL};
        assert_near(step_s(two), 2 * step_s(one), 0.02);
    }
}

/* A collective that outlasts the weight gradient beside it leaves the host time, too: overlap never
 * makes a step that the host paces longer. */
TEST(overlap_of_long_reductions_does_not_cost_a_slow_host_time)
{
    static const char yaml[] = "cluster: {preset: dgx-a100-80g, nvlink_latency: 400 us, "
                               "nvlink_ll_efficiency: none, nvlink_overlap_slowdown: 0}\n"
                               "model: {preset: gpt3-125m, sequence: 1024}\n"
                               "layout: {tensor: 4, global_batch: 8}\n"
                               "framework: {preset: ideal, layer_floor: 1.05 ms}\n";
    struct quick_run beside = quick_run(yaml, NULL, SETS("framework.overlap_tensor_reduce=true"));
    struct quick_run after = quick_run(yaml, NULL, SETS("framework.overlap_tensor_reduce=false"));
    ck_assert_double_le(beside.figures.step_s, after.figures.step_s * (1 + 1e-9));
    quick_run_free(&beside);
    quick_run_free(&after);
}

/* Layers of two micro-batches whose products of sequence parallelism are in pieces: copies are what
 * is slow there, so that all but the first piece of each wait for one. */
#define PIECES_YAML(latency)                                                                       \
    "cluster: {preset: dgx-a100-80g, nvlink_p2p_latency: " latency "}\n"                           \
    "model: {layers: 3, hidden: 4096, heads: 32, ffn: 16384, sequence: 2048, vocabulary: 32000}\n" \
    "layout: {tensor: 8, sequence_parallel: true, global_batch: 2}\n"                              \
    "framework: {preset: ideal, overlap_tensor_products: true}\n"

static double pieces_s(const char *yaml, const char *const *sets)
{
    struct quick_run q = quick_run(yaml, NULL, sets);
    const double seconds = q.figures.step_s;
    quick_run_free(&q);
    return seconds;
}

/* Seven copies of each product forward, and of the two whose result is scattered once more
 * backward; full recomputation runs the former again. A fused MLP has two products, one with gate
 * and up apart still gathers once. */
TEST(products_in_pieces_wait_for_a_copy_less_than_they_have_pieces)
{
    static const struct {
        const char *set;
        double products;
    } rows[] = {
        {"layout.recompute=none", 4 + 2}, {"layout.recompute=full", 4 + 4 + 2},
        {"model.mlp=swiglu", 4 + 2},      {"framework.fused_qkv=false", 4 + 2},
        {"model.block=parallel", 2 + 1}, /* one input, one result */
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const double more = pieces_s(PIECES_YAML("7 ms"), SETS(rows[i].set)) -
                            pieces_s(PIECES_YAML("5 ms"), SETS(rows[i].set));
        assert_near(more, 2 * 3 * rows[i].products * 7 * 2e-3, 1e-9);
    }
}

/* Where kernels sum up what is scattered, each of the two forward takes a copy more, of 7/8 of the
 * bytes; and the products do without their multiprocessors. */
TEST(pieces_that_are_summed_up_on_the_way_take_one_message_more)
{
    const char *const none = "framework.scatter_sms=0", *const sms = "framework.scatter_sms=27";
    const double more =
        pieces_s(PIECES_YAML("7 ms"), SETS(sms)) - pieces_s(PIECES_YAML("5 ms"), SETS(sms));
    assert_near(more, 2 * 3 * (2 * 7 + 2 * 8 + 2 * 7) * 2e-3, 1e-9);
    ck_assert_double_gt(pieces_s(PIECES_YAML("8 us"), SETS(sms)),
                        1.01 * pieces_s(PIECES_YAML("8 us"), SETS(none)));
    ck_assert_double_gt(pieces_s(PIECES_YAML("8 us"), SETS(sms)),
                        pieces_s(PIECES_YAML("8 us"), SETS("framework.scatter_sms=1")));
}

/* As many bytes, less time, and the same by either engine; not without sequence parallelism. */
TEST(products_in_pieces_hide_what_is_gathered_and_scattered)
{
    static const char *const set[] = {"framework.overlap_tensor_products=false",
                                      "framework.overlap_tensor_products=true"};
    static const char yaml[] = PIECES_YAML("8 us");
    static const char *const alone = "cluster.nvlink_overlap_slowdown=0";
    const double free = pieces_s(yaml, SETS(set[1], alone));
    ck_assert_double_lt(free, 0.97 * pieces_s(yaml, SETS(set[0], alone)));
    ck_assert_double_gt(pieces_s(yaml, SETS(set[1])), 1.02 * free); /* what copies take of memory */
    struct quick_run a = quick_run(yaml, "sweep", SETS(set[0]));
    struct quick_run b = quick_run(yaml, "sweep", SETS(set[1]));
    struct quick_run c = quick_run(yaml, "events", SETS(set[1]));
    assert_near((double)quick_run_traffic(&b, "tp"), (double)quick_run_traffic(&a, "tp"), 1e-9);
    ck_assert_double_eq(b.figures.step_s, c.figures.step_s);
    quick_run_free(&a);
    quick_run_free(&b);
    quick_run_free(&c);
    const char *const none = "layout.sequence_parallel=false";
    ck_assert_double_eq(pieces_s(yaml, SETS(set[1], none)), pieces_s(yaml, SETS(set[0], none)));
}

/* Megatron-LM's 1F1B blocks, its interleaved schedule does not. */
TEST(messages_of_interleaved_schedules_do_not_block_by_default)
{
    static const struct {
        const char *name, *chunks, *same, *other;
    } rows[] = {
        {"schedule.name=1f1b", "schedule.chunks=1", "framework.overlap_p2p=false",
         "framework.overlap_p2p=true"},
        {"schedule.name=interleaved", "schedule.chunks=2", "framework.overlap_p2p=true",
         "framework.overlap_p2p=false"},
    };
    const char *const slow = "cluster.nvlink_p2p_efficiency=2 %";
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const char *const name = rows[i].name, *const chunks = rows[i].chunks;
        const double by_default = step_s(SETS(name, chunks, slow, "framework.overlap_p2p=auto"));
        ck_assert_double_eq(by_default, step_s(SETS(name, chunks, slow, rows[i].same)));
        ck_assert_double_ne(by_default, step_s(SETS(name, chunks, slow, rows[i].other)));
    }
}

static const char unnamed[] = "cluster: {preset: dgx-a100-80g, nodes: 2}\n"
                              "model: {preset: llama-7b, sequence: 2048}\n"
                              "layout: {tensor: 2, pipeline: 4, global_batch: 32}\n";

/* What two layouts differ in is never the stack; only who shards parameters has no choice. */
TEST(a_layout_does_not_change_the_stack)
{
    static const char *const sets[][3] = {
        {"layout.zero=0", NULL},       {"layout.zero=1", NULL},
        {"layout.zero=2", NULL},       {"layout.tensor=4", "layout.zero=1", NULL},
        {"layout.pipeline=1", NULL},   {"layout.recompute=full", "layout.zero=2", NULL},
        {"schedule.name=zb-1p", NULL},
    };
    char words[TY_STACK_WORDS];
    for (size_t i = 0; i < TY_COUNT(sets); i++) {
        struct quick_run q = quick_run(unnamed, NULL, sets[i]);
        ck_assert_str_eq(q.config->layout.framework.preset, "megatron-lm");
        ck_assert_str_eq(ty_stack_words(q.config, words), "megatron-lm");
        quick_run_free(&q);
    }
    struct quick_run sharded = quick_run(unnamed, NULL, SETS("layout.zero=3"));
    ck_assert_str_eq(ty_stack_words(sharded.config, words), "fsdp (not named; layout.zero is 3)");
    quick_run_free(&sharded);
    struct quick_run named =
        quick_run(unnamed, NULL, SETS("layout.zero=3", "framework.preset=megatron-lm"));
    ck_assert_str_eq(ty_stack_words(named.config, words), "megatron-lm");
    quick_run_free(&named);
}

TEST(every_stack_runs)
{
    for (const struct ty_preset *p = ty_framework_presets; p->name != NULL; p++) {
        char set[64];
        (void)snprintf(set, sizeof(set), "framework.preset=%s", p->name);
        ck_assert_double_gt(step_s(SETS(set)), 0);
    }
}

/* ALiBi and the like: twice the FLOPs of a causal kernel, at nearly its rate for long sequences. */
TEST(full_attention_computes_the_masked_half)
{
    struct model_case c;
    model_case(&c, 1, "llama-7b", "{sequence: 32768}", "{data: 8, global_batch: 8}");
    const struct ty_cost causal =
        kernel_of(&c.cluster, &c.arch, &c.layout, TY_OPERATOR_ATTENTION, false);
    c.arch.full_attention = true;
    const struct ty_cost full =
        kernel_of(&c.cluster, &c.arch, &c.layout, TY_OPERATOR_ATTENTION, false);
    ck_assert_double_eq(full.flops, 2 * causal.flops);
    assert_near(full.seconds, 2 * causal.seconds, 0.02);
}

TY_SUITE("framework")
