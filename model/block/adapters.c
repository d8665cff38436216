/* adapters.c - what frozen weights leave out of a list of operators, and adapters beside them.
 *
 * Frozen weights have no gradients; where no weight below is trained either, input gradients end.
 * An adapter is two thin products beside a matrix of in x out, on the same input (Hu et al. 2021):
 *
 *     y = W x + s B A dropout(x)        A in x r, B r x out
 *     forward    dropout, A, B, scale, sum
 *     backward   the same, with weight gradients of A and B
 *
 * in 16 bits whatever W is in. With lora.fused the product with B adds to W x: no scale, no sum
 * (Transformer Engine 2.7, ops.Sequential; Megatron-Bridge, TEFusedLoRALinear). On tensor ranks
 * (Megatron-Bridge, peft/utils.py, ParallelLinearAdapter), t of them:
 *
 *     column-parallel W   A in x r/t, its result gathered; B r x out/t, as W; the input gradient is
 *                         summed with that of W, or by an all-reduce of its own without sequence
 *                         parallelism. The gathered input is that of W, which is not cut into
 *                         pieces beside it (return_layernorm_output_gathered)
 *     row-parallel W      A in/t x r, its result summed; B r x out/t, gathered, of which each rank
 *                         keeps its tokens; or all-to-all with lora.all_to_all
 *
 * Beside routed experts A and B are grouped products, or with lora.experts shared one each for all
 * rows of the rank (Megatron-Bridge, peft/lora.py, _merge_linear). What combines rows waits for
 * them.
 *
 * Kept: the input of A, or with dropout the dropped input and a mask of a byte each; the input of
 * B. */
#include "model/block/maker.h"

#include <assert.h>
#include <string.h>

/* ---- frozen weights ---- */

bool ty_block_freezes(const struct ty_block_maker *b, enum ty_part part)
{
    static const uint32_t parts[TY_N_PARTS] = {
        [TY_PART_NONE] = TY_FREEZE_ALL,        [TY_PART_ATTENTION] = TY_FREEZE_ATTENTION,
        [TY_PART_MLP] = TY_FREEZE_MLP,         [TY_PART_EMBEDDING] = TY_FREEZE_EMBEDDING,
        [TY_PART_HEAD] = TY_FREEZE_HEAD,       [TY_PART_MOE] = TY_FREEZE_EXPERTS,
        [TY_PART_STATE] = TY_FREEZE_ATTENTION, [TY_PART_MTP] = TY_FREEZE_MTP};
    return ty_arch_freezes(b->arch, parts[part]);
}

double ty_block_kept_input(const struct ty_block_maker *b, const struct ty_unit_op *op,
                           uint32_t targets, double elements, double bytes)
{
    const struct ty_lora *lora = &b->arch->lora;
    const bool adapted = lora->rank > 0 && (lora->targets & targets) != 0 && lora->dropout <= 0;
    return !op->frozen ? bytes
           : adapted   ? elements * ty_dtype_bytes((enum ty_dtype)b->arch->dtype)
                       : 0;
}

/* Matrices of layers are stored as the model says, or in fp8 as the framework does. */
static double stored_bytes(const struct ty_block_maker *b, const struct ty_unit_op *op)
{
    const double packed = ty_arch_frozen_bytes(b->arch);
    const bool fp8 = b->layout->framework.fp8_weights && ty_block_is_narrow(b);
    bool matrix = false;
    for (uint32_t i = 0; i < op->n_kernels; i++) {
        matrix = matrix || ty_kernel_is_product(&op->kernel[i]);
    }
    return !matrix || !ty_unit_is_layer(b->kind) ? 2 : packed > 0 ? packed : fp8 ? 1 : 2;
}

/* Packed matrices are unpacked before their products, and once more before those of input
 * gradients (bitsandbytes, MatMul4Bit): 4 or 8 bits are read with their scales, 16 written. */
static void unpack(const struct ty_block_maker *b, struct ty_unit_op *op)
{
    const bool nf4 = b->arch->frozen_dtype == TY_FROZEN_NF4;
    double params = 0;
    for (uint32_t k = 0; k < op->n_weights && op->frozen; k++) {
        params += op->weights[k].params;
    }
    if (b->arch->frozen_dtype != TY_FROZEN_MODEL && params > 0 && op->stored_B < 2) {
        ty_block_elementwise(b, op, TY_OPERATOR_CAST, TY_CAST_DEQUANTIZE, params);
        op->kernel[op->n_kernels - 1].dtype = nf4 ? TY_DTYPE_NVFP4 : TY_DTYPE_BF16;
        op->kernel[op->n_kernels - 1].gradients = op->lowest ? 0 : 1;
    }
}

/* Without a weight gradient, nor, where nothing below is trained, input gradients of products. */
static void freeze(struct ty_block_maker *b)
{
    const bool end = b->kind == TY_UNIT_EMBEDDING;
    bool lowest = ty_arch_freezes(b->arch, TY_FREEZE_EMBEDDING) &&
                  (end || (ty_arch_has_lowest(b->arch) && ty_arch_is_lowest(b->arch, b->layer)));
    for (uint32_t i = 0; i < b->out->n; i++) {
        struct ty_unit_op *op = &b->out->op[i];
        op->lowest = lowest || op->detached;
        op->frozen = op->frozen && op->n_weights > 0;
        op->stored_B = stored_bytes(b, op);
        unpack(b, op);
        op->weight = op->frozen ? NULL : op->weight;
        lowest = lowest && (op->n_weights == 0 || op->frozen);
    }
    const uint32_t n = b->out->n_saved;
    b->out->n_saved = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct ty_saved x = b->out->saved[i];
        if (x.life != TY_LIFE_KEPT || ty_op_has_backward(&b->out->op[x.used])) {
            b->out->saved[b->out->n_saved++] = x;
        }
    }
}

/* ---- adapters ---- */

/* Matrices of operators by the name of their weight: which targets they are. */
static const struct matrix {
    const char *name;
    uint32_t targets;
} matrices[] = {
    {"qkv", TY_TARGET_QKV},
    {"q", TY_TARGET_Q},
    {"k", TY_TARGET_K},
    {"v", TY_TARGET_V},
    {"q down", TY_TARGET_Q},
    {"q up", TY_TARGET_Q},
    {"kv down", TY_TARGET_K | TY_TARGET_V},
    {"kv up", TY_TARGET_K | TY_TARGET_V},
    {"proj", TY_TARGET_PROJ},
    {"gate", TY_TARGET_GATE},
    {"up", TY_TARGET_UP},
    {"down", TY_TARGET_DOWN},
    {"shared gate", TY_TARGET_GATE},
    {"shared up", TY_TARGET_UP},
    {"shared down", TY_TARGET_DOWN},
    {"experts' gate", TY_TARGET_GATE},
    {"experts' up", TY_TARGET_UP},
    {"experts' down", TY_TARGET_DOWN},
    {"state in", TY_TARGET_IN},
    {"state out", TY_TARGET_OUT},
};

/* Of a weight; that of both halves of an MLP stands for the gate, too. */
static uint32_t targets_of(const struct ty_block_maker *b, const struct ty_unit_op *op, uint32_t k)
{
    uint32_t targets = 0;
    for (size_t i = 0; i < TY_COUNT(matrices); i++) {
        if (strcmp(matrices[i].name, op->weights[k].name) == 0) {
            targets = matrices[i].targets;
        }
    }
    const bool both = targets == TY_TARGET_UP && ty_arch_is_gated(b->arch) &&
                      (k == 0 || strstr(op->weights[k - 1].name, "gate") == NULL);
    const bool alone = k == 0 && b->layout->framework.fused_gate;
    return both && alone ? TY_TARGET_FC1 : targets;
}

bool ty_block_is_adapted(const struct ty_block_maker *b, const struct ty_unit_op *op)
{
    bool any = false;
    for (uint32_t k = 0; k < op->n_weights && b->arch->lora.rank > 0; k++) {
        any = any || (targets_of(b, op, k) & b->arch->lora.targets) != 0;
    }
    return any;
}

/* What adapters of an operator that are cut alike are made of: operators for A, and for B. */
struct pair {
    struct ty_block_maker *b;
    struct ty_unit_op in, out;
    bool column, row; /* as the matrices beside them */
    double groups;    /* experts that have adapters of their own; 0: all rows have the same */
    int variant;      /* of their products */
};

static void product(const struct pair *p, struct ty_unit_op *op, int dtype,
                    const struct ty_matmul *size)
{
    struct ty_kernel kernel = {
        .op = TY_OPERATOR_MATMUL, .dtype = dtype, .variant = TY_ANY_KERNEL, .matmul = *size};
    if (p->groups > 0) {
        kernel.op = TY_OPERATOR_GROUPED;
        kernel.variant = p->variant;
        kernel.grouped = (struct ty_grouped){
            .groups = p->groups, .rows = size->rows, .in = size->in, .out = size->out};
    }
    ty_block_kernel(op, &kernel);
}

static void elementwise(struct ty_unit_op *op, enum ty_operator kind, int dtype, double elements,
                        bool dropout)
{
    ty_block_kernel(op, &(struct ty_kernel){.op = kind,
                                            .dtype = dtype,
                                            .variant = TY_ANY_KERNEL,
                                            .dropout = dropout,
                                            .elements = elements});
}

/* Beside a product on `rows` x in, or a part of its columns. */
static void add_adapter(struct pair *p, const struct ty_matmul *base, double out)
{
    const struct ty_lora *lora = &p->b->arch->lora;
    const double t = p->column || p->row ? p->b->layout->tensor : 1, r = lora->rank;
    const int dtype = ty_dtype_is_narrow(p->b->arch->dtype) ? TY_DTYPE_BF16 : p->b->arch->dtype;
    const double columns = p->row ? out / t : out;
    if (lora->dropout > 0) {
        elementwise(&p->in, TY_OPERATOR_SCALE, dtype, base->rows * base->in, true);
    }
    product(p, &p->in, dtype, &(struct ty_matmul){base->rows, base->in, p->column ? r / t : r});
    product(p, &p->out, dtype, &(struct ty_matmul){base->rows, r, columns});
    if (!lora->fused) {
        elementwise(&p->out, TY_OPERATOR_SCALE, dtype, base->rows * columns, false);
        elementwise(&p->out, TY_OPERATOR_RESIDUAL, dtype, base->rows * out, false);
    }
    if (p->in.n_weights == 0) {
        ty_block_weight(&p->in, "lora A", 0);
        ty_block_weight(&p->out, "lora B", 0);
        p->in.weights[0].whole = p->out.weights[0].whole = !p->column && !p->row && !p->in.expert;
    }
    const double n = p->groups > 0 ? p->groups : 1;
    p->in.weights[0].params += n * base->in * r / (p->column ? t : 1);
    p->out.weights[0].params += n * r * columns;
}

/* Of a matrix: one, or where only some of its parts have adapters one for each. */
static void add_matrix(struct pair *p, const struct ty_matmul *base, uint32_t targets)
{
    const uint32_t some = targets & p->b->arch->lora.targets;
    const double q = p->b->shard.heads * p->b->arch->head_dim;
    const double kv = p->b->shard.kv_heads * p->b->arch->head_dim;
    const struct {
        uint32_t target;
        double out;
    } parts[] = {{TY_TARGET_Q, q},
                 {TY_TARGET_K, kv},
                 {TY_TARGET_V, kv},
                 {TY_TARGET_GATE, base->out / 2},
                 {TY_TARGET_UP, base->out / 2}};
    if (some == targets || ty_arch_is_latent(p->b->arch)) {
        add_adapter(p, base, base->out);
        return;
    }
    for (size_t i = 0; i < TY_COUNT(parts); i++) {
        if ((some & parts[i].target) != 0) {
            add_adapter(p, base, parts[i].out);
        }
    }
}

/* Collectives of tensor ranks: of results of A, and of those of B. */
static void add_comms(struct pair *p, double hidden)
{
    const struct ty_block_maker *b = p->b;
    const double e = ty_dtype_bytes((enum ty_dtype)b->arch->dtype) * b->shard.tokens;
    const bool tokens = b->layout->sequence_parallel, swaps = tokens && b->arch->lora.all_to_all;
    struct ty_op_comm thin = {.group = TY_GROUP_TENSOR,
                              .coll = p->row ? TY_COLL_ALL_REDUCE : TY_COLL_ALL_GATHER,
                              .bytes = e * b->arch->lora.rank};
    struct ty_op_comm wide = {.group = TY_GROUP_TENSOR, .bytes = e * hidden};
    if (b->layout->tensor == 1 || (!p->row && !p->column)) {
        return;
    }
    ty_block_comm(&p->in, TY_AFTER_FORWARD, &thin, 1);
    thin.coll = TY_COLL_ALL_REDUCE;
    ty_block_comm(&p->out, TY_AFTER_DGRAD, &thin, 1);
    if (p->column && !tokens) {
        wide.coll = TY_COLL_ALL_REDUCE;
        ty_block_comm(&p->in, TY_AFTER_DGRAD, &wide, 1);
    }
    if (p->row) {
        wide.coll = swaps ? TY_COLL_ALL_TO_ALL : TY_COLL_ALL_GATHER;
        wide.bytes /= swaps ? b->layout->tensor : 1;
        ty_block_comm(&p->out, TY_AFTER_FORWARD, &wide, 1);
        if (tokens) {
            ty_block_comm(&p->out, TY_BEFORE_DGRAD, &wide, 1);
        }
    }
}

/* Behind operator `at`: tensors know operators by number. */
static void insert(struct ty_block_maker *b, uint32_t at, const struct pair *p)
{
    struct ty_unit_ops *unit = b->out;
    assert(unit->n + 2 <= TY_UNIT_OPS);
    memmove(&unit->op[at + 3], &unit->op[at + 1], (unit->n - at - 1) * sizeof(unit->op[0]));
    unit->op[at + 1] = p->in;
    unit->op[at + 2] = p->out;
    unit->n += 2;
    for (uint32_t i = 0; i < unit->n_saved; i++) {
        struct ty_saved *x = &unit->saved[i];
        x->made += x->made != TY_INPUT && x->made > at ? 2 : 0;
        x->used += x->used != TY_INPUT && x->used > at ? 2 : 0;
    }
}

/* Tensors that the adapters behind operator `at` keep. */
static void keep(const struct ty_block_maker *b, uint32_t at, const struct pair *p)
{
    double dropped = 0, thin = 0;
    const double e = ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    for (uint32_t i = 0; i < p->in.n_kernels; i++) {
        dropped += p->in.kernel[i].op == TY_OPERATOR_SCALE ? p->in.kernel[i].elements : 0;
    }
    for (uint32_t i = 0; i < p->out.n_kernels; i++) {
        const struct ty_kernel *kernel = &p->out.kernel[i];
        thin += kernel->op == TY_OPERATOR_MATMUL    ? kernel->matmul.rows * kernel->matmul.in
                : kernel->op == TY_OPERATOR_GROUPED ? kernel->grouped.rows * kernel->grouped.in
                                                    : 0;
    }
    const uint32_t first = b->out->n_saved;
    ty_block_keep_input(b, at + 1, 0, at + 1, "dropped inputs of adapters", e * dropped);
    ty_block_keep(b, at + 1, at + 1, "dropout masks of adapters", dropped);
    ty_block_keep_input(b, at + 1, 0, at + 2, "inside of adapters", e * thin);
    for (uint32_t i = first; i < b->out->n_saved && p->in.routed; i++) {
        b->out->saved[i].routed = b->out->saved[i].bytes;
    }
}

#define ENDS (TY_TARGET_PROJ | TY_TARGET_DOWN | TY_TARGET_OUT) /* back to hidden states */

/* Adapters of those matrices of an operator whose output is whole, or the others. Returns how many
 * operators were added. */
static uint32_t adapt(struct ty_block_maker *b, uint32_t at, bool last, const char *const name[4])
{
    const struct ty_unit_op base = b->out->op[at];
    struct pair p = {.b = b, .column = base.column && !last, .row = base.row && last};
    const struct ty_unit_op empty = {.part = base.part,
                                     .n_reduces = 1,
                                     .recompute = base.recompute,
                                     .adapter = true,
                                     .expert = base.expert,
                                     .routed = base.routed};
    double hidden = 0;
    p.in = p.out = empty;
    p.in.name = name[0];
    p.in.backward = p.in.weight = name[1];
    p.out.name = name[2];
    p.out.backward = p.out.weight = name[3];
    for (uint32_t i = 0, k = 0; i < base.n_kernels && k < base.n_weights; i++) {
        const struct ty_kernel *kernel = &base.kernel[i];
        if (!ty_kernel_is_product(kernel)) {
            continue;
        }
        const struct ty_grouped *g = &kernel->grouped;
        const bool grouped = kernel->op == TY_OPERATOR_GROUPED;
        const struct ty_matmul size =
            grouped ? (struct ty_matmul){g->rows, g->in, g->out} : kernel->matmul;
        const uint32_t targets = targets_of(b, &base, k++);
        const bool ends = base.row && (targets & ENDS) != 0;
        if ((targets & b->arch->lora.targets) != 0 && ends == last) {
            p.groups = grouped && b->arch->lora.experts == TY_LORA_EACH ? g->groups : 0;
            p.variant = kernel->variant;
            add_matrix(&p, &size, targets);
            hidden = p.column ? size.in : size.out;
        }
    }
    if (p.in.n_weights == 0) {
        return 0;
    }
    add_comms(&p, hidden);
    p.out.rows = base.rows & TY_ROWS_RETURN;
    b->out->op[at].rows &= (uint8_t)~TY_ROWS_RETURN;
    insert(b, at, &p);
    keep(b, at, &p);
    return 2;
}

void ty_block_adapt(struct ty_block_maker *b)
{
    static const char *const names[2][4] = {
        {"lora A", "lora A backward", "lora B", "lora B backward"},
        {"lora A, row", "lora A backward, row", "lora B, row", "lora B backward, row"}};
    if (b->arch->frozen == 0) {
        return;
    }
    for (uint32_t i = 0; i < b->out->n && b->arch->lora.rank > 0 && ty_unit_is_layer(b->kind);
         i++) {
        if (b->out->op[i].n_weights > 0) {
            const uint32_t down = adapt(b, i, true, names[1]);
            i += down + adapt(b, i, false, names[0]);
        }
    }
    freeze(b);
}
