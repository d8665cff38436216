/* huggingface.c - the `model` section from a Hugging Face config.json.
 *
 * A family (model_type) is a row of huggingface_families.c: which keys name its sizes and what the
 * keys do not say. What a file leaves out has the default of its class. A model of a kind that is
 * not simulated is refused by its type, or by the key that gives it away; one of an unknown type is
 * read as llama if all its keys are llama's. Keys that nobody asks for and that are not known to be
 * idle are told. */
#include <stdlib.h>
#include <string.h>

#include "model/huggingface_internal.h"
#include "sim/base/number_text.h"
#include "sim/base/path.h"
#include "sim/base/utf8.h"

/* ---- layers that see a window only ---- */

/* A list names them, or they are every so many, or those from one on. */

/* Of a list of words, one a layer. "chunked_attention" looks at a chunk of tokens, which is no
 * window: see ty_hf_llama4. */
static bool has_window(const struct ty_node *item)
{
    return item->kind == TY_NODE_SCALAR && item->text != NULL &&
           (strcmp(item->text, "sliding_attention") == 0 || strcmp(item->text, "local") == 0);
}

/* Whether a pattern of letters is that of `period` layers: LLLG. 0: it is none. */
static unsigned long letters(const struct ty_node *node)
{
    const size_t n = node->kind == TY_NODE_SCALAR && node->text != NULL ? strlen(node->text) : 0;
    return n > 1 && strspn(node->text, "L") == n - 1 && node->text[n - 1] == 'G' ? n : 0;
}

static unsigned long period_of(struct ty_hf_reader *r, const struct ty_hf_family *family)
{
    static const char key[] = "sliding_window_pattern|_sliding_window_pattern|layer_switch";
    const struct ty_node *node = ty_hf_value(r, key);
    const unsigned long period = node != NULL ? letters(node) : 0;
    return period > 0 ? period : ty_hf_number(r, key, family->period);
}

/* By the rule of the class. */
static bool is_full(const struct ty_hf_family *family, unsigned long layer, unsigned long n)
{
    switch (family->windows) {
    case TY_HF_WINDOWS_LATER:
        return layer < n;
    case TY_HF_WINDOWS_PERIOD:
        return n > 0 && (layer + 1) % n == 0;
    case TY_HF_WINDOWS_FIRST:
        return n > 0 && layer % n == 0;
    case TY_HF_WINDOWS_NONE:
        return true;
    case TY_HF_WINDOWS_ALL:
        break;
    }
    return false;
}

/* GPT-Neo's [[["global", "local"], 12]]: words, and how often they repeat. NULL: none. */
static const struct ty_node *repeated(struct ty_hf_reader *r)
{
    const struct ty_node *types = ty_hf_value(r, "attention_types");
    const struct ty_node *pair = types != NULL && types->kind == TY_NODE_LIST ? types->first : NULL;
    const struct ty_node *words = pair != NULL && pair->kind == TY_NODE_LIST ? pair->first : NULL;
    return words != NULL && words->kind == TY_NODE_LIST && pair->next == NULL ? words->first : NULL;
}

/* Fills full[layers] from a list, which repeats where it is shorter; false: there is none. */
static bool listed_windows(struct ty_hf_reader *r, bool *full, unsigned long layers)
{
    const struct ty_node *list = ty_hf_value(r, "layer_types|attention_layers");
    const struct ty_node *again = repeated(r);
    const struct ty_node *first = list != NULL && list->kind == TY_NODE_LIST ? list->first : again;
    const struct ty_node *item = first;
    for (unsigned long i = 0; i < layers && first != NULL; i++) {
        full[i] = !has_window(item);
        item = item->next != NULL ? item->next : first;
    }
    return first != NULL;
}

/* The period of layers of which the last is full; 0: all are windows, 1: none is; NO_PERIOD: there
 * is no such period. */
#define NO_PERIOD (~0ul)
static unsigned long find_period(const bool *full, unsigned long layers)
{
    unsigned long period = 0;
    for (unsigned long i = 0; i < layers; i++) {
        period = period == 0 && full[i] ? i + 1 : period;
        if (period > 0 && full[i] != ((i + 1) % period == 0)) {
            return NO_PERIOD;
        }
    }
    return period;
}

static void put(struct ty_hf_reader *r, const bool *full, unsigned long layers,
                unsigned long window)
{
    const unsigned long period = find_period(full, layers);
    bool none = true;
    for (unsigned long i = 0; i < layers; i++) {
        none = none && full[i];
    }
    if (none) {
        return;
    }
    ty_hf_put_number(r, "window", window);
    if (period == NO_PERIOD) {
        ty_hf_put_layers(r, "full_layers", full, layers);
    } else if (period > 0) {
        ty_hf_put_number(r, "window_period", period);
    }
}

static void hf_put_windows(struct ty_hf_reader *r, const struct ty_hf_family *family,
                           const struct ty_hf_shape *shape)
{
    static const char key[] = "sliding_window|window_size";
    const bool given = ty_node_child(r->root, "sliding_window") != NULL;
    const unsigned long usual = family->defaults != NULL && !given ? family->defaults->window : 0;
    const bool optional = family->windows == TY_HF_WINDOWS_LATER;
    const struct ty_node *node = ty_hf_value(r, key);
    const bool number = node == NULL || ty_hf_is_number(node, false); /* none: false */
    const unsigned long window = number ? ty_hf_number(r, key, usual) : 0;
    const unsigned long n =
        optional ? ty_hf_number(r, "max_window_layers", shape->layers) : period_of(r, family);
    const bool used = ty_hf_flag(r, "use_sliding_window", !optional);
    bool *full = ty_arena_array(r->arena, bool, shape->layers);
    if (full == NULL) {
        r->code = ty_fail_memory(r->err);
        return;
    }
    for (unsigned long i = 0; i < shape->layers; i++) {
        full[i] = is_full(family, i, n);
    }
    (void)listed_windows(r, full, shape->layers);
    if (window > 0 && used) {
        put(r, full, shape->layers, window);
    }
}

/* ---- experts, latent attention, further tokens ---- */

static void put_dense(struct ty_hf_reader *r, const struct ty_hf_family *family,
                      const struct ty_hf_shape *shape)
{
    const unsigned long layers = shape->layers;
    bool *dense = ty_arena_array(r->arena, bool, layers);
    if (dense == NULL) {
        r->code = ty_fail_memory(r->err);
        return;
    }
    memset(dense, 0, layers * sizeof(*dense));
    ty_hf_find_dense(r, dense, layers);
    if (family->hybrid != NULL && ty_hf_put_hybrid(r, family->hybrid, shape, dense)) {
        return;
    }
    unsigned long first = 0;
    while (first < layers && dense[first]) {
        dense[first++] = false;
    }
    if (first > 0) {
        ty_hf_put_number(r, "dense_layers", first);
    }
    ty_hf_put_layers(r, "mlp_layers", dense, layers);
}

/* ---- experts ---- */

/* One group is none, and so are those that nothing chooses among. */
static void put_groups(struct ty_hf_reader *r)
{
    const unsigned long groups = ty_hf_number(r, "n_group", 0);
    const unsigned long limit = ty_hf_number(r, "topk_group", 0);
    if (groups > 1 && limit > 0 && !ty_hf_is_text(r, "topk_method", "greedy")) {
        ty_hf_put_number(r, "expert_groups", groups);
        ty_hf_put_number(r, "group_limit", limit);
    }
}

/* The width of all of them together. */
static unsigned long shared_width(struct ty_hf_reader *r, const struct ty_hf_experts *x,
                                  unsigned long width)
{
    const unsigned long one = x->shared_width != NULL ? ty_hf_number(r, x->shared_width, 0) : 0;
    const unsigned long n = x->n_shared != NULL ? ty_hf_number(r, x->n_shared, 0) : 1;
    return x->shared_width != NULL && x->n_shared == NULL ? one : n * (one > 0 ? one : width);
}

static bool has_router_bias(struct ty_hf_reader *r, const struct ty_hf_experts *x)
{
    const bool said = ty_hf_flag(r, "use_routing_bias|moe_router_enable_expert_bias", false);
    return x->router_bias || said || ty_hf_is_text(r, "topk_method", "noaux_tc");
}

static void hf_put_experts(struct ty_hf_reader *r, const struct ty_hf_experts *x,
                           const struct ty_hf_shape *shape)
{
    const unsigned long per_token = ty_hf_needed(r, x->per_token),
                        width = ty_hf_needed(r, x->width);
    const bool has_shared = x->n_shared != NULL || x->shared_width != NULL;
    const unsigned long shared = has_shared ? shared_width(r, x, width) : 0;
    ty_hf_put_number(r, "experts", shape->experts);
    ty_hf_put_number(r, "experts_per_token", per_token);
    ty_hf_put_number(r, "expert_ffn", width);
    if (shared > 0) {
        ty_hf_put_number(r, "shared_ffn", shared);
    }
    const unsigned long latent = ty_hf_number(r, "moe_latent_size", 0);
    if (latent > 0) {
        ty_hf_put_number(r, "expert_latent", latent);
    }
    ty_hf_put(r, "shared_gate", x->shared_gate && shared > 0 ? "true" : "false");
    const char *const gpt_oss = x->sinks ? "true" : "false";
    ty_hf_put(r, "sinks", gpt_oss);
    ty_hf_put(r, "expert_clamp", gpt_oss);
    ty_hf_put(r, "rotary_scaled", gpt_oss);
    ty_hf_put(r, "router_bias", has_router_bias(r, x) ? "true" : "false");
    put_groups(r);
}

/* Queries may have none (DeepSeek-V2-Lite); values are as wide as a share of the model where nobody
 * says else (MiniCPM3). */
static void hf_put_latent(struct ty_hf_reader *r, const struct ty_hf_experts *x,
                          const struct ty_hf_shape *shape)
{
    const unsigned long query = ty_hf_number(r, "q_lora_rank", 0);
    const unsigned long chosen = x->indexed ? ty_hf_number(r, "index_topk", 0) : 0;
    (void)ty_hf_value(r, "num_key_value_heads"); /* as many as heads, */
    (void)ty_hf_value(r, "head_dim");            /* and width of the position part */
    ty_hf_put_number(r, "kv_latent", ty_hf_needed(r, "kv_lora_rank"));
    ty_hf_put_number(r, "head_rope", ty_hf_needed(r, "qk_rope_head_dim"));
    ty_hf_put_number(r, "head_value",
                     ty_hf_number(r, "v_head_dim", shape->hidden / (shape->heads | !shape->heads)));
    if (query > 0) {
        ty_hf_put_number(r, "query_latent", query);
    }
    if (chosen > 0) {
        ty_hf_put_number(r, "index_topk", chosen);
        ty_hf_put_number(r, "index_heads", ty_hf_needed(r, "index_n_heads"));
        ty_hf_put_number(r, "index_head_dim", ty_hf_needed(r, "index_head_dim"));
    }
}

/* ---- sizes, biases, norms and positions ---- */

/* What the keys of the file say, and where they say nothing what the class has. */

#define LAYERS_MAX 10000ul /* of model.layers */

static const struct ty_hf_keys usual_keys = {
    .layers = "num_hidden_layers",
    .hidden = "hidden_size",
    .heads = "num_attention_heads",
    .kv_heads = "num_key_value_heads",
    .head_dim = "head_dim",
    .ffn = "intermediate_size",
    .vocabulary = "vocab_size",
};
static const struct ty_hf_bias usual_biases[] = {
    {"attention_bias", TY_BIAS_ATTENTION, false},
    {"mlp_bias", TY_BIAS_MLP, false},
    {NULL, 0, false},
};
static const struct ty_hf_defaults no_defaults = {.layers = 0};

/* A size that a whole file has to give, and a part of one may leave out. */
static unsigned long size(struct ty_hf_reader *r, const char *key, bool nested, unsigned long usual)
{
    return nested && usual > 0 ? ty_hf_number(r, key, usual) : ty_hf_needed(r, key);
}

static void read_sizes(struct ty_hf_reader *r, const struct ty_hf_family *family, bool nested,
                       struct ty_hf_shape *shape)
{
    const struct ty_hf_keys *keys = family->keys != NULL ? family->keys : &usual_keys;
    const struct ty_hf_defaults *is = family->defaults != NULL ? family->defaults : &no_defaults;
    shape->layers = size(r, keys->layers, nested, is->layers);
    if (shape->layers > LAYERS_MAX) {
        ty_hf_fail(r, ty_hf_value(r, keys->layers), keys->layers, "more than 10000 layers");
    }
    shape->hidden = size(r, keys->hidden, nested, is->hidden);
    shape->heads = size(r, keys->heads, nested, is->heads);
    shape->kv_heads = ty_hf_number(r, keys->kv_heads, is->kv_heads);
    shape->head_dim = ty_hf_number(r, keys->head_dim, is->head_dim);
    /* a plain MLP is four times as wide as the model where nobody says else */
    shape->ffn =
        family->plain ? ty_hf_number(r, keys->ffn, 0) : size(r, keys->ffn, nested, is->ffn);
    shape->ffn = family->halved_ffn ? shape->ffn / 2 : shape->ffn;
    shape->vocabulary = size(r, keys->vocabulary, nested, is->vocabulary);
}

/* Every key is of its own matrices; what none is about is as in the class. */
static int read_biases(struct ty_hf_reader *r, const struct ty_hf_family *family)
{
    const struct ty_hf_bias *row = family->biases != NULL ? family->biases : usual_biases;
    int bias = family->bias;
    for (; row->key != NULL; row++) {
        if (ty_hf_value(r, row->key) != NULL) {
            const bool has = ty_hf_flag(r, row->key, false) != row->without;
            bias = has ? bias | row->bits : bias & ~row->bits;
        }
    }
    return bias;
}

/* A share that more than one key may give, or a width. */
static double read_rotary(struct ty_hf_reader *r, const struct ty_hf_family *family,
                          const struct ty_hf_shape *shape)
{
    static const char key[] = "partial_rotary_factor|rotary_pct|rope_pct|"
                              "rope_parameters.partial_rotary_factor";
    const struct ty_node *share = ty_hf_value(r, key), *width = ty_hf_value(r, "rotary_dim");
    const double whole = shape->head_dim > 0 ? (double)shape->head_dim
                         : shape->heads > 0  ? (double)shape->hidden / (double)shape->heads
                                             : 0;
    if (family->rotary < 0) {
        return 0;
    }
    if (share != NULL && ty_hf_is_number(share, false)) {
        const double given = ty_strtod(share->text, NULL);
        return given > 0 && given <= 1 ? given : 1;
    }
    if (width != NULL && whole > 0) {
        const double given = (double)ty_hf_number(r, "rotary_dim", 0) / whole;
        return given > 0 && given <= 1 ? given : 1;
    }
    return family->rotary > 0 ? family->rotary : 1;
}

/* What positions were learned for is what a model trains on. */
static void read_positions(struct ty_hf_reader *r, const struct ty_hf_family *family,
                           struct ty_hf_shape *shape)
{
    if (family->positions != NULL) {
        shape->sequence = ty_hf_number(r, family->positions, 0);
        shape->positions = shape->sequence > 0 ? shape->sequence + family->more : 0;
    }
}

static const char *read_dropout(struct ty_hf_reader *r, const struct ty_hf_family *family)
{
    const struct ty_node *node = ty_hf_value(r, family->dropout);
    return node != NULL && ty_hf_is_number(node, false) ? node->text : family->dropout_is;
}

static void hf_read_shape(struct ty_hf_reader *r, const struct ty_hf_family *family, bool nested,
                          struct ty_hf_shape *shape)
{
    const bool norms = family->qk_norm && (family->qk_key == NULL ||
                                           ty_hf_flag(r, family->qk_key, family->qk_default));
    *shape = (struct ty_hf_shape){.gated = !family->plain,
                                  .parallel = family->parallel,
                                  .head_bias = family->head_bias,
                                  .embedding_norm = family->embedding_norm,
                                  .norms = family->norms,
                                  .norm_kind = family->layer_norm      ? TY_NORM_LAYER
                                               : family->norm_kind > 0 ? family->norm_kind
                                                                       : TY_NORM_RMS,
                                  .qk_norm = norms,
                                  .qk_norm_kind = family->qk_norm_kind};
    read_sizes(r, family, nested, shape);
    shape->bias = read_biases(r, family);
    shape->tied = ty_hf_flag(r, "tie_word_embeddings", family->tied);
    shape->rotary = read_rotary(r, family, shape);
    shape->dropout = read_dropout(r, family);
    read_positions(r, family, shape);
    if (family->experts != NULL) {
        shape->experts = family->experts->optional ? ty_hf_number(r, family->experts->experts, 0)
                                                   : ty_hf_needed(r, family->experts->experts);
    }
    if (family->special != NULL) {
        family->special(r, shape);
    }
}

/* ---- writing ---- */

static const char *bias_word(int bias)
{
    switch (bias) {
    case TY_BIAS_NONE:
        return "false";
    case TY_BIAS_QKV:
        return "qkv";
    case TY_BIAS_MLP:
        return "mlp";
    case TY_BIAS_ATTENTION:
        return "attention";
    case TY_BIAS_OUTPUTS:
        return "outputs";
    case TY_BIAS_ALL:
        return "true";
    default:
        return NULL;
    }
}

static void put_biases(struct ty_hf_reader *r, const struct ty_hf_shape *shape)
{
    const char *word = bias_word(shape->bias);
    if (word == NULL) {
        ty_hf_fail(r, NULL, "bias",
                   "biases of these linear layers alone are not simulated; known are those of q, k "
                   "and v, of attention, of the MLP, and of all");
        return;
    }
    ty_hf_put(r, "bias", word);
    if (shape->head_bias) {
        ty_hf_put(r, "head_bias", "true");
    }
}

static void put_norms(struct ty_hf_reader *r, const struct ty_hf_shape *shape)
{
    static const char *const kinds[] = {[TY_NORM_LAYER] = "layernorm",
                                        [TY_NORM_RMS] = "rmsnorm",
                                        [TY_NORM_LAYER_SCALE] = "layernorm-scale",
                                        [TY_NORM_LAYER_PLAIN] = "layernorm-plain"};
    static const char *const of_heads[] = {[TY_QK_NORM_HEAD] = "head",
                                           [TY_QK_NORM_WHOLE] = "whole",
                                           [TY_QK_NORM_LAYER] = "layernorm",
                                           [TY_QK_NORM_PLAIN] = "plain"};
    ty_hf_put(r, "norm_kind", kinds[shape->norm_kind]);
    ty_hf_put(r, "qk_norm", shape->qk_norm ? "true" : "false");
    if (shape->qk_norm && shape->qk_norm_kind != TY_QK_NORM_HEAD) {
        ty_hf_put(r, "qk_norm_kind", of_heads[shape->qk_norm_kind]);
    }
    if (shape->parallel) {
        ty_hf_put(r, "block", "parallel");
    }
    if (shape->norms > 0) {
        ty_hf_put_number(r, "norms", shape->norms);
    }
    if (shape->embedding_norm) {
        ty_hf_put(r, "embedding_norm", "true");
    }
}

static void put_positions(struct ty_hf_reader *r, const struct ty_hf_shape *shape)
{
    if (shape->positions > 0) {
        ty_hf_put_number(r, "positions", shape->positions);
        ty_hf_put_number(r, "sequence", shape->sequence);
    }
    if (shape->rotary < 1) {
        const char *share = ty_arena_printf(r->arena, "%.6g", shape->rotary);
        ty_hf_put(r, "rotary", share != NULL ? share : "0");
    }
}

/* Reads a file of this family; `nested`: its keys are a part of the file. */
static void hf_put_shape(struct ty_hf_reader *r, const struct ty_hf_shape *shape)
{
    const struct {
        const char *key;
        unsigned long value;
        bool derived; /* what it is otherwise, the section knows */
    } sizes[] = {
        {"layers", shape->layers + shape->further, false},
        {"hidden", shape->hidden, false},
        {"heads", shape->heads, false},
        {"kv_heads", shape->kv_heads, true},
        {"head_dim", shape->head_dim, true},
        {"ffn", shape->ffn, true},
        {"vocabulary", shape->vocabulary, false},
    };
    for (size_t i = 0; i < TY_COUNT(sizes); i++) {
        if (sizes[i].value > 0 || !sizes[i].derived) {
            ty_hf_put_number(r, sizes[i].key, sizes[i].value);
        }
    }
    put_positions(r, shape);
    if (shape->dropout != NULL) {
        ty_hf_put(r, "dropout", shape->dropout);
    }
    ty_hf_put(r, "mlp", shape->gated ? "swiglu" : "gelu");
    put_norms(r, shape);
    put_biases(r, shape);
    ty_hf_put(r, "tied", shape->tied ? "true" : "false");
}

/* Keys that give away what no family has, or some have not. */
static const struct {
    const char *key, *what;
    enum {
        OF_NONE,
        WITHOUT_EXPERTS,
        WITHOUT_HYBRID,
        WITHOUT_INDEXER
    } of; /* families that are refused: all; those without these */
} refused[] = {
    {"num_local_experts", "a mixture of experts", WITHOUT_EXPERTS},
    {"num_experts", "a mixture of experts", WITHOUT_EXPERTS},
    {"n_routed_experts", "a mixture of experts", WITHOUT_EXPERTS},
    {"moe_intermediate_size", "a mixture of experts", WITHOUT_EXPERTS},
    {"kv_lora_rank", "multi-head latent attention", WITHOUT_EXPERTS},
    {"index_topk", "an indexer that chooses keys", WITHOUT_INDEXER},
    {"indexer_types|index_topk_pattern|index_topk_freq", "an indexer that layers share", OF_NONE},
    {"linear_num_value_heads|linear_attn_config", "linear attention", WITHOUT_HYBRID},
    {"mamba_d_state|ssm_cfg|ssm_state_size", "state space layers", WITHOUT_HYBRID},
    {"use_cla", "keys and values that layers share", OF_NONE},
    {"num_kv_shared_layers", "keys and values that layers share", OF_NONE},
    {"num_key_value_heads_per_layer|block_configs", "layers that differ in heads", OF_NONE},
    {"mamba_proj_bias", "biases of Mamba's GEMMs", OF_NONE},
    {"is_encoder_decoder", "an encoder", OF_NONE},
};

/* ---- families ---- */

const char *ty_arch_family(size_t i, const char **about)
{
    *about = ty_hf_families[i].doc;
    return ty_hf_families[i].model_type;
}

const char *ty_arch_refused_families(size_t i, const char **why)
{
    *why = ty_hf_refusals[i].why;
    return ty_hf_refusals[i].model_types;
}

/* The nth word of a list of texts; NULL: there is none. */
static const struct ty_node *nth_text(const struct ty_node *list, uint32_t n)
{
    const struct ty_node *item = list != NULL && list->kind == TY_NODE_LIST ? list->first : NULL;
    for (; item != NULL && n > 0; n--) {
        item = item->next;
    }
    return item != NULL && item->kind == TY_NODE_SCALAR && item->text != NULL ? item : NULL;
}

/* By its first class, where nobody says the type. */
static const struct ty_hf_family *family_of_classes(struct ty_hf_reader *r)
{
    const struct ty_node *first = nth_text(ty_hf_value(r, "architectures"), 0);
    return first != NULL ? ty_hf_family_of_class(first->text) : NULL;
}

static void fail_unknown(struct ty_hf_reader *r, const struct ty_node *node, const char *why)
{
    const char *what = ty_arena_printf(
        r->arena,
        "unknown (%.60s), and not of llama's shape: %s; trainyard list families has the known "
        "ones; or set layers, hidden, heads and vocabulary in the model section",
        node->text, why);
    ty_hf_fail(r, node, "model_type", what == NULL ? "unknown" : what);
}

/* What keeps a file of an unknown type from being one of llama's shape; NULL: nothing does. */
static const char *not_llama(struct ty_hf_reader *r)
{
    static const char *const needed[] = {"num_hidden_layers", "hidden_size",  "num_attention_heads",
                                         "intermediate_size", "rms_norm_eps", "vocab_size"};
    static const char *const gates[] = {"silu", "swish", "swiglu"};
    for (size_t i = 0; i < TY_COUNT(needed); i++) {
        if (ty_hf_value(r, needed[i]) == NULL) {
            const char *why = ty_arena_printf(r->arena, "it has no %s", needed[i]);
            return why != NULL ? why : needed[i];
        }
    }
    bool gated = ty_hf_value(r, "hidden_act") == NULL;
    for (size_t i = 0; i < TY_COUNT(gates); i++) {
        gated = gated || ty_hf_is_text(r, "hidden_act", gates[i]);
    }
    return gated ? NULL : "its hidden_act is not silu";
}

/* Types that nobody knows: those of llama's shape are read as llama. */
static const struct ty_hf_family *family_of_unknown(struct ty_hf_reader *r,
                                                    const struct ty_node *type)
{
    const struct ty_hf_family *llama = ty_hf_family_of_type("llama");
    const char *why = ty_hf_refused(type->text, strlen(type->text));
    if (why != NULL) {
        const char *what = ty_arena_printf(r->arena, "%.60s: %s", type->text, why);
        ty_hf_fail(r, type, "model_type", what != NULL ? what : why);
        return NULL;
    }
    why = not_llama(r);
    if (why != NULL) {
        fail_unknown(r, type, why);
        return NULL;
    }
    ty_hf_remark(r, type, "model_type",
                 "unknown; all keys that matter are llama's, so it is read as llama");
    return llama;
}

static const struct ty_hf_family *find_family(struct ty_hf_reader *r, const struct ty_node **type)
{
    const struct ty_hf_family *family = NULL;
    *type = ty_hf_value(r, "model_type");
    if (*type != NULL && (*type)->kind == TY_NODE_SCALAR && (*type)->text != NULL) {
        family = ty_hf_family_of_type((*type)->text);
        return family != NULL ? family : family_of_unknown(r, *type);
    }
    family = family_of_classes(r);
    if (family == NULL) {
        ty_hf_fail(r, *type, "model_type", "missing; trainyard list families has the known ones");
    }
    return family;
}

/* ---- what does not fit ---- */

/* Whether a value says that there is none, or one, which is none. */
static bool is_idle(const struct ty_node *node)
{
    return node->kind == TY_NODE_SCALAR &&
           (strcmp(node->text, "0") == 0 || strcmp(node->text, "1") == 0 ||
            strcmp(node->text, "false") == 0);
}

static void refuse(struct ty_hf_reader *r, const struct ty_hf_family *family)
{
    for (size_t i = 0; i < TY_COUNT(refused); i++) {
        const bool experts = family->experts != NULL, indexed = experts && family->experts->indexed;
        const bool knows[] = {[OF_NONE] = false,
                              [WITHOUT_EXPERTS] = experts,
                              [WITHOUT_HYBRID] = family->hybrid != NULL,
                              [WITHOUT_INDEXER] = indexed};
        const struct ty_node *node = knows[refused[i].of] ? NULL : ty_hf_value(r, refused[i].key);
        if (node != NULL && !is_idle(node)) {
            const char *what = ty_arena_printf(r->arena,
                                               refused[i].of == WITHOUT_EXPERTS
                                                   ? "%s, and models of type %s have none"
                                                   : "%s: that is not simulated",
                                               refused[i].what, family->model_type);
            ty_hf_fail(r, node, refused[i].key, what == NULL ? refused[i].what : what);
            return; /* one reason is enough */
        }
    }
}

/* A class of another family: one of the two is wrong, and only the file's owner knows which. */
static void check_classes(struct ty_hf_reader *r, const struct ty_hf_family *family)
{
    const struct ty_node *list = ty_hf_value(r, "architectures"), *item = NULL;
    for (uint32_t i = 0; (item = nth_text(list, i)) != NULL; i++) {
        const struct ty_hf_family *other = ty_hf_family_of_class(item->text);
        const char *why = ty_hf_refused(item->text, ty_hf_class_stem(item->text)), *what = NULL;
        if (ty_hf_is_class(family, item->text)) {
            continue;
        }
        if (other == NULL && why == NULL) {
            what = ty_arena_printf(r->arena, "%.60s: a class that is not known here; read as %s",
                                   item->text, family->model_type);
            ty_hf_remark(r, item, "architectures", what != NULL ? what : "not known here");
            continue;
        }
        what = ty_arena_printf(
            r->arena, "%.60s is no class of model_type %s%s%s; one of the two is wrong", item->text,
            family->model_type,
            other != NULL ? " but of " : ", but: ", other != NULL ? other->model_type : why);
        ty_hf_fail(r, item, "architectures", what != NULL ? what : "of another model_type");
        return;
    }
}

/* ---- the file ---- */

static void leave_towers(struct ty_hf_reader *r)
{
    static const char *const names[] = {"vision_config", "audio_config"};
    for (size_t i = 0; i < TY_COUNT(names); i++) {
        const struct ty_node *tower = ty_node_child(r->doc.root, names[i]);
        if (tower != NULL && tower->kind == TY_NODE_MAP) {
            ty_hf_remark(r, tower, names[i], "left out: the language model alone is simulated");
        }
    }
}

/* Files of models that see or hear have the decoder's keys in a mapping. */
static bool enter_decoder(struct ty_hf_reader *r)
{
    static const char *const names[] = {"text_config", "llm_config", "language_config"};
    for (size_t i = 0; i < TY_COUNT(names); i++) {
        const struct ty_node *part = ty_node_child(r->doc.root, names[i]);
        if (part != NULL && part->kind == TY_NODE_MAP &&
            ty_node_child(r->doc.root, "num_hidden_layers") == NULL) {
            r->root = part;
            leave_towers(r);
            return true;
        }
    }
    return false;
}

/* Of a part of a file the whole says it, too. */
static void tie(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    const struct ty_node *part = r->root;
    if (ty_node_child(part, "tie_word_embeddings") == NULL) {
        r->root = r->doc.root;
        shape->tied = ty_hf_flag(r, "tie_word_embeddings", shape->tied);
        r->root = part;
    }
}

static void convert(struct ty_hf_reader *r, const struct ty_hf_family *family)
{
    const bool nested = r->root != r->doc.root;
    struct ty_hf_shape shape;
    hf_read_shape(r, family, nested, &shape);
    tie(r, &shape);
    if (r->code < 0) {
        return;
    }
    hf_put_shape(r, &shape);
    hf_put_windows(r, family, &shape);
    if (family->experts != NULL && (shape.experts > 0 || !family->experts->optional)) {
        hf_put_experts(r, family->experts, &shape);
    }
    if (family->hybrid != NULL || shape.experts > 0) {
        put_dense(r, family, &shape);
    }
    if (family->experts != NULL && family->experts->latent) {
        hf_put_latent(r, family->experts, &shape);
    }
    const unsigned long further = ty_hf_number(r, "num_nextn_predict_layers", 0);
    if (further > 0) {
        ty_hf_put_number(r, "mtp", further);
        ty_hf_remark(r, ty_hf_value(r, "num_nextn_predict_layers"), "num_nextn_predict_layers",
                     "these modules are simulated and count as parameters; model.mtp: 0 leaves "
                     "them out");
    }
}

/* Keys that nobody has asked for are told; a model of an unknown type may have none. */
static void tell_unknown(struct ty_hf_reader *r, const struct ty_node *type)
{
    const bool known = type == NULL || ty_hf_family_of_type(type->text) != NULL;
    const char *keys = NULL;
    for (const struct ty_node *node = ty_hf_unknown(r, NULL); node != NULL && r->code == 0;
         node = ty_hf_unknown(r, node)) {
        if (known) {
            ty_hf_remark(r, node, node->key,
                         "not understood and ignored; if it changes the model's shape, set the "
                         "keys of the model section");
            continue;
        }
        keys = ty_arena_printf(r->arena, "%s%s%.60s", keys != NULL ? keys : "",
                               keys != NULL ? ", " : "", node->key);
        r->code = keys == NULL ? ty_fail_memory(r->err) : r->code;
    }
    if (keys != NULL) {
        const char *why = ty_arena_printf(r->arena, "not understood are %s", keys);
        fail_unknown(r, type, why != NULL ? why : keys);
    }
}

/* A text that YAML reads as it is, in single quotes; what is no text is left out. */
static const char *quoted(struct ty_hf_reader *r, const char *text)
{
    char *out = ty_arena_array(r->arena, char, 2 * strlen(text) + 3), *to = out;
    if (out == NULL) {
        return NULL;
    }
    *to++ = '\'';
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text >= 0x20 && *text != 0x7F) {
            *to++ = *text;
        }
        if (*text == '\'') {
            *to++ = '\'';
        }
    }
    *to = '\'';
    return out;
}

/* Whether a name can be written down: weights are not refused for the place they come from. */
static bool can_be_said(const char *name)
{
    return name[0] != '\0' && ty_utf8_check("", name, strlen(name), NULL) == 0;
}

/* Where the weights are from, or how the file is called; most are called config.json, which says
 * less than the family. A path on somebody's disk counts by its end. */
static void put_name(struct ty_hf_reader *r, const char *path, const char *family)
{
    const struct ty_node *node = ty_hf_value(r, "_name_or_path");
    const char *from = node != NULL && node->kind == TY_NODE_SCALAR ? node->text : "";
    const char *base = ty_path_name(path), *name = family;
    const char *file = ty_arena_strndup(r->arena, base, ty_path_stem(base));
    if (from[0] == '/' || from[0] == '.') {
        from = ty_path_name(from);
    }
    if (can_be_said(from)) {
        name = from;
    } else if (file != NULL && strcmp(file, "config") != 0 && can_be_said(file)) {
        name = file;
    }
    name = file != NULL ? quoted(r, name) : NULL;
    if (name == NULL) {
        r->code = ty_fail_memory(r->err);
    } else {
        ty_hf_put(r, "name", name);
    }
}

int ty_arch_huggingface(struct ty_arena *arena, const char *path, struct ty_huggingface *out,
                        struct ty_err *err)
{
    struct ty_hf_reader r = {.arena = arena, .err = err, .text = ""};
    const struct ty_node *type = NULL;
    const int rc = ty_doc_load(&r.doc, arena, path, err);
    *out = (struct ty_huggingface){NULL, NULL};
    if (rc < 0 || ty_doc_check_json(&r.doc, err) < 0) {
        return rc < 0 ? rc : TY_EINPUT;
    }
    if (r.doc.root == NULL || r.doc.root->kind != TY_NODE_MAP) {
        return ty_fail(err, TY_EINPUT,
                       "%s: not a JSON object; name the config.json that belongs to the model's "
                       "weights",
                       path);
    }
    r.root = r.doc.root;
    (void)enter_decoder(&r);
    const struct ty_hf_family *family = find_family(&r, &type);
    if (family != NULL) {
        refuse(&r, family);
    }
    if (r.code == 0) {
        check_classes(&r, family);
    }
    if (r.code == 0) {
        convert(&r, family);
        tell_unknown(&r, type);
        r.root = r.doc.root;
        put_name(&r, path, family->model_type);
    }
    if (r.code == 0) {
        *out = (struct ty_huggingface){r.text, r.remarks};
    }
    return r.code;
}
