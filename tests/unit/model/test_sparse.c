/* test_sparse.c - mixtures of experts, latent attention, prediction of several tokens: what models
 * with them must be, and what they consist of. */
#include <math.h>
#include <stdio.h>

#include "model/parallel/kinds.h"
#include "model/parallel/whole.h"
#include "tests/unit/model_case.h"

#define SHAPE "layers: 4\nhidden: 64\nheads: 4\nvocabulary: 100\n"
#define MOE   SHAPE "experts: 16\nexperts_per_token: 4\n"

TEST(what_must_fit_together_is_said_at_its_key)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {SHAPE "experts: 8", "model.experts_per_token: 0: with model.experts each token "
                             "goes to at least one expert; write 1 to 8"},
        {SHAPE "experts: 8\nexperts_per_token: 9",
         "run.yaml:6:20: model.experts_per_token: 9 is more than model.experts (8); write 8 or "
         "less"},
        {SHAPE "shared_ffn: 128",
         "run.yaml:5:13: model.shared_ffn: no layer has experts; write a model.experts"},
        {MOE "dense_layers: 4", "run.yaml:7:15: model.dense_layers: 4 leaves none of the 4 "
                                "layers to model.experts; write less, or 0 experts"},
        {MOE "shared_gate: true", "run.yaml:7:14: model.shared_gate: true: no expert is shared; "
                                  "give model.shared_ffn, or write false"},
        {MOE "group_limit: 2", "run.yaml:7:14: model.group_limit: 2: the experts are not in "
                               "groups; set model.expert_groups, or write none here"},
        {MOE "expert_groups: 3",
         "run.yaml:7:16: model.expert_groups: 3 does not divide model.experts (16); try 2"},
        {MOE "expert_groups: 8\ngroup_limit: 1",
         "run.yaml:8:14: model.group_limit: 1 groups of 2 experts hold fewer than "
         "model.experts_per_token (4); write 2 or more"},
        {MOE "expert_groups: 8\ngroup_limit: 9", "run.yaml:8:14: model.group_limit: 9 is more than "
                                                 "model.expert_groups (8); write from 2 to 8"},
        {SHAPE "head_rope: 8",
         "run.yaml:5:12: model.head_rope: attention is not latent; write a model.kv_latent"},
        {SHAPE "kv_latent: 32\nkv_heads: 2", "run.yaml:6:11: model.kv_heads: 2: with "
                                             "model.kv_latent every head has its own keys and "
                                             "values; write 4, or auto"},
        {SHAPE "kv_latent: 32\nqk_norm: true", "run.yaml:6:10: model.qk_norm: true: with "
                                               "model.kv_latent the latents have norms, the heads "
                                               "do not; write false"},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct model_case c;
        model_case_begin(&c, 1);
        ck_assert_int_eq(model_read(&c, NULL, rows[i].text), TY_EINPUT);
        ck_assert_msg(strncmp(c.err.text, rows[i].message, strlen(rows[i].message)) == 0, "%s",
                      c.err.text);
        model_case_release(&c);
    }
}

/* Keys of experts may stay where a preset's model is made dense. */
TEST(keys_that_say_nothing_may_be_blank)
{
    struct model_case c;
    model_case_begin(&c, 1);
    ck_assert_int_eq(
        model_read(&c, NULL, SHAPE "experts: 0\nshared_ffn: 0\ngroup_limit: none\nhead_rope: 0"),
        0);
    ck_assert(!ty_arch_is_moe(&c.arch) && !ty_arch_is_latent(&c.arch));
    ck_assert(!ty_arch_has_experts(&c.arch, 3));
    model_case_release(&c);
}

/* ---- latent attention ---- */

/* Heads of DeepSeek-V3 in dense layers. */
#define LATENT                                                                                     \
    "{layers: 4, hidden: 7168, heads: 128, ffn: 18432, vocabulary: 1000, sequence: 4096, "         \
    "mlp: swiglu, norm_kind: rmsnorm, query_latent: 1536, kv_latent: 512, head_dim: 128, "         \
    "head_rope: 64"

static void latent_case(struct model_case *c, struct ty_units *units, const char *more,
                        const char *layout)
{
    char text[512];
    (void)snprintf(text, sizeof(text), LATENT "%s}", more);
    model_case_begin(c, 4);
    ck_assert_msg(model_read(c, NULL, text) == 0, "%s", c->err.text);
    ck_assert_msg(layout_read(c, layout, 1) == 0, "%s", c->err.text);
    ty_units_make(units, &c->arch, &c->layout);
}

static const struct ty_unit_op *op_named(const struct ty_units *units, const char *name)
{
    const struct ty_unit_ops *layer = &units->kind[TY_UNIT_LAYER];
    for (uint32_t i = 0; i < layer->n; i++) {
        if (strcmp(layer->op[i].name, name) == 0) {
            return &layer->op[i];
        }
    }
    ck_abort_msg("no operator %s", name);
    return NULL;
}

static double kept(const struct ty_units *units)
{
    struct ty_tensors tensors;
    ty_memory_tensors(units, &tensors);
    return ty_tensors_sum(&tensors, TY_UNIT_LAYER, TY_LIFE_KEPT);
}

/* DeepSeek-V2, section 2.1: r_q (h + 1 + a (d_n + d_r)) + h (r_kv + d_r) + r_kv (1 + a
 * (d_n + d_v)) + a d_v h; without a query latent h a (d_n + d_r) */
TEST(a_latent_layer_has_the_parameters_of_its_matrices)
{
    const double h = 7168, a = 128, rq = 1536, rkv = 512, dn = 128, dr = 64, dv = 128;
    const double kv = h * (rkv + dr) + rkv * (1 + a * (dn + dv)) + a * dv * h;
    const double rest = 3 * h * 18432 + 2 * h;
    static struct model_case c;
    model_case_begin(&c, 1);
    ck_assert_int_eq(model_read(&c, NULL, LATENT "}"), 0);
    ck_assert_uint_eq(c.arch.head_value, 128); /* as head_dim */
    ck_assert_double_eq(ty_arch_layer_params(&c.arch), rq * (h + 1 + a * (dn + dr)) + kv + rest);
    model_case_release(&c);
    model_case_begin(&c, 1);
    ck_assert_int_eq(model_read(&c, NULL, LATENT "}"), 0);
    c.arch.query_latent = 0;
    ck_assert_double_eq(ty_arch_layer_params(&c.arch), h * a * (dn + dr) + kv + rest);
    model_case_release(&c);
}

/* Elements per token: two norms' inputs and outputs, latents before and after theirs; q and k as
 * made and as rotated, v, the core's output; three widths of the MLP. Logarithms of sums, 4 B. */
TEST(a_latent_layer_keeps_latents_and_heads)
{
    static struct model_case c;
    static struct ty_units units;
    const double T = 4096, h = 7168, latents = 1536 + 512, a = 128;
    latent_case(&c, &units, "", "{global_batch: 32}");
    const double elements =
        4 * h + 2 * latents + 64 + a * (2 * (128 + 64) + 128) + a * 128 + 3 * 18432;
    ck_assert_double_eq(kept(&units), T * (2 * elements + 4 * a));
    const double all = kept(&units);
    latent_case(&c, &units, "", "{global_batch: 32, recompute: mla_up}");
    ck_assert_double_eq(all - kept(&units), T * 2 * 65536);
    latent_case(&c, &units, "", "{global_batch: 32, recompute: norm}");
    ck_assert_double_eq(all - kept(&units), T * 2 * (2 * h + latents)); /* four norms */
}

/* The products of a token: widths of queries and of values differ, and heads have no group. */
TEST(a_latent_layer_works_on_expanded_heads)
{
    static struct model_case c;
    static struct ty_units units;
    latent_case(&c, &units, "", "{global_batch: 32}");
    const struct ty_attention_core *core = &op_named(&units, "attention core")->kernel[0].attention;
    ck_assert_double_eq(core->head_dim, 192);
    ck_assert_double_eq(core->value_dim, 128);
    ck_assert_double_eq(core->kv_heads, 128);
    const struct ty_unit_op *up = op_named(&units, "mla up");
    ck_assert_double_eq(up->kernel[0].matmul.out, 128 * 192);
    ck_assert_double_eq(up->kernel[1].matmul.out, 128 * 256);
    ck_assert_double_eq(op_named(&units, "proj")->kernel[0].matmul.in, 128 * 128);
}

/* Tensor ranks share heads, and have the matrices into the latents all. What they bring together is
 * latents: gradients of them without sequence parallelism, themselves with it. */
TEST(tensor_ranks_bring_latents_together)
{
    static struct model_case c;
    static struct ty_units units;
    const double T = 4096;
    for (int shared = 0; shared < 2; shared++) {
        char layout[96];
        (void)snprintf(layout, sizeof(layout),
                       "{tensor: 4, global_batch: 32, sequence_parallel: %s}",
                       shared ? "true" : "false");
        latent_case(&c, &units, "", layout);
        const struct ty_unit_op *down = op_named(&units, "mla down");
        const struct ty_unit_op *up = op_named(&units, "mla up");
        ck_assert_double_eq(down->weights[0].params, 7168 * 1536 + 1536);
        ck_assert_double_eq(up->weights[0].params, 1536 * 128 * 192 / 4);
        ck_assert(down->weights[0].whole && !up->weights[0].whole);
        ck_assert_double_eq(down->kernel[0].matmul.rows, shared ? T / 4 : T);
        ck_assert_double_eq(up->kernel[0].matmul.rows, T);
        for (uint32_t place = 0; place < TY_N_COMM_PLACES; place++) {
            ck_assert_uint_eq(down->comms[place].n, 0);
        }
        const struct ty_op_comms *comms = &up->comms[shared ? TY_BEFORE_FORWARD : TY_AFTER_DGRAD];
        ck_assert_uint_eq(comms->n, 2);
        ck_assert_double_eq(comms->item[0].bytes, T * 2 * 1536);
        ck_assert_double_eq(comms->item[1].bytes, T * 2 * (512 + 64));
        ck_assert_uint_eq(comms->item[0].coll, shared ? TY_COLL_ALL_GATHER : TY_COLL_ALL_REDUCE);
        ck_assert_uint_eq(up->comms[TY_BEFORE_FORWARD].n, shared ? 2 : 0);
        ck_assert_uint_eq(up->comms[TY_BEFORE_WGRAD].n, shared ? 2 : 0);
    }
}

/* ---- sinks ---- */

TEST(a_sink_is_a_number_for_each_head)
{
    struct model_case c;
    model_case_begin(&c, 1);
    ck_assert_int_eq(model_read(&c, NULL, SHAPE), 0);
    const double none = ty_arch_layer_params(&c.arch);
    c.arch.sinks = true;
    ck_assert_double_eq(ty_arch_layer_params(&c.arch) - none, 4);
    model_case_release(&c);
}

/* ---- published models ---- */

/* Parameters as counted from the published shapes, by formulas on paper; billions. Active ones
 * with and without the input embedding: publications do either. FLOPs per token of a training step
 * at 4096 tokens, 1e9, attention causal, which published TFLOP/s over tokens/s agree with within
 * 0.6 %. */
TEST(presets_count_as_published)
{
    static const struct {
        const char *preset, *more;
        double total, active, without_embedding, gflops;
    } rows[] = {
        {"mixtral-8x7b", "", 46.703, 12.880, 0, 0},
        {"mixtral-8x22b", "", 140.630, 39.161, 0, 0},
        {"deepseek-v2", "", 235.741, 21.376, 0, 0},
        {"deepseek-v2-lite", "", 15.706, 2.661, 2.451, 0},
        {"deepseek-v3", "", 671.026, 37.552, 36.626, 249.8},
        {"deepseek-v3", "mtp: 1", 0, 0, 0, 259.99},
        {"kimi-k2", "", 1026.4, 32.862, 0, 204.5},
        {"qwen3-235b-a22b", "", 235.094, 22.191, 0, 148.0},
        {"qwen3-235b-a22b", "sequence: 131072", 0, 0, 0, 734.7},
        {"qwen3-30b-a3b", "", 30.532, 3.353, 0, 23.0},
        {"qwen2-57b-a14b", "", 57.409, 14.249, 0, 0},
        {"gpt-oss-120b", "", 116.829, 5.712, 5.133, 32.6},
        {"gpt-oss-20b", "", 20.915, 4.187, 3.608, 0},
        {"dbrx", "", 131.597, 36.470, 0, 0},
        {"olmoe-1b-7b", "", 6.919, 1.282, 0, 0},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct model_case c;
        model_case_begin(&c, 1);
        ck_assert_msg(model_read(&c, rows[i].preset, rows[i].more) == 0, "%s", c.err.text);
        const double found[] = {
            1e-9 * ty_arch_params(&c.arch), 1e-9 * ty_arch_active_params(&c.arch, true),
            1e-9 * ty_arch_active_params(&c.arch, false), 1e-9 * ty_flops_model(&c.arch, true)};
        const double expected[] = {rows[i].total, rows[i].active, rows[i].without_embedding,
                                   rows[i].gflops};
        for (size_t k = 0; k < TY_COUNT(found); k++) {
            const double off = expected[k] > 0 ? fabs(found[k] / expected[k] - 1) : 0;
            ck_assert_msg(off < (k < 3 ? 1e-3 : 2e-3), "%s %s, %zu: %.6g, not %.6g", rows[i].preset,
                          rows[i].more, k, found[k], expected[k]);
        }
        model_case_release(&c);
    }
}

/* DeepSeek's own count in full: 280.2 from its TFLOP/s. mfu counts parameters instead of products,
 * the input embedding among them. */
TEST(full_counts_are_by_active_parameters)
{
    struct model_case c;
    model_case_begin(&c, 1);
    ck_assert_int_eq(model_read(&c, "deepseek-v3", ""), 0);
    const double causal = ty_flops_model(&c.arch, true), full = ty_flops_model(&c.arch, false);
    const double attention = 3.0 * 4096 * 61 * 128 * (192 + 128); /* half of it */
    assert_near(causal + attention, 280.5e9, 1e-3);
    assert_near(full, 6 * ty_arch_active_params(&c.arch, true) + 2 * attention, 1e-6);
    /* keys and values of a token, were it for decoding: latents and their position part, bf16 */
    ck_assert_uint_eq(c.arch.layers * (c.arch.kv_latent + c.arch.head_rope) * 2, 70272);
    model_case_release(&c);
}

TY_SUITE("sparse")
