/* optimizer.c - optimizers as data, and Newton-Schulz iterations of Muon. See optimizer.h.
 *
 * Bytes of framework operators, each a pass over 32-bit shards: clipping (norm 4, scale 8), decay
 * 8, copy to 16 bit 6; then
 *   adam       first moment 12, second moment 8 and 12, square root, division, epsilon 8 each,
 *              update 16
 *   adafactor  in place of all that: norm of weights 4, square 8, epsilon 8, means by row and by
 *              column 8, their product 4, by the gradient 12, norm 4, two scales 16, update 12,
 *              copy 6, clipping 12 (transformers' Adafactor without a first moment; the numbers of
 *              rows and columns are left out)
 *   sgd        momentum 12, update 12 (torch.optim.SGD)
 *   muon       momentum 12, Nesterov's step 12, update 12 (torch.optim.Muon)
 * adam8bit is bitsandbytes' AdamW8bit: two states of a byte, a 32-bit scale for each block of 256.
 * One kernel of adafactor reads the gradient twice, for the statistics and for the update. */
#include "model/block/optimizer.h"

#include <math.h>

#include "model/block/memory.h"

#define STATES_B   12.0 /* of Adam in 32 bit, for which operators_B counts; others in proportion */
#define WEIGHT_B   2.0
#define ITERATIONS 5u  /* Jordan et al. 2024 */
#define NS_B       2.0 /* Newton-Schulz is in bf16; so is what is gathered (Liu et al. 2025) */

static const struct ty_optimizer optimizers[] = {
    [TY_ADAM] = {.moments = 2, .operators_B = 98},
    [TY_ADAM_8BIT] = {.state_B = 2 * (1 + 4 / 256.0)},
    [TY_ADAFACTOR] = {.again_B = 4, .operators_B = 94},
    [TY_SGD] = {.moments = 1, .operators_B = 50},
    [TY_MUON] = {.moments = 1, .operators_B = 62, .matrices = true},
};

const struct ty_optimizer *ty_optimizer_of(const struct ty_layout *layout)
{
    return &optimizers[layout->framework.optimizer];
}

const enum ty_comm_group ty_muon_groups[TY_MUON_GROUPS] = {
    TY_GROUP_TENSOR, TY_GROUP_DATA, TY_GROUP_EXPERT_TENSOR, TY_GROUP_EXPERT_DATA};

/* ---- elementwise ---- */

static struct ty_cost update_cost(const struct ty_gpu *gpu, const struct ty_layout *layout,
                                  double params, double bytes)
{
    const struct ty_framework *f = &layout->framework;
    const bool adam = f->optimizer == TY_ADAM;
    const struct ty_kernel update = {
        .op = TY_OPERATOR_OPTIMIZER,
        /* by the type of the gradients it reads; all of 16 bit are alike */
        .dtype = f->grad_fp32 ? TY_DTYPE_FP32 : TY_DTYPE_BF16,
        .variant = !adam                ? TY_OTHER_OPTIMIZER
                   : f->fused_optimizer ? TY_FUSED
                                        : TY_UNFUSED,
        .update = {params, ty_memory_grad_bytes(layout), bytes}};
    return ty_cost_times(ty_kernel_cost(gpu, &update, TY_WGRAD), gpu->derate);
}

double ty_optimizer_traffic(const struct ty_layout *layout)
{
    const struct ty_framework *f = &layout->framework;
    const struct ty_optimizer *o = ty_optimizer_of(layout);
    const double states = ty_memory_optimizer_bytes(layout);
    const double weight = f->master_dtype == TY_STATE_NONE ? 2 * WEIGHT_B : WEIGHT_B;
    const double fused = 2 * states + weight + ty_memory_grad_bytes(layout) + o->again_B;
    const double whole = STATES_B - 4 * (2 - o->moments); /* states in 32 bit */
    const bool operators = o->operators_B > 0 && !f->fused_optimizer;
    return operators ? o->operators_B * states / whole : fused;
}

struct ty_cost ty_update_cost(const struct ty_gpu *gpu, const struct ty_layout *layout,
                              double params)
{
    return update_cost(gpu, layout, params, ty_optimizer_traffic(layout));
}

double ty_optimizer_params(const struct ty_layout *layout, double params, double experts)
{
    const double all = layout->zero >= 1 ? ty_layout_shard(layout, params, experts) : params;
    return (1 - layout->home.share) * all;
}

struct ty_cost ty_optimizer_cost(const struct ty_gpu *gpu, const struct ty_layout *layout,
                                 double params, double experts)
{
    return ty_update_cost(gpu, layout, ty_optimizer_params(layout, params, experts));
}

/* ---- Newton-Schulz ---- */

/* Matrices of a kernel, as a tensor rank has them. */
struct matrices {
    double n, in, out;
    uint32_t parts; /* tensor ranks that have one between them: its inputs, */
    bool by_out;    /* or its outputs */
    bool expert;
};

/* Iterations on a whole matrix of m <= k: X X', its square, and that by X. The sums around these
 * are part of the products. */
static struct ty_cost orthogonalize(const struct ty_gpu *gpu, double m, double k)
{
    const struct ty_matmul product[] = {{m, k, m}, {m, m, m}, {m, m, k}};
    struct ty_cost sum = {0};
    for (size_t i = 0; i < TY_COUNT(product); i++) {
        const struct ty_kernel kernel = {
            .op = TY_OPERATOR_MATMUL, .dtype = TY_DTYPE_BF16, .matmul = product[i]};
        const struct ty_cost cost = ty_kernel_cost(gpu, &kernel, TY_FORWARD);
        sum = ty_cost_plus(
            sum, (struct ty_cost){ITERATIONS * cost.seconds / gpu->gemm_sustained,
                                  ITERATIONS * cost.flops,
                                  ITERATIONS * ty_kernel_joules(gpu, &kernel, TY_FORWARD, &cost)});
    }
    return ty_cost_times(sum, gpu->derate);
}

/* The share of its matrices that a rank orthogonalizes. Replicas without ZeRO do all. ZeRO-1 and -2
 * cut every bucket into shards, and a rank needs all of each matrix that its shard touches, as in
 * Moonshot's distributed Muon (Liu et al. 2025, algorithm 1): one and the length of a shard. With
 * ZeRO-3 every matrix has one owner, to whom the others send their parts. */
static double share_of(const struct ty_layout *layout, const struct matrices *x, uint32_t shards)
{
    const double size = x->in * x->out;
    const double bucket = fmax(ty_layout_bucket_params(layout), size);
    return layout->zero == 0   ? 1
           : layout->zero == 3 ? 1.0 / shards
                               : fmin(1, 1.0 / shards + size / bucket);
}

static void add_matrices(struct ty_muon *muon, const struct ty_gpu *gpu,
                         const struct ty_layout *layout, const struct matrices *x)
{
    const uint32_t shards = x->expert ? ty_layout_expert_shards(layout) : ty_layout_shards(layout);
    const double in = x->in * (x->by_out ? 1 : x->parts), out = x->out * (x->by_out ? x->parts : 1);
    const double n = x->n * share_of(layout, x, shards);
    const struct ty_cost one = orthogonalize(gpu, fmin(in, out), fmax(in, out));
    muon->work =
        ty_cost_plus(muon->work, (struct ty_cost){n * one.seconds, n * one.flops, n * one.joules});
    muon->longest_s = fmax(muon->longest_s, one.seconds);
    muon->tensor_B[x->expert] += x->parts > 1 ? n * in * out * NS_B : 0;
    if (layout->zero > 0 && shards > 1) {
        muon->data_B[x->expert] += n * x->in * x->out * NS_B;
    }
}

/* The last product of an operator that sums over tensor ranks is cut by its inputs, others by their
 * outputs. */
static void add_op(struct ty_muon *muon, const struct ty_gpu *gpu, const struct ty_layout *layout,
                   const struct ty_unit_op *op, uint32_t count)
{
    const uint32_t ranks = op->expert ? layout->expert_tensor : layout->tensor;
    const bool cut = op->column || op->row || op->expert;
    bool by_out = !op->row && !op->expert;
    for (uint32_t k = op->n_weights > 0 && !op->frozen ? op->n_kernels : 0; k > 0; k--) {
        const struct ty_kernel *kernel = &op->kernel[k - 1];
        const struct ty_grouped *g = &kernel->grouped;
        struct matrices x = {count,  kernel->matmul.in, kernel->matmul.out, cut ? ranks : 1,
                             by_out, op->expert};
        if (kernel->op == TY_OPERATOR_GROUPED) {
            x.n = count * g->groups;
            x.in = g->in;
            x.out = g->out;
        }
        if (ty_kernel_is_product(kernel)) {
            add_matrices(muon, gpu, layout, &x);
            by_out = true;
        }
    }
}

struct ty_muon ty_muon_of(const struct ty_gpu *gpu, const struct ty_layout *layout,
                          const struct ty_units *units, const uint32_t count[TY_N_UNIT_KINDS])
{
    struct ty_muon muon = {.work = {0, 0}};
    double ends = 0;
    for (enum ty_unit_kind u = 0; u < TY_N_UNIT_KINDS && ty_optimizer_of(layout)->matrices; u++) {
        const struct ty_unit_ops *unit = &units->kind[u];
        if (ty_unit_is_end(u)) {
            ends += count[u] * ty_unit_trained_params(unit);
            continue;
        }
        for (uint32_t i = 0; i < unit->n && count[u] > 0; i++) {
            add_op(&muon, gpu, layout, &unit->op[i], count[u]);
        }
    }
    muon.work.seconds = fmax(muon.work.seconds, muon.longest_s);
    if (ends > 0) { /* their other moment, read and written */
        const double params = ty_optimizer_params(layout, ends, 0);
        muon.work = ty_cost_plus(
            muon.work, update_cost(gpu, layout, params, 2 * ty_memory_ends_bytes(layout)));
    }
    return muon;
}
