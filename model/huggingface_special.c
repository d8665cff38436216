/* huggingface_special.c - families whose config.json says something in words that no other has.
 * Source: their configuration classes, in huggingface/transformers or beside the weights. */
#include <string.h>

#include "model/huggingface_internal.h"

/* ---- sizes of their own ---- */

/* One head of keys and values for all queries, unless the file says otherwise. */
void ty_hf_bigcode(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    shape->kv_heads = ty_hf_flag(r, "multi_query", true) ? 1 : shape->heads;
}

/* ChatGLM2, ChatGLM3 and GLM-4 in their first files. */
void ty_hf_chatglm(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    const bool grouped = ty_hf_flag(r, "multi_query_attention", false);
    (void)ty_hf_value(r, "multi_query_group_num");
    shape->kv_heads = grouped ? ty_hf_number(r, "multi_query_group_num", 1) : shape->heads;
    shape->norm_kind = ty_hf_flag(r, "rmsnorm", true) ? TY_NORM_RMS : TY_NORM_LAYER;
    if (!ty_hf_flag(r, "post_layer_norm", true)) {
        ty_hf_fail(r, ty_hf_value(r, "post_layer_norm"), "post_layer_norm",
                   "false: a model without a norm before its output matrix is not simulated");
    }
}

/* The large one of a family has ALiBi in place of rotary embeddings, which only its missing number
 * of positions tells. */
void ty_hf_baichuan(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    (void)ty_hf_value(r, "model_max_length");
    if (ty_hf_value(r, "max_position_embeddings") == NULL) {
        shape->rotary = 0;
    }
}

/* SantaCoder says so in a file of GPT-2's. */
void ty_hf_gpt2(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    if (ty_hf_is_text(r, "attention_head_type", "multiquery")) {
        shape->kv_heads = 1;
    }
}

/* ---- parallel blocks ---- */

/* What every Command R has may be said. */
void ty_hf_cohere(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    shape->tied = ty_hf_flag(r, "use_embedding_sharing", shape->tied);
    shape->gated = ty_hf_flag(r, "use_gated_activation", true);
    shape->parallel = ty_hf_flag(r, "use_parallel_block", true);
    (void)ty_hf_value(r, "use_parallel_embedding"); /* a layout of ranks */
}

/* Falcon 40B has a norm for each of its parallel blocks, Falcon 7B one for both. */
static void falcon(struct ty_hf_reader *r, struct ty_hf_shape *shape, bool new_decoder)
{
    const bool one = ty_hf_flag(r, "multi_query", true);
    const unsigned long groups = ty_hf_number(r, "num_kv_heads|n_head_kv", 0);
    const unsigned long norms = ty_hf_number(r, "num_ln_in_parallel_attn", new_decoder ? 2 : 1);
    shape->parallel = ty_hf_flag(r, "parallel_attn", true) || new_decoder;
    shape->norms = shape->parallel ? (unsigned)norms : 2;
    shape->kv_heads = new_decoder && groups > 0 ? groups : one && !new_decoder ? 1 : shape->heads;
    shape->rotary = ty_hf_flag(r, "alibi", false) ? 0 : shape->rotary;
}

void ty_hf_falcon(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    falcon(r, shape, ty_hf_flag(r, "new_decoder_architecture", false));
}

/* What Falcon 40B was called before. */
void ty_hf_refined_web(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    falcon(r, shape, true);
}

/* Two norms even where the blocks are parallel. */
void ty_hf_neox(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    shape->parallel = ty_hf_flag(r, "use_parallel_residual", true);
    shape->norms = 2;
}

void ty_hf_stablelm(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    shape->parallel = ty_hf_flag(r, "use_parallel_residual", false);
}

/* ---- positions ---- */

/* MPT's norms have no shift. It has positions where it has no ALiBi. */
void ty_hf_mpt(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    const unsigned long grouped = ty_hf_number(r, "attn_config.kv_n_heads", shape->heads);
    const bool alibi = ty_hf_flag(r, "attn_config.alibi", true);
    const bool learned = ty_hf_flag(r, "learned_pos_emb", true) && !alibi;
    const bool rope = ty_hf_flag(r, "attn_config.rope", false);
    const unsigned long times = ty_hf_number(r, "expansion_ratio", 4);
    shape->kv_heads =
        ty_hf_is_text(r, "attn_config.attn_type", "multiquery_attention") ? 1 : grouped;
    shape->rotary = rope ? 1 : 0;
    if (learned && !rope) {
        shape->sequence = shape->positions = ty_hf_number(r, "max_seq_len", 2048);
    }
    shape->ffn = shape->ffn > 0 ? shape->ffn : times * shape->hidden;
    shape->norm_kind = shape->bias == TY_BIAS_NONE ? TY_NORM_LAYER_SCALE : TY_NORM_LAYER;
    if (ty_hf_is_text(r, "norm_type", "rmsnorm")) {
        shape->norm_kind = TY_NORM_RMS;
    }
    if (ty_hf_flag(r, "attn_config.qk_ln", false)) {
        shape->qk_norm = true;
        shape->qk_norm_kind = TY_QK_NORM_WHOLE;
    }
}

/* Positions are learned unless the file says ALiBi, and the MLP has a gate if it is said. */
void ty_hf_jais(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    if (ty_hf_is_text(r, "position_embedding_type", "alibi")) {
        shape->positions = shape->sequence = 0;
        shape->rotary = 0;
    }
    shape->gated = ty_hf_is_text(r, "activation_function", "swiglu");
}

/* The smallest OPT has embeddings narrower than its layers, and no norm behind them. */
void ty_hf_opt(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    const unsigned long width = ty_hf_number(r, "word_embed_proj_dim", shape->hidden);
    if (width != shape->hidden) {
        ty_hf_fail(r, ty_hf_value(r, "word_embed_proj_dim"), "word_embed_proj_dim",
                   "embeddings of another width than hidden_size are not simulated");
    } else if (!ty_hf_flag(r, "do_layer_norm_before", true)) {
        ty_hf_fail(r, ty_hf_value(r, "do_layer_norm_before"), "do_layer_norm_before",
                   "false: a model without a norm before its output matrix is not simulated");
    }
    if (!ty_hf_flag(r, "layer_norm_elementwise_affine", true)) {
        shape->norm_kind = TY_NORM_LAYER_PLAIN;
    }
}

/* ---- experts ---- */

void ty_hf_ernie(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    shape->norm_kind = ty_hf_flag(r, "use_rmsnorm", true) ? TY_NORM_RMS : TY_NORM_LAYER;
}

/* Its keys are those of a platform. */
void ty_hf_hunyuan(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    (void)ty_hf_value(r, "cla_share_factor");  /* of use_cla, which is refused */
    (void)ty_hf_value(r, "use_mixed_mlp_moe"); /* shared experts, which are counted */
    (void)ty_hf_value(r, "use_rotary_pos_emb");
    (void)ty_hf_value(r, "org_vocab_size");
    (void)ty_hf_value(r,
                      "dense_list|num_media_embeds|mask_init_id"); /* of other heads and inputs */
    shape->head_dim = ty_hf_number(r, "attention_head_dim", shape->head_dim);
}

void ty_hf_phimoe(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    shape->head_bias = ty_hf_flag(r, "lm_head_bias", false);
}

/* Dense layers have a width of their own. Three of four layers look at chunks of tokens: within the
 * first chunk that is what all others do. */
void ty_hf_llama4(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    const struct ty_node *chunk = ty_hf_value(r, "attention_chunk_size");
    shape->ffn = ty_hf_number(r, "intermediate_size_mlp", 16384);
    if (chunk != NULL && ty_hf_is_number(chunk, true)) {
        const char *what = ty_arena_printf(
            r->arena,
            "chunks are not simulated: every layer attends to all tokens before, which is "
            "the same up to a model.sequence of %s",
            chunk->text);
        ty_hf_remark(r, chunk, "attention_chunk_size", what != NULL ? what : "not simulated");
    }
}

/* Modules for further tokens that no checkpoint has. */
void ty_hf_minimax(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    (void)shape;
    (void)ty_hf_number(r, "mtp_transformer_layers", 0);
    if (ty_hf_flag(r, "use_mtp", false) && ty_hf_number(r, "num_mtp_modules", 0) > 0) {
        ty_hf_remark(r, ty_hf_value(r, "num_mtp_modules"), "num_mtp_modules",
                     "left aside, as no weights are published of them; model.mtp adds some");
    }
}

/* A hybrid by its class, which may have no Mamba layer and no expert (Granite 4.0 Micro): llama's
 * shape then, with an MLP that is called shared. */
void ty_hf_granite_hybrid(struct ty_hf_reader *r, struct ty_hf_shape *shape)
{
    const struct ty_node *types = ty_hf_value(r, "layer_types|layers_block_type");
    const struct ty_node *item = types != NULL && types->kind == TY_NODE_LIST ? types->first : NULL;
    bool attention = item != NULL;
    for (; item != NULL; item = item->next) {
        attention = attention && item->kind == TY_NODE_SCALAR && item->text != NULL &&
                    strcmp(item->text, "attention") == 0;
    }
    if (!attention) {
        ty_hf_fail(r, types, "layer_types", "layers of Mamba are not simulated");
    }
    shape->rotary = ty_hf_is_text(r, "position_embedding_type", "rope") ? shape->rotary : 0;
    if (ty_hf_number(r, "num_local_experts", 0) > 0) {
        ty_hf_fail(r, ty_hf_value(r, "num_local_experts"), "num_local_experts",
                   "experts of a hybrid class are not simulated");
    }
    (void)ty_hf_value(r, "num_experts_per_tok");
}
