/* hier.c - hierarchical all-reduce in three steps: NVLink gathers, each NIC sums a slice.
 *
 *     1  reduce-scatter in every node        each of g ranks holds S/g of its node's sum
 *     2  all-reduce of that slice over the k ranks with the same place in their nodes (a ring)
 *     3  all-gather in every node
 *
 * NVLink and network are different links and pipeline when the tensor is cut in chunks: the time is
 * that of the slower and the share of the faster that `phase_overlap` leaves. Phases 1 and 3 have
 * the same links and never hide behind one another. With phase_overlap 0 the time is what the steps
 * give, one phase after the other. Latencies add.
 *
 * NCCL has no such algorithm without in-network sums, and measures 382 GB/s of bus bandwidth over 4
 * nodes of 8 B200 where this one would reach 414: "auto" leaves it out.
 *
 * Sources: Jia et al. 2018 (hierarchical all-reduce); the overlap is a guess between the bounds
 * that stas00/ml-engineering's 4-node B200 run measures. */
#include "topology/collectives/coll.h"

#include <assert.h>
#include <math.h>

static bool applies(const struct ty_cluster *cluster, enum ty_coll coll,
                    const struct ty_reach *reach)
{
    (void)cluster;
    return coll == TY_COLL_ALL_REDUCE && reach->nodes > 1 && reach->per_node > 1 &&
           reach->nodes * reach->per_node == reach->ranks;
}

static void cost(const struct ty_cluster *cluster, enum ty_coll coll, double bytes,
                 const struct ty_reach *reach, struct ty_coll_cost *out)
{
    (void)coll;
    const double k = reach->nodes, g = reach->per_node;
    const double in_node = (g - 1) / g * bytes;         /* sent per rank in phases 1 and 3 each */
    const double between = 2 * (k - 1) / k * bytes / g; /* sent per rank in phase 2 */
    const double nvlink_s =
        2 * in_node / ty_coll_nvlink_rate(cluster, reach->per_node, reach->places);
    const double net_s = between * g / ty_coll_net_rate(cluster, reach);
    out->latency_s =
        2 * (cluster->nvlink.gather_latency + (g - 1) * cluster->nvlink.step) +
        cluster->net.ring_factor * (cluster->net.latency + 2 * (k - 1) * cluster->net.step);
    out->transfer_s = ty_coll_phases(cluster, nvlink_s + net_s, fmax(nvlink_s, net_s));
    out->nvlink_B = 2 * in_node;
    out->net_B = between;
}

/* Rings of `size` ranks, `stride` apart, all at once: `turn` steps of `bytes` per message. */
static uint32_t rings(uint32_t n, uint32_t size, uint32_t stride, uint32_t turn, double bytes,
                      uint32_t at, ty_coll_step_fn *emit, void *arg)
{
    assert(size > 0 && stride > 0);
    for (uint32_t i = 0; i < turn; i++) {
        for (uint32_t from = 0; from < n; from++) {
            const uint32_t place = from / stride % size;
            const uint32_t to = from + ((place + 1) % size) * stride - place * stride;
            emit(arg, &(struct ty_coll_step){at + i, from, to, bytes});
        }
    }
    return at + turn;
}

static uint32_t steps(enum ty_coll coll, uint32_t n, uint32_t g, double bytes,
                      ty_coll_step_fn *emit, void *arg)
{
    (void)coll;
    const uint32_t k = n / g;
    uint32_t at = rings(n, g, 1, g - 1, bytes / g, 0, emit, arg);
    at = rings(n, k, g, 2 * (k - 1), bytes / g / k, at, emit, arg);
    return rings(n, g, 1, g - 1, bytes / g, at, emit, arg);
}

const struct ty_coll_algorithm ty_coll_hierarchical = {
    .name = "hierarchical",
    .summary = "reduce-scatter in the node, all-reduce across, all-gather in the node",
    .source = "Jia et al. 2018, Highly scalable deep learning training system",
    .on_request = true,
    .pattern = TY_PATTERN_RING,
    .applies = applies,
    .cost = cost,
    .steps = steps,
};
