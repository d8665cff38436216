/* huggingface_sparse.c - keys of experts, latent attention and further tokens in a Hugging Face
 * config.json. */
#include <stdlib.h>
#include <string.h>

#include "model/huggingface_internal.h"

/* ---- which layers have experts ---- */

static void every(bool *dense, unsigned long layers, unsigned long n, unsigned long shift)
{
    for (unsigned long i = 0; i < layers && n > 1; i++) {
        dense[i] = dense[i] || (i + shift) % n != 0;
    }
}

static void first_ones(bool *dense, unsigned long layers, unsigned long n)
{
    for (unsigned long i = 0; i < layers && i < n; i++) {
        dense[i] = true;
    }
}

/* The layers of a list become dense, or all others do. */
static void listed(struct ty_hf_reader *r, const char *key, bool *dense, unsigned long layers,
                   bool others)
{
    const struct ty_node *list = ty_hf_value(r, key);
    if (list == NULL || list->kind != TY_NODE_LIST || (others && list->first == NULL)) {
        return;
    }
    bool *in = ty_arena_array(r->arena, bool, layers);
    if (in == NULL) {
        r->code = ty_fail_memory(r->err);
        return;
    }
    memset(in, 0, layers * sizeof(*in));
    for (const struct ty_node *item = list->first; item != NULL; item = item->next) {
        unsigned long number = layers;
        if (!ty_hf_is_number(item, true) || (number = strtoul(item->text, NULL, 10)) >= layers) {
            ty_hf_fail(r, item, key, "no number of a layer, from 0 on");
            return;
        }
        in[number] = true;
    }
    for (unsigned long i = 0; i < layers; i++) {
        dense[i] = dense[i] || in[i] != others;
    }
}

/* A number n, every n-th layer from the first on, or a list with 1 for each layer that has them. */
static void frequency(struct ty_hf_reader *r, bool *dense, unsigned long layers)
{
    static const char key[] = "moe_layer_freq";
    const struct ty_node *list = ty_hf_value(r, key);
    unsigned long i = 0;
    if (list == NULL || list->kind != TY_NODE_LIST) {
        every(dense, layers, ty_hf_number(r, key, 1), 0);
        return;
    }
    for (const struct ty_node *item = list->first; item != NULL && i < layers; item = item->next) {
        dense[i] = dense[i] || !ty_hf_is_number(item, true) || strcmp(item->text, "0") == 0;
        i++;
    }
}

/* Every key that a family has for it takes experts from some layers. */
static void find_dense(struct ty_hf_reader *r, bool *dense, unsigned long layers)
{
    const unsigned long start = ty_hf_number(r, "moe_layer_start_index", 0);
    const struct ty_node *end = ty_hf_value(r, "moe_layer_end_index");
    first_ones(dense, layers, ty_hf_number(r, "first_k_dense_replace|moe_layer_num_skipped", 0));
    first_ones(dense, layers, start);
    for (unsigned long i = 0; end != NULL && ty_hf_is_number(end, true) && i < layers; i++) {
        dense[i] = dense[i] || i > strtoul(end->text, NULL, 10); /* -1: up to the last */
    }
    every(dense, layers, ty_hf_number(r, "decoder_sparse_step", 1), 1);
    every(dense, layers, ty_hf_number(r, "moe_layer_interval", 1), 1);
    every(dense, layers, ty_hf_number(r, "interleave_moe_layer_step", 1), 1);
    frequency(r, dense, layers);
    listed(r, "mlp_only_layers", dense, layers, false);
    listed(r, "moe_layers", dense, layers, true);
}

static void put_dense(struct ty_hf_reader *r, unsigned long layers)
{
    bool *dense = ty_arena_array(r->arena, bool, layers);
    if (dense == NULL) {
        r->code = ty_fail_memory(r->err);
        return;
    }
    memset(dense, 0, layers * sizeof(*dense));
    find_dense(r, dense, layers);
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

void ty_hf_put_experts(struct ty_hf_reader *r, const struct ty_hf_experts *x,
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
    ty_hf_put(r, "shared_gate", x->shared_gate && shared > 0 ? "true" : "false");
    ty_hf_put(r, "sinks", x->sinks ? "true" : "false");
    ty_hf_put(r, "router_bias", has_router_bias(r, x) ? "true" : "false");
    put_dense(r, shape->layers);
    put_groups(r);
}

/* Queries may have none (DeepSeek-V2-Lite); values are as wide as a share of the model where nobody
 * says else (MiniCPM3). */
void ty_hf_put_latent(struct ty_hf_reader *r, const struct ty_hf_shape *shape)
{
    const unsigned long query = ty_hf_number(r, "q_lora_rank", 0);
    (void)ty_hf_value(r, "num_key_value_heads"); /* as many as heads, */
    (void)ty_hf_value(r, "head_dim");            /* and width of the position part */
    ty_hf_put_number(r, "kv_latent", ty_hf_needed(r, "kv_lora_rank"));
    ty_hf_put_number(r, "head_rope", ty_hf_needed(r, "qk_rope_head_dim"));
    ty_hf_put_number(r, "head_value",
                     ty_hf_number(r, "v_head_dim", shape->hidden / (shape->heads | !shape->heads)));
    if (query > 0) {
        ty_hf_put_number(r, "query_latent", query);
    }
}
