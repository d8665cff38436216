/* arch_presets.c - published models: a row each.
 *
 * `published` is the parameter count the source states, `tolerance` the rounding of that figure:
 * the test suite counts the parameters of every row. */
#include "model/arch.h"

#include <stddef.h>

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

#define SHAPE(layers, hidden, heads) "layers: " #layers "\nhidden: " #hidden "\nheads: " #heads "\n"

const struct ty_preset ty_arch_presets[] = {
    {"gpt3-125m", "GPT-3 Small", GPT3_SOURCE, SHAPE(12, 768, 12) GPT3, 125e6, 0.01},
    {"gpt3-350m", "GPT-3 Medium", GPT3_SOURCE, SHAPE(24, 1024, 16) GPT3, 350e6, 0.02},
    {"gpt3-760m", "GPT-3 Large", GPT3_SOURCE, SHAPE(24, 1536, 16) GPT3, 760e6, 0.01},
    {"gpt3-1.3b", "GPT-3 XL",
     GPT3_SOURCE "; 16 heads of 128, since the 24 printed there do not make a width of 2048",
     SHAPE(24, 2048, 16) GPT3, 1.3e9, 0.02},
    {"gpt3-2.7b", "GPT-3 2.7B", GPT3_SOURCE, SHAPE(32, 2560, 32) GPT3, 2.7e9, 0.02},
    {"gpt3-6.7b", "GPT-3 6.7B", GPT3_SOURCE, SHAPE(32, 4096, 32) GPT3, 6.7e9, 0.01},
    {"gpt3-13b", "GPT-3 13B",
     GPT3_SOURCE "; width 5120 = 40 heads of 128, since the 5140 printed there is not",
     SHAPE(40, 5120, 40) GPT3, 13e9, 0.02},
    {"gpt3-175b", "GPT-3 175B", GPT3_SOURCE, SHAPE(96, 12288, 96) GPT3, 175e9, 0.005},

    {"megatron-22b", "Megatron-LM GPT, 22B", MEGATRON_SOURCE, SHAPE(48, 6144, 64) MEGATRON, 22e9,
     0.005},
    {"megatron-175b", "Megatron-LM GPT, shape of GPT-3", MEGATRON_SOURCE,
     SHAPE(96, 12288, 96) MEGATRON, 175e9, 0.005},
    {"megatron-530b", "Megatron-Turing NLG", MEGATRON_SOURCE, SHAPE(105, 20480, 128) MEGATRON,
     530e9, 0.005},
    {"megatron-1t", "Megatron-LM GPT, one trillion", MEGATRON_SOURCE,
     SHAPE(128, 25600, 160) MEGATRON, 1e12, 0.01},

    {"llama-7b", "LLaMA 7B", LLAMA_SOURCE, SHAPE(32, 4096, 32) "ffn: 11008\n" LLAMA, 6.7e9, 0.01},
    {"llama-13b", "LLaMA 13B", LLAMA_SOURCE, SHAPE(40, 5120, 40) "ffn: 13824\n" LLAMA, 13.0e9,
     0.005},
    {"llama-30b", "LLaMA 33B, often called 30B", LLAMA_SOURCE,
     SHAPE(60, 6656, 52) "ffn: 17920\n" LLAMA, 32.5e9, 0.005},
    {"llama-65b", "LLaMA 65B", LLAMA_SOURCE, SHAPE(80, 8192, 64) "ffn: 22016\n" LLAMA, 65.2e9,
     0.005},
    {"llama2-70b", "Llama 2 70B", LLAMA2_SOURCE,
     SHAPE(80, 8192, 64) "kv_heads: 8\nffn: 28672\n" LLAMA2, 69e9, 0.001},
    {"llama3-8b", "Llama 3 8B", LLAMA3_SOURCE,
     SHAPE(32, 4096, 32) "kv_heads: 8\nffn: 14336\n" LLAMA3, 8.03e9, 0.001},
    {"llama3-70b", "Llama 3 70B", LLAMA3_SOURCE,
     SHAPE(80, 8192, 64) "kv_heads: 8\nffn: 28672\n" LLAMA3, 70.6e9, 0.001},
    {"llama3-405b", "Llama 3.1 405B", LLAMA3_SOURCE,
     SHAPE(126, 16384, 128) "kv_heads: 8\nffn: 53248\n" LLAMA3, 405.9e9, 0.001},
    {.name = NULL},
};
