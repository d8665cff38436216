/* arch.h - the shape of a transformer: the `model` section. */
#ifndef TY_MODEL_ARCH_H
#define TY_MODEL_ARCH_H

#include "model/kernel/operators.h"

enum ty_mlp {
    TY_MLP_GELU,
    TY_MLP_SWIGLU
};
enum ty_norm_kind {
    TY_NORM_LAYER, /* LayerNorm: scale and shift */
    TY_NORM_RMS,
    TY_NORM_LAYER_SCALE, /* LayerNorm without shift (MPT, DBRX, Command R) */
    TY_NORM_LAYER_PLAIN  /* without either (OLMo) */
};
/* Norms of queries and keys before they are rotated. */
enum ty_qk_norm {
    TY_QK_NORM_HEAD,  /* RMSNorm of each head, one scale for all heads (Qwen3) */
    TY_QK_NORM_WHOLE, /* a scale for every channel of every head (OLMo 2, Command R+) */
    TY_QK_NORM_LAYER, /* LayerNorm of each head, one scale and shift for all (Persimmon) */
    TY_QK_NORM_PLAIN  /* of each head, no scale (Llama 4) */
};
/* Which linear layers have biases: bits. */
enum ty_bias {
    TY_BIAS_NONE = 0,
    TY_BIAS_QKV = 1, /* those of q, k and v alone: Qwen to Qwen2.5 */
    TY_BIAS_PROJ = 2,
    TY_BIAS_MLP = 4,
    TY_BIAS_ATTENTION = TY_BIAS_QKV | TY_BIAS_PROJ,
    TY_BIAS_OUTPUTS = TY_BIAS_PROJ | TY_BIAS_MLP, /* all but those of q, k and v: GPT-Neo */
    TY_BIAS_ALL = TY_BIAS_ATTENTION | TY_BIAS_MLP
};

/* Blocks that a layer may consist of, and their letters in model.layer_pattern: those of
 * Megatron-LM (hybrid_layer_allocation.py), where it has one. Those up to TY_HAS_MLP mix tokens. */
#define TY_LAYER_BLOCKS(X)                                                                         \
    X(ATTENTION, '*', 1)                                                                           \
    X(MAMBA, 'M', 2)                                                                               \
    X(DELTA, 'G', 4)                                                                               \
    X(KDA, 'K', 8)                                                                                 \
    X(SELECTIVE, 'S', 16)                                                                          \
    X(LINEAR, 'L', 32)                                                                             \
    X(CONVOLUTION, 'C', 64)                                                                        \
    X(RWKV, 'R', 128)                                                                              \
    X(MLP, '-', 256)                                                                               \
    X(EXPERTS, 'E', 512)

#define TY_LETTERS_TEXT                                                                            \
    "M Mamba-2, G gated delta net, K Kimi delta attention, S Mamba-1, L linear attention, C "      \
    "short "                                                                                       \
    "convolution, R RWKV-7, * attention, - MLP, E experts"

enum ty_layer_block {
#define X(id, letter, bit) TY_HAS_##id = bit,
    TY_LAYER_BLOCKS(X)
#undef X
    TY_HAS_FFN = TY_HAS_MLP | TY_HAS_EXPERTS,
    TY_HAS_MIXER = TY_HAS_MLP - 1,
    TY_HAS_STATE = TY_HAS_MIXER & ~TY_HAS_ATTENTION,
    TY_HAS_SCAN = TY_HAS_STATE & ~TY_HAS_CONVOLUTION
};

#define TY_LAYER_KINDS   8u   /* of layers of a model, at most */
#define TY_PATTERN_WORDS 256u /* of model.layer_pattern */

enum ty_block_form {
    TY_BLOCK_SERIAL,
    TY_BLOCK_PARALLEL /* attention and MLP read one norm */
};

/* Parts of a model whose weights are not trained: bits. */
enum ty_frozen {
    TY_FREEZE_EMBEDDING = 1 << 0,
    TY_FREEZE_ATTENTION = 1 << 1,
    TY_FREEZE_MLP = 1 << 2, /* dense MLPs */
    TY_FREEZE_EXPERTS = 1 << 3,
    TY_FREEZE_ROUTER = 1 << 4,
    TY_FREEZE_NORM = 1 << 5, /* norms of layers */
    TY_FREEZE_HEAD = 1 << 6, /* final norm and output matrix */
    TY_FREEZE_MTP = 1 << 7,
    TY_FREEZE_ALL = (1 << 8) - 1
};

/* Matrices with adapters: bits. */
enum ty_target {
    TY_TARGET_Q = 1 << 0,
    TY_TARGET_K = 1 << 1,
    TY_TARGET_V = 1 << 2,
    TY_TARGET_PROJ = 1 << 3,
    TY_TARGET_GATE = 1 << 4,
    TY_TARGET_UP = 1 << 5,
    TY_TARGET_DOWN = 1 << 6,
    TY_TARGET_IN = 1 << 7,
    TY_TARGET_OUT = 1 << 8,
    TY_TARGET_QKV = TY_TARGET_Q | TY_TARGET_K | TY_TARGET_V,
    TY_TARGET_ATTENTION = TY_TARGET_QKV | TY_TARGET_PROJ,
    TY_TARGET_FC1 = TY_TARGET_GATE | TY_TARGET_UP,
    TY_TARGET_MLP = TY_TARGET_FC1 | TY_TARGET_DOWN,
    TY_TARGET_STATE = TY_TARGET_IN | TY_TARGET_OUT,
    TY_TARGET_ALL = TY_TARGET_ATTENTION | TY_TARGET_MLP | TY_TARGET_STATE
};

/* Who has adapters of routed experts. */
enum ty_lora_experts {
    TY_LORA_EACH,  /* each expert its own (PEFT) */
    TY_LORA_SHARED /* the experts of a rank one (Megatron-Bridge, of a grouped product) */
};

/* Adapters of low rank (Hu et al. 2021): y = W x + B A dropout(x). Rank 0: none. */
struct ty_lora {
    uint32_t rank, targets; /* enum ty_target, bits */
    int experts;            /* enum ty_lora_experts */
    double dropout;
    bool fused; /* the product with B adds to the output of W (Transformer Engine's operators) */
    bool
        all_to_all; /* row-parallel: what B gives goes to shares of tokens without being gathered */
};

/* Bits that a frozen matrix of a layer is stored in. */
enum ty_frozen_dtype {
    TY_FROZEN_MODEL, /* as weights that are trained */
    TY_FROZEN_INT8,
    TY_FROZEN_NF4
};

/* The `model` section. */
struct ty_arch {
    const char *preset, *huggingface, *name;
    uint32_t layers, hidden, heads, kv_heads, head_dim, ffn, vocabulary, sequence;
    int mlp;                /* enum ty_mlp */
    int norm_kind;          /* enum ty_norm_kind */
    int block;              /* enum ty_block_form */
    int norm;               /* enum ty_fusion */
    int attention;          /* enum ty_attention */
    int dtype;              /* enum ty_dtype */
    uint32_t window;        /* tokens that a query sees, itself included; 0: all before it */
    uint32_t window_period; /* of so many layers the last has no window; 0: all have it */
    struct ty_uint_list full_layers; /* or these have none */
    bool full_attention;             /* flash kernels compute the masked half too */
    bool softmax_in_fp32;            /* of unfused attention */
    int bias;                        /* of enum ty_bias */
    bool head_bias;                  /* the output matrix has one */
    bool qk_norm;
    int qk_norm_kind;    /* enum ty_qk_norm */
    uint32_t norms;      /* of a layer; 0: ty_arch_norms */
    bool embedding_norm; /* behind the embedding (BLOOM) */
    double rotary;       /* share of a head's width that is rotated; none where positions are
                             * learned */
    bool rotary_scaled;  /* they are scaled as well, which fused kernels do not (YaRN's mscale) */
    bool tied;           /* output matrix is the embedding matrix */
    uint32_t positions;  /* learned position embeddings; 0: rotary ones */
    double dropout;      /* > 0: dropout masks are stored */
    bool attention_gate; /* what attention gives is scaled by a gate made with the queries */
    bool sinks; /* one learned logit a head that a query may look at besides its keys (gpt-oss) */
    bool expert_clamp; /* gate and up of experts are limited before their activation (gpt-oss) */

    /* mixture of experts; 0: none. Layers from `dense_layers` on have them in place of an MLP */
    uint32_t experts, experts_per_token;
    uint32_t expert_ffn, shared_ffn; /* inner widths: of one; of those that see every token */
    uint32_t expert_latent; /* width of the rows that go to routed ones; 0: of hidden states */
    uint32_t dense_layers;
    struct ty_uint_list mlp_layers;      /* further ones with an MLP */
    uint32_t expert_groups, group_limit; /* a token's experts are in so many groups of these */
    bool shared_gate; /* what the shared experts give is scaled by a gate of h weights */
    bool router_bias; /* a number for each expert next to its scores */

    /* multi-head latent attention; kv_latent 0: none. head_dim is the width that q and k have
     * without their position part */
    uint32_t query_latent, kv_latent, head_rope, head_value;

    /* an indexer that chooses the keys of each query (indexer.c): how many, its heads and their
     * width; index_topk 0: none */
    uint32_t index_topk, index_heads, index_head_dim;

    /* native sparse attention (native.c): blocks that a query selects, 0: none; tokens of a block;
     * of what is compressed, and from one to the next; of the window */
    uint32_t sparse_topk, sparse_block, sparse_compress, sparse_stride, sparse_window;

    /* which blocks its layers have; empty: attention and an MLP or experts */
    struct ty_string_list layer_pattern;
    uint32_t n_words, n_patterns;
    uint32_t patterns[TY_LAYER_KINDS]; /* its different layers: enum ty_layer_block */
    uint8_t word[TY_PATTERN_WORDS];    /* [n_words]: which of these */

    /* layers that keep a state in place of keys (state.c): heads, their width, heads of keys, the
     * width of a key; tokens that a short convolution sees; tokens of a chunk; width of all latents
     * that gates and decays are made of, and of those that the first layer lacks (RWKV-7) */
    uint32_t state_heads, state_head_dim, state_groups, state_size, state_conv, state_chunk,
        state_rank, first_rank;

    /* sets of weights that its layers without a state share (shared.c), 0: none; rank of the
     * adapters of each use, and whether q, k and v have some */
    uint32_t shared_blocks, shared_rank;
    bool shared_qkv;

    /* kinds of its layers, and the number of each combination of what they differ in; 0: it does
     * not occur */
    uint32_t n_kinds;
    uint8_t kind[8 * TY_LAYER_KINDS];

    uint32_t wide_first, wide_last; /* layers at either end whose products stay in bf16 */
    uint32_t mtp;                   /* modules that predict further tokens */

    uint32_t frozen;  /* enum ty_frozen, bits: weights without gradients and states */
    int frozen_dtype; /* enum ty_frozen_dtype */
    struct ty_lora lora;

    const struct ty_pack *packed; /* documents of all sequences (packing.h); NULL: one in each */
    uint32_t slice_of; /* tokens of the sequence that `sequence` is a slice of; 0: it is whole */
};

extern const struct ty_field ty_arch_fields[];
extern const uint32_t ty_n_arch_fields;
extern const struct ty_preset ty_arch_presets[];

/* Derives what may be left out (kv_heads = heads, head_dim = hidden / heads, ffn = 4 hidden) and
 * checks what must divide. A preset's `positions` grow to cover the sequence. */
int ty_arch_finish(struct ty_arch *arch, const struct ty_section *section, struct ty_err *err);

/* Text of the model section for a Hugging Face config.json, to be applied like a preset, and lines
 * about keys of it that nobody understands (NULL: there are none). `path` is opened as it is.
 * Errors name the JSON file, line and column. Owned by the arena. */
struct ty_huggingface {
    const char *text, *remarks;
};
int ty_arch_huggingface(struct ty_arena *arena, const char *path, struct ty_huggingface *out,
                        struct ty_err *err);

/* The i-th model_type that such a file may have, and models of it; NULL after the last. And types,
 * with spaces between, of models that are not simulated, and why. */
const char *ty_arch_family(size_t i, const char **about);
const char *ty_arch_refused_families(size_t i, const char **why);

/* pattern.c: the blocks of a layer, enum ty_layer_block; those of any; what a pattern asks for. */
uint32_t ty_arch_blocks(const struct ty_arch *arch, uint32_t layer);
bool ty_arch_has_block(const struct ty_arch *arch, uint32_t blocks);
int ty_arch_finish_pattern(struct ty_arch *arch, const struct ty_section *section,
                           struct ty_err *err);
/* The letters of its blocks, mixers first; "" without a pattern. Returns buf. */
#define TY_BLOCK_LETTERS 16
char *ty_arch_block_letters(const struct ty_arch *arch, uint32_t layer, char buf[TY_BLOCK_LETTERS]);
/* The number of a layer's blocks among patterns[]. */
uint32_t ty_arch_pattern_number(const struct ty_arch *arch, uint32_t layer);

/* Whether MLPs have a gate beside their first matrix. */
static inline bool ty_arch_is_gated(const struct ty_arch *arch)
{
    return arch->mlp == TY_MLP_SWIGLU;
}

/* Width of a row on its way to experts. */
double ty_arch_row_width(const struct ty_arch *arch);

/* Whether it has layers with experts, and whether one of them is this. */
bool ty_arch_is_moe(const struct ty_arch *arch);
bool ty_arch_has_experts(const struct ty_arch *arch, uint32_t layer);
/* Whether there are layers with an MLP between, before or instead of those. */
bool ty_arch_has_dense(const struct ty_arch *arch);

/* Whether attention is of the latent kind, whether an indexer chooses its keys, and the widths of a
 * head of q and k and of one of v. */
bool ty_arch_is_latent(const struct ty_arch *arch);
bool ty_arch_is_indexed(const struct ty_arch *arch);
uint32_t ty_arch_query_width(const struct ty_arch *arch);
uint32_t ty_arch_value_width(const struct ty_arch *arch);

/* The same model over one of n slices of its sequence. Its layers are of the same kinds. */
struct ty_arch ty_arch_slice(const struct ty_arch *arch, uint32_t n);

/* Whether the queries of a layer see a window only. Numbers beyond the last are like the last. */
bool ty_arch_has_window(const struct ty_arch *arch, uint32_t layer);

/* Whether products of a layer are in bf16 though those of others are in fp8 or NVFP4. */
bool ty_arch_is_wide(const struct ty_arch *arch, uint32_t layer);

/* How many kinds of layers it has, and the number of a layer's kind among them. */
uint32_t ty_arch_layer_kinds(const struct ty_arch *arch);
uint32_t ty_arch_layer_kind(const struct ty_arch *arch, uint32_t layer);

/* adapters.c. Whether weights of these parts (enum ty_frozen, bits) are not trained; whether no
 * weight below a layer is, so that input gradients end in it: of arch->layers, the head. */
bool ty_arch_freezes(const struct ty_arch *arch, uint32_t parts);
bool ty_arch_is_lowest(const struct ty_arch *arch, uint32_t layer);
/* Whether such layers are kinds of their own: of a model whose layers differ in too much else input
 * gradients run down to the first. */
bool ty_arch_has_lowest(const struct ty_arch *arch);

/* Bytes of a weight of a frozen matrix of a layer, 0: as the framework keeps weights. */
double ty_arch_frozen_bytes(const struct ty_arch *arch);

extern const struct ty_word ty_frozen_words[], ty_frozen_dtype_words[], ty_target_words[],
    ty_lora_experts_words[];
int ty_arch_check_adapters(struct ty_arch *arch, const struct ty_section *section,
                           struct ty_err *err);

double ty_arch_norm_params(const struct ty_arch *arch); /* of one norm */
/* Norms of a layer: where nobody says else, one before each block, or one before both where they
 * stand side by side. */
uint32_t ty_arch_norms(const struct ty_arch *arch);
uint32_t ty_arch_layer_norms(const struct ty_arch *arch, uint32_t layer); /* of this one */

#endif
