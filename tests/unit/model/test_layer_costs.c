/* test_layer_costs.c - the times of layers, of the head and of the optimizer: sums of their
 * kernels, and finite for extremes. */
#include <math.h>
#include <stdio.h>

#include "model/kernel/kernel_internal.h"
#include "model/parallel/kinds.h"
#include "model/parallel/whole.h"
#include "tests/unit/model_case.h"
#include "tests/unit/priced.h"

/* ---- layers ---- */

/* LLaMA-65B, tensor 8, one sequence: sums of the figures above, elementwise kernels at measured
 * shares without launch: norms 203 us, residual sums 112, rotary 20, SwiGLU 34. 3 %. */
TEST(a_llama_65b_layer_takes_the_time_of_its_kernels)
{
    struct model_case c;
    struct layer_times costs;
    model_case(&c, 1, "llama-65b", "", "{tensor: 8, global_batch: 8}");
    c.cluster.gpu.kernel_overhead = 0;
    layer_times(&c.cluster, &c.arch, &c.layout, &costs);
    const struct ty_cost *f = costs.forward;
    assert_near(us(f[NORM1].seconds + f[NORM2].seconds), 203 + 112, 0.03);
    assert_near(us(f[QKV].seconds), 466 + 20, 0.03);
    assert_near(us(f[PROJ].seconds), 162, 0.03);
    assert_near(us(f[MLP].seconds), 827 + 34 + 419, 0.03);
}

/* Causal FLOPs of a sequence of 2048 at the charts' combined rate of 156.9 TFLOP/s take 55 us with
 * the 8 heads of LLaMA-65B on tensor 8 and 277 us with the 40 of 13B. The forward alone runs 12 %
 * faster than both directions together: hence 15 %. A batch large enough to fill the GPU. */
TEST(attention_of_a_full_gpu_takes_its_published_time)
{
    static const struct {
        const char *preset, *layout;
        double batch, us;
    } rows[] = {
        {"llama-65b", "{tensor: 8, micro_batch: 16, global_batch: 16}", 16, 55},
        {"llama-13b", "{data: 8, micro_batch: 4, global_batch: 32}", 4, 277},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct model_case c;
        struct layer_times costs;
        model_case(&c, 1, rows[i].preset, "", rows[i].layout);
        layer_times(&c.cluster, &c.arch, &c.layout, &costs);
        assert_near(us(costs.forward[ATTENTION].seconds) / rows[i].batch, rows[i].us, 0.15);
    }
}

TEST(executed_flops_of_a_layer_are_those_of_its_products)
{
    struct model_case c;
    struct layer_times costs;
    model_case(&c, 1, "llama3-8b", "sequence: 2048", "{tensor: 4, global_batch: 8}");
    layer_times(&c.cluster, &c.arch, &c.layout, &costs);
    double forward = 0, backward = 0;
    for (int op = 0; op < N_LAYER_OPS; op++) {
        forward += costs.forward[op].flops;
        backward += costs.dgrad[op].flops + costs.wgrad[op].flops;
    }
    const double matrices = ty_arch_layer_params(&c.arch) - 2 * 4096;
    const double causal = 2.0 * 2048 * 2048 * 4096;
    assert_near(forward * 4, 2 * 2048 * matrices + causal, 1e-12); /* rounding */
    assert_near(backward * 4, 4 * 2048 * matrices + 2.5 * causal, 1e-12);
}

TEST(sequence_parallelism_shares_norms_and_nothing_else)
{
    struct model_case whole, shared;
    struct layer_times a, b;
    model_case(&whole, 1, "llama-65b", "", "{tensor: 8, global_batch: 8}");
    model_case(&shared, 1, "llama-65b", "",
               "{tensor: 8, global_batch: 8, sequence_parallel: true}");
    whole.cluster.gpu.kernel_overhead = shared.cluster.gpu.kernel_overhead = 0;
    layer_times(&whole.cluster, &whole.arch, &whole.layout, &a);
    layer_times(&shared.cluster, &shared.arch, &shared.layout, &b);
    for (int op = 0; op < N_LAYER_OPS; op++) {
        const bool norm = op == NORM1 || op == NORM2;
        assert_near(a.forward[op].seconds, b.forward[op].seconds * (norm ? 8 : 1), 1e-12);
        assert_near(a.dgrad[op].seconds, b.dgrad[op].seconds * (norm ? 8 : 1), 1e-12);
    }
}

/* Hagemann et al. 2023: fusing norms takes 14.7 passes off a norm in training, three times (forward
 * and backward), twice a layer. */
TEST(unfused_norms_cost_their_passes)
{
    struct model_case fused, unfused;
    struct layer_times a, b;
    model_case(&fused, 1, "llama-13b", "", "global_batch: 8");
    model_case(&unfused, 1, "llama-13b", "norm: unfused", "global_batch: 8");
    layer_times(&fused.cluster, &fused.arch, &fused.layout, &a);
    layer_times(&unfused.cluster, &unfused.arch, &unfused.layout, &b);
    double more = 0;
    for (int op = 0; op < N_LAYER_OPS; op++) {
        more += b.forward[op].seconds - a.forward[op].seconds;
        more += b.dgrad[op].seconds - a.dgrad[op].seconds;
    }
    assert_near(more, 2 * 3 * (16.2 - 3.09) * 4 * 2048 * 5120 / 2039e9, 1e-9); /* rounding */
}

TEST(recomputation_repeats_what_its_mode_says)
{
    static const struct {
        const char *layout;
        bool ops[N_LAYER_OPS];
    } rows[] = {
        {"{global_batch: 8, recompute: none}", {0}},
        {"{global_batch: 8, recompute: selective}", {[ATTENTION] = true}},
        {"{global_batch: 8, recompute: ffn}", {[MLP] = true}},
        {"{global_batch: 8, recompute: [core_attn, mlp]}", {[ATTENTION] = true, [MLP] = true}},
        {"{global_batch: 8, recompute: full}", {true, true, true, true, true, true}},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct model_case c;
        struct layer_times costs;
        model_case(&c, 1, "llama-7b", "", rows[i].layout);
        layer_times(&c.cluster, &c.arch, &c.layout, &costs);
        for (int op = 0; op < N_LAYER_OPS; op++) {
            const double again = costs.recompute[op].seconds;
            if (!rows[i].ops[op]) {
                ck_assert_double_eq(again, 0);
            } else if (c.layout.recompute == TY_RECOMPUTE_FFN) { /* all but the down product */
                const double down =
                    ty_gemm_cost(&c.cluster.gpu, TY_DTYPE_BF16, TY_FORWARD, 1, 2048, 4096, 11008)
                        .seconds;
                assert_near(again, costs.forward[op].seconds - down, 1e-12);
            } else {
                ck_assert_double_eq(again, costs.forward[op].seconds);
            }
        }
    }
}

/* Of a norm's operator its norm alone, not the sum before it. */
TEST(norms_are_recomputed_without_their_additions)
{
    struct model_case c;
    struct layer_times costs;
    model_case(&c, 1, "llama-7b", "", "{global_batch: 8, recompute: norm}");
    layer_times(&c.cluster, &c.arch, &c.layout, &costs);
    for (int op = 0; op < N_LAYER_OPS; op++) {
        const double norm = 3.09 * 2 * 2048 * 4096 * 2 / 2039e9 + 2e-6;
        assert_near(costs.recompute[op].seconds, op == NORM1 || op == NORM2 ? norm : 0, 1e-12);
    }
}

static double total(const struct ty_cost *costs)
{
    double sum = 0;
    for (int op = 0; op < N_LAYER_OPS; op++) {
        sum += costs[op].seconds;
    }
    return sum;
}

TEST(a_slow_host_stretches_small_layers_and_leaves_large_ones)
{
    struct model_case small, large;
    struct layer_times free_run, held;
    model_case(&small, 1, "gpt3-125m", "", "{global_batch: 8, recompute: full}");
    layer_times(&small.cluster, &small.arch, &small.layout, &free_run);
    small.layout.framework.layer_floor = 1.05e-3; /* Megatron-DeepSpeed on A100 hosts */
    struct ty_unit_waits waits = {.seconds = {{0}}};
    layer_times_with(&small.cluster, &small.arch, &small.layout, &waits, &held);
    assert_near(total(held.forward), 1.05e-3, 1e-12);
    assert_near(total(held.recompute), 1.05e-3, 1e-12);
    assert_near(total(held.dgrad) + total(held.wgrad), 1.3 * 1.05e-3, 1e-12);
    for (int op = 0; op < N_LAYER_OPS; op++) { /* in proportion */
        assert_near(held.forward[op].seconds / free_run.forward[op].seconds,
                    1.05e-3 / total(free_run.forward), 1e-12);
        ck_assert_double_eq(held.forward[op].flops, free_run.forward[op].flops);
    }
    waits.seconds[2][TY_AFTER_FORWARD] = 0.25e-3; /* counts, and is not slowed_by_overlap */
    waits.seconds[2][TY_BEFORE_DGRAD] = 2e-3;
    layer_times_with(&small.cluster, &small.arch, &small.layout, &waits, &held);
    assert_near(total(held.forward), 0.8e-3, 1e-12);
    ck_assert_double_eq(total(held.dgrad), total(free_run.dgrad));
    model_case(&large, 1, "llama-65b", "", "{tensor: 4, global_batch: 8}");
    layer_times(&large.cluster, &large.arch, &large.layout, &free_run);
    large.layout.framework.layer_floor = 1.05e-3;
    layer_times_with(&large.cluster, &large.arch, &large.layout,
                     &(struct ty_unit_waits){.seconds = {{0}}}, &held);
    ck_assert_double_eq(total(free_run.forward), total(held.forward));
}

/* Seconds of a backward in which each sum over tensor ranks runs beside a weight gradient. */
static double beside(const struct layer_times *t, double qkv_s, double mlp_s)
{
    return total(t->dgrad) + fmax(t->wgrad[QKV].seconds, qkv_s) + t->wgrad[PROJ].seconds +
           fmax(t->wgrad[MLP].seconds, mlp_s);
}

/* However long its collectives are: faster ones leave more to be covered by the host. */
TEST(a_layer_takes_the_time_of_its_launches_whatever_its_links)
{
    struct model_case c;
    struct layer_times held;
    model_case(&c, 1, "gpt3-125m", "", "{global_batch: 8, tensor: 4}");
    c.layout.framework.layer_floor = 1e-3;
    for (int us = 0; us <= 400; us += 25) {
        struct ty_unit_waits waits = {.seconds = {{0}}};
        const double qkv = 1e-6 * us, mlp = qkv / 3;
        waits.seconds[QKV][TY_AFTER_DGRAD] = qkv;
        waits.seconds[MLP][TY_AFTER_DGRAD] = mlp;
        waits.seconds[MLP][TY_BEFORE_WGRAD] = mlp;
        c.layout.framework.overlap_tensor_reduce = true;
        layer_times_with(&c.cluster, &c.arch, &c.layout, &waits, &held);
        assert_near(beside(&held, qkv, mlp), 1.3e-3, 1e-9);
        ck_assert_double_gt(held.dgrad[MLP].seconds, mlp);
        c.layout.framework.overlap_tensor_reduce = false;
        layer_times_with(&c.cluster, &c.arch, &c.layout, &waits, &held);
        assert_near(total(held.dgrad) + total(held.wgrad) + qkv + mlp, 1.3e-3, 1e-9);
    }
}

/* A backward in two passes: of its launches those of four weight gradients, and the others. */
TEST(passes_of_a_split_backward_take_the_time_of_their_launches)
{
    struct model_case c;
    struct ty_units units;
    struct layer_times held;
    uint32_t kernels = 0;
    model_case(&c, 1, "gpt3-125m", "", "{global_batch: 8, tensor: 4}");
    c.layout.framework.layer_floor = 10e-3;
    ty_units_make(&units, &c.arch, &c.layout);
    for (uint32_t i = 0; i < units.kind[TY_UNIT_LAYER].n; i++) {
        kernels += units.kind[TY_UNIT_LAYER].op[i].n_kernels;
    }
    for (int k = 0; k < 2; k++) { /* slow GPUs and fast ones */
        struct ty_unit_waits waits = {.seconds = {{0}}};
        waits.seconds[QKV][TY_AFTER_DGRAD] = 1e-3;
        waits.seconds[QKV][TY_BEFORE_WGRAD] = 0.2e-3;
        layer_times_with(&c.cluster, &c.arch, &c.layout, &waits, &held);
        assert_near(total(held.input) + 1e-3, 13e-3 * kernels / (kernels + 4), 1e-9);
        assert_near(total(held.weight) + 0.2e-3, 13e-3 * 4 / (kernels + 4), 1e-9);
        c.cluster.gpu.derate *= 0.1;
    }
}

TEST(derate_multiplies_every_compute_time)
{
    static const char *const layouts[] = {
        "{tensor: 2, global_batch: 8, recompute: ffn}",
        "{tensor: 2, global_batch: 8, recompute: full}",
        "{tensor: 2, global_batch: 8, recompute: selective}",
    };
    for (size_t i = 0; i < TY_COUNT(layouts); i++) {
        struct model_case c;
        struct layer_times a, b;
        struct edge_times ea, eb;
        model_case(&c, 1, "llama-30b", "", layouts[i]);
        layer_times(&c.cluster, &c.arch, &c.layout, &a);
        edge_times(&c.cluster, &c.arch, &c.layout, &ea);
        const double adam = ty_optimizer_cost(&c.cluster.gpu, &c.layout, 1e9, 0).seconds;
        c.cluster.gpu.derate = 1.25;
        layer_times(&c.cluster, &c.arch, &c.layout, &b);
        edge_times(&c.cluster, &c.arch, &c.layout, &eb);
        assert_near(total(b.forward), 1.25 * total(a.forward), 1e-12);
        assert_near(total(b.dgrad), 1.25 * total(a.dgrad), 1e-12);
        assert_near(total(b.wgrad), 1.25 * total(a.wgrad), 1e-12);
        assert_near(total(b.recompute), 1.25 * total(a.recompute), 1e-12);
        assert_near(eb.embedding_forward.seconds, 1.25 * ea.embedding_forward.seconds, 1e-12);
        assert_near(eb.embedding_backward.seconds, 1.25 * ea.embedding_backward.seconds, 1e-12);
        assert_near(eb.head_forward.seconds, 1.25 * ea.head_forward.seconds, 1e-12);
        assert_near(eb.head_dgrad.seconds, 1.25 * ea.head_dgrad.seconds, 1e-12);
        assert_near(eb.head_wgrad.seconds, 1.25 * ea.head_wgrad.seconds, 1e-12);
        assert_near(ty_optimizer_cost(&c.cluster.gpu, &c.layout, 1e9, 0).seconds, 1.25 * adam,
                    1e-12);
    }
}

/* A logits product is V / (4 h + 3 f) layers' products: 2.1 for 13B at V = 128000. */
TEST(the_head_weighs_as_many_layers_as_its_products)
{
    struct model_case c;
    struct layer_times layer;
    struct edge_times edge;
    model_case(&c, 1, "llama-13b", "vocabulary: 128000", "global_batch: 8");
    layer_times(&c.cluster, &c.arch, &c.layout, &layer);
    edge_times(&c.cluster, &c.arch, &c.layout, &edge);
    double flops = 0;
    for (int op = 0; op < N_LAYER_OPS; op++) {
        flops += op == ATTENTION ? 0 : layer.forward[op].flops;
    }
    assert_near(edge.head_forward.flops / flops, 128000.0 / (4 * 5120 + 3 * 13824), 1e-12);
    ck_assert_double_eq(edge.head_dgrad.flops, edge.head_forward.flops);
    ck_assert_double_eq(edge.head_wgrad.flops, edge.head_forward.flops);
}

TEST(the_optimizer_moves_28_bytes_of_its_own_parameters)
{
    struct model_case c;
    model_case(&c, 1, "llama-7b", "", "{zero: 0, global_batch: 8}");
    const struct ty_gpu *gpu = &c.cluster.gpu;
    const double byte = 1e9 / (0.8 * 2039e9), start = 2e-6;
    assert_near(ty_optimizer_cost(gpu, &c.layout, 1e9, 0).seconds, 28 * byte + start, 1e-12);
    c.layout.zero = 1;
    assert_near(ty_optimizer_cost(gpu, &c.layout, 1e9, 0).seconds, 28 * byte / 8 + start, 1e-12);
    c.layout.framework.grad_fp32 = true;
    c.layout.framework.moment_dtype = TY_STATE_16BIT; /* 2 x 2 B read and written less */
    assert_near(ty_optimizer_cost(gpu, &c.layout, 1e9, 0).seconds, 22 * byte / 8 + start, 1e-12);
}

/* ---- extremes ---- */

static void assert_sound(const struct ty_cost *costs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ck_assert(isfinite(costs[i].seconds) && costs[i].seconds >= 0);
        ck_assert(isfinite(costs[i].flops) && costs[i].flops >= 0);
    }
}

TEST(extremes_stay_finite)
{
    static const struct {
        uint32_t layers, hidden, heads, kv_heads, head_dim, ffn, vocabulary, sequence, tensor;
        uint32_t micro_batch;
    } rows[] = {
        {1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
        {1, 64, 1, 1, 64, 256, 2, 1, 65536, 1},
        {10000, 1000000, 10000, 10000, 10000, 10000000, 100000000, 100000000, 1, 1000000},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        for (int attention = 0; attention < TY_N_ATTENTION; attention++) {
            const struct ty_arch arch = {
                .layers = rows[i].layers,
                .hidden = rows[i].hidden,
                .heads = rows[i].heads,
                .kv_heads = rows[i].kv_heads,
                .head_dim = rows[i].head_dim,
                .ffn = rows[i].ffn,
                .vocabulary = rows[i].vocabulary,
                .sequence = rows[i].sequence,
                .attention = attention,
                .dropout = 0.1,
            };
            const struct ty_layout layout = {.tensor = rows[i].tensor,
                                             .pipeline = 1,
                                             .context = 1,
                                             .data = 1,
                                             .micro_batch = rows[i].micro_batch,
                                             .recompute = TY_RECOMPUTE_FULL};
            struct ty_cluster cluster = a100(1);
            for (int waves = 0; waves < 2; waves++) {
                struct layer_times layer;
                struct edge_times edge;
                cluster.gpu.gemm_wave = waves;
                cluster.gpu.kernel_overhead = cluster.gpu.gemm_overhead = 0;
                layer_times(&cluster, &arch, &layout, &layer);
                edge_times(&cluster, &arch, &layout, &edge);
                assert_sound(layer.forward, N_LAYER_OPS);
                assert_sound(layer.dgrad, N_LAYER_OPS);
                assert_sound(layer.wgrad, N_LAYER_OPS);
                assert_sound(layer.recompute, N_LAYER_OPS);
                assert_sound(&edge.embedding_forward, 1);
                assert_sound(&edge.head_forward, 1);
                assert_sound(&edge.head_dgrad, 1);
                assert_sound(&edge.head_wgrad, 1);
            }
            ck_assert(isfinite(ty_flops_model(&arch, false)));
            struct ty_units units;
            struct ty_tensors tensors;
            ty_units_make(&units, &arch, &layout);
            ty_memory_tensors(&units, &tensors);
            ck_assert(isfinite(ty_tensors_sum(&tensors, TY_UNIT_LAYER, TY_LIFE_KEPT)));
            ck_assert(isfinite(ty_tensors_sum(&tensors, TY_UNIT_HEAD, TY_LIFE_LOSS)));
        }
    }
}

TEST(operators_have_names_without_digits)
{
    struct model_case c;
    struct ty_units units;
    model_case(&c, 1, "llama-7b", "", "global_batch: 8");
    ty_units_make(&units, &c.arch, &c.layout);
    for (int u = 0; u < TY_N_UNIT_KINDS; u++) {
        for (uint32_t i = 0; i < units.kind[u].n; i++) {
            const char *name = units.kind[u].op[i].name;
            ck_assert_ptr_nonnull(name);
            ck_assert_uint_eq(strcspn(name, "0123456789"), strlen(name));
        }
    }
}

/* What HFU adds to MFU is what the passes really repeat, where no scores are masked for nothing:
 * to 0.2 % in full recomputation, since parameters that are no matrix count as if they were. */
TEST(hfu_counts_what_is_repeated)
{
    static const struct {
        enum ty_recompute mode;
        double tolerance;
    } rows[] = {{TY_RECOMPUTE_NONE, 0},
                {TY_RECOMPUTE_CORE, 1e-12},
                {TY_RECOMPUTE_FFN, 1e-12},
                {TY_RECOMPUTE_NORM | TY_RECOMPUTE_MLP, 1e-12},
                {TY_RECOMPUTE_FULL, 2e-3}};
    static const char *const models[] = {"gpt3-6.7b", "llama-13b", "llama3-8b"};
    for (size_t k = 0; k < TY_COUNT(models); k++) {
        for (size_t i = 0; i < TY_COUNT(rows); i++) {
            struct model_case c;
            struct layer_times costs;
            model_case(&c, 1, models[k], "{sequence: 2048}", "{data: 8, global_batch: 8}");
            c.layout.recompute = rows[i].mode;
            layer_times(&c.cluster, &c.arch, &c.layout, &costs);
            double executed = 0;
            for (int op = 0; op < N_LAYER_OPS; op++) {
                executed += costs.recompute[op].flops;
            }
            executed *= c.arch.layers / (double)c.arch.sequence;
            ck_assert_double_eq_tol(ty_flops_repeated(&c.arch, &c.layout, true), executed,
                                    rows[i].tolerance * executed + 1);
            ck_assert(ty_flops_repeated(&c.arch, &c.layout, false) >= executed);
        }
    }
}

/* Two kernels more forward, twice their bytes backward, and what they read is kept. */
TEST(norms_of_heads_cost_their_bytes)
{
    struct model_case plain, normed;
    struct layer_times without, with;
    struct ty_tensors a, b;
    const char *const layout = "{tensor: 2, data: 4, global_batch: 4}";
    model_case(&plain, 1, "llama3-8b", "{sequence: 4096}", layout);
    model_case(&normed, 1, "llama3-8b", "{sequence: 4096, qk_norm: true}", layout);
    layer_times(&plain.cluster, &plain.arch, &plain.layout, &without);
    layer_times(&normed.cluster, &normed.arch, &normed.layout, &with);
    const struct ty_gpu *g = &normed.cluster.gpu;
    const double elements = 4096.0 * (16 + 4) * 128;
    const double once = g->derate * 2 * 2 * elements * g->norm_passes /
                        normed.layout.framework.norm_speed / g->memory_bandwidth;
    const double launches = g->derate * 2 * g->kernel_overhead;
    const double forward = with.forward[QKV].seconds - without.forward[QKV].seconds;
    const double backward = with.dgrad[QKV].seconds - without.dgrad[QKV].seconds;
    ck_assert_double_eq_tol(forward, once + launches, 1e-9 * forward);
    ck_assert_double_eq_tol(backward, 2 * (once + launches), 1e-9 * backward);
    struct ty_units units;
    ty_units_make(&units, &plain.arch, &plain.layout);
    ty_memory_tensors(&units, &a);
    ty_units_make(&units, &normed.arch, &normed.layout);
    ty_memory_tensors(&units, &b);
    ck_assert_double_eq(ty_tensors_sum(&b, TY_UNIT_LAYER, TY_LIFE_KEPT) -
                            ty_tensors_sum(&a, TY_UNIT_LAYER, TY_LIFE_KEPT),
                        2 * elements);
}

/* Products take their share of the rate longer; norms, attention and sums do not. */
TEST(products_run_at_the_clock_of_a_step)
{
    struct model_case c;
    struct layer_times alone, sustained;
    model_case(&c, 1, "llama-13b", "", "{tensor: 2, data: 4, global_batch: 4}");
    layer_times(&c.cluster, &c.arch, &c.layout, &alone);
    c.cluster.gpu.gemm_sustained = 0.8;
    layer_times(&c.cluster, &c.arch, &c.layout, &sustained);
    for (int op = 0; op < N_LAYER_OPS; op++) {
        const double products = op == PROJ ? 1 / 0.8 : 1; /* qkv and mlp have other kernels, too */
        if (op != QKV && op != MLP) {
            assert_near(sustained.forward[op].seconds, products * alone.forward[op].seconds, 1e-12);
            assert_near(sustained.dgrad[op].seconds, products * alone.dgrad[op].seconds, 1e-12);
        }
        assert_near(sustained.wgrad[op].seconds, alone.wgrad[op].seconds / 0.8, 1e-12);
    }
}

TY_SUITE("layer costs")
