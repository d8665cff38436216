/* nvls_tree.c - all-reduce with the switch inside nodes and a binary tree between them.
 *
 * The NVSwitch of each node adds what its GPUs send; the sums climb and descend a tree between
 * nodes over all NICs of the group, and the switch hands the result to every GPU. Chunks pipeline
 * through both, so the slower one counts:
 *
 *     transfer = max( S 2(g-1)/g / switch,  2 S / NICs of a node )
 *
 * With two nodes the NICs carry S only, where two_node_tree says so. That is NCCL's NVLSTree:
 * 487 GB/s of bus bandwidth are measured on 2 nodes of 8 H100, 362 to 380 on 4.
 *
 * Sources: NVIDIA/nccl src/graph/tuning.cc (NVLS_TREE); awsome-distributed-training nccl-tests. */
#include "topology/collectives/protocol.h"

#include <math.h>

static bool applies(const struct ty_cluster *cluster, enum ty_coll coll,
                    const struct ty_reach *reach)
{
    return coll == TY_COLL_ALL_REDUCE && reach->nodes > 1 && cluster->nvls.efficiency > 0 &&
           ty_reach_fewest(reach) >= cluster->nvls.min_ranks;
}

static void cost(const struct ty_cluster *cluster, enum ty_coll coll, double bytes,
                 const struct ty_reach *reach, struct ty_coll_cost *out)
{
    const double n = reach->ranks, k = reach->nodes;
    const double in_switch = ty_coll_bus_factor(coll, reach->per_node) * bytes /
                             (cluster->nvlink.bandwidth * cluster->nvls.efficiency);
    const double times = reach->nodes == 2 && cluster->net.two_node_tree ? 1 : 2;
    const double net_s = times * bytes / ty_coll_net_rate(cluster, reach);
    const struct ty_coll_protocol p = ty_coll_protocol_tree(cluster);
    const double channels = ty_coll_channels(cluster, reach, &p, bytes);
    const double crossing =
        ty_coll_crossing_s(cluster, &p, fmax(1, channels / 2), bytes / channels);
    out->latency_s = cluster->nvls.tree_latency + 2 * ty_coll_tree_rounds(reach->nodes) * crossing;
    out->transfer_s = fmax(in_switch, net_s);
    out->nvlink_B = bytes;
    out->net_B = 2 * bytes * (k - 1) / n;
    out->net_idle = 1 - out->net_B * n / k / ty_coll_net_rate(cluster, reach) / net_s;
}

const struct ty_coll_algorithm ty_coll_nvls_tree = {
    .name = "nvls-tree",
    .summary = "in-network reduction in the NVSwitch of each node, a tree between nodes (Hopper "
               "and later)",
    .source = "NVIDIA/nccl src/graph/tuning.cc; aws-samples/awsome-distributed-training",
    .pattern = TY_PATTERN_TREES,
    .applies = applies,
    .cost = cost,
    .steps = NULL,
};
