/* families_sparse.h - decoders with experts, or latent attention: rows of families.h. */
#ifndef TY_TESTS_FAMILIES_SPARSE_H
#define TY_TESTS_FAMILIES_SPARSE_H

#include "tests/unit/model/families.h"

static const struct family_row sparse_families[] = {
    /* mixtures of experts */
    ROW("Mixtral 8x7B", mixtral, 32, 4096, 32, 8, 128, 14336, 32000,
        ", \"num_local_experts\": 8, \"num_experts_per_tok\": 2", EXACT(46702792704), .experts = 8,
        .width = 14336),
    ROW("Mixtral 8x22B", mixtral, 56, 6144, 48, 8, 128, 16384, 32768,
        ", \"num_local_experts\": 8, \"num_experts_per_tok\": 2", ABOUT(140.6e9), .experts = 8,
        .width = 16384),
    ROW("Qwen1.5-MoE A2.7B", qwen2_moe, 24, 2048, 16, 16, 128, 5632, 151936,
        ", \"num_experts\": 60, \"num_experts_per_tok\": 4, \"moe_intermediate_size\": 1408, "
        "\"shared_expert_intermediate_size\": 5632",
        EXACT(14315784192), .qkv_bias = 1, .experts = 60, .width = 1408, .shared = 5632, .gate = 1),
    ROW("Qwen2 57B-A14B", qwen2_moe, 28, 3584, 28, 4, 128, 18944, 151936,
        ", \"num_experts\": 64, \"num_experts_per_tok\": 8, \"moe_intermediate_size\": 2560, "
        "\"shared_expert_intermediate_size\": 20480",
        ABOUT(57.4e9), .qkv_bias = 1, .experts = 64, .width = 2560, .shared = 20480, .gate = 1),
    ROW("Qwen3 30B-A3B", qwen3_moe, 48, 2048, 32, 4, 128, 6144, 151936,
        ", \"head_dim\": 128, \"num_experts\": 128, \"num_experts_per_tok\": 8, "
        "\"moe_intermediate_size\": 768",
        EXACT(30532122624), .qk_head = 1, .experts = 128, .width = 768),
    ROW("Qwen3 235B-A22B", qwen3_moe, 94, 4096, 64, 4, 128, 12288, 151936,
        ", \"head_dim\": 128, \"num_experts\": 128, \"num_experts_per_tok\": 8, "
        "\"moe_intermediate_size\": 1536",
        EXACT(235093634560), .qk_head = 1, .experts = 128, .width = 1536),
    ROW("Phi-3.5-MoE", phimoe, 32, 4096, 32, 8, 128, 6400, 32064,
        ", \"num_local_experts\": 16, \"num_experts_per_tok\": 2, \"attention_bias\": true, "
        "\"lm_head_bias\": true",
        EXACT(41873153344), .shifts = 1, .attention_bias = 1, .head_bias = 1, .experts = 16,
        .width = 6400),
    ROW("OLMoE 1B-7B", olmoe, 16, 2048, 16, 16, 128, 1024, 50304,
        ", \"num_experts\": 64, \"num_experts_per_tok\": 8", EXACT(6919161856), .qk_whole = 1,
        .experts = 64, .width = 1024),
    ROW("gpt-oss 20B", gpt_oss, 24, 2880, 64, 8, 64, 2880, 201088,
        ", \"num_local_experts\": 32, \"num_experts_per_tok\": 4", EXACT(20914757184),
        .attention_bias = 1, .mlp_bias = 1, .sinks = 1, .router_bias = 1, .experts = 32,
        .width = 2880),
    ROW("gpt-oss 120B", gpt_oss, 36, 2880, 64, 8, 64, 2880, 201088,
        ", \"num_local_experts\": 128, \"num_experts_per_tok\": 4", EXACT(116829156672),
        .attention_bias = 1, .mlp_bias = 1, .sinks = 1, .router_bias = 1, .experts = 128,
        .width = 2880),
    ROW("MiniMax-M2", minimax_m2, 62, 3072, 48, 8, 128, 1536, 200064,
        ", \"head_dim\": 128, \"num_local_experts\": 256, \"num_experts_per_tok\": 8, "
        "\"use_routing_bias\": true, \"use_qk_norm\": true",
        EXACT(228689764864), .qk_whole = 1, .router_bias = 1, .experts = 256, .width = 1536),
    {"Grok-1",
     "{\"model_type\": \"grok-1\", \"num_hidden_layers\": 64, \"hidden_size\": 6144, "
     "\"num_attention_heads\": 48, \"num_key_value_heads\": 8, \"intermediate_size\": 32768, "
     "\"vocab_size\": 131072, \"num_experts\": 8, \"num_experts_per_tok\": 2}",
     {64, 6144, 48, 8, 128, 32768, 131072, .tied = 1, .norms = 4, .experts = 8, .width = 32768},
     ABOUT(315e9)},
    ROW("Granite 3.0 1B-A400M", granitemoe, 24, 1024, 16, 8, 64, 512, 49155,
        ", \"tie_word_embeddings\": true, \"num_local_experts\": 32, \"num_experts_per_tok\": 8",
        ABOUT(1.33e9), .tied = 1, .experts = 32, .width = 512),
    ROW("ERNIE 4.5 21B-A3B", ernie4_5_moe, 28, 2560, 20, 4, 128, 12288, 103424,
        ", \"moe_num_experts\": 64, \"moe_k\": 6, \"moe_intermediate_size\": 1536, "
        "\"moe_num_shared_experts\": 2, \"moe_layer_start_index\": 1, \"moe_layer_end_index\": 27, "
        "\"moe_layer_interval\": 1",
        ABOUT(21.8e9), .tied = 1, .experts = 64, .width = 1536, .shared = 3072, .router_bias = 1,
        .dense = 1),
    ROW("Hunyuan A13B", hunyuan_v1_moe, 32, 4096, 32, 8, 128, 3072, 128167,
        ", \"head_dim\": 128, \"tie_word_embeddings\": true, \"num_experts\": 64, \"n_group\": "
        "false, \"moe_topk\": [8, 8], \"num_shared_expert\": [1, 1], \"moe_intermediate_size\": "
        "[3072, 3072]",
        EXACT(80393183232), .tied = 1, .qk_head = 1, .experts = 64, .width = 3072, .shared = 3072),
    ROW("Ling-lite", bailing_moe, 28, 2048, 16, 4, 128, 5632, 126464,
        ", \"num_experts\": 64, \"num_experts_per_tok\": 6, \"moe_intermediate_size\": 1408, "
        "\"num_shared_experts\": 2",
        ABOUT(16.8e9), .experts = 64, .width = 1408, .shared = 2816),
    ROW("Ling-mini 2.0", bailing_moe_v2, 20, 2048, 16, 4, 128, 5120, 157184,
        ", \"head_dim\": 128, \"num_experts\": 256, \"num_experts_per_tok\": 8, "
        "\"moe_intermediate_size\": 512, \"num_shared_experts\": 1, \"first_k_dense_replace\": 1, "
        "\"use_qk_norm\": true, \"moe_router_enable_expert_bias\": true",
        ABOUT(16.26e9), .qk_head = 1, .experts = 256, .width = 512, .shared = 512, .dense = 1,
        .router_bias = 1),
    ROW("DeepSeekMoE 16B", deepseek, 28, 2048, 16, 16, 128, 10944, 102400,
        ", \"n_routed_experts\": 64, \"n_shared_experts\": 2, \"num_experts_per_tok\": 6, "
        "\"moe_intermediate_size\": 1408, \"first_k_dense_replace\": 1, \"moe_layer_freq\": 1",
        EXACT(16375728128), .experts = 64, .width = 1408, .shared = 2816, .dense = 1),
    ROW("dots.llm1", dots1, 62, 4096, 32, 32, 128, 10944, 152064,
        ", \"n_routed_experts\": 128, \"n_shared_experts\": 2, \"num_experts_per_tok\": 6, "
        "\"moe_intermediate_size\": 1408, \"first_k_dense_replace\": 1",
        EXACT(142774381696), .qk_head = 1, .experts = 128, .width = 1408, .shared = 2816,
        .dense = 1, .router_bias = 1),
    ROW("GLM-4.5-Air", glm4_moe, 46, 4096, 96, 8, 128, 10944, 151552,
        ", \"attention_bias\": true, \"use_qk_norm\": false, \"n_routed_experts\": 128, "
        "\"n_shared_experts\": 1, \"num_experts_per_tok\": 8, \"moe_intermediate_size\": 1408, "
        "\"first_k_dense_replace\": 1",
        ABOUT(107e9), .qkv_bias = 1, .experts = 128, .width = 1408, .shared = 1408, .dense = 1,
        .router_bias = 1),
    ROW("GLM-4.5", glm4_moe, 92, 5120, 96, 8, 128, 12288, 151552,
        ", \"attention_bias\": true, \"use_qk_norm\": true, \"n_routed_experts\": 160, "
        "\"n_shared_experts\": 1, \"num_experts_per_tok\": 8, \"moe_intermediate_size\": 1536, "
        "\"first_k_dense_replace\": 3",
        ABOUT(355e9), .qkv_bias = 1, .qk_head = 1, .experts = 160, .width = 1536, .shared = 1536,
        .dense = 3, .router_bias = 1),
    {"Llama 4 Maverick",
     "{\"model_type\": \"llama4\", \"text_config\": {\"model_type\": \"llama4_text\", "
     "\"num_local_experts\": 128, \"num_experts_per_tok\": 1, \"interleave_moe_layer_step\": 2, "
     "\"intermediate_size\": 8192, \"intermediate_size_mlp\": 16384}}",
     {48, 5120, 40, 8, 128, 16384, 202048, .experts = 128, .width = 8192, .shared = 8192,
      .dense = 24},
     ABOUT(400e9)},
    {"Llama 4 Scout",
     "{\"model_type\": \"llama4\", \"text_config\": {\"model_type\": \"llama4_text\", "
     "\"num_local_experts\": 16, \"num_experts_per_tok\": 1, \"interleave_moe_layer_step\": 1, "
     "\"intermediate_size\": 8192}}",
     {48, 5120, 40, 8, 128, 16384, 202048, .experts = 16, .width = 8192, .shared = 8192},
     EXACT(107769861120)},
    {"DBRX",
     "{\"model_type\": \"dbrx\", \"n_layers\": 40, \"d_model\": 6144, \"n_heads\": 48, "
     "\"vocab_size\": 100352, \"attn_config\": {\"kv_n_heads\": 8}, \"ffn_config\": "
     "{\"ffn_hidden_size\": 10752, \"moe_num_experts\": 16, \"moe_top_k\": 4}}",
     {40, 6144, 48, 8, 128, 10752, 100352, .experts = 16, .width = 10752},
     EXACT(131596523520)},
    /* latent attention */
    ROW("MiniCPM3 4B", minicpm3, 62, 2560, 40, 40, 64, 6400, 73448,
        ", \"kv_lora_rank\": 256, \"q_lora_rank\": 768, \"qk_nope_head_dim\": 64, "
        "\"qk_rope_head_dim\": 32",
        ABOUT(4.07e9), LATENT(768, 256, 32, 64), .tied = 1),
    ROW("DeepSeek-V2-Lite", deepseek_v2, 27, 2048, 16, 16, 128, 10944, 102400,
        ", \"kv_lora_rank\": 512, \"q_lora_rank\": null, \"qk_nope_head_dim\": 128, "
        "\"qk_rope_head_dim\": 64, \"v_head_dim\": 128, \"n_routed_experts\": 64, "
        "\"n_shared_experts\": 2, \"num_experts_per_tok\": 6, \"moe_intermediate_size\": 1408, "
        "\"first_k_dense_replace\": 1",
        EXACT(15706484224), LATENT(0, 512, 64, 128), .experts = 64, .width = 1408, .shared = 2816,
        .dense = 1),
    ROW("DeepSeek-V2", deepseek_v2, 60, 5120, 128, 128, 128, 12288, 102400,
        ", \"kv_lora_rank\": 512, \"q_lora_rank\": 1536, \"qk_nope_head_dim\": 128, "
        "\"qk_rope_head_dim\": 64, \"v_head_dim\": 128, \"n_routed_experts\": 160, "
        "\"n_shared_experts\": 2, \"num_experts_per_tok\": 6, \"moe_intermediate_size\": 1536, "
        "\"first_k_dense_replace\": 1",
        EXACT(235741434880), LATENT(1536, 512, 64, 128), .experts = 160, .width = 1536,
        .shared = 3072, .dense = 1),
    ROW("DeepSeek-V3", deepseek_v3, 61, 7168, 128, 128, 128, 18432, 129280,
        ", \"kv_lora_rank\": 512, \"q_lora_rank\": 1536, \"qk_nope_head_dim\": 128, "
        "\"qk_rope_head_dim\": 64, \"v_head_dim\": 128, \"topk_method\": \"noaux_tc\", "
        "\"n_routed_experts\": 256, \"n_shared_experts\": 1, \"num_experts_per_tok\": 8, "
        "\"moe_intermediate_size\": 2048, \"first_k_dense_replace\": 3",
        EXACT(671026419200), LATENT(1536, 512, 64, 128), .experts = 256, .width = 2048,
        .shared = 2048, .dense = 3, .router_bias = 1),
    ROW("Kimi K2", kimi_k2, 61, 7168, 64, 64, 128, 18432, 163840,
        ", \"kv_lora_rank\": 512, \"q_lora_rank\": 1536, \"qk_nope_head_dim\": 128, "
        "\"qk_rope_head_dim\": 64, \"v_head_dim\": 128, \"architectures\": "
        "[\"DeepseekV3ForCausalLM\"], \"topk_method\": \"noaux_tc\", \"n_routed_experts\": 384, "
        "\"n_shared_experts\": 1, \"num_experts_per_tok\": 8, \"moe_intermediate_size\": 2048, "
        "\"first_k_dense_replace\": 1",
        EXACT(1026408232448), LATENT(1536, 512, 64, 128), .experts = 384, .width = 2048,
        .shared = 2048, .dense = 1, .router_bias = 1),
    ROW("GLM-4.7-Flash", glm4_moe_lite, 47, 2048, 20, 20, 192, 10240, 154880,
        ", \"kv_lora_rank\": 512, \"q_lora_rank\": 768, \"qk_nope_head_dim\": 192, "
        "\"qk_rope_head_dim\": 64, \"v_head_dim\": 256, \"n_routed_experts\": 64, "
        "\"n_shared_experts\": 1, \"num_experts_per_tok\": 4, \"moe_intermediate_size\": 1536, "
        "\"first_k_dense_replace\": 1",
        ABOUT(30e9), LATENT(768, 512, 64, 256), .experts = 64, .width = 1536, .shared = 1536,
        .dense = 1, .router_bias = 1),
};

#endif
