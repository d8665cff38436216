/* nvls.c - all-reduce inside the NVSwitch: the switch adds, no rank forwards.
 *
 * Each GPU sends its part to the switch once and receives the sum once (multimem instructions of
 * Hopper and later), so latency does not grow with the ranks. NCCL turns it on from a few ranks up:
 * below that a ring is as fast. `nvls_efficiency` is of nccl-tests' bus bandwidth, which counts
 * 2(n-1)/n S although the wires carry about S: it can exceed 1.
 *
 * Sources: Klenk et al. 2020 (in-network reductions); stas00/ml-engineering network/README.md
 * (H200, B200: bandwidth and smallest group); NVIDIA/nccl src/graph/tuning.cc (25 us). */
#include "topology/collectives/coll.h"

static bool applies(const struct ty_cluster *cluster, enum ty_coll coll,
                    const struct ty_reach *reach)
{
    return coll == TY_COLL_ALL_REDUCE && reach->nodes == 1 && cluster->nvls.efficiency > 0 &&
           reach->ranks >= cluster->nvls.min_ranks;
}

static void cost(const struct ty_cluster *cluster, enum ty_coll coll, double bytes,
                 const struct ty_reach *reach, struct ty_coll_cost *out)
{
    out->latency_s = cluster->nvls.latency;
    out->transfer_s = ty_coll_bus_factor(coll, reach->ranks) * bytes /
                      (cluster->nvlink.bandwidth * cluster->nvls.efficiency);
    out->nvlink_B = bytes;
    out->net_B = 0;
}

const struct ty_coll_algorithm ty_coll_nvls = {
    .name = "nvls",
    .summary = "all-reduce in the NVSwitch of one node (Hopper and later)",
    .source = "Klenk et al. 2020; stas00/ml-engineering network/README.md",
    .pattern = TY_PATTERN_SWITCH,
    .applies = applies,
    .cost = cost,
    .steps = NULL,
};
