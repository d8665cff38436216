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
#include "sim/base/path.h"
#include "sim/base/utf8.h"

/* Keys that give away what no family has, or what one without experts has not. */
static const struct {
    const char *key, *what;
    bool always; /* else only of a family without experts */
} refused[] = {
    {"num_local_experts", "a mixture of experts", false},
    {"num_experts", "a mixture of experts", false},
    {"n_routed_experts", "a mixture of experts", false},
    {"moe_intermediate_size", "a mixture of experts", false},
    {"kv_lora_rank", "multi-head latent attention", false},
    {"index_topk", "an indexer that chooses keys", true},
    {"linear_num_value_heads|linear_attn_config", "linear attention", true},
    {"mamba_d_state|ssm_cfg|ssm_state_size", "state space layers", true},
    {"use_cla", "keys and values that layers share", true},
    {"num_kv_shared_layers", "keys and values that layers share", true},
    {"num_key_value_heads_per_layer|block_configs", "layers that differ in heads", true},
    {"is_encoder_decoder", "an encoder", true},
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
        "unknown (%.60s), and not of llama's shape: %s; trainyard list families has those that are "
        "read; else give layers, hidden, heads and vocabulary in the model section",
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
                 "unknown; all keys that count are llama's, and so it is read as llama");
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
        ty_hf_fail(r, *type, "model_type",
                   "missing; trainyard list families has those that are read");
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
        const bool asks = refused[i].always || family->experts == NULL;
        const struct ty_node *node = asks ? ty_hf_value(r, refused[i].key) : NULL;
        if (node != NULL && !is_idle(node)) {
            const char *what =
                ty_arena_printf(r->arena,
                                refused[i].always ? "%s: that is not simulated"
                                                  : "%s, and models of type %s have none",
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

/* Files of models that see or hear have the decoder's keys in a mapping. */
static bool enter_decoder(struct ty_hf_reader *r)
{
    static const char *const names[] = {"text_config", "llm_config", "language_config"};
    for (size_t i = 0; i < TY_COUNT(names); i++) {
        const struct ty_node *part = ty_node_child(r->doc.root, names[i]);
        if (part != NULL && part->kind == TY_NODE_MAP &&
            ty_node_child(r->doc.root, "num_hidden_layers") == NULL) {
            r->root = part;
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
    ty_hf_read_shape(r, family, nested, &shape);
    tie(r, &shape);
    if (r->code < 0) {
        return;
    }
    ty_hf_put_shape(r, &shape);
    ty_hf_put_windows(r, family, &shape);
    if (family->experts != NULL && (shape.experts > 0 || !family->experts->optional)) {
        ty_hf_put_experts(r, family->experts, &shape);
    }
    if (family->experts != NULL && family->experts->latent) {
        ty_hf_put_latent(r, &shape);
    }
    const unsigned long further = ty_hf_number(r, "num_nextn_predict_layers", 0);
    if (further > 0) {
        ty_hf_put_number(r, "mtp", further);
        ty_hf_remark(r, ty_hf_value(r, "num_nextn_predict_layers"), "num_nextn_predict_layers",
                     "these modules are simulated and count among the parameters; model.mtp: 0 "
                     "leaves them out");
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
                         "not understood and left aside; if it is about the model's shape, give "
                         "what it means in the model section");
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
    if (rc < 0) {
        return rc;
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
