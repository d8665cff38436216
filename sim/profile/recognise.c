/* recognise.c - which row of the table an operator of PyTorch is.
 *
 * Arguments are counted as the operator's schema has them (of PyTorch 2 and flash-attention 2, from
 * memory: not compared with their sources or with a recording). A matrix product inside a backward
 * node is told by the sizes of its forward product, C[M,N] = A[M,K] B[K,N]: the input gradient sums
 * over N, the weight gradient over M. Where both fit (as many tokens as outputs), the weight
 * gradient is the one whose first factor is a transposed matrix, if strides were recorded. */
#include <stdlib.h>
#include <string.h>

#include "model/arch.h"
#include "sim/profile/import.h"
#include "sim/profile/read/words.h"

#define BELOW_MAX 4096u /* operators looked at below one; a layer has some tens */

/* An operator among those of its rank. */
struct scene {
    const struct ty_profile *profile;
    const struct ty_profile_rank *rank;
    uint32_t index;
    const struct ty_profile_op *op;
    const char *name, *dims;
};

static struct scene scene_of(const struct ty_profile *profile, const struct ty_profile_rank *rank,
                             uint32_t op)
{
    const struct ty_profile_op *o = &rank->ops[op];
    return (struct scene){.profile = profile,
                          .rank = rank,
                          .index = op,
                          .op = o,
                          .name = ty_profile_text(profile, o->name),
                          .dims = ty_profile_text(profile, o->dims)};
}

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* The enum ty_dtype of an argument, or -1. */
static int dtype_of(const struct scene *s, uint32_t argument)
{
    static const struct ty_profile_words types[] = {
        {TY_DTYPE_BF16, {"c10::BFloat16"}},
        {TY_DTYPE_FP16, {"c10::Half"}},
        {TY_DTYPE_FP32, {"float"}},
        {TY_DTYPE_FP8, {"c10::Float8_e4m3fn", "c10::Float8_e5m2"}},
    };
    char type[64];
    ty_profile_line(ty_profile_text(s->profile, s->op->types), argument, type, sizeof(type));
    return ty_profile_meaning(types, TY_COUNT(types), TY_MATCH_WHOLE, type, -1);
}

static int shape(const struct scene *s, uint32_t argument, uint64_t dim[TY_PROFILE_DIMS])
{
    return ty_profile_dims(s->dims, argument, TY_PROFILE_NONE, dim);
}

/* ---- matrix products ---- */

static bool is_product(const char *name)
{
    return is(name, "aten::mm") || is(name, "aten::addmm") || is(name, "aten::_scaled_mm");
}

/* The two factors of a product, C[m,n] = A[m,k] B[k,n], and which argument A is. */
static bool product(const struct scene *s, uint64_t mnk[3], uint32_t *first)
{
    uint64_t a[TY_PROFILE_DIMS], b[TY_PROFILE_DIMS];
    *first = is(s->name, "aten::addmm") ? 1 : 0;
    if (!is_product(s->name) || shape(s, *first, a) != 2 || shape(s, *first + 1, b) != 2 ||
        a[1] != b[0] || a[0] == 0 || a[1] == 0 || b[1] == 0) {
        return false;
    }
    mnk[0] = a[0];
    mnk[1] = b[1];
    mnk[2] = a[1];
    return true;
}

double ty_import_product_flops(const struct ty_profile *profile, const struct ty_profile_rank *rank,
                               uint32_t op)
{
    const struct scene s = scene_of(profile, rank, op);
    uint64_t mnk[3];
    uint32_t first;
    return product(&s, mnk, &first) ? 2.0 * (double)mnk[0] * (double)mnk[1] * (double)mnk[2] : 0;
}

/* Whether operator i lies inside operator `around`; those that do follow it. */
static bool inside(const struct ty_profile_rank *rank, uint32_t around, uint32_t i)
{
    while (i != TY_PROFILE_NONE && i > around) {
        i = rank->ops[i].parent;
    }
    return i == around;
}

/* The one product in an operator or below it. */
static bool product_below(const struct scene *s, uint64_t mnk[3])
{
    const uint32_t last =
        s->rank->n_ops - s->index > BELOW_MAX ? s->index + BELOW_MAX : s->rank->n_ops;
    uint32_t first, found = 0, i = s->index + 1;
    if (product(s, mnk, &first)) {
        return true;
    }
    for (; i < last && found < 2 && inside(s->rank, s->index, i); i++) {
        const struct scene inner = scene_of(s->profile, s->rank, i);
        uint64_t other[3];
        if (product(&inner, other, &first)) {
            memcpy(mnk, other, sizeof(other));
            found++;
        }
    }
    return found == 1 && i < s->index + BELOW_MAX;
}

/* The node of autograd that an operator belongs to; TY_PROFILE_NONE: to none. */
static uint32_t autograd_node(const struct scene *s)
{
    uint32_t node = s->op->parent;
    while (node != TY_PROFILE_NONE && s->rank->ops[node].forward == TY_PROFILE_NONE) {
        node = s->rank->ops[node].parent;
    }
    return node;
}

/* Of a product that can be either gradient by its sizes: whether its first factor is the transpose
 * of what lies in memory. */
static int role_by_strides(const struct scene *s, uint32_t first)
{
    uint64_t stride[TY_PROFILE_DIMS];
    const char *strides = ty_profile_text(s->profile, s->op->strides);
    if (ty_profile_dims(strides, first, TY_PROFILE_NONE, stride) != 2 || stride[0] == stride[1]) {
        return -1;
    }
    return stride[0] == 1 ? TY_ROLE_WGRAD : stride[1] == 1 ? TY_ROLE_DGRAD : -1;
}

/* Sizes of the gradient to the input, (m, k) = (m, n) (n, k), if f is (m, n, k) of the forward. */
static bool is_dgrad(const uint64_t mnk[3], const uint64_t f[3])
{
    return mnk[0] == f[0] && mnk[1] == f[2] && mnk[2] == f[1];
}

/* Sizes of the gradient to the weight, which may be turned. */
static bool is_wgrad(const uint64_t mnk[3], const uint64_t f[3])
{
    return mnk[2] == f[0] &&
           ((mnk[0] == f[2] && mnk[1] == f[1]) || (mnk[0] == f[1] && mnk[1] == f[2]));
}

static int role_of(const struct scene *s, const uint64_t mnk[3], uint32_t first)
{
    uint64_t f[3];
    if (s->op->phase == TY_PROFILE_FORWARD || s->op->phase == TY_PROFILE_RECOMPUTE) {
        return TY_ROLE_FORWARD;
    }
    const uint32_t node = autograd_node(s);
    if (s->op->phase != TY_PROFILE_BACKWARD || node == TY_PROFILE_NONE) {
        return -1;
    }
    const struct scene forward = scene_of(s->profile, s->rank, s->rank->ops[node].forward);
    if (!product_below(&forward, f)) {
        return -1;
    }
    const bool dgrad = is_dgrad(mnk, f), wgrad = is_wgrad(mnk, f);
    if (dgrad && wgrad) {
        return role_by_strides(s, first);
    }
    return dgrad ? TY_ROLE_DGRAD : wgrad ? TY_ROLE_WGRAD : -1;
}

static enum ty_import_reason matmul(const struct scene *s, struct ty_import_key *key)
{
    uint64_t mnk[3];
    uint32_t first;
    if (!product(s, mnk, &first)) {
        return TY_IMPORT_ODD_SHAPE;
    }
    key->op = TY_OPERATOR_MATMUL;
    key->dtype = dtype_of(s, first);
    key->role = role_of(s, mnk, first);
    memcpy(key->dim, mnk, sizeof(mnk));
    if (key->role == TY_ROLE_WGRAD &&
        key->dim[0] > key->dim[1]) { /* it or its transpose: one row */
        key->dim[0] = mnk[1];
        key->dim[1] = mnk[0];
    }
    return key->dtype < 0 ? TY_IMPORT_NO_TYPE : key->role < 0 ? TY_IMPORT_NO_ROLE : TY_IMPORT_TOLD;
}

/* ---- attention ---- */

static const struct attention {
    const char *name;
    int role, kernel;
    uint32_t q, causal; /* arguments; keys follow queries */
    int bias;           /* argument that must be empty; -1: none */
    bool heads_last;    /* [batch, sequence, heads, head_dim] */
} attentions[] = {
    {"aten::_scaled_dot_product_flash_attention", TY_ROLE_FORWARD, TY_ATTENTION_FLASH2, 0, 4, -1,
     false},
    {"aten::_scaled_dot_product_flash_attention_backward", TY_ROLE_BACKWARD, TY_ATTENTION_FLASH2, 1,
     11, -1, false},
    {"flash_attn::_flash_attn_forward", TY_ROLE_FORWARD, TY_ATTENTION_FLASH2, 0, 5, -1, true},
    {"flash_attn::_flash_attn_backward", TY_ROLE_BACKWARD, TY_ATTENTION_FLASH2, 1, 11, -1, true},
    {"aten::_scaled_dot_product_efficient_attention", TY_ROLE_FORWARD, TY_ANY_KERNEL, 0, 6, 3,
     false},
    {"aten::_scaled_dot_product_efficient_attention_backward", TY_ROLE_BACKWARD, TY_ANY_KERNEL, 1,
     11, 4, false},
    {"aten::_scaled_dot_product_cudnn_attention", TY_ROLE_FORWARD, TY_ANY_KERNEL, 0, 6, 3, false},
    {"aten::_scaled_dot_product_cudnn_attention_backward", TY_ROLE_BACKWARD, TY_ANY_KERNEL, 1, 14,
     8, false},
};

/* 1, 0, or -1 when it was not recorded. */
static int truth(const struct scene *s, uint32_t argument)
{
    static const struct ty_profile_words truths[] = {{1, {"True", "true", "1"}},
                                                     {0, {"False", "false", "0"}}};
    char value[16];
    ty_profile_line(ty_profile_text(s->profile, s->op->values), argument, value, sizeof(value));
    return ty_profile_meaning(truths, TY_COUNT(truths), TY_MATCH_WHOLE, value, -1);
}

/* Whether queries q and keys k are those of one attention. */
static bool agree(const uint64_t *q, const uint64_t *k, uint32_t sequence, uint32_t heads)
{
    const bool empty = q[0] == 0 || q[1] == 0 || q[2] == 0 || q[3] == 0 || k[heads] == 0;
    return !empty && q[0] == k[0] && q[sequence] == k[sequence];
}

static enum ty_import_reason attention(const struct scene *s, const struct attention *a,
                                       struct ty_import_key *key)
{
    uint64_t q[TY_PROFILE_DIMS], k[TY_PROFILE_DIMS], bias[TY_PROFILE_DIMS];
    const uint32_t heads = a->heads_last ? 2 : 1, sequence = a->heads_last ? 1 : 2;
    const int causal = truth(s, a->causal);
    if (shape(s, a->q, q) != 4 || shape(s, a->q + 1, k) != 4 || !agree(q, k, sequence, heads)) {
        return TY_IMPORT_ODD_SHAPE;
    }
    if (a->bias >= 0 && shape(s, (uint32_t)a->bias, bias) > 0) {
        return TY_IMPORT_ODD_SHAPE; /* a mask of its own */
    }
    const uint64_t dims[] = {q[0], q[sequence], q[heads], k[heads], q[3], causal == 1};
    *key = (struct ty_import_key){.op = TY_OPERATOR_ATTENTION,
                                  .role = a->role,
                                  .kernel = a->kernel,
                                  .dtype = dtype_of(s, a->q),
                                  .parts = 1};
    memcpy(key->dim, dims, sizeof(dims));
    return causal < 0 ? TY_IMPORT_NO_CAUSAL : key->dtype < 0 ? TY_IMPORT_NO_TYPE : TY_IMPORT_TOLD;
}

/* ---- the rest ---- */

/* Operators whose row says how many elements an argument has. */
static const struct plain {
    const char *name;
    int op, role, kernel;
    uint32_t argument, part, parts;
} plains[] = {
    {"aten::native_layer_norm", TY_OPERATOR_NORM, TY_ROLE_FORWARD, TY_FUSED, 0, 0, 1},
    {"aten::native_layer_norm_backward", TY_OPERATOR_NORM, TY_ROLE_BACKWARD, TY_FUSED, 0, 0, 1},
    {"aten::_fused_rms_norm", TY_OPERATOR_NORM, TY_ROLE_FORWARD, TY_FUSED, 0, 0, 1},
    {"aten::_fused_rms_norm_backward", TY_OPERATOR_NORM, TY_ROLE_BACKWARD, TY_FUSED, 0, 0, 1},
    {"aten::gelu", TY_OPERATOR_ACTIVATION, TY_ROLE_FORWARD, TY_ACTIVATION_GELU, 0, 0, 1},
    {"aten::gelu_backward", TY_OPERATOR_ACTIVATION, TY_ROLE_BACKWARD, TY_ACTIVATION_GELU, 0, 0, 1},
    {"aten::embedding_dense_backward", TY_OPERATOR_EMBEDDING, TY_ROLE_BACKWARD, TY_ANY_KERNEL, 0, 0,
     1},
    {"aten::cross_entropy_loss", TY_OPERATOR_CROSS_ENTROPY, TY_ROLE_FORWARD, TY_ANY_KERNEL, 0, 0,
     1},
    {"aten::nll_loss_backward", TY_OPERATOR_CROSS_ENTROPY, TY_ROLE_BACKWARD, TY_ANY_KERNEL, 1, 0,
     2},
    {"aten::_log_softmax_backward_data", TY_OPERATOR_CROSS_ENTROPY, TY_ROLE_BACKWARD, TY_ANY_KERNEL,
     0, 1, 2},
};

static enum ty_import_reason plain(const struct scene *s, const struct plain *p,
                                   struct ty_import_key *key)
{
    *key = (struct ty_import_key){.op = p->op,
                                  .role = p->role,
                                  .kernel = p->kernel,
                                  .dtype = dtype_of(s, p->argument),
                                  .dim = {ty_profile_elements(s->dims, p->argument, 1)},
                                  .part = p->part,
                                  .parts = p->parts};
    return key->dim[0] == 0 ? TY_IMPORT_ODD_SHAPE
           : key->dtype < 0 ? TY_IMPORT_NO_TYPE
                            : TY_IMPORT_TOLD;
}

/* Indices times the width of the matrix: embedding(weight, indices). */
static enum ty_import_reason embedding(const struct scene *s, struct ty_import_key *key)
{
    uint64_t weight[TY_PROFILE_DIMS];
    const uint64_t indices = ty_profile_elements(s->dims, 1, 1);
    if (shape(s, 0, weight) != 2 || indices == 0 || weight[1] == 0 ||
        indices > UINT64_MAX / weight[1]) {
        return TY_IMPORT_ODD_SHAPE;
    }
    *key = (struct ty_import_key){.op = TY_OPERATOR_EMBEDDING,
                                  .role = TY_ROLE_FORWARD,
                                  .kernel = TY_ANY_KERNEL,
                                  .dtype = dtype_of(s, 0),
                                  .dim = {indices * weight[1]},
                                  .parts = 1};
    return key->dtype < 0 ? TY_IMPORT_NO_TYPE : TY_IMPORT_TOLD;
}

/* A gradient added to those of earlier micro-batches. */
static bool accumulates(const struct scene *s)
{
    const uint32_t parent = s->op->parent;
    return is(s->name, "aten::add_") && parent != TY_PROFILE_NONE &&
           strstr(ty_profile_text(s->profile, s->rank->ops[parent].name), "AccumulateGrad") != NULL;
}

/* ---- Adam ---- */

/* Elements that an optimizer updates, and their types. */
struct updated {
    uint64_t fused, pieces;
    bool whole, half;
};

/* Every weight is in one list of _fused_adam(w)_, or of the division by the root that ends a step
 * of several kernels. Their type is in the name of the kernel, not in what is said of lists. */
static void add_updated(struct updated *u, const struct ty_import_recorded *of, uint32_t op)
{
    const struct scene s = scene_of(of->profile, of->rank, op);
    const uint32_t at = of->kernel_of[op];
    const char *kernel =
        at != TY_PROFILE_NONE ? ty_profile_text(of->profile, of->rank->kernels[at].name) : "";
    const char *functor = NULL;
    if (ty_text_begins(s.name, "aten::_fused_adam")) {
        u->fused += ty_profile_elements(s.dims, 0, 1);
        functor = strstr(kernel, "FusedAdam");
    } else if (ty_text_begins(s.name, "aten::_foreach_addcdiv_")) {
        u->pieces += ty_profile_elements(s.dims, 0, 1);
        functor = strstr(kernel, "PointwiseOp");
    }
    const char *type = functor != NULL ? strchr(functor, '<') : NULL;
    u->whole = u->whole || (type != NULL && ty_text_begins(type, "<float"));
    u->half = u->half || (type != NULL && ty_text_begins(type, "<c10::BFloat16"));
}

static enum ty_import_reason optimizer(const struct ty_import_recorded *of, uint32_t op,
                                       struct ty_import_key *key)
{
    const struct ty_profile_rank *rank = of->rank;
    struct updated u = {.fused = 0};
    for (uint32_t i = op + 1; i < rank->n_ops && inside(rank, op, i); i++) {
        add_updated(&u, of, i);
    }
    if (strstr(ty_profile_text(of->profile, rank->ops[op].name), "Adam") == NULL) {
        return TY_IMPORT_NO_ROW;
    }
    if ((u.fused > 0) == (u.pieces > 0)) {
        return TY_IMPORT_NO_SHAPES;
    }
    *key = (struct ty_import_key){.op = TY_OPERATOR_OPTIMIZER,
                                  .role = TY_ROLE_STEP,
                                  .kernel = u.fused > 0 ? TY_FUSED : TY_UNFUSED,
                                  .dtype = u.whole ? TY_DTYPE_FP32 : TY_DTYPE_BF16,
                                  .dim = {u.fused > 0 ? u.fused : u.pieces},
                                  .parts = 1};
    return u.whole != u.half ? TY_IMPORT_TOLD : TY_IMPORT_NO_TYPE;
}

/* ---- any ---- */

static const struct attention *attention_of(const struct scene *s)
{
    for (size_t i = 0; i < TY_COUNT(attentions); i++) {
        if (is(s->name, attentions[i].name)) {
            return &attentions[i];
        }
    }
    return NULL;
}

static const struct plain *plain_of(const struct scene *s)
{
    static const struct plain accumulation = {
        "aten::add_", TY_OPERATOR_ACCUMULATION, TY_ROLE_WGRAD, TY_ANY_KERNEL, 0, 0, 1};
    for (size_t i = 0; i < TY_COUNT(plains); i++) {
        if (is(s->name, plains[i].name)) {
            return &plains[i];
        }
    }
    return accumulates(s) ? &accumulation : NULL;
}

enum ty_import_reason ty_import_recognise(const struct ty_import_recorded *of, uint32_t op,
                                          struct ty_import_key *key, bool *is_operator)
{
    const struct scene s = scene_of(of->profile, of->rank, op);
    const struct attention *core = attention_of(&s);
    const struct plain *other = plain_of(&s);
    *key = (struct ty_import_key){.op = -1, .kernel = TY_ANY_KERNEL, .parts = 1};
    const bool lookup = is(s.name, "aten::embedding");
    *is_operator = is_product(s.name) || lookup || core != NULL || other != NULL;
    if (ty_text_begins(s.name, "Optimizer.step#")) {
        *is_operator = true;
        return optimizer(of, op, key);
    }
    if (*is_operator && s.dims[0] == '\0') {
        return TY_IMPORT_NO_SHAPES;
    }
    if (core != NULL) {
        return attention(&s, core, key);
    }
    if (other != NULL) {
        return plain(&s, other, key);
    }
    if (lookup) {
        return embedding(&s, key);
    }
    return *is_operator ? matmul(&s, key) : TY_IMPORT_NO_ROW;
}
