/* compute.c - what computation costs: on each kind of GPU in use once, for all stages. */
#include "model/lower/internal.h"
#include "model/parallel/kinds.h"

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
            if (ty_op_has_parts(&units->kind[u].op[i])) {
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
    const struct ty_layer_costs mean = ty_layer_mean(l->units, l->in->arch, l->in->layout, unit);
    if (mean.forward.seconds + mean.input.seconds + mean.weight.seconds >
        l->layer_forward.seconds + l->layer_input.seconds + l->layer_weight.seconds) {
        l->layer_forward = mean.forward;
        l->layer_input = mean.input;
        l->layer_weight = mean.weight;
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
    const struct ty_reach *reach[TY_N_COMM_GROUPS];
    for (enum ty_comm_group g = 0; g < TY_N_COMM_GROUPS; g++) {
        reach[g] = l->group[g].at;
    }
    for (enum ty_unit_kind u = 0; u < TY_N_UNIT_KINDS; u++) {
        ty_unit_price(&part->kind[u], layout, gpu, &unit[u]);
        if (ty_unit_is_layer(u)) {
            struct ty_unit_waits waits;
            ty_unit_waits(&part->kind[u], layout, l->in->cluster, reach, &waits);
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
            ty_unit_slice(&part->kind[u], &whole[u], q, n, &unit[u]);
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
    const bool sliced = l->shape.slices > 1;
    struct ty_units *units = ty_price_book_units(l->in->book, sliced ? 2 : 1, l->arena);
    l->costs = ty_arena_array(l->arena, struct ty_compute_costs, (size_t)generations * row);
    if (l->costs == NULL || units == NULL) {
        return ty_fail_memory(l->b.err);
    }
    ty_units_make(&units[0], l->in->arch, l->in->layout);
    l->part = l->units = &units[0];
    if (sliced) {
        const struct ty_arch slice = ty_arch_slice(l->in->arch, l->shape.slices);
        ty_units_make(&units[1], &slice, l->in->layout);
        l->part = &units[1];
    }
    used[0] = generations == 1;
    for (uint32_t rank = 0; generations > 1 && rank < l->out->grid.n_ranks; rank++) {
        used[ty_lower_generation(l, rank)] = true;
    }
    for (uint32_t g = 0; g < generations; g++) {
        if (used[g]) {
            price(l, &ty_exceptions_cluster(cluster, g)->gpu, l->part, &l->costs[(size_t)g * row]);
        }
    }
    return 0;
}
