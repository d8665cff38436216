/* huggingface_families.c - families of decoders, by the model_type of their config.json: one row
 * each, of what no key says. Source: the configuration classes of huggingface/transformers, and of
 * the models' own code next to their weights. Gated MLPs with another activation than SiLU (Gemma)
 * have the shape and cost of SwiGLU, those without gate that of GELU. */
#include <string.h>

#include "model/huggingface_internal.h"

/* ---- what single families say in words of their own ---- */

/* Source: their configuration classes, in huggingface/transformers or next to the weights. */

/* ---- sizes of their own ---- */

/* One head of keys and values for all queries, unless the file says otherwise. */
static void hf_bigcode(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    shape->kv_heads = ty_hf_flag(r, "multi_query", true) ? 1 : shape->heads;
}

/* ChatGLM2, ChatGLM3 and GLM-4 in their first files. */
static void hf_chatglm(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    const bool grouped = ty_hf_flag(r, "multi_query_attention", false);
    (void)ty_hf_value(r, "multi_query_group_num");
    shape->kv_heads = grouped ? ty_hf_number(r, "multi_query_group_num", 1) : shape->heads;
    shape->norm_kind = ty_hf_flag(r, "rmsnorm", true) ? TY_NORM_RMS : TY_NORM_LAYER;
    if (!ty_hf_flag(r, "post_layer_norm", true)) {
        ty_hf_fail(r, ty_hf_value(r, "post_layer_norm"), "post_layer_norm",
                   "false: a model without a norm before its output matrix is not simulated");
    }
}

/* The large one of a family has ALiBi in place of rotary embeddings, which only its missing number
 * of positions tells. */
static void hf_baichuan(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    (void)ty_hf_value(r, "model_max_length");
    if (ty_hf_value(r, "max_position_embeddings") == NULL) {
        shape->rotary = 0;
    }
}

/* SantaCoder says so in a file of GPT-2's. */
static void hf_gpt2(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    if (ty_hf_is_text(r, "attention_head_type", "multiquery")) {
        shape->kv_heads = 1;
    }
}

/* ---- parallel blocks ---- */

/* What every Command R has may be said. */
static void hf_cohere(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    shape->tied = ty_hf_flag(r, "use_embedding_sharing", shape->tied);
    shape->gated = ty_hf_flag(r, "use_gated_activation", true);
    shape->parallel = ty_hf_flag(r, "use_parallel_block", true);
    (void)ty_hf_value(r, "use_parallel_embedding"); /* a layout of ranks */
}

/* Falcon 40B has a norm for each of its parallel blocks, Falcon 7B one for both. */
static void falcon(struct ty_hf_reader *r, struct ty_hf_shape *shape, bool new_decoder)
{
    const bool one = ty_hf_flag(r, "multi_query", true);
    const unsigned long groups = ty_hf_number(r, "num_kv_heads|n_head_kv", 0);
    const unsigned long norms = ty_hf_number(r, "num_ln_in_parallel_attn", new_decoder ? 2 : 1);
    shape->parallel = ty_hf_flag(r, "parallel_attn", true) || new_decoder;
    shape->norms = shape->parallel ? (unsigned)norms : 2;
    shape->kv_heads = new_decoder && groups > 0 ? groups : one && !new_decoder ? 1 : shape->heads;
    shape->rotary = ty_hf_flag(r, "alibi", false) ? 0 : shape->rotary;
}

static void hf_falcon(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    falcon(r, shape, ty_hf_flag(r, "new_decoder_architecture", false));
}

/* What Falcon 40B was called before. */
static void hf_refined_web(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    falcon(r, shape, true);
}

/* Two norms even where the blocks are parallel. */
static void hf_neox(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    shape->parallel = ty_hf_flag(r, "use_parallel_residual", true);
    shape->norms = 2;
}

static void hf_stablelm(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    shape->parallel = ty_hf_flag(r, "use_parallel_residual", false);
}

/* ---- positions ---- */

/* MPT's norms have no shift. It has positions where it has no ALiBi. */
static void hf_mpt(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    const unsigned long grouped = ty_hf_number(r, "attn_config.kv_n_heads", shape->heads);
    const bool alibi = ty_hf_flag(r, "attn_config.alibi", true);
    const bool learned = ty_hf_flag(r, "learned_pos_emb", true) && !alibi;
    const bool rope = ty_hf_flag(r, "attn_config.rope", false);
    const unsigned long times = ty_hf_number(r, "expansion_ratio", 4);
    shape->kv_heads =
        ty_hf_is_text(r, "attn_config.attn_type", "multiquery_attention") ? 1 : grouped;
    shape->rotary = rope ? 1 : 0;
    if (learned && !rope) {
        shape->sequence = shape->positions = ty_hf_number(r, "max_seq_len", 2048);
    }
    shape->ffn = shape->ffn > 0 ? shape->ffn : times * shape->hidden;
    shape->norm_kind = shape->bias == TY_BIAS_NONE ? TY_NORM_LAYER_SCALE : TY_NORM_LAYER;
    if (ty_hf_is_text(r, "norm_type", "rmsnorm")) {
        shape->norm_kind = TY_NORM_RMS;
    }
    if (ty_hf_flag(r, "attn_config.qk_ln", false)) {
        shape->qk_norm = true;
        shape->qk_norm_kind = TY_QK_NORM_WHOLE;
    }
}

/* Positions are learned unless the file says ALiBi, and the MLP has a gate if it is said. */
static void hf_jais(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    if (ty_hf_is_text(r, "position_embedding_type", "alibi")) {
        shape->positions = shape->sequence = 0;
        shape->rotary = 0;
    }
    shape->gated = ty_hf_is_text(r, "activation_function", "swiglu");
}

/* The smallest OPT has embeddings narrower than its layers, and no norm behind them. */
static void hf_opt(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    const unsigned long width = ty_hf_number(r, "word_embed_proj_dim", shape->hidden);
    if (width != shape->hidden) {
        ty_hf_fail(r, ty_hf_value(r, "word_embed_proj_dim"), "word_embed_proj_dim",
                   "embeddings of another width than hidden_size are not simulated");
    } else if (!ty_hf_flag(r, "do_layer_norm_before", true)) {
        ty_hf_fail(r, ty_hf_value(r, "do_layer_norm_before"), "do_layer_norm_before",
                   "false: a model without a norm before its output matrix is not simulated");
    }
    if (!ty_hf_flag(r, "layer_norm_elementwise_affine", true)) {
        shape->norm_kind = TY_NORM_LAYER_PLAIN;
    }
}

/* ---- experts ---- */

static void hf_ernie(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    shape->norm_kind = ty_hf_flag(r, "use_rmsnorm", true) ? TY_NORM_RMS : TY_NORM_LAYER;
}

/* Its keys are those of a platform. */
static void hf_hunyuan(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    (void)ty_hf_value(r, "cla_share_factor");  /* of use_cla, which is refused */
    (void)ty_hf_value(r, "use_mixed_mlp_moe"); /* shared experts, which are counted */
    (void)ty_hf_value(r, "use_rotary_pos_emb");
    (void)ty_hf_value(r, "org_vocab_size");
    (void)ty_hf_value(r,
                      "dense_list|num_media_embeds|mask_init_id"); /* of other heads and inputs */
    shape->head_dim = ty_hf_number(r, "attention_head_dim", shape->head_dim);
}

static void hf_phimoe(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    shape->head_bias = ty_hf_flag(r, "lm_head_bias", false);
}

/* Dense layers have a width of their own. Three of four layers look at chunks of tokens: within the
 * first chunk that is what all others do. */
static void hf_llama4(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    const struct ty_node *chunk = ty_hf_value(r, "attention_chunk_size");
    shape->ffn = ty_hf_number(r, "intermediate_size_mlp", 16384);
    if (chunk != NULL && ty_hf_is_number(chunk, true)) {
        const char *what = ty_arena_printf(
            r->arena,
            "chunks are not simulated: every layer attends to all tokens before, which is "
            "the same up to a model.sequence of %s",
            chunk->text);
        ty_hf_remark(r, chunk, "attention_chunk_size", what != NULL ? what : "not simulated");
    }
}

/* Modules for further tokens that no checkpoint has. */
static void hf_minimax(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    (void)shape;
    (void)ty_hf_number(r, "mtp_transformer_layers", 0);
    if (ty_hf_flag(r, "use_mtp", false) && ty_hf_number(r, "num_mtp_modules", 0) > 0) {
        ty_hf_remark(r, ty_hf_value(r, "num_mtp_modules"), "num_mtp_modules",
                     "ignored, as their weights are not published; model.mtp adds some");
    }
}

static void hf_granite_hybrid(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    shape->rotary = ty_hf_is_text(r, "position_embedding_type", "rope") ? shape->rotary : 0;
    (void)ty_hf_value(r, "num_experts_per_tok");
    (void)ty_hf_value(r, "intermediate_size"); /* of experts */
}

/* Gates behind attention are a part of its class. */
static void hf_qwen3_next(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    (void)shape;
    ty_hf_put(r, "attention_gate", ty_hf_flag(r, "attn_output_gate", true) ? "true" : "false");
}

/* Latents of gates and of decays are as wide as a head. */
static void hf_kimi_linear(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    (void)shape;
    ty_hf_put_number(r, "state_rank", 2 * ty_hf_needed(r, "linear_attn_config.head_dim"));
    (void)ty_hf_value(r, "linear_attn_config.kda_layers");
}

/* Channels of Mamba, each with a state. */
static void hf_jamba(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    const bool by_width = ty_hf_is_text(r, "mamba_dt_rank", "auto");
    const unsigned long usual = (shape->hidden + 15) / 16;
    const unsigned long rank = by_width ? usual : ty_hf_number(r, "mamba_dt_rank", usual);
    ty_hf_put_number(r, "state_heads", ty_hf_number(r, "mamba_expand", 2) * shape->hidden);
    ty_hf_put_number(r, "state_head_dim", 1);
    ty_hf_put_number(r, "state_groups", 1);
    ty_hf_put_number(r, "state_rank", rank);
}

/* Layers that are "hybrid" have a shared transformer block, of two layers here, before Mamba. */
static void hf_zamba2(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    const struct ty_node *list = ty_hf_value(r, "layers_block_type");
    const unsigned long heads = shape->heads | !shape->heads;
    const unsigned long inner = ty_hf_number(r, "mamba_expand|expansion_factor", 2) * shape->hidden;
    const unsigned long width = ty_hf_number(r, "mamba_headdim", 64);
    for (const struct ty_node *item = list != NULL ? list->first : NULL; item != NULL;
         item = item->next) {
        const char *word = item->kind == TY_NODE_SCALAR ? item->text : "";
        shape->further += strcmp(word, "hybrid") == 0 || strcmp(word, "g") == 0 ? 2 : 0;
    }
    shape->head_dim = 2 * shape->hidden / heads;
    shape->rotary = ty_hf_flag(r, "use_mem_rope", false) ? 1 : 0;
    const unsigned long sets = ty_hf_number(r, "num_mem_blocks", 1);
    const unsigned long rank = ty_hf_number(r, "adapter_rank|lora_rank", 128);
    const bool qkv = ty_hf_flag(r, "use_shared_attention_adapter|use_shared_attention_lora", false);
    if (shape->further > 0) {
        ty_hf_put_number(r, "shared_blocks", sets);
        ty_hf_put_number(r, "shared_rank", rank);
        ty_hf_put(r, "shared_qkv", qkv ? "true" : "false");
    }
    ty_hf_put_number(r, "state_heads", inner / (width | !width));
    ty_hf_put_number(r, "state_head_dim", width);
    ty_hf_put_number(r, "state_groups", ty_hf_number(r, "mamba_ngroups", 1));
    (void)ty_hf_value(r, "attention_head_dim|attention_hidden_size|kv_channels|num_query_groups|"
                         "hybrid_layer_ids|n_mamba_heads|ffn_hidden_size|use_shared_mlp_adapter|"
                         "use_shared_block_lora|gated_linear_unit|use_long_context");
}

/* One width of heads and keys; latents of decays, learning rates, values and gates. */
static void hf_rwkv7(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    const unsigned long width = ty_hf_number(r, "head_dim", 64);
    const unsigned long values = ty_hf_needed(r, "v_low_rank_dim");
    shape->head_dim = width;
    shape->heads = shape->hidden / (width | !width);
    shape->embedding_norm = ty_hf_flag(r, "norm_first", true);
    ty_hf_put_number(r, "state_heads", shape->heads);
    ty_hf_put_number(r, "state_head_dim", width);
    ty_hf_put_number(r, "state_size", width);
    ty_hf_put_number(r, "first_rank", values);
    ty_hf_put_number(r, "state_rank",
                     values + ty_hf_needed(r, "decay_low_rank_dim") +
                         ty_hf_needed(r, "a_low_rank_dim") + ty_hf_needed(r, "gate_low_rank_dim"));
    (void)ty_hf_value(r, "value_dim|hidden_ratio|norm_bias|num_heads|attn_mode|fuse_norm");
    if (ty_hf_value(r, "attn") != NULL) {
        ty_hf_fail(r, ty_hf_value(r, "attn"), "attn", "attention beside RWKV-7 is not simulated");
    }
}

/* Heads of linear attention are those of attention. */
static void hf_minimax_linear(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    const unsigned long heads = shape->heads | !shape->heads;
    const unsigned long width = shape->head_dim > 0 ? shape->head_dim : shape->hidden / heads;
    ty_hf_put_number(r, "state_heads", shape->heads);
    ty_hf_put_number(r, "state_head_dim", width);
    ty_hf_put_number(r, "state_size", width);
    (void)ty_hf_value(r, "postnorm"); /* where the residual is taken */
}

/* Two thirds of the width, as often as a multiplier says, up to a multiple. */
static void hf_lfm2(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    const unsigned long round = ty_hf_number(r, "block_multiple_of", 256);
    shape->tied = ty_hf_flag(r, "tie_embedding", shape->tied);
    if (ty_hf_flag(r, "block_auto_adjust_ff_dim", shape->experts == 0)) {
        shape->ffn = 2 * shape->ffn / 3;
        shape->ffn += (round - shape->ffn % (round | !round)) % (round | !round);
    }
}

/* Multipliers, and what follows from other keys. */
static void hf_falcon_h1(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    static const char *const idle[] = {"mamba_d_ssm", "mlp_multipliers", "ssm_multipliers",
                                       "mamba_use_mlp", "mamba_norm_before_gate"};
    (void)shape;
    for (size_t i = 0; i < TY_COUNT(idle); i++) {
        (void)ty_hf_value(r, idle[i]);
    }
}

/* ---- keys of sizes ---- */

#define VOCABULARY .vocabulary = "vocab_size"

static const struct ty_hf_keys gpt2_keys = {.layers = "n_layer|num_hidden_layers",
                                            .hidden = "n_embd|hidden_size",
                                            .heads = "n_head|num_attention_heads",
                                            .ffn = "n_inner",
                                            VOCABULARY};
static const struct ty_hf_keys bloom_keys = {.layers = "n_layer|num_hidden_layers",
                                             .hidden = "hidden_size|n_embed",
                                             .heads = "n_head|num_attention_heads",
                                             VOCABULARY};
static const struct ty_hf_keys falcon_keys = {.layers = "num_hidden_layers|n_layer",
                                              .hidden = "hidden_size",
                                              .heads = "num_attention_heads|n_head",
                                              .ffn = "ffn_hidden_size",
                                              VOCABULARY};
static const struct ty_hf_keys mpt_keys = {
    .layers = "n_layers", .hidden = "d_model", .heads = "n_heads", VOCABULARY};
static const struct ty_hf_keys dbrx_keys = {.layers = "n_layers",
                                            .hidden = "d_model",
                                            .heads = "n_heads",
                                            .kv_heads = "attn_config.kv_n_heads",
                                            .ffn = "ffn_config.ffn_hidden_size",
                                            VOCABULARY};
static const struct ty_hf_keys opt_keys = {.layers = "num_hidden_layers",
                                           .hidden = "hidden_size",
                                           .heads = "num_attention_heads",
                                           .ffn = "ffn_dim",
                                           VOCABULARY};
static const struct ty_hf_keys xglm_keys = {.layers = "num_layers",
                                            .hidden = "d_model",
                                            .heads = "attention_heads",
                                            .ffn = "ffn_dim",
                                            VOCABULARY};
static const struct ty_hf_keys neo_keys = {.layers = "num_layers|num_hidden_layers",
                                           .hidden = "hidden_size",
                                           .heads = "num_heads|num_attention_heads",
                                           .ffn = "intermediate_size",
                                           VOCABULARY};
static const struct ty_hf_keys chatglm_keys = {.layers = "num_layers",
                                               .hidden = "hidden_size",
                                               .heads = "num_attention_heads",
                                               .head_dim = "kv_channels",
                                               .ffn = "ffn_hidden_size",
                                               .vocabulary = "padded_vocab_size|vocab_size"};
static const struct ty_hf_keys exaone_keys = {.layers = "num_layers|num_hidden_layers",
                                              .hidden = "hidden_size",
                                              .heads = "num_attention_heads",
                                              .kv_heads = "num_key_value_heads",
                                              .head_dim = "head_dim",
                                              .ffn = "intermediate_size",
                                              VOCABULARY};
static const struct ty_hf_keys hybrid_keys = {.layers = "num_hidden_layers",
                                              .hidden = "hidden_size",
                                              .heads = "num_attention_heads",
                                              .kv_heads = "num_key_value_heads",
                                              .ffn = "shared_intermediate_size",
                                              VOCABULARY};
static const struct ty_hf_keys lfm2_keys = {.layers = "num_hidden_layers",
                                            .hidden = "hidden_size|block_dim",
                                            .heads = "num_attention_heads|num_heads",
                                            .kv_heads = "num_key_value_heads",
                                            .ffn = "intermediate_size|block_ff_dim",
                                            VOCABULARY};
static const struct ty_hf_keys mamba_keys = {
    .layers = "num_hidden_layers", .hidden = "hidden_size", .heads = "num_heads", VOCABULARY};
static const struct ty_hf_keys zamba2_keys = {.layers = "num_hidden_layers",
                                              .hidden = "hidden_size",
                                              .heads = "num_attention_heads",
                                              .kv_heads = "num_key_value_heads",
                                              .ffn = "intermediate_size|ffn_hidden_size",
                                              VOCABULARY};
static const struct ty_hf_keys rwkv7_keys = {.layers = "num_hidden_layers",
                                             .hidden = "hidden_size",
                                             .heads = "num_hidden_layers", /* by their width */
                                             .ffn = "intermediate_size",
                                             VOCABULARY};
/* head_dim, where it is given, is the width of the position part. */
static const struct ty_hf_keys latent_keys = {.layers = "num_hidden_layers",
                                              .hidden = "hidden_size",
                                              .heads = "num_attention_heads",
                                              .head_dim = "qk_nope_head_dim",
                                              .ffn = "intermediate_size",
                                              VOCABULARY};

/* ---- keys of biases ---- */

#define BIASES(name_, ...) static const struct ty_hf_bias name_[] = {__VA_ARGS__, {NULL, 0, false}}
static const struct ty_hf_bias by_no_key[] = {{NULL, 0, false}};
/* The key may be there, but the class does not look at it. */
BIASES(by_class, {"attention_bias", 0, false});
BIASES(by_use_bias, {"use_bias", TY_BIAS_ALL, false});
BIASES(by_bias, {"bias", TY_BIAS_ALL, false});
BIASES(by_attention, {"bias", TY_BIAS_ATTENTION, false});
BIASES(by_internlm3, {"qkv_bias", TY_BIAS_QKV, false}, {"bias", TY_BIAS_PROJ | TY_BIAS_MLP, false});
BIASES(by_no_bias, {"no_bias", TY_BIAS_ALL, true});
BIASES(by_enable_bias, {"enable_bias", TY_BIAS_ALL, false});
BIASES(by_qkv, {"use_qkv_bias|qkv_bias", TY_BIAS_QKV, false});
BIASES(by_bailing, {"use_bias", TY_BIAS_ALL, false}, {"use_qkv_bias", TY_BIAS_QKV, false});
BIASES(by_glm, {"attention_bias", TY_BIAS_QKV, false});
BIASES(by_seed, {"attention_bias", TY_BIAS_QKV, false}, {"attention_out_bias", TY_BIAS_PROJ, false},
       {"mlp_bias", TY_BIAS_MLP, false});
BIASES(by_chatglm, {"add_bias_linear", TY_BIAS_ALL, false}, {"add_qkv_bias", TY_BIAS_QKV, false});

/* ---- keys of experts ---- */

#define PER_TOKEN .per_token = "num_experts_per_tok"
static const struct ty_hf_experts mixtral = {
    .experts = "num_local_experts", PER_TOKEN, .width = "intermediate_size"};
static const struct ty_hf_experts minimax = {.experts = "num_local_experts",
                                             PER_TOKEN,
                                             .width = "intermediate_size",
                                             .shared_width = "shared_intermediate_size"};
static const struct ty_hf_experts llama4 = {.experts = "num_local_experts",
                                            PER_TOKEN,
                                            .width = "intermediate_size",
                                            .shared_width = "intermediate_size"};
static const struct ty_hf_experts olmoe = {
    .experts = "num_experts", PER_TOKEN, .width = "intermediate_size"};
static const struct ty_hf_experts qwen2_moe = {.experts = "num_experts",
                                               PER_TOKEN,
                                               .width = "moe_intermediate_size",
                                               .shared_width = "shared_expert_intermediate_size",
                                               .shared_gate = true};
static const struct ty_hf_experts qwen3_moe = {
    .experts = "num_experts|num_local_experts", PER_TOKEN, .width = "moe_intermediate_size"};
static const struct ty_hf_experts bailing = {.experts = "num_experts",
                                             PER_TOKEN,
                                             .width = "moe_intermediate_size",
                                             .n_shared = "num_shared_experts"};
static const struct ty_hf_experts hunyuan = {.experts = "num_experts",
                                             .per_token = "moe_topk",
                                             .width = "moe_intermediate_size|intermediate_size",
                                             .n_shared = "num_shared_expert",
                                             .optional = true};
static const struct ty_hf_experts ernie = {.experts = "moe_num_experts",
                                           .per_token = "moe_k",
                                           .width = "moe_intermediate_size",
                                           .n_shared = "moe_num_shared_experts",
                                           .router_bias = true};
#define ROUTED                                                                                     \
    .experts = "n_routed_experts", PER_TOKEN, .width = "moe_intermediate_size",                    \
    .n_shared = "n_shared_experts"
static const struct ty_hf_experts deepseek_moe = {ROUTED, .optional = true};
static const struct ty_hf_experts deepseek = {ROUTED, .latent = true, .optional = true};
static const struct ty_hf_experts biased_router = {ROUTED, .router_bias = true, .optional = true};
static const struct ty_hf_experts glm_lite = {ROUTED, .latent = true, .router_bias = true,
                                              .optional = true};
static const struct ty_hf_experts deepseek_sparse = {ROUTED, .latent = true, .router_bias = true,
                                                     .indexed = true};
static const struct ty_hf_experts gpt_oss = {.experts = "num_local_experts",
                                             PER_TOKEN,
                                             .width = "intermediate_size",
                                             .sinks = true,
                                             .router_bias = true};
static const struct ty_hf_experts dbrx = {.experts = "ffn_config.moe_num_experts",
                                          .per_token = "ffn_config.moe_top_k",
                                          .width = "ffn_config.ffn_hidden_size"};

static const struct ty_hf_experts nemotron_h = {.experts = "n_routed_experts",
                                                PER_TOKEN,
                                                .width = "moe_intermediate_size",
                                                .n_shared = "n_shared_experts",
                                                .shared_width =
                                                    "moe_shared_expert_intermediate_size",
                                                .router_bias = true,
                                                .optional = true};

/* ---- keys of layers that differ ---- */

static const struct ty_hf_hybrid nemotron_is = {.types =
                                                    "hybrid_override_pattern|layers_block_type",
                                                .state = 'M',
                                                .alone = true,
                                                .heads = "mamba_num_heads",
                                                .head_dim = "mamba_head_dim",
                                                .groups = "n_groups",
                                                .size = "ssm_state_size",
                                                .conv = "conv_kernel"};

#define MAMBA                                                                                      \
    .heads = "mamba_n_heads", .head_dim = "mamba_d_head", .groups = "mamba_n_groups",              \
    .size = "mamba_d_state", .conv = "mamba_d_conv", .state = 'M'
static const struct ty_hf_hybrid granite_is = {.types = "layer_types|layers_block_type", MAMBA};
static const struct ty_hf_hybrid bamba_is = {.at = "attn_layer_indices", MAMBA};
static const struct ty_hf_hybrid falcon_h1_is = {.beside = true, MAMBA};
static const struct ty_hf_hybrid mamba2_is = {.state = 'M',
                                              .alone = true,
                                              .heads = "num_heads",
                                              .head_dim = "head_dim",
                                              .groups = "n_groups",
                                              .size = "state_size",
                                              .conv = "conv_kernel"};
static const struct ty_hf_hybrid qwen3_next_is = {.types = "layer_types",
                                                  .every = "full_attention_interval",
                                                  .state = 'G',
                                                  .heads = "linear_num_value_heads",
                                                  .head_dim = "linear_value_head_dim",
                                                  .groups = "linear_num_key_heads",
                                                  .size = "linear_key_head_dim",
                                                  .conv = "linear_conv_kernel_dim"};
static const struct ty_hf_hybrid kimi_linear_is = {.at = "linear_attn_config.full_attn_layers",
                                                   .from_one = true,
                                                   .state = 'K',
                                                   .heads = "linear_attn_config.num_heads",
                                                   .head_dim = "linear_attn_config.head_dim",
                                                   .size = "linear_attn_config.head_dim",
                                                   .conv =
                                                       "linear_attn_config.short_conv_kernel_size"};
static const struct ty_hf_hybrid jamba_is = {.every = "attn_layer_period",
                                             .which = "attn_layer_offset",
                                             .state = 'S',
                                             .size = "mamba_d_state",
                                             .conv = "mamba_d_conv"};
static const struct ty_hf_hybrid minimax_is = {.types = "layer_types|attn_type_list", .state = 'L'};
static const struct ty_hf_hybrid zamba2_is = {.types = "layers_block_type",
                                              .state = 'M',
                                              .alone = true,
                                              .size = "mamba_d_state|state_size",
                                              .conv = "mamba_d_conv|conv_dimension"};
static const struct ty_hf_hybrid rwkv7_is = {.state = 'R'};
static const struct ty_hf_hybrid lfm2_is = {
    .types = "layer_types", .at = "full_attn_idxs", .state = 'C', .conv = "conv_L_cache"};
static const struct ty_hf_experts kimi_linear = {.experts = "num_experts",
                                                 .per_token =
                                                     "num_experts_per_token|num_experts_per_tok",
                                                 .width = "moe_intermediate_size",
                                                 .n_shared = "num_shared_experts",
                                                 .router_bias = true,
                                                 .latent = true};
static const struct ty_hf_experts lfm2_moe = {
    .experts = "num_experts", PER_TOKEN, .width = "moe_intermediate_size", .router_bias = true};
static const struct ty_hf_experts granite_hybrid = {.experts = "num_local_experts",
                                                    PER_TOKEN,
                                                    .width = "intermediate_size",
                                                    .shared_width = "shared_intermediate_size",
                                                    .optional = true};

/* ---- what classes have ---- */

/* layers, hidden, heads, ffn, vocabulary; kv_heads, head_dim, window */
static const struct ty_hf_defaults llama_is = {32, 4096, 32, 11008, 32000, 0, 0, 0};
static const struct ty_hf_defaults mistral_is = {32, 4096, 32, 14336, 32000, 8, 0, 4096};
static const struct ty_hf_defaults mixtral_is = {32, 4096, 32, 14336, 32000, 8, 0, 0};
static const struct ty_hf_defaults gemma_is = {28, 3072, 16, 24576, 256000, 16, 256, 0};
static const struct ty_hf_defaults gemma2_is = {26, 2304, 8, 9216, 256000, 4, 256, 4096};
static const struct ty_hf_defaults gemma3_is = {26, 2304, 8, 9216, 262208, 4, 256, 4096};
static const struct ty_hf_defaults qwen2_is = {32, 4096, 32, 22016, 151936, 32, 0, 4096};
static const struct ty_hf_defaults qwen3_is = {32, 4096, 32, 22016, 151936, 32, 128, 4096};
static const struct ty_hf_defaults qwen2_moe_is = {24, 2048, 16, 5632, 151936, 16, 0, 4096};
static const struct ty_hf_defaults qwen3_moe_is = {24, 2048, 32, 6144, 151936, 4, 0, 4096};
static const struct ty_hf_defaults llama4_is = {48, 5120, 40, 8192, 202048, 8, 128, 0};
static const struct ty_hf_defaults phi3_is = {32, 3072, 32, 8192, 32064, 0, 0, 0};
static const struct ty_hf_defaults cohere_is = {40, 8192, 64, 22528, 256000, 0, 0, 0};
static const struct ty_hf_defaults cohere2_is = {40, 8192, 64, 22528, 256000, 0, 0, 4096};
static const struct ty_hf_defaults starcoder2_is = {30, 3072, 24, 12288, 49152, 2, 0, 0};
static const struct ty_hf_defaults glm_is = {40, 4096, 32, 13696, 151552, 2, 128, 0};
static const struct ty_hf_defaults glm4_moe_is = {46, 4096, 96, 10944, 151552, 8, 128, 0};
static const struct ty_hf_defaults gpt_oss_is = {36, 2880, 64, 2880, 201088, 8, 64, 128};
static const struct ty_hf_defaults stablelm_is = {32, 2560, 32, 6912, 50304, 32, 0, 0};
static const struct ty_hf_defaults olmo3_is = {32, 4096, 32, 11008, 50304, 0, 0, 4096};
static const struct ty_hf_defaults cwm_is = {64, 6144, 48, 21504, 128256, 8, 128, 8192};
static const struct ty_hf_defaults neo_is = {24, 2048, 16, 0, 50257, 0, 0, 256};
static const struct ty_hf_defaults seed_is = {64, 5120, 80, 27648, 155136, 8, 128, 0};
static const struct ty_hf_defaults qwen3_5_moe_is = {40, 2048, 16, 512, 248320, 2, 256, 0};
static const struct ty_hf_defaults dbrx_is = {.kv_heads = 1};
static const struct ty_hf_defaults smollm3_is = {36, 2048, 16, 11008, 128256, 4, 0, 0};

#define QK_HEADS   .qk_norm = true, .qk_norm_kind = TY_QK_NORM_HEAD
#define QK_WHOLE   .qk_norm = true, .qk_norm_kind = TY_QK_NORM_WHOLE
#define LAYER_NORM .layer_norm = true
#define GPT        .plain = true, LAYER_NORM, .bias = TY_BIAS_ALL, .biases = by_no_key
#define NO_ROTARY  .rotary = -1
#define PERIOD(n_) .windows = TY_HF_WINDOWS_PERIOD, .period = (n_)
#define QWEN2_SHAPE                                                                                \
    .bias = TY_BIAS_QKV, .biases = by_class, .defaults = &qwen2_is, .windows = TY_HF_WINDOWS_LATER

const struct ty_hf_family ty_hf_families[] = {
    {"llama", "Llama to 3.3, Vicuna, Yi, TinyLlama, SmolLM, DeepSeek LLM", "llama yi solar skywork",
     .defaults = &llama_is},
    {"mistral", "Mistral 7B to Large 2, Ministral, Codestral", "mistral", .defaults = &mistral_is,
     .windows = TY_HF_WINDOWS_ALL},
    {"ministral", "Ministral 2410", NULL, .defaults = &mistral_is, .windows = TY_HF_WINDOWS_ALL},
    {"ministral3", "Ministral 3", .classes = NULL, .defaults = &mixtral_is},
    {"mixtral", "Mixtral", NULL, .experts = &mixtral, .defaults = &mixtral_is,
     .windows = TY_HF_WINDOWS_ALL},
    {"Yi", "Yi in its first files", .classes = NULL},
    {"aquila", "Aquila", .classes = NULL},
    {"baichuan", "Baichuan, Baichuan 2", NULL, .special = hf_baichuan},
    {"internlm", "InternLM", NULL, .bias = TY_BIAS_ATTENTION, .biases = by_attention},
    {"internlm2", "InternLM2, 2.5", NULL, .biases = by_attention},
    {"internlm3", "InternLM3", NULL, .biases = by_internlm3},
    {"xverse", "XVERSE", .classes = NULL},
    {"orion", "Orion", NULL, LAYER_NORM},
    {"skywork", "Skywork", .classes = NULL},
    {"minicpm", "MiniCPM", NULL, .tied = true},
    {"minicpm3", "MiniCPM3", NULL, .keys = &latent_keys, .experts = &deepseek, .tied = true},
    {"helium", "Helium", .classes = NULL},
    {"smollm3", "SmolLM3", NULL, .tied = true, .defaults = &smollm3_is,
     .windows = TY_HF_WINDOWS_NONE},
    {"arcee", "AFM 4.5B", NULL, .plain = true},
    {"cwm", "Code World Model", NULL, .defaults = &cwm_is, .windows = TY_HF_WINDOWS_FIRST,
     .period = 4},
    {"seed_oss", "Seed-OSS", NULL, .bias = TY_BIAS_QKV, .biases = by_seed, .defaults = &seed_is},
    {"granite", "Granite 3 dense", .classes = NULL},
    {"granitemoe", "Granite 3 with experts", NULL, .experts = &mixtral},
    {"granitemoeshared", "Granite with shared experts", NULL, .experts = &minimax},
    {"granitemoehybrid", "Granite 4", NULL, .keys = &hybrid_keys, .experts = &granite_hybrid,
     .hybrid = &granite_is, .tied = true, .special = hf_granite_hybrid},
    {"exaone", "EXAONE 3, 3.5", NULL, .keys = &exaone_keys},
    {"exaone4", "EXAONE 4", NULL, QK_HEADS, PERIOD(4)},
    {"ernie4_5", "ERNIE 4.5 dense", NULL, .biases = by_use_bias, .tied = true, .special = hf_ernie},
    {"ernie4_5_moe", "ERNIE 4.5 with experts", NULL, .experts = &ernie, .biases = by_use_bias,
     .tied = true, .special = hf_ernie},
    {"hunyuan_v1_dense", "Hunyuan dense", "hunyuandensev1", QK_HEADS, .qk_key = "use_qk_norm",
     .qk_default = true, .special = hf_hunyuan},
    {"hunyuan_v1_moe", "Hunyuan A13B", "hunyuanmoev1", .experts = &hunyuan, QK_HEADS,
     .qk_key = "use_qk_norm", .qk_default = true, .special = hf_hunyuan},
    {"hunyuan", "Hunyuan in its first files", "hunyuan", .experts = &hunyuan, QK_HEADS,
     .qk_key = "use_qk_norm", .special = hf_hunyuan},
    {"bailing_moe", "Ling, Ring", NULL, .experts = &bailing, .biases = by_bailing, QK_HEADS,
     .qk_key = "use_qk_norm"},
    {"bailing_moe_v2", "Ling 2.0", NULL, .experts = &bailing, .biases = by_bailing, QK_HEADS,
     .qk_key = "use_qk_norm", .qk_default = true, .rotary = 0.5},

    {"qwen", "Qwen", NULL, .bias = TY_BIAS_QKV, .biases = by_no_key, .halved_ffn = true},
    {"qwen2", "Qwen1.5 to 2.5, QwQ", NULL, QWEN2_SHAPE},
    {"qwen2_vl", "the decoder of Qwen2-VL", "qwen2vl qwen2vltext", QWEN2_SHAPE},
    {"qwen2_vl_text", "the same", "qwen2vl", QWEN2_SHAPE},
    {"qwen2_5_vl", "the decoder of Qwen2.5-VL", NULL, QWEN2_SHAPE},
    {"qwen2_5_vl_text", "the same", "qwen25vl", QWEN2_SHAPE},
    {"mimo", "MiMo", NULL, QWEN2_SHAPE},
    {"qwen3", "Qwen3", NULL, QK_HEADS, .defaults = &qwen3_is, .windows = TY_HF_WINDOWS_LATER},
    {"qwen3_vl_text", "the decoder of Qwen3-VL", "qwen3vl", QK_HEADS, .defaults = &qwen3_is},
    {"qwen2_moe", "Qwen1.5-MoE, Qwen2-57B", NULL, .experts = &qwen2_moe, .bias = TY_BIAS_QKV,
     .biases = by_qkv, .defaults = &qwen2_moe_is, .windows = TY_HF_WINDOWS_LATER},
    {"qwen3_moe", "Qwen3 with experts", NULL, .experts = &qwen3_moe, QK_HEADS,
     .defaults = &qwen3_moe_is, .windows = TY_HF_WINDOWS_LATER},
    {"qwen3_next", "Qwen3-Next", NULL, .experts = &qwen2_moe, QK_HEADS, .hybrid = &qwen3_next_is,
     .rotary = 0.25, .special = hf_qwen3_next},
    {"qwen3_5_text", "Qwen3.5, 3.6", "qwen35", QK_HEADS, .hybrid = &qwen3_next_is, .rotary = 0.25,
     .special = hf_qwen3_next},
    {"qwen3_5_moe_text", "Qwen3.5, 3.6 with experts", "qwen35moe", .experts = &qwen2_moe, QK_HEADS,
     .hybrid = &qwen3_next_is, .rotary = 0.25, .defaults = &qwen3_5_moe_is,
     .special = hf_qwen3_next},
    {"qwen3_vl_moe_text", "the decoder of Qwen3-VL with experts", "qwen3vlmoe",
     .experts = &qwen3_moe, QK_HEADS, .defaults = &qwen3_moe_is},

    {"gemma", "Gemma", NULL, .tied = true, .defaults = &gemma_is},
    {"gemma2", "Gemma 2", NULL, .tied = true, .norms = 4, .defaults = &gemma2_is, PERIOD(2)},
    {"gemma3_text", "Gemma 3", "gemma3", .tied = true, .norms = 4, QK_HEADS, .defaults = &gemma3_is,
     PERIOD(6)},

    {"phi", "Phi-1 to 2", NULL, GPT, .parallel = true, .head_bias = true, .rotary = 0.5,
     .qk_norm = true, .qk_norm_kind = TY_QK_NORM_LAYER, .qk_key = "qk_layernorm",
     .dropout = "resid_pdrop"},
    {"phi3", "Phi-3, Phi-4", NULL, .biases = by_no_key, .defaults = &phi3_is,
     .windows = TY_HF_WINDOWS_ALL, .dropout = "resid_pdrop"},
    {"phimoe", "Phi-3.5-MoE", NULL, .experts = &mixtral, LAYER_NORM, .windows = TY_HF_WINDOWS_ALL,
     .special = hf_phimoe},

    {"chatglm", "ChatGLM2, ChatGLM3, GLM-4 in its first files", NULL, .keys = &chatglm_keys,
     .biases = by_chatglm, .rotary = 0.5, .special = hf_chatglm},
    {"glm", "GLM-4", NULL, .bias = TY_BIAS_QKV, .biases = by_glm, .rotary = 0.5,
     .defaults = &glm_is},
    {"glm4", "GLM-4-0414, GLM-Z1", NULL, .biases = by_glm, .norms = 4, .rotary = 0.5,
     .defaults = &glm_is},
    {"glm4v_text", "the decoder of GLM-4.1V", "glm4v", .bias = TY_BIAS_QKV, .biases = by_class,
     .norms = 4, .rotary = 0.5, .defaults = &glm_is},
    {"glm4_moe", "GLM-4.5 to 4.7", NULL, .experts = &biased_router, .biases = by_glm, .rotary = 0.5,
     QK_HEADS, .qk_key = "use_qk_norm", .defaults = &glm4_moe_is},
    {"glm4v_moe_text", "the decoder of GLM-4.5V", "glm4vmoe", .experts = &biased_router,
     .bias = TY_BIAS_QKV, .biases = by_glm, .rotary = 0.5, .defaults = &glm4_moe_is},
    {"glm4_moe_lite", "GLM-4.7-Flash", NULL, .keys = &latent_keys, .experts = &glm_lite},

    {"deepseek", "DeepSeekMoE", NULL, .experts = &deepseek_moe},
    {"deepseek_v2", "DeepSeek-V2", NULL, .keys = &latent_keys, .experts = &deepseek},
    {"deepseek_v3", "DeepSeek-V3, R1", NULL, .keys = &latent_keys, .experts = &deepseek},
    {"deepseek_v32", "DeepSeek-V3.2", NULL, .keys = &latent_keys, .experts = &deepseek_sparse},
    {"glm_moe_dsa", "GLM-5", NULL, .keys = &latent_keys, .experts = &deepseek_sparse},
    {"kimi_k2", "Kimi K2", "kimik2 deepseekv3", .keys = &latent_keys, .experts = &deepseek},
    {"kimi_linear", "Kimi Linear", NULL, .keys = &latent_keys, .experts = &kimi_linear,
     .hybrid = &kimi_linear_is, NO_ROTARY, .special = hf_kimi_linear},
    {"dots1", "dots.llm1", NULL, .experts = &biased_router, QK_HEADS},
    {"gpt_oss", "gpt-oss", NULL, .experts = &gpt_oss, .bias = TY_BIAS_ALL, .defaults = &gpt_oss_is,
     PERIOD(2)},
    {"llama4_text", "Llama 4", "llama4", .experts = &llama4, .qk_norm = true,
     .qk_norm_kind = TY_QK_NORM_PLAIN, .qk_key = "use_qk_norm", .qk_default = true,
     .defaults = &llama4_is, .special = hf_llama4},
    {"minimax_m2", "MiniMax-M2", NULL, .experts = &minimax, QK_WHOLE, .qk_key = "use_qk_norm",
     .qk_default = true, .special = hf_minimax},
    {"minimax", "MiniMax-01", NULL, .experts = &minimax, .hybrid = &minimax_is,
     .special = hf_minimax_linear},
    {"minimax_text_01", "MiniMax-01 in its first files", "minimaxtext01", .experts = &minimax,
     .hybrid = &minimax_is, .special = hf_minimax_linear},
    {"minimax_m1", "MiniMax-M1", NULL, .experts = &minimax, .hybrid = &minimax_is,
     .special = hf_minimax_linear},
    {"dbrx", "DBRX", NULL, .keys = &dbrx_keys, .experts = &dbrx, .norm_kind = TY_NORM_LAYER_SCALE,
     .defaults = &dbrx_is},
    {"grok-1", "Grok-1", "grok1", .experts = &olmoe, .norms = 4, .tied = true},

    {"olmo", "OLMo", NULL, .norm_kind = TY_NORM_LAYER_PLAIN},
    {"olmo2", "OLMo 2", NULL, QK_WHOLE},
    {"olmo3", "OLMo 3", NULL, QK_WHOLE, .defaults = &olmo3_is, PERIOD(4)},
    {"olmoe", "OLMoE", NULL, .experts = &olmoe, QK_WHOLE},

    {"cohere", "Command R, Aya 23", NULL, .norm_kind = TY_NORM_LAYER_SCALE, .parallel = true,
     .tied = true, QK_WHOLE, .qk_key = "use_qk_norm", .defaults = &cohere_is, .special = hf_cohere},
    {"cohere2", "Command R7B, Command A", NULL, .norm_kind = TY_NORM_LAYER_SCALE, .parallel = true,
     .tied = true, .defaults = &cohere2_is, PERIOD(4), .special = hf_cohere},
    {"starcoder2", "StarCoder 2", NULL, .plain = true, LAYER_NORM, .bias = TY_BIAS_ALL,
     .biases = by_use_bias, .tied = true, .defaults = &starcoder2_is, .windows = TY_HF_WINDOWS_ALL,
     .dropout = "residual_dropout"},
    {"nemotron", "Nemotron-4, Minitron", NULL, .plain = true, LAYER_NORM, .rotary = 0.5},
    {"nemotron_h", "Nemotron-H, Nemotron Nano 2, Nemotron 3", NULL, .plain = true,
     .experts = &nemotron_h, .hybrid = &nemotron_is, NO_ROTARY},
    {"bamba", "Bamba", NULL, .hybrid = &bamba_is, .rotary = 0.5},
    {"falcon_h1", "Falcon-H1", "falconh1", .hybrid = &falcon_h1_is, .special = hf_falcon_h1},
    {"mamba2", "Mamba-2", NULL, .keys = &mamba_keys, .plain = true, .hybrid = &mamba2_is,
     .biases = by_no_key, .tied = true, NO_ROTARY},
    {"zamba2", "Zamba2", NULL, .keys = &zamba2_keys, .hybrid = &zamba2_is, .biases = by_no_key,
     .tied = true, .special = hf_zamba2},
    {"rwkv7", "RWKV-7", NULL, .keys = &rwkv7_keys, .plain = true, LAYER_NORM, .hybrid = &rwkv7_is,
     .biases = by_no_key, NO_ROTARY, .special = hf_rwkv7},
    {"jamba", "Jamba", NULL, .experts = &olmoe, .hybrid = &jamba_is, NO_ROTARY,
     .special = hf_jamba},
    {"lfm2", "LFM2", NULL, .keys = &lfm2_keys, .hybrid = &lfm2_is, QK_HEADS, .tied = true,
     .special = hf_lfm2},
    {"lfm2_moe", "LFM2 with experts", NULL, .keys = &lfm2_keys, .experts = &lfm2_moe,
     .hybrid = &lfm2_is, QK_HEADS, .tied = true, .special = hf_lfm2},
    {"persimmon", "Persimmon", NULL, GPT, .rotary = 0.5, .qk_norm = true,
     .qk_norm_kind = TY_QK_NORM_LAYER, .qk_key = "qk_layernorm", .qk_default = true,
     .dropout = "hidden_dropout"},
    {"stablelm", "Stable LM, Stable LM 2", "stablelm stablelmepoch", LAYER_NORM, .biases = by_qkv,
     .rotary = 0.25, QK_WHOLE, .qk_key = "qk_layernorm", .defaults = &stablelm_is,
     .dropout = "hidden_dropout", .special = hf_stablelm},
    {"stablelm_epoch", "the same in its first files", "stablelmepoch stablelm", LAYER_NORM,
     .biases = by_qkv, .rotary = 0.25},

    {"gpt2", "GPT-2, Cerebras-GPT", NULL, .keys = &gpt2_keys, GPT, .tied = true,
     .positions = "n_positions", .dropout = "resid_pdrop", .dropout_is = "0.1", .special = hf_gpt2},
    {"gpt_bigcode", "SantaCoder, StarCoder", NULL, .keys = &gpt2_keys, GPT, .tied = true,
     .positions = "n_positions", .dropout = "resid_pdrop", .dropout_is = "0.1",
     .special = hf_bigcode},
    {"gptj", "GPT-J", NULL, .keys = &gpt2_keys, .plain = true, LAYER_NORM, .bias = TY_BIAS_MLP,
     .biases = by_no_key, .parallel = true, .head_bias = true, .dropout = "resid_pdrop"},
    {"codegen", "CodeGen", NULL, .keys = &gpt2_keys, .plain = true, LAYER_NORM, .bias = TY_BIAS_MLP,
     .biases = by_no_key, .parallel = true, .head_bias = true, .dropout = "resid_pdrop"},
    {"gpt_neo", "GPT-Neo", NULL, .keys = &neo_keys, .plain = true, LAYER_NORM,
     .bias = TY_BIAS_OUTPUTS, .biases = by_no_key, .tied = true, .defaults = &neo_is,
     .windows = TY_HF_WINDOWS_FIRST, .period = 2, .positions = "max_position_embeddings",
     .dropout = "resid_dropout"},
    {"gpt_neox", "GPT-NeoX, Pythia, Dolly", NULL, .plain = true, LAYER_NORM, .bias = TY_BIAS_ALL,
     .rotary = 0.25, .dropout = "hidden_dropout", .special = hf_neox},
    {"bloom", "BLOOM", NULL, .keys = &bloom_keys, GPT, .tied = true, .embedding_norm = true,
     NO_ROTARY, .dropout = "hidden_dropout"},
    {"opt", "OPT, Galactica", NULL, .keys = &opt_keys, .plain = true, LAYER_NORM,
     .bias = TY_BIAS_ALL, .biases = by_enable_bias, .tied = true,
     .positions = "max_position_embeddings", .more = 2, .dropout = "dropout", .dropout_is = "0.1",
     .special = hf_opt},
    {"falcon", "Falcon", "falcon rw", .keys = &falcon_keys, .plain = true, LAYER_NORM,
     .biases = by_bias, .tied = true, .dropout = "hidden_dropout", .special = hf_falcon},
    {"RefinedWebModel", "Falcon 7B in its first files", "rw", .keys = &falcon_keys, .plain = true,
     LAYER_NORM, .biases = by_bias, .tied = true, .dropout = "hidden_dropout",
     .special = hf_falcon},
    {"RefinedWeb", "Falcon 40B in its first files", "rw", .keys = &falcon_keys, .plain = true,
     LAYER_NORM, .biases = by_bias, .tied = true, .dropout = "hidden_dropout",
     .special = hf_refined_web},
    {"mpt", "MPT", NULL, .keys = &mpt_keys, .plain = true, .biases = by_no_bias, .tied = true,
     .dropout = "resid_pdrop", .special = hf_mpt},
    {"jais", "Jais", NULL, .keys = &gpt2_keys, .bias = TY_BIAS_ALL, .biases = by_no_key, LAYER_NORM,
     .tied = true, .positions = "n_positions", .dropout = "resid_pdrop", .special = hf_jais},
    {"xglm", "XGLM", NULL, .keys = &xglm_keys, GPT, .tied = true, NO_ROTARY, .dropout = "dropout",
     .dropout_is = "0.1"},
    {"biogpt", "BioGPT", NULL, GPT, .tied = true, .positions = "max_position_embeddings", .more = 2,
     .dropout = "hidden_dropout_prob", .dropout_is = "0.1"},
    {.model_type = NULL},
};
