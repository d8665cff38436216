/* huggingface_shape.c - sizes, biases, norms and positions of a Hugging Face config.json: what its
 * keys say, and where they say nothing what its class has. */
#include <string.h>

#include "model/huggingface_internal.h"
#include "sim/base/number_text.h"

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

void ty_hf_read_shape(struct ty_hf_reader *r, const struct ty_hf_family *family, bool nested,
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

void ty_hf_put_shape(struct ty_hf_reader *r, const struct ty_hf_shape *shape)
{
    const struct {
        const char *key;
        unsigned long value;
        bool derived; /* what it is otherwise, the section knows */
    } sizes[] = {
        {"layers", shape->layers, false},         {"hidden", shape->hidden, false},
        {"heads", shape->heads, false},           {"kv_heads", shape->kv_heads, true},
        {"head_dim", shape->head_dim, true},      {"ffn", shape->ffn, true},
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
