/* huggingface_sparse.c - keys of experts, latent attention, further tokens and alternating windows
 * in a Hugging Face config.json, and keys that are not understood. */
#include <stdlib.h>
#include <string.h>

#include "model/huggingface_internal.h"

/* Source: the configuration classes of huggingface/transformers, and of the models' own code. */
const struct ty_hf_experts ty_hf_mixtral = {.experts = "num_local_experts",
                                            .per_token = "num_experts_per_tok",
                                            .width = "intermediate_size"};
const struct ty_hf_experts ty_hf_olmoe = {
    .experts = "num_experts", .per_token = "num_experts_per_tok", .width = "intermediate_size"};
const struct ty_hf_experts ty_hf_qwen2_moe = {.experts = "num_experts",
                                              .per_token = "num_experts_per_tok",
                                              .width = "moe_intermediate_size",
                                              .shared_width = "shared_expert_intermediate_size",
                                              .shared_gate = true};
const struct ty_hf_experts ty_hf_qwen3_moe = {
    .experts = "num_experts", .per_token = "num_experts_per_tok", .width = "moe_intermediate_size"};
const struct ty_hf_experts ty_hf_deepseek = {.experts = "n_routed_experts",
                                             .per_token = "num_experts_per_tok",
                                             .width = "moe_intermediate_size",
                                             .n_shared = "n_shared_experts",
                                             .latent = true};
const struct ty_hf_experts ty_hf_gpt_oss = {.experts = "num_local_experts",
                                            .per_token = "num_experts_per_tok",
                                            .width = "intermediate_size",
                                            .sinks = true,
                                            .router_bias = true};
const struct ty_hf_experts ty_hf_dbrx = {.experts = "ffn_config.moe_num_experts",
                                         .per_token = "ffn_config.moe_top_k",
                                         .width = "ffn_config.ffn_hidden_size"};

/* A whole number; 0 when it is missing or none. */
static unsigned long number(struct ty_hf_reader *r, const char *key)
{
    const struct ty_node *node = ty_hf_value(r, key);
    return node != NULL && ty_hf_is_number(node, true) ? strtoul(node->text, NULL, 10) : 0;
}

/* The same of a key that no other reader checks. */
static unsigned long checked(struct ty_hf_reader *r, const char *key)
{
    const struct ty_node *node = ty_hf_value(r, key);
    if (node != NULL && !ty_hf_is_number(node, true)) {
        ty_hf_fail(r, node, key, "not a whole number");
    }
    return number(r, key);
}

static bool is_text(struct ty_hf_reader *r, const char *key, const char *text)
{
    const struct ty_node *node = ty_hf_value(r, key);
    return node != NULL && node->kind == TY_NODE_SCALAR && strcmp(node->text, text) == 0;
}

static void put_number(struct ty_hf_reader *r, const char *key, unsigned long value)
{
    const char *text = ty_arena_printf(r->arena, "%lu", value);
    ty_hf_put(r, key, text != NULL ? text : "0");
}

/* Layers of every n-th kind have experts: only of n = 1 can that be said. */
static void check_every(struct ty_hf_reader *r, const char *key)
{
    const struct ty_node *node = ty_hf_value(r, key);
    if (node != NULL && number(r, key) != 1) {
        ty_hf_fail(r, node, key,
                   "layers without experts between those that have them are not simulated; write "
                   "1");
    }
}

/* The first layers, whichever key says so. */
static void convert_dense(struct ty_hf_reader *r)
{
    const struct ty_node *only = ty_hf_value(r, "mlp_only_layers");
    uint32_t n = 0;
    ty_hf_number(r, "dense_layers", "first_k_dense_replace", false, 1);
    check_every(r, "moe_layer_freq");
    check_every(r, "decoder_sparse_step");
    if (only == NULL || only->kind != TY_NODE_LIST) {
        return;
    }
    for (const struct ty_node *item = only->first; item != NULL; item = item->next, n++) {
        if (!ty_hf_is_number(item, true) || strtoul(item->text, NULL, 10) != n) {
            ty_hf_fail(r, item, "mlp_only_layers",
                       "layers without experts that are not the first ones are not simulated");
            return;
        }
    }
    if (n > 0) {
        put_number(r, "dense_layers", n);
    }
}

/* One group is none, and so are those that nothing chooses among. */
static void convert_groups(struct ty_hf_reader *r)
{
    const unsigned long groups = checked(r, "n_group"), limit = checked(r, "topk_group");
    if (groups > 1 && limit > 0 && !is_text(r, "topk_method", "greedy")) {
        put_number(r, "expert_groups", groups);
        put_number(r, "group_limit", limit);
    }
}

/* Queries may have none (DeepSeek-V2-Lite). */
static void convert_latent(struct ty_hf_reader *r)
{
    ty_hf_number(r, "kv_latent", "kv_lora_rank", true, 1);
    ty_hf_number(r, "head_rope", "qk_rope_head_dim", true, 1);
    ty_hf_number(r, "head_value", "v_head_dim", true, 1);
    ty_hf_number(r, "query_latent", "q_lora_rank", false, 1);
}

void ty_hf_convert_sparse(struct ty_hf_reader *r, const struct ty_hf_experts *x)
{
    const unsigned long shared = x->n_shared != NULL ? checked(r, x->n_shared) : 0;
    ty_hf_number(r, "experts", x->experts, true, 1);
    ty_hf_number(r, "experts_per_token", x->per_token, true, 1);
    ty_hf_number(r, "expert_ffn", x->width, true, 1);
    if (x->shared_width != NULL) {
        ty_hf_number(r, "shared_ffn", x->shared_width, false, 1);
    } else if (shared > 0) {
        put_number(r, "shared_ffn", shared * number(r, x->width));
    }
    ty_hf_put(r, "shared_gate",
              x->shared_gate && number(r, x->shared_width) > 0 ? "true" : "false");
    ty_hf_put(r, "sinks", x->sinks ? "true" : "false");
    ty_hf_put(r, "router_bias",
              x->router_bias || is_text(r, "topk_method", "noaux_tc") ? "true" : "false");
    convert_dense(r);
    convert_groups(r);
    if (x->latent) {
        convert_latent(r);
    }
    ty_hf_number(r, "mtp", "num_nextn_predict_layers", false, 1);
}

/* ---- windows ---- */

static bool is_full(const struct ty_node *item)
{
    return item->kind == TY_NODE_SCALAR && strcmp(item->text, "full_attention") == 0;
}

bool ty_hf_window_period(struct ty_hf_reader *r, bool alternate)
{
    const struct ty_node *types = ty_hf_value(r, "layer_types");
    unsigned long period = alternate ? 2 : 0, at = 0;
    if (types != NULL && types->kind == TY_NODE_LIST) {
        period = 0;
        for (const struct ty_node *item = types->first; item != NULL; item = item->next) {
            at++;
            period = period == 0 && is_full(item) ? at : period;
            if (period > 0 && is_full(item) != (at % period == 0)) {
                ty_hf_fail(r, item, "layer_types",
                           "only every n-th layer can be one of full attention");
                return false;
            }
        }
    }
    if (period > 1) {
        put_number(r, "window_period", period);
    }
    return period != 1;
}

/* ---- keys that nobody understands ---- */

/* Keys with numbers, lists or mappings that say nothing of the shape. */
static const char *const idle[] = {
    "architectures",
    "auto_map",
    "chunk_size_feed_forward",
    "do_sample",
    "early_stopping",
    "ep_size",
    "experts_per_token",
    "gradient_checkpointing",
    "id2label",
    "initial_context_length",
    "label2id",
    "max_length",
    "max_position_embeddings",
    "max_seq_len",
    "max_window_layers",
    "min_length",
    "n_ctx",
    "no_bias",
    "norm_topk_prob",
    "num_beam_groups",
    "num_beams",
    "num_labels",
    "num_return_sequences",
    "original_max_position_embeddings",
    "output_hidden_states",
    "output_router_logits",
    "pretraining_tp",
    "quantization_config",
    "return_dict",
    "rope_parameters",
    "rope_scaling",
    "rope_theta",
    "rotary_dim",
    "rotary_emb_base",
    "seq_aux",
    "seq_length",
    "task_specific_params",
    "top_k",
    "use_bfloat16",
    "use_cache",
};

static bool is_idle(const char *key)
{
    static const char *const ends[] = {"_token_id", "_token_ids", "_coef", "_theta"};
    for (size_t i = 0; i < TY_COUNT(idle); i++) {
        if (strcmp(key, idle[i]) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < TY_COUNT(ends); i++) {
        const size_t n = strlen(key), end = strlen(ends[i]);
        if (n >= end && strcmp(key + n - end, ends[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether a value may be about the shape: a number of things, a yes, or several values. Names,
 * shares and what is off are not. */
static bool may_matter(const struct ty_node *value)
{
    if (value->kind != TY_NODE_SCALAR) {
        return value->first != NULL;
    }
    return (ty_hf_is_number(value, true) && strtoul(value->text, NULL, 10) > 0) ||
           (!value->quoted && value->text != NULL && strcmp(value->text, "true") == 0);
}

static bool was_asked(const struct ty_hf_reader *r, const char *key)
{
    for (uint32_t i = 0; i < r->n_asked; i++) {
        if (strcmp(r->asked[i], key) == 0) {
            return true;
        }
    }
    return false;
}

const char *ty_hf_unknown(struct ty_hf_reader *r)
{
    const char *lines = NULL;
    for (const struct ty_node *node = r->doc.root->first; node != NULL; node = node->next) {
        if (was_asked(r, node->key) || is_idle(node->key) || !may_matter(node)) {
            continue;
        }
        const struct ty_place at = ty_node_place(&r->doc, node);
        lines = ty_arena_printf(r->arena,
                                "%s%s:%u:%u: %.60s: not understood and left aside; if it is about "
                                "the model's shape, give what it means in the model section\n",
                                lines != NULL ? lines : "", at.file, (unsigned)at.line,
                                (unsigned)at.col, node->key);
    }
    return lines;
}
