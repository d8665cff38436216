/* priced.h - what the lists of operators cost, in the order of the layer that tests are written
 * for. */
#ifndef TY_TESTS_PRICED_H
#define TY_TESTS_PRICED_H

#include "model/block/block.h"
#include "model/parallel/kinds.h"
#include "tests/unit/suite.h"

enum layer_op {
    NORM1,
    QKV,
    ATTENTION,
    PROJ,
    NORM2,
    MLP,
    N_LAYER_OPS
};

struct layer_times {
    struct ty_cost forward[N_LAYER_OPS], dgrad[N_LAYER_OPS], wgrad[N_LAYER_OPS],
        recompute[N_LAYER_OPS], input[N_LAYER_OPS], weight[N_LAYER_OPS];
};

struct edge_times {
    struct ty_cost embedding_forward, embedding_backward, head_forward, head_dgrad, head_wgrad;
};

/* With a host that is waited for, and these collectives, unless `waits` is NULL. */
static inline void layer_times_with(const struct ty_cluster *cluster, const struct ty_arch *arch,
                                    const struct ty_layout *layout,
                                    const struct ty_unit_waits *waits, struct layer_times *out)
{
    struct ty_units units;
    struct ty_unit_costs costs;
    ty_units_make(&units, arch, layout);
    const struct ty_unit_ops *layer = &units.kind[TY_UNIT_LAYER];
    ck_assert_uint_eq(layer->n, N_LAYER_OPS);
    ty_unit_price(layer, layout, &cluster->gpu, &costs);
    if (waits != NULL) {
        ty_unit_host(layer, layout, &cluster->gpu, waits, &costs);
    }
    for (uint32_t i = 0; i < layer->n; i++) {
        out->forward[i] = costs.op[i].forward;
        out->dgrad[i] = costs.op[i].dgrad;
        out->wgrad[i] = costs.op[i].wgrad;
        out->recompute[i] = costs.op[i].recompute;
        out->input[i] = costs.op[i].input;
        out->weight[i] = costs.op[i].weight;
    }
}

static inline void layer_times(const struct ty_cluster *cluster, const struct ty_arch *arch,
                               const struct ty_layout *layout, struct layer_times *out)
{
    layer_times_with(cluster, arch, layout, NULL, out);
}

static inline void edge_times(const struct ty_cluster *cluster, const struct ty_arch *arch,
                              const struct ty_layout *layout, struct edge_times *out)
{
    struct ty_units units;
    struct ty_unit_costs embedding, head;
    ty_units_make(&units, arch, layout);
    ty_unit_price(&units.kind[TY_UNIT_EMBEDDING], layout, &cluster->gpu, &embedding);
    ty_unit_price(&units.kind[TY_UNIT_HEAD], layout, &cluster->gpu, &head);
    *out = (struct edge_times){embedding.op[0].forward, embedding.op[0].dgrad, head.op[0].forward,
                               head.op[0].dgrad, head.op[0].wgrad};
}

/* The first kernel of an operator that the model has; without any nothing. */
static inline struct ty_cost kernel_of(const struct ty_cluster *cluster, const struct ty_arch *arch,
                                       const struct ty_layout *layout, enum ty_operator op,
                                       bool backward)
{
    struct ty_units units;
    ty_units_make(&units, arch, layout);
    for (int u = 0; u < TY_N_UNIT_KINDS; u++) {
        for (uint32_t i = 0; i < units.kind[u].n; i++) {
            const struct ty_unit_op *at = &units.kind[u].op[i];
            for (uint32_t k = 0; k < at->n_kernels; k++) {
                if (at->kernel[k].op == op) {
                    return ty_kernel_cost(&cluster->gpu, &at->kernel[k],
                                          backward ? TY_DGRAD : TY_FORWARD);
                }
            }
        }
    }
    return (struct ty_cost){0};
}

#endif
