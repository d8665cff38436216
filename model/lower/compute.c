/* compute.c - what computation costs: on each kind of GPU in use once, for all stages. */
#include "model/lower/internal.h"

#include <math.h>

static struct ty_cost scaled(struct ty_cost c, double by)
{
    return (struct ty_cost){c.seconds * by, c.flops * by};
}

/* Pairs of a query and a key up to a share x of the sequence, as a share of all; w: of a window. */
static double pairs_until(double x, double w)
{
    return w > 0 && x > w ? (w * x - w * w / 2) / (w - w * w / 2)
                          : x * x / (w > 0 ? 2 * w - w * w : 1);
}

/* Slice q of n of a causal sequence attends to itself and to what came before: 2 q + 1 of the n^2
 * equal parts of the whole triangle (Li et al., "TeraPipe", ICML 2021, section 3), or what of them
 * a window leaves. */
static void attention_of_slice(const struct ty_unit_ops *unit, const struct ty_unit_costs *whole,
                               uint32_t q, uint32_t n, struct ty_unit_costs *c)
{
    for (uint32_t i = 0; i < unit->n; i++) {
        const struct ty_kernel *kernel = &unit->op[i].kernel[0];
        if (kernel->op == TY_OPERATOR_ATTENTION) {
            const double w = kernel->attention.window / (n * kernel->attention.tokens);
            const double share = w > 0
                                     ? pairs_until((q + 1.0) / n, w) - pairs_until((double)q / n, w)
                                     : (2.0 * q + 1) / ((double)n * n);
            c->op[i].forward = scaled(whole->op[i].forward, share);
            c->op[i].dgrad = scaled(whole->op[i].dgrad, share);
            c->op[i].recompute = scaled(whole->op[i].recompute, share);
            c->op[i].input = c->op[i].dgrad;
        }
    }
}

/* Seconds that a call of a collective keeps a layer. Where passes are woven, exchanges run under
 * the other half of a pair, and take what it loses beside them. */
static double kept_by(const struct ty_lowering *l, const struct ty_op_comm *comm)
{
    const struct ty_cluster *cluster = l->in->cluster;
    const struct ty_reach *reach = &l->group[comm->group].at[0];
    struct ty_op_comm beside = *comm;
    if (comm->exchange.tokens <= 0 || !l->in->layout->framework.expert_overlap) {
        return ty_op_comm_seconds(cluster, comm, reach);
    }
    beside.exchange.overlapped = true;
    const double slows = ty_exchange_slows(cluster, &comm->exchange, reach->nodes > 1);
    return ty_op_comm_seconds(cluster, &beside, reach) * slows / (1 - slows);
}

/* Seconds of the collectives of a layer. */
static void waits_of(const struct ty_lowering *l, const struct ty_unit_ops *ops,
                     struct ty_unit_waits *out)
{
    *out = (struct ty_unit_waits){.seconds = {{0}}};
    for (uint32_t i = 0; i < ops->n; i++) {
        for (enum ty_comm_place place = 0; place < TY_N_COMM_PLACES; place++) {
            const struct ty_op_comms *comms = &ops->op[i].comms[place];
            for (uint32_t k = 0; k < comms->n; k++) {
                const struct ty_op_comm *comm = &comms->item[k];
                out->seconds[i][place] += comm->times * (comm->calls * kept_by(l, comm));
            }
        }
    }
}

/* Into the costs of a slice: alone (by 1), or in a slot in which a forward and a backward overlap.
 * Only layers stretch there: ends are at the edges of a pipeline. */
static void fill(const struct ty_units *units, const struct ty_unit_costs *unit, double by,
                 struct ty_compute_costs *c)
{
    for (enum ty_unit_kind u = 0; u < TY_N_UNIT_KINDS; u++) {
        const double stretch = ty_unit_is_layer(u) ? by : 1;
        for (uint32_t i = 0; i < units->kind[u].n; i++) {
            c->op[u][i] = ty_op_costs_times(&unit[u].op[i], stretch);
            c->whole[u][i] = ty_cost_plus(c->op[u][i].dgrad, c->op[u][i].wgrad);
            if (units->kind[u].op[i].rounds.n > 0) {
                c->first[u][i] = ty_op_costs_times(&unit[u].first[i], stretch);
                c->next[u][i] = ty_op_costs_times(&unit[u].next[i], stretch);
            }
        }
    }
}

/* Generators of orders are told the times of a mean layer, on the slowest GPU, which sets the
 * pace. */
static void note_layers(struct ty_lowering *l, const struct ty_unit_costs *unit)
{
    struct ty_cost forward = {0, 0}, input = {0, 0}, weight = {0, 0};
    uint32_t count[TY_N_UNIT_KINDS];
    ty_model_layers(l->in->arch, l->in->layout, count);
    for (enum ty_unit_kind u = TY_UNIT_LAYER; u < TY_UNIT_HEAD; u++) {
        const double share = (double)count[u] / l->in->arch->layers;
        for (uint32_t i = 0; i < l->units->kind[u].n; i++) {
            const struct ty_op_costs *op = &unit[u].op[i];
            const struct ty_cost back = ty_cost_plus(op->input, op->recompute);
            forward = ty_cost_plus(forward, ty_cost_times(op->forward, share));
            input = ty_cost_plus(input, ty_cost_times(back, share));
            weight = ty_cost_plus(weight, ty_cost_times(op->weight, share));
        }
    }
    if (forward.seconds + input.seconds + weight.seconds >
        l->layer_forward.seconds + l->layer_input.seconds + l->layer_weight.seconds) {
        l->layer_forward = forward;
        l->layer_input = input;
        l->layer_weight = weight;
    }
}

/* Every kind of unit is priced once, however many layers are of it. Links are those of the cluster,
 * whatever the GPU. part: the units of a slice. */
static void price(struct ty_lowering *l, const struct ty_gpu *gpu, const struct ty_units *part,
                  struct ty_compute_costs *c)
{
    const struct ty_layout *layout = l->in->layout;
    const uint32_t n = l->shape.slices;
    struct ty_unit_costs unit[TY_N_UNIT_KINDS], whole[TY_N_UNIT_KINDS];
    for (enum ty_unit_kind u = 0; u < TY_N_UNIT_KINDS; u++) {
        ty_unit_price(&part->kind[u], layout, gpu, &unit[u]);
        if (ty_unit_is_layer(u)) {
            struct ty_unit_waits waits;
            waits_of(l, &part->kind[u], &waits);
            ty_unit_host(&part->kind[u], layout, gpu, &waits, &unit[u]);
        }
    }
    for (enum ty_unit_kind u = TY_UNIT_LAYER; u < TY_UNIT_HEAD && n > 1; u++) {
        ty_unit_price(&l->units->kind[u], layout, gpu, &whole[u]);
    }
    note_layers(l, unit);
    /* the GPU waits for its host at the start of every pass of a pipeline */
    const double pause = layout->framework.pass_overhead / gpu->host_speed;
    for (uint32_t q = 0; q < n; q++) {
        for (enum ty_unit_kind u = TY_UNIT_LAYER; u < TY_UNIT_HEAD && n > 1; u++) {
            attention_of_slice(&part->kind[u], &whole[u], q, n, &unit[u]);
        }
        fill(part, unit, 1, &c[q]);
        fill(part, unit, l->in->schedule->overlap_cost, &c[n + q]);
        c[q].host.seconds = c[n + q].host.seconds = l->shape.p > 1 ? pause : 0;
    }
}

int ty_lower_price(struct ty_lowering *l)
{
    const struct ty_cluster *cluster = l->in->cluster;
    const uint32_t generations = ty_exceptions_n_generations(cluster), row = 2 * l->shape.slices;
    bool used[TY_GENERATIONS_MAX] = {false};
    struct ty_arch arch = *l->in->arch;
    const bool sliced = l->shape.slices > 1;
    struct ty_units *units = ty_price_book_units(l->in->book, sliced ? 2 : 1, l->arena);
    l->costs = ty_arena_array(l->arena, struct ty_compute_costs, (size_t)generations * row);
    if (l->costs == NULL || units == NULL) {
        return ty_fail_memory(l->b.err);
    }
    ty_units_make(&units[0], &arch, l->in->layout);
    l->part = l->units = l->out->units = &units[0];
    if (sliced) {
        arch.sequence /= l->shape.slices;
        ty_units_make(&units[1], &arch, l->in->layout);
        l->part = &units[1];
    }
    for (uint32_t rank = 0; rank < l->out->grid.n_ranks; rank++) {
        used[ty_lower_generation(l, rank)] = true;
    }
    for (uint32_t g = 0; g < generations; g++) {
        if (used[g]) {
            price(l, &ty_exceptions_cluster(cluster, g)->gpu, l->part, &l->costs[(size_t)g * row]);
        }
    }
    return 0;
}
