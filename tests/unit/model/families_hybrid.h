/* families_hybrid.h - decoders with layers of several kinds: a config.json each, and how many
 * parameters its checkpoint or its authors say. Read by test_families.c. */
#ifndef TY_TESTS_FAMILIES_HYBRID_H
#define TY_TESTS_FAMILIES_HYBRID_H

#include "tests/unit/model/families.h"

struct hybrid_row {
    const char *name, *json;
    double published, tolerance;
};
#define JSON(...) #__VA_ARGS__

/* What the files of Nemotron-H have in common. */
#define NEMOTRON(layers_, hidden_, heads_, kv_, ffn_, mamba_, width_, pattern_, ...)               \
    JSON({                                                                                         \
        "model_type" : "nemotron_h",                                                               \
        "vocab_size" : 131072,                                                                     \
        "head_dim" : 128,                                                                          \
        "conv_kernel" : 4,                                                                         \
        "ssm_state_size" : 128,                                                                    \
        "n_groups" : 8,                                                                            \
        "chunk_size" : 128,                                                                        \
        "num_hidden_layers" : layers_,                                                             \
        "hidden_size" : hidden_,                                                                   \
        "num_attention_heads" : heads_,                                                            \
        "num_key_value_heads" : kv_,                                                               \
        "intermediate_size" : ffn_,                                                                \
        "mamba_num_heads" : mamba_,                                                                \
        "mamba_head_dim" : width_,                                                                 \
        "hybrid_override_pattern" : pattern_,                                                      \
        __VA_ARGS__                                                                                \
    })

/* The same of those with latent attention and an indexer. */
#define INDEXED(type_, layers_, hidden_, heads_, ffn_, words_, query_, nope_, index_, value_, ...) \
    JSON({                                                                                         \
        "model_type" : type_,                                                                      \
        "num_hidden_layers" : layers_,                                                             \
        "hidden_size" : hidden_,                                                                   \
        "num_attention_heads" : heads_,                                                            \
        "intermediate_size" : ffn_,                                                                \
        "vocab_size" : words_,                                                                     \
        "q_lora_rank" : query_,                                                                    \
        "kv_lora_rank" : 512,                                                                      \
        "qk_nope_head_dim" : nope_,                                                                \
        "qk_rope_head_dim" : 64,                                                                   \
        "v_head_dim" : value_,                                                                     \
        "index_head_dim" : 128,                                                                    \
        "index_n_heads" : index_,                                                                  \
        "index_topk" : 2048,                                                                       \
        "first_k_dense_replace" : 3,                                                               \
        "moe_intermediate_size" : 2048,                                                            \
        "n_routed_experts" : 256,                                                                  \
        "n_shared_experts" : 1,                                                                    \
        "num_experts_per_tok" : 8,                                                                 \
        "num_nextn_predict_layers" : 1,                                                            \
        "topk_method" : "noaux_tc",                                                                \
        __VA_ARGS__                                                                                \
    })
#define NO_EXPERTS "n_routed_experts" : 0

/* Goose World 3: fla-hub/rwkv7-1.5B-world, config.json; counts of Peng et al. 2025, table 1. */
#define RWKV7(layers_, hidden_, ffn_, decay_, value_, gate_)                                       \
    JSON({                                                                                         \
        "model_type" : "rwkv7",                                                                    \
        "attn" : null,                                                                             \
        "num_heads" : null,                                                                        \
        "head_dim" : 64,                                                                           \
        "norm_first" : true,                                                                       \
        "vocab_size" : 65536,                                                                      \
        "num_hidden_layers" : layers_,                                                             \
        "hidden_size" : hidden_,                                                                   \
        "intermediate_size" : ffn_,                                                                \
        "a_low_rank_dim" : decay_,                                                                 \
        "decay_low_rank_dim" : decay_,                                                             \
        "v_low_rank_dim" : value_,                                                                 \
        "gate_low_rank_dim" : gate_                                                                \
    })

/* Sizes of Kimi Linear, MiniMax-Text-01 and LFM2 1.2B are those of their config.json on the hub; of
 * LFM2 8B-A1B those of its class in transformers, and its list of layers is from memory. */
static const struct hybrid_row hybrid_families[] = {
    {"RWKV-7 0.1B", RWKV7(12, 768, 3072, 64, 32, 128), EXACT(191034624)},
    {"RWKV-7 0.4B", RWKV7(24, 1024, 4096, 64, 32, 128), EXACT(450767872)},
    {"RWKV-7 1.5B", RWKV7(24, 2048, 8192, 96, 64, 256), EXACT(1527404544)},
    {"RWKV-7 2.9B", RWKV7(32, 2560, 10240, 96, 64, 320), EXACT(2947735040)},
    {"Nemotron-H 8B",
     NEMOTRON(52, 4096, 32, 8, 21504, 128, 64,
              "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-", NO_EXPERTS),
     EXACT(8100852736)},
    {"Nemotron Nano 9B v2",
     NEMOTRON(56, 4480, 40, 8, 15680, 128, 80,
              "M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-", NO_EXPERTS),
     ABOUT(8.89e9)},
    {"Nemotron 3 Nano",
     NEMOTRON(52, 2688, 32, 2, 1856, 64, 64, "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
              "n_routed_experts" : 128, "num_experts_per_tok" : 6, "moe_intermediate_size" : 1856,
              "n_shared_experts" : 1, "moe_shared_expert_intermediate_size" : 3712),
     EXACT(31577940288)},
    {"Nemotron 3 Super", /* 120 without its module for a second token */
     NEMOTRON(
         88, 4096, 32, 2, 2688, 128, 64,
         "MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME",
         "n_routed_experts" : 512, "num_experts_per_tok" : 22, "moe_intermediate_size" : 2688,
         "n_shared_experts" : 1, "moe_shared_expert_intermediate_size" : 5376,
         "moe_latent_size" : 1024),
     120e9, 0.01},
    {"Qwen3-Next 80B-A3B", /* 79.67 without the module for a second token */
     JSON({
         "model_type" : "qwen3_next",
         "num_hidden_layers" : 48,
         "hidden_size" : 2048,
         "num_attention_heads" : 16,
         "num_key_value_heads" : 2,
         "head_dim" : 256,
         "intermediate_size" : 5120,
         "vocab_size" : 151936,
         "partial_rotary_factor" : 0.25,
         "full_attention_interval" : 4,
         "linear_num_value_heads" : 32,
         "linear_num_key_heads" : 16,
         "linear_key_head_dim" : 128,
         "linear_value_head_dim" : 128,
         "linear_conv_kernel_dim" : 4,
         "num_experts" : 512,
         "num_experts_per_tok" : 10,
         "moe_intermediate_size" : 512,
         "shared_expert_intermediate_size" : 512
     }),
     80e9, 0.005},
    {"Bamba 9B", JSON({
         "model_type" : "bamba",
         "num_hidden_layers" : 32,
         "hidden_size" : 4096,
         "num_attention_heads" : 32,
         "num_key_value_heads" : 8,
         "intermediate_size" : 14336,
         "vocab_size" : 128256,
         "attn_layer_indices" : [ 9, 18, 27 ],
         "mamba_n_heads" : 128,
         "mamba_d_head" : 64,
         "mamba_n_groups" : 1,
         "mamba_d_state" : 128,
         "mamba_d_conv" : 4
     }),
     9.78e9, 0.001},
    {"Falcon-H1 7B", JSON({
         "model_type" : "falcon_h1",
         "num_hidden_layers" : 44,
         "hidden_size" : 3072,
         "num_attention_heads" : 12,
         "num_key_value_heads" : 2,
         "head_dim" : 128,
         "intermediate_size" : 12288,
         "vocab_size" : 130048,
         "mamba_n_heads" : 24,
         "mamba_d_head" : 128,
         "mamba_n_groups" : 1,
         "mamba_d_state" : 256,
         "mamba_d_conv" : 4
     }),
     7.59e9, 0.002},
    {"Mamba-2 2.7B", JSON({
         "model_type" : "mamba2",
         "num_hidden_layers" : 64,
         "hidden_size" : 2560,
         "vocab_size" : 50288,
         "num_heads" : 80,
         "head_dim" : 64,
         "n_groups" : 1,
         "state_size" : 128,
         "conv_kernel" : 4
     }),
     2.7e9, 0.002},
    {"Kimi Linear 48B-A3B", /* 49 on the model card's page */
     JSON({
         "model_type" : "kimi_linear",
         "num_hidden_layers" : 27,
         "hidden_size" : 2304,
         "num_attention_heads" : 32,
         "num_key_value_heads" : 32,
         "head_dim" : 72,
         "intermediate_size" : 9216,
         "vocab_size" : 163840,
         "q_lora_rank" : null,
         "kv_lora_rank" : 512,
         "qk_nope_head_dim" : 128,
         "qk_rope_head_dim" : 64,
         "v_head_dim" : 128,
         "mla_use_nope" : true,
         "first_k_dense_replace" : 1,
         "num_experts" : 256,
         "num_experts_per_token" : 8,
         "num_shared_experts" : 1,
         "moe_intermediate_size" : 1024,
         "linear_attn_config" : {
             "full_attn_layers" : [ 4, 8, 12, 16, 20, 24, 27 ],
             "kda_layers" :
                 [ 1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 17, 18, 19, 21, 22, 23, 25, 26 ],
             "head_dim" : 128,
             "num_heads" : 32,
             "short_conv_kernel_size" : 4
         }
     }),
     49e9, 0.005},
    {"Jamba v0.1", JSON({
         "model_type" : "jamba",
         "num_hidden_layers" : 32,
         "hidden_size" : 4096,
         "num_attention_heads" : 32,
         "num_key_value_heads" : 8,
         "intermediate_size" : 14336,
         "vocab_size" : 65536,
         "attn_layer_offset" : 4,
         "attn_layer_period" : 8,
         "expert_layer_offset" : 1,
         "expert_layer_period" : 2,
         "num_experts" : 16,
         "num_experts_per_tok" : 2,
         "mamba_d_conv" : 4,
         "mamba_d_state" : 16,
         "mamba_dt_rank" : 256,
         "mamba_expand" : 2,
         "mamba_conv_bias" : true,
         "mamba_proj_bias" : false
     }),
     52e9, 0.01},
    {"MiniMax-Text-01", JSON({
         "model_type" : "minimax_text_01",
         "num_hidden_layers" : 80,
         "hidden_size" : 6144,
         "num_attention_heads" : 64,
         "num_key_value_heads" : 8,
         "head_dim" : 128,
         "intermediate_size" : 9216,
         "vocab_size" : 200064,
         "num_local_experts" : 32,
         "num_experts_per_tok" : 2,
         "shared_intermediate_size" : 0,
         "rotary_dim" : 64,
         "postnorm" : true,
         "attn_type_list" : [
             0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0,
             0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0,
             0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1
         ]
     }),
     456e9, 0.002},
    {"LFM2 1.2B", JSON({
         "model_type" : "lfm2",
         "num_hidden_layers" : 16,
         "hidden_size" : 2048,
         "num_attention_heads" : 32,
         "num_key_value_heads" : 8,
         "vocab_size" : 65536,
         "block_ff_dim" : 12288,
         "block_auto_adjust_ff_dim" : true,
         "block_multiple_of" : 256,
         "conv_L_cache" : 3,
         "full_attn_idxs" : [ 2, 5, 8, 10, 12, 14 ]
     }),
     1.17e9, 0.002},
    {"LFM2 8B-A1B", JSON({
         "model_type" : "lfm2_moe",
         "num_hidden_layers" : 24,
         "hidden_size" : 2048,
         "num_attention_heads" : 32,
         "num_key_value_heads" : 8,
         "vocab_size" : 65536,
         "intermediate_size" : 7168,
         "moe_intermediate_size" : 1792,
         "num_dense_layers" : 2,
         "num_experts" : 32,
         "num_experts_per_tok" : 4,
         "use_expert_bias" : true,
         "conv_L_cache" : 3,
         "layer_types" : [
             "conv", "conv",           "full_attention", "conv",
             "conv", "conv",           "full_attention", "conv",
             "conv", "conv",           "full_attention", "conv",
             "conv", "conv",           "full_attention", "conv",
             "conv", "conv",           "full_attention", "conv",
             "conv", "full_attention", "conv",           "conv"
         ]
     }),
     8.34e9, 0.005},
    {"Qwen3.5 35B-A3B", /* its decoder */
     JSON({
         "model_type" : "qwen3_5_moe",
         "text_config" : {
             "model_type" : "qwen3_5_moe_text",
             "num_hidden_layers" : 40,
             "hidden_size" : 2048,
             "num_attention_heads" : 16,
             "num_key_value_heads" : 2,
             "head_dim" : 256,
             "vocab_size" : 248320,
             "full_attention_interval" : 4,
             "linear_num_value_heads" : 32,
             "linear_num_key_heads" : 16,
             "linear_key_head_dim" : 128,
             "linear_value_head_dim" : 128,
             "linear_conv_kernel_dim" : 4,
             "num_experts" : 256,
             "num_experts_per_tok" : 8,
             "moe_intermediate_size" : 512,
             "shared_expert_intermediate_size" : 512
         }
     }),
     35e9, 0.012},
    {"DeepSeek-V3.2", /* the model card counts weights and scales */
     INDEXED("deepseek_v32", 61, 7168, 128, 18432, 129280, 1536, 128, 64, 128, "n_group" : 8,
             "topk_group" : 4),
     685e9, 0.005},
    {"GLM-5",
     INDEXED("glm_moe_dsa", 78, 6144, 64, 12288, 154880, 2048, 192, 32, 256, "n_group" : 1,
             "topk_group" : 1, "qk_head_dim" : 256, "indexer_rope_interleave"
             : true),
     754e9, 0.002}, /* 744 without the module for a second token */
    /* 2.7B and 7B: what bf16 checkpoints of 5.32 and 14.71 GB hold */
    {"Zamba2 1.2B", JSON({
         "model_type" : "zamba2",
         "num_hidden_layers" : 38,
         "hidden_size" : 2048,
         "num_attention_heads" : 32,
         "num_key_value_heads" : 32,
         "vocab_size" : 32000,
         "num_mem_blocks" : 1,
         "mamba_headdim" : 64,
         "mamba_ngroups" : 1,
         "ffn_hidden_size" : 8192,
         "lora_rank" : 128,
         "state_size" : 128,
         "conv_dimension" : 4,
         "use_shared_attention_lora" : true,
         "layers_block_type" : [
             "m", "m", "m", "m", "m", "g", "m", "m", "m", "m", "m", "g", "m",
             "m", "m", "m", "m", "g", "m", "m", "m", "m", "m", "g", "m", "m",
             "m", "m", "m", "g", "m", "m", "m", "m", "m", "g", "m", "m"
         ]
     }),
     EXACT(1215064704)},
    {"Zamba2 2.7B", JSON({
         "model_type" : "zamba2",
         "num_hidden_layers" : 54,
         "hidden_size" : 2560,
         "num_attention_heads" : 32,
         "num_key_value_heads" : 32,
         "vocab_size" : 32000,
         "num_mem_blocks" : 2,
         "mamba_headdim" : 64,
         "mamba_ngroups" : 1,
         "intermediate_size" : 10240,
         "adapter_rank" : 128,
         "mamba_d_state" : 64,
         "mamba_d_conv" : 4,
         "layers_block_type" : [
             "mamba",  "mamba", "mamba",  "mamba",  "mamba",  "mamba", "hybrid", "mamba",
             "mamba",  "mamba", "mamba",  "mamba",  "hybrid", "mamba", "mamba",  "mamba",
             "mamba",  "mamba", "hybrid", "mamba",  "mamba",  "mamba", "mamba",  "mamba",
             "hybrid", "mamba", "mamba",  "mamba",  "mamba",  "mamba", "hybrid", "mamba",
             "mamba",  "mamba", "mamba",  "mamba",  "hybrid", "mamba", "mamba",  "mamba",
             "mamba",  "mamba", "hybrid", "mamba",  "mamba",  "mamba", "mamba",  "hybrid",
             "mamba",  "mamba", "mamba",  "hybrid", "mamba",  "mamba"
         ]
     }),
     EXACT(2662214560)},
    {"Zamba2 7B", JSON({
         "model_type" : "zamba2",
         "num_hidden_layers" : 81,
         "hidden_size" : 3584,
         "num_attention_heads" : 32,
         "num_key_value_heads" : 32,
         "vocab_size" : 32000,
         "num_mem_blocks" : 2,
         "mamba_headdim" : 64,
         "mamba_ngroups" : 2,
         "ffn_hidden_size" : 14336,
         "lora_rank" : 128,
         "state_size" : 64,
         "conv_dimension" : 4,
         "use_shared_attention_lora" : false,
         "layers_block_type" : [
             "m", "m", "m", "m", "m", "m", "g", "m", "m", "m", "m", "g", "m", "m", "m", "m", "m",
             "g", "m", "m", "m", "m", "m", "g", "m", "m", "m", "m", "m", "g", "m", "m", "m", "m",
             "m", "g", "m", "m", "m", "m", "m", "g", "m", "m", "m", "m", "m", "g", "m", "m", "m",
             "m", "m", "g", "m", "m", "m", "m", "m", "g", "m", "m", "m", "m", "m", "g", "m", "m",
             "m", "m", "m", "g", "m", "m", "m", "m", "m", "g", "m", "m", "m"
         ]
     }),
     EXACT(7356749648)},
    {"Granite 4.0 H Tiny", JSON({
         "model_type" : "granitemoehybrid",
         "num_hidden_layers" : 10,
         "hidden_size" : 1536,
         "num_attention_heads" : 12,
         "num_key_value_heads" : 4,
         "intermediate_size" : 512,
         "shared_intermediate_size" : 1024,
         "vocab_size" : 100352,
         "num_local_experts" : 64,
         "num_experts_per_tok" : 6,
         "mamba_n_heads" : 48,
         "mamba_d_head" : 64,
         "mamba_n_groups" : 1,
         "mamba_d_state" : 128,
         "mamba_d_conv" : 4,
         "layer_types" : [
             "mamba", "mamba", "mamba", "mamba", "mamba", "attention", "mamba", "mamba", "mamba",
             "mamba"
         ]
     }),
     (6.94e9 - 100352 * 1536.0) / 4 + 100352 * 1536.0, 0.003}, /* a quarter of its layers */
};

#endif
