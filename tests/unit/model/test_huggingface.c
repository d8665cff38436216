/* test_huggingface.c - models out of a config.json: the parameters of released checkpoints, keys
 * that are refused, and those that are told. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "model/parallel/whole.h"
#include "tests/unit/model_case.h"

/* Writes `json` to a file of its own and converts it. */
static int convert(struct model_case *c, const char *json, char path[64])
{
    struct ty_huggingface out = {NULL, NULL};
    (void)strcpy(path, "/tmp/test_arch_XXXXXX");
    const int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    FILE *file = fdopen(fd, "w");
    ck_assert_ptr_nonnull(file);
    fputs(json, file);
    ck_assert_int_eq(fclose(file), 0);
    model_case_begin(c, 1);
    int rc = ty_arch_huggingface(&c->arena, path, &out, &c->err);
    ck_assert_int_eq(unlink(path), 0);
    if (rc == 0) {
        rc = section_apply(c, &c->model_section, TY_ORIGIN_PRESET, "config.json", out.text);
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

TEST(a_llama_config_gives_the_model_of_the_preset)
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

TEST(a_gpt2_config_gives_its_124_million_parameters)
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

#define QWEN(type, layers, hidden, heads, kv, ffn, vocabulary, more)                               \
    "{\"model_type\": \"" type "\", \"num_hidden_layers\": " #layers ", \"hidden_size\": " #hidden \
    ", \"num_attention_heads\": " #heads ", \"num_key_value_heads\": " #kv                         \
    ", \"intermediate_size\": " #ffn ", \"vocab_size\": " #vocabulary more "}"

/* Biases of q, k and v, norms of heads: all parameters of the released checkpoints. */
TEST(qwen_configs_give_the_parameters_of_their_checkpoints)
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

/* attention_bias is of four matrices, mlp_bias of the others, use_bias of all. */
TEST(keys_of_biases_are_of_their_matrices)
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

/* Mistral's layers have it, also where the file does not say how wide it is, Qwen's only when
 * another key says so. */
TEST(a_config_may_have_a_window)
{
    static const char *const other[] = {"", ", \"sliding_window\": null",
                                        ", \"sliding_window\": 4096"};
    for (size_t i = 0; i < TY_COUNT(other); i++) {
        for (int qwen = 0; qwen < 2; qwen++) {
            struct model_case c;
            char path[64], json[512];
            snprintf(json, sizeof(json),
                     "{\"model_type\": \"%s\", \"num_hidden_layers\": 2, \"hidden_size\": 64, "
                     "\"num_attention_heads\": 4, \"num_key_value_heads\": 2, "
                     "\"intermediate_size\": 192, \"vocab_size\": 100%s}",
                     qwen ? "qwen2" : "mistral", other[i]);
            ck_assert_msg(convert(&c, json, path) == 0, "%s", c.err.text);
            ck_assert_uint_eq(c.arch.window, i != 1 && !qwen ? 4096 : 0);
            model_case_release(&c);
        }
    }
}

#define LLAMA_SHAPE                                                                                \
    "\"num_hidden_layers\": 2, \"hidden_size\": 64, \"num_attention_heads\": 4,"                   \
    " \"intermediate_size\": 192, \"vocab_size\": 100"

TEST(a_config_that_cannot_be_used_says_why)
{
    static const struct {
        const char *json, *message; /* after "PATH:" */
    } rows[] = {
        {"{\"model_type\": \"llama\",\n \"num_local_experts\": 8}",
         "2:23: num_local_experts: a mixture of experts, and models of type llama have none\n"
         "     \"num_local_experts\": 8}\n                          ^"},
        {"{\"model_type\": \"frog\"}",
         "1:16: model_type: unknown (frog), and not of llama's shape: it has no num_hidden_layers; "
         "trainyard list families has the known ones; or set layers, hidden, heads and vocabulary "
         "in the model section\n    {\"model_type\": \"frog\"}\n                   ^"},
        {"{\"model_type\": \"frog\", " LLAMA_SHAPE ", \"rms_norm_eps\": 1e-5,\n"
         " \"use_mixture\": true, \"n_streams\": 4, \"use_cache\": true}",
         "1:16: model_type: unknown (frog), and not of llama's shape: not understood are "
         "use_mixture, n_streams; "},
        {"{\"model_type\": \"frog\", " LLAMA_SHAPE ", \"rms_norm_eps\": 1e-5,"
         " \"hidden_act\": \"gelu\"}",
         "1:16: model_type: unknown (frog), and not of llama's shape: its hidden_act is not "
         "silu; "},
        {"{\"vocab_size\": 100}",
         "1:1: model_type: missing; trainyard list families has the known "},
        {"{\"model_type\": \"zamba\", \"num_experts\": 16}",
         "1:16: model_type: zamba: its layers of Mamba are of the first kind, or share weights"},
        {"{\"model_type\": \"t5\", \"d_model\": 512}",
         "1:16: model_type: t5: a model of encoder and decoder"},
        {"{\"model_type\": \"deepseek_v3\", \"index_topk\": 2048}",
         "1:45: index_topk: an indexer that chooses keys: that is not simulated"},
        {"{\"model_type\": \"llama\", \"architectures\": [\"Qwen2ForCausalLM\"]}",
         "1:43: architectures: Qwen2ForCausalLM is no class of model_type llama but of qwen2; one "
         "of the two is wrong"},
        {"{\"model_type\": \"llama\", \"architectures\": [\"MambaForCausalLM\"]}",
         "1:43: architectures: MambaForCausalLM is no class of model_type llama, but: a recurrent "
         "model without attention; one of the two is wrong"},
        {"{\"model_type\": \"opt\", \"hidden_size\": 1024, \"num_hidden_layers\": 24,"
         " \"num_attention_heads\": 16, \"ffn_dim\": 4096, \"max_position_embeddings\": 2048,"
         " \"vocab_size\": 50272,\n \"word_embed_proj_dim\": 512}",
         "2:25: word_embed_proj_dim: embeddings of another width than hidden_size are not "
         "simulated"},
        {"{\"model_type\": \"llama\", " LLAMA_SHAPE ",\n \"num_key_value_heads\": [2, 1]}",
         "2:25: num_key_value_heads: differs from layer to layer; a model of equal layers can be "
         "simulated"},
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

/* ---- families with experts ---- */

#define HEADS(layers, hidden, heads, kv, ffn, vocabulary)                                          \
    "\"num_hidden_layers\": " #layers ", \"hidden_size\": " #hidden                                \
    ", \"num_attention_heads\": " #heads ", \"num_key_value_heads\": " #kv                         \
    ", \"intermediate_size\": " #ffn ", \"vocab_size\": " #vocabulary ", "
TEST(configs_of_families_with_experts_give_the_presets)
{
    static const struct {
        const char *preset, *json;
    } rows[] = {
        {"mixtral-8x7b", "{\"model_type\": \"mixtral\", " HEADS(
                             32, 4096, 32, 8, 14336,
                             32000) "\"num_local_experts\": 8, \"num_experts_per_tok\": 2, "
                                    "\"sliding_window\": null, \"router_aux_loss_coef\": 0.02}"},
        {"deepseek-v2-lite",
         "{\"model_type\": \"deepseek_v2\", " HEADS(
             27, 2048, 16, 16, 10944,
             102400) "\"kv_lora_rank\": 512, \"q_lora_rank\": null, \"qk_nope_head_dim\": 128, "
                     "\"qk_rope_head_dim\": 64, \"v_head_dim\": 128, \"n_routed_experts\": 64, "
                     "\"n_shared_experts\": 2, \"moe_intermediate_size\": 1408, "
                     "\"num_experts_per_tok\": 6, \"first_k_dense_replace\": 1, "
                     "\"moe_layer_freq\": 1, "
                     "\"n_group\": 1, \"topk_group\": 1, \"topk_method\": \"greedy\"}"},
        {"deepseek-v3",
         "{\"model_type\": \"deepseek_v3\", " HEADS(
             61, 7168, 128, 128, 18432,
             129280) "\"kv_lora_rank\": 512, \"q_lora_rank\": 1536, \"qk_nope_head_dim\": 128, "
                     "\"qk_rope_head_dim\": 64, \"v_head_dim\": 128, \"head_dim\": 64, "
                     "\"n_routed_experts\": 256, \"n_shared_experts\": 1, "
                     "\"moe_intermediate_size\": 2048, "
                     "\"num_experts_per_tok\": 8, \"first_k_dense_replace\": 3, \"n_group\": 8, "
                     "\"topk_group\": 4, \"topk_method\": \"noaux_tc\"}"},
        {"qwen2-57b-a14b",
         "{\"model_type\": \"qwen2_moe\", " HEADS(
             28, 3584, 28, 4, 18944,
             151936) "\"num_experts\": 64, \"num_experts_per_tok\": 8, \"moe_intermediate_size\": "
                     "2560, "
                     "\"shared_expert_intermediate_size\": 20480, \"decoder_sparse_step\": 1}"},
        {"qwen3-235b-a22b",
         "{\"model_type\": \"qwen3_moe\", " HEADS(
             94, 4096, 64, 4, 12288,
             151936) "\"head_dim\": 128, \"num_experts\": 128, \"num_experts_per_tok\": 8, "
                     "\"moe_intermediate_size\": 1536, \"mlp_only_layers\": [], "
                     "\"norm_topk_prob\": true}"},
        {"gpt-oss-20b",
         "{\"model_type\": \"gpt_oss\", " HEADS(
             24, 2880, 64, 8, 2880, 201088) "\"head_dim\": 64, \"num_local_experts\": 32, "
                                            "\"num_experts_per_tok\": 4, \"sliding_window\": 128}"},
        {"olmoe-1b-7b",
         "{\"model_type\": \"olmoe\", " HEADS(
             16, 2048, 16, 16, 1024, 50304) "\"num_experts\": 64, \"num_experts_per_tok\": 8}"},
        {"dbrx", "{\"model_type\": \"dbrx\", \"n_layers\": 40, \"d_model\": 6144, "
                 "\"n_heads\": 48, \"vocab_size\": 100352, \"attn_config\": {\"kv_n_heads\": 8}, "
                 "\"ffn_config\": {\"ffn_hidden_size\": 10752, \"moe_num_experts\": 16, "
                 "\"moe_top_k\": 4}}"},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct model_case c, preset;
        char path[64];
        ck_assert_msg(convert(&c, rows[i].json, path) == 0, "%s", c.err.text);
        model_case_begin(&preset, 1);
        ck_assert_int_eq(model_read(&preset, rows[i].preset, "sequence: 2048"), 0);
        c.arch.preset = preset.arch.preset = NULL;
        c.arch.name = preset.arch.name = NULL;
        ck_assert_msg(memcmp(&c.arch, &preset.arch, sizeof(c.arch)) == 0,
                      "%s: %.10g parameters, not %.10g", rows[i].preset, ty_arch_params(&c.arch),
                      ty_arch_params(&preset.arch));
        model_case_release(&c);
        model_case_release(&preset);
    }
}

#define GPT_OSS(types)                                                                             \
    "{\"model_type\": \"gpt_oss\", " HEADS(                                                        \
        4, 64, 4, 4, 64, 100) "\"num_local_experts\": 4, \"num_experts_per_tok\": 2, "             \
                              "\"sliding_window\": 128,\n \"layer_types\": [" types "]}"
#define SLIDES "\"sliding_attention\""
#define FULL   "\"full_attention\""

/* The numbers of a list of layers, as a user writes them. */
static const char *written(const struct ty_uint_list *list, char text[64])
{
    int at = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < list->n; i++) {
        at += snprintf(text + at, 64 - (size_t)at, "%s%u", i > 0 ? ", " : "",
                       (unsigned)list->item[i]);
    }
    return text;
}

#define QWEN3_MOE(rest)                                                                            \
    "{\"model_type\": \"qwen3_moe\", " HEADS(                                                      \
        6, 64, 4, 4, 64, 100) "\"num_experts\": 4, \"num_experts_per_tok\": 2, "                   \
                              "\"moe_intermediate_size\": 16, " rest "}"

/* Which layers have a window, and which have experts: every so many, the first ones, a list. */
TEST(what_configs_say_of_single_layers_is_of_these)
{
    static const struct {
        const char *json;
        uint32_t window, period, dense;
        const char *full, *mlp;
    } rows[] = {
        {GPT_OSS(SLIDES "," FULL "," SLIDES "," FULL), 128, 2, 0, "", ""},
        {GPT_OSS(SLIDES "," SLIDES "," SLIDES "," FULL), 128, 4, 0, "", ""},
        {GPT_OSS(SLIDES "," SLIDES "," SLIDES "," SLIDES), 128, 0, 0, "", ""},
        {GPT_OSS(FULL "," FULL "," FULL "," FULL), 0, 0, 0, "", ""},
        {GPT_OSS(SLIDES "," FULL "," FULL "," FULL), 128, 0, 0, "1, 2, 3", ""},
        {GPT_OSS(FULL "," SLIDES "," SLIDES "," SLIDES), 128, 0, 0, "0", ""},
        {"{\"model_type\": \"gpt_neo\", \"num_layers\": 4, \"hidden_size\": 64, \"num_heads\": 4,"
         " \"max_position_embeddings\": 512, \"vocab_size\": 100, \"intermediate_size\": null,"
         " \"attention_types\": [[[\"global\", \"local\"], 2]]}",
         256, 0, 0, "0, 2", ""},
        {QWEN("qwen2", 4, 64, 4, 2, 192, 100,
              ", \"use_sliding_window\": true, \"sliding_window\": 64, \"max_window_layers\": 3"),
         64, 0, 0, "0, 1, 2", ""},
        {QWEN("gemma3_text", 7, 64, 4, 2, 192, 100, ", \"sliding_window\": 512"), 512, 6, 0, "",
         ""},
        {QWEN("exaone4", 8, 64, 4, 2, 192, 100,
              ", \"sliding_window\": 512, \"sliding_window_pattern\": \"LLLG\""),
         512, 4, 0, "", ""},
        {QWEN3_MOE("\"mlp_only_layers\": [0, 2]"), 0, 0, 1, "", "2"},
        {QWEN3_MOE("\"mlp_only_layers\": [0, 1]"), 0, 0, 2, "", ""},
        {QWEN3_MOE("\"decoder_sparse_step\": 2"), 0, 0, 1, "", "2, 4"},
        {QWEN3_MOE("\"moe_layer_freq\": [0, 1, 1, 0, 1, 1]"), 0, 0, 1, "", "3"},
        {QWEN3_MOE("\"moe_layers\": [1, 3, 5]"), 0, 0, 1, "", "2, 4"},
        {QWEN3_MOE("\"moe_layer_start_index\": 1, \"moe_layer_end_index\": 4"), 0, 0, 1, "", "5"},
        {QWEN3_MOE("\"moe_layer_start_index\": 1, \"moe_layer_end_index\": -1"), 0, 0, 1, "", ""},
        {QWEN3_MOE("\"first_k_dense_replace\": 1, \"moe_layer_freq\": 2"), 0, 0, 2, "", "3, 5"},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct model_case c;
        char path[64], text[64];
        ck_assert_msg(convert(&c, rows[i].json, path) == 0, "%s", c.err.text);
        ck_assert_uint_eq(c.arch.window, rows[i].window);
        ck_assert_uint_eq(c.arch.window_period, rows[i].period);
        ck_assert_uint_eq(c.arch.dense_layers, rows[i].dense);
        ck_assert_str_eq(written(&c.arch.full_layers, text), rows[i].full);
        ck_assert_str_eq(written(&c.arch.mlp_layers, text), rows[i].mlp);
        model_case_release(&c);
    }
}

#define DEEPSEEK(latent, rest)                                                                     \
    "{\"model_type\": \"deepseek_v3\", " HEADS(4, 64, 4, 4, 64, 100) latent                        \
        "\"n_routed_experts\": 4, \"num_experts_per_tok\": 2, "                                    \
        "\"moe_intermediate_size\": 16, " rest "}"
#define LATENT                                                                                     \
    "\"kv_lora_rank\": 16, \"qk_nope_head_dim\": 16, \"qk_rope_head_dim\": 8, \"v_head_dim\": "    \
    "16, "

/* Counts that are none, and attention without what makes it latent, are not taken for 0. */
TEST(what_deepseek_configs_leave_open_is_told)
{
    static const struct {
        const char *json, *message;
    } rows[] = {
        {DEEPSEEK(LATENT, "\"n_shared_experts\": -1"), "n_shared_experts: not a whole number"},
        {DEEPSEEK(LATENT, "\"n_group\": 1.5, \"topk_group\": 1"), "n_group: not a whole number"},
        {DEEPSEEK(LATENT, "\"n_group\": 2, \"topk_group\": \"1\""),
         "topk_group: not a whole number"},
        {DEEPSEEK("\"kv_lora_rank\": null, ", "\"n_group\": 1"), "kv_lora_rank: missing"},
        {DEEPSEEK("\"kv_lora_rank\": 16, \"v_head_dim\": 16, ", "\"n_group\": 1"),
         "qk_rope_head_dim: missing"},
    };
    struct model_case c;
    char path[64];
    ck_assert_msg(convert(&c, DEEPSEEK(LATENT, "\"n_shared_experts\": null"), path) == 0, "%s",
                  c.err.text);
    model_case_release(&c);
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        ck_assert_int_eq(convert(&c, rows[i].json, path), TY_EINPUT);
        ck_assert_msg(strstr(c.err.text, rows[i].message) != NULL, "%s", c.err.text);
        model_case_release(&c);
    }
}

/* Of a key that nobody reads and that may be about the shape there is a line; of a name, a share,
 * what is off and what is known to say nothing there is none. */
TEST(keys_that_are_not_understood_are_told)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_err err = TY_ERR_NONE;
    struct ty_huggingface out;
    char path[] = "/tmp/test_arch_XXXXXX", expected[256];
    FILE *file = fdopen(mkstemp(path), "w");
    ck_assert_ptr_nonnull(file);
    fputs("{\"model_type\": \"llama\", " HEADS(
              2, 64, 4, 4, 64,
              100) "\n"
                   " \"altup_num_inputs\": 4, \"hidden_act\": \"silu\", \"use_extra\": false,\n"
                   " \"bos_token_id\": 7, \"rms_norm_eps\": 1e-5, \"use_cache\": true}",
          file);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(ty_arch_huggingface(&arena, path, &out, &err), 0);
    ck_assert_int_eq(unlink(path), 0);
    (void)snprintf(expected, sizeof(expected), "%s:2:22: altup_num_inputs: not understood", path);
    ck_assert_ptr_nonnull(out.remarks);
    ck_assert_msg(strncmp(out.remarks, expected, strlen(expected)) == 0, "%s", out.remarks);
    ck_assert_ptr_eq(strchr(out.remarks, '\n')[1] == '\0' ? NULL : out.remarks, NULL);
    ty_arena_release(&arena);
}

TY_SUITE("huggingface")
