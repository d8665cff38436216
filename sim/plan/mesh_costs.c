/* mesh_costs.c - what a layer costs on a part of the machine, in each way to share it.
 *
 * A scheme is executed once: the whole model as one stage, on that many GPUs and as on all of them,
 * two micro-batches. What a pass takes beside layers is the ends'; what a step has beside passes,
 * optimizer and gradients, is shared by all layers and micro-batches. */
#include <math.h>

#include "model/block/memory.h"
#include "sim/config/vary.h"
#include "sim/plan/meshes.h"
#include "sim/run/bill.h"
#include "sim/run/figures.h"
#include "sim/run/pass_times.h"

uint32_t ty_mesh_layers(const struct ty_mesh_chain *m, uint32_t group)
{
    return (uint32_t)((uint64_t)group * m->space->base->arch.layers / m->groups);
}

/* The model on `gpus` GPUs alone, all in one stage. 1: it cannot be. */
static int execute(const struct ty_mesh_chain *m, uint32_t gpus, uint32_t tensor,
                   struct ty_config *config, struct ty_run **run, struct ty_err *err)
{
    struct ty_plan_point point = *m->point;
    point.tensor = tensor;
    point.pipeline = 1;
    point.data = 0;
    point.micro_batch = m->sequences / (gpus / tensor);
    *run = NULL;
    ty_plan_vary(m->space, &point, config);
    config->layout.n_gpus = gpus;
    config->layout.nodes = config->layout.gpus = (struct ty_string_list){0};
    config->layout.rank_file = NULL;
    config->layout.global_batch = 2 * m->sequences;
    if (ty_config_complete(config, NULL) < 0) {
        return 1;
    }
    const int rc = ty_run_plan(run, config, NULL, err);
    return rc < 0 ? rc : ty_run_execute_folded(*run, err);
}

static double states_of(const struct ty_run *run, enum ty_unit_kind unit)
{
    const double params = ty_unit_params(&run->lowered.units->kind[unit]);
    const struct ty_state_bytes x = ty_memory_states(&run->config->layout, params, 0);
    return x.weights + x.grads + x.optimizer;
}

static int note(struct ty_mesh_chain *m, const struct ty_run *run, uint32_t gpus,
                struct ty_arena *arena)
{
    const struct ty_layout *layout = &run->config->layout;
    const uint32_t layers = run->config->arch.layers;
    struct ty_mesh_cost *c = &m->cost[m->n_schemes];
    struct ty_tensors tensors;
    double *layer = ty_arena_array(arena, double, layers), ends;
    if (layer == NULL) {
        return TY_ENOMEM;
    }
    ty_memory_tensors(run->lowered.units, &tensors);
    ty_layer_work(run, &ends, layer);
    double sum = 0;
    for (uint32_t i = 0; i < layers; i++) {
        sum += layer[i];
    }
    const double step_s = ty_s_from_ps(run->timeline.makespan) / run->lowered.program.n_steps;
    const double rest = fmax(0, step_s - 2 * (ends + sum)) / layers / m->micro_batches;
    *c = (struct ty_mesh_cost){
        .tensor = layout->tensor,
        .data = layout->data,
        .layer_s = sum / layers + rest,
        .ends_s = ends,
        .kept_B = ty_tensors_sum(&tensors, TY_UNIT_LAYER, TY_LIFE_KEPT),
        .brief_B = ty_tensors_sum(&tensors, TY_UNIT_LAYER, TY_LIFE_BACKWARD) +
                   ty_tensors_sum(&tensors, TY_UNIT_LAYER, TY_LIFE_RECOMPUTED),
        .loss_B = ty_tensors_sum(&tensors, TY_UNIT_HEAD, TY_LIFE_LOSS_BACKWARD) +
                  ty_tensors_sum(&tensors, TY_UNIT_HEAD, TY_LIFE_KEPT),
        .states_B = states_of(run, TY_UNIT_LAYER),
        .embedding_B = states_of(run, TY_UNIT_EMBEDDING),
        .head_B = states_of(run, TY_UNIT_HEAD),
        .room_B =
            ty_run_capacity(run, 0) - run->lowered.program.gangs[0].static_B[TY_MEM_ACTIVATIONS]};
    m->scheme[m->n_schemes++].devices = gpus;
    return 0;
}

static int price(struct ty_mesh_chain *m, uint32_t gpus, uint32_t tensor, struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_config config;
    struct ty_run *run;
    if (m->sequences % (gpus / tensor) != 0 || m->n_schemes == TY_MESH_SCHEMES) {
        return 0;
    }
    int rc = execute(m, gpus, tensor, &config, &run, err);
    rc = rc == 0 && note(m, run, gpus, &arena) < 0 ? ty_fail_memory(err) : rc;
    ty_run_free(run);
    ty_config_drop(&config);
    ty_arena_release(&arena);
    return rc < 0 ? rc : 0;
}

/* Shapes: powers of two of a node's GPUs, or whole nodes. Matrices are shared inside a node. */
int ty_mesh_price(struct ty_mesh_chain *m, struct ty_err *err)
{
    int rc = 0;
    for (uint32_t gpus = 1; gpus <= m->gpus && rc == 0; gpus = 2 * gpus <= m->node ? 2 * gpus
                                                               : gpus < m->node    ? m->node
                                                                                : gpus + m->node) {
        for (uint32_t tensor = 1; tensor <= gpus && tensor <= m->node && rc == 0; tensor *= 2) {
            if (gpus % tensor == 0) {
                rc = price(m, gpus, tensor, err);
            }
        }
    }
    return rc;
}

double ty_mesh_stage(const void *arg, uint32_t from, uint32_t to, uint32_t scheme, uint32_t behind)
{
    const struct ty_mesh_chain *m = arg;
    const struct ty_mesh_cost *c = &m->cost[scheme];
    const bool first = from == 0, last = to == m->groups;
    const uint32_t layers = ty_mesh_layers(m, to) - ty_mesh_layers(m, from);
    const double bytes = layers * (c->states_B + behind * c->kept_B) +
                         (first ? c->embedding_B : 0) + (last ? c->head_B : 0) +
                         fmax(c->brief_B, last ? c->loss_B : 0);
    return bytes > m->room * c->room_B ? HUGE_VAL : layers * c->layer_s + (last ? c->ends_s : 0);
}

static bool divide(uint32_t a, uint32_t b)
{
    return a % b == 0 || b % a == 0;
}

/* Hidden states forward, their gradients backward, in slices over the thinner end. A part of a node
 * does not lie across two, and neighbours of different shape have to divide each other. */
double ty_mesh_between(const void *arg, uint32_t at, uint32_t used, uint32_t before, uint32_t after)
{
    const struct ty_mesh_chain *m = arg;
    const struct ty_cluster *cluster = &m->space->base->cluster;
    const struct ty_arch *arch = &m->space->base->arch;
    const uint32_t a = m->scheme[before].devices, b = m->scheme[after].devices;
    const uint32_t fewer = a < b ? a : b;
    (void)at;
    if (!divide(a, b) || !divide(m->cost[before].data, m->cost[after].data) ||
        used % (b < m->node ? b : m->node) != 0) {
        return HUGE_VAL;
    }
    const double bytes = 2.0 * ty_dtype_bytes((enum ty_dtype)arch->dtype) * m->sequences *
                         arch->sequence * arch->hidden;
    const double nics = cluster->net.nics * cluster->net.nic_bandwidth;
    return used % m->node == 0 ? bytes / (nics * ((fewer + m->node - 1) / m->node))
                               : bytes / (cluster->nvlink.bandwidth * fewer);
}
