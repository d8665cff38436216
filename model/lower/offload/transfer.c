/* transfer.c - what moves between a GPU, the memory of its node and its drives, and what the
 * processors of the node do.
 *
 * What ranks share (the link of a few GPUs, memory, drives, processors) are links like any
 * (topology/fabric/tiers.h). Where links are not followed, all ranks of a node do the same at the
 * same time, and each has its part. */
#include "model/lower/offload.h"

#include <math.h>

/* Ranks on the node of the first one, of all stages. */
static uint32_t node_ranks(struct ty_lowering *l)
{
    const struct ty_grid *grid = &l->out->grid;
    uint32_t n = l->node_ranks;
    for (uint32_t rank = 0; rank < grid->n_ranks && l->node_ranks == 0; rank++) {
        n += ty_grid_node(grid, rank) == ty_grid_node(grid, 0);
    }
    l->node_ranks = n;
    return n;
}

/* Durations: alone, and beside the same of all ranks of the node, which divide what they share. */
static uint16_t add(struct ty_lowering *l, struct ty_kind *kind, struct ty_tier_move move,
                    double shared_Bps)
{
    const struct ty_program *p = l->b.program;
    for (uint32_t k = l->here.first_kind; k < p->n_kinds; k++) {
        const struct ty_kind *known = &p->kinds[k];
        if (known->name == kind->name && known->group == kind->group &&
            known->phase == kind->phase && !(known->bytes < kind->bytes) &&
            !(known->bytes > kind->bytes)) {
            return (uint16_t)k;
        }
    }
    const double alone_Bps = ty_tiers_alone_Bps(&l->out->fabric, move);
    kind->dur = ty_lower_ps(l, kind->bytes / fmin(shared_Bps, alone_Bps));
    kind->alone = ty_lower_ps(l, kind->bytes / alone_Bps);
    ty_lower_tier_flows(l, kind, move);
    return ty_lower_add_kind(l, kind);
}

uint16_t ty_lower_transfer_kind(struct ty_lowering *l, const char *name, enum ty_phase phase,
                                double bytes, enum ty_tier from, enum ty_tier to)
{
    static const char *const ways[][3] = {[TY_TIER_GPU] = {NULL, "d2h", NULL},
                                          [TY_TIER_HOST] = {"h2d", NULL, "write"},
                                          [TY_TIER_NVME] = {NULL, "read", NULL}};
    const struct ty_host *host = &l->in->cluster->host;
    const struct ty_nvme *nvme = &l->in->cluster->nvme;
    const double ranks = node_ranks(l), memory = host->bandwidth / ranks;
    const double rate = from == TY_TIER_NVME ? nvme->read / ranks
                        : to == TY_TIER_NVME ? nvme->write / ranks
                                             : host->link / fmin(host->gpus_per_link, ranks);
    struct ty_kind kind = {.name = name,
                           .category = TY_CAT_OFFLOAD,
                           .phase = (uint8_t)phase,
                           .group = ways[from][to],
                           .bytes = bytes};
    return add(l, &kind, (struct ty_tier_move){from, to}, fmin(rate, memory));
}

uint16_t ty_lower_host_kind(struct ty_lowering *l, const char *name, double params)
{
    const struct ty_tier_move update = {TY_TIER_HOST, TY_TIER_HOST};
    struct ty_kind kind = {.name = name,
                           .category = TY_CAT_HOST,
                           .phase = TY_PHASE_STEP,
                           .group = "host",
                           .bytes = TY_HOST_UPDATE_B * params};
    return add(l, &kind, update, ty_tiers_alone_Bps(&l->out->fabric, update) / node_ranks(l));
}
