/* offload.c - the memory and the drives of a node, and what its ranks keep there.
 *
 * Ranks of several stages share a node: what it holds is the sum over all of them. */
#include "sim/run/offload.h"

#include <math.h>
#include <stdlib.h>

static void add_states(struct ty_offload_memory *bill, const struct ty_state_bytes *s)
{
    bill->weights_B += s->weights;
    bill->grads_B += s->grads;
    bill->optimizer_B += s->optimizer;
    bill->total_B += s->weights + s->grads + s->optimizer;
    bill->ranks++;
}

/* A rank of a stage joins its node. */
static void add_rank(struct ty_offload_memory node[TY_N_OFFLOAD_TIERS],
                     const struct ty_stage_plan *plan, struct ty_offload_memory *activations)
{
    add_states(&node[TY_OFFLOAD_HOST], &plan->away.host);
    add_states(&node[TY_OFFLOAD_NVME], &plan->away.nvme);
    node[TY_OFFLOAD_HOST].pinned_B += plan->pinned_B;
    node[TY_OFFLOAD_HOST].total_B += plan->pinned_B;
    activations->activations_B += plan->stashed_B;
    activations->total_B += plan->stashed_B;
}

static void add_ranks(const struct ty_run *run,
                      struct ty_offload_memory (*node)[TY_N_OFFLOAD_TIERS])
{
    const struct ty_grid *grid = &run->lowered.grid;
    const bool far = run->config->layout.home.activations == TY_HOME_NVME;
    for (uint32_t rank = 0; rank < grid->n_ranks; rank++) {
        uint32_t coord[TY_N_AXES];
        ty_grid_coords(grid, rank, coord);
        struct ty_offload_memory *own = node[ty_grid_node(grid, rank)];
        add_rank(own, &run->lowered.stage[coord[TY_AXIS_PIPELINE]],
                 &own[far ? TY_OFFLOAD_NVME : TY_OFFLOAD_HOST]);
    }
}

int ty_run_find_offload(struct ty_run *run, struct ty_err *err)
{
    const struct ty_cluster *cluster = &run->config->cluster;
    const uint32_t nodes = ty_grid_nodes(&run->lowered.grid);
    if (!ty_layout_is_offloaded(&run->config->layout)) {
        return 0;
    }
    struct ty_offload_memory(*node)[TY_N_OFFLOAD_TIERS] = calloc(nodes, sizeof(*node));
    run->away = ty_arena_array(&run->arena, struct ty_offload_memory, TY_N_OFFLOAD_TIERS);
    if (node == NULL || run->away == NULL) {
        free(node);
        return ty_fail_memory(err);
    }
    add_ranks(run, node);
    for (uint32_t i = 0; i < nodes; i++) {
        for (int tier = 0; tier < TY_N_OFFLOAD_TIERS; tier++) {
            node[i][tier].node = i;
            if (node[i][tier].total_B > run->away[tier].total_B) {
                run->away[tier] = node[i][tier];
            }
        }
    }
    free(node);
    run->away[TY_OFFLOAD_HOST].tier = "host";
    run->away[TY_OFFLOAD_HOST].key = "cluster.host.memory";
    run->away[TY_OFFLOAD_HOST].capacity_B = cluster->host.memory;
    run->away[TY_OFFLOAD_NVME].tier = "nvme";
    run->away[TY_OFFLOAD_NVME].key = "cluster.nvme.capacity";
    run->away[TY_OFFLOAD_NVME].capacity_B = cluster->nvme.capacity;
    return 0;
}

int ty_run_host_shares(const struct ty_run *run, double *share, struct ty_err *err)
{
    const struct ty_grid *grid = &run->lowered.grid;
    struct ty_offload_memory(*node)[TY_N_OFFLOAD_TIERS] =
        calloc(ty_grid_nodes(grid), sizeof(*node));
    if (node == NULL) {
        return ty_fail_memory(err);
    }
    add_ranks(run, node);
    for (uint32_t stage = 0; stage < run->lowered.program.n_gangs; stage++) {
        share[stage] = 1;
    }
    for (uint32_t rank = 0; rank < grid->n_ranks; rank++) {
        uint32_t coord[TY_N_AXES];
        ty_grid_coords(grid, rank, coord);
        const struct ty_offload_memory *host = &node[ty_grid_node(grid, rank)][TY_OFFLOAD_HOST];
        const double states = host->weights_B + host->grads_B + host->optimizer_B;
        const double room = run->config->cluster.host.memory - (host->total_B - states);
        double *own = &share[coord[TY_AXIS_PIPELINE]];
        *own = states > 0 ? fmin(*own, fmax(0, room / states)) : *own;
    }
    free(node);
    return 0;
}

const struct ty_offload_memory *ty_run_offload_short(const struct ty_run *run)
{
    for (int tier = 0; run->away != NULL && tier < TY_N_OFFLOAD_TIERS; tier++) {
        if (run->away[tier].total_B > run->away[tier].capacity_B) {
            return &run->away[tier];
        }
    }
    return NULL;
}
