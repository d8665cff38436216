/* memory.c - bytes a rank holds.
 *
 * STATES (Rajbhandari et al. 2020): 16-bit weights and gradients, 2 B each, and 12 B of Adam state
 * in 32 bit (master weight, two moments); N replicas share what the ZeRO stage says.
 *
 * ACTIVATIONS are a list of tensors, each with its name, its bytes and how long it lives; every sum
 * is a sum over that list, so what a report names is what the bill counts. Bytes per token, e bytes
 * an element and D = 1 with dropout masks (1 B):
 *
 *     on every tensor rank (a share of the tokens with sequence parallelism)
 *       inputs of both norms 2 e h    inputs of qkv and up 2 e h    two dropout masks 2 D h
 *       unfused norms: 32-bit copies of their input and output 16 h
 *     shared by the t tensor ranks
 *       q, k, v  e (a + 2 kv) d       attention output e a d
 *       scores in memory: probabilities e a s, dropped ones and mask D (e + 1) a s;
 *         made of framework operators, the 32-bit result of the softmax as well, 4 a s
 *       flash attention: logarithms of the sums of exponentials, 4 a
 *       MLP: GELU input and output 2 e f; SwiGLU gate, up, silu(gate), product 4 e f
 *
 * With e = 2, D = 1, GELU, f = 4 h, a d = h and the softmax in one kernel these are the
 * s b h (10 + 24/t + 5 a s / (h t)) of Korthikanti et al. 2022, table 2. */
#include "model/memory.h"

#include <math.h>

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
    const double shared = params / ty_layout_shards(layout);
    const double gradient = ty_memory_grad_bytes(layout);
    /* added up over micro-batches before they are reduced, in the type that is */
    const bool whole = layout->zero >= 2 && layout->data > 1 && layout->micro_batches > 1 &&
                       !ty_layout_reduces_every(layout);
    const double added = layout->framework.reduce_fp32 ? 4 : gradient;
    return (struct ty_state_bytes){
        .weights = 2 * (layout->zero >= 3 ? shared : params),
        .grads = whole ? added * params : gradient * (layout->zero >= 2 ? shared : params),
        .optimizer = 12 * (layout->zero >= 1 ? shared : params),
    };
}

/* ---- activations ---- */

/* What the list is made from. */
struct sizes {
    struct ty_tensors *out;
    const struct ty_arch *arch;
    const struct ty_layout *layout;
    double own;    /* tokens whose hidden states a rank keeps outside the tensor-parallel parts */
    double tokens; /* of a micro-batch */
    double e, h, d, heads, kv, ffn, vocabulary; /* of this rank; e: bytes of an element */
    double scores;                              /* elements of the matrix of attention scores */
};

static struct sizes sizes_of(const struct ty_arch *arch, const struct ty_layout *layout,
                             struct ty_tensors *out)
{
    const double t = layout->tensor, tokens = (double)layout->micro_batch * arch->sequence;
    return (struct sizes){
        .out = out,
        .arch = arch,
        .layout = layout,
        .own = tokens / (layout->sequence_parallel ? t : 1),
        .tokens = tokens,
        .e = ty_dtype_bytes((enum ty_dtype)arch->dtype),
        .h = arch->hidden,
        .d = arch->head_dim,
        .heads = arch->heads / t,
        .kv = fmax(arch->kv_heads / t, 1),
        .ffn = arch->ffn / t,
        .vocabulary = arch->vocabulary / t,
        .scores = tokens * arch->heads / t * arch->sequence,
    };
}

static void put(const struct sizes *z, enum ty_unit_kind unit, enum ty_tensor_life life,
                const char *name, double bytes)
{
    if (bytes > 0 && z->out->n < TY_TENSORS_MAX) {
        z->out->item[z->out->n++] = (struct ty_tensor){name, unit, life, bytes};
    }
}

static bool flash(const struct ty_arch *arch)
{
    return arch->attention >= TY_ATTENTION_FLASH1;
}

/* What a forward leaves in a layer. */
static void put_layer(const struct sizes *z)
{
    const struct ty_arch *arch = z->arch;
    const int mode = z->layout->recompute;
    const bool full = mode == TY_RECOMPUTE_FULL, drop = arch->dropout > 0;
    const enum ty_tensor_life rest = full ? TY_LIFE_RECOMPUTED : TY_LIFE_KEPT;
    const enum ty_tensor_life core = mode == TY_RECOMPUTE_SELECTIVE ? TY_LIFE_RECOMPUTED : rest;
    const enum ty_tensor_life wide = mode == TY_RECOMPUTE_FFN ? TY_LIFE_RECOMPUTED : rest;
    const double hidden = z->own * z->e * z->h, inner = z->tokens * z->e * z->ffn;
    put(z, TY_UNIT_LAYER, TY_LIFE_KEPT, "layer inputs", hidden);
    put(z, TY_UNIT_LAYER, rest, "inputs of q, k, v", hidden);
    put(z, TY_UNIT_LAYER, rest, "inputs of the MLP's norm", hidden);
    put(z, TY_UNIT_LAYER, rest, "inputs of the MLP", hidden);
    put(z, TY_UNIT_LAYER, rest, "dropout masks", drop ? z->own * 2 * z->h : 0);
    put(z, TY_UNIT_LAYER, rest, "32-bit copies of unfused norms",
        arch->norm == TY_UNFUSED ? z->own * 16 * z->h : 0);
    put(z, TY_UNIT_LAYER, rest, "q, k, v", z->tokens * z->e * (z->heads + 2 * z->kv) * z->d);
    put(z, TY_UNIT_LAYER, rest, "inputs of q's and k's norms",
        arch->qk_norm ? z->tokens * z->e * (z->heads + z->kv) * z->d : 0);
    put(z, TY_UNIT_LAYER, rest, "attention output", z->tokens * z->e * z->heads * z->d);
    if (flash(arch)) {
        put(z, TY_UNIT_LAYER, core, "softmax statistics", z->tokens * 4 * z->heads);
    } else {
        put(z, TY_UNIT_LAYER, core, "attention probabilities", z->e * z->scores);
        put(z, TY_UNIT_LAYER, core, "attention probabilities in 32 bit",
            arch->attention == TY_ATTENTION_UNFUSED && z->e < 4 ? 4 * z->scores : 0);
        put(z, TY_UNIT_LAYER, core, "dropped probabilities", drop ? z->e * z->scores : 0);
        put(z, TY_UNIT_LAYER, core, "dropout masks of scores", drop ? z->scores : 0);
    }
    if (arch->mlp == TY_MLP_SWIGLU) {
        put(z, TY_UNIT_LAYER, wide, "MLP gate", inner);
        put(z, TY_UNIT_LAYER, wide, "MLP up", inner);
        put(z, TY_UNIT_LAYER, wide, "MLP silu(gate)", inner);
        put(z, TY_UNIT_LAYER, wide, "MLP product", inner);
    } else {
        put(z, TY_UNIT_LAYER, wide, "MLP up", inner);
        put(z, TY_UNIT_LAYER, wide, "MLP activation", inner);
    }
}

/* What the backward of one layer needs while it runs, MLP and attention one after the other: the
 * gradients that are on their way. With sequence parallelism a linear layer's whole input, gathered
 * again, has the place of its gradient. */
static void put_backward(const struct sizes *z)
{
    const struct ty_arch *arch = z->arch;
    const double hidden = z->e * z->h;
    const double grads = (arch->mlp == TY_MLP_SWIGLU ? 3 : 2) * z->tokens * z->e * z->ffn;
    const double qkv = z->tokens * z->e * (2 * z->heads + 2 * z->kv) * z->d; /* and the output's */
    const double sums = flash(arch) ? z->tokens * 4 * z->heads * z->d : 0;
    /* of the probabilities, 16 bit; framework operators: of the 32-bit softmax's result and
     * input */
    const double scores = flash(arch) ? 0
                          : arch->attention == TY_ATTENTION_UNFUSED && z->e < 4
                              ? (z->e + 8) * z->scores
                              : 2 * z->e * z->scores;
    put(z, TY_UNIT_LAYER, TY_LIFE_BACKWARD, "gradients of hidden states",
        z->own * hidden + z->tokens * hidden);
    if (grads > qkv + sums + scores) {
        put(z, TY_UNIT_LAYER, TY_LIFE_BACKWARD, "gradients in the MLP", grads);
        return;
    }
    put(z, TY_UNIT_LAYER, TY_LIFE_BACKWARD, "gradients of q, k, v and output", qkv);
    put(z, TY_UNIT_LAYER, TY_LIFE_BACKWARD, "32-bit sums of q's gradient", sums);
    put(z, TY_UNIT_LAYER, TY_LIFE_BACKWARD, "gradients of scores", scores);
}

static void put_edges(const struct sizes *z)
{
    const double hidden = z->own * z->e * z->h, logits = z->tokens * z->vocabulary;
    put(z, TY_UNIT_EMBEDDING, TY_LIFE_KEPT, "token numbers", 8 * z->tokens); /* 64 bit */
    put(z, TY_UNIT_EMBEDDING, TY_LIFE_KEPT, "embedding's dropout mask",
        z->arch->dropout > 0 ? z->own * z->h : 0);
    put(z, TY_UNIT_HEAD, TY_LIFE_KEPT, "input of the final norm", hidden);
    put(z, TY_UNIT_HEAD, TY_LIFE_KEPT, "input of the output matrix", hidden);
    if (z->layout->framework.fused_loss) {
        put(z, TY_UNIT_HEAD, TY_LIFE_KEPT, "logits", z->e * logits);
        return;
    }
    /* fullest when the 32-bit copy has had its maximum taken off and the exponentials, which become
     * the probabilities, are there too (Megatron-LM, vocab_parallel_cross_entropy): 14 B a logit */
    put(z, TY_UNIT_HEAD, TY_LIFE_KEPT, "probabilities of the loss, 32 bit", 4 * logits);
    put(z, TY_UNIT_HEAD, TY_LIFE_LOSS, "logits", 2 * logits);
    put(z, TY_UNIT_HEAD, TY_LIFE_LOSS, "logits in 32 bit", 4 * logits);
    put(z, TY_UNIT_HEAD, TY_LIFE_LOSS, "logits less their maximum, 32 bit", 4 * logits);
}

void ty_memory_tensors(const struct ty_arch *arch, const struct ty_layout *layout,
                       struct ty_tensors *out)
{
    const struct sizes z = sizes_of(arch, layout, out);
    out->n = 0;
    put_layer(&z);
    put_backward(&z);
    put_edges(&z);
}

double ty_tensors_sum(const struct ty_tensors *tensors, enum ty_unit_kind unit,
                      enum ty_tensor_life life)
{
    double sum = 0;
    for (uint32_t i = 0; i < tensors->n; i++) {
        const struct ty_tensor *x = &tensors->item[i];
        sum += x->unit == unit && x->life == life ? x->bytes : 0;
    }
    return sum;
}

struct ty_memory_peak ty_memory_pass(const struct ty_tensors *tensors, enum ty_phase phase,
                                     bool head)
{
    const double loss = head ? ty_tensors_sum(tensors, TY_UNIT_HEAD, TY_LIFE_LOSS) : 0;
    const double back = ty_tensors_sum(tensors, TY_UNIT_LAYER, TY_LIFE_BACKWARD);
    struct ty_memory_peak layer = {TY_PEAK_NONE, 0};
    if (phase == TY_PHASE_DGRAD) { /* what is recomputed stays until the weight gradients */
        layer = (struct ty_memory_peak){TY_PEAK_LAYER, back};
    } else if (phase == TY_PHASE_BACKWARD) {
        const double again = ty_tensors_sum(tensors, TY_UNIT_LAYER, TY_LIFE_RECOMPUTED);
        const double gone = head ? ty_tensors_sum(tensors, TY_UNIT_HEAD, TY_LIFE_KEPT) : 0;
        layer = (struct ty_memory_peak){TY_PEAK_LAYER, back + again - gone};
    }
    if (phase == TY_PHASE_WGRAD || phase == TY_PHASE_STEP) {
        return layer;
    }
    return head && loss >= layer.bytes ? (struct ty_memory_peak){TY_PEAK_LOSS, loss} : layer;
}

static double sum_of(const struct ty_arch *arch, const struct ty_layout *layout,
                     enum ty_unit_kind unit, enum ty_tensor_life life)
{
    struct ty_tensors tensors;
    ty_memory_tensors(arch, layout, &tensors);
    return ty_tensors_sum(&tensors, unit, life);
}

double ty_memory_layer_activations(const struct ty_arch *arch, const struct ty_layout *layout)
{
    return sum_of(arch, layout, TY_UNIT_LAYER, TY_LIFE_KEPT);
}

double ty_memory_layer_recomputed(const struct ty_arch *arch, const struct ty_layout *layout)
{
    return sum_of(arch, layout, TY_UNIT_LAYER, TY_LIFE_RECOMPUTED);
}

double ty_memory_embedding_activations(const struct ty_arch *arch, const struct ty_layout *layout)
{
    return sum_of(arch, layout, TY_UNIT_EMBEDDING, TY_LIFE_KEPT);
}

double ty_memory_head_activations(const struct ty_arch *arch, const struct ty_layout *layout)
{
    return sum_of(arch, layout, TY_UNIT_HEAD, TY_LIFE_KEPT);
}

double ty_memory_logits(const struct ty_arch *arch, const struct ty_layout *layout)
{
    return sum_of(arch, layout, TY_UNIT_HEAD, TY_LIFE_LOSS);
}

/* ---- buffers ---- */

double ty_memory_buffers(const struct ty_layout *layout, double gathered, double reduced)
{
    if (layout->data == 1) {
        return 0;
    }
    if (layout->zero >= 3) {
        return 2 * gathered + ty_memory_grad_bytes(layout) * reduced;
    }
    if (ty_layout_reduces_late(layout)) { /* when activations are gone: never at the peak */
        return 0;
    }
    return ty_layout_bucket_params(layout) * ty_memory_grad_bytes(layout);
}
