/* slice.c - what a slice of a causal sequence costs, and a mean layer. */
#include "model/block/block.h"

static struct ty_cost scaled(struct ty_cost c, double by)
{
    return (struct ty_cost){c.seconds * by, c.flops * by, c.joules * by};
}

/* Pairs of a query and a key up to a share x of the sequence, as a share of all; w: of a window. */
static double pairs_until(double x, double w)
{
    return w > 0 && x > w ? (w * x - w * w / 2) / (w - w * w / 2)
                          : x * x / (w > 0 ? 2 * w - w * w : 1);
}

void ty_unit_slice(const struct ty_unit_ops *unit, const struct ty_unit_costs *whole, uint32_t q,
                   uint32_t n, struct ty_unit_costs *costs)
{
    for (uint32_t i = 0; i < unit->n; i++) {
        const struct ty_kernel *kernel = &unit->op[i].kernel[0];
        const bool core = kernel->op == TY_OPERATOR_ATTENTION;
        if (core || kernel->op == TY_OPERATOR_INDEX) {
            const double w = core ? kernel->attention.window / (n * kernel->attention.tokens) : 0;
            const double share = w > 0
                                     ? pairs_until((q + 1.0) / n, w) - pairs_until((double)q / n, w)
                                     : (2.0 * q + 1) / ((double)n * n);
            costs->op[i].forward = scaled(whole->op[i].forward, share);
            costs->op[i].dgrad = scaled(whole->op[i].dgrad, share);
            costs->op[i].recompute = scaled(whole->op[i].recompute, share);
            costs->op[i].input = costs->op[i].dgrad;
        }
    }
}

struct ty_layer_costs ty_layer_mean(const struct ty_units *units, const struct ty_arch *arch,
                                    const struct ty_layout *layout,
                                    const struct ty_unit_costs unit[TY_N_UNIT_KINDS])
{
    struct ty_layer_costs mean = {.forward = {0}};
    uint32_t count[TY_N_UNIT_KINDS];
    ty_model_layers(arch, layout, count);
    for (enum ty_unit_kind u = TY_UNIT_LAYER; u < TY_UNIT_HEAD; u++) {
        const double share = (double)count[u] / arch->layers;
        for (uint32_t i = 0; i < units->kind[u].n; i++) {
            const struct ty_op_costs *op = &unit[u].op[i];
            const struct ty_cost back = ty_cost_plus(op->input, op->recompute);
            mean.forward = ty_cost_plus(mean.forward, ty_cost_times(op->forward, share));
            mean.input = ty_cost_plus(mean.input, ty_cost_times(back, share));
            mean.weight = ty_cost_plus(mean.weight, ty_cost_times(op->weight, share));
        }
    }
    return mean;
}
