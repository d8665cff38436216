/* ring_ll.c - rings between nodes by the LL protocol: for what is small.
 *
 * See protocol.h. Inside a node the shortest time of a collective (nvlink_floor) stands for it. */
#include "topology/collectives/protocol.h"

static bool applies(const struct ty_cluster *cluster, enum ty_coll coll,
                    const struct ty_reach *reach)
{
    return cluster->net.ll && reach->nodes > 1 && coll != TY_COLL_BROADCAST &&
           coll != TY_COLL_REDUCE && ty_coll_ring.applies(cluster, coll, reach);
}

static void cost(const struct ty_cluster *cluster, enum ty_coll coll, double bytes,
                 const struct ty_reach *reach, struct ty_coll_cost *out)
{
    const struct ty_coll_protocol p = ty_coll_protocol_ring_ll(cluster, reach->ranks);
    ty_coll_ring_cost(cluster, coll, bytes, reach, &p, out);
}

const struct ty_coll_algorithm ty_coll_ring_ll = {
    .name = "ring-ll",
    .summary = "a ring between nodes with a flag beside each 4 bytes: for small collectives",
    .source = "NVIDIA/nccl src/graph/tuning.cc; argonne-lcf/alcf-nccl-tests",
    .one_rate = true,
    .pattern = TY_PATTERN_RING,
    .applies = applies,
    .cost = cost,
    .steps = ty_coll_ring_steps,
};
