/* arch.c - the `model` section: keys, and what must divide what. What layers are made of is in
 * model/block. */
#include "model/arch.h"

#include <string.h>

#include "model/check.h"

/* A list of layers rises, so that it can be searched, and names layers that there are. */
static int arch_check_layers(const struct ty_arch *arch, const struct ty_section *section,
                             const char *key, const struct ty_uint_list *list, struct ty_err *err)
{
    for (uint32_t i = 0; i < list->n; i++) {
        if (list->item[i] >= arch->layers) {
            return ty_check_fail(section, key, err,
                                 "%u: there is no such layer; layers are 0 to %u (model.layers "
                                 "less one)",
                                 (unsigned)list->item[i], (unsigned)arch->layers - 1);
        }
        if (i > 0 && list->item[i] <= list->item[i - 1]) {
            return ty_check_fail(section, key, err,
                                 "%u comes after %u; write each layer once, the first ones first",
                                 (unsigned)list->item[i], (unsigned)list->item[i - 1]);
        }
    }
    return 0;
}

/* Whether a list of layers, which rises, has this one. */
static bool arch_listed(const struct ty_uint_list *list, uint32_t layer)
{
    uint32_t i = 0;
    while (i < list->n && list->item[i] < layer) {
        i++;
    }
    return i < list->n && list->item[i] == layer;
}

/* ---- keys of experts and of latent attention ---- */

bool ty_arch_is_moe(const struct ty_arch *arch)
{
    return arch->experts > 0;
}

double ty_arch_row_width(const struct ty_arch *arch)
{
    return arch->expert_latent > 0 ? arch->expert_latent : arch->hidden;
}

bool ty_arch_has_experts(const struct ty_arch *arch, uint32_t layer)
{
    const uint32_t last = arch->layers - 1, number = layer < last ? layer : last;
    if (arch->n_patterns > 0) {
        return (ty_arch_blocks(arch, layer) & TY_HAS_EXPERTS) != 0;
    }
    return ty_arch_is_moe(arch) && layer >= arch->dense_layers &&
           !arch_listed(&arch->mlp_layers, number);
}

bool ty_arch_has_dense(const struct ty_arch *arch)
{
    const bool listed = arch->dense_layers > 0 || arch->mlp_layers.n > 0;
    return ty_arch_is_moe(arch) &&
           (arch->n_patterns > 0 ? ty_arch_has_block(arch, TY_HAS_MLP) : listed);
}

bool ty_arch_is_latent(const struct ty_arch *arch)
{
    return arch->kv_latent > 0;
}

bool ty_arch_is_indexed(const struct ty_arch *arch)
{
    return arch->index_topk > 0;
}

uint32_t ty_arch_query_width(const struct ty_arch *arch)
{
    return arch->head_dim + (ty_arch_is_latent(arch) ? arch->head_rope : 0);
}

uint32_t ty_arch_value_width(const struct ty_arch *arch)
{
    return ty_arch_is_latent(arch) ? arch->head_value : arch->head_dim;
}

/* ---- experts ---- */

static int check_choice(const struct ty_arch *arch, const struct ty_section *section,
                        struct ty_err *err)
{
    if (arch->experts_per_token == 0) {
        return ty_check_fail(section, "experts_per_token", err,
                             "0: with model.experts each token goes to at least one expert; write "
                             "1 to %u",
                             (unsigned)arch->experts);
    }
    if (arch->experts_per_token > arch->experts) {
        return ty_check_fail(section, "experts_per_token", err,
                             "%u is more than model.experts (%u); write %u or less",
                             (unsigned)arch->experts_per_token, (unsigned)arch->experts,
                             (unsigned)arch->experts);
    }
    return 0;
}

/* A token chooses groups first, and its experts in them. */
static int check_groups(const struct ty_arch *arch, const struct ty_section *section,
                        struct ty_err *err)
{
    const uint32_t groups = arch->expert_groups, limit = arch->group_limit;
    if (limit > 0 && groups == 0) {
        return ty_check_fail(section, "group_limit", err,
                             "%u: the experts are not in groups; set model.expert_groups, or write "
                             "none here",
                             (unsigned)limit);
    }
    if (groups == 0) {
        return 0;
    }
    if (arch->experts % groups != 0) {
        return ty_check_fail(section, "expert_groups", err,
                             "%u does not divide model.experts (%u); try %u", (unsigned)groups,
                             (unsigned)arch->experts,
                             (unsigned)ty_check_divisor(arch->experts, groups));
    }
    const uint32_t each = arch->experts / groups;
    const uint32_t least = (arch->experts_per_token + each - 1) / each;
    if (limit > groups) {
        return ty_check_fail(section, "group_limit", err,
                             "%u is more than model.expert_groups (%u); write from %u to %u",
                             (unsigned)limit, (unsigned)groups, (unsigned)least, (unsigned)groups);
    }
    if (limit > 0 && limit < least) {
        return ty_check_fail(section, "group_limit", err,
                             "%u groups of %u experts hold fewer than model.experts_per_token "
                             "(%u); write %u or more",
                             (unsigned)limit, (unsigned)each, (unsigned)arch->experts_per_token,
                             (unsigned)least);
    }
    return 0;
}

/* Next to the first dense ones, and not all there are. */
static int check_mlp_layers(const struct ty_arch *arch, const struct ty_section *section,
                            struct ty_err *err)
{
    const struct ty_uint_list *list = &arch->mlp_layers;
    const int rc = arch_check_layers(arch, section, "mlp_layers", list, err);
    if (rc < 0 || list->n == 0) {
        return rc;
    }
    if (list->item[0] < arch->dense_layers) {
        return ty_check_fail(section, "mlp_layers", err,
                             "layer %u is one of model.dense_layers (%u) already; leave it out",
                             (unsigned)list->item[0], (unsigned)arch->dense_layers);
    }
    if (arch->dense_layers + list->n >= arch->layers) {
        return ty_check_fail(section, "mlp_layers", err,
                             "leaves none of the %u layers to model.experts; write fewer, or 0 "
                             "experts",
                             (unsigned)arch->layers);
    }
    return 0;
}

static int check_experts(struct ty_arch *arch, const struct ty_section *section, struct ty_err *err)
{
    static const char *const idle[] = {"experts_per_token", "expert_ffn",  "shared_ffn",
                                       "dense_layers",      "shared_gate", "expert_groups",
                                       "group_limit",       "router_bias", "mlp_layers",
                                       "expert_latent",     NULL};
    if (!ty_arch_is_moe(arch)) {
        return ty_check_idle(section, idle, "no layer has experts; write a model.experts", err);
    }
    arch->expert_ffn = arch->expert_ffn == 0 ? arch->ffn : arch->expert_ffn;
    static const char *const said[] = {"dense_layers", "mlp_layers", NULL};
    if (arch->n_patterns > 0) {
        const int told =
            ty_check_idle(section, said, "model.layer_pattern sets this; leave it out", err);
        return ty_check_first(told, check_choice(arch, section, err));
    }
    int rc = check_choice(arch, section, err);
    if (arch->dense_layers >= arch->layers) {
        rc =
            ty_check_first(rc, ty_check_fail(section, "dense_layers", err,
                                             "%u leaves none of the %u layers to model.experts; "
                                             "write less, or 0 experts",
                                             (unsigned)arch->dense_layers, (unsigned)arch->layers));
    }
    rc = ty_check_first(rc, check_mlp_layers(arch, section, err));
    if (arch->shared_gate && arch->shared_ffn == 0) {
        rc = ty_check_first(rc, ty_check_fail(section, "shared_gate", err,
                                              "true: no expert is shared; give model.shared_ffn, "
                                              "or write false"));
    }
    return rc < 0 ? rc : check_groups(arch, section, err);
}

/* ---- latent attention ---- */

static int check_latent(struct ty_arch *arch, const struct ty_section *section, struct ty_err *err)
{
    static const char *const idle[] = {"query_latent", "head_rope", "head_value", NULL};
    int rc = 0;
    if (!ty_arch_is_latent(arch)) {
        return ty_check_idle(section, idle, "attention is not latent; write a model.kv_latent",
                             err);
    }
    arch->head_value = arch->head_value == 0 ? arch->head_dim : arch->head_value;
    if (arch->kv_heads != arch->heads) {
        rc = ty_check_fail(section, "kv_heads", err,
                           "%u: with model.kv_latent every head has its own keys and values; write "
                           "%u, or auto",
                           (unsigned)arch->kv_heads, (unsigned)arch->heads);
    }
    if (arch->qk_norm) {
        rc = ty_check_first(rc, ty_check_fail(section, "qk_norm", err,
                                              "true: with model.kv_latent the latents have norms, "
                                              "the heads do not; write false"));
    }
    return rc;
}

/* NULL: nothing is wrong. */
static int fail_why(const struct ty_section *section, const char *key, uint32_t value,
                    const char *why, struct ty_err *err)
{
    return why == NULL ? 0 : ty_check_fail(section, key, err, "%u: %s", (unsigned)value, why);
}

/* An indexer reads the latent of queries, and what it chooses flash kernels read. */
static int check_index(const struct ty_arch *arch, const struct ty_section *section,
                       struct ty_err *err)
{
    static const char *const idle[] = {"index_heads", "index_head_dim", NULL};
    const bool sized = arch->index_heads > 0 && arch->index_head_dim > 0;
    if (!ty_arch_is_indexed(arch)) {
        return ty_check_idle(section, idle, "no keys are chosen; write a model.index_topk", err);
    }
    if (arch->index_topk > arch->sequence) {
        return ty_check_fail(section, "index_topk", err,
                             "%u is more than model.sequence (%u): every key would be chosen; "
                             "write less, or none",
                             (unsigned)arch->index_topk, (unsigned)arch->sequence);
    }
    const char *why =
        !sized ? "an indexer needs model.index_heads and model.index_head_dim"
        : arch->query_latent == 0 || arch->kv_latent == 0
            ? "an indexer reads latents; write a model.query_latent and a model.kv_latent"
        : arch->window > 0 ? "an indexer chooses keys in place of model.window; write none for one "
                             "of them"
        : arch->attention < TY_ATTENTION_FLASH1
            ? "chosen keys are read by flash kernels; write flash2 or flash3 for model.attention"
            : NULL;
    return fail_why(section, "index_topk", arch->index_topk, why, err);
}

/* Blocks are made of strides, and a query does not select all of them. */
static int check_native(const struct ty_arch *arch, const struct ty_section *section,
                        struct ty_err *err)
{
    static const char *const idle[] = {"sparse_block", "sparse_compress", "sparse_stride",
                                       "sparse_window", NULL};
    const uint64_t keys = (uint64_t)arch->sparse_topk * arch->sparse_block;
    if (arch->sparse_topk == 0) {
        return ty_check_idle(section, idle, "no blocks are selected; write a model.sparse_topk",
                             err);
    }
    if (keys > arch->sequence) {
        return ty_check_fail(section, "sparse_topk", err,
                             "%u blocks of %u tokens are more than model.sequence (%u): every key "
                             "would be selected; write %u or less, or none",
                             (unsigned)arch->sparse_topk, (unsigned)arch->sparse_block,
                             (unsigned)arch->sequence,
                             (unsigned)(arch->sequence / arch->sparse_block));
    }
    const char *const parts[] = {"sparse_block", "sparse_compress"};
    const uint32_t sizes[] = {arch->sparse_block, arch->sparse_compress};
    for (size_t i = 0; i < TY_COUNT(parts); i++) {
        if (sizes[i] % arch->sparse_stride != 0) {
            return ty_check_fail(
                section, parts[i], err, "%u is no multiple of model.sparse_stride (%u); write %u",
                (unsigned)sizes[i], (unsigned)arch->sparse_stride,
                (unsigned)(sizes[i] / arch->sparse_stride + 1) * (unsigned)arch->sparse_stride);
        }
    }
    const char *why =
        ty_arch_is_latent(arch) ? "beside latent attention is not simulated; write none"
        : arch->window > 0      ? "has a window of its own; write none for model.window"
        : arch->attention_gate  ? "has gates of its own; write false for model.attention_gate"
        : arch->attention < TY_ATTENTION_FLASH1
            ? "selected keys are read by flash kernels; write flash2 or flash3 for model.attention"
            : NULL;
    return fail_why(section, "sparse_topk", arch->sparse_topk, why, err);
}

/* What experts (expert_ffn = ffn) and latent attention (head_value = head_dim) leave out, and what
 * must fit. */
static int arch_finish_sparse(struct ty_arch *arch, const struct ty_section *section,
                              struct ty_err *err)
{
    const int rc = check_experts(arch, section, err);
    return ty_check_first(
        ty_check_first(rc, check_latent(arch, section, err)),
        ty_check_first(check_index(arch, section, err), check_native(arch, section, err)));
}

static const struct ty_word mlp_words[] = {
    {"gelu", TY_MLP_GELU, "two matrices and a GELU between them"},
    {"swiglu", TY_MLP_SWIGLU, "three matrices, gated (Shazeer 2020)"},
    {NULL, 0, NULL},
};
static const struct ty_word norm_kind_words[] = {
    {"layernorm", TY_NORM_LAYER, "scale and shift (Ba et al. 2016)"},
    {"rmsnorm", TY_NORM_RMS, "scale only (Zhang and Sennrich 2019)"},
    {"layernorm-scale", TY_NORM_LAYER_SCALE, "LayerNorm without shift (MPT, Command R)"},
    {"layernorm-plain", TY_NORM_LAYER_PLAIN, "LayerNorm without scale and shift (OLMo)"},
    {NULL, 0, NULL},
};
static const struct ty_word bias_words[] = {
    {"false", TY_BIAS_NONE, "in none"},
    {"qkv", TY_BIAS_QKV, "in those of q, k and v"},
    {"attention", TY_BIAS_ATTENTION, "in those of q, k, v and the output projection"},
    {"mlp", TY_BIAS_MLP, "in those of the MLP"},
    {"outputs", TY_BIAS_OUTPUTS, "in the output projection and those of the MLP (GPT-Neo)"},
    {"true", TY_BIAS_ALL, "in all"},
    {NULL, 0, NULL},
};
static const struct ty_word qk_norm_words[] = {
    {"head", TY_QK_NORM_HEAD, "an RMSNorm of every head, one scale for all heads (Qwen3)"},
    {"whole", TY_QK_NORM_WHOLE, "a scale for every channel of all heads (OLMo 2, Command R+)"},
    {"layernorm", TY_QK_NORM_LAYER, "a LayerNorm of every head, one scale and shift (Persimmon)"},
    {"plain", TY_QK_NORM_PLAIN, "a norm of every head without scale (Llama 4)"},
    {NULL, 0, NULL},
};
static const struct ty_word block_words[] = {
    {"serial", TY_BLOCK_SERIAL, "each with a norm before it and a sum behind it"},
    {"parallel", TY_BLOCK_PARALLEL, "one norm before both, one sum (GPT-J, PaLM, MegaScale)"},
    {NULL, 0, NULL},
};
static const struct ty_word fusion_words[] = {
    {"unfused", TY_UNFUSED, "framework operators, one after the other"},
    {"fused", TY_FUSED, "one kernel"},
    {NULL, 0, NULL},
};

#define ROW(key_, type_, ...) TY_FIELD(struct ty_arch, #key_, key_, type_, __VA_ARGS__)
#define TEXT(key_, doc_)      ROW(key_, STRING, .doc = (doc_))
#define SIZE(key_, max_, doc_)                                                                     \
    ROW(key_, UINT, .min = 1, .max = (max_), .required = true, .doc = (doc_))
#define DERIVED(key_, max_, doc_)                                                                  \
    ROW(key_, UINT, .min = 1, .max = (max_), .fallback = "auto", .blank = "auto", .doc = (doc_))
#define WORD(key_, words_, fallback_, doc_)                                                        \
    ROW(key_, WORD, .words = (words_), .fallback = (fallback_), .doc = (doc_))
#define FLAG(key_, doc_) ROW(key_, BOOL, .fallback = "false", .doc = (doc_))
#define LATE(key_, max_, blank_, doc_)                                                             \
    ROW(key_, UINT, .late = true, .min = 1, .max = (max_), .fallback = (blank_),                   \
        .blank = (blank_), .doc = (doc_))
#define SPARSE(key_, fallback_, doc_)                                                              \
    ROW(key_, UINT, .late = true, .min = 1, .max = 100000000, .fallback = (fallback_),             \
        .doc = (doc_))
#define LORA(key_, member_, type_, ...)                                                            \
    TY_FIELD(struct ty_arch, key_, lora.member_, type_, .late = true, __VA_ARGS__)
#define COUNT(key_, max_, doc_)                                                                    \
    ROW(key_, UINT, .max = (max_), .fallback = "0", .doc = (doc_)) /* 0: there are none */

const struct ty_field ty_arch_fields[] = {
    TEXT(preset, "a model to start from (trainyard list models); other keys override it"),
    TEXT(huggingface, "path of a Hugging Face config.json to start from, relative to this file"),
    ROW(name, STRING, .fallback = "auto", .blank = "auto",
        .doc = "name in titles; auto: that of the preset, the Hugging Face file or the run file"),
    SIZE(layers, 10000, "transformer layers"),
    SIZE(hidden, 1000000, "width of the hidden states"),
    SIZE(heads, 10000, "attention heads"),
    DERIVED(kv_heads, 10000, "key and value heads; auto: as many as heads"),
    DERIVED(head_dim, 10000, "width of a head; auto: hidden / heads"),
    DERIVED(ffn, 10000000, "inner width of the MLP; auto: 4 hidden"),
    SIZE(vocabulary, 100000000, "tokens in the vocabulary"),
    ROW(sequence, UINT, .min = 1, .max = 100000000, .fallback = "2048", .tokens = true,
        .doc = "tokens in a sequence; 8k is 8192"),
    WORD(mlp, mlp_words, "gelu", "kind of MLP"),
    WORD(norm_kind, norm_kind_words, "layernorm", "kind of norm"),
    ROW(block, WORD, .late = true, .words = block_words, .fallback = "serial",
        .doc = "whether the MLP of a layer follows its attention or stands beside it"),
    WORD(norm, fusion_words, "fused", "how norms are computed"),
    WORD(attention, ty_attention_words, "flash2", "how attention is computed"),
    ROW(softmax_in_fp32, BOOL, .late = true, .fallback = "true",
        .doc = "whether unfused attention normalises scores in 32 bit, an option of Megatron-LM; "
               "false: in dtype, as JAX does"),
    WORD(dtype, ty_dtype_words, "bf16",
         "type of the GEMMs; states are always those of 16-bit training"),
    ROW(window, UINT, .min = 1, .max = 100000000, .fallback = "none", .blank = "none",
        .doc = "tokens that a query sees, itself included (sliding window); none: all before it"),
    ROW(window_period, UINT, .min = 2, .max = 10000, .fallback = "none", .blank = "none",
        .doc = "period of layers: the last of each period sees all tokens, the others the window; "
               "none: no layer sees all"),
    ROW(full_layers, UINTS, .late = true, .max = 9999, .fallback = "none", .blank = "none",
        .doc = "layers that see all tokens and not the window, counted from 0, where no period "
               "sets them"),
    FLAG(full_attention,
         "whether flash kernels compute all scores, not the causal half (for a bias or mask that "
         "they do not support, such as ALiBi)"),
    WORD(bias, bias_words, "false", "which linear layers of a layer have biases"),
    ROW(head_bias, BOOL, .late = true, .fallback = "false",
        .doc = "whether the output matrix has a bias (GPT-J, Phi)"),
    FLAG(qk_norm, "whether q and k have norms before their rotary embedding"),
    ROW(qk_norm_kind, WORD, .late = true, .words = qk_norm_words, .fallback = "head",
        .doc = "extent of these norms"),
    ROW(norms, UINT, .late = true, .min = 1, .max = 4, .fallback = "auto", .blank = "auto",
        .doc = "norms of a layer; auto: 2, or 1 with parallel blocks (there 2: one each); 4: also "
               "one after each block (Gemma 2)"),
    ROW(embedding_norm, BOOL, .late = true, .fallback = "false",
        .doc = "whether a norm follows the embedding (BLOOM)"),
    ROW(rotary, QUANTITY, .late = true, .dim = TY_DIM_RATIO, .min = 0, .max = 1,
        .fallback = "100 %",
        .doc = "share of a head's width that rotary embeddings turn; 0: none, as with ALiBi"),
    FLAG(rotary_scaled, "whether rotary embeddings are scaled, too (YaRN's mscale, gpt-oss): fused "
                        "kernels of Transformer Engine do not (NVIDIA/Megatron-LM rope_utils.py)"),
    FLAG(tied, "whether the output matrix is the embedding matrix"),
    ROW(positions, UINT, .min = 1, .max = 100000000, .fallback = "none", .blank = "none",
        .doc = "learned position embeddings; none: rotary ones"),
    ROW(dropout, QUANTITY, .dim = TY_DIM_RATIO, .min = 0, .max = 0.99, .fallback = "0",
        .doc = "share of values dropped; above 0 the masks cost memory and time"),
    ROW(attention_gate, BOOL, .late = true, .fallback = "false",
        .doc = "whether a gate as wide as the queries scales the output of attention (Qwen3-Next)"),
    FLAG(sinks, "whether every head has an attention sink: a learned logit beside its scores"),
    FLAG(expert_clamp,
         "whether gate and up of experts are clamped before their activation (gpt-oss)"),
    COUNT(experts, 100000, "routed experts of a layer; 0: it has an MLP"),
    COUNT(experts_per_token, 1000, "routed experts that a token goes to"),
    DERIVED(expert_ffn, 10000000, "inner width of one routed expert; auto: ffn"),
    COUNT(shared_ffn, 10000000,
          "inner width of all shared experts together, which see every token; 0: none"),
    LATE(expert_latent, 1000000, "none",
         "width of latents that routed experts read and give, between a matrix from hidden states "
         "and one back (Nemotron 3 Super); none: they read hidden states"),
    COUNT(dense_layers, 10000, "layers, the first ones, that have an MLP of width ffn"),
    ROW(mlp_layers, UINTS, .late = true, .max = 9999, .fallback = "none", .blank = "none",
        .doc = "further layers that have an MLP of width ffn, counted from 0 (Llama 4 Maverick)"),
    ROW(expert_groups, UINT, .min = 1, .max = 100000, .fallback = "none", .blank = "none",
        .doc = "equal groups of routed experts (group_limit); none: they are not grouped"),
    ROW(group_limit, UINT, .min = 1, .max = 100000, .fallback = "none", .blank = "none",
        .doc = "groups among which the experts of a token are; none: all"),
    FLAG(shared_gate, "whether a gate of h weights scales the output of shared experts (Qwen2)"),
    FLAG(router_bias, "whether the router has a bias for each expert, learned (gpt-oss) or kept to "
                      "balance them (DeepSeek-V3)"),
    COUNT(query_latent, 1000000,
          "width of the latent of queries (latent attention); 0: they have none"),
    COUNT(kv_latent, 1000000,
          "width of the latent of keys and values (multi-head latent attention); 0: keys and "
          "values are made from hidden states"),
    COUNT(head_rope, 10000,
          "latent attention: width of the position part of a head, beside head_dim"),
    DERIVED(head_value, 10000, "latent attention: width of the values of a head; auto: head_dim"),
    LATE(index_topk, 100000000, "none",
         "keys of each query that an indexer chooses (DeepSeek-V3.2, GLM-5); none: it sees all"),
    LATE(index_heads, 10000, "none", "heads of the indexer"),
    LATE(index_head_dim, 10000, "none", "width of such a head"),
    LATE(sparse_topk, 100000, "none",
         "blocks of keys that a query selects (native sparse attention); none: it sees all"),
    SPARSE(sparse_block, "64", "tokens of such a block"),
    SPARSE(sparse_compress, "32", "tokens that are compressed to one key, by which it selects"),
    SPARSE(sparse_stride, "16", "tokens from one compressed key to the next"),
    SPARSE(sparse_window, "512", "tokens before a query that it sees, too"),
    ROW(wide_first, UINT, .late = true, .max = 10000, .fallback = "0",
        .doc = "first layers whose GEMMs are bf16 though dtype is fp8 or nvfp4"),
    ROW(wide_last, UINT, .late = true, .max = 10000, .fallback = "0", .doc = "last ones, likewise"),
    ROW(layer_pattern, STRINGS, .late = true, .shape = true, .fallback = "none", .blank = "none",
        .example = "[ME, ME, '*E']",
        .doc = "blocks of the layers, a letter each: " TY_LETTERS_TEXT ". In "
               "a text each letter is a layer; in a list, or a text with spaces, each word is one. "
               "A pattern shorter than model.layers repeats"),
    LATE(state_heads, 100000, "none", "heads of layers with a state: those of Mamba, or of values"),
    LATE(state_head_dim, 10000, "none", "width of such a head"),
    LATE(state_groups, 100000, "auto",
         "groups of state heads that share keys and queries (Mamba's B and C); auto: none do"),
    LATE(state_size, 10000, "none", "width of their keys and queries: Mamba's state"),
    LATE(state_conv, 100, "none", "tokens that the short convolution before the state sees"),
    LATE(state_chunk, 100000, "auto",
         "tokens that a scan works on at once; auto: as the kernels of each kind"),
    LATE(state_rank, 100000, "none",
         "width of all latents that gates and decays of a state are made of (Mamba-1, Kimi, RWKV)"),
    LATE(first_rank, 100000, "none",
         "of these, the width of the latent that the first layer does without (RWKV-7)"),
    LATE(shared_blocks, 10000, "none",
         "sets of weights that layers without a state share in turn, and that read the embedding "
         "beside hidden states (Zamba2); none: each layer has its own"),
    LATE(shared_rank, 100000, "none", "rank of the adapters that each use of them has"),
    ROW(shared_qkv, BOOL, .late = true, .fallback = "false",
        .doc = "whether q, k and v have such adapters, too"),
    COUNT(mtp, 100, "modules that predict further tokens (DeepSeek-V3), after the last layer"),
    ROW(frozen, SET, .late = true, .words = ty_frozen_words, .fallback = "none",
        .example = "[embedding, attention] or embedding+attention",
        .doc = "weights that are not trained: none, all, or parts of the model; with model.lora "
               "none means all"),
    ROW(frozen_dtype, WORD, .late = true, .words = ty_frozen_dtype_words, .fallback = "model",
        .doc = "how frozen matrices of layers are stored; any type but model is unpacked before "
               "every use (QLoRA)"),
    LORA("lora", rank, UINT, .inner = "rank", .min = 1, .max = 100000, .fallback = "none",
         .blank = "none",
         .doc = "rank of the adapters (LoRA); all other weights are frozen, unless model.frozen "
                "names some"),
    LORA("lora.targets", targets, SET, .words = ty_target_words, .fallback = "all",
         .example = "[qkv, proj] or qkv+proj", .doc = "matrices that have an adapter"),
    LORA("lora.dropout", dropout, QUANTITY, .dim = TY_DIM_RATIO, .min = 0, .max = 0.99,
         .fallback = "0", .doc = "share of an adapter's input that is dropped"),
    LORA("lora.fused", fused, BOOL, .fallback = "false",
         .doc = "whether the GEMM of an adapter adds to the output of its matrix "
                "(Megatron-Bridge's fused LoRA); false: a scale and a sum are kernels"),
    LORA("lora.all_to_all", all_to_all, BOOL, .fallback = "false",
         .doc = "whether adapters of row-parallel matrices send their output to its tokens at "
                "once (Megatron-Bridge's a2a_experimental); false: it is gathered first"),
    LORA("lora.experts", experts, WORD, .words = ty_lora_experts_words, .fallback = "each",
         .doc = "who has adapters of routed experts"),
};

const uint32_t ty_n_arch_fields = TY_COUNT(ty_arch_fields);

/* ---- checks ---- */

/* Learned positions must cover the sequence. A preset's table follows the sequence. */
static int check_positions(struct ty_arch *arch, const struct ty_section *section,
                           struct ty_err *err)
{
    if (arch->positions == 0 || arch->positions >= arch->sequence) {
        return 0;
    }
    if (ty_check_given(section, "positions")) {
        return ty_check_fail(section, "positions", err,
                             "%u is less than model.sequence (%u); write %u or more, or none",
                             (unsigned)arch->positions, (unsigned)arch->sequence,
                             (unsigned)arch->sequence);
    }
    arch->positions = arch->sequence;
    return 0;
}

static int derive_head_dim(struct ty_arch *arch, const struct ty_section *section,
                           struct ty_err *err)
{
    const uint32_t heads = arch->heads, hidden = arch->hidden;
    arch->head_dim = hidden / heads;
    if (hidden % heads == 0) {
        return 0;
    }
    if (ty_check_given(section, "hidden") && !ty_check_given(section, "heads")) {
        return ty_check_fail(section, "hidden", err,
                             "%u is no multiple of model.heads (%u); write %llu, or give "
                             "model.head_dim",
                             (unsigned)hidden, (unsigned)heads,
                             (unsigned long long)(hidden / heads + 1) * heads);
    }
    return ty_check_fail(section, "heads", err,
                         "%u does not divide model.hidden (%u); write %u, or give model.head_dim",
                         (unsigned)heads, (unsigned)hidden,
                         (unsigned)ty_check_divisor(hidden, heads));
}

static int check_heads(struct ty_arch *arch, const struct ty_section *section, struct ty_err *err)
{
    int rc = 0;
    arch->kv_heads = arch->kv_heads == 0 ? arch->heads : arch->kv_heads;
    if (arch->heads % arch->kv_heads != 0) {
        rc = ty_check_fail(section, "kv_heads", err,
                           "%u does not divide model.heads (%u); %u would, and so would 1",
                           (unsigned)arch->kv_heads, (unsigned)arch->heads,
                           (unsigned)ty_check_divisor(arch->heads, arch->kv_heads));
    }
    return arch->head_dim > 0 ? rc : ty_check_first(rc, derive_head_dim(arch, section, err));
}

static int check_windows(const struct ty_arch *arch, const struct ty_section *section,
                         struct ty_err *err)
{
    if (arch->window == 0 && ty_check_given(section, "window_period")) {
        return ty_check_fail(section, "window_period", err,
                             "%u: no layer has a window; write a model.window, or none here",
                             (unsigned)arch->window_period);
    }
    if (arch->window == 0 && arch->full_layers.n > 0) {
        return ty_check_fail(section, "full_layers", err,
                             "no layer has a window; write a model.window, or none here");
    }
    if (arch->window_period > 0 && arch->full_layers.n > 0) {
        return ty_check_fail(section, "full_layers", err,
                             "model.window_period (%u) says which layers see all tokens, too; "
                             "write none for one of them",
                             (unsigned)arch->window_period);
    }
    return arch_check_layers(arch, section, "full_layers", &arch->full_layers, err);
}

/* One where both blocks read it; a third one would stand behind one block only. */
static int check_norms(const struct ty_arch *arch, const struct ty_section *section,
                       struct ty_err *err)
{
    const bool parallel = arch->block == TY_BLOCK_PARALLEL;
    if (arch->norms == 0 || arch->norms == 2 || arch->norms == (parallel ? 1 : 4)) {
        return 0;
    }
    return ty_check_fail(
        section, "norms", err, "%u: a layer whose model.block is %s has %s; write one of these",
        (unsigned)arch->norms, block_words[arch->block].name, parallel ? "1 or 2" : "2 or 4");
}

static int finish(struct ty_arch *arch, const struct ty_section *section, struct ty_err *err)
{
    int rc =
        ty_check_first(check_heads(arch, section, err), ty_arch_finish_pattern(arch, section, err));
    static const char *const idle[] = {"state_heads", "state_head_dim", "state_groups",
                                       "state_size",  "state_conv",     "state_chunk",
                                       "state_rank",  "first_rank",     "shared_blocks",
                                       "shared_rank", "shared_qkv",     NULL};
    if (arch->n_patterns == 0) {
        rc = ty_check_first(rc, ty_check_idle(section, idle,
                                              "no layer keeps a state; write a model.layer_pattern",
                                              err));
        arch->shared_blocks = 0;
    }
    if (arch->ffn == 0) {
        arch->ffn = 4 * arch->hidden;
    }
    rc = ty_check_first(rc, check_windows(arch, section, err));
    rc = ty_check_first(rc, check_norms(arch, section, err));
    if (arch->block == TY_BLOCK_PARALLEL && (arch->experts > 0 || ty_arch_is_latent(arch))) {
        rc = ty_check_first(rc, ty_check_fail(section, "block", err,
                                              "parallel: supported only for attention beside a "
                                              "dense MLP, and %s; write serial",
                                              arch->experts > 0 ? "these layers have experts"
                                                                : "this attention is latent"));
    }
    rc = ty_check_first(rc, check_positions(arch, section, err));
    rc = ty_check_first(rc, arch_finish_sparse(arch, section, err));
    return ty_check_first(rc, ty_arch_check_adapters(arch, section, err));
}

double ty_arch_norm_params(const struct ty_arch *arch)
{
    static const double scales[] = {[TY_NORM_LAYER] = 2,
                                    [TY_NORM_RMS] = 1,
                                    [TY_NORM_LAYER_SCALE] = 1,
                                    [TY_NORM_LAYER_PLAIN] = 0};
    return scales[arch->norm_kind] * arch->hidden;
}

uint32_t ty_arch_norms(const struct ty_arch *arch)
{
    return arch->norms > 0 ? arch->norms : arch->block == TY_BLOCK_PARALLEL ? 1 : 2;
}

uint32_t ty_arch_layer_norms(const struct ty_arch *arch, uint32_t layer)
{
    const uint32_t blocks = ty_arch_blocks(arch, layer);
    const bool both = (blocks & TY_HAS_MIXER) != 0 && (blocks & TY_HAS_FFN) != 0;
    return both ? ty_arch_norms(arch) : ty_arch_norms(arch) / 2;
}

struct ty_arch ty_arch_slice(const struct ty_arch *arch, uint32_t n)
{
    struct ty_arch slice = *arch;
    slice.slice_of = arch->sequence;
    slice.sequence /= n;
    return slice;
}

bool ty_arch_has_window(const struct ty_arch *arch, uint32_t layer)
{
    const uint32_t last = arch->layers - 1, number = layer < last ? layer : last;
    const bool whole = arch->window_period > 0 ? (number + 1) % arch->window_period == 0
                                               : arch_listed(&arch->full_layers, number);
    const uint32_t sequence = arch->slice_of > 0 ? arch->slice_of : arch->sequence;
    return arch->window > 0 && arch->window < sequence && !whole;
}

/* ---- kinds of layers ---- */

static bool has_windows(const struct ty_arch *arch)
{
    return arch->window > 0;
}

static bool sees_all(const struct ty_arch *arch, uint32_t layer)
{
    return !ty_arch_has_window(arch, layer);
}

static bool has_wide(const struct ty_arch *arch)
{
    return ty_dtype_is_narrow(arch->dtype) && arch->wide_first + arch->wide_last > 0;
}

bool ty_arch_is_wide(const struct ty_arch *arch, uint32_t layer)
{
    const bool first = layer < arch->wide_first, last = layer + arch->wide_last >= arch->layers;
    return has_wide(arch) && (first || (arch->wide_last > 0 && last));
}

static bool has_dense(const struct ty_arch *arch)
{
    return arch->n_patterns == 0 && ty_arch_has_dense(arch);
}

bool ty_arch_has_lowest(const struct ty_arch *arch)
{
    const uint32_t patterns = arch->n_patterns > 0 ? arch->n_patterns : 1;
    const uint32_t others = patterns * (has_windows(arch) ? 2 : 1) * (has_dense(arch) ? 2 : 1) *
                            (has_wide(arch) ? 2 : 1);
    return ty_arch_freezes(arch, TY_FREEZE_EMBEDDING) && 2 * others <= TY_LAYER_KINDS;
}

/* What layers of a model may differ in besides the blocks of a pattern, and which have it. Each
 * combination is a kind. */
static const struct {
    bool (*differs)(const struct ty_arch *arch);
    bool (*has)(const struct ty_arch *arch, uint32_t layer);
} features[] = {{has_windows, sees_all},
                {has_dense, ty_arch_has_experts},
                {has_wide, ty_arch_is_wide},
                {ty_arch_has_lowest, ty_arch_is_lowest}};

/* The number of a layer's combination, of patterns and three features, or of four. */
static uint32_t combination(const struct ty_arch *arch, uint32_t layer)
{
    uint32_t number = ty_arch_pattern_number(arch, layer);
    uint32_t weight = arch->n_patterns > 0 ? arch->n_patterns : 1;
    for (size_t i = 0; i < TY_COUNT(features); i++) {
        if (features[i].differs(arch)) {
            number += features[i].has(arch, layer) ? weight : 0;
            weight *= 2;
        }
    }
    return number;
}

/* A shape that is no model, of a job with a program of its own, has one. */
uint32_t ty_arch_layer_kinds(const struct ty_arch *arch)
{
    return arch->n_kinds > 0 ? arch->n_kinds : 1;
}

uint32_t ty_arch_layer_kind(const struct ty_arch *arch, uint32_t layer)
{
    return arch->n_kinds > 0 ? arch->kind[combination(arch, layer)] - 1u : 0;
}

/* Numbers the combinations that occur, in their order. */
static int find_kinds(struct ty_arch *arch, const struct ty_section *section, struct ty_err *err)
{
    arch->n_kinds = 0;
    memset(arch->kind, 0, sizeof(arch->kind));
    for (uint32_t i = 0; i < arch->layers; i++) {
        arch->kind[combination(arch, i)] = 1;
    }
    for (size_t i = 0; i < TY_COUNT(arch->kind); i++) {
        arch->kind[i] = arch->kind[i] > 0 ? (uint8_t)++arch->n_kinds : 0;
    }
    return arch->n_kinds <= TY_LAYER_KINDS
               ? 0
               : ty_check_fail(section, arch->n_patterns > 0 ? "layer_pattern" : "layers", err,
                               "its layers are of %u kinds, by their blocks, windows and "
                               "model.wide_first and wide_last; at most %u are simulated",
                               (unsigned)arch->n_kinds, (unsigned)TY_LAYER_KINDS);
}

int ty_arch_finish(struct ty_arch *arch, const struct ty_section *section, struct ty_err *err)
{
    const int rc = finish(arch, section, err);
    return rc < 0 ? rc : find_kinds(arch, section, err);
}
