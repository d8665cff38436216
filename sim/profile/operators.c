/* operators.c - samples of kernels, from the operators that launched them.
 *
 * A kernel belongs to the outermost operator around it that the table knows, so that a product in
 * pieces, or a loss of three kernels, is one sample: the sum of its kernels. */
#include <stdlib.h>
#include <string.h>

#include "model/arch.h"
#include "sim/base/path.h"
#include "sim/profile/import.h"
#include "sim/profile/read/words.h"

#define BELOW_MAX 4096u /* operators looked at below one; a layer has some tens */

/* An operator among those of its rank. */
struct op_ref {
    const struct ty_profile *profile;
    const struct ty_profile_rank *rank;
    uint32_t index;
    const struct ty_profile_op *op;
    const char *name, *dims;
};

static struct op_ref op_ref_of(const struct ty_profile *profile, const struct ty_profile_rank *rank,
                               uint32_t op)
{
    const struct ty_profile_op *o = &rank->ops[op];
    return (struct op_ref){.profile = profile,
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
static int dtype_of(const struct op_ref *s, uint32_t argument)
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

static int shape(const struct op_ref *s, uint32_t argument, uint64_t dim[TY_PROFILE_DIMS])
{
    return ty_profile_dims(s->dims, argument, TY_PROFILE_NONE, dim);
}

/* A kind of operator that the table has a row for. */
struct row {
    const char *name;
    /* Fills in what it works on; of a matrix product also the role. */
    enum ty_import_reason (*sizes)(const struct op_ref *s, const struct row *row,
                                   struct ty_import_key *key);
    int8_t op, role, kernel;
    uint8_t argument;     /* that tells sizes and type */
    uint8_t causal, mask; /* of attention: arguments; 0: a mask cannot be given */
    bool heads_last;      /* of attention: [batch, sequence, heads, head_dim] */
    uint8_t part, parts;  /* see struct ty_import_key; 0 parts: it is one by itself */
};

static const struct row *row_of(const struct op_ref *s);

/* ---- matrix products ---- */

static enum ty_import_reason matmul(const struct op_ref *s, const struct row *row,
                                    struct ty_import_key *key);

/* The sizes of a product, C[m,n] = A[m,k] B[k,n]; false: it is none. */
static bool product(const struct op_ref *s, uint64_t mnk[3])
{
    uint64_t a[TY_PROFILE_DIMS], b[TY_PROFILE_DIMS];
    const struct row *row = row_of(s);
    if (row == NULL || row->sizes != matmul || shape(s, row->argument, a) != 2 ||
        shape(s, row->argument + 1u, b) != 2 || a[1] != b[0] || a[0] == 0 || a[1] == 0 ||
        b[1] == 0) {
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
    const struct op_ref s = op_ref_of(profile, rank, op);
    uint64_t mnk[3];
    return product(&s, mnk) ? 2.0 * (double)mnk[0] * (double)mnk[1] * (double)mnk[2] : 0;
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
static bool product_below(const struct op_ref *s, uint64_t mnk[3])
{
    const uint32_t last =
        s->rank->n_ops - s->index > BELOW_MAX ? s->index + BELOW_MAX : s->rank->n_ops;
    uint32_t found = 0, i = s->index + 1;
    if (product(s, mnk)) {
        return true;
    }
    for (; i < last && found < 2 && inside(s->rank, s->index, i); i++) {
        const struct op_ref inner = op_ref_of(s->profile, s->rank, i);
        uint64_t other[3];
        if (product(&inner, other)) {
            memcpy(mnk, other, sizeof(other));
            found++;
        }
    }
    return found == 1 && i < s->index + BELOW_MAX;
}

/* The node of autograd that an operator belongs to; TY_PROFILE_NONE: to none. */
static uint32_t autograd_node(const struct op_ref *s)
{
    uint32_t node = s->op->parent;
    while (node != TY_PROFILE_NONE && s->rank->ops[node].forward == TY_PROFILE_NONE) {
        node = s->rank->ops[node].parent;
    }
    return node;
}

/* Of a product that can be either gradient by its sizes: whether its first factor is the transpose
 * of what lies in memory. */
static int role_by_strides(const struct op_ref *s, uint32_t first)
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

static int role_of(const struct op_ref *s, const uint64_t mnk[3], uint32_t first)
{
    uint64_t f[3];
    if (s->op->phase == TY_PROFILE_FORWARD || s->op->phase == TY_PROFILE_RECOMPUTE) {
        return TY_ROLE_FORWARD;
    }
    const uint32_t node = autograd_node(s);
    if (s->op->phase != TY_PROFILE_BACKWARD || node == TY_PROFILE_NONE) {
        return -1;
    }
    const struct op_ref forward = op_ref_of(s->profile, s->rank, s->rank->ops[node].forward);
    if (!product_below(&forward, f)) {
        return -1;
    }
    const bool dgrad = is_dgrad(mnk, f), wgrad = is_wgrad(mnk, f);
    if (dgrad && wgrad) {
        return role_by_strides(s, first);
    }
    return dgrad ? TY_ROLE_DGRAD : wgrad ? TY_ROLE_WGRAD : -1;
}

static enum ty_import_reason matmul(const struct op_ref *s, const struct row *row,
                                    struct ty_import_key *key)
{
    uint64_t mnk[3];
    if (!product(s, mnk)) {
        return TY_IMPORT_ODD_SHAPE;
    }
    key->role = role_of(s, mnk, row->argument);
    const bool turned = key->role == TY_ROLE_WGRAD && mnk[0] > mnk[1]; /* or transposed: one row */
    key->dim[0] = mnk[turned ? 1 : 0];
    key->dim[1] = mnk[turned ? 0 : 1];
    key->dim[2] = mnk[2];
    return TY_IMPORT_TOLD;
}

/* ---- attention ---- */

/* 1, 0, or -1 when it was not recorded. */
static int truth(const struct op_ref *s, uint32_t argument)
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

static enum ty_import_reason attention(const struct op_ref *s, const struct row *row,
                                       struct ty_import_key *key)
{
    uint64_t q[TY_PROFILE_DIMS], k[TY_PROFILE_DIMS], mask[TY_PROFILE_DIMS];
    const uint32_t heads = row->heads_last ? 2 : 1, sequence = row->heads_last ? 1 : 2;
    const int causal = truth(s, row->causal);
    if (shape(s, row->argument, q) != 4 || shape(s, row->argument + 1, k) != 4 ||
        !agree(q, k, sequence, heads) || (row->mask > 0 && shape(s, row->mask, mask) > 0)) {
        return TY_IMPORT_ODD_SHAPE;
    }
    const uint64_t dims[] = {q[0], q[sequence], q[heads], k[heads], q[3], causal == 1};
    memcpy(key->dim, dims, sizeof(dims));
    return causal < 0 ? TY_IMPORT_NO_CAUSAL : TY_IMPORT_TOLD;
}

/* ---- the rest ---- */

/* As many elements as an argument has. */
static enum ty_import_reason plain(const struct op_ref *s, const struct row *row,
                                   struct ty_import_key *key)
{
    key->dim[0] = ty_profile_elements(s->dims, row->argument, 1);
    return key->dim[0] > 0 ? TY_IMPORT_TOLD : TY_IMPORT_ODD_SHAPE;
}

/* Indices times the width of the matrix: embedding(weight, indices). */
static enum ty_import_reason embedding(const struct op_ref *s, const struct row *row,
                                       struct ty_import_key *key)
{
    uint64_t weight[TY_PROFILE_DIMS];
    const uint64_t indices = ty_profile_elements(s->dims, row->argument + 1, 1);
    if (shape(s, row->argument, weight) != 2 || indices == 0 || weight[1] == 0 ||
        indices > UINT64_MAX / weight[1]) {
        return TY_IMPORT_ODD_SHAPE;
    }
    key->dim[0] = indices * weight[1];
    return TY_IMPORT_TOLD;
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
    const struct op_ref s = op_ref_of(of->profile, of->rank, op);
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

/* A gradient added to those of earlier micro-batches. */
static bool accumulates(const struct op_ref *s)
{
    const uint32_t parent = s->op->parent;
    return is(s->name, "aten::add_") && parent != TY_PROFILE_NONE &&
           strstr(ty_profile_text(s->profile, s->rank->ops[parent].name), "AccumulateGrad") != NULL;
}

#define SDPA "aten::_scaled_dot_product_"

static const struct row rows[] = {
    {"aten::mm", matmul, TY_OPERATOR_MATMUL, -1, TY_ANY_KERNEL, .argument = 0},
    {"aten::addmm", matmul, TY_OPERATOR_MATMUL, -1, TY_ANY_KERNEL, .argument = 1},
    {"aten::_scaled_mm", matmul, TY_OPERATOR_MATMUL, -1, TY_ANY_KERNEL, .argument = 0},
#define ATTENTION(role, kernel) attention, TY_OPERATOR_ATTENTION, TY_ROLE_##role, kernel
    {SDPA "flash_attention", ATTENTION(FORWARD, TY_ATTENTION_FLASH2), .argument = 0, .causal = 4},
    {SDPA "flash_attention_backward", ATTENTION(BACKWARD, TY_ATTENTION_FLASH2), .argument = 1,
     .causal = 11},
    {"flash_attn::_flash_attn_forward", ATTENTION(FORWARD, TY_ATTENTION_FLASH2), .argument = 0,
     .causal = 5, .heads_last = true},
    {"flash_attn::_flash_attn_backward", ATTENTION(BACKWARD, TY_ATTENTION_FLASH2), .argument = 1,
     .causal = 11, .heads_last = true},
    {SDPA "efficient_attention", ATTENTION(FORWARD, TY_ANY_KERNEL), .argument = 0, .causal = 6,
     .mask = 3},
    {SDPA "efficient_attention_backward", ATTENTION(BACKWARD, TY_ANY_KERNEL), .argument = 1,
     .causal = 11, .mask = 4},
    {SDPA "cudnn_attention", ATTENTION(FORWARD, TY_ANY_KERNEL), .argument = 0, .causal = 6,
     .mask = 3},
    {SDPA "cudnn_attention_backward", ATTENTION(BACKWARD, TY_ANY_KERNEL), .argument = 1,
     .causal = 14, .mask = 8},
#undef ATTENTION
#define PLAIN(op, role, kernel) plain, TY_OPERATOR_##op, TY_ROLE_##role, kernel
    {"aten::native_layer_norm", PLAIN(NORM, FORWARD, TY_FUSED), .argument = 0},
    {"aten::native_layer_norm_backward", PLAIN(NORM, BACKWARD, TY_FUSED), .argument = 0},
    {"aten::_fused_rms_norm", PLAIN(NORM, FORWARD, TY_FUSED), .argument = 0},
    {"aten::_fused_rms_norm_backward", PLAIN(NORM, BACKWARD, TY_FUSED), .argument = 0},
    {"aten::gelu", PLAIN(ACTIVATION, FORWARD, TY_ACTIVATION_GELU), .argument = 0},
    {"aten::gelu_backward", PLAIN(ACTIVATION, BACKWARD, TY_ACTIVATION_GELU), .argument = 0},
    {"aten::embedding_dense_backward", PLAIN(EMBEDDING, BACKWARD, TY_ANY_KERNEL), .argument = 0},
    {"aten::cross_entropy_loss", PLAIN(CROSS_ENTROPY, FORWARD, TY_ANY_KERNEL), .argument = 0},
    {"aten::nll_loss_backward", PLAIN(CROSS_ENTROPY, BACKWARD, TY_ANY_KERNEL), .argument = 1,
     .part = 0, .parts = 2},
    {"aten::_log_softmax_backward_data", PLAIN(CROSS_ENTROPY, BACKWARD, TY_ANY_KERNEL),
     .argument = 0, .part = 1, .parts = 2},
    {"aten::add_", PLAIN(ACCUMULATION, WGRAD, TY_ANY_KERNEL), .argument = 0},
#undef PLAIN
    {"aten::embedding", embedding, TY_OPERATOR_EMBEDDING, TY_ROLE_FORWARD, TY_ANY_KERNEL,
     .argument = 0},
};

static const struct row *row_of(const struct op_ref *s)
{
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        if (is(s->name, rows[i].name)) {
            return rows[i].op != TY_OPERATOR_ACCUMULATION || accumulates(s) ? &rows[i] : NULL;
        }
    }
    return NULL;
}

static enum ty_import_reason import_recognise(const struct ty_import_recorded *of, uint32_t op,
                                              struct ty_import_key *key, bool *is_operator)
{
    const struct op_ref s = op_ref_of(of->profile, of->rank, op);
    const struct row *row = row_of(&s);
    const bool updates = ty_text_begins(s.name, "Optimizer.step#");
    *key = (struct ty_import_key){.op = -1, .kernel = TY_ANY_KERNEL, .parts = 1};
    *is_operator = row != NULL || updates;
    if (updates) {
        return optimizer(of, op, key);
    }
    if (row == NULL) {
        return TY_IMPORT_NO_ROW;
    }
    if (s.dims[0] == '\0') {
        return TY_IMPORT_NO_SHAPES;
    }
    *key = (struct ty_import_key){.op = row->op,
                                  .role = row->role,
                                  .kernel = row->kernel,
                                  .dtype = dtype_of(&s, row->argument),
                                  .part = row->part,
                                  .parts = row->parts > 0 ? row->parts : 1};
    const enum ty_import_reason reason = row->sizes(&s, row, key);
    if (reason != TY_IMPORT_TOLD) {
        return reason;
    }
    return key->dtype < 0 ? TY_IMPORT_NO_TYPE : key->role < 0 ? TY_IMPORT_NO_ROLE : TY_IMPORT_TOLD;
}

/* ---- operators ---- */

#define X(id, text) text,
const char *const ty_import_kind_words[] = {TY_IMPORT_KINDS(X)};
const char *const ty_import_reasons[] = {TY_IMPORT_REASONS(X)};
#undef X

/* ---- kinds ---- */

/* In names of operators and kernels; the first that fits. */
static const struct ty_profile_words parts[] = {
    {TY_IMPORT_OPTIMIZER, {"Optimizer.", "_fused_adam", "adam", "Adam"}},
    {TY_IMPORT_ATTENTION, {"attention", "attn", "fmha", "flash_fwd", "flash_bwd", "sdpa"}},
    {TY_IMPORT_NORM, {"layer_norm", "LayerNorm", "rms_norm", "RMSNorm"}},
    {TY_IMPORT_GEMM,
     {"aten::mm", "addmm", "bmm", "matmul", "_scaled_mm", "gemm", "nvjet", "splitKreduce", "xmma",
      "cutlass"}},
    {TY_IMPORT_LOSS, {"cross_entropy", "nll_loss", "log_softmax"}},
    {TY_IMPORT_ACTIVATION, {"gelu", "silu", "swiglu"}},
    {TY_IMPORT_EMBEDDING, {"embedding"}},
    {TY_IMPORT_ELEMENTWISE, {"elementwise", "aten::copy_", "aten::add", "aten::mul"}},
};

/* Kernels of trainyard, but for " backward", " dgrad" and " wgrad" behind the name. */
static const struct ty_profile_words own[] = {
    {TY_IMPORT_GEMM, {"qkv", "proj", "mlp core", "mlp", "fc1", "fc2", "logits", "logits and loss"}},
    {TY_IMPORT_ATTENTION, {"attention core"}},
    {TY_IMPORT_NORM, {"norm"}},
    {TY_IMPORT_OPTIMIZER, {"optimizer step"}},
};

static enum ty_import_kind kind_of_name(const char *name)
{
    static const char *const passes[] = {" backward", " dgrad", " wgrad"};
    char bare[32] = "";
    for (size_t i = 0; i < TY_COUNT(passes) && bare[0] == '\0'; i++) {
        const size_t n = strlen(name), pass = strlen(passes[i]);
        if (ty_path_ends(name, passes[i]) && n - pass < sizeof(bare)) {
            memcpy(bare, name, n - pass);
        }
    }
    int kind = ty_profile_meaning(parts, TY_COUNT(parts), TY_MATCH_PART, name, TY_IMPORT_REST);
    kind =
        ty_profile_meaning(own, TY_COUNT(own), TY_MATCH_WHOLE, bare[0] != '\0' ? bare : name, kind);
    return (enum ty_import_kind)kind;
}

static enum ty_import_kind kind_of(const struct ty_profile *profile,
                                   const struct ty_profile_rank *rank,
                                   const struct ty_profile_kernel *k)
{
    enum ty_import_kind kind = TY_IMPORT_REST;
    if (k->phase == TY_PROFILE_OPTIMIZER) {
        return TY_IMPORT_OPTIMIZER;
    }
    for (uint32_t op = k->op; op != TY_PROFILE_NONE; op = rank->ops[op].parent) {
        const enum ty_import_kind here = kind_of_name(ty_profile_text(profile, rank->ops[op].name));
        if (rank->ops[op].annotation) {
            break; /* names that people chose */
        }
        kind = here != TY_IMPORT_REST ? here : kind;
        if (kind != TY_IMPORT_REST && kind != TY_IMPORT_ELEMENTWISE) {
            return kind;
        }
    }
    return kind != TY_IMPORT_REST ? kind : kind_of_name(ty_profile_text(profile, k->name));
}

/* ---- what is left ---- */

int ty_import_add_left(struct ty_import *im, uint32_t name, enum ty_import_reason reason,
                       bool communication, int64_t gpu_ns, uint32_t count)
{
    const uint32_t key[] = {name, reason, communication};
    const uint32_t number = ty_profile_intern(&im->lefts, (const char *)key, sizeof(key));
    if (number == TY_PROFILE_NONE || !TY_PROFILE_GROW(im->left, im->n_left, im->cap_left)) {
        return ty_fail_memory(im->err);
    }
    if (number > im->n_left) {
        im->left[im->n_left++] =
            (struct ty_import_left){.name = name, .reason = reason, .communication = communication};
    }
    im->left[number - 1].count += count;
    im->left[number - 1].gpu_ns += gpu_ns;
    return 0;
}

int ty_import_add_sample(struct ty_import *im, const struct ty_import_sample *sample)
{
    if (!TY_PROFILE_GROW(im->samples, im->n_samples, im->cap_samples)) {
        return ty_fail_memory(im->err);
    }
    im->samples[im->n_samples++] = *sample;
    return 0;
}

/* ---- a rank ---- */

struct owner {
    struct ty_import_key key;
    enum ty_import_reason reason;
    bool known;  /* the table knows such operators */
    uint32_t of; /* the outermost known operator around it or itself; TY_PROFILE_NONE */
    int64_t ns;
    uint32_t kernels;
};

/* Parents come before their children. */
static void find_owners(const struct ty_import_recorded *of, struct owner *owners)
{
    const struct ty_profile_rank *rank = of->rank;
    for (uint32_t i = 0; i < rank->n_ops; i++) {
        const uint32_t parent = rank->ops[i].parent;
        struct owner *o = &owners[i];
        *o = (struct owner){.of = parent != TY_PROFILE_NONE ? owners[parent].of : TY_PROFILE_NONE};
        if (o->of == TY_PROFILE_NONE) {
            o->reason = import_recognise(of, i, &o->key, &o->known);
            o->of = o->known ? i : TY_PROFILE_NONE;
        }
    }
}

static int unowned(struct ty_import *im, const struct ty_profile_rank *rank,
                   const struct ty_profile_kernel *k)
{
    const bool has_op = k->op != TY_PROFILE_NONE;
    return ty_import_add_left(im, has_op ? rank->ops[k->op].name : k->name,
                              has_op             ? TY_IMPORT_NO_ROW
                              : im->profile->own ? TY_IMPORT_OWN_KERNEL
                                                 : TY_IMPORT_NO_OP,
                              false, k->dur_ns, 1);
}

/* A kernel of each operator that has one. */
static void find_kernels(const struct ty_profile_rank *rank, uint32_t *kernel_of)
{
    for (uint32_t i = 0; i < rank->n_ops; i++) {
        kernel_of[i] = TY_PROFILE_NONE;
    }
    for (uint32_t i = 0; i < rank->n_kernels; i++) {
        if (rank->kernels[i].op != TY_PROFILE_NONE) {
            kernel_of[rank->kernels[i].op] = i;
        }
    }
}

/* Adds the times of the kernels to their owners'. */
static int add_kernels(struct ty_import *im, uint32_t r, struct owner *owners)
{
    const struct ty_profile_rank *rank = &im->profile->ranks[r];
    int rc = 0;
    for (uint32_t i = 0; i < rank->n_kernels && rc == 0; i++) {
        const struct ty_profile_kernel *k = &rank->kernels[i];
        const bool computes = k->class == TY_PROFILE_COMPUTE;
        /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): find_owners sets all */
        const uint32_t owner = k->op != TY_PROFILE_NONE ? owners[k->op].of : TY_PROFILE_NONE;
        if (k->class == TY_PROFILE_COMMUNICATION || !ty_import_kernel_chosen(im, r, k)) {
            continue;
        }
        if (computes) {
            im->kind_ns[kind_of(im->profile, rank, k)] += k->dur_ns;
        }
        if (owner != TY_PROFILE_NONE && computes) { /* fills of work space are not its work */
            owners[owner].ns += k->dur_ns;
            owners[owner].kernels++;
        } else if (computes) {
            rc = unowned(im, rank, k);
        }
    }
    return rc;
}

static int import_rank(struct ty_import *im, uint32_t r, struct owner *owners, uint32_t *kernel_of)
{
    const struct ty_profile_rank *rank = &im->profile->ranks[r];
    const struct ty_import_recorded of = {im->profile, rank, kernel_of};
    find_kernels(rank, kernel_of);
    find_owners(&of, owners);
    int rc = add_kernels(im, r, owners);
    for (uint32_t i = 0; i < rank->n_ops && rc == 0; i++) {
        const struct owner *o = &owners[i];
        const struct ty_import_sample sample = {
            .key = o->key, .ns = o->ns, .gpu_ns = o->ns, .members = 1, .name = rank->ops[i].name};
        if (o->kernels > 0 && o->ns > 0) {
            rc = o->reason == TY_IMPORT_TOLD ? ty_import_add_sample(im, &sample)
                                             : ty_import_add_left(im, rank->ops[i].name, o->reason,
                                                                  false, o->ns, o->kernels);
        }
    }
    return rc;
}

int ty_import_operators(struct ty_import *im)
{
    int rc = 0;
    for (uint32_t r = 0; r < im->profile->n_ranks && rc == 0; r++) {
        const size_t n = (size_t)im->profile->ranks[r].n_ops + 1;
        struct owner *owners = malloc(n * sizeof(*owners));
        uint32_t *kernel_of = malloc(n * sizeof(*kernel_of));
        rc = owners != NULL && kernel_of != NULL ? import_rank(im, r, owners, kernel_of)
                                                 : ty_fail_memory(im->err);
        free(owners);
        free(kernel_of);
    }
    return rc;
}
