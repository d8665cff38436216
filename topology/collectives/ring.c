/* ring.c - rings: every rank sends to its neighbour, all links busy all the time.
 *
 * The ring follows the ranks, so it leaves each of k nodes once:
 *
 *     node 0   0 -> 1 -> 2 -> 3 --.        all-gather        n-1 steps of S/n
 *     .--------------------------'         reduce-scatter    n-1 steps of S/n
 *     node 1   4 -> 5 -> 6 -> 7 --> 0      all-reduce      2(n-1) steps of S/n
 *
 * A block travels over consecutive links, and the slowest one crosses nodes as often as n-1 (or
 * 2(n-1)) consecutive links of n can: k (2k) times when that many fit. NCCL's tuning counts one
 * crossing less per turn, which is the mean; a step simulation finds the maximum, as here. Nodes
 * may hold different numbers of members: the longest stretch inside one decides.
 *
 * An all-reduce inside a node is measured well enough to have latencies of its own: nvlink_latency
 * + n nvlink_latency_per_rank, which is half of the latter per step. A broadcast is a chain: the
 * first rank sends in chunks, the others pass them on.
 *
 * Sources: Patarasuk & Yuan 2009 (volumes); NVIDIA/nccl src/graph/tuning.cc (latency per step, the
 * factor on ring all-reduces between nodes); Chan et al. 2007 (pipelined chain). */
#include "topology/collectives/coll.h"

#include <math.h>

#define CHUNK_B 524288.0 /* NCCL: 4 MiB buffer of the Simple protocol in 8 slots (src/include) */

static bool applies(const struct ty_cluster *cluster, enum ty_coll coll,
                    const struct ty_reach *reach)
{
    (void)cluster;
    (void)reach;
    return coll == TY_COLL_ALL_REDUCE || coll == TY_COLL_ALL_GATHER ||
           coll == TY_COLL_REDUCE_SCATTER || coll == TY_COLL_BROADCAST;
}

static double chunks(double bytes)
{
    return fmax(1.0, ceil(bytes / CHUNK_B));
}

/* Most network links among `links` consecutive ones of a ring of n over k nodes: all but those that
 * have to be among the one or two links left out of a turn. The longest stretch without a crossing
 * is inside the node with g members, the most. */
static double crossings(double links, double n, double k, double g)
{
    if (k <= 1) {
        return 0;
    }
    const double turns = ceil(links / n);
    const double left_out = turns * n - links;
    return turns * k - fmax(0, left_out - (g - 1));
}

static double latency(const struct ty_cluster *cluster, enum ty_coll coll,
                      const struct ty_reach *reach)
{
    const double n = reach->ranks, k = reach->nodes;
    const double links = coll == TY_COLL_ALL_REDUCE ? 2 * (n - 1) : n - 1;
    if (k == 1 && coll == TY_COLL_ALL_REDUCE) {
        const double per_rank = cluster->nvlink.latency_per_rank;
        return cluster->nvlink.latency + per_rank + links * per_rank / 2;
    }
    if (k == 1) {
        return cluster->nvlink.gather_latency + links * cluster->nvlink.step;
    }
    /* A chain starts at a node's first rank: it crosses between nodes and never comes back. */
    const double net = coll == TY_COLL_BROADCAST ? k - 1 : crossings(links, n, k, reach->per_node);
    const double factor = coll == TY_COLL_ALL_REDUCE ? cluster->net.ring_factor : 1;
    return factor *
           (cluster->net.latency + net * cluster->net.step + (links - net) * cluster->nvlink.step);
}

static void cost(const struct ty_cluster *cluster, enum ty_coll coll, double bytes,
                 const struct ty_reach *reach, struct ty_coll_cost *out)
{
    const double n = reach->ranks, k = reach->nodes;
    const bool chain = coll == TY_COLL_BROADCAST;
    const double volume = ty_coll_bus_factor(coll, reach->ranks) * bytes;
    const double links = chain ? n - 1 : n;
    const double crossing = chain || k == 1 ? k - 1 : k;
    /* Links times what passes over each, spread over the members. */
    const double sent = links * volume / n;
    /* In a chain the last rank also waits for the first chunk to come through. */
    const double carried = chain ? bytes + (n - 2) * bytes / chunks(bytes) : volume;
    out->latency_s = latency(cluster, coll, reach);
    out->transfer_s = carried / ty_coll_ring_rate(cluster, reach);
    out->net_B = sent * crossing / links;
    out->nvlink_B = sent - out->net_B;
    out->pattern = chain ? TY_PATTERN_CHAIN : TY_PATTERN_RING;
}

static uint32_t chain_steps(uint32_t n, double bytes, ty_coll_step_fn *emit, void *arg)
{
    const uint32_t n_chunks = (uint32_t)chunks(bytes);
    const uint32_t n_steps = n_chunks + n - 2;
    for (uint32_t step = 0; step < n_steps; step++) {
        for (uint32_t from = 0; from < n - 1; from++) {
            if (step >= from && step - from < n_chunks) {
                emit(arg, &(struct ty_coll_step){step, from, from + 1, bytes / n_chunks});
            }
        }
    }
    return n_steps;
}

static uint32_t steps(enum ty_coll coll, uint32_t n, uint32_t g, double bytes,
                      ty_coll_step_fn *emit, void *arg)
{
    (void)g;
    if (n < 2) {
        return 0;
    }
    if (coll == TY_COLL_BROADCAST) {
        return chain_steps(n, bytes, emit, arg);
    }
    const uint32_t n_steps = coll == TY_COLL_ALL_REDUCE ? 2 * (n - 1) : n - 1;
    for (uint32_t step = 0; step < n_steps; step++) {
        for (uint32_t from = 0; from < n; from++) {
            emit(arg, &(struct ty_coll_step){step, from, (from + 1) % n, bytes / n});
        }
    }
    return n_steps;
}

const struct ty_coll_algorithm ty_coll_ring = {
    .name = "ring",
    .summary = "each rank passes blocks to its neighbour; full bandwidth, latency linear in ranks",
    .source = "Patarasuk & Yuan 2009; NVIDIA/nccl src/graph/tuning.cc",
    .one_rate = true,
    .pattern = TY_PATTERN_RING,
    .applies = applies,
    .cost = cost,
    .steps = steps,
};
