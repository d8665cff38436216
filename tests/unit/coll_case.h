/* coll_case.h - a cluster with round constants, and groups that fill its nodes. */
#ifndef TY_TESTS_COLL_CASE_H
#define TY_TESTS_COLL_CASE_H

#include <math.h>

#include "topology/collectives/coll.h"

#include "tests/unit/suite.h"

#define EXACT 1e-12 /* relative: sums of a few hundred terms in double */

/* A cluster without measured constants: nodes of g GPUs, one NIC each. */
static inline struct ty_cluster ideal(uint32_t g)
{
    return (struct ty_cluster){
        .nodes = 64,
        .gpus_per_node = g,
        .nvlink.bandwidth = 300e9,
        .nvlink.efficiency = 0.8,
        .nvlink.pair_efficiency = 0.6,
        .nvlink.p2p_efficiency = 0.7,
        .nvlink.latency = 40e-6,
        .nvlink.latency_per_rank = 6e-6,
        .nvlink.gather_latency = 18e-6,
        .nvlink.step = 3e-6,
        .nvlink.tree_step = 4e-6,
        .nvlink.p2p_latency = 8e-6,
        .net.nics = g,
        .net.nic_bandwidth = 25e9,
        .net.nic_efficiency = 0.9,
        .net.step = 14e-6,
        .net.tree_step = 15e-6,
        .net.latency = 8e-6,
        .net.all_to_all_efficiency = 1,
        .net.two_node_tree = true,
        .net.ring_factor = 1.4,
        .net.p2p_efficiency = 0.8,
        .net.p2p_latency = 12e-6,
        .collectives.phase_overlap = 0,
        .collectives.exchange_efficiency = 1,
    };
}

/* Groups that fill their nodes: n ranks, g per node. */
static const struct {
    uint32_t n, g;
} shapes[] = {
    {2, 2}, {3, 3}, {4, 4}, {8, 8},  {2, 1},  {7, 1},  {64, 1},
    {4, 2}, {6, 2}, {9, 3}, {16, 8}, {24, 8}, {64, 4}, {256, 8},
};

static inline struct ty_reach reach_of(uint32_t n, uint32_t g)
{
    return (struct ty_reach){.ranks = n, .nodes = n / g, .per_node = g, .sharing = 1};
}

static inline double node_rate(uint32_t g)
{
    /* Nodes hold g GPUs here, so a group in a node is a full node unless stated otherwise. */
    return g > 1 ? 300e9 * 0.8 : (double)INFINITY;
}

static inline double relative(double a, double b)
{
    return fabs(a - b) / fmax(fabs(b), 1e-300);
}

static inline double cost_of(const struct ty_coll_algorithm *algorithm, enum ty_coll coll,
                             uint32_t n, uint32_t g, double bytes, struct ty_coll_cost *cost)
{
    const struct ty_cluster cluster = ideal(g);
    const struct ty_reach reach = reach_of(n, g);
    ty_coll_cost(&cluster, algorithm, coll, bytes, &reach, cost);
    ck_assert_ptr_eq(cost->algorithm, algorithm);
    return ty_coll_seconds(cost);
}

#endif
