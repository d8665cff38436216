/* pairs.h - nodes without a switch: links join pairs of GPUs, and rings are what these close.
 *
 * NCCL lays a ring along links that no other ring uses in that direction; how many it finds among
 * the GPUs of a group is the bandwidth of the group. In a DGX-1 (a hybrid cube mesh of 6 links a
 * GPU) the first two GPUs share one link, four close four rings, six close two, all eight six. */
#ifndef TY_TOPOLOGY_COLLECTIVES_PAIRS_H
#define TY_TOPOLOGY_COLLECTIVES_PAIRS_H

#include "topology/cluster.h"

/* Rings among the GPUs of a node whose bit is set, none using a link that another uses in the same
 * direction; two GPUs make a ring of a link between them. Where no ring closes, those that do when
 * a GPU of the group may hand on between two that have no link. */
uint32_t ty_coll_pair_rings(const struct ty_nvlink *nvlink, uint32_t gpus);

/* Bus bandwidth in B/s of a group of these GPUs, of a cluster with nvlink.n_paired > 0. */
double ty_coll_pair_rate(const struct ty_nvlink *nvlink, uint32_t gpus);

#endif
