/* memory.c - bytes a rank holds.
 *
 * STATES (Rajbhandari et al. 2020): 16-bit weights and gradients, 2 B each, and 12 B of Adam state
 * in 32 bit (master weight, two moments); N replicas share what the ZeRO stage says.
 *
 * ACTIVATIONS of a layer, bytes per token, e bytes an element and D = 1 with dropout masks (1 B):
 *
 *     on every tensor rank (a share of the tokens with sequence parallelism)
 *       inputs of both norms 2 e h    inputs of qkv and up 2 e h    two dropout masks 2 D h
 *       unfused norms: 32-bit copies of their input and output 16 h
 *     shared by the t tensor ranks
 *       q, k, v  e (a + 2 kv) d       attention output e a d
 *       scores in memory: probabilities e a s, dropped ones and mask D (e + 1) a s
 *       flash attention: logarithms of the sums of exponentials, 4 a
 *       MLP: GELU input and output 2 e f; SwiGLU gate, up, silu(gate), product 4 e f
 *
 * With e = 2, D = 1, GELU, f = 4 h, a d = h and scores in memory these are the s b h (10 + 24/t +
 * 5 a s / (h t)) of Korthikanti et al. 2022, table 2. */
#include "model/memory.h"

#include <math.h>

/* Bytes of a logit kept until the backward: its probability in 32 bit. */
#define LOGIT_KEPT_B 4.0
/* Of a logit while loss and head run: the 16-bit logit, its 32-bit copy, the 16-bit gradient. With
 * what is kept 12 B, which separates 92 % of the 965 runs and out-of-memory failures of Hagemann et
 * al. 2023. */
#define LOGIT_TRANSIENT_B 8.0

double ty_dtype_bytes(enum ty_dtype dtype)
{
    return dtype == TY_DTYPE_FP32 ? 4 : 2;
}

/* ---- states ---- */

double ty_memory_grad_bytes(const struct ty_layout *layout)
{
    return layout->framework.grad_fp32 ? 4 : 2;
}

struct ty_state_bytes ty_memory_states(const struct ty_layout *layout, double params)
{
    const double shared = params / layout->data;
    return (struct ty_state_bytes){
        .weights = 2 * (layout->zero >= 3 ? shared : params),
        .grads = ty_memory_grad_bytes(layout) * (layout->zero >= 2 ? shared : params),
        .optimizer = 12 * (layout->zero >= 1 ? shared : params),
    };
}

/* ---- activations ---- */

static double tokens(const struct ty_arch *arch, const struct ty_layout *layout)
{
    return (double)layout->micro_batch * arch->sequence;
}

/* Tokens whose hidden states a rank keeps outside the tensor-parallel parts. */
static double own_tokens(const struct ty_arch *arch, const struct ty_layout *layout)
{
    return tokens(arch, layout) / (layout->sequence_parallel ? layout->tensor : 1);
}

static double element_bytes(const struct ty_arch *arch)
{
    return ty_dtype_bytes((enum ty_dtype)arch->dtype);
}

/* Bytes per token of the attention core: what selective recomputation does without. */
static double core_bytes(const struct ty_arch *arch, double heads)
{
    const double e = element_bytes(arch);
    if (arch->attention >= TY_ATTENTION_FLASH1) {
        return 4 * heads;
    }
    return (e + (arch->dropout > 0 ? e + 1 : 0)) * heads * arch->sequence;
}

/* Bytes per token of the wide part of the MLP. */
static double wide_bytes(const struct ty_arch *arch, double ffn)
{
    return (arch->mlp == TY_MLP_SWIGLU ? 4 : 2) * element_bytes(arch) * ffn;
}

static double whole_layer(const struct ty_arch *arch, const struct ty_layout *layout,
                          bool with_core, bool with_wide)
{
    const double t = layout->tensor, h = arch->hidden, d = arch->head_dim, e = element_bytes(arch);
    const double heads = arch->heads / t, kv = fmax(arch->kv_heads / t, 1);
    const double masks = arch->dropout > 0 ? 2 * h : 0;
    const double casts = arch->norm == TY_UNFUSED ? 16 * h : 0;
    const double shared = e * (heads + 2 * kv) * d + e * heads * d +
                          (with_core ? core_bytes(arch, heads) : 0) +
                          (with_wide ? wide_bytes(arch, arch->ffn / t) : 0);
    return own_tokens(arch, layout) * (4 * e * h + masks + casts) + tokens(arch, layout) * shared;
}

double ty_memory_layer_activations(const struct ty_arch *arch, const struct ty_layout *layout)
{
    if (layout->recompute == TY_RECOMPUTE_FULL) { /* the layer's input */
        return own_tokens(arch, layout) * element_bytes(arch) * arch->hidden;
    }
    return whole_layer(arch, layout, layout->recompute != TY_RECOMPUTE_SELECTIVE,
                       layout->recompute != TY_RECOMPUTE_FFN);
}

double ty_memory_layer_recomputed(const struct ty_arch *arch, const struct ty_layout *layout)
{
    return whole_layer(arch, layout, true, true) - ty_memory_layer_activations(arch, layout);
}

double ty_memory_embedding_activations(const struct ty_arch *arch, const struct ty_layout *layout)
{
    const double ids = 8 * tokens(arch, layout); /* 64-bit token numbers */
    return ids + (arch->dropout > 0 ? own_tokens(arch, layout) * arch->hidden : 0);
}

double ty_memory_head_activations(const struct ty_arch *arch, const struct ty_layout *layout)
{
    const double logits = tokens(arch, layout) * arch->vocabulary / layout->tensor;
    return own_tokens(arch, layout) * 2 * element_bytes(arch) * arch->hidden +
           LOGIT_KEPT_B * logits;
}

double ty_memory_logits(const struct ty_arch *arch, const struct ty_layout *layout)
{
    return LOGIT_TRANSIENT_B * tokens(arch, layout) * arch->vocabulary / layout->tensor;
}

/* ---- buffers ---- */

double ty_memory_buffers(const struct ty_layout *layout, double layer_params)
{
    if (layout->data == 1) {
        return 0;
    }
    if (layout->zero >= 3) { /* weights of this layer and the next, and their gradients */
        return 2 * layer_params * (2 + ty_memory_grad_bytes(layout));
    }
    return ty_layout_bucket_params(layout) * ty_memory_grad_bytes(layout);
}
