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
 * Between nodes links of two rates alternate, and no step waits for the whole ring: a block moves
 * on as soon as it is there and its next link is free. So the ring takes what the slowest block
 * takes, one of two:
 *
 *     latency   one that crosses nodes as often as can be: all its steps, each a latency and its
 *               bytes at the rate of its link
 *     bytes     one that waits at the slower link in every step: n-1 (2(n-1)) blocks through it
 *
 * Where NVLink is no faster than the NICs of a node together the first is as long as both; with few
 * NICs latency is hidden behind bytes. Measured so: 4 nodes of 8 with 92 GB/s over InfiniBand
 * (stas00/ml-engineering) reduce 64 MiB in 1.53 ms, of which bytes are 1.41 and the way round would
 * be 0.43; 8 nodes over Slingshot gather 32 and 64 MiB in 1.38 and 1.90 ms, of which bytes are 0.9
 * and 1.8 (argonne-lcf/alcf-nccl-tests).
 *
 * An all-reduce inside a node is measured well enough to have latencies of its own: nvlink_latency
 * + n nvlink_latency_per_rank, which is half of the latter per step.
 *
 * A broadcast is a chain, the ring without its way back to the root: that sends in chunks, the
 * others pass them on. A reduce is the chain that ends at its root, so it begins behind it:
 *
 *     broadcast from 1     1 -> 2 -> 3 -> 0      reduce to 1     2 -> 3 -> 0 -> 1
 *
 * Where that leaves out a hop inside a node it crosses nodes once more than where it begins at the
 * first of one. Where all are roots in turn each hop is left out as often as any other, and a chain
 * takes what such chains take on average; of links it keeps the whole ring, one n-th of the time in
 * vain: so two that meet anywhere are each half as fast, as any two of them would be.
 *
 * NCCL has nothing else for these two: its trees are for all-reduces.
 *
 * Sources: Patarasuk & Yuan 2009 (volumes); NVIDIA/nccl src/graph/tuning.cc (latency per step, the
 * factor on ring all-reduces between nodes; it adds latency and bytes; rings only for broadcast and
 * reduce), src/device/broadcast.h and reduce.h (along the ring); Chan et al. 2007 (pipelined
 * chain). */
#include "topology/collectives/protocol.h"

#include <math.h>

#define CHUNK_B 524288.0 /* NCCL: 4 MiB buffer of the Simple protocol in 8 slots (src/include) */

static bool applies(const struct ty_cluster *cluster, enum ty_coll coll,
                    const struct ty_reach *reach)
{
    (void)cluster;
    (void)reach;
    return coll == TY_COLL_ALL_REDUCE || coll == TY_COLL_ALL_GATHER ||
           coll == TY_COLL_REDUCE_SCATTER || coll == TY_COLL_BROADCAST || coll == TY_COLL_REDUCE;
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

/* A block's way over a ring of n in k nodes, `links` steps long: seconds of a step over NVLink and
 * between nodes, and those of a link that is never idle, the slower one. */
struct way {
    double links, n, k, longest; /* the latter: most members on one node */
    double nvlink_s, net_s, busy_s;
};

/* Seconds of the way that crosses nodes m times. Between crossings it passes what a node has; for
 * the rest of its steps it waits at a link that is busy, after as many hops as it can make if these
 * take longer. */
static double way_s(const struct way *w, double m)
{
    const double stretches = w->nvlink_s >= w->busy_s ? m + 1 : m - 1;
    const double hops = fmin(w->links - m, stretches * (w->longest - 1));
    return m * w->net_s + hops * w->nvlink_s + (w->links - m - hops) * w->busy_s;
}

/* Of all ways the slowest, which is what the ring takes: that with the most crossings or nearly so
 * (latency), or that which waits at one link all the time (bytes). */
static double slowest_s(const struct way *w)
{
    const double most = crossings(w->links, w->n, w->k, w->longest);
    const double least = w->nvlink_s >= w->busy_s && w->longest > 1 ? 0 : 1;
    return fmax(way_s(w, least), fmax(way_s(w, most), way_s(w, fmax(least, most - 1))));
}

void ty_coll_ring_cost(const struct ty_cluster *cluster, enum ty_coll coll, double bytes,
                       const struct ty_reach *reach, const struct ty_coll_protocol *p,
                       struct ty_coll_cost *out)
{
    const double n = reach->ranks, k = reach->nodes, block = bytes / n;
    const double links = coll == TY_COLL_ALL_REDUCE ? 2 * (n - 1) : n - 1;
    const double factor = coll == TY_COLL_ALL_REDUCE ? cluster->net.ring_factor : 1;
    const double channels = ty_coll_channels(cluster, reach, p, bytes);
    const double in_node = fmin(ty_coll_in_node_rate(cluster, reach) * p->data, p->rate_max);
    const double between = fmin(ty_coll_net_rate(cluster, reach) * p->data, p->rate_max);
    const double nvlink_s = block / in_node, net_s = block / between;
    const struct way way = {
        .links = links,
        .n = n,
        .k = k,
        .longest = reach->per_node,
        .nvlink_s = nvlink_s + factor * p->nvlink_s,
        .net_s = net_s + factor * ty_coll_crossing_s(cluster, p, channels, block / channels),
        .busy_s = fmax(nvlink_s, net_s),
    };
    out->transfer_s = links * way.busy_s;
    /* without any latency the difference is none but for rounding */
    out->latency_s = fmax(0, factor * p->base_s + slowest_s(&way) - out->transfer_s);
    out->net_B = links * block * k / n;
    out->nvlink_B = links * block * (n - k) / n;
    out->net_idle = 1 - p->data; /* flags are no bytes of anybody's */
}

static void in_a_node(const struct ty_cluster *cluster, enum ty_coll coll, double bytes,
                      const struct ty_reach *reach, struct ty_coll_cost *out)
{
    const struct ty_nvlink *nvlink = &cluster->nvlink;
    const double links = reach->ranks - 1.0;
    const double step = nvlink->gather_per_rank > 0 ? nvlink->gather_per_rank : nvlink->step;
    out->latency_s = coll == TY_COLL_ALL_REDUCE
                         ? nvlink->latency + reach->ranks * nvlink->latency_per_rank
                         : nvlink->gather_latency + links * step;
    out->nvlink_B = ty_coll_bus_factor(coll, reach->ranks) * bytes;
    out->transfer_s = out->nvlink_B / ty_coll_ring_rate(cluster, reach);
}

static bool is_chain(enum ty_coll coll)
{
    return coll == TY_COLL_BROADCAST || coll == TY_COLL_REDUCE;
}

/* Broadcast and reduce. The last rank also waits for the first chunk to come through. */
static void chain_cost(const struct ty_cluster *cluster, enum ty_coll coll, double bytes,
                       const struct ty_reach *reach, struct ty_coll_cost *out)
{
    const struct ty_coll_protocol p = ty_coll_protocol_ring(cluster);
    const bool each = reach->root == TY_ROOT_EACH;
    const uint32_t start = each ? 0 : (reach->root + (coll == TY_COLL_REDUCE)) % reach->ranks;
    /* back to its node; where nodes differ that is not known, and they count as alike */
    const bool closed = reach->nodes > 1 && start % reach->per_node != 0;
    const double n = reach->ranks, k = reach->nodes;
    const double hops = k == 1 ? 0 : each ? k * (n - 1) / n : closed ? k : k - 1;
    const double chunk = bytes / chunks(bytes);
    const double crossing = ty_coll_crossing_s(cluster, &p, 1, chunk);
    out->latency_s =
        k == 1 ? cluster->nvlink.gather_latency + (n - 1) * cluster->nvlink.step
               : cluster->net.latency + hops * crossing + (n - 1 - hops) * cluster->nvlink.step;
    out->transfer_s = (bytes + (n - 2) * chunk) / ty_coll_ring_rate(cluster, reach);
    out->net_B = bytes * hops / n;
    out->nvlink_B = bytes * (n - 1 - hops) / n;
    out->net_idle = out->port_idle = each ? 1 / n : 0;
    out->pattern = each || closed ? TY_PATTERN_RING : TY_PATTERN_CHAIN;
    out->start = start;
}

static void cost(const struct ty_cluster *cluster, enum ty_coll coll, double bytes,
                 const struct ty_reach *reach, struct ty_coll_cost *out)
{
    const struct ty_coll_protocol p = ty_coll_protocol_ring(cluster);
    if (is_chain(coll)) {
        chain_cost(cluster, coll, bytes, reach, out);
    } else if (reach->nodes == 1) {
        in_a_node(cluster, coll, bytes, reach, out);
    } else {
        ty_coll_ring_cost(cluster, coll, bytes, reach, &p, out);
    }
}

static uint32_t chain_steps(uint32_t n, uint32_t start, double bytes, ty_coll_step_fn *emit,
                            void *arg)
{
    const uint32_t n_chunks = (uint32_t)chunks(bytes);
    const uint32_t n_steps = n_chunks + n - 2;
    for (uint32_t step = 0; step < n_steps; step++) {
        for (uint32_t i = 0; i < n - 1; i++) {
            if (step >= i && step - i < n_chunks) {
                const uint32_t from = (start + i) % n;
                emit(arg, &(struct ty_coll_step){step, from, (from + 1) % n, bytes / n_chunks});
            }
        }
    }
    return n_steps;
}

uint32_t ty_coll_ring_steps(enum ty_coll coll, uint32_t n, uint32_t g, double bytes,
                            ty_coll_step_fn *emit, void *arg)
{
    (void)g;
    if (n < 2) {
        return 0;
    }
    if (is_chain(coll)) {
        return chain_steps(n, coll == TY_COLL_REDUCE ? 1 : 0, bytes, emit, arg);
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
    .summary = "each rank passes blocks to its neighbour; broadcast, reduce: all hops but one",
    .source = "Patarasuk & Yuan 2009; NVIDIA/nccl src/graph/tuning.cc",
    .one_rate = true,
    .pattern = TY_PATTERN_RING,
    .applies = applies,
    .cost = cost,
    .steps = ty_coll_ring_steps,
};
