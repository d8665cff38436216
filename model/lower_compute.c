/* lower_compute.c - kinds of computation and their durations: the same on every stage. */
#include "model/lower_internal.h"

#include <math.h>

#include "model/kernels_internal.h"

uint16_t ty_lower_compute_kind(struct ty_lowering *l, const char *name, enum ty_category category,
                               enum ty_phase phase, struct ty_cost cost)
{
    return ty_lower_add_kind(l, &(struct ty_kind){.name = name,
                                                  .category = (uint8_t)category,
                                                  .phase = (uint8_t)phase,
                                                  .dur = ty_lower_ps(l, cost.seconds),
                                                  .flops = cost.flops});
}

/* The weight gradient is an operation of its own where a collective overlaps it. */
static bool splits_wgrad(enum ty_layer_op op)
{
    return op == TY_LAYER_QKV || op == TY_LAYER_MLP;
}

/* Everything of one layer: names by what a reader of a profile expects. */
static void layer_kinds(struct ty_lowering *l, const struct ty_layer_costs *c,
                        struct ty_compute_kinds *k)
{
    static const char *const backward_names[TY_N_LAYER_OPS] = {
        "norm backward", "qkv dgrad",     "attention core backward",
        "proj backward", "norm backward", "mlp core dgrad"};
    static const char *const weight_names[TY_N_LAYER_OPS] = {
        NULL, "qkv wgrad", NULL, "proj wgrad", NULL, "mlp core wgrad"};
    for (enum ty_layer_op op = 0; op < TY_N_LAYER_OPS; op++) {
        const char *name = ty_layer_op_name(op), *back = backward_names[op];
        const char *weight = weight_names[op];
        k->forward[op] =
            ty_lower_compute_kind(l, name, TY_CAT_FORWARD, TY_PHASE_FORWARD, c->forward[op]);
        k->recompute[op] =
            ty_lower_compute_kind(l, name, TY_CAT_RECOMPUTE, TY_PHASE_BACKWARD, c->recompute[op]);
        k->dgrad[op] = ty_lower_compute_kind(
            l, back, TY_CAT_BACKWARD, TY_PHASE_BACKWARD,
            splits_wgrad(op) ? c->dgrad[op] : ty_cost_plus(c->dgrad[op], c->wgrad[op]));
        k->wgrad[op] = splits_wgrad(op) ? ty_lower_compute_kind(l, weight, TY_CAT_BACKWARD,
                                                                TY_PHASE_BACKWARD, c->wgrad[op])
                                        : TY_NONE;
        k->input[op] = ty_lower_compute_kind(l, back, TY_CAT_DGRAD, TY_PHASE_DGRAD, c->dgrad[op]);
        k->weight[op] = weight != NULL ? ty_lower_compute_kind(l, weight, TY_CAT_WGRAD,
                                                               TY_PHASE_WGRAD, c->wgrad[op])
                                       : TY_NONE;
    }
}

/* The GPU waits for its host at the start of every pass of a pipeline. */
static void host_kinds(struct ty_lowering *l, struct ty_compute_kinds *k)
{
    static const struct {
        enum ty_phase phase;
        enum ty_category category;
    } rows[] = {{TY_PHASE_FORWARD, TY_CAT_FORWARD},
                {TY_PHASE_BACKWARD, TY_CAT_BACKWARD},
                {TY_PHASE_DGRAD, TY_CAT_DGRAD},
                {TY_PHASE_WGRAD, TY_CAT_WGRAD}};
    const struct ty_cost pause = {
        l->in->layout->framework.pass_overhead / l->in->cluster->host_speed, 0};
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const bool none = pause.seconds <= 0 || l->shape.p == 1;
        k->host[rows[i].phase] =
            none ? TY_NONE
                 : ty_lower_compute_kind(l, "host", rows[i].category, rows[i].phase, pause);
    }
}

static void edge_kinds(struct ty_lowering *l, const struct ty_edge_costs *c,
                       struct ty_compute_kinds *k)
{
    k->embedding[0] = ty_lower_compute_kind(l, "embedding", TY_CAT_FORWARD, TY_PHASE_FORWARD,
                                            c->embedding_forward);
    k->embedding[1] = ty_lower_compute_kind(l, "embedding backward", TY_CAT_BACKWARD,
                                            TY_PHASE_BACKWARD, c->embedding_backward);
    k->embedding_weight = ty_lower_compute_kind(l, "embedding backward", TY_CAT_WGRAD,
                                                TY_PHASE_WGRAD, c->embedding_backward);
    k->head_forward = ty_lower_compute_kind(l, "logits and loss", TY_CAT_FORWARD, TY_PHASE_FORWARD,
                                            c->head_forward);
    k->head_dgrad =
        ty_lower_compute_kind(l, "logits dgrad", TY_CAT_BACKWARD, TY_PHASE_BACKWARD, c->head_dgrad);
    k->head_wgrad =
        ty_lower_compute_kind(l, "logits wgrad", TY_CAT_BACKWARD, TY_PHASE_BACKWARD, c->head_wgrad);
    k->head_input =
        ty_lower_compute_kind(l, "logits dgrad", TY_CAT_DGRAD, TY_PHASE_DGRAD, c->head_dgrad);
    k->head_weight =
        ty_lower_compute_kind(l, "logits wgrad", TY_CAT_WGRAD, TY_PHASE_WGRAD, c->head_wgrad);
}

static struct ty_cost scaled(struct ty_cost c, double by)
{
    return (struct ty_cost){c.seconds * by, c.flops * by};
}

/* Slice q of n of a causal sequence attends to itself and to what came before: 2 q + 1 of the n^2
 * equal parts of the whole triangle (Li et al., "TeraPipe", ICML 2021, section 3). */
static void attention_of_slice(const struct ty_layer_costs *whole, uint32_t q, uint32_t n,
                               struct ty_layer_costs *c)
{
    const double share = (2.0 * q + 1) / ((double)n * n);
    const enum ty_layer_op op = TY_LAYER_ATTENTION;
    c->forward[op] = scaled(whole->forward[op], share);
    c->dgrad[op] = scaled(whole->dgrad[op], share);
    c->recompute[op] = scaled(whole->recompute[op], share);
}

/* The same in a slot in which a forward and a backward overlap. */
static void overlapped_kinds(struct ty_lowering *l, const struct ty_layer_costs *layer,
                             const struct ty_edge_costs *edge, struct ty_compute_kinds *k)
{
    const double by = l->in->schedule->overlap_cost;
    struct ty_layer_costs c;
    for (enum ty_layer_op op = 0; op < TY_N_LAYER_OPS; op++) {
        c.forward[op] = (struct ty_cost){layer->forward[op].seconds * by, layer->forward[op].flops};
        c.dgrad[op] = (struct ty_cost){layer->dgrad[op].seconds * by, layer->dgrad[op].flops};
        c.wgrad[op] = (struct ty_cost){layer->wgrad[op].seconds * by, layer->wgrad[op].flops};
        c.recompute[op] =
            (struct ty_cost){layer->recompute[op].seconds * by, layer->recompute[op].flops};
    }
    layer_kinds(l, &c, k);
    edge_kinds(l, edge, k);
    host_kinds(l, k);
}

static double tensor_seconds(const struct ty_lowering *l, enum ty_coll coll, double bytes)
{
    struct ty_coll_cost cost;
    ty_coll_cost(l->in->cluster, NULL, coll, bytes, &l->tensor_at[0], &cost);
    return ty_coll_seconds(&cost) * l->in->cluster->collective_derate;
}

/* Seconds of backward reductions of a part that its weight gradient does not cover. */
static double reduce_wait(const struct ty_lowering *l, enum ty_part part, double reduce_s,
                          double wgrad_s)
{
    const double all = ty_lower_reduces(l, part) * reduce_s;
    return l->in->layout->framework.overlap_tensor_reduce ? fmax(0, all - wgrad_s) : all;
}

/* Seconds of tensor collectives that the computation of a layer waits for, as lower_layer.c issues
 * them. The host runs ahead of them as it does of kernels. */
static void waited_comm(const struct ty_lowering *l, double tokens,
                        const struct ty_layer_costs *layer, double *forward, double *backward)
{
    const double bytes =
        tokens * l->in->arch->hidden * ty_dtype_bytes((enum ty_dtype)l->in->arch->dtype);
    const bool parts = l->in->layout->sequence_parallel;
    const double enter = parts ? tensor_seconds(l, TY_COLL_ALL_GATHER, bytes) : 0;
    const double leave =
        tensor_seconds(l, parts ? TY_COLL_REDUCE_SCATTER : TY_COLL_ALL_REDUCE, bytes);
    *forward = 2 * (enter + leave);
    *backward = 2 * enter +
                reduce_wait(l, TY_PART_ATTENTION, leave, layer->wgrad[TY_LAYER_QKV].seconds) +
                reduce_wait(l, TY_PART_MLP, leave, layer->wgrad[TY_LAYER_MLP].seconds);
}

int ty_lower_compute_kinds(struct ty_lowering *l)
{
    const uint32_t n = l->shape.slices;
    struct ty_arch part = *l->in->arch;
    struct ty_layer_costs whole, layer;
    struct ty_edge_costs edge;
    part.sequence /= n;
    l->slice = ty_arena_array(l->arena, struct ty_compute_kinds, 2 * n);
    if (l->slice == NULL) {
        return ty_fail(l->b.err, TY_ENOMEM, "lowering: out of memory");
    }
    ty_layer_costs(l->in->cluster, l->in->arch, l->in->layout, &whole);
    ty_layer_costs(l->in->cluster, &part, l->in->layout, &layer);
    ty_edge_costs(l->in->cluster, &part, l->in->layout, &edge);
    double forward_comm, backward_comm;
    const double tokens = (double)l->in->layout->micro_batch * part.sequence;
    waited_comm(l, tokens, &layer, &forward_comm, &backward_comm);
    ty_layer_host(l->in->cluster, l->in->layout, forward_comm, backward_comm, &layer);
    for (enum ty_layer_op op = 0; op < TY_N_LAYER_OPS; op++) {
        l->layer_forward = ty_cost_plus(l->layer_forward, layer.forward[op]);
        l->layer_input =
            ty_cost_plus(l->layer_input, ty_cost_plus(layer.dgrad[op], layer.recompute[op]));
        l->layer_weight = ty_cost_plus(l->layer_weight, layer.wgrad[op]);
    }
    for (uint32_t q = 0; q < n; q++) {
        if (n > 1) {
            attention_of_slice(&whole, q, n, &layer);
        }
        layer_kinds(l, &layer, &l->slice[q]);
        edge_kinds(l, &edge, &l->slice[q]);
        host_kinds(l, &l->slice[q]);
        l->slice[n + q] = l->slice[q];
        if (l->in->schedule->overlap_cost != 1) {
            overlapped_kinds(l, &layer, &edge, &l->slice[n + q]);
        }
    }
    return 0;
}
