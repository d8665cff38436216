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
#define NO_EXPERTS "n_routed_experts" : 0

static const struct hybrid_row hybrid_families[] = {
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
};

#endif
