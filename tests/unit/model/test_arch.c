/* test_arch.c - parameters and FLOPs against published figures; what the section accepts. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "model/block/flops.h"
#include "tests/unit/model_case.h"

START_TEST(presets_have_their_published_parameters)
{
    for (const struct ty_preset *preset = ty_arch_presets; preset->name != NULL; preset++) {
        struct model_case c;
        model_case_begin(&c, 1);
        ck_assert_msg(model_read(&c, preset->name, "") == 0, "%s: %s", preset->name, c.err.text);
        const double params = ty_arch_params(&c.arch);
        ck_assert_msg(preset->published > 0 && preset->tolerance > 0, "%s", preset->name);
        ck_assert_msg(params > preset->published * (1 - preset->tolerance) &&
                          params < preset->published * (1 + preset->tolerance),
                      "%s: %.6g parameters, published %.6g", preset->name, params,
                      preset->published);
        ck_assert_ptr_nonnull(preset->summary);
        ck_assert_ptr_nonnull(preset->source);
        model_case_release(&c);
    }
}
END_TEST

START_TEST(a_gpt_layer_has_12_h2_plus_13_h_parameters)
{
    struct model_case c;
    model_case_begin(&c, 1);
    ck_assert_int_eq(model_read(&c, "gpt3-175b", ""), 0);
    const double h = 12288;
    ck_assert_double_eq(ty_arch_layer_params(&c.arch), 12 * h * h + 13 * h);
    ck_assert_double_eq(ty_arch_embedding_params(&c.arch), (50257.0 + 2048) * h);
    ck_assert_double_eq(ty_arch_head_params(&c.arch), 2 * h); /* tied: the final norm only */
    model_case_release(&c);
}
END_TEST

START_TEST(a_grouped_swiglu_layer_counts_its_matrices)
{
    struct model_case c;
    model_case_begin(&c, 1);
    ck_assert_int_eq(model_read(&c, "llama3-8b", ""), 0);
    /* q, o 4096 x 4096; k, v 4096 x 1024; up, gate, down 4096 x 14336; two norms */
    ck_assert_double_eq(ty_arch_layer_params(&c.arch),
                        2 * 4096.0 * 4096 + 2 * 4096.0 * 1024 + 3 * 4096.0 * 14336 + 2 * 4096);
    model_case_release(&c);
}
END_TEST

/* Hagemann et al. 2023: utilisations of their table, from step times, GPUs and a global batch of
 * 2048 sequences of 2048 tokens; vocabulary 128000. Rounded to four digits there; the last one is
 * 0.7057 there, a mean of ratios: hence 2e-3. */
START_TEST(palm_flops_give_published_utilisations)
{
    static const struct {
        const char *preset, *text;
        double gpus, step_s, mfu;
    } rows[] = {
        {"llama-65b", "vocabulary: 128000", 128, 79.3069, 0.5526},
        {"llama-30b", "{vocabulary: 128000, ffn: 17888}", 64, 71.9954, 0.6198},
        {"llama-13b", "vocabulary: 128000", 64, 26.5395, 0.7046},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct model_case c;
        model_case_begin(&c, 1);
        ck_assert_msg(model_read(&c, rows[i].preset, rows[i].text) == 0, "%s", c.err.text);
        const double flops = ty_flops_model(&c.arch, false) * 2048 * 2048;
        assert_near(flops / (rows[i].step_s * rows[i].gpus * 312e12), rows[i].mfu, 2e-3);
        model_case_release(&c);
    }
}
END_TEST

START_TEST(causal_flops_halve_the_attention_term_only)
{
    struct model_case c;
    model_case_begin(&c, 1);
    ck_assert_int_eq(model_read(&c, "llama-13b", "sequence: 8192"), 0);
    const double full = ty_flops_model(&c.arch, false);
    const double half = ty_flops_model(&c.arch, true);
    ck_assert_double_eq(full - half, 6.0 * 40 * 5120 * 8192);
    ck_assert_double_eq(full, 6 * (40 * ty_arch_layer_params(&c.arch) + 2.0 * 32000 * 5120) +
                                  12.0 * 40 * 5120 * 8192);
    model_case_release(&c);
}
END_TEST

START_TEST(a_tied_matrix_counts_twice_in_flops_and_once_in_parameters)
{
    static const char shape[] = "{layers: 2, hidden: 64, heads: 4, vocabulary: 1000, tied: %s}";
    double params[2], flops[2];
    for (int tied = 0; tied < 2; tied++) {
        char text[128];
        struct model_case c;
        (void)snprintf(text, sizeof(text), shape, tied ? "true" : "false");
        model_case_begin(&c, 1);
        ck_assert_msg(model_read(&c, NULL, text) == 0, "%s", c.err.text);
        params[tied] = ty_arch_params(&c.arch);
        flops[tied] = ty_flops_model(&c.arch, false);
        model_case_release(&c);
    }
    ck_assert_double_eq(flops[0], flops[1]);
    ck_assert_double_eq(params[0] - params[1], 64000);
}
END_TEST

START_TEST(what_is_left_out_is_derived)
{
    struct model_case c;
    model_case_begin(&c, 1);
    ck_assert_int_eq(model_read(&c, NULL, "{layers: 2, hidden: 1024, heads: 16, vocabulary: 1000}"),
                     0);
    ck_assert_uint_eq(c.arch.kv_heads, 16);
    ck_assert_uint_eq(c.arch.head_dim, 64);
    ck_assert_uint_eq(c.arch.ffn, 4096);
    ck_assert_uint_eq(c.arch.sequence, 2048);
    ck_assert_int_eq(c.arch.attention, TY_ATTENTION_FLASH2);
    ck_assert_int_eq(c.arch.norm, TY_FUSED);
    ck_assert_int_eq(c.arch.dtype, TY_DTYPE_BF16);
    ck_assert_uint_eq(c.arch.positions, 0);
    model_case_release(&c);
}
END_TEST

START_TEST(learned_positions_of_a_preset_follow_the_sequence)
{
    struct model_case c;
    model_case_begin(&c, 1);
    ck_assert_int_eq(model_read(&c, "gpt3-13b", "sequence: 4096"), 0);
    ck_assert_uint_eq(c.arch.positions, 4096);
    model_case_release(&c);
}
END_TEST

START_TEST(what_must_divide_is_said_at_its_place)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"layers: 2\nhidden: 1024\nheads: 12\nvocabulary: 100",
         "run.yaml:3:8: model.heads: 12 does not divide model.hidden (1024); write 8, or give "
         "model.head_dim\n    heads: 12\n           ^"},
        {"layers: 2\nhidden: 1024\nheads: 16\nkv_heads: 3\nvocabulary: 100",
         "run.yaml:4:11: model.kv_heads: 3 does not divide model.heads (16); 2 would, and so would "
         "1\n    kv_heads: 3\n              ^"},
        {"layers: 2\nhidden: 64\nheads: 2\nvocabulary: 100\npositions: 1024",
         "run.yaml:5:12: model.positions: 1024 is less than model.sequence (2048); write 2048 or "
         "more, or none\n    positions: 1024\n               ^"},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct model_case c;
        model_case_begin(&c, 1);
        ck_assert_int_eq(model_read(&c, NULL, rows[i].text), TY_EINPUT);
        ck_assert_str_eq(c.err.text, rows[i].message);
        model_case_release(&c);
    }
}
END_TEST

START_TEST(a_preset_that_no_longer_fits_is_blamed_on_what_changed)
{
    struct model_case c;
    model_case_begin(&c, 1);
    ck_assert_int_eq(model_read(&c, "llama-7b", "preset: llama-7b\nhidden: 5000"), TY_EINPUT);
    ck_assert_str_eq(c.err.text,
                     "run.yaml:2:9: model.hidden: 5000 is no multiple of model.heads (32); write "
                     "5024, or give model.head_dim\n    hidden: 5000\n            ^");
    model_case_release(&c);
    model_case_begin(&c, 1);
    ck_assert_int_eq(model_read(&c, "llama3-8b", "preset: llama3-8b\nheads: 4"), TY_EINPUT);
    ck_assert_str_eq(c.err.text, "run.yaml:1:9: model.kv_heads: 8 does not divide model.heads (4); "
                                 "4 would, and so would 1\n    preset: llama3-8b\n            ^");
    model_case_release(&c);
}
END_TEST

/* ---- Hugging Face ---- */

/* Writes `json` to a file of its own and converts it. */
static int convert(struct model_case *c, const char *json, char path[64])
{
    const char *text = NULL;
    (void)strcpy(path, "/tmp/test_arch_XXXXXX");
    const int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    FILE *file = fdopen(fd, "w");
    ck_assert_ptr_nonnull(file);
    fputs(json, file);
    ck_assert_int_eq(fclose(file), 0);
    model_case_begin(c, 1);
    int rc = ty_arch_huggingface(&c->arena, path, &text, &c->err);
    ck_assert_int_eq(unlink(path), 0);
    if (rc == 0) {
        rc = section_apply(c, &c->model_section, TY_ORIGIN_PRESET, "config.json", text);
        ck_assert_msg(rc == 0, "%s", c->err.text);
        rc = model_read(c, NULL, "");
    }
    return rc;
}

static const char llama_json[] = "{\n"
                                 "  \"architectures\": [\"LlamaForCausalLM\"],\n"
                                 "  \"attention_bias\": false,\n"
                                 "  \"hidden_act\": \"silu\",\n"
                                 "  \"hidden_size\": 4096,\n"
                                 "  \"intermediate_size\": 14336,\n"
                                 "  \"max_position_embeddings\": 8192,\n"
                                 "  \"model_type\": \"llama\",\n"
                                 "  \"num_attention_heads\": 32,\n"
                                 "  \"num_hidden_layers\": 32,\n"
                                 "  \"num_key_value_heads\": 8,\n"
                                 "  \"rms_norm_eps\": 1e-05,\n"
                                 "  \"rope_scaling\": null,\n"
                                 "  \"tie_word_embeddings\": false,\n"
                                 "  \"torch_dtype\": \"bfloat16\",\n"
                                 "  \"vocab_size\": 128256\n"
                                 "}\n";

START_TEST(a_llama_config_gives_the_model_of_the_preset)
{
    struct model_case c, preset;
    char path[64];
    ck_assert_msg(convert(&c, llama_json, path) == 0, "%s", c.err.text);
    model_case_begin(&preset, 1);
    ck_assert_int_eq(model_read(&preset, "llama3-8b", ""), 0);
    ck_assert_double_eq(ty_arch_params(&c.arch), ty_arch_params(&preset.arch));
    ck_assert_uint_eq(c.arch.kv_heads, 8);
    ck_assert_int_eq(c.arch.mlp, TY_MLP_SWIGLU);
    ck_assert_int_eq(c.arch.norm_kind, TY_NORM_RMS);
    ck_assert(!c.arch.tied && c.arch.bias == TY_BIAS_NONE);
    ck_assert_uint_eq(c.arch.sequence, 2048); /* what a model can read is not what it trains on */
    model_case_release(&c);
    model_case_release(&preset);
}
END_TEST

START_TEST(a_gpt2_config_gives_its_124_million_parameters)
{
    struct model_case c;
    char path[64];
    const int rc = convert(&c,
                           "{\"model_type\": \"gpt2\", \"n_embd\": 768, \"n_layer\": 12,"
                           " \"n_head\": 12, \"n_inner\": null, \"n_positions\": 1024,"
                           " \"resid_pdrop\": 0.1, \"vocab_size\": 50257}",
                           path);
    ck_assert_msg(rc == 0, "%s", c.err.text);
    ck_assert_double_eq(ty_arch_params(&c.arch), 124439808); /* of the released checkpoint */
    ck_assert_uint_eq(c.arch.ffn, 3072);
    ck_assert_uint_eq(c.arch.positions, 1024);
    ck_assert_uint_eq(c.arch.sequence, 1024);
    ck_assert_double_eq(c.arch.dropout, 0.1);
    ck_assert(c.arch.tied && c.arch.bias == TY_BIAS_ALL);
    ck_assert_int_eq(c.arch.norm_kind, TY_NORM_LAYER);
    model_case_release(&c);
}
END_TEST

#define QWEN(type, layers, hidden, heads, kv, ffn, vocabulary, more)                               \
    "{\"model_type\": \"" type "\", \"num_hidden_layers\": " #layers ", \"hidden_size\": " #hidden \
    ", \"num_attention_heads\": " #heads ", \"num_key_value_heads\": " #kv                         \
    ", \"intermediate_size\": " #ffn ", \"vocab_size\": " #vocabulary more "}"

/* Biases of q, k and v, norms of heads: all parameters of the released checkpoints. */
START_TEST(qwen_configs_give_the_parameters_of_their_checkpoints)
{
    static const struct {
        const char *json;
        double params;
        enum ty_bias bias;
        bool qk_norm;
    } rows[] = {
        /* Qwen-7B: its width counts gate and up */
        {"{\"model_type\": \"qwen\", \"num_hidden_layers\": 32, \"hidden_size\": 4096,"
         " \"num_attention_heads\": 32, \"intermediate_size\": 22016, \"vocab_size\": 151936,"
         " \"no_bias\": true, \"tie_word_embeddings\": false}",
         7721324544, TY_BIAS_QKV, false},
        /* Qwen2-0.5B, Qwen2-7B and Qwen2.5-7B, Qwen2-72B */
        {QWEN("qwen2", 24, 896, 14, 2, 4864, 151936, ", \"tie_word_embeddings\": true"), 494032768,
         TY_BIAS_QKV, false},
        {QWEN("qwen2", 28, 3584, 28, 4, 18944, 152064, ", \"tie_word_embeddings\": false"),
         7615616512, TY_BIAS_QKV, false},
        {QWEN("qwen2", 80, 8192, 64, 8, 29568, 152064, ""), 72706203648, TY_BIAS_QKV, false},
        /* Qwen3-0.6B, Qwen3-8B */
        {QWEN("qwen3", 28, 1024, 16, 8, 3072, 151936,
              ", \"head_dim\": 128, \"tie_word_embeddings\": true, \"attention_bias\": false"),
         596049920, TY_BIAS_NONE, true},
        {QWEN("qwen3", 36, 4096, 32, 8, 12288, 151936, ", \"head_dim\": 128"), 8190735360,
         TY_BIAS_NONE, true},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct model_case c;
        char path[64];
        ck_assert_msg(convert(&c, rows[i].json, path) == 0, "%s", c.err.text);
        ck_assert_double_eq(ty_arch_params(&c.arch), rows[i].params);
        ck_assert_int_eq(c.arch.bias, (int)rows[i].bias);
        ck_assert_int_eq(c.arch.qk_norm, rows[i].qk_norm);
        model_case_release(&c);
    }
}
END_TEST

/* attention_bias is of four matrices, mlp_bias of the others, use_bias of all. */
START_TEST(keys_of_biases_are_of_their_matrices)
{
    static const struct {
        const char *json;
        enum ty_bias bias;
        double biases; /* of a layer */
    } rows[] = {
        {QWEN("llama", 2, 64, 4, 2, 192, 100, ""), TY_BIAS_NONE, 0},
        {QWEN("llama", 2, 64, 4, 2, 192, 100, ", \"attention_bias\": true"), TY_BIAS_ATTENTION,
         64 + 2 * 32 + 64},
        {QWEN("llama", 2, 64, 4, 2, 192, 100, ", \"mlp_bias\": true"), TY_BIAS_MLP, 2 * 192 + 64},
        {QWEN("llama", 2, 64, 4, 2, 192, 100, ", \"attention_bias\": true, \"mlp_bias\": true"),
         TY_BIAS_ALL, 64 + 2 * 32 + 64 + 2 * 192 + 64},
        {QWEN("qwen2", 2, 64, 4, 2, 192, 100, ""), TY_BIAS_QKV, 64 + 2 * 32},
        {QWEN("starcoder2", 2, 64, 4, 2, 192, 100, ""), TY_BIAS_ALL, 64 + 2 * 32 + 64 + 192 + 64},
        {QWEN("starcoder2", 2, 64, 4, 2, 192, 100, ", \"use_bias\": false"), TY_BIAS_NONE, 0},
        {QWEN("gpt_neox", 2, 64, 4, 2, 192, 100, ", \"attention_bias\": false"), TY_BIAS_MLP,
         192 + 64},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct model_case c;
        char path[64];
        ck_assert_msg(convert(&c, rows[i].json, path) == 0, "%s", c.err.text);
        ck_assert_int_eq(c.arch.bias, (int)rows[i].bias);
        const double with = ty_arch_layer_params(&c.arch);
        c.arch.bias = TY_BIAS_NONE;
        ck_assert_double_eq(with - ty_arch_layer_params(&c.arch), rows[i].biases);
        model_case_release(&c);
    }
}
END_TEST

/* Mistral's layers have it, Qwen's only when another key says so. */
START_TEST(a_config_may_have_a_window)
{
    static const char *const other[] = {"", ", \"sliding_window\": null",
                                        ", \"sliding_window\": 4096"};
    for (size_t i = 0; i < TY_COUNT(other); i++) {
        for (int qwen = 0; qwen < 2; qwen++) {
            struct model_case c;
            char path[64], json[512];
            snprintf(json, sizeof(json),
                     "{\"model_type\": \"%s\", \"num_hidden_layers\": 2, \"hidden_size\": 64, "
                     "\"num_attention_heads\": 4, \"intermediate_size\": 192, "
                     "\"vocab_size\": 100%s}",
                     qwen ? "qwen2" : "mistral", other[i]);
            ck_assert_msg(convert(&c, json, path) == 0, "%s", c.err.text);
            ck_assert_uint_eq(c.arch.window, i == 2 && !qwen ? 4096 : 0);
            model_case_release(&c);
        }
    }
}
END_TEST

START_TEST(a_config_that_cannot_be_used_says_why)
{
    static const struct {
        const char *json, *message; /* after "PATH:" */
    } rows[] = {
        {"{\"model_type\": \"mixtral\",\n \"num_local_experts\": 8}",
         "2:23: num_local_experts: a mixture of experts, which is not simulated yet in this "
         "version; use a dense model\n     \"num_local_experts\": 8}\n"
         "                          ^"},
        {"{\"model_type\": \"qwen2\", \"num_hidden_layers\": 2, \"hidden_size\": 64,"
         " \"num_attention_heads\": 4, \"intermediate_size\": 192, \"vocab_size\": 100,\n"
         " \"sliding_window\": 8,\n \"use_sliding_window\": true}",
         "3:24: use_sliding_window: windows from layer max_window_layers on are not simulated; "
         "write false"},
        {"{\"model_type\": \"frog\"}",
         "1:16: model_type: unknown (frog); known are llama, mistral, qwen, qwen2, qwen3, phi3, "
         "gemma, "
         "starcoder2, gpt_neox, gpt2; else give layers, hidden, heads and vocabulary in the model "
         "section\n    {\"model_type\": \"frog\"}\n                   ^"},
        {"{\"model_type\": \"gpt2\", \"n_embd\": \"wide\",\n \"n_layer\": 2, \"n_head\": 2,"
         " \"vocab_size\": 10}",
         "1:34: n_embd: not a whole number\n    {\"model_type\": \"gpt2\", \"n_embd\": \"wide\",\n"
         "                                     ^"},
        {"{\"model_type\": \"llama\", \"hidden_size\": 8, \"num_attention_heads\": 2,"
         " \"vocab_size\": 10, \"intermediate_size\": 16}",
         "1:1: num_hidden_layers: missing; the model's size cannot be known without it"},
        {"[1, 2]", " not a JSON object; name the config.json that belongs to the model's weights"},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct model_case c;
        char path[64], expected[1024];
        ck_assert_int_eq(convert(&c, rows[i].json, path), TY_EINPUT);
        (void)snprintf(expected, sizeof(expected), "%s:%s", path, rows[i].message);
        ck_assert_msg(strncmp(c.err.text, expected, strlen(expected)) == 0, "%s", c.err.text);
        model_case_release(&c);
    }
}
END_TEST

TY_SUITE("arch", presets_have_their_published_parameters,
         a_gpt_layer_has_12_h2_plus_13_h_parameters, a_grouped_swiglu_layer_counts_its_matrices,
         palm_flops_give_published_utilisations, causal_flops_halve_the_attention_term_only,
         a_tied_matrix_counts_twice_in_flops_and_once_in_parameters, what_is_left_out_is_derived,
         learned_positions_of_a_preset_follow_the_sequence, what_must_divide_is_said_at_its_place,
         a_preset_that_no_longer_fits_is_blamed_on_what_changed,
         a_llama_config_gives_the_model_of_the_preset,
         a_gpt2_config_gives_its_124_million_parameters,
         qwen_configs_give_the_parameters_of_their_checkpoints,
         keys_of_biases_are_of_their_matrices, a_config_may_have_a_window,
         a_config_that_cannot_be_used_says_why)
