/* lower_compute.c - what computation costs: on each kind of GPU in use once, for all stages. */
#include "model/lower_internal.h"

#include <math.h>

#include "model/kernels_internal.h"

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

/* Seconds in a slot in which a forward and a backward overlap. */
static void overlapped(double by, const struct ty_layer_costs *alone, struct ty_layer_costs *c)
{
    for (enum ty_layer_op op = 0; op < TY_N_LAYER_OPS; op++) {
        c->forward[op] = ty_cost_times(alone->forward[op], by);
        c->dgrad[op] = ty_cost_times(alone->dgrad[op], by);
        c->wgrad[op] = ty_cost_times(alone->wgrad[op], by);
        c->recompute[op] = ty_cost_times(alone->recompute[op], by);
    }
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

static void fill(const struct ty_lowering *l, const struct ty_cluster *gpu,
                 const struct ty_layer_costs *layer, const struct ty_edge_costs *edge,
                 struct ty_compute_costs *c)
{
    for (enum ty_layer_op op = 0; op < TY_N_LAYER_OPS; op++) {
        c->forward[op] = layer->forward[op];
        c->recompute[op] = layer->recompute[op];
        c->dgrad[op] = ty_lower_splits_wgrad(op) ? layer->dgrad[op]
                                                 : ty_cost_plus(layer->dgrad[op], layer->wgrad[op]);
        c->input[op] = layer->dgrad[op];
        c->wgrad[op] = c->weight[op] = layer->wgrad[op];
    }
    c->embedding[0] = edge->embedding_forward;
    c->embedding[1] = edge->embedding_backward;
    c->head_forward = edge->head_forward;
    c->head_dgrad = edge->head_dgrad;
    c->head_wgrad = edge->head_wgrad;
    /* the GPU waits for its host at the start of every pass of a pipeline */
    const double pause = l->in->layout->framework.pass_overhead / gpu->host_speed;
    c->host.seconds = l->shape.p > 1 ? pause : 0;
}

/* Generators of orders are told the times of the slowest GPU, which sets the pace. */
static void note_layer(struct ty_lowering *l, const struct ty_layer_costs *layer)
{
    struct ty_cost forward = {0, 0}, input = {0, 0}, weight = {0, 0};
    for (enum ty_layer_op op = 0; op < TY_N_LAYER_OPS; op++) {
        forward = ty_cost_plus(forward, layer->forward[op]);
        input = ty_cost_plus(input, ty_cost_plus(layer->dgrad[op], layer->recompute[op]));
        weight = ty_cost_plus(weight, layer->wgrad[op]);
    }
    if (forward.seconds + input.seconds + weight.seconds >
        l->layer_forward.seconds + l->layer_input.seconds + l->layer_weight.seconds) {
        l->layer_forward = forward;
        l->layer_input = input;
        l->layer_weight = weight;
    }
}

/* Links are those of the cluster, whatever the GPU. */
static void price(struct ty_lowering *l, const struct ty_cluster *gpu, struct ty_compute_costs *c)
{
    const uint32_t n = l->shape.slices;
    const double by = l->in->schedule->overlap_cost;
    struct ty_arch part = *l->in->arch;
    struct ty_layer_costs whole, layer, beside;
    struct ty_edge_costs edge;
    part.sequence /= n;
    ty_layer_costs(gpu, l->in->arch, l->in->layout, &whole);
    ty_layer_costs(gpu, &part, l->in->layout, &layer);
    ty_edge_costs(gpu, &part, l->in->layout, &edge);
    double forward_comm, backward_comm;
    const double tokens = (double)l->in->layout->micro_batch * part.sequence;
    waited_comm(l, tokens, &layer, &forward_comm, &backward_comm);
    ty_layer_host(gpu, l->in->layout, forward_comm, backward_comm, &layer);
    note_layer(l, &layer);
    for (uint32_t q = 0; q < n; q++) {
        if (n > 1) {
            attention_of_slice(&whole, q, n, &layer);
        }
        overlapped(by, &layer, &beside);
        fill(l, gpu, &layer, &edge, &c[q]);
        fill(l, gpu, &beside, &edge, &c[n + q]);
    }
}

int ty_lower_price(struct ty_lowering *l)
{
    const struct ty_cluster *cluster = l->in->cluster;
    const uint32_t generations = ty_exceptions_n_generations(cluster), row = 2 * l->shape.slices;
    bool used[TY_GENERATIONS_MAX] = {false};
    l->costs = ty_arena_array(l->arena, struct ty_compute_costs, (size_t)generations * row);
    if (l->costs == NULL) {
        return ty_fail_memory(l->b.err);
    }
    for (uint32_t rank = 0; rank < l->out->grid.n_ranks; rank++) {
        used[ty_lower_generation(l, rank)] = true;
    }
    for (uint32_t g = 0; g < generations; g++) {
        if (used[g]) {
            price(l, ty_exceptions_cluster(cluster, g), &l->costs[(size_t)g * row]);
        }
    }
    return 0;
}
