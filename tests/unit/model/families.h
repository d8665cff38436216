/* families.h - decoders in use as rows: a config.json, the published shape, and how many parameters
 * are published. Sources: config.json and number of parameters of the released checkpoints on the
 * Hugging Face hub; ABOUT are figures of papers and model cards, which round. */
#ifndef TY_TESTS_FAMILIES_H
#define TY_TESTS_FAMILIES_H

#include <stdint.h>

/* A decoder in the words of its paper. Unless it says else: gated MLP, an RMSNorm before each of
 * two blocks, no bias, an output matrix of its own. */
struct facts {
    uint64_t layers, hidden, heads, kv_heads, head_dim, ffn, vocabulary;
    uint64_t plain, halved; /* the MLP has no gate; its width counts both halves */
    uint64_t qkv_bias, proj_bias, mlp_bias, attention_bias, head_bias;
    uint64_t shifts, norms, embedding_norm; /* of norms; so many norms a layer; one more */
    uint64_t qk_head, qk_whole; /* vectors for q and for k: a head wide, and of all heads */
    uint64_t tied, positions, sinks;
    uint64_t experts, width, shared, dense, gate, router_bias;
    uint64_t q_rank, kv_rank, rope, value;
};
#define AS_USUAL   .plain = 0
#define NO_NORMS   99u
#define ALL_BIASED .plain = 1, .shifts = 1, .attention_bias = 1, .mlp_bias = 1
#define LATENT(q_, kv_, rope_, value_)                                                             \
    .q_rank = (q_), .kv_rank = (kv_), .rope = (rope_), .value = (value_)

struct family_row {
    const char *name, *json;
    struct facts facts;
    double published, tolerance; /* 0: nobody says */
};
#define EXACT(n_) (n_), 0
#define ABOUT(n_) (n_), 0.02
#define NOT_SAID  0, 0
#define ROW(name_, type_, layers_, hidden_, heads_, kv_, dim_, ffn_, vocabulary_, more_,           \
            published_, ...)                                                                       \
    {                                                                                              \
        name_,                                                                                     \
            "{\"model_type\": \"" #type_ "\", \"num_hidden_layers\": " #layers_                    \
            ", \"hidden_size\": " #hidden_ ", \"num_attention_heads\": " #heads_                   \
            ", \"num_key_value_heads\": " #kv_ ", \"intermediate_size\": " #ffn_                   \
            ", \"vocab_size\": " #vocabulary_ more_ "}",                                           \
            {layers_, hidden_, heads_, kv_, dim_, ffn_, vocabulary_, __VA_ARGS__}, published_      \
    }
/* Inner widths are null where they are four times the model's. */
#define GPT2_ROW(name_, type_, layers_, hidden_, heads_, kv_, ffn_, inner_, vocabulary_,           \
                 positions_, more_, published_, ...)                                               \
    {                                                                                              \
        name_,                                                                                     \
            "{\"model_type\": \"" #type_ "\", \"n_layer\": " #layers_ ", \"n_embd\": " #hidden_    \
            ", \"n_head\": " #heads_ ", \"n_inner\": " #inner_ ", \"n_positions\": " #positions_   \
            ", \"vocab_size\": " #vocabulary_ more_ "}",                                           \
            {layers_, hidden_, heads_, kv_, hidden_ / heads_, ffn_, vocabulary_, __VA_ARGS__},     \
            published_                                                                             \
    }

#endif
