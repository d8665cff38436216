/* pat.c - all-gather and reduce-scatter in log2 n rounds, where each node has one member.
 *
 *     n = 4, blocks that rank 0 has     {0}   <- rank 1   {0 1}   <- rank 2   {0 1 2 3}
 *
 * In round i of an all-gather each rank sends all it has, at most 2^i blocks, to the rank 2^i
 * before it. A reduce-scatter makes the same rounds backward. Each rank sends n - 1 blocks, as in a
 * ring, but pays ceil(log2 n) latencies, not n - 1.
 *
 * NCCL has it since 2.23 as PAT, parallel aggregated trees, and by default for one rank a node.
 * Older ones do not, so "auto" leaves it out. NCCL bounds its buffers by cutting the largest
 * messages, which costs further rounds; that is left out.
 *
 * Sources: Bruck et al. 1997 (rounds); Jeaugey 2025, "PAT: a new algorithm for all-gather and
 * reduce-scatter operations at scale", arXiv 2506.20252. */
#include "topology/collectives/protocol.h"

static bool applies(const struct ty_cluster *cluster, enum ty_coll coll,
                    const struct ty_reach *reach)
{
    (void)cluster;
    return (coll == TY_COLL_ALL_GATHER || coll == TY_COLL_REDUCE_SCATTER) && reach->nodes > 1 &&
           reach->per_node == 1;
}

/* Blocks that a rank sends in round i. */
static uint32_t blocks(uint32_t n, uint32_t i)
{
    const uint32_t has = 1u << i;
    return has < n - has ? has : n - has;
}

static void cost(const struct ty_cluster *cluster, enum ty_coll coll, double bytes,
                 const struct ty_reach *reach, struct ty_coll_cost *out)
{
    const struct ty_coll_protocol p = ty_coll_protocol_ring(cluster);
    const double channels = ty_coll_channels(cluster, reach, &p, bytes);
    const uint32_t n = reach->ranks, rounds = ty_coll_tree_rounds(n);
    (void)coll;
    out->latency_s = p.base_s;
    for (uint32_t i = 0; i < rounds; i++) {
        const double message_B = blocks(n, i) * bytes / n / channels;
        out->latency_s += ty_coll_crossing_s(cluster, &p, channels, message_B);
    }
    out->net_B = bytes * (n - 1) / n;
    out->transfer_s = out->net_B / ty_coll_net_rate(cluster, reach);
}

static uint32_t steps(enum ty_coll coll, uint32_t n, uint32_t g, double bytes,
                      ty_coll_step_fn *emit, void *arg)
{
    const uint32_t rounds = ty_coll_tree_rounds(n);
    (void)g;
    for (uint32_t step = 0; step < rounds; step++) {
        const bool gathers = coll == TY_COLL_ALL_GATHER;
        const uint32_t i = gathers ? step : rounds - 1 - step, distance = 1u << i;
        for (uint32_t from = 0; from < n; from++) {
            const uint32_t to = (from + (gathers ? n - distance : distance)) % n;
            emit(arg, &(struct ty_coll_step){step, from, to, blocks(n, i) * bytes / n});
        }
    }
    return rounds;
}

const struct ty_coll_algorithm ty_coll_pat = {
    .name = "pat",
    .summary =
        "log2 n rounds, each twice as far and with twice as much: all-gather, reduce-scatter",
    .source = "Bruck et al. 1997; Jeaugey 2025, arXiv 2506.20252",
    .on_request = true,
    .one_rate = true,
    .pattern = TY_PATTERN_ALL_PAIRS,
    .applies = applies,
    .cost = cost,
    .steps = steps,
};
