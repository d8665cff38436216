/* torchtitan_flavors.c - models that torchtitan has in Python, of which a file only says name and
 * flavor.
 *
 * Sources: Llama 3 8B to 405B, Qwen3 32B, DeepSeek-V3 16B and 671B are in notes on 238fa995
 * (February 2026); Qwen3 0.6B and 30B-A3B, DeepSeek-V2 (236B), Llama 4 Scout and gpt-oss 20b have
 * the sizes of their config.json, and names from memory; all the rest is from memory, and told so.
 * Inner widths of Llama follow from dim: roundup(int(m int(2/3 4 dim)), multiple_of). */
#include "sim/emit/torchtitan_flavors.h"

#include <stddef.h>

#define SHAPE(layers, hidden, heads, kv_heads, ffn)                                                \
    "layers: " #layers "\nhidden: " #hidden "\nheads: " #heads "\nkv_heads: " #kv_heads            \
    "\nffn: " #ffn "\n"
#define GATED       "mlp: swiglu\nnorm_kind: rmsnorm\nbias: false\n"
#define LLAMA       "tied: false\n" GATED
#define LLAMA2      "vocabulary: 32000\n" LLAMA
#define LLAMA3      "vocabulary: 128256\n" LLAMA
#define QWEN3(tied) "vocabulary: 151936\nhead_dim: 128\nqk_norm: true\ntied: " #tied "\n" GATED
#define EXPERTS(n, per_token, width)                                                               \
    "experts: " #n "\nexperts_per_token: " #per_token "\nexpert_ffn: " #width "\n"
#define LATENT "kv_latent: 512\nhead_dim: 128\nhead_rope: 64\nhead_value: 128\n" LLAMA
#define GPT_OSS                                                                                    \
    "vocabulary: 201088\nhead_dim: 64\nwindow: 128\nwindow_period: 2\nsinks: true\n"               \
    "router_bias: true\nmlp: swiglu\nnorm_kind: rmsnorm\nbias: true\ntied: false\n"

#define SEEN   ""
#define MEMORY ", from memory"

const struct ty_titan_flavor ty_titan_flavors[] = {
    {"llama2", "7B", MEMORY, SHAPE(32, 4096, 32, 32, 11008) LLAMA2},
    {"llama2", "13B", MEMORY, SHAPE(40, 5120, 40, 40, 13824) LLAMA2},
    {"llama2", "26B", MEMORY, SHAPE(80, 5120, 40, 40, 13824) LLAMA2},
    {"llama2", "70B", MEMORY, SHAPE(80, 8192, 64, 8, 28672) LLAMA2},
    {"llama3", "debugmodel", MEMORY, SHAPE(6, 256, 16, 16, 768) "vocabulary: 2048\n" LLAMA},
    {"llama3", "8B", SEEN, SHAPE(32, 4096, 32, 8, 14336) LLAMA3},
    {"llama3", "70B", SEEN, SHAPE(80, 8192, 64, 8, 28672) LLAMA3},
    {"llama3", "405B", SEEN, SHAPE(126, 16384, 128, 8, 53248) LLAMA3},
    {"qwen3", "0.6B", SEEN, SHAPE(28, 1024, 16, 8, 3072) QWEN3(true)},
    {"qwen3", "1.7B", MEMORY, SHAPE(28, 2048, 16, 8, 6144) QWEN3(true)},
    {"qwen3", "4B", MEMORY, SHAPE(36, 2560, 32, 8, 9728) QWEN3(true)},
    {"qwen3", "8B", MEMORY, SHAPE(36, 4096, 32, 8, 12288) QWEN3(false)},
    {"qwen3", "14B", MEMORY, SHAPE(40, 5120, 40, 8, 17408) QWEN3(false)},
    {"qwen3", "32B", SEEN, SHAPE(64, 5120, 64, 8, 25600) QWEN3(false)},
    {"qwen3", "30B-A3B", SEEN, SHAPE(48, 2048, 32, 4, 6144) EXPERTS(128, 8, 768) QWEN3(false)},
    {"qwen3", "235B-A22B", MEMORY,
     SHAPE(94, 4096, 64, 4, 12288) EXPERTS(128, 8, 1536) QWEN3(false)},
    {"deepseek_v3", "16B", SEEN,
     SHAPE(27, 2048, 16, 16,
           10944) "vocabulary: 102400\ndense_layers: 1\nshared_ffn: 2816\n" EXPERTS(64, 6, 1408)
         LATENT},
    {"deepseek_v3", "236B", SEEN,
     SHAPE(60, 5120, 128, 128,
           12288) "vocabulary: 102400\ndense_layers: 1\nshared_ffn: 3072\n"
                  "query_latent: 1536\nexpert_groups: 8\ngroup_limit: 3\n" EXPERTS(160, 6, 1536)
                      LATENT},
    {"deepseek_v3", "671B", SEEN,
     SHAPE(
         61, 7168, 128, 128,
         18432) "vocabulary: 129280\ndense_layers: 3\nshared_ffn: 2048\n"
                "query_latent: 1536\nexpert_groups: 8\ngroup_limit: 4\nrouter_bias: true\n" EXPERTS(
                    256, 8, 2048) LATENT},
    {"llama4", "17bx16e", SEEN,
     SHAPE(48, 5120, 40, 8, 16384) "vocabulary: 202048\nshared_ffn: 8192\n" EXPERTS(16, 1, 8192)
         LLAMA},
    /* experts in every second layer, from the second on */
    {"llama4", "17bx128e", MEMORY,
     SHAPE(48, 5120, 40, 8,
           16384) "vocabulary: 202048\nshared_ffn: 8192\ndense_layers: 1\nmlp_layers: [2, 4, 6, "
                  "8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 42, 44, "
                  "46]\n" EXPERTS(128, 1, 8192) LLAMA},
    {"gpt_oss", "20b", SEEN, SHAPE(24, 2880, 64, 8, 2880) EXPERTS(32, 4, 2880) GPT_OSS},
    {"gpt_oss", "120b", MEMORY, SHAPE(36, 2880, 64, 8, 2880) EXPERTS(128, 4, 2880) GPT_OSS},
    {NULL, NULL, NULL, NULL},
};
