/* arch_presets.c - published models: a row each.
 *
 * `published` is the parameter count the source states, `tolerance` the rounding of that figure:
 * the test suite counts the parameters of every row. */
#include "model/arch.h"

#include <stddef.h>

#define SHAPE(layers, hidden, heads) "layers: " #layers "\nhidden: " #hidden "\nheads: " #heads "\n"

/* Brown et al. 2020, table 2.1, vocabulary and context of section 2.1; the output matrix is the
 * embedding matrix (Radford et al. 2019). */
#define GPT3                                                                                       \
    "vocabulary: 50257\nsequence: 2048\npositions: 2048\n"                                         \
    "mlp: gelu\nnorm_kind: layernorm\nbias: true\ntied: true\n"
#define GPT3_SOURCE "Brown et al. 2020, table 2.1"

/* Korthikanti et al. 2022, table 3 and section 6; dropout as their activation formulas count it,
 * fused softmax as in the Megatron-LM of that year. */
#define MEGATRON                                                                                   \
    "vocabulary: 51200\nsequence: 2048\npositions: 2048\n"                                         \
    "mlp: gelu\nnorm_kind: layernorm\nbias: true\ntied: true\n"                                    \
    "dropout: 0.1\nattention: fused-softmax\n"
#define MEGATRON_SOURCE "Korthikanti et al. 2022, table 3"

#define LLAMA_BLOCK   "mlp: swiglu\nnorm_kind: rmsnorm\nbias: false\ntied: false\n"
#define LLAMA         "vocabulary: 32000\nsequence: 2048\n" LLAMA_BLOCK
#define LLAMA2        "vocabulary: 32000\nsequence: 4096\n" LLAMA_BLOCK
#define LLAMA3        "vocabulary: 128256\nsequence: 8192\n" LLAMA_BLOCK
#define LLAMA_SOURCE  "Touvron et al. 2023a, table 2; meta-llama/llama"
#define LLAMA2_SOURCE "Touvron et al. 2023b; parameters counted in the released checkpoint"
#define LLAMA3_SOURCE "Grattafiori et al. 2024, table 3; parameters counted in the checkpoints"

/* Mixtures of experts. Sequences are those that publications about their training time use. The
 * width of an expert is ffn where no layer is dense. */
#define SPARSE_WITH(norm, bias)                                                                    \
    "sequence: 4096\nmlp: swiglu\nnorm_kind: " norm "\nbias: " bias "\ntied: false\n"
#define SPARSE SPARSE_WITH("rmsnorm", "false")
#define EXPERTS(n, per_token, width)                                                               \
    "experts: " #n "\nexperts_per_token: " #per_token "\nexpert_ffn: " #width "\n"
#define MIXTRAL_SOURCE "Jiang et al. 2024; mistralai's config.json"
/* Heads of 128 and a position part of 64; DeepSeek-V2-Lite has no latent of queries. */
#define LATENT   "kv_latent: 512\nhead_dim: 128\nhead_rope: 64\nhead_value: 128\n"
#define DEEPSEEK "query_latent: 1536\n" LATENT SPARSE
#define DEEPSEEK_V3                                                                                \
    SHAPE(61, 7168, 128)                                                                           \
    "ffn: 18432\ndense_layers: 3\nshared_ffn: 2048\nvocabulary: 129280\nexpert_groups: 8\n"        \
    "group_limit: 4\nrouter_bias: true\n" EXPERTS(256, 8, 2048) DEEPSEEK
/* An indexer of so many heads, and the keys that it chooses. */
#define INDEX(heads) "index_topk: 2048\nindex_heads: " #heads "\nindex_head_dim: 128\n"
#define QWEN3        "vocabulary: 151936\nhead_dim: 128\nkv_heads: 4\nqk_norm: true\n" SPARSE
#define QWEN_SOURCE  "config.json and documentation of the released checkpoint"
/* Every other layer has a window; biases are everywhere, in experts and router, too. */
#define GPT_OSS                                                                                    \
    "kv_heads: 8\nhead_dim: 64\nvocabulary: 201088\nsequence: 4096\nwindow: 128\n"                 \
    "window_period: 2\nsinks: true\nexpert_clamp: true\nrotary_scaled: true\n"                     \
    "router_bias: true\nmlp: swiglu\nnorm_kind: rmsnorm\nbias: true\ntied: false\n"
#define GPT_OSS_SOURCE "OpenAI 2025, arXiv 2508.10925, table 1; config.json"

/* A block a layer, no positions; an MLP of two matrices (squared ReLU costs what GELU does). */
#define NEMOTRON_H                                                                                 \
    "head_dim: 128\nvocabulary: 131072\nsequence: 8192\nrotary: 0\nmlp: gelu\n"                    \
    "norm_kind: rmsnorm\nbias: false\ntied: false\n"
#define STATE(heads, width, groups, size)                                                          \
    "state_heads: " #heads "\nstate_head_dim: " #width "\nstate_groups: " #groups                  \
    "\nstate_size: " #size "\nstate_conv: 4\n"
#define NEMOTRON_SOURCE "NVIDIA 2025, arXiv 2504.03624, table 1; config.json"

const struct ty_preset ty_arch_presets[] = {
    {"gpt3-125m", "GPT-3 Small", GPT3_SOURCE, SHAPE(12, 768, 12) GPT3, 125e6, 0.01, NULL},
    {"gpt3-350m", "GPT-3 Medium", GPT3_SOURCE, SHAPE(24, 1024, 16) GPT3, 350e6, 0.02, NULL},
    {"gpt3-760m", "GPT-3 Large", GPT3_SOURCE, SHAPE(24, 1536, 16) GPT3, 760e6, 0.01, NULL},
    {"gpt3-1.3b", "GPT-3 XL",
     GPT3_SOURCE "; 16 heads of 128, since the 24 printed there do not make a width of 2048",
     SHAPE(24, 2048, 16) GPT3, 1.3e9, 0.02, NULL},
    {"gpt3-2.7b", "GPT-3 2.7B", GPT3_SOURCE, SHAPE(32, 2560, 32) GPT3, 2.7e9, 0.02, NULL},
    {"gpt3-6.7b", "GPT-3 6.7B", GPT3_SOURCE, SHAPE(32, 4096, 32) GPT3, 6.7e9, 0.01, NULL},
    {"gpt3-13b", "GPT-3 13B",
     GPT3_SOURCE "; width 5120 = 40 heads of 128, since the 5140 printed there is not",
     SHAPE(40, 5120, 40) GPT3, 13e9, 0.02, NULL},
    {"gpt3-175b", "GPT-3 175B", GPT3_SOURCE, SHAPE(96, 12288, 96) GPT3, 175e9, 0.005, NULL},

    {"megatron-22b", "Megatron-LM GPT, 22B", MEGATRON_SOURCE, SHAPE(48, 6144, 64) MEGATRON, 22e9,
     0.005, NULL},
    {"megatron-175b", "Megatron-LM GPT, shape of GPT-3", MEGATRON_SOURCE,
     SHAPE(96, 12288, 96) MEGATRON, 175e9, 0.005, NULL},
    {"megatron-530b", "Megatron-Turing NLG", MEGATRON_SOURCE, SHAPE(105, 20480, 128) MEGATRON,
     530e9, 0.005, NULL},
    {"megatron-1t", "Megatron-LM GPT, one trillion", MEGATRON_SOURCE,
     SHAPE(128, 25600, 160) MEGATRON, 1e12, 0.01, NULL},

    {"llama-7b", "LLaMA 7B", LLAMA_SOURCE, SHAPE(32, 4096, 32) "ffn: 11008\n" LLAMA, 6.7e9, 0.01,
     NULL},
    {"llama-13b", "LLaMA 13B", LLAMA_SOURCE, SHAPE(40, 5120, 40) "ffn: 13824\n" LLAMA, 13.0e9,
     0.005, NULL},
    {"llama-30b", "LLaMA 33B, often called 30B", LLAMA_SOURCE,
     SHAPE(60, 6656, 52) "ffn: 17920\n" LLAMA, 32.5e9, 0.005, NULL},
    {"llama-65b", "LLaMA 65B", LLAMA_SOURCE, SHAPE(80, 8192, 64) "ffn: 22016\n" LLAMA, 65.2e9,
     0.005, NULL},
    {"llama2-70b", "Llama 2 70B", LLAMA2_SOURCE,
     SHAPE(80, 8192, 64) "kv_heads: 8\nffn: 28672\n" LLAMA2, 69e9, 0.001, NULL},
    {"llama3-8b", "Llama 3 8B", LLAMA3_SOURCE,
     SHAPE(32, 4096, 32) "kv_heads: 8\nffn: 14336\n" LLAMA3, 8.03e9, 0.001, NULL},
    {"llama3-70b", "Llama 3 70B", LLAMA3_SOURCE,
     SHAPE(80, 8192, 64) "kv_heads: 8\nffn: 28672\n" LLAMA3, 70.6e9, 0.001, NULL},
    {"llama3-405b", "Llama 3.1 405B", LLAMA3_SOURCE,
     SHAPE(126, 16384, 128) "kv_heads: 8\nffn: 53248\n" LLAMA3, 405.9e9, 0.001, NULL},

    {"mixtral-8x7b", "Mixtral 8x7B", MIXTRAL_SOURCE,
     SHAPE(32, 4096, 32) "kv_heads: 8\nffn: 14336\nvocabulary: 32000\n" EXPERTS(8, 2, 14336) SPARSE,
     46.7e9, 0.001, NULL},
    {"mixtral-8x22b", "Mixtral 8x22B", MIXTRAL_SOURCE,
     SHAPE(56, 6144, 48) "kv_heads: 8\nffn: 16384\nvocabulary: 32768\n" EXPERTS(8, 2, 16384) SPARSE,
     140.6e9, 0.001, NULL},
    {"deepseek-v2", "DeepSeek-V2", "DeepSeek-AI 2024, arXiv 2405.04434, section 3.1.2; config.json",
     SHAPE(60, 5120, 128) "ffn: 12288\ndense_layers: 1\nshared_ffn: 3072\nvocabulary: 102400\n"
                          "expert_groups: 8\ngroup_limit: 3\n" EXPERTS(160, 6, 1536) DEEPSEEK,
     236e9, 0.002, NULL},
    {"deepseek-v2-lite", "DeepSeek-V2-Lite",
     "DeepSeek-AI 2024, arXiv 2405.04434, appendix B; config.json",
     SHAPE(27, 2048,
           16) "ffn: 10944\ndense_layers: 1\nshared_ffn: 2816\nvocabulary: 102400\n" EXPERTS(64, 6,
                                                                                             1408)
         LATENT SPARSE,
     15.7e9, 0.001, NULL},
    {"deepseek-v3", "DeepSeek-V3, without the module that predicts a second token (mtp: 1)",
     "DeepSeek-AI 2024, arXiv 2412.19437, section 4.2; config.json", DEEPSEEK_V3, 671e9, 0.001,
     NULL},
    {"deepseek-v3.2", "DeepSeek-V3.2, with the module that predicts a second token",
     "DeepSeek-AI 2025, arXiv 2512.02556; config.json; parameters as published",
     DEEPSEEK_V3 "mtp: 1\n" INDEX(64), 685e9, 0.005, NULL},
    {"glm-5", "GLM-5", "Zhipu AI 2026; config.json and documentation of the released checkpoint",
     SHAPE(78, 6144, 64) "ffn: 12288\ndense_layers: 3\nshared_ffn: 2048\nvocabulary: 154880\n"
                         "router_bias: true\nquery_latent: 2048\nkv_latent: 512\nhead_dim: 192\n"
                         "head_rope: 64\nhead_value: 256\n" INDEX(32) EXPERTS(256, 8, 2048) SPARSE,
     744e9, 0.005, NULL},
    {"kimi-k2", "Kimi K2",
     "Moonshot AI 2025; config.json, whose shape has 1.3 % less than the 1.04e12 that are "
     "published",
     SHAPE(61, 7168, 64) "ffn: 18432\ndense_layers: 1\nshared_ffn: 2048\nvocabulary: 163840\n"
                         "router_bias: true\n" EXPERTS(384, 8, 2048) DEEPSEEK,
     1.04e12, 0.014, NULL},
    {"qwen2-57b-a14b", "Qwen2 57B-A14B", QWEN_SOURCE,
     SHAPE(28, 3584, 28) "kv_heads: 4\nffn: 18944\nvocabulary: 151936\nshared_ffn: 20480\n"
                         "shared_gate: true\n" EXPERTS(64, 8, 2560) SPARSE_WITH("rmsnorm", "qkv"),
     57.4e9, 0.001, NULL},
    {"qwen3-30b-a3b", "Qwen3 30B-A3B", QWEN_SOURCE,
     SHAPE(48, 2048, 32) "ffn: 6144\n" EXPERTS(128, 8, 768) QWEN3, 30.5e9, 0.002, NULL},
    {"qwen3-235b-a22b", "Qwen3 235B-A22B", QWEN_SOURCE,
     SHAPE(94, 4096, 64) "ffn: 12288\n" EXPERTS(128, 8, 1536) QWEN3, 235e9, 0.001, NULL},
    {"gpt-oss-20b", "gpt-oss-20b", GPT_OSS_SOURCE,
     SHAPE(24, 2880, 64) "ffn: 2880\n" EXPERTS(32, 4, 2880) GPT_OSS, 20.91e9, 0.001, NULL},
    {"gpt-oss-120b", "gpt-oss-120b", GPT_OSS_SOURCE,
     SHAPE(36, 2880, 64) "ffn: 2880\n" EXPERTS(128, 4, 2880) GPT_OSS, 116.83e9, 0.001, NULL},
    {"dbrx", "DBRX", "Databricks 2024; databricks/dbrx-base config.json",
     SHAPE(40, 6144, 48) "kv_heads: 8\nffn: 10752\nvocabulary: 100352\n" EXPERTS(16, 4, 10752)
         SPARSE_WITH("layernorm-scale", "false"),
     132e9, 0.004, NULL},
    {"olmoe-1b-7b", "OLMoE 1B-7B", "Muennighoff et al. 2024, arXiv 2409.02060; config.json",
     SHAPE(16, 2048,
           16) "ffn: 1024\nvocabulary: 50304\nqk_norm: true\nqk_norm_kind: whole\n" EXPERTS(64, 8,
                                                                                            1024)
         SPARSE,
     6.9e9, 0.005, NULL},
    {"nemotron-h-8b", "Nemotron-H 8B", NEMOTRON_SOURCE,
     SHAPE(52, 4096, 32)
         NEMOTRON_H STATE(128, 64, 8, 128) "kv_heads: 8\nffn: 21504\nlayer_pattern: "
                                           "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-\n",
     8.1e9, 0.01, NULL},
    {"nemotron-h-56b", "Nemotron-H 56B", NEMOTRON_SOURCE,
     SHAPE(118, 8192, 64) NEMOTRON_H STATE(
         256, 64, 8, 256) "kv_heads: 8\nffn: 32768\nlayer_pattern: "
                          "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M"
                          "-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-\n",
     56e9, 0.02, NULL},
    {"nemotron-3-nano", "Nemotron 3 Nano 30B-A3B",
     "NVIDIA 2025, arXiv 2512.20848, table 1; config.json",
     SHAPE(52, 2688, 32) NEMOTRON_H STATE(64, 64, 8, 128) EXPERTS(
         128, 6, 1856) "kv_heads: 2\nffn: 1856\nshared_ffn: 3712\nrouter_bias: true\n"
                       "layer_pattern: MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME\n",
     31.6e9, 0.002, NULL},
    {"nemotron-3-super", "Nemotron 3 Super 120B-A12B, without its module for a second token",
     "NVIDIA 2026; config.json and page of the released checkpoint",
     SHAPE(88, 4096, 32) NEMOTRON_H STATE(128, 64, 8, 128) EXPERTS(
         512, 22, 2688) "kv_heads: 2\nffn: 2688\nshared_ffn: 5376\nexpert_latent: 1024\n"
                        "router_bias: true\nlayer_pattern: MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*"
                        "EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME\n",
     120e9, 0.01, NULL},
    {"zamba2-2.7b", "Zamba2 2.7B; a shared block is two layers, of attention and of an MLP",
     "Zyphra 2024, arXiv 2411.15242; config.json; parameters as in the checkpoint",
     SHAPE(72, 2560,
           32) "vocabulary: 32000\nsequence: 4096\nmlp: swiglu\nnorm_kind: rmsnorm\nbias: "
               "false\n" STATE(80, 64, 1, 64) "head_dim: 160\nffn: 10240\nrotary: 0\ntied: true\n"
                                              "shared_blocks: 2\nshared_rank: 128\nlayer_pattern: "
                                              "MMMMMM*-MMMMMM*-MMMMMM*-MMMMMM*-MMMM"
                                              "MM*-MMMMMM*-MMMMMM*-MMMMM*-MMMM*-MMM\n",
     2662214560, 1e-9, NULL},
    {"rwkv7-2.9b", "RWKV-7 World 2.9B", "Peng et al. 2025, arXiv 2503.14456, table 1; config.json",
     SHAPE(32, 2560,
           40) "state_heads: 40\nstate_head_dim: 64\nstate_size: 64\nffn: 10240\nvocabulary: "
               "65536\nsequence: 4096\nnorm_kind: layernorm\nmlp: gelu\n"
               "bias: false\nembedding_norm: true\nrotary: 0\ntied: false\nstate_rank: 576\n"
               "first_rank: 64\nlayer_pattern: R- R-\n",
     2947735040, 1e-9, NULL},
    {.name = NULL},
};
