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
        ck_assert_double_eq(kept(&c, "MLP product"), B * T * f);
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

TY_SUITE("fp8")
