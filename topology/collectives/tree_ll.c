/* tree_ll.c - trees between nodes by the LL protocol: for small all-reduces.
 *
 * See protocol.h. */
#include "topology/collectives/protocol.h"

static bool applies(const struct ty_cluster *cluster, enum ty_coll coll,
                    const struct ty_reach *reach)
{
    return cluster->net.ll && ty_coll_tree.applies(cluster, coll, reach);
}

static void cost(const struct ty_cluster *cluster, enum ty_coll coll, double bytes,
                 const struct ty_reach *reach, struct ty_coll_cost *out)
{
    const struct ty_coll_protocol p = ty_coll_protocol_tree_ll(cluster);
    (void)coll;
    ty_coll_tree_cost(cluster, bytes, reach, &p, out);
}

const struct ty_coll_algorithm ty_coll_tree_ll = {
    .name = "tree-ll",
    .summary = "two trees between nodes with a flag beside each 4 bytes: for small all-reduces",
    .source = "NVIDIA/nccl src/graph/tuning.cc; argonne-lcf/alcf-nccl-tests",
    .one_rate = true,
    .pattern = TY_PATTERN_TREES,
    .applies = applies,
    .cost = cost,
    .steps = ty_coll_tree_steps,
};
