/* test_fp8.c - what products in fp8 need around them, and what becomes smaller by it. */
#include <string.h>

#include "model/parallel/kinds.h"
#include "tests/unit/model_case.h"
#include "tests/unit/priced.h"

#define FP8_B (1 + 4 / 128.0) /* with scales */

static void fp8_case(struct model_case *c, const char *layout, enum ty_fp8_recipe recipe)
{
    model_case(c, 1, "llama-7b", "{sequence: 2048, attention: flash2}", layout);
    c->arch.dtype = TY_DTYPE_FP8;
    c->cluster.gpu.peak[TY_DTYPE_FP8] = 624e12;
    c->cluster.gpu.kernel_overhead = 0;
    c->cluster.gpu.mxfp8_speed = 1;
    c->layout.framework.fp8_recipe = recipe;
}

/* Inputs forward and gradients backward are read in 16 bit and written twice; weights once a
 * step. */
TEST(casts_cost_what_they_read_and_write)
{
    struct model_case with, without;
    struct layer_times a, b;
    const double T = 2048, h = 4096, qkv = 3 * h, m = 2; /* micro-batches of a step */
    const char *const layout = "{data: 8, global_batch: 16}";
    fp8_case(&with, layout, TY_FP8_DELAYED);
    fp8_case(&without, layout, TY_FP8_NONE);
    layer_times(&with.cluster, &with.arch, &with.layout, &a);
    layer_times(&without.cluster, &without.arch, &without.layout, &b);
    const double element = (2 + 2 * FP8_B) / (0.49 * 2039e9);
    assert_near(a.forward[QKV].seconds - b.forward[QKV].seconds, element * (T * h + h * qkv / m),
                1e-9); /* rounding */
    assert_near(a.dgrad[QKV].seconds - b.dgrad[QKV].seconds, element * T * qkv, 1e-9);
    ck_assert_double_eq(a.wgrad[QKV].seconds, b.wgrad[QKV].seconds);
    ck_assert_double_eq(a.forward[ATTENTION].seconds, b.forward[ATTENTION].seconds);
    ck_assert_double_eq(a.forward[NORM1].seconds, b.forward[NORM1].seconds);
}

TEST(a_scale_of_its_own_takes_another_look)
{
    struct model_case current, delayed;
    struct layer_times a, b;
    const char *const layout = "{data: 8, global_batch: 8}";
    fp8_case(&current, layout, TY_FP8_CURRENT);
    fp8_case(&delayed, layout, TY_FP8_DELAYED);
    layer_times(&current.cluster, &current.arch, &current.layout, &a);
    layer_times(&delayed.cluster, &delayed.arch, &delayed.layout, &b);
    assert_near(a.forward[PROJ].seconds - b.forward[PROJ].seconds,
                2 * 2048.0 * 4096 / (0.49 * 2039e9), 1e-9); /* rounding */
}

/* A share is cast before it is gathered, the whole is transposed. */
TEST(what_is_gathered_is_cast_in_shares)
{
    struct model_case shared, whole;
    struct layer_times a, b;
    fp8_case(&shared, "{tensor: 8, global_batch: 8, sequence_parallel: true}", TY_FP8_DELAYED);
    fp8_case(&whole, "{tensor: 8, global_batch: 8}", TY_FP8_DELAYED);
    layer_times(&shared.cluster, &shared.arch, &shared.layout, &a);
    layer_times(&whole.cluster, &whole.arch, &whole.layout, &b);
    const double seconds = (2 - (2 + FP8_B) / 8) * 2048 * 4096 / (0.49 * 2039e9);
    assert_near(b.forward[QKV].seconds - a.forward[QKV].seconds, seconds, 1e-9);
    assert_near(b.dgrad[PROJ].seconds - a.dgrad[PROJ].seconds, seconds, 1e-9);
}

static double kept(const struct model_case *c, const char *name)
{
    struct ty_units units;
    struct ty_tensors tensors;
    double bytes = 0;
    ty_units_make(&units, &c->arch, &c->layout);
    ty_memory_tensors(&units, &tensors);
    for (uint32_t i = 0; i < tensors.n; i++) {
        bytes += strcmp(tensors.item[i].name, name) == 0 ? tensors.item[i].bytes : 0;
    }
    return bytes;
}

/* Inputs of products; the core's output is the core's own as well. */
TEST(inputs_are_kept_as_they_were_cast)
{
    struct model_case c;
    const double T = 2048, h = 4096, f = 11008;
    fp8_case(&c, "{data: 8, global_batch: 8}", TY_FP8_BLOCKS);
    for (int as_cast = 0; as_cast < 2; as_cast++) {
        const double B = as_cast != 0 ? FP8_B : 2;
        c.layout.framework.fp8_activations = as_cast != 0;
        ck_assert_double_eq(kept(&c, "inputs of q, k, v"), B * T * h);
        ck_assert_double_eq(kept(&c, "inputs of the MLP"), B * T * h);
        ck_assert_double_eq(kept(&c, "MLP gated output"), B * T * f);
        ck_assert_double_eq(kept(&c, "MLP up"), 2 * T * f);
        ck_assert_double_eq(kept(&c, "attention output"), 2 * T * h);
        ck_assert_double_eq(kept(&c, "attention output in fp8"), as_cast != 0 ? B * T * h : 0);
        ck_assert_double_eq(kept(&c, "input of the output matrix"), 2 * T * h);
    }
}

/* DeepSeek-V3: SwiGLU of experts reads 8 bits where it runs again, attention's output is there once
 * in 12. Without casts there is nothing narrow. */
TEST(more_is_kept_narrow_where_the_stack_does)
{
    struct model_case c;
    const double T = 2048, h = 4096, rows = 2 * T, f = 1024, B = FP8_B;
    fp8_case(&c, "{data: 8, global_batch: 8}", TY_FP8_BLOCKS);
    c.arch.experts = 8;
    c.arch.experts_per_token = 2;
    c.arch.expert_ffn = 1024;
    c.arch.shared_ffn = 512;
    c.layout.framework.fp8_cache = true;
    ck_assert_double_eq(kept(&c, "experts' gate"), B * rows * f);
    ck_assert_double_eq(kept(&c, "experts' up"), B * rows * f);
    ck_assert_double_eq(kept(&c, "shared up"), B * T * 512);
    ck_assert_double_eq(kept(&c, "attention output"), (B + 0.5) * T * h);
    ck_assert_double_eq(kept(&c, "attention output in fp8"), 0);
    c.layout.framework.fp8_recipe = TY_FP8_NONE;
    const double e = ty_dtype_bytes(TY_DTYPE_FP8);
    ck_assert_double_eq(kept(&c, "experts' gate"), e * rows * f);
    ck_assert_double_eq(kept(&c, "attention output"), e * T * h);
}

/* 5 B for 6 of weight and gradient, and nothing to cast. */
TEST(weights_in_fp8_are_a_byte)
{
    struct model_case c;
    struct layer_times a, b;
    fp8_case(&c, "{data: 8, global_batch: 8, zero: 1}", TY_FP8_DELAYED);
    layer_times(&c.cluster, &c.arch, &c.layout, &a);
    c.layout.framework.fp8_weights = true;
    c.layout.framework.grad_fp32 = true;
    layer_times(&c.cluster, &c.arch, &c.layout, &b);
    const struct ty_state_bytes s = ty_memory_states(&c.layout, 1e9, 0);
    ck_assert_double_eq(s.weights + s.grads, 5e9);
    assert_near(a.forward[PROJ].seconds - b.forward[PROJ].seconds,
                (2 + 2 * FP8_B) * 4096 * 4096 / (0.49 * 2039e9), 1e-9); /* rounding */
}

/* The head's product stays in 16 bit, and gradients are those of bf16 training. */
TEST(only_layers_are_in_fp8)
{
    struct model_case narrow, wide;
    struct edge_times a, b;
    fp8_case(&narrow, "{data: 8, global_batch: 8}", TY_FP8_DELAYED);
    fp8_case(&wide, "{data: 8, global_batch: 8}", TY_FP8_DELAYED);
    wide.arch.dtype = TY_DTYPE_BF16;
    edge_times(&narrow.cluster, &narrow.arch, &narrow.layout, &a);
    edge_times(&wide.cluster, &wide.arch, &wide.layout, &b);
    ck_assert_double_eq(a.head_forward.seconds, b.head_forward.seconds);
    ck_assert_double_eq(a.head_dgrad.seconds, b.head_dgrad.seconds);
    struct ty_framework f = {.grad_dtype = TY_GRAD_AUTO, .reduce_dtype = TY_GRAD_AUTO};
    ty_framework_finish(&f, TY_DTYPE_FP8);
    ck_assert(f.grad_fp32);
}

/* Where the stack says so the head is, too: half the time for the product, casts, and its input as
 * it was cast. */
TEST(heads_are_in_mxfp8_where_told)
{
    struct model_case c;
    struct edge_times wide, narrow;
    const double T = 2048, h = 4096, v = 32000, rate = 0.49 * 2039e9;
    fp8_case(&c, "{data: 8, global_batch: 8}", TY_FP8_MX);
    struct ty_gpu *gpu = &c.cluster.gpu;
    gpu->gemm_wave = gpu->gemm_overhead = gpu->gemm_ramp = gpu->fp8_ramp = 0;
    gpu->wgrad_slowdown = 1;
    edge_times(&c.cluster, &c.arch, &c.layout, &wide);
    ck_assert_double_eq(kept(&c, "input of the output matrix"), 2 * T * h);
    c.layout.framework.fp8_head = c.layout.framework.fp8_activations = true;
    edge_times(&c.cluster, &c.arch, &c.layout, &narrow);
    ck_assert_double_eq(kept(&c, "input of the output matrix"), FP8_B * T * h);
    assert_near(wide.head_wgrad.seconds, 2 * narrow.head_wgrad.seconds, 1e-9);
    const double product = narrow.head_wgrad.seconds, element = (2 + 2 * FP8_B) / rate;
    assert_near(wide.head_forward.seconds - narrow.head_forward.seconds,
                product - element * (T * h + h * v), 1e-9);
    assert_near(wide.head_dgrad.seconds - narrow.head_dgrad.seconds, product - element * T * v,
                1e-9);
    const int recipe[] = {TY_FP8_MX, TY_FP8_CURRENT};
    for (int i = 0; i < 2; i++) { /* no other recipe has it */
        struct ty_framework f = {.fp8_head = true, .fp8_recipe = recipe[i]};
        ty_framework_finish(&f, TY_DTYPE_FP8);
        ck_assert(f.fp8_head == (recipe[i] == TY_FP8_MX));
    }
}

/* One scale a tensor: products that read along either dimension need one copy; blocks two. */
TEST(one_copy_does_where_products_read_both_ways)
{
    const char *const layout = "{data: 8, global_batch: 8}";
    const int recipe[] = {TY_FP8_DELAYED, TY_FP8_CURRENT, TY_FP8_BLOCKS, TY_FP8_MX};
    const double saved[] = {FP8_B, FP8_B, 0, 0}, T = 2048, h = 4096;
    for (int i = 0; i < 4; i++) {
        struct model_case c;
        struct layer_times two, one;
        fp8_case(&c, layout, (enum ty_fp8_recipe)recipe[i]);
        layer_times(&c.cluster, &c.arch, &c.layout, &two);
        c.layout.framework.fp8_reads_both = true;
        layer_times(&c.cluster, &c.arch, &c.layout, &one);
        assert_near(two.forward[PROJ].seconds - one.forward[PROJ].seconds,
                    saved[i] * (T * h + h * h) / (0.49 * 2039e9), 1e-9); /* rounding */
    }
}

/* Inputs and gradients: a look, a copy of rows, a transformed one of columns. Weights, once a step:
 * a look, and both copies at once. */
TEST(nvfp4_looks_casts_and_transforms)
{
    struct model_case with, without;
    struct layer_times a, b;
    const double T = 2048, h = 4096, qkv = 3 * h, FP4_B = 0.5 + 1 / 16.0;
    const char *const layout = "{data: 8, global_batch: 8}";
    fp8_case(&with, layout, TY_FP8_DELAYED);
    fp8_case(&without, layout, TY_FP8_NONE);
    with.arch.dtype = without.arch.dtype = TY_DTYPE_NVFP4;
    with.cluster.gpu.peak[TY_DTYPE_NVFP4] = without.cluster.gpu.peak[TY_DTYPE_NVFP4] = 1248e12;
    layer_times(&with.cluster, &with.arch, &with.layout, &a);
    layer_times(&without.cluster, &without.arch, &without.layout, &b);
    const double tensor = 2 + 2 * (2 + FP4_B), weight = 2 + 2 + 2 * FP4_B, rate = 0.49 * 2039e9;
    assert_near(a.forward[QKV].seconds - b.forward[QKV].seconds,
                (tensor * T * h + weight * h * qkv) / rate, 1e-9);
    assert_near(a.dgrad[QKV].seconds - b.dgrad[QKV].seconds, tensor * T * qkv / rate, 1e-9);
    with.layout.framework.fp8_activations = true;
    ck_assert_double_eq(kept(&with, "inputs of q, k, v"), FP4_B * T * h);
    with.layout.framework.fp8_weights = true; /* there is no gather in NVFP4 */
    ty_framework_finish(&with.layout.framework, TY_DTYPE_NVFP4);
    ck_assert(!with.layout.framework.fp8_weights);
}

/* Layers at the ends are a kind of their own, which has products in bf16 and casts nothing. */
TEST(layers_at_the_ends_stay_wide)
{
    struct model_case c;
    struct ty_units units;
    fp8_case(&c, "{data: 8, global_batch: 8}", TY_FP8_DELAYED);
    c.arch.wide_first = 1;
    c.arch.wide_last = 4;
    ck_assert_int_eq(ty_arch_finish(&c.arch, &c.model_section, &c.err), 0);
    ck_assert_uint_eq(ty_arch_layer_kinds(&c.arch), 2);
    ck_assert(ty_arch_is_wide(&c.arch, 0) && !ty_arch_is_wide(&c.arch, 1));
    ck_assert(!ty_arch_is_wide(&c.arch, 27) && ty_arch_is_wide(&c.arch, 28));
    ty_units_make(&units, &c.arch, &c.layout);
    for (uint32_t wide = 0; wide < 2; wide++) {
        const struct ty_unit_ops *layer = &units.kind[TY_UNIT_LAYER + wide];
        uint32_t n_products = 0, n_wide = 0, n_casts = 0;
        for (uint32_t i = 0; i < layer->n; i++) {
            for (uint32_t k = 0; k < layer->op[i].n_kernels; k++) {
                const struct ty_kernel *kernel = &layer->op[i].kernel[k];
                n_products += kernel->op == TY_OPERATOR_MATMUL;
                n_wide += kernel->op == TY_OPERATOR_MATMUL && kernel->dtype == TY_DTYPE_BF16;
                n_casts += kernel->op == TY_OPERATOR_CAST;
            }
        }
        ck_assert_uint_gt(n_products, 0);
        ck_assert_uint_eq(n_wide, wide ? n_products : 0);
        ck_assert(wide ? n_casts == 0 : n_casts >= n_products);
    }
}

/* Products of a type have its efficiency, those in MXFP8 a share of that; without one bf16's. */
TEST(products_have_the_efficiency_of_their_type)
{
    struct model_case c;
    fp8_case(&c, "{data: 8, global_batch: 8}", TY_FP8_MX);
    struct ty_gpu *gpu = &c.cluster.gpu;
    gpu->peak[TY_DTYPE_NVFP4] = 1248e12;
    gpu->gemm_wave = gpu->gemm_overhead = gpu->fp8_ramp = 0;
    struct ty_kernel product = {
        .op = TY_OPERATOR_MATMUL, .variant = TY_ANY_KERNEL, .matmul = {8192, 8192, 8192}};
    const double flops = 2.0 * 8192 * 8192 * 8192;
    product.dtype = TY_DTYPE_NVFP4;
    assert_near(ty_kernel_cost(gpu, &product, TY_FORWARD).seconds,
                flops / (1248e12 * gpu->gemm_efficiency), 1e-9);
    gpu->fp4_efficiency = 0.5;
    gpu->fp8_efficiency = 0.6;
    gpu->mxfp8_speed = 0.9;
    assert_near(ty_kernel_cost(gpu, &product, TY_FORWARD).seconds, flops / (1248e12 * 0.5), 1e-9);
    product.dtype = TY_DTYPE_FP8;
    assert_near(ty_kernel_cost(gpu, &product, TY_FORWARD).seconds, flops / (624e12 * 0.6), 1e-9);
    product.mx = true;
    assert_near(ty_kernel_cost(gpu, &product, TY_FORWARD).seconds, flops / (624e12 * 0.54), 1e-9);
}

/* Its operands are cast where q, k and v are made, and kept as they are; the core is faster. */
TEST(attention_reads_fp8_where_told)
{
    struct model_case c;
    struct layer_times a, b;
    const double T = 2048, h = 4096;
    fp8_case(&c, "{data: 8, global_batch: 8}", TY_FP8_DELAYED);
    c.cluster.gpu.fp8_attention = 1.5;
    layer_times(&c.cluster, &c.arch, &c.layout, &a);
    c.layout.framework.fp8_attention = true;
    layer_times(&c.cluster, &c.arch, &c.layout, &b);
    const double rate = 0.49 * 2039e9;
    assert_near(a.forward[ATTENTION].seconds, 1.5 * b.forward[ATTENTION].seconds, 1e-9);
    assert_near(b.forward[QKV].seconds - a.forward[QKV].seconds, (2 + FP8_B) * 3 * T * h / rate,
                1e-9);
    assert_near(b.dgrad[QKV].seconds - a.dgrad[QKV].seconds, (2 + FP8_B) * T * h / rate, 1e-9);
    ck_assert_double_eq(kept(&c, "q, k, v"), FP8_B * 3 * T * h);
}

/* Softmax takes most of a score's time in fp8, and the backward pass knows no windows. */
TEST(attention_in_fp8_takes_its_time_by_the_score)
{
    struct model_case c;
    fp8_case(&c, "{data: 8, global_batch: 8}", TY_FP8_DELAYED);
    struct ty_gpu *gpu = &c.cluster.gpu;
    gpu->kernel_overhead = 0;
    gpu->fp8_attention = 1.5;
    gpu->mxfp8_attention = 1.2;
    struct ty_kernel of[4];
    for (int i = 0; i < 4; i++) {
        of[i] = (struct ty_kernel){
            .op = TY_OPERATOR_ATTENTION,
            .dtype = TY_DTYPE_FP8,
            .mx = i == 1,
            .variant = TY_ATTENTION_FLASH3,
            .attention = {.sequences = 1, .tokens = 4096, .heads = 32, .kv_heads = 32, .fp8 = true},
        };
        of[i].attention.head_dim = i == 2 ? 64 : 128;
        of[i].attention.window = i == 3 ? 256 : 0;
    }
    const enum ty_direction passes[] = {TY_FORWARD, TY_DGRAD};
    for (size_t i = 0; i < TY_COUNT(passes); i++) {
        const double whole = ty_kernel_cost(gpu, &of[0], passes[i]).seconds;
        assert_near(ty_kernel_cost(gpu, &of[1], passes[i]).seconds, 1.25 * whole, 1e-9);
        assert_near(ty_kernel_cost(gpu, &of[2], passes[i]).seconds, 0.85 * whole, 1e-9);
        const double window = ty_kernel_cost(gpu, &of[3], passes[i]).seconds;
        if (passes[i] == TY_FORWARD) {
            ck_assert_double_lt(window, 0.5 * whole);
        } else {
            assert_near(window, whole, 1e-9);
        }
    }
}

/* Of the experts: what casts and activations move going forward, and the products that scales for
 * 32 elements slow down. */
struct experts_cost {
    double bytes;
    uint32_t slowed;
};

static struct experts_cost experts_cost(const struct model_case *c)
{
    struct ty_units units;
    struct experts_cost cost = {0, 0};
    ty_units_make(&units, &c->arch, &c->layout);
    const struct ty_unit_ops *layer = &units.kind[TY_UNIT_LAYER];
    for (uint32_t i = 0; i < layer->n; i++) {
        const bool experts = strcmp(layer->op[i].name, "experts") == 0;
        for (uint32_t k = 0; k < layer->op[i].n_kernels; k++) {
            const struct ty_kernel *kernel = &layer->op[i].kernel[k];
            cost.slowed += kernel->op == TY_OPERATOR_GROUPED && kernel->mx;
            cost.bytes +=
                experts && (kernel->op == TY_OPERATOR_CAST || kernel->op == TY_OPERATOR_ACTIVATION)
                    ? ty_kernel_bytes(&c->cluster.gpu, kernel)
                    : 0;
        }
    }
    return cost;
}

static void experts_case(struct model_case *c)
{
    fp8_case(c, "{data: 8, global_batch: 8}", TY_FP8_MX);
    c->arch.experts = 8;
    c->arch.experts_per_token = 2;
    c->arch.expert_ffn = 1024;
}

/* What is between the products of experts costs nothing but a launch, and scales do not slow
 * them. */
TEST(products_of_experts_may_do_what_is_between)
{
    struct model_case c;
    const double rows = 2 * 2048.0, f = 1024;
    experts_case(&c);
    c.layout.framework.fused_experts = c.layout.framework.fused_expert_mlp = false;
    const struct experts_cost apart = experts_cost(&c);
    ck_assert_uint_gt(apart.slowed, 0);
    c.layout.framework.fused_experts = c.layout.framework.fused_expert_mlp = true;
    const struct experts_cost one = experts_cost(&c);
    ck_assert_uint_eq(one.slowed, 0);
    assert_near(apart.bytes - one.bytes, rows * f * (6 + 2 + 2 * FP8_B), 1e-9);
}

/* TEGroupedMLP._apply_bias of Megatron-LM: 14 tensors of 16 bit; compiled: read and written. */
TEST(biases_of_experts_are_added_by_themselves)
{
    static const struct {
        bool experts, mlp;
        double bytes;
    } rows[] = {{false, false, 28}, {true, false, 4}, {true, true, 0}};
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct model_case c;
        experts_case(&c);
        c.layout.framework.fused_experts = rows[i].experts;
        c.layout.framework.fused_expert_mlp = rows[i].mlp;
        c.arch.bias = 0;
        const double without = experts_cost(&c).bytes;
        c.arch.bias = TY_BIAS_MLP;
        assert_near(experts_cost(&c).bytes - without, rows[i].bytes * 2 * 2048 * 4096, 1e-9);
    }
}

/* Gate and up, 2 x 4096 rows of 1024 numbers: read and written by the clamp and by what joins them,
 * 8 bytes each, and kept once more. */
TEST(clamped_experts_move_and_keep_gate_and_up_once_more)
{
    for (int one = 0; one < 2; one++) {
        struct model_case c;
        experts_case(&c);
        c.layout.framework.fused_experts = one != 0;
        c.layout.framework.fused_expert_mlp = false;
        const double without = experts_cost(&c).bytes, elements = 2 * 4096.0 * 1024;
        c.arch.expert_clamp = true;
        assert_near(experts_cost(&c).bytes - without, one != 0 ? 0 : 8 * elements, 1e-9);
        assert_near(kept(&c, "clamped gate and up"), one != 0 ? 0 : 2 * elements, 1e-9);
    }
}

TY_SUITE("fp8")
