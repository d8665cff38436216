/* direct.c - no forwarding: every rank sends straight to the one that wants the bytes.
 *
 * Of a send-receive every member sends S to the next one, the last to the first, all at once: what
 * sendrecv_perf times, a shift of a ring. It takes what a message between nodes takes where there
 * is one. These have a NIC each, or an equal share where more groups leave a node than it has NICs.
 *
 * All-to-all goes by node distance: in step d every rank sends S/n to each rank of the node d
 * places on, in step 0 to the others of its own node:
 *
 *     step 0    NVLink    (g-1)/n S        step d = 1 .. k-1    NIC    g/n S
 *
 * Where nodes hold different numbers of members, that with the most is slowest inside, and outside
 * one with the most or the fewest; bytes are exact where there are no numbers between these two.
 * Between nodes it reaches net_all_to_all_efficiency of what other collectives do.
 *
 * Step 0 runs on other links than the rest and hides behind them as far as `phase_overlap` says;
 * with phase_overlap 0 the time is that of the steps.
 *
 * Sources: nccl-tests doc/PERFORMANCE.md (volume); NVIDIA/nccl src/enqueue.cc (channels of a
 * message, as 8 and 4 H100 of xxrjun/nccl-tests-cluster show them); NVIDIA GTC25 S72583 (all-to-all
 * in a node: 210 GB/s on A100, 320 on H100, that is 0.9 of the ring's bus bandwidth). */
#include "topology/collectives/coll.h"

#include <math.h>

#include "topology/collectives/measured.h"
#include "topology/collectives/protocol.h"

#define P2P_CHANNELS          32u        /* NCCL: for send and receive (p2pnChannels) */
#define P2P_CHANNEL_B         16777216.0 /* NCCL: 32 steps of 512 KiB, then another channel */
#define ALL_TO_ALL_EFFICIENCY 0.9 /* of the ring's bus bandwidth: 210 / 228, 320 / 365 (S72583) */

static bool applies(const struct ty_cluster *cluster, enum ty_coll coll,
                    const struct ty_reach *reach)
{
    (void)cluster;
    (void)reach;
    return coll == TY_COLL_ALL_TO_ALL || coll == TY_COLL_SEND_RECV;
}

double ty_coll_all_to_all_rate(const struct ty_cluster *cluster, uint32_t n, uint32_t places)
{
    return ALL_TO_ALL_EFFICIENCY * ty_coll_nvlink_rate(cluster, n, places);
}

/* Seconds in which a node with g members sends its part to the others. */
static double leave_s(const struct ty_cluster *cluster, double bytes, const struct ty_reach *reach,
                      uint32_t g)
{
    const double n = reach->ranks;
    return g * (n - g) / n * bytes /
           (ty_coll_node_net_rate(cluster, reach, g) * cluster->net.all_to_all_efficiency);
}

static void all_to_all(const struct ty_cluster *cluster, double bytes, const struct ty_reach *reach,
                       struct ty_coll_cost *out)
{
    const uint32_t most = reach->per_node, fewest = ty_reach_fewest(reach);
    const double n = reach->ranks, k = reach->nodes;
    /* Members on the node of a member, mean over members. */
    const double on_node = most + fewest - k * most * fewest / n;
    double nvlink_s = 0, net_s = 0;
    const struct ty_coll_protocol p = ty_coll_protocol_ring(cluster);
    /* Messages of a step go through one channel of each NIC. */
    const double channels = fmax(1, ty_coll_channels(cluster, reach, &p, bytes) / 2);
    const double crossing = ty_coll_crossing_s(cluster, &p, channels, bytes / n);
    out->latency_s =
        k > 1 ? cluster->net.latency + (k - 1) * crossing : cluster->nvlink.gather_latency;
    out->nvlink_B = (on_node - 1) / n * bytes;
    out->net_B = (n - on_node) / n * bytes;
    if (most > 1) {
        out->latency_s += cluster->nvlink.step;
        nvlink_s = (most - 1) / n * bytes / ty_coll_all_to_all_rate(cluster, most, reach->places);
    }
    if (k > 1) {
        net_s = fmax(leave_s(cluster, bytes, reach, most), leave_s(cluster, bytes, reach, fewest));
        out->net_idle = 1 - cluster->net.all_to_all_efficiency;
    }
    out->transfer_s = ty_coll_phases(cluster, nvlink_s + net_s, fmax(nvlink_s, net_s));
}

/* Share of its rate that a message reaches in a node all of whose n ranks send one: NCCL gives it
 * so few of its channels that each has one message, and more where a channel had more than 16 MiB
 * to send; it takes half of them to fill a GPU's links. */
static double channels_filled(uint32_t n, double bytes)
{
    uint32_t channels = P2P_CHANNELS / 2;
    while (channels > 1 && channels * n > P2P_CHANNELS) {
        channels /= 2;
    }
    while (channels < P2P_CHANNELS / 2 && bytes > channels * P2P_CHANNEL_B) {
        channels *= 2;
    }
    return channels / (P2P_CHANNELS / 2.0);
}

void ty_coll_shift_cost(const struct ty_cluster *cluster, double bytes,
                        const struct ty_reach *reach, struct ty_coll_cost *out)
{
    const struct ty_coll_table *measured = ty_coll_measured_p2p(cluster, reach->nodes == 1);
    if (measured != NULL) {
        ty_coll_table_cost(measured, cluster, bytes, reach, out);
        return;
    }
    *out = (struct ty_coll_cost){.algorithm = &ty_coll_direct, .pattern = TY_PATTERN_RING};
    if (reach->nodes == 1) {
        out->latency_s = cluster->nvlink.p2p_latency;
        out->transfer_s = bytes / (cluster->nvlink.bandwidth * cluster->nvlink.p2p_efficiency *
                                   channels_filled(reach->ranks, bytes));
        out->nvlink_B = bytes;
        return;
    }
    const double alone = cluster->net.nic_bandwidth * cluster->net.p2p_efficiency;
    const double nics = fmin(1, (double)cluster->net.nics / reach->sharing);
    out->latency_s = cluster->net.p2p_latency;
    out->transfer_s =
        bytes / fmin(alone, cluster->net.nic_bandwidth * cluster->net.nic_efficiency * nics);
    out->net_B = bytes * reach->nodes / reach->ranks;
    out->nvlink_B = bytes - out->net_B;
}

void ty_coll_copy_cost(const struct ty_cluster *cluster, double bytes, const struct ty_reach *reach,
                       struct ty_coll_cost *out)
{
    if (reach->nodes > 1) {
        ty_coll_shift_cost(cluster, bytes, reach, out);
        return;
    }
    *out = (struct ty_coll_cost){
        .algorithm = &ty_coll_direct,
        .pattern = TY_PATTERN_RING,
        .latency_s = cluster->nvlink.p2p_latency,
        .transfer_s = bytes / (cluster->nvlink.bandwidth * cluster->nvlink.p2p_efficiency),
        .nvlink_B = bytes};
}

/* Two ranks, of as many pairs at once as share a node. */
static void message(const struct ty_cluster *cluster, bool same_node, double bytes,
                    uint32_t sharing, struct ty_coll_cost *out)
{
    const uint32_t nodes = same_node ? 1 : 2;
    const struct ty_reach pair = {
        .ranks = 2, .nodes = nodes, .per_node = 2 / nodes, .sharing = sharing};
    ty_coll_shift_cost(cluster, bytes, &pair, out);
}

void ty_p2p_cost(const struct ty_cluster *cluster, bool same_node, double bytes,
                 struct ty_coll_cost *out)
{
    message(cluster, same_node, bytes, cluster->gpus_per_node, out);
}

void ty_p2p_cost_alone(const struct ty_cluster *cluster, bool same_node, double bytes,
                       struct ty_coll_cost *out)
{
    message(cluster, same_node, bytes, 1, out);
}

static void cost(const struct ty_cluster *cluster, enum ty_coll coll, double bytes,
                 const struct ty_reach *reach, struct ty_coll_cost *out)
{
    if (coll == TY_COLL_SEND_RECV) {
        ty_coll_shift_cost(cluster, bytes, reach, out);
    } else {
        all_to_all(cluster, bytes, reach, out);
    }
}

static uint32_t steps(enum ty_coll coll, uint32_t n, uint32_t g, double bytes,
                      ty_coll_step_fn *emit, void *arg)
{
    for (uint32_t from = 0; coll == TY_COLL_SEND_RECV && from < n; from++) {
        emit(arg, &(struct ty_coll_step){0, from, (from + 1) % n, bytes});
    }
    if (coll == TY_COLL_SEND_RECV) {
        return 1;
    }
    const uint32_t k = n / g;
    for (uint32_t distance = 0; distance < k; distance++) {
        for (uint32_t from = 0; from < n; from++) {
            const uint32_t node = (from / g + distance) % k;
            for (uint32_t i = 0; i < g; i++) {
                /* Start at the own place, so that no rank is everyone's first. */
                const uint32_t to = node * g + (from + i) % g;
                if (to != from) {
                    emit(arg, &(struct ty_coll_step){distance, from, to, bytes / n});
                }
            }
        }
    }
    return k;
}

const struct ty_coll_algorithm ty_coll_direct = {
    .name = "direct",
    .summary = "each rank sends directly to the receiver: all-to-all, send-recv",
    .source = "nccl-tests doc/PERFORMANCE.md; NVIDIA GTC25 S72583",
    .one_rate = true,
    .pattern = TY_PATTERN_ALL_PAIRS,
    .applies = applies,
    .cost = cost,
    .steps = steps,
};
