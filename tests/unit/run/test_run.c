/* test_run.c - whole runs: volumes, memory, sums, and numbers that move the right way. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/run/bill.h"

#include "model/parallel/whole.h"
#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char small[] = "cluster: {preset: dgx-a100-80g, nodes: 2}\n"
                            "model: {preset: llama-7b, sequence: 2048}\n"
                            "layout: {global_batch: 64}\n"
                            "framework: {preset: ideal}\n"; /* textbook volumes */

static double step_of(const char *yaml, const char *const *sets)
{
    struct quick_run q = quick_run(yaml, NULL, sets);
    const double step = q.figures.step_s;
    quick_run_free(&q);
    return step;
}

static double parameter_bytes(const struct quick_run *q)
{
    return 2 * ty_arch_params(&q->config->arch);
}

/* Volumes of one micro-batch in units of P (N-1)/N, P being the bytes of the 16-bit parameters of a
 * rank: 2, 2, 2 and 3. On the stage that turns around, the last unit (the head) stays gathered
 * between forward and backward, which saves ZeRO-3 that one gather. */
TEST(zero_stages_move_2_2_2_and_3_times_the_parameters)
{
    static const char *const zero[] = {"layout.zero=0", "layout.zero=1", "layout.zero=2",
                                       "layout.zero=3"};
    for (int stage = 0; stage < 4; stage++) {
        struct quick_run q = quick_run(small, NULL, SETS("layout.global_batch=16", zero[stage]));
        const double n = q.config->layout.data;
        const double kept = stage == 3 ? 2 * ty_arch_head_params(&q.config->arch) : 0;
        const double expected = (n - 1) * ((stage == 3 ? 3 : 2) * parameter_bytes(&q) - kept);
        ck_assert_double_eq_tol(quick_run_traffic(&q, "dp"), expected, 1e-9 * expected);
        quick_run_free(&q);
    }
}

/* With k micro-batches ZeRO-2 reduces k times and ZeRO-3 gathers 2 k times as well; DDP and ZeRO-1
 * do not care. */
TEST(accumulation_multiplies_the_volume_of_zero_2_and_3_only)
{
    static const char *const zero[] = {"layout.zero=0", "layout.zero=1", "layout.zero=2",
                                       "layout.zero=3"};
    static const double factor[] = {1, 1, 5.0 / 2, 4};
    for (int stage = 0; stage < 4; stage++) {
        struct quick_run one = quick_run(small, NULL, SETS("layout.global_batch=16", zero[stage]));
        struct quick_run four = quick_run(small, NULL, SETS("layout.global_batch=64", zero[stage]));
        const double expected = factor[stage] * quick_run_traffic(&one, "dp");
        ck_assert_double_eq_tol(quick_run_traffic(&four, "dp"), expected, 1e-9 * expected);
        quick_run_free(&one);
        quick_run_free(&four);
    }
}

/* Two all-reduces forward and two backward per layer, each 2 (t-1)/t of b s h 16-bit numbers; one
 * more for the embedding (forward) and the head (backward); and the loss. */
TEST(tensor_parallelism_moves_four_all_reduces_per_layer)
{
    struct quick_run q = quick_run(small, NULL, SETS("layout.tensor=4"));
    const struct ty_arch *a = &q.config->arch;
    const double tokens = a->sequence, micro_batches = q.config->layout.micro_batches;
    const double hidden = 2 * tokens * a->hidden, loss = 3 * 4 * tokens;
    const double per_rank = 2.0 * 3 / 4 * ((4.0 * a->layers + 2) * hidden + loss);
    const double expected = 16 * micro_batches * per_rank;
    ck_assert_double_eq_tol(quick_run_traffic(&q, "tp"), expected, 1e-9 * expected);
    quick_run_free(&q);
}

/* Sequence parallelism replaces each all-reduce by a reduce-scatter and an all-gather of the same
 * volume, and gathers the saved input of both column-parallel products of a layer, and of the head,
 * once more. */
TEST(sequence_parallelism_adds_two_gathers_per_layer)
{
    struct quick_run q = quick_run(
        small, NULL, SETS("layout.tensor=4", "layout.sequence_parallel=true", "layout.zero=1"));
    const struct ty_arch *a = &q.config->arch;
    const double tokens = a->sequence, micro_batches = q.config->layout.micro_batches;
    const double hidden = 2 * tokens * a->hidden, loss = 3 * 4 * tokens;
    /* per layer: forward 2 gathers 2 scatters, backward the same, 2 more gathers; embedding: one
     * scatter, one gather back; head: gather, scatter back, gather again */
    const double pieces = 3.0 / 4 * (10.0 * a->layers + 5) * hidden + 2 * 3.0 / 4 * loss;
    const double norms = 2 * 3.0 / 4 * 2.0 * a->hidden * a->layers * 2;
    const double expected = 16 * (micro_batches * pieces + norms);
    ck_assert_double_eq_tol(quick_run_traffic(&q, "tp"), expected, 1e-9 * expected);
    quick_run_free(&q);
}

/* Kept whole, they are not. */
TEST(inputs_kept_whole_are_gathered_once)
{
    const char *const tensor = "layout.tensor=4", *const shared = "layout.sequence_parallel=true";
    struct quick_run twice = quick_run(small, NULL, SETS(tensor, shared));
    struct quick_run once =
        quick_run(small, NULL, SETS(tensor, shared, "framework.regather_inputs=false"));
    const struct ty_arch *a = &once.config->arch;
    const double saved = 3.0 / 4 * (2.0 * a->layers + 1) * 2 * a->sequence * a->hidden;
    const double expected = 16.0 * once.config->layout.micro_batches * saved;
    ck_assert_double_eq_tol(quick_run_traffic(&twice, "tp") - quick_run_traffic(&once, "tp"),
                            expected, 1e-9 * expected);
    quick_run_free(&twice);
    quick_run_free(&once);
}

/* The columns of the others, once a pass, and once more where the head is checkpointed; nothing is
 * left to reduce for the loss. */
TEST(gathered_logits_bring_the_columns_of_the_others)
{
    static const struct {
        const char *recompute, *head;
        double times;
    } rows[] = {{"layout.recompute=none", "framework.recompute_head=true", 1},
                {"layout.recompute=full", "framework.recompute_head=false", 1},
                {"layout.recompute=full", "framework.recompute_head=true", 2}};
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const char *const tensor = "layout.tensor=4";
        struct quick_run a = quick_run(small, NULL, SETS(tensor, rows[i].recompute, rows[i].head));
        struct quick_run b = quick_run(
            small, NULL,
            SETS(tensor, rows[i].recompute, rows[i].head, "framework.parallel_loss=false"));
        const double tokens = b.config->arch.sequence, V = b.config->arch.vocabulary;
        const double logits = 3.0 / 4 * 2 * tokens * V, loss = 2 * 3.0 / 4 * 3 * 4 * tokens;
        const double more = 16 * b.config->layout.micro_batches * (rows[i].times * logits - loss);
        ck_assert_double_eq_tol(quick_run_traffic(&b, "tp") - quick_run_traffic(&a, "tp"), more,
                                1e-9 * more);
        ck_assert_double_gt(b.figures.step_s, a.figures.step_s);
        quick_run_free(&a);
        quick_run_free(&b);
    }
}

/* A head that is checkpointed runs its product again, and HFU counts it. */
TEST(a_checkpointed_head_runs_twice)
{
    const char *const full = "layout.recompute=full";
    struct quick_run a = quick_run(small, NULL, SETS(full));
    struct quick_run b = quick_run(small, NULL, SETS(full, "framework.recompute_head=true"));
    const struct ty_arch *arch = &b.config->arch;
    const double more = 2.0 * arch->vocabulary * arch->hidden;
    ck_assert_double_gt(b.figures.step_s, a.figures.step_s);
    ck_assert_double_eq_tol(b.figures.hfu * b.figures.step_s / (a.figures.hfu * a.figures.step_s),
                            1 + more / (ty_flops_model(arch, false) +
                                        ty_flops_repeated(arch, &a.config->layout, false)),
                            1e-9);
    quick_run_free(&a);
    quick_run_free(&b);
}

TEST(the_breakdown_sums_to_the_step)
{
    static const char *const layouts[][4] = {
        {"layout.tensor=2", "layout.pipeline=4", "layout.zero=1"},
        {"layout.tensor=1", "layout.pipeline=2", "layout.zero=2", "run.steps=3"},
        {"layout.zero=3", "run.jitter=5 %", "run.gpu_spread=2 %"},
        {"layout.tensor=8", "layout.sequence_parallel=true", "layout.recompute=full"},
        {"layout.pipeline=16", "schedule.name=gpipe", "layout.recompute=selective"},
    };
    for (size_t i = 0; i < TY_COUNT(layouts); i++) {
        struct quick_run q = quick_run(
            small, NULL, SETS(layouts[i][0], layouts[i][1], layouts[i][2], layouts[i][3]));
        double sum = 0;
        for (uint32_t b = 0; b < TY_N_BUCKETS; b++) {
            sum += q.figures.bucket_s[b];
        }
        ck_assert_double_eq_tol(sum, q.figures.step_s, 1e-9 * q.figures.step_s);
        quick_run_free(&q);
    }
}

TEST(both_executors_agree_on_real_layouts)
{
    static const char *const layouts[][4] = {
        {"layout.tensor=2", "layout.pipeline=4", "layout.zero=1", "run.steps=2"},
        {"layout.pipeline=2", "layout.zero=2"},
        {"layout.zero=3", "run.jitter=5 %", "run.gpu_spread=2 %"},
        {"layout.tensor=8", "layout.sequence_parallel=true", "layout.recompute=full"},
        {"layout.pipeline=4", "schedule.name=gpipe", "layout.order=[pipeline,tensor,data,context]"},
        {"layout.tensor=4", "layout.pipeline=3", "cluster.gpus_per_node=6"},
    };
    for (size_t i = 0; i < TY_COUNT(layouts); i++) {
        const char *const *sets = SETS(layouts[i][0], layouts[i][1], layouts[i][2], layouts[i][3]);
        struct quick_run a = quick_run(small, "sweep", sets), b = quick_run(small, "events", sets);
        const size_t bytes = (size_t)a.run->lowered.program.n_tasks * sizeof(ty_ps);
        ck_assert_uint_eq(a.run->timeline.makespan, b.run->timeline.makespan);
        ck_assert(memcmp(a.run->timeline.start, b.run->timeline.start, bytes) == 0);
        quick_run_free(&a);
        quick_run_free(&b);
    }
}

/* Each pair: the second is never faster than the first. */
TEST(numbers_move_the_right_way)
{
    static const struct {
        const char *better[4], *worse[4];
    } pairs[] = {
        {{"cluster.nic_bandwidth=400 Gb/s"}, {"cluster.nic_bandwidth=100 Gb/s"}},
        {{"layout.tensor=4", "cluster.nvlink_bandwidth=600 GB/s"},
         {"layout.tensor=4", "cluster.nvlink_bandwidth=100 GB/s"}},
        {{"layout.recompute=none"}, {"layout.recompute=selective"}},
        {{"layout.recompute=selective"}, {"layout.recompute=full"}},
        {{"model.norm=fused"}, {"model.norm=unfused"}},
        {{"model.attention=flash2"}, {"model.attention=flash1"}},
        {{"model.attention=flash1"}, {"model.attention=unfused"}},
        {{"framework.overlap_grad_reduce=true"}, {"framework.overlap_grad_reduce=false"}},
        {{"layout.zero=1", "cluster.nic_bandwidth=25 Gb/s"},
         {"layout.zero=2", "cluster.nic_bandwidth=25 Gb/s"}},
        {{"layout.pipeline=2"}, {"layout.pipeline=16"}},
        {{"run.gpu_spread=none"}, {"run.gpu_spread=3 %"}},
    };
    for (size_t i = 0; i < TY_COUNT(pairs); i++) {
        const char *const *b = pairs[i].better, *const *w = pairs[i].worse;
        const double better = step_of(small, SETS(b[0], b[1], b[2]));
        const double worse = step_of(small, SETS(w[0], w[1], w[2]));
        ck_assert_msg(better < worse, "%s: %g s, %s: %g s", b[0], better, w[0], worse);
    }
}

/* Reductions on their own stream hide behind the last backward: what stays exposed is a fraction of
 * what they take when nothing hides them. */
TEST(overlap_hides_gradient_reductions)
{
    struct quick_run with = quick_run(small, NULL, SETS("framework.overlap_grad_reduce=true"));
    struct quick_run without = quick_run(small, NULL, SETS("framework.overlap_grad_reduce=false"));
    ck_assert_double_lt(with.figures.bucket_s[TY_BUCKET_EXPOSED_DATA],
                        0.5 * without.figures.bucket_s[TY_BUCKET_EXPOSED_DATA]);
    quick_run_free(&with);
    quick_run_free(&without);
}

TEST(equal_seeds_repeat_and_other_seeds_differ_only_under_jitter)
{
    const double plain = step_of(small, SETS("run.seed=1"));
    const double one = step_of(small, SETS("run.seed=1", "run.jitter=2 %"));
    ck_assert_double_eq(plain, step_of(small, SETS("run.seed=2")));
    ck_assert_double_eq(one, step_of(small, SETS("run.seed=1", "run.jitter=2 %")));
    ck_assert_double_ne(one, step_of(small, SETS("run.seed=2", "run.jitter=2 %")));
}

/* Under sequence parallelism, too, where the MLP's sums are scattered again and its input is not
 * gathered for its activation. */
TEST(sets_of_parts_that_are_a_mode_run_like_it)
{
    static const char *const pairs[][2] = {
        {"layout.recompute=core_attn", "layout.recompute=selective"},
        {"layout.recompute=[core_attn, selective]", "layout.recompute=selective"},
        {"layout.recompute=ffn+mlp", "layout.recompute=mlp"},
        {"layout.recompute=full+norm", "layout.recompute=full"}};
    const char *const tensor = "layout.tensor=2", *const shares = "layout.sequence_parallel=true";
    for (size_t i = 0; i < TY_COUNT(pairs); i++) {
        struct quick_run a = quick_run(small, NULL, SETS(tensor, shares, pairs[i][0]));
        struct quick_run b = quick_run(small, NULL, SETS(tensor, shares, pairs[i][1]));
        const uint64_t n = a.run->lowered.program.n_tasks;
        ck_assert_uint_eq(n, b.run->lowered.program.n_tasks);
        ck_assert(memcmp(a.run->timeline.start, b.run->timeline.start, n * sizeof(ty_ps)) == 0);
        quick_run_free(&a);
        quick_run_free(&b);
    }
}

/* GPipe keeps every micro-batch, 1F1B at most p - s of them on stage s. */
TEST(schedules_differ_in_memory_not_in_work)
{
    const char *const *common = SETS("layout.pipeline=4", "layout.recompute=full");
    struct quick_run one = quick_run(small, NULL, common);
    struct quick_run all = quick_run(
        small, NULL, SETS("layout.pipeline=4", "layout.recompute=full", "schedule.name=gpipe"));
    for (uint32_t s = 0; s < 4; s++) {
        struct ty_bill a, b;
        ty_run_bill(one.run, s, &a);
        ty_run_bill(all.run, s, &b);
        ck_assert_uint_eq(a.held, 4 - s);
        ck_assert_uint_eq(b.held, 16);
        ck_assert_double_gt(b.total_B, a.total_B);
    }
    ck_assert_double_eq_tol(one.figures.bucket_s[TY_BUCKET_COMPUTE_BACKWARD],
                            all.figures.bucket_s[TY_BUCKET_COMPUTE_BACKWARD], 1e-12);
    quick_run_free(&one);
    quick_run_free(&all);
}

/* Hundred steps of a data-parallel job: the second step waits for the parameters of the first. */
TEST(steps_follow_each_other_in_equal_time)
{
    struct quick_run one = quick_run(small, NULL, SETS("layout.zero=1"));
    struct quick_run ten = quick_run(small, NULL, SETS("layout.zero=1", "run.steps=10"));
    ck_assert_double_eq_tol(ten.figures.step_s, one.figures.step_s, 1e-3 * one.figures.step_s);
    ck_assert_double_eq_tol(ten.figures.mfu, one.figures.mfu, 1e-3 * one.figures.mfu);
    quick_run_free(&one);
    quick_run_free(&ten);
}

/* What each schedule needs beside its name. */
static const char *const *sets_for(const struct ty_sched *sched, char name[64])
{
    static const char *sets[6];
    size_t n = 0;
    snprintf(name, 64, "schedule.name=%s", sched->name);
    sets[n++] = "layout.pipeline=4";
    sets[n++] = "layout.global_batch=64";
    sets[n++] = name;
    if (sched->sliced) {
        sets[n++] = "schedule.slices=4";
    }
    if (sched->asynchronous) {
        sets[n++] = "run.steps=3";
    }
    sets[n] = NULL;
    return sets;
}

/* Every schedule does the same work in the full simulator, whatever its order; both executors
 * agree; what was acquired is released. */
TEST(every_schedule_runs_and_does_the_same_work)
{
    struct quick_run plain = quick_run(small, NULL, SETS("layout.pipeline=4"));
    for (size_t i = 0; ty_schedules[i] != NULL; i++) {
        char name[64];
        const char *const *sets = sets_for(ty_schedules[i], name);
        struct quick_run a = quick_run(small, "sweep", sets), b = quick_run(small, "events", sets);
        const struct ty_program *p = &a.run->lowered.program;
        const double flops = a.run->stats.flops / p->n_steps;
        ck_assert_msg(fabs(flops / plain.run->stats.flops - 1) < 1e-9, "%s: %g FLOPs, not %g", name,
                      flops, plain.run->stats.flops);
        ck_assert(memcmp(a.run->timeline.start, b.run->timeline.start,
                         (size_t)p->n_tasks * sizeof(ty_ps)) == 0);
        for (uint32_t g = 0; g < p->n_gangs; g++) {
            double held = 0;
            for (uint32_t k = 0; k < p->gangs[g].n_passes; k++) {
                const struct ty_block *block = &p->blocks[ty_gang_passes(p, &p->gangs[g])[k].block];
                held += block->acquire_B - block->release_B;
            }
            ck_assert_msg(fabs(held) < 1, "%s: stage %u keeps %g bytes", name, (unsigned)g, held);
        }
        quick_run_free(&a);
        quick_run_free(&b);
    }
    quick_run_free(&plain);
}

/* A two-way schedule sums the gradients of both copies of every stage: on each rank an all-reduce
 * over two of its 2 P parameters, of 16 bit, which sends each byte once. */
TEST(two_way_schedules_reduce_both_copies)
{
    struct quick_run q = quick_run(small, NULL, SETS("layout.pipeline=4", "schedule.name=chimera"));
    double expected = 0;
    for (uint32_t s = 0; s < 4; s++) {
        expected += 2 * q.run->lowered.stage[s].params * q.run->lowered.program.gangs[s].n_ranks;
    }
    ck_assert_double_eq_tol(quick_run_traffic(&q, "mirror"), expected, 1e-9 * expected);
    quick_run_free(&q);
}

/* Without the barrier ranks update as soon as their own gradients are reduced: never later. */
TEST(without_a_barrier_a_zero_bubble_schedule_ends_earlier)
{
    const double with =
        step_of(small, SETS("layout.pipeline=4", "schedule.name=zb-2p", "run.steps=4"));
    const double without = step_of(small, SETS("layout.pipeline=4", "schedule.name=zb-2p",
                                               "run.steps=4", "schedule.barrier=false"));
    ck_assert_double_lt(without, with);
}

/* PipeDream keeps a version of the weights for every micro-batch in flight. */
TEST(weight_versions_are_paid_in_memory)
{
    struct quick_run flush = quick_run(small, NULL, SETS("layout.pipeline=4"));
    struct quick_run async =
        quick_run(small, NULL, SETS("layout.pipeline=4", "schedule.name=pipedream"));
    for (uint32_t s = 0; s < 4; s++) {
        ck_assert_double_eq_tol(async.run->lowered.stage[s].states.weights,
                                (4 - s) * flush.run->lowered.stage[s].states.weights, 1);
    }
    quick_run_free(&flush);
    quick_run_free(&async);
}

/* Breadth-first keeps a chunk gathered through all its micro-batches: the volume of ZeRO-3 does not
 * grow with them. Interleaved gathers and reduces in every pass. */
TEST(breadth_first_gathers_each_chunk_once)
{
    static const char *const name[] = {"schedule.name=bfs", "schedule.name=interleaved"};
    for (int i = 0; i < 2; i++) {
        struct quick_run few =
            quick_run(small, NULL,
                      SETS("layout.pipeline=4", "layout.zero=3", "schedule.chunks=2", name[i],
                           "layout.global_batch=16"));
        struct quick_run many =
            quick_run(small, NULL,
                      SETS("layout.pipeline=4", "layout.zero=3", "schedule.chunks=2", name[i],
                           "layout.global_batch=64"));
        const double growth = quick_run_traffic(&many, "dp") / quick_run_traffic(&few, "dp");
        ck_assert_msg(i == 0 ? fabs(growth - 1) < 1e-9 : growth > 3.5, "%s: %g", name[i], growth);
        quick_run_free(&few);
        quick_run_free(&many);
    }
}

TY_SUITE("run")
