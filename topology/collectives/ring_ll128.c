/* ring_ll128.c - the same ring with a flag next to the data: less latency, less bandwidth.
 *
 * NCCL's LL128 protocol sends 120 B of data with an 8 B flag and needs no fence, so that messages
 * of a few MiB arrive earlier than with the protocol of large ones. Inside a node that is measured
 * well enough: fitted below 8 MiB on the all-reduce tables of VIA-Research/vTrain (A100), where it
 * meets most sizes within 10 %. */
#include "topology/collectives/protocol.h"

static bool applies(const struct ty_cluster *cluster, enum ty_coll coll,
                    const struct ty_reach *reach)
{
    return coll == TY_COLL_ALL_REDUCE && reach->nodes == 1 && cluster->nvlink.ll_efficiency > 0;
}

static void cost(const struct ty_cluster *cluster, enum ty_coll coll, double bytes,
                 const struct ty_reach *reach, struct ty_coll_cost *out)
{
    const double volume = ty_coll_bus_factor(coll, reach->ranks) * bytes;
    const double rate = ty_coll_ring_rate(cluster, reach) * cluster->nvlink.ll_efficiency;
    out->latency_s =
        cluster->nvlink.ll_latency + reach->ranks * cluster->nvlink.ll_latency_per_rank;
    out->transfer_s = volume / rate;
    out->nvlink_B = volume;
}

const struct ty_coll_algorithm ty_coll_ring_ll128 = {
    .name = "ring-ll128",
    .summary = "a ring with LL128's flags: for small all-reduces inside a node",
    .source = "NVIDIA/nccl src/device; VIA-Research/vTrain",
    .one_rate = true,
    .pattern = TY_PATTERN_RING,
    .applies = applies,
    .cost = cost,
    .steps = ty_coll_ring_steps,
};
