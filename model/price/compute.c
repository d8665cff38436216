/* compute.c - prices kernels: every kind of unit on each kind of GPU in use, for all stages. */
#include <string.h>

#include "model/parallel/kinds.h"
#include "model/price/price.h"

bool ty_op_in_pieces(const struct ty_unit_op *op, enum ty_op_pass pass)
{
    bool again = false;
    switch (pass) {
    case TY_OP_FORWARD:
        return op->pieces.n > 0;
    case TY_OP_RECOMPUTE:
        for (uint32_t k = 0; k < op->n_kernels; k++) {
            again = again || (ty_kernel_is_product(&op->kernel[k]) && (op->again >> k & 1u) != 0);
        }
        return op->pieces.n > 0 && again;
    case TY_OP_DGRAD:
    case TY_OP_INPUT:
        return op->pieces.n > 0 && op->pieces.scatters;
    default:
        return false;
    }
}

/* Generators of orders are told the times of a mean layer, on the slowest GPU, which sets the
 * pace. */
static void note_layers(struct ty_prices *prices, const struct ty_unit_costs *unit)
{
    const struct ty_layer_costs mean =
        ty_layer_mean(prices->units, prices->of.arch, prices->of.layout, unit);
    struct ty_layer_costs *most = &prices->layer;
    if (mean.forward.seconds + mean.input.seconds + mean.weight.seconds >
        most->forward.seconds + most->input.seconds + most->weight.seconds) {
        *most = mean;
    }
}

/* The slices of a sequence differ in attention: unit[slices][kinds of units], of which the first is
 * priced as any slice. */
static void price_slices(const struct ty_prices *prices, const struct ty_gpu *gpu,
                         struct ty_unit_costs (*unit)[TY_N_UNIT_KINDS])
{
    const uint32_t n = prices->of.slices;
    for (uint32_t q = 1; q < n; q++) {
        memcpy(unit[q], unit[0], sizeof(unit[0]));
    }
    for (enum ty_unit_kind u = TY_UNIT_LAYER; u < TY_UNIT_HEAD && n > 1; u++) {
        struct ty_unit_costs whole;
        ty_unit_price(&prices->units->kind[u], prices->of.layout, gpu, &whole);
        for (uint32_t q = 0; q < n; q++) {
            ty_unit_slice(&prices->part->kind[u], &whole, q, n, &unit[q][u]);
        }
    }
}

/* Every kind of unit is priced once, however many layers are of it. Links are those of the cluster,
 * whatever the GPU. */
static void price_gpu(struct ty_prices *prices, const struct ty_gpu *gpu,
                      struct ty_unit_costs (*unit)[TY_N_UNIT_KINDS])
{
    const struct ty_price_list *of = &prices->of;
    for (enum ty_unit_kind u = 0; u < TY_N_UNIT_KINDS; u++) {
        const struct ty_unit_ops *ops = &prices->part->kind[u];
        ty_unit_price(ops, of->layout, gpu, &unit[0][u]);
        if (ty_unit_is_layer(u)) {
            struct ty_unit_waits waits;
            ty_unit_waits(ops, of->layout, of->cluster, of->reach, &waits);
            ty_unit_host(ops, of->layout, gpu, &waits, &unit[0][u]);
        }
    }
    note_layers(prices, unit[0]);
    price_slices(prices, gpu, unit);
}

int ty_prices_make(struct ty_prices *out, const struct ty_price_list *of, struct ty_units *units,
                   struct ty_arena *arena, struct ty_err *err)
{
    const uint32_t generations = ty_exceptions_n_generations(of->cluster);
    *out = (struct ty_prices){.of = *of, .units = units, .part = units};
    out->unit = ty_arena_alloc(arena, (size_t)generations * of->slices, sizeof(*out->unit));
    if (out->unit == NULL) {
        return ty_fail_memory(err);
    }
    ty_units_make(&units[0], of->arch, of->layout);
    ty_grads_make(&out->grads, &units[0], of->layout);
    if (of->slices > 1) {
        const struct ty_arch slice = ty_arch_slice(of->arch, of->slices);
        ty_units_make(&units[1], &slice, of->layout);
        out->part = &units[1];
    }
    for (uint32_t g = 0; g < generations; g++) {
        const struct ty_gpu *gpu = &ty_exceptions_cluster(of->cluster, g)->gpu;
        if (of->used[g]) {
            out->host_s[g] = of->layout->framework.pass_overhead / gpu->host_speed;
            price_gpu(out, gpu, &out->unit[(size_t)g * of->slices]);
        }
    }
    return 0;
}

struct ty_cost ty_price_pass(const struct ty_prices *prices, const struct ty_price_at *at,
                             double by)
{
    const struct ty_unit_op *op = &prices->part->kind[at->unit].op[at->op];
    const struct ty_unit_costs *unit =
        &prices->unit[(size_t)at->generation * prices->of.slices + at->slice][at->unit];
    const bool rounds = op->rounds.n > 0;
    const struct ty_op_costs *costs = op->steps.n > 0 || at->nth > 0 ? &unit->next[at->op]
                                      : rounds || op->pieces.n > 0   ? &unit->first[at->op]
                                                                     : &unit->op[at->op];
    const bool both =
        at->nth == 0 && !rounds &&
        (at->pass == TY_OP_DGRAD ? !ty_op_splits_wgrad(op) : at->pass == TY_OP_WEIGHT && op->first);
    const double stretch = ty_unit_is_layer(at->unit) ? by : 1;
    const struct ty_cost own =
        ty_cost_times(both ? costs->dgrad : (&costs->forward)[at->pass], stretch);
    return both ? ty_cost_plus(own, ty_cost_times(costs->wgrad, stretch)) : own;
}
