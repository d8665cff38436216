/* tiers.h - what is off the GPUs of a node, and the links over which they share it.
 *
 *      GPU GPU  GPU GPU   GPU GPU  GPU GPU
 *        \ /      \ /       \ /      \ /       host links, each of gpus_per_link GPUs: out (to the
 *     .---'--------'---. .---'--------'---.    host), in, and less than twice that in both
 *     | memory         | | memory         |    of a socket; reads and writes together
 *     '-------.--------' '--------.-------'
 *             '--- processors ----'            of a node, in bytes of its memory
 *             '----- drives ------'            of a node; reads and writes take turns
 *
 * A transfer takes each that it passes at the rate of the narrowest, alone; who shares one is
 * slowed down as on any link. So a GPU of a DGX-2 gets 12 GB/s alone, and 3 while all four below a
 * link are at it: no factor says so. */
#ifndef TY_TOPOLOGY_FABRIC_TIERS_H
#define TY_TOPOLOGY_FABRIC_TIERS_H

#include "topology/fabric/fabric.h"

enum ty_tier {
    TY_TIER_GPU,
    TY_TIER_HOST,
    TY_TIER_NVME
};

/* Host links and sockets of a node. */
void ty_tiers_shape(struct ty_fabric_shape *shape, const struct ty_cluster *cluster);

/* Of the memory of one socket; of all drives of a node, in the direction in which they are
 * faster. */
double ty_tiers_socket_Bps(const struct ty_cluster *cluster);

/* From a GPU to its host or back, or between host and drives for that GPU; from == to == HOST: the
 * processors update parameters. */
struct ty_tier_move {
    enum ty_tier from, to;
};

/* B/s of one alone; of an update: of host memory. */
double ty_tiers_alone_Bps(const struct ty_fabric *fabric, struct ty_tier_move move);

/* What it takes of links meanwhile; see ty_fabric_collective. */
int ty_tiers_flow(const struct ty_fabric *fabric, uint32_t gpu, struct ty_tier_move move,
                  struct ty_use_list *uses, struct ty_flow *flow, struct ty_arena *arena,
                  struct ty_err *err);

#endif
