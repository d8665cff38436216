/* arch.h - the shape of a transformer, its parameters and its FLOPs. */
#ifndef TY_MODEL_ARCH_H
#define TY_MODEL_ARCH_H

#include "topology/cluster.h"

enum ty_mlp {
    TY_MLP_GELU,
    TY_MLP_SWIGLU
};
enum ty_norm_kind {
    TY_NORM_LAYER, /* LayerNorm: scale and shift */
    TY_NORM_RMS
};
/* Which linear layers have biases. */
enum ty_bias {
    TY_BIAS_NONE,
    TY_BIAS_QKV,       /* those of q, k and v alone: Qwen to Qwen2.5 */
    TY_BIAS_ATTENTION, /* and the output projection */
    TY_BIAS_MLP,
    TY_BIAS_ALL
};
enum ty_fusion {
    TY_UNFUSED,
    TY_FUSED
};

/* The `model` section. */
struct ty_arch {
    const char *preset, *huggingface, *name;
    uint32_t layers, hidden, heads, kv_heads, head_dim, ffn, vocabulary, sequence;
    int mlp;             /* enum ty_mlp */
    int norm_kind;       /* enum ty_norm_kind */
    int norm;            /* enum ty_fusion */
    int attention;       /* enum ty_attention */
    int dtype;           /* enum ty_dtype */
    bool full_attention; /* flash kernels compute the masked half too */
    int bias;            /* enum ty_bias */
    bool qk_norm;        /* an RMSNorm on each head of q and of k, of one scale for all heads */
    bool tied;           /* output matrix is the embedding matrix */
    uint32_t positions;  /* learned position embeddings; 0: rotary ones */
    double dropout;      /* > 0: dropout masks are stored */
};

extern const struct ty_field ty_arch_fields[];
extern const uint32_t ty_n_arch_fields;
extern const struct ty_preset ty_arch_presets[];

/* Derives what may be left out (kv_heads = heads, head_dim = hidden / heads, ffn = 4 hidden) and
 * checks what must divide. A preset's `positions` grow to cover the sequence. */
int ty_arch_finish(struct ty_arch *arch, const struct ty_section *section, struct ty_err *err);

/* Text of the model section for a Hugging Face config.json, to be applied like a preset. `path` is
 * opened as it is. Errors name the JSON file, line and column. Owned by the arena. */
int ty_arch_huggingface(struct ty_arena *arena, const char *path, const char **text,
                        struct ty_err *err);

/* Parameters, counted from the matrices; a GPT layer has 12 h^2 + 13 h (Narayanan et al. 2021). */
double ty_arch_layer_params(const struct ty_arch *arch);   /* one layer, norms and biases too */
double ty_arch_norm_params(const struct ty_arch *arch);    /* one norm of hidden states */
double ty_arch_kv_head_params(const struct ty_arch *arch); /* k and v of one head, with biases */
double ty_arch_q_params(const struct ty_arch *arch);       /* q of all heads, with biases */
double ty_arch_proj_params(const struct ty_arch *arch);    /* output projection of attention */
double ty_arch_up_params(const struct ty_arch *arch);      /* up, and gate if there is one */
double ty_arch_down_params(const struct ty_arch *arch);
double ty_arch_embedding_params(const struct ty_arch *arch); /* input matrix and positions */
double ty_arch_head_params(const struct ty_arch *arch); /* final norm and untied output matrix */
double ty_arch_params(const struct ty_arch *arch);      /* all */

#endif
