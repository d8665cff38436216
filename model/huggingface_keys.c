/* huggingface_keys.c - values of keys of a Hugging Face config.json, lines of a model section, and
 * keys that nobody has asked for. */
#include <stdlib.h>
#include <string.h>

#include "model/huggingface_internal.h"

/* ---- values ---- */

static bool is_same(const struct ty_hf_asked *asked, const char *key, size_t length)
{
    return asked->length == length && memcmp(asked->key, key, length) == 0;
}

/* Remembers that somebody asked for a key. */
static void note_asked(struct ty_hf_reader *r, const char *key, size_t length)
{
    for (uint32_t i = 0; i < r->n_asked; i++) {
        if (is_same(&r->asked[i], key, length)) {
            return;
        }
    }
    if (r->n_asked < TY_COUNT(r->asked)) {
        r->asked[r->n_asked++] = (struct ty_hf_asked){key, length};
    }
}

/* The child of a mapping by the first letters of a text. */
static const struct ty_node *child(const struct ty_node *map, const char *key, size_t length)
{
    const struct ty_node *node = map != NULL && map->kind == TY_NODE_MAP ? map->first : NULL;
    while (node != NULL && (strncmp(node->key, key, length) != 0 || node->key[length] != '\0')) {
        node = node->next;
    }
    return node;
}

static bool is_null(const struct ty_node *node)
{
    return node->kind == TY_NODE_SCALAR && !node->quoted &&
           (node->text == NULL || strcmp(node->text, "null") == 0);
}

/* One of the ways to write a key, `length` long. */
static const struct ty_node *value_of(struct ty_hf_reader *r, const char *key, size_t length)
{
    const char *dot = memchr(key, '.', length);
    const size_t outer = dot != NULL ? (size_t)(dot - key) : length;
    const struct ty_node *node = child(r->root, key, outer);
    note_asked(r, key, outer);
    if (dot != NULL) {
        node = child(node, dot + 1, length - outer - 1);
    }
    return node == NULL || is_null(node) ? NULL : node;
}

const struct ty_node *ty_hf_value(struct ty_hf_reader *r, const char *key)
{
    const struct ty_node *found = NULL;
    while (key != NULL && *key != '\0') {
        const size_t length = strcspn(key, "|");
        const struct ty_node *node = value_of(r, key, length); /* asked for, even if not used */
        found = found != NULL ? found : node;
        key += length + (key[length] == '|');
    }
    return found;
}

void ty_hf_fail(struct ty_hf_reader *r, const struct ty_node *node, const char *key,
                const char *what)
{
    const struct ty_place at = node != NULL      ? ty_node_place(&r->doc, node)
                               : r->root != NULL ? ty_node_place(&r->doc, r->root)
                                                 : (struct ty_place){.file = r->doc.file};
    const int rc =
        ty_fail_at(r->err, TY_EINPUT, &at, "%.*s: %s", (int)strcspn(key, "|"), key, what);
    r->code = r->code < 0 ? r->code : rc;
}

void ty_hf_remark(struct ty_hf_reader *r, const struct ty_node *node, const char *key,
                  const char *what)
{
    const struct ty_place at = ty_node_place(&r->doc, node != NULL ? node : r->root);
    const char *lines =
        ty_arena_printf(r->arena, "%s%s:%u:%u: %.60s: %s\n", r->remarks != NULL ? r->remarks : "",
                        at.file, (unsigned)at.line, (unsigned)at.col, key, what);
    r->remarks = lines != NULL ? lines : r->remarks;
}

bool ty_hf_is_number(const struct ty_node *node, bool whole)
{
    const char *digits = whole ? "0123456789" : "0123456789.eE+-";
    return node->kind == TY_NODE_SCALAR && !node->quoted && node->text != NULL &&
           node->text[0] != '\0' && node->text[strspn(node->text, digits)] == '\0';
}

/* A list of equal numbers is one of them. */
static const struct ty_node *only(const struct ty_node *node)
{
    const struct ty_node *first = node->kind == TY_NODE_LIST ? node->first : NULL;
    if (first == NULL || !ty_hf_is_number(first, true)) {
        return node;
    }
    for (const struct ty_node *item = first->next; item != NULL; item = item->next) {
        if (!ty_hf_is_number(item, true) || strcmp(item->text, first->text) != 0) {
            return node;
        }
    }
    return first;
}

unsigned long ty_hf_number(struct ty_hf_reader *r, const char *key, unsigned long otherwise)
{
    const struct ty_node *node = ty_hf_value(r, key);
    if (node == NULL) {
        return otherwise;
    }
    const struct ty_node *one = only(node);
    if (ty_hf_is_number(one, true)) {
        return strtoul(one->text, NULL, 10);
    }
    if (one->kind == TY_NODE_SCALAR && !one->quoted && strcmp(one->text, "false") == 0) {
        return 0; /* Hunyuan's way to say none */
    }
    ty_hf_fail(r, node, key,
               node->kind == TY_NODE_LIST
                   ? "differs from layer to layer; a model of equal layers can be simulated"
                   : "not a whole number");
    return 0;
}

unsigned long ty_hf_needed(struct ty_hf_reader *r, const char *key)
{
    if (ty_hf_value(r, key) == NULL) {
        ty_hf_fail(r, NULL, key, "missing; the model's size cannot be known without it");
    }
    return ty_hf_number(r, key, 0);
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

bool ty_hf_is_text(struct ty_hf_reader *r, const char *key, const char *text)
{
    const struct ty_node *node = ty_hf_value(r, key);
    return node != NULL && node->kind == TY_NODE_SCALAR && node->text != NULL &&
           strcmp(node->text, text) == 0;
}

/* ---- lines ---- */

void ty_hf_put(struct ty_hf_reader *r, const char *key, const char *value)
{
    const char *text = ty_arena_printf(r->arena, "%s%s: %s\n", r->text, key, value);
    if (text == NULL) {
        r->code = ty_fail_memory(r->err);
        return;
    }
    r->text = text;
}

void ty_hf_put_number(struct ty_hf_reader *r, const char *key, unsigned long value)
{
    const char *text = ty_arena_printf(r->arena, "%lu", value);
    ty_hf_put(r, key, text != NULL ? text : "0");
}

void ty_hf_put_layers(struct ty_hf_reader *r, const char *key, const bool *in, unsigned long n)
{
    const char *list = "";
    for (unsigned long i = 0; i < n && list != NULL; i++) {
        if (in[i]) {
            list = ty_arena_printf(r->arena, "%s%s%lu", list, list[0] != '\0' ? ", " : "", i);
        }
    }
    const char *text = list != NULL ? ty_arena_printf(r->arena, "[%s]", list) : NULL;
    if (text == NULL) {
        r->code = ty_fail_memory(r->err);
    } else if (list[0] != '\0') {
        ty_hf_put(r, key, text);
    }
}

/* ---- keys that nobody understands ---- */

/* Keys with numbers, lists or mappings that say nothing of the shape. */
static const char *const idle[] = {
    "_from_model_config",
    "alibi_bias_max",
    "apply_query_key_layer_scaling",
    "apply_residual_connection_post_layernorm",
    "architectures",
    "attention_bias_in_fp32",
    "attention_multiplier",
    "attention_softmax_in_fp32",
    "attn_implementation",
    "auto_map",
    "bf16",
    "bias_dropout_fusion",
    "cache_implementation",
    "chunk_size_feed_forward",
    "classifier_dropout",
    "clip_qkv",
    "compression_ratio",
    "dim_model_base",
    "do_sample",
    "early_stopping",
    "embedding_fraction",
    "embedding_multiplier",
    "ep_size",
    "experts_per_token",
    "final_logit_softcapping",
    "floor_scale",
    "for_llm_class",
    "fp16",
    "fp32",
    "fp32_residual_connection",
    "gradient_checkpointing",
    "id2label",
    "init_config",
    "initial_context_length",
    "interpolation",
    "is_decoder",
    "label2id",
    "logits_scaling",
    "logits_soft_cap",
    "logit_scale",
    "masked_softmax_fusion",
    "max_length",
    "max_position_embeddings",
    "max_sequence_length",
    "max_seq_len",
    "max_window_layers",
    "min_length",
    "moe_router_enable_expert_bias",
    "moe_router_topk_scaling_factor",
    "moe_capacity",
    "moe_use_aux_free",
    "mup_num_heads",
    "n_ctx",
    "n_positions",
    "no_bias",
    "no_rope_layer_interval",
    "no_rope_layers",
    "norm_topk_prob",
    "num_beam_groups",
    "num_beams",
    "num_labels",
    "num_return_sequences",
    "offset_alibi",
    "original_max_position_embeddings",
    "original_rope",
    "output_hidden_states",
    "output_router_logits",
    "pad_key_length",
    "pre_allocate_kv_cache",
    "pre_seq_len",
    "prefix_projection",
    "pretraining_tp",
    "quantization_bit",
    "quantization_config",
    "query_pre_attn_scalar",
    "residual_multiplier",
    "return_dict",
    "indexer_rope_interleave",
    "qk_head_dim",
    "rope_interleave",
    "rope_local_base_freq",
    "rope_parameters",
    "rope_ratio",
    "rope_scaling",
    "rope_theta",
    "rotary",
    "rotary_base",
    "rotary_dim",
    "rotary_emb_base",
    "routed_scaling_factor",
    "scale_attention_softmax_in_fp32",
    "scale_attn_weights",
    "scale_depth",
    "scale_emb",
    "seq_aux",
    "seq_length",
    "skip_bias_add",
    "slow_but_exact",
    "softmax_in_fp32",
    "summary_first_dropout",
    "summary_proj_to_labels",
    "summary_use_proj",
    "swiglu_limit",
    "task_specific_params",
    "top_k",
    "torchscript",
    "type_vocab_size",
    "unk_token_id",
    "use_bfloat16",
    "use_cache",
    "use_dynamic_ntk",
    "use_fast_rope",
    "use_flash_attn",
    "use_logn_attn",
    "use_mrope",
    "use_bidirectional_attention",
    "validate_runner_input",
    "vision_config",
    "block_dim",
    "block_ffn_dim_multiplier",
    "block_mlp_init_scale",
    "block_norm_eps",
    "block_out_init_scale",
    "block_use_swiglu",
    "block_use_xavier_init",
    "chunk_size",
    "expand",
    "calc_logits_for_entire_prompt",
    "conv_dim",
    "conv_dim_out",
    "conv_use_xavier_init",
    "full_attn_alpha_factor",
    "full_attn_beta_factor",
    "layernorm_full_attention_alpha",
    "layernorm_full_attention_beta",
    "layernorm_linear_attention_alpha",
    "layernorm_linear_attention_beta",
    "layernorm_mlp_alpha",
    "layernorm_mlp_beta",
    "linear_attn_alpha_factor",
    "linear_attn_beta_factor",
    "mamba_ssm_dtype",
    "mla_use_nope",
    "mlp_alpha_factor",
    "mlp_beta_factor",
    "moe_renormalize",
    "model_max_length",
    "num_expert_group",
    "use_grouped_topk",
    "use_expert_bias",
    "mamba_chunk_size",
    "mamba_expand",
    "mamba_conv_bias",
    "mamba_ssm_cache_dtype",
    "num_logits_to_keep",
    "rescale_prenorm_residual",
    "residual_in_fp32",
    "time_step_limit",
    "time_step_rank",
    "use_conv_bias",
    "use_mamba_kernels",
};

static bool is_idle(const char *key)
{
    static const char *const ends[] = {"_token_id", "_token_ids", "_coef", "_theta",
                                       "_token_index"};
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
        if (is_same(&r->asked[i], key, strlen(key))) {
            return true;
        }
    }
    return false;
}

const struct ty_node *ty_hf_unknown(struct ty_hf_reader *r, const struct ty_node *after)
{
    const struct ty_node *node = after != NULL ? after->next : r->root->first;
    while (node != NULL && (was_asked(r, node->key) || is_idle(node->key) || !may_matter(node))) {
        node = node->next;
    }
    return node;
}
