/* layer_costs.c - kernels put together: a layer, the edges of the model, the optimizer step.
 *
 * A layer is given op by op because collectives and schedules come between them. The host launches
 * kernels one after the other; when it needs longer than the GPU, the GPU waits for it, and a pass
 * takes the host's time: max(GPU, floor), never the sum, since the host runs ahead. */
#include <math.h>

#include "model/kernels_internal.h"

/* Host time of a backward over that of a forward: 1.37 / 1.05 ms per layer, fitted on 1440
 * Megatron-DeepSpeed runs on A100 hosts (VIA-Research/vTrain, single node). */
#define FLOOR_BACKWARD 1.3
/* Bytes of an Adam step per parameter. One kernel: master weight and two moments read and written
 * (24), 16-bit weight written (2), gradient read (2 or 4). Framework operators on 32-bit shards,
 * each a pass over memory: clipping (norm 4, scale 8), decay (8), first moment (12), second moment
 * (8, 12), square root, division, epsilon (8 each), update (16), 16-bit copy (6). */
#define ADAM_B         28.0
#define ADAM_FP32_B    30.0
#define ADAM_UNFUSED_B 98.0

const char *ty_layer_op_name(enum ty_layer_op op)
{
    static const char *const names[] = {
#define X(id, name) name,
        TY_LAYER_OPS(X)
#undef X
    };
    return names[op];
}

struct ty_shard ty_shard_of(const struct ty_arch *arch, const struct ty_layout *layout)
{
    const double t = layout->tensor;
    const double tokens = (double)layout->micro_batch * arch->sequence;
    return (struct ty_shard){
        .tokens = tokens,
        .norm_tokens = layout->sequence_parallel ? tokens / t : tokens,
        .heads = arch->heads / t,
        .kv = fmax(arch->kv_heads / t, 1), /* shared by several ranks when there are fewer */
        .ffn = arch->ffn / t,
        .vocabulary = arch->vocabulary / t,
        .fused_activation = layout->framework.fused_activation,
        .fused_rotary = layout->framework.fused_rotary,
        .norm_speed = layout->framework.norm_speed,
        .element_B = ty_dtype_bytes((enum ty_dtype)arch->dtype),
        .dtype = arch->dtype,
    };
}

/* ---- a layer ---- */

/* Weight matrices with a common input: `in` columns wide, out[] columns produced. One matrix, or
 * several where the framework keeps q, k and v, or gate and up, apart. */
struct linear {
    const struct ty_cluster *cluster;
    const struct ty_layout *layout;
    enum ty_dtype dtype;
    double tokens, in;
    double out[3];
    uint32_t n;
};

struct ty_cost ty_accumulation(const struct ty_cluster *cluster, const struct ty_layout *layout,
                               int dtype, double params)
{
    const double bytes = params * (2 + 2 * ty_memory_grad_bytes(layout));
    const double rate = cluster->memory_bandwidth * cluster->add_efficiency;
    const struct ty_cost model = {bytes / rate + cluster->kernel_overhead, 0};
    return ty_measured_or(cluster, TY_OPERATOR_ACCUMULATION, TY_ROLE_WGRAD, dtype, TY_ANY_KERNEL,
                          params, model);
}

/* Seconds to add to the gradients of earlier micro-batches, where the product does not: for every
 * micro-batch of a step but the first. */
static double accumulation(const struct linear *w, double params)
{
    const struct ty_layout *layout = w->layout;
    if (layout->framework.fused_accumulation || layout->zero >= 2 || layout->micro_batches < 2) {
        return 0;
    }
    const double again = (layout->micro_batches - 1.0) / layout->micro_batches;
    const int dtype = layout->framework.grad_fp32 ? TY_DTYPE_FP32 : (int)w->dtype;
    return again * ty_accumulation(w->cluster, layout, dtype, params).seconds;
}

/* The products of one role, and what adds weight gradients to those that are there. */
static struct ty_cost products(const struct linear *w, enum ty_gemm_role role)
{
    struct ty_cost cost = {0, 0};
    for (uint32_t i = 0; i < w->n; i++) {
        const double T = w->tokens, in = w->in, out = w->out[i];
        const double m = role == TY_GEMM_WGRAD ? in : T, n = role == TY_GEMM_DGRAD ? in : out;
        const double k = role == TY_GEMM_FORWARD ? in : role == TY_GEMM_DGRAD ? out : T;
        cost = ty_cost_plus(cost, ty_gemm_cost_at(w->cluster, w->dtype, role, 1, m, n, k));
        cost.seconds += role == TY_GEMM_WGRAD ? accumulation(w, in * out) : 0;
    }
    return cost;
}

struct layer {
    const struct ty_cluster *cluster;
    const struct ty_arch *arch;
    const struct ty_layout *layout;
    struct ty_shard shard;
    struct linear qkv, proj, up, down; /* up: with the gate, one product */
};

static struct layer layer_of(const struct ty_cluster *cluster, const struct ty_arch *arch,
                             const struct ty_layout *layout)
{
    struct layer l = {cluster, arch, layout, ty_shard_of(arch, layout), {0}, {0}, {0}, {0}};
    const enum ty_dtype dtype = (enum ty_dtype)arch->dtype;
    const struct ty_framework *framework = &layout->framework;
    const double T = l.shard.tokens, h = arch->hidden, d = arch->head_dim;
    const double q = l.shard.heads * d, kv = l.shard.kv * d, f = l.shard.ffn;
    l.qkv = (struct linear){cluster, layout, dtype, T, h, {q + 2 * kv}, 1};
    l.proj = (struct linear){cluster, layout, dtype, T, q, {h}, 1};
    l.up = (struct linear){cluster, layout, dtype, T, h, {f}, 1};
    l.down = (struct linear){cluster, layout, dtype, T, f, {h}, 1};
    if (!framework->fused_qkv) {
        l.qkv = (struct linear){cluster, layout, dtype, T, h, {q, kv, kv}, 3};
    }
    if (arch->mlp == TY_MLP_SWIGLU && framework->fused_gate) {
        l.up.out[0] = 2 * f;
    } else if (arch->mlp == TY_MLP_SWIGLU) {
        l.up = (struct linear){cluster, layout, dtype, T, h, {f, f}, 2};
    }
    return l;
}

/* A forward, or a backward without the weight gradients. */
static void pass_costs(const struct layer *l, bool backward, struct ty_cost *out)
{
    const enum ty_gemm_role role = backward ? TY_GEMM_DGRAD : TY_GEMM_FORWARD;
    const struct ty_cost norm = ty_cost_plus(ty_residual(l->cluster, l->arch, &l->shard, backward),
                                             ty_norm(l->cluster, l->arch, &l->shard, backward));
    const struct ty_cost wide = ty_cost_plus(
        products(&l->up, role), ty_activation(l->cluster, l->arch, &l->shard, backward));
    out[TY_LAYER_NORM1] = out[TY_LAYER_NORM2] = norm;
    const struct ty_cost turned =
        ty_cost_plus(ty_head_norms(l->cluster, l->arch, &l->shard, backward),
                     ty_rope(l->cluster, l->arch, &l->shard, backward));
    out[TY_LAYER_QKV] = ty_cost_plus(products(&l->qkv, role), turned);
    out[TY_LAYER_ATTENTION] = ty_attention(l->cluster, l->arch, l->layout, backward);
    out[TY_LAYER_PROJ] = products(&l->proj, role);
    out[TY_LAYER_MLP] = ty_cost_plus(wide, products(&l->down, role));
}

static void wgrad_costs(const struct layer *l, struct ty_cost *out)
{
    out[TY_LAYER_QKV] = products(&l->qkv, TY_GEMM_WGRAD);
    out[TY_LAYER_PROJ] = products(&l->proj, TY_GEMM_WGRAD);
    out[TY_LAYER_MLP] =
        ty_cost_plus(products(&l->up, TY_GEMM_WGRAD), products(&l->down, TY_GEMM_WGRAD));
}

static void recompute_costs(const struct layer *l, const struct ty_cost *forward,
                            struct ty_cost *out)
{
    switch ((enum ty_recompute)l->layout->recompute) {
    case TY_RECOMPUTE_NONE:
        break;
    case TY_RECOMPUTE_SELECTIVE:
        out[TY_LAYER_ATTENTION] = forward[TY_LAYER_ATTENTION];
        break;
    case TY_RECOMPUTE_FFN: /* nobody needs the product with `down` again */
        out[TY_LAYER_MLP] = ty_cost_plus(products(&l->up, TY_GEMM_FORWARD),
                                         ty_activation(l->cluster, l->arch, &l->shard, false));
        break;
    case TY_RECOMPUTE_FULL:
        for (int op = 0; op < TY_N_LAYER_OPS; op++) {
            out[op] = forward[op];
        }
        break;
    }
}

static double sum_seconds(const struct ty_cost *costs)
{
    double sum = 0;
    for (int op = 0; op < TY_N_LAYER_OPS; op++) {
        sum += costs[op].seconds;
    }
    return sum;
}

static void scale(struct ty_cost *costs, double factor)
{
    for (int op = 0; op < TY_N_LAYER_OPS; op++) {
        costs[op].seconds *= factor;
    }
}

void ty_layer_costs(const struct ty_cluster *cluster, const struct ty_arch *arch,
                    const struct ty_layout *layout, struct ty_layer_costs *out)
{
    const struct layer l = layer_of(cluster, arch, layout);
    *out = (struct ty_layer_costs){.forward = {{0, 0}}};
    pass_costs(&l, false, out->forward);
    pass_costs(&l, true, out->dgrad);
    wgrad_costs(&l, out->wgrad);
    recompute_costs(&l, out->forward, out->recompute);
    scale(out->forward, cluster->derate);
    scale(out->dgrad, cluster->derate);
    scale(out->wgrad, cluster->derate);
    scale(out->recompute, cluster->derate);
}

/* What a pass of `seconds` has to be stretched by to last as long as its launches. */
static double stretch(double seconds, double floor)
{
    return seconds > 0 && seconds < floor ? floor / seconds : 1;
}

void ty_layer_host(const struct ty_cluster *cluster, const struct ty_layout *layout,
                   double forward_comm_s, double backward_comm_s, struct ty_layer_costs *costs)
{
    const double floor = layout->framework.layer_floor / cluster->host_speed;
    const double forward = stretch(sum_seconds(costs->forward), floor - forward_comm_s);
    const double backward = stretch(sum_seconds(costs->dgrad) + sum_seconds(costs->wgrad),
                                    FLOOR_BACKWARD * floor - backward_comm_s);
    scale(costs->forward, forward);
    scale(costs->dgrad, backward);
    scale(costs->wgrad, backward);
    if (layout->recompute == TY_RECOMPUTE_FULL) { /* a forward of its own */
        scale(costs->recompute, forward);
    }
}

/* ---- first and last stage ---- */

void ty_edge_costs(const struct ty_cluster *cluster, const struct ty_arch *arch,
                   const struct ty_layout *layout, struct ty_edge_costs *out)
{
    const struct ty_shard shard = ty_shard_of(arch, layout);
    const struct linear logits = {
        cluster, layout, (enum ty_dtype)arch->dtype, shard.tokens, arch->hidden, {shard.vocabulary},
        1};
    *out = (struct ty_edge_costs){
        .embedding_forward = ty_embedding(cluster, arch, &shard, false),
        .embedding_backward = ty_embedding(cluster, arch, &shard, true),
        .head_forward = ty_cost_plus(
            ty_cost_plus(ty_norm(cluster, arch, &shard, false), products(&logits, TY_GEMM_FORWARD)),
            ty_cross_entropy(cluster, &shard, false)),
        .head_dgrad = ty_cost_plus(
            ty_cost_plus(ty_cross_entropy(cluster, &shard, true), products(&logits, TY_GEMM_DGRAD)),
            ty_norm(cluster, arch, &shard, true)),
        .head_wgrad = products(&logits, TY_GEMM_WGRAD),
    };
    struct ty_cost *const costs[] = {&out->embedding_forward, &out->embedding_backward,
                                     &out->head_forward, &out->head_dgrad, &out->head_wgrad};
    for (size_t i = 0; i < TY_COUNT(costs); i++) {
        costs[i]->seconds *= cluster->derate;
    }
}

/* ---- optimizer ---- */

struct ty_cost ty_adam(const struct ty_cluster *cluster, const struct ty_layout *layout,
                       double params)
{
    const double fused = layout->framework.grad_fp32 ? ADAM_FP32_B : ADAM_B;
    const double bytes = params * (layout->framework.fused_optimizer ? fused : ADAM_UNFUSED_B);
    const double seconds = bytes / (cluster->memory_bandwidth * cluster->optimizer_efficiency) +
                           cluster->kernel_overhead;
    /* By the type of the gradients it reads; all of 16 bit are alike. */
    const int dtype = layout->framework.grad_fp32 ? TY_DTYPE_FP32 : TY_DTYPE_BF16;
    const int kernel = layout->framework.fused_optimizer ? TY_FUSED : TY_UNFUSED;
    return ty_measured_or(cluster, TY_OPERATOR_OPTIMIZER, TY_ROLE_STEP, dtype, kernel, params,
                          (struct ty_cost){seconds, 0});
}

struct ty_cost ty_optimizer_cost(const struct ty_cluster *cluster, const struct ty_layout *layout,
                                 double params)
{
    const double local = layout->zero >= 1 ? params / ty_layout_shards(layout) : params;
    struct ty_cost cost = ty_adam(cluster, layout, local);
    cost.seconds *= cluster->derate;
    return cost;
}
