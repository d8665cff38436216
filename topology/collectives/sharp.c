/* sharp.c - all-reduce that is added up in the switches between nodes (SHARP).
 *
 *     1  reduce-scatter in every node        each of g ranks holds S/g of its node's sum
 *     2  that slice once up into the switches, which add, and once down: S/g a rank, where a ring
 *        sends 2 (k-1)/k S/g
 *     3  all-gather in every node
 *
 * Chunks pipeline through nodes and network. Where the NVSwitch adds (nvls) phases 1 and 3 take
 * what its all-reduce takes, and the slower of node and network counts; else they are rings, and
 * hide as far as phase_overlap says:
 *
 *     network   2 S / (NICs of a node that the group has x nic_bandwidth x sharp_efficiency)
 *
 * sharp_efficiency is of nccl-tests' bus bandwidth, which counts 2 S although a NIC carries S: 1.2
 * is 60 GB/s a NIC where 30 GB/s go over the wire. 480 GB/s over 8 NICs of 400 Gb/s are published
 * for DGX H100, where rings reach 380.
 *
 * Nodes must hold equally many members.
 *
 * Sources: Graham et al. 2016 (SHARP); NVIDIA GTC24 S62129 (480 GB/s); NVIDIA/nccl
 * src/graph/tuning.cc (CollNetDirect: 31 us over the network). */
#include "topology/collectives/coll.h"

#include <math.h>

static bool applies(const struct ty_cluster *cluster, enum ty_coll coll,
                    const struct ty_reach *reach)
{
    return coll == TY_COLL_ALL_REDUCE && reach->nodes > 1 && cluster->sharp.efficiency > 0 &&
           reach->nodes * reach->per_node == reach->ranks;
}

/* Seconds of the network: its rate is in proportion to that of other collectives. */
static double network(const struct ty_cluster *cluster, double bytes, const struct ty_reach *reach)
{
    const double ratio = cluster->sharp.efficiency / cluster->net.nic_efficiency;
    return 2 * bytes / (ty_coll_net_rate(cluster, reach) * ratio);
}

static void cost(const struct ty_cluster *cluster, enum ty_coll coll, double bytes,
                 const struct ty_reach *reach, struct ty_coll_cost *out)
{
    const double g = reach->per_node, net_s = network(cluster, bytes, reach);
    out->latency_s = cluster->sharp.latency;
    out->transfer_s = net_s;
    out->net_B = bytes * reach->nodes / reach->ranks;
    if (cluster->nvls.efficiency > 0 && reach->per_node >= cluster->nvls.min_ranks) {
        const double in_switch = ty_coll_bus_factor(coll, reach->per_node) * bytes /
                                 (cluster->nvlink.bandwidth * cluster->nvls.efficiency);
        out->latency_s += cluster->nvls.latency;
        out->transfer_s = fmax(in_switch, net_s);
        out->nvlink_B = bytes;
    } else if (reach->per_node > 1) {
        out->nvlink_B = 2 * (g - 1) / g * bytes;
        const double nvlink_s =
            out->nvlink_B / ty_coll_nvlink_rate(cluster, reach->per_node, reach->places);
        out->latency_s += 2 * (cluster->nvlink.gather_latency + (g - 1) * cluster->nvlink.step);
        out->transfer_s = ty_coll_phases(cluster, nvlink_s + net_s, fmax(nvlink_s, net_s));
    }
}

const struct ty_coll_algorithm ty_coll_sharp = {
    .name = "sharp",
    .summary = "all-reduce in the switches between nodes (InfiniBand SHARP; sharp_efficiency)",
    .source = "Graham et al. 2016; NVIDIA GTC24 S62129; NVIDIA/nccl src/graph/tuning.cc",
    .pattern = TY_PATTERN_SWITCH,
    .applies = applies,
    .cost = cost,
    .steps = NULL,
};
