/* test_shapes.c - what decoders of different families have beside llama's: norms before, behind
 * and beside blocks, of q and k, of the embedding; biases; shares that are rotated; layers by
 * number. */
#include <stdio.h>

#include "model/parallel/kinds.h"
#include "model/parallel/whole.h"
#include "tests/unit/model_case.h"

/* h 64, 4 heads of 16, 2 of keys, f 192, V 100. */
#define SMALL                                                                                      \
    "layers: 4\nhidden: 64\nheads: 4\nkv_heads: 2\nffn: 192\nvocabulary: 100\nsequence: 128\n"     \
    "mlp: swiglu\nnorm_kind: rmsnorm\n"
#define H 64.0
#define D 16.0

/* Lists of operators of a rank. */
struct lists {
    struct model_case c;
    struct ty_units units;
};

static void lists(struct lists *x, const char *model, const char *layout)
{
    model_case(&x->c, 1, NULL, model, layout);
    ty_units_make(&x->units, &x->c.arch, &x->c.layout);
}

static uint32_t kernels(const struct ty_unit_ops *unit, enum ty_operator kind, double *elements)
{
    uint32_t n = 0;
    *elements = 0;
    for (uint32_t i = 0; i < unit->n; i++) {
        for (uint32_t k = 0; k < unit->op[i].n_kernels; k++) {
            const bool is = unit->op[i].kernel[k].op == kind;
            n += is;
            *elements += is ? unit->op[i].kernel[k].elements : 0;
        }
    }
    return n;
}

static double kept(const struct ty_unit_ops *unit)
{
    double sum = 0;
    for (uint32_t i = 0; i < unit->n_saved; i++) {
        sum += unit->saved[i].life == TY_LIFE_KEPT ? unit->saved[i].bytes : 0;
    }
    return sum;
}

#define ALONE   "{global_batch: 8, micro_batch: 1, data: 8}"
#define SHARED  "{global_batch: 8, micro_batch: 1, tensor: 2, data: 4, sequence_parallel: true}"
#define TOKENS  128.0
#define LAYER   (&x.units.kind[TY_UNIT_LAYER])
#define LLAMA_P (H * 64 + 2 * H * 32 + 64 * H + 3 * H * 192) /* of a layer, without norms */

/* What a key adds to the parameters of a layer, and to those of both ends. */
TEST(keys_of_the_shape_add_their_parameters)
{
    static const struct {
        const char *keys;
        double layer, ends;
    } rows[] = {
        {"", 2 * H, H},
        {"norms: 4\n", 4 * H, H},
        {"norms: 2\nblock: parallel\n", 2 * H, H},
        {"block: parallel\n", H, H},
        {"norm_kind: layernorm\n", 4 * H, 2 * H},
        {"norm_kind: layernorm-scale\n", 2 * H, H},
        {"norm_kind: layernorm-plain\n", 0, 0},
        {"qk_norm: true\n", 2 * H + 2 * D, H},
        {"qk_norm: true\nqk_norm_kind: whole\n", 2 * H + 6 * D, H},
        {"qk_norm: true\nqk_norm_kind: layernorm\n", 2 * H + 4 * D, H},
        {"qk_norm: true\nqk_norm_kind: plain\n", 2 * H, H},
        {"bias: outputs\n", 2 * H + H + 2 * 192 + H, H},
        {"head_bias: true\n", 2 * H, H + 100},
        {"head_bias: true\ntied: true\n", 2 * H, H + 100 - 100 * H},
        {"embedding_norm: true\n", 2 * H, 2 * H},
        {"embedding_norm: true\nnorm_kind: layernorm\n", 4 * H, 4 * H},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        char text[512];
        struct model_case c;
        (void)snprintf(text, sizeof(text), "%s%s", SMALL, rows[i].keys);
        const char *norm = strstr(rows[i].keys, "norm_kind: layer"); /* in place of SMALL's */
        if (norm != NULL && strstr(rows[i].keys, "qk_norm_kind") == NULL) {
            (void)snprintf(text, sizeof(text), "%.*s%s", (int)(strstr(SMALL, "norm_kind") - SMALL),
                           SMALL, rows[i].keys);
        }
        model_case_begin(&c, 1);
        ck_assert_msg(model_read(&c, NULL, text) == 0, "%s", c.err.text);
        ck_assert_msg(ty_arch_layer_params(&c.arch) == LLAMA_P + rows[i].layer, "%s: %.10g",
                      rows[i].keys, ty_arch_layer_params(&c.arch) - LLAMA_P);
        const double ends = ty_arch_params(&c.arch) - 4 * ty_arch_layer_params(&c.arch);
        ck_assert_msg(ends == 200 * H + rows[i].ends, "%s: %.10g", rows[i].keys, ends - 200 * H);
        model_case_release(&c);
    }
}

/* The parts of two tensor ranks are the whole, but for what each of them has. */
TEST(tensor_ranks_share_what_keys_add)
{
    static const char *const keys[] = {
        "norms: 4\n",        "block: parallel\nnorms: 2\n", "qk_norm: true\nqk_norm_kind: whole\n",
        "head_bias: true\n", "embedding_norm: true\n",
    };
    for (size_t i = 0; i < TY_COUNT(keys); i++) {
        char text[512];
        struct lists one, two;
        (void)snprintf(text, sizeof(text), "%s%s", SMALL, keys[i]);
        lists(&one, text, ALONE);
        lists(&two, text, SHARED);
        for (enum ty_unit_kind k = 0; k < TY_N_UNIT_KINDS; k++) {
            double elements, half;
            const uint32_t n = kernels(&one.units.kind[k], TY_OPERATOR_NORM, &elements);
            ck_assert_uint_eq(kernels(&two.units.kind[k], TY_OPERATOR_NORM, &half), n);
            ck_assert_double_eq(2 * half, elements); /* of tokens, or of heads */
            ck_assert_double_eq(2 * ty_unit_params(&two.units.kind[k]),
                                ty_unit_params(&one.units.kind[k]));
        }
    }
}

/* A norm behind each block is an operator with bytes, and keeps its input. */
TEST(norms_behind_blocks_take_time_and_memory)
{
    struct lists x;
    double two, four;
    lists(&x, SMALL, ALONE);
    ck_assert_uint_eq(kernels(LAYER, TY_OPERATOR_NORM, &two), 2);
    const double before = kept(LAYER);
    lists(&x, SMALL "norms: 4\n", ALONE);
    ck_assert_uint_eq(kernels(LAYER, TY_OPERATOR_NORM, &four), 4);
    ck_assert_double_eq(four, 2 * two);
    ck_assert_double_eq(kept(LAYER) - before, 2 * TOKENS * H * 2);
    ck_assert_uint_eq(LAYER->op[LAYER->n - 1].part, TY_PART_MLP);
}

/* Recomputing norms gives up what the blocks read; recomputing all, everything but the input. */
TEST(norms_behind_blocks_run_again_like_others)
{
    struct lists x;
    lists(&x, SMALL "norms: 4\n", "{global_batch: 8, micro_batch: 1, data: 8, recompute: full}");
    ck_assert_double_eq(kept(LAYER), TOKENS * H * 2);
}

static uint32_t collectives(const struct ty_unit_ops *unit, enum ty_comm_place place)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < unit->n; i++) {
        for (uint32_t k = 0; k < unit->op[i].comms[place].n; k++) {
            n += unit->op[i].comms[place].item[k].times;
        }
    }
    return n;
}

/* Two norms beside each other: two inputs to gather, one sum of results. */
TEST(parallel_blocks_with_a_norm_each_share_their_result_only)
{
    struct lists x;
    lists(&x, SMALL "block: parallel\n", SHARED);
    ck_assert_uint_eq(collectives(LAYER, TY_BEFORE_FORWARD), 1);
    ck_assert_uint_eq(collectives(LAYER, TY_AFTER_FORWARD), 1);
    lists(&x, SMALL "block: parallel\nnorms: 2\n", SHARED);
    ck_assert_uint_eq(collectives(LAYER, TY_BEFORE_FORWARD), 2);
    ck_assert_uint_eq(collectives(LAYER, TY_AFTER_FORWARD), 1);
    lists(&x, SMALL, SHARED);
    ck_assert_uint_eq(collectives(LAYER, TY_BEFORE_FORWARD), 2);
    ck_assert_uint_eq(collectives(LAYER, TY_AFTER_FORWARD), 2);
}

TEST(rotary_embeddings_turn_a_share_of_each_head)
{
    static const struct {
        const char *keys;
        uint32_t n;
        double share;
    } rows[] = {
        {"", 1, 1}, {"rotary: 25 %\n", 1, 0.25}, {"rotary: 0\n", 0, 0}, {"positions: 128\n", 0, 0}};
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        char text[512];
        struct lists x;
        double elements;
        (void)snprintf(text, sizeof(text), "%s%s", SMALL, rows[i].keys);
        lists(&x, text, ALONE);
        ck_assert_uint_eq(kernels(LAYER, TY_OPERATOR_ROTARY, &elements), rows[i].n);
        ck_assert_double_eq(elements, rows[i].share * TOKENS * 6 * D);
    }
}

#define MOE SMALL "experts: 4\nexperts_per_token: 2\nexpert_ffn: 32\n"

/* Windows and experts by the numbers of layers. */
TEST(layers_are_named_by_numbers)
{
    struct model_case c;
    model_case_begin(&c, 1); /* keeps the lists */
    ck_assert_int_eq(
        model_read(&c, NULL,
                   MOE "dense_layers: 1\nmlp_layers: [2]\nwindow: 32\nfull_layers: [0, 3]\n"),
        0);
    for (uint32_t i = 0; i < 4; i++) {
        ck_assert_int_eq(ty_arch_has_experts(&c.arch, i), i % 2 == 1);
        ck_assert_int_eq(ty_arch_has_window(&c.arch, i), i == 1 || i == 2);
    }
    ck_assert_uint_eq(ty_arch_layer_kinds(&c.arch), 4);
    /* 2 of each: router and 4 experts in place of the MLP */
    const double experts = H * 4 + 4 * 3 * H * 32, mlp = 3 * H * 192;
    ck_assert_double_eq(ty_arch_layer_params(&c.arch), LLAMA_P + 2 * H - mlp + (experts + mlp) / 2);
    model_case_release(&c);
}

TEST(shapes_that_cannot_be_are_told)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {SMALL "norms: 3\n",
         "model.norms: 3: a layer whose model.block is serial has 2 or 4; write one of these"},
        {SMALL "norms: 1\n",
         "model.norms: 1: a layer whose model.block is serial has 2 or 4; write one of these"},
        {SMALL "norms: 4\nblock: parallel\n",
         "model.norms: 4: a layer whose model.block is parallel has 1 or 2; write one of these"},
        {SMALL "full_layers: [1]\n",
         "model.full_layers: no layer has a window; write a model.window, or none here"},
        {SMALL "window: 32\nwindow_period: 2\nfull_layers: [1]\n",
         "model.full_layers: model.window_period (2) says which layers see all tokens, too; write "
         "none for one of them"},
        {SMALL "window: 32\nfull_layers: [1, 4]\n",
         "model.full_layers: 4: there is no such layer; layers are 0 to 3 (model.layers "
         "less one)"},
        {SMALL "window: 32\nfull_layers: [2, 1]\n",
         "model.full_layers: 1 comes after 2; write each layer once, the first ones first"},
        {SMALL "mlp_layers: [1]\n",
         "model.mlp_layers: no layer has experts; write a model.experts"},
        {MOE "dense_layers: 2\nmlp_layers: [1]\n",
         "model.mlp_layers: layer 1 is one of model.dense_layers (2) already; leave it out"},
        {MOE "mlp_layers: [0, 1, 2, 3]\n",
         "model.mlp_layers: leaves none of the 4 layers to model.experts; write fewer, or 0 "
         "experts"},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct model_case c;
        model_case_begin(&c, 1);
        ck_assert_int_eq(model_read(&c, NULL, rows[i].text), TY_EINPUT);
        ck_assert_msg(strstr(c.err.text, rows[i].message) != NULL, "%s", c.err.text);
        model_case_release(&c);
    }
}

TY_SUITE("shapes")
