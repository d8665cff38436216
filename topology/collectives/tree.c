/* tree.c - all-reduce over a tree: a chain in each node, a binary tree between them.
 *
 *     node 0      node 1      node 2      node 3
 *     3>2>1>0  <- 3>2>1>0     3>2>1>0  <- 3>2>1>0     round 0 between nodes
 *           0  <-----------------  0                  round 1, then all the way back
 *
 * The sum climbs in g-1 links and log2 k rounds and descends the same way, so latency grows with
 * the logarithm of the nodes (where they differ, g is the longest chain). NCCL builds two trees
 * that each carry half the data (a node that is inner in one is a leaf in the other) and pipelines
 * chunks: then every rank sends the tensor once up and once down, 2 S, at 0.92 of the ring's
 * bandwidth. With two nodes each is the root of one tree and its NICs carry S only, if
 * two_node_tree says that NCCL does so there.
 *
 * The steps are those of one chunk through one tree. They give the latency exactly and the volume;
 * the transfer time of the closed form is the pipelined one, less than what they would take.
 *
 * Sources: NVIDIA/nccl src/graph/tuning.cc (latencies, 0.92); Sanders, Speck & Traeff 2009 (two
 * trees). */
#include "topology/collectives/protocol.h"

#include <math.h>

#define TREE_EFFICIENCY 0.92 /* of ring bandwidth: NVIDIA/nccl src/graph/tuning.cc */

static bool applies(const struct ty_cluster *cluster, enum ty_coll coll,
                    const struct ty_reach *reach)
{
    (void)cluster;
    return coll == TY_COLL_ALL_REDUCE && reach->nodes > 1;
}

uint32_t ty_coll_tree_rounds(uint32_t nodes)
{
    uint32_t n = 0;
    while (n < 31 && (1u << n) < nodes) {
        n++;
    }
    return n;
}

/* Share of its rate that a tree reaches at a size: chunks are too few to fill the pipeline, then
 * too small. NVIDIA/nccl tuning.cc, treeCorrectionFactor of the Simple protocol, for 64 B, 128 B,
 * ... 512 MiB; linear in the logarithm between, constant beyond. */
static double filled(double bytes)
{
    static const double share[] = {0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5,
                                   0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, 0.9, 0.9, 0.9};
    const uint32_t last = TY_COUNT(share) - 1;
    const double at = fmin(fmax(log2(bytes) - 6, 0), last);
    const uint32_t low = (uint32_t)fmin(floor(at), last - 1);
    return share[low] + (share[low + 1] - share[low]) * (at - low);
}

void ty_coll_tree_cost(const struct ty_cluster *cluster, double bytes, const struct ty_reach *reach,
                       const struct ty_coll_protocol *p, struct ty_coll_cost *out)
{
    const double n = reach->ranks, k = reach->nodes, g = reach->per_node;
    const double channels = ty_coll_channels(cluster, reach, p, bytes);
    /* Each of the two trees has half of the channels; a node that is inner in one is a leaf in the
     * other, and its messages come at other times. */
    const double crossing = ty_coll_crossing_s(cluster, p, fmax(1, channels / 2), bytes / channels);
    const double net_rate = ty_coll_net_rate(cluster, reach);
    const double efficiency = TREE_EFFICIENCY * (p->fills ? filled(bytes) : 1);
    const double net_volume = (reach->nodes == 2 && cluster->net.two_node_tree ? 1 : 2) * bytes;
    const double net_s = net_volume / fmin(net_rate * p->data, p->rate_max);
    const double nvlink_s =
        2 * bytes / fmin(ty_coll_in_node_rate(cluster, reach) * p->data, p->rate_max);
    out->latency_s =
        p->base_s + 2 * ((g - 1) * p->nvlink_s + ty_coll_tree_rounds(reach->nodes) * crossing);
    out->transfer_s = fmax(net_s, nvlink_s) / efficiency;
    out->nvlink_B = 2 * bytes * (n - k) / n;
    out->net_B = 2 * bytes * (k - 1) / n;
    /* Inner nodes drive 2 S, chunks do not fill the pipeline, and some bytes are flags: links wait,
     * for nobody else. */
    out->net_idle = 1 - out->net_B * n / k / net_rate / (net_s / efficiency);
}

static void cost(const struct ty_cluster *cluster, enum ty_coll coll, double bytes,
                 const struct ty_reach *reach, struct ty_coll_cost *out)
{
    const struct ty_coll_protocol p = ty_coll_protocol_tree(cluster);
    (void)coll;
    ty_coll_tree_cost(cluster, bytes, reach, &p, out);
}

/* One climb (or, with `up` false, descent) from step `at`; returns the step after it. */
static uint32_t climb(bool up, uint32_t n, uint32_t g, double bytes, uint32_t at,
                      ty_coll_step_fn *emit, void *arg)
{
    const uint32_t k = n / g, depth = ty_coll_tree_rounds(k);
    for (uint32_t i = 0; i < g - 1 + depth; i++) {
        const uint32_t level = up ? i : g - 2 + depth - i; /* 0: leaves */
        /* Chain: local rank g-1-level to the one below it. Tree: node b to node b - distance. */
        const bool in_node = level < g - 1;
        const uint32_t distance = in_node ? 1 : g << (level - (g - 1));
        const uint32_t first = in_node ? g - 1 - level : distance;
        const uint32_t stride = in_node ? g : 2 * distance;
        for (uint32_t child = first; child < n; child += stride) {
            const uint32_t parent = child - distance;
            emit(arg,
                 &(struct ty_coll_step){at + i, up ? child : parent, up ? parent : child, bytes});
        }
    }
    return at + g - 1 + depth;
}

uint32_t ty_coll_tree_steps(enum ty_coll coll, uint32_t n, uint32_t g, double bytes,
                            ty_coll_step_fn *emit, void *arg)
{
    (void)coll;
    const uint32_t at = climb(true, n, g, bytes, 0, emit, arg);
    return climb(false, n, g, bytes, at, emit, arg);
}

const struct ty_coll_algorithm ty_coll_tree = {
    .name = "tree",
    .summary = "chain in the node, two binary trees between nodes; latency grows with log2 nodes",
    .source = "NVIDIA/nccl src/graph/tuning.cc; Sanders, Speck & Traeff 2009",
    .one_rate = true,
    .pattern = TY_PATTERN_TREES,
    .applies = applies,
    .cost = cost,
    .steps = ty_coll_tree_steps,
};
