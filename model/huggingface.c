/* huggingface.c - the `model` section from a Hugging Face config.json.
 *
 * A family (model_type) is a row: which keys name its sizes and what the keys do not say. What a
 * file leaves out has the default of the transformers library. Keys of experts and of latent
 * attention are read in huggingface_sparse.c; a family that has none of them is refused by the key
 * that gives them away. Keys that nobody asks for and that are not known to be idle are told. */
#include <stdlib.h>
#include <string.h>

#include "model/huggingface_internal.h"
#include "sim/base/path.h"
#include "sim/base/utf8.h"

/* Where the sizes are; NULL: the family has no such key. */
struct keys {
    const char *layers, *hidden, *heads, *kv_heads, *head_dim, *ffn, *positions, *dropout;
};
static const struct keys common_keys = {"num_hidden_layers",
                                        "hidden_size",
                                        "num_attention_heads",
                                        "num_key_value_heads",
                                        "head_dim",
                                        "intermediate_size",
                                        NULL,
                                        NULL};
/* head_dim, where it is given, is the width of the position part. */
static const struct keys deepseek_keys = {"num_hidden_layers",
                                          "hidden_size",
                                          "num_attention_heads",
                                          "num_key_value_heads",
                                          "qk_nope_head_dim",
                                          "intermediate_size",
                                          NULL,
                                          NULL};
static const struct keys dbrx_keys = {
    "n_layers", "d_model", "n_heads", "attn_config.kv_n_heads", NULL, "ffn_config.ffn_hidden_size",
    NULL,       NULL};
static const struct keys gpt2_keys = {"n_layer", "n_embd",  "n_head",      NULL,
                                      NULL,      "n_inner", "n_positions", "resid_pdrop"};

struct family {
    const char *model_type;
    const struct keys *keys;
    const char *mlp, *norm_kind;
    int attention_bias;                  /* TY_BIAS_NONE, _QKV or _ATTENTION, when no key says */
    bool mlp_bias;                       /* the same */
    bool tied;                           /* when tie_word_embeddings is missing */
    bool qk_norm;                        /* no key says */
    bool both_halves;                    /* of the MLP are in its width: gate and up */
    const struct ty_hf_experts *experts; /* NULL: it has none */
};

/* Source: the configuration classes of huggingface/transformers. Gated MLPs with another activation
 * than SiLU (Gemma) have the shape and cost of SwiGLU. */
static const struct family families[] = {
    {"llama", &common_keys, "swiglu", "rmsnorm", TY_BIAS_NONE, false, false, false, false, NULL},
    {"mistral", &common_keys, "swiglu", "rmsnorm", TY_BIAS_NONE, false, false, false, false, NULL},
    {"qwen", &common_keys, "swiglu", "rmsnorm", TY_BIAS_QKV, false, false, false, true, NULL},
    {"qwen2", &common_keys, "swiglu", "rmsnorm", TY_BIAS_QKV, false, false, false, false, NULL},
    {"qwen3", &common_keys, "swiglu", "rmsnorm", TY_BIAS_NONE, false, false, true, false, NULL},
    {"phi3", &common_keys, "swiglu", "rmsnorm", TY_BIAS_NONE, false, false, false, false, NULL},
    {"gemma", &common_keys, "swiglu", "rmsnorm", TY_BIAS_NONE, false, true, false, false, NULL},
    {"starcoder2", &common_keys, "gelu", "layernorm", TY_BIAS_ATTENTION, true, true, false, false,
     NULL},
    {"gpt_neox", &common_keys, "gelu", "layernorm", TY_BIAS_ATTENTION, true, false, false, false,
     NULL},
    {"gpt2", &gpt2_keys, "gelu", "layernorm", TY_BIAS_ATTENTION, true, true, false, false, NULL},
    {"mixtral", &common_keys, "swiglu", "rmsnorm", TY_BIAS_NONE, false, false, false, false,
     &ty_hf_mixtral},
    {"qwen2_moe", &common_keys, "swiglu", "rmsnorm", TY_BIAS_QKV, false, false, false, false,
     &ty_hf_qwen2_moe},
    {"qwen3_moe", &common_keys, "swiglu", "rmsnorm", TY_BIAS_NONE, false, false, true, false,
     &ty_hf_qwen3_moe},
    {"deepseek_v2", &deepseek_keys, "swiglu", "rmsnorm", TY_BIAS_NONE, false, false, false, false,
     &ty_hf_deepseek},
    {"deepseek_v3", &deepseek_keys, "swiglu", "rmsnorm", TY_BIAS_NONE, false, false, false, false,
     &ty_hf_deepseek},
    {"kimi_k2", &deepseek_keys, "swiglu", "rmsnorm", TY_BIAS_NONE, false, false, false, false,
     &ty_hf_deepseek},
    {"gpt_oss", &common_keys, "swiglu", "rmsnorm", TY_BIAS_ATTENTION, true, false, false, false,
     &ty_hf_gpt_oss},
    {"olmoe", &common_keys, "swiglu", "rmsnorm", TY_BIAS_NONE, false, false, true, false,
     &ty_hf_olmoe},
    {"dbrx", &dbrx_keys, "swiglu", "layernorm", TY_BIAS_NONE, false, false, false, false,
     &ty_hf_dbrx},
};

/* Keys that give away what a family has no row for. */
static const struct {
    const char *key, *what;
} refused[] = {
    {"num_local_experts", "a mixture of experts"},
    {"num_experts", "a mixture of experts"},
    {"n_routed_experts", "a mixture of experts"},
    {"moe_intermediate_size", "a mixture of experts"},
    {"kv_lora_rank", "multi-head latent attention"},
};

/* ---- reading ---- */

/* Remembers that somebody asked for a key. */
static void note_asked(struct ty_hf_reader *r, const char *key, size_t length)
{
    for (uint32_t i = 0; i < r->n_asked; i++) {
        if (strncmp(r->asked[i], key, length) == 0 && r->asked[i][length] == '\0') {
            return;
        }
    }
    const char *name = ty_arena_strndup(r->arena, key, length);
    if (name != NULL && r->n_asked < TY_COUNT(r->asked)) {
        r->asked[r->n_asked++] = name;
    }
}

const struct ty_node *ty_hf_value(struct ty_hf_reader *r, const char *key)
{
    if (key == NULL) {
        return NULL;
    }
    const char *dot = strchr(key, '.');
    const size_t length = dot != NULL ? (size_t)(dot - key) : strlen(key);
    const char *outer = ty_arena_strndup(r->arena, key, length);
    const struct ty_node *node = outer == NULL ? NULL : ty_node_child(r->doc.root, outer);
    note_asked(r, key, length);
    if (dot != NULL) {
        node = node != NULL && node->kind == TY_NODE_MAP ? ty_node_child(node, dot + 1) : NULL;
    }
    const bool is_null = node != NULL && node->kind == TY_NODE_SCALAR && !node->quoted &&
                         (node->text == NULL || strcmp(node->text, "null") == 0);
    return is_null ? NULL : node;
}

void ty_hf_fail(struct ty_hf_reader *r, const struct ty_node *node, const char *key,
                const char *what)
{
    const struct ty_place at = node != NULL          ? ty_node_place(&r->doc, node)
                               : r->doc.root != NULL ? ty_node_place(&r->doc, r->doc.root)
                                                     : (struct ty_place){.file = r->doc.file};
    const int rc = ty_fail_at(r->err, TY_EINPUT, &at, "%s: %s", key, what);
    r->code = r->code < 0 ? r->code : rc;
}

void ty_hf_put(struct ty_hf_reader *r, const char *key, const char *value)
{
    const char *text = ty_arena_printf(r->arena, "%s%s: %s\n", r->text, key, value);
    if (text == NULL) {
        r->code = ty_fail_memory(r->err);
        return;
    }
    r->text = text;
}

bool ty_hf_is_number(const struct ty_node *node, bool whole)
{
    const char *digits = whole ? "0123456789" : "0123456789.eE+-";
    return node->kind == TY_NODE_SCALAR && !node->quoted && node->text != NULL &&
           node->text[0] != '\0' && node->text[strspn(node->text, digits)] == '\0';
}

void ty_hf_number(struct ty_hf_reader *r, const char *to, const char *from, bool needed,
                  unsigned long parts)
{
    const struct ty_node *node = ty_hf_value(r, from);
    if (node == NULL) {
        if (needed) {
            ty_hf_fail(r, NULL, from, "missing; the model's size cannot be known without it");
        }
    } else if (!ty_hf_is_number(node, true)) {
        ty_hf_fail(r, node, from, "not a whole number");
    } else if (parts == 1) {
        ty_hf_put(r, to, node->text);
    } else {
        const char *part = ty_arena_printf(r->arena, "%lu", strtoul(node->text, NULL, 10) / parts);
        ty_hf_put(r, to, part != NULL ? part : node->text);
    }
}

bool ty_hf_flag(struct ty_hf_reader *r, const char *key, bool otherwise)
{
    const struct ty_node *node = ty_hf_value(r, key);
    if (node == NULL) {
        return otherwise;
    }
    const bool is_true = node->kind == TY_NODE_SCALAR && strcmp(node->text, "true") == 0;
    if (!is_true && (node->kind != TY_NODE_SCALAR || strcmp(node->text, "false") != 0)) {
        ty_hf_fail(r, node, key, "neither true nor false");
    }
    return is_true;
}

/* ---- families ---- */

static const char *known_families(struct ty_arena *arena)
{
    const char *list = "";
    for (size_t i = 0; i < TY_COUNT(families) && list != NULL; i++) {
        list = ty_arena_printf(arena, "%s%s%s", list, i > 0 ? ", " : "", families[i].model_type);
    }
    return list == NULL ? "" : list;
}

static const struct family *find_family(struct ty_hf_reader *r)
{
    const struct ty_node *node = ty_hf_value(r, "model_type");
    const char *name = node != NULL && node->kind == TY_NODE_SCALAR ? node->text : NULL;
    for (size_t i = 0; name != NULL && i < TY_COUNT(families); i++) {
        if (strcmp(families[i].model_type, name) == 0) {
            return &families[i];
        }
    }
    const char *known = known_families(r->arena);
    const char *what =
        name == NULL ? ty_arena_printf(r->arena, "missing; known are %s", known)
                     : ty_arena_printf(r->arena,
                                       "unknown (%.60s); known are %s; else give layers, hidden, "
                                       "heads and vocabulary in the model section",
                                       name, known);
    ty_hf_fail(r, node, "model_type", what == NULL ? "unknown" : what);
    return NULL;
}

static void refuse(struct ty_hf_reader *r, const struct family *family)
{
    for (size_t i = 0; i < TY_COUNT(refused) && family->experts == NULL; i++) {
        const struct ty_node *node = ty_hf_value(r, refused[i].key);
        const bool idle = node != NULL && node->kind == TY_NODE_SCALAR &&
                          (strcmp(node->text, "0") == 0 || strcmp(node->text, "1") == 0);
        if (node != NULL && !idle) {
            const char *what = ty_arena_printf(r->arena, "%s, and models of type %s have none",
                                               refused[i].what, family->model_type);
            ty_hf_fail(r, node, refused[i].key, what == NULL ? refused[i].what : what);
            return; /* one reason is enough */
        }
    }
}

/* As a word of model.bias. `attention_bias` is of q, k, v and the output projection; families with
 * biases in q, k and v alone have no key for it. */
static const char *bias_of(struct ty_hf_reader *r, const struct family *family)
{
    const bool given = ty_hf_value(r, "use_bias") != NULL, all = ty_hf_flag(r, "use_bias", false);
    const bool usual = family->attention_bias == TY_BIAS_ATTENTION;
    const bool attention = ty_hf_flag(r, "attention_bias", given ? all : usual);
    const bool mlp = ty_hf_flag(r, "mlp_bias", given ? all : family->mlp_bias);
    if (family->attention_bias == TY_BIAS_QKV) {
        return "qkv";
    }
    return attention ? (mlp ? "true" : "attention") : (mlp ? "mlp" : "false");
}

/* All layers of Mistral, Phi-3 and StarCoder2 have the window that is given; those of Qwen only
 * where another key says so, and from some layer on; where layer_types says which, these. */
static void convert_window(struct ty_hf_reader *r, const struct family *family)
{
    const struct ty_node *node = ty_hf_value(r, "sliding_window");
    const bool qwen = strncmp(family->model_type, "qwen", 4) == 0;
    (void)ty_hf_value(r, "layer_types");
    if (node == NULL || !ty_hf_is_number(node, false) ||
        !ty_hf_flag(r, "use_sliding_window", !qwen)) {
        return;
    }
    if (qwen) {
        ty_hf_fail(r, ty_hf_value(r, "use_sliding_window"), "use_sliding_window",
                   "windows from layer max_window_layers on are not simulated; write false");
        return;
    }
    if (ty_hf_window_period(r, family->experts != NULL && family->experts->sinks)) {
        ty_hf_put(r, "window", node->text);
    }
}

static void convert(struct ty_hf_reader *r, const struct family *family)
{
    const struct keys *keys = family->keys;
    const struct {
        const char *to, *from;
        bool needed;
    } sizes[] = {
        {"layers", keys->layers, true},       {"hidden", keys->hidden, true},
        {"heads", keys->heads, true},         {"kv_heads", keys->kv_heads, false},
        {"head_dim", keys->head_dim, false},  {"ffn", keys->ffn, keys != &gpt2_keys},
        {"vocabulary", "vocab_size", true},   {"positions", keys->positions, false},
        {"sequence", keys->positions, false}, /* what the positions were learned for */
    };
    for (size_t i = 0; i < TY_COUNT(sizes); i++) {
        if (sizes[i].from != NULL) {
            const bool halved = family->both_halves && sizes[i].from == keys->ffn;
            ty_hf_number(r, sizes[i].to, sizes[i].from, sizes[i].needed, halved ? 2 : 1);
        }
    }
    const struct ty_node *dropout = ty_hf_value(r, keys->dropout);
    if (dropout != NULL && ty_hf_is_number(dropout, false)) {
        ty_hf_put(r, "dropout", dropout->text);
    }
    ty_hf_put(r, "mlp", family->mlp);
    ty_hf_put(r, "norm_kind", family->norm_kind);
    ty_hf_put(r, "bias", bias_of(r, family));
    convert_window(r, family);
    ty_hf_put(r, "qk_norm", family->qk_norm ? "true" : "false");
    ty_hf_put(r, "tied", ty_hf_flag(r, "tie_word_embeddings", family->tied) ? "true" : "false");
    if (family->experts != NULL) {
        ty_hf_convert_sparse(r, family->experts);
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
    const int rc = ty_doc_load(&r.doc, arena, path, err);
    *out = (struct ty_huggingface){NULL, NULL};
    if (rc < 0) {
        return rc;
    }
    if (r.doc.root == NULL || r.doc.root->kind != TY_NODE_MAP) {
        return ty_fail(err, TY_EINPUT,
                       "%s: not a JSON object; name the config.json that belongs to the model's "
                       "weights",
                       path);
    }
    const struct family *family = find_family(&r);
    if (family != NULL) {
        refuse(&r, family);
    }
    if (r.code == 0) {
        convert(&r, family);
        put_name(&r, path, family->model_type);
    }
    if (r.code == 0) {
        out->remarks = ty_hf_unknown(&r);
        out->text = r.text;
    }
    return r.code;
}
