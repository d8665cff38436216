/* test_layer_kinds.c - models whose layers are not all alike: sliding windows in some of them. */
#include <math.h>
#include <string.h>

#include "model/parallel/whole.h"
#include "sim/run/bill.h"
#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char small[] = "cluster: {preset: dgx-a100-80g, nodes: 1}\n"
                            "model: {preset: llama-7b, sequence: 8192, layers: 8}\n"
                            "layout: {tensor: 2, pipeline: 2, global_batch: 8}\n"
                            "framework: {preset: ideal}\n";

/* Durations of the attention core in forwards of the first micro-batch, by layer. */
static void forward_cores(const struct quick_run *q, ty_ps core[8])
{
    const struct ty_program *p = &q->run->lowered.program;
    memset(core, 0, 8 * sizeof(*core));
    for (uint32_t i = 0; i < p->n_passes; i++) {
        const struct ty_pass *pass = &p->passes[i];
        const struct ty_op *ops = ty_pass_ops(p, pass);
        for (uint32_t k = 0; k < p->blocks[pass->block].n_ops; k++) {
            const struct ty_kind *kind = &p->kinds[ops[k].kind];
            if (pass->phase == TY_PHASE_FORWARD && strcmp(kind->name, "attention core") == 0) {
                core[ops[k].layer] = kind->dur;
            }
        }
    }
}

TEST(every_nth_layer_sees_the_whole_sequence)
{
    struct quick_run q = quick_run(small, NULL, SETS("model.window=1024", "model.window_period=4"));
    struct quick_run none = quick_run(small, NULL, NULL);
    struct quick_run all = quick_run(small, NULL, SETS("model.window=1024"));
    ty_ps core[8], whole[8], window[8];
    forward_cores(&q, core);
    forward_cores(&none, whole);
    forward_cores(&all, window);
    ck_assert_uint_lt(window[0], whole[0] / 2);
    for (uint32_t i = 0; i < 8; i++) {
        ck_assert_uint_eq(core[i], i % 4 == 3 ? whole[i] : window[i]);
    }
    ck_assert_double_lt(all.figures.step_s, q.figures.step_s);
    ck_assert_double_lt(q.figures.step_s, none.figures.step_s);
    quick_run_free(&q);
    quick_run_free(&none);
    quick_run_free(&all);
}

/* Costs are those of kinds: deeper models have no more of them. */
TEST(kinds_are_priced_once)
{
    const char *const deep[] = {"model.layers=80", "model.window=512", "model.window_period=2",
                                NULL};
    const char *const flat[] = {"model.layers=8", "model.window=512", "model.window_period=2",
                                NULL};
    struct quick_run a = quick_run(small, NULL, deep), b = quick_run(small, NULL, flat);
    uint32_t n[2] = {0, 0};
    const struct quick_run *q[2] = {&a, &b};
    for (int i = 0; i < 2; i++) {
        const struct ty_program *p = &q[i]->run->lowered.program;
        for (uint32_t k = 0; k < p->n_kinds; k++) {
            n[i] += p->kinds[k].group == NULL;
        }
    }
    ck_assert_uint_eq(n[0], n[1]);
    quick_run_free(&a);
    quick_run_free(&b);
}

/* A window that holds the sequence is none. */
TEST(a_wide_window_is_none)
{
    struct quick_run none = quick_run(small, NULL, NULL);
    struct quick_run wide = quick_run(small, NULL, SETS("model.window=8192"));
    ck_assert_double_eq(none.figures.step_s, wide.figures.step_s);
    ck_assert_double_eq(none.figures.mfu, wide.figures.mfu);
    quick_run_free(&none);
    quick_run_free(&wide);
}

/* Pairs of a window: w (w + 1) / 2 + (s - w) w, counted twice where attention counts in full. */
TEST(flops_are_those_of_the_pairs)
{
    struct quick_run q = quick_run(small, NULL, SETS("model.window=1024", "model.window_period=2"));
    struct quick_run none = quick_run(small, NULL, NULL);
    const struct ty_arch *arch = &q.config->arch;
    const double s = 8192, w = 1024, pairs = s * w - w * w / 2;
    const double less = 12.0 * 4 * arch->heads * arch->head_dim * (s - 2 * pairs / s);
    ck_assert_double_eq_tol(ty_flops_model(&none.config->arch, false) - ty_flops_model(arch, false),
                            less, 1e-9 * less);
    quick_run_free(&q);
    quick_run_free(&none);
}

/* FLOPs of the attention of a layer, all slices of a forward. */
static double forward_pairs(const struct quick_run *q, double *most, double *least)
{
    const struct ty_program *p = &q->run->lowered.program;
    double sum = 0;
    *most = 0;
    *least = INFINITY;
    for (uint32_t k = 0; k < p->n_kinds; k++) {
        const struct ty_kind *kind = &p->kinds[k];
        if (strcmp(kind->name, "attention core") == 0 && kind->category == TY_CAT_FORWARD) {
            sum += kind->flops;
            *most = fmax(*most, kind->flops);
            *least = fmin(*least, kind->flops);
        }
    }
    return sum;
}

/* Windows shorter and longer than a slice of 2,048 tokens. All slices but the first, which looks
 * back at less, have the same pairs of a short one. */
TEST(slices_share_the_pairs_of_a_window)
{
    static const char *const windows[] = {"model.window=512", "model.window=4096"};
    for (int i = 0; i < 2; i++) {
        struct quick_run q =
            quick_run(small, NULL, SETS(windows[i], "schedule.name=seq1f1b", "schedule.slices=4"));
        struct quick_run whole = quick_run(small, NULL, SETS(windows[i]));
        double most, least, pairs = forward_pairs(&whole, &most, &least);
        ck_assert_double_eq_tol(forward_pairs(&q, &most, &least), pairs, 1e-9 * pairs);
        ck_assert(i == 1 || most < 1.2 * least);
        quick_run_free(&q);
        quick_run_free(&whole);
    }
}

/* Tensors of both kinds are on the bill, which adds up. */
TEST(bills_count_every_kind)
{
    static const char *const modes[] = {"layout.recompute=none", "layout.recompute=selective",
                                        "layout.recompute=full"};
    for (size_t i = 0; i < TY_COUNT(modes); i++) {
        const char *const sets[] = {modes[i], "model.window=1024", "model.window_period=2",
                                    "schedule.name=zb-1p", NULL};
        struct quick_run q = quick_run(small, NULL, sets);
        struct quick_run none = quick_run(small, NULL, SETS(modes[i], "schedule.name=zb-1p"));
        struct ty_bill a, b;
        ty_run_bill(q.run, 0, &a);
        ty_run_bill(none.run, 0, &b);
        ck_assert_double_eq_tol(a.total_B, b.total_B, 1e-9 * b.total_B);
        double parts = 0, lines = 0;
        for (uint32_t k = 0; k < a.n_parts; k++) {
            parts += a.part[k].bytes;
        }
        for (uint32_t k = 0; k < a.n; k++) {
            lines += a.item[k].life != TY_BILL_FIXED ? a.item[k].bytes : 0;
        }
        ck_assert_double_eq_tol(parts, lines, 1e-9 * lines);
        quick_run_free(&q);
        quick_run_free(&none);
    }
}

/* Seconds of computation on a pipeline rank in a step. */
static double computed(const struct quick_run *q, uint32_t stage)
{
    const struct ty_gang *gang = &q->run->lowered.program.gangs[stage];
    return ty_s_from_ps(q->run->stats.rank[gang->rank_of[0]].stream_busy[TY_STREAM_COMPUTE]);
}

/* A module is two norms and a projection, one more layer, a norm and the head once more; matrices
 * of the ends are shared, and the embedding is copied where it is another rank's. */
TEST(modules_for_further_tokens_follow_the_last_layer)
{
    struct quick_run none = quick_run(small, NULL, NULL);
    struct quick_run one =
        quick_run(small, NULL, SETS("model.mtp=1", "layout.stage_layers=[4, 4]"));
    struct quick_run two =
        quick_run(small, NULL, SETS("model.mtp=2", "layout.stage_layers=[4, 4]"));
    const struct ty_arch *arch = &one.config->arch;
    const double h = 4096, V = 32000, layer = ty_arch_layer_params(arch);
    const double module = layer + 2 * h * h + 3 * h;
    ck_assert_double_eq(ty_arch_params(arch) - ty_arch_params(&none.config->arch), module);
    ck_assert_double_eq(one.run->lowered.stage[0].params, none.run->lowered.stage[0].params);
    ck_assert_double_eq(one.run->lowered.stage[1].params,
                        none.run->lowered.stage[1].params + (module + V * h) / 2);
    ck_assert_double_eq(two.run->lowered.stage[1].params,
                        none.run->lowered.stage[1].params + (2 * module + V * h) / 2);
    ck_assert_double_eq(computed(&one, 0), computed(&none, 0));
    const double one_s = computed(&one, 1) - computed(&none, 1);
    ck_assert_double_eq_tol(computed(&two, 1) - computed(&none, 1), 2 * one_s,
                            0.01 * one_s); /* the optimizer's launches do not double */
    /* products of another layer and head, and of the projection; half of attention */
    const double work = 6 * (layer - 2 * h + 2 * h * h + h * V) + 6 * 8192 * h;
    const double more = ty_flops_model(&two.config->arch, true) - ty_flops_model(arch, true);
    ck_assert_double_eq_tol(more, work, 1e-12 * work);
    quick_run_free(&none);
    quick_run_free(&one);
    quick_run_free(&two);
}

/* A tied output matrix is the copy that modules for further tokens need; of what tensor ranks sum
 * under sequence parallelism a module has five norms: of its layer, before it and after it. */
TEST(modules_for_further_tokens_share_a_tied_matrix)
{
    struct quick_run both = quick_run(
        small, NULL, SETS("model.mtp=1", "model.tied=true", "layout.stage_layers=[4, 4]"));
    const struct ty_stage_plan *plan = both.run->lowered.stage;
    ck_assert_double_eq((plan[0].params + plan[1].params) * 2,
                        ty_arch_params(&both.config->arch) + 32000.0 * 4096); /* one copy does */
    ck_assert_double_eq(plan[1].whole - plan[0].whole, (2 + 3) * 4096.0); /* norms of the module */
    quick_run_free(&both);
}

/* The bill of its rank is the fullest moment of its passes. */
TEST(modules_for_further_tokens_are_on_the_bill)
{
    static const char *const modes[] = {"layout.recompute=none", "layout.recompute=full"};
    static const char *const schedules[] = {"schedule.name=1f1b", "schedule.name=zb-1p"};
    for (size_t i = 0; i < 4; i++) {
        const char *const sets[] = {"model.mtp=2", modes[i % 2], schedules[i / 2], NULL};
        struct quick_run q = quick_run(small, NULL, sets);
        const struct ty_program *p = &q.run->lowered.program;
        struct ty_gang_memory memory;
        struct ty_bill bill;
        double lines = p->gangs[1].static_B[TY_MEM_ACTIVATIONS]; /* buffers */
        ty_memory_profile(p, &p->gangs[1], &memory);
        ty_run_bill(q.run, 1, &bill);
        for (uint32_t k = 0; k < bill.n_parts; k++) {
            lines += bill.part[k].bytes;
        }
        ck_assert_double_eq_tol(lines, memory.peak_activations_B, 1e-9 * lines);
        quick_run_free(&q);
    }
}

/* Of four more layers, whatever embedding and head say. */
static double of_layers(const char *block, const char *sequence_parallel)
{
    double bytes[2];
    for (int i = 0; i < 2; i++) {
        struct quick_run q =
            quick_run(small, NULL,
                      SETS(block, sequence_parallel, i == 0 ? "model.layers=4" : "model.layers=8"));
        bytes[i] = quick_run_traffic(&q, "tp");
        quick_run_free(&q);
    }
    return bytes[1] - bytes[0];
}

/* One gather, one sum; one norm. */
TEST(parallel_blocks_say_half_as_much)
{
    static const char *const sequence[] = {"layout.sequence_parallel=false",
                                           "layout.sequence_parallel=true"};
    for (int i = 0; i < 2; i++) {
        ck_assert_double_eq_tol(of_layers("model.block=parallel", sequence[i]),
                                of_layers("model.block=serial", sequence[i]) / 2, 1);
    }
    struct quick_run serial = quick_run(small, NULL, SETS("framework.preset=megatron-lm"));
    struct quick_run parallel =
        quick_run(small, NULL, SETS("framework.preset=megatron-lm", "model.block=parallel"));
    ck_assert_double_eq(ty_arch_params(&serial.run->config->arch) -
                            ty_arch_params(&parallel.run->config->arch),
                        8.0 * 4096);
    ck_assert_double_lt(parallel.figures.step_s, serial.figures.step_s);
    quick_run_free(&serial);
    quick_run_free(&parallel);
}

TY_SUITE("layer kinds")
