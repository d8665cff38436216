/* test_coll_protocol.c - NCCL's protocols between nodes: channels, messages, steps, and networks
 * whose software handles messages one after another. */
#include "topology/collectives/protocol.h"

#include "tests/unit/cluster_preset.h"
#include "tests/unit/coll_case.h"

#define KIB 1024.0
#define MIB 1048576.0

static double seconds(const struct ty_cluster *cluster, enum ty_coll coll, uint32_t nodes,
                      double bytes, const char **algorithm)
{
    const struct ty_reach reach = reach_of(nodes * cluster->gpus_per_node, cluster->gpus_per_node);
    struct ty_coll_cost cost;
    ty_coll_cost(cluster, NULL, coll, bytes, &reach, &cost);
    *algorithm = cost.algorithm->name;
    return ty_coll_seconds(&cost);
}

/* NCCL: a channel for each 32 KiB by Simple, each 4 KiB by LL, in rings of each rank; two a NIC at
 * most. */
TEST(a_group_has_the_channels_that_its_bytes_fill)
{
    static const struct {
        uint32_t nodes;
        double bytes, ring, ring_ll, tree_ll;
    } rows[] = {
        {2, 4 * KIB, 1, 1, 1},      {2, 8 * KIB, 1, 1, 2},   {2, 64 * KIB, 2, 2, 4},
        {2, 96 * KIB, 3, 3, 4},     {2, 128 * KIB, 4, 4, 4}, {2, 1 * MIB, 4, 4, 4},
        {128, 1 * MIB, 4, 1, 4},    {128, 4 * MIB, 4, 2, 4}, {128, 8 * MIB, 4, 4, 4},
        {128, 1024 * MIB, 4, 4, 4}, /* two NICs */
    };
    const struct ty_cluster cluster = cluster_preset("polaris", "nodes: 128");
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const struct ty_reach reach = reach_of(4 * rows[i].nodes, 4);
        const struct ty_coll_protocol ring = ty_coll_protocol_ring(&cluster);
        const struct ty_coll_protocol ring_ll = ty_coll_protocol_ring_ll(&cluster, reach.ranks);
        const struct ty_coll_protocol tree_ll = ty_coll_protocol_tree_ll(&cluster);
        ck_assert_double_eq(ty_coll_channels(&cluster, &reach, &ring, rows[i].bytes), rows[i].ring);
        ck_assert_double_eq(ty_coll_channels(&cluster, &reach, &ring_ll, rows[i].bytes),
                            rows[i].ring_ll);
        ck_assert_double_eq(ty_coll_channels(&cluster, &reach, &tree_ll, rows[i].bytes),
                            rows[i].tree_ll);
    }
}

TEST(groups_that_share_nics_share_their_channels)
{
    static const struct {
        uint32_t nics, per_node, sharing;
        double channels;
    } rows[] = {{8, 8, 1, 16}, {2, 8, 1, 4}, {2, 4, 2, 2}, {2, 1, 8, 1}, {8, 1, 8, 2}};
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct ty_cluster cluster = ideal(8);
        const struct ty_coll_protocol p = ty_coll_protocol_ring(&cluster);
        const struct ty_reach reach = {.ranks = 4 * rows[i].per_node,
                                       .nodes = 4,
                                       .per_node = rows[i].per_node,
                                       .sharing = rows[i].sharing};
        cluster.net.nics = rows[i].nics;
        ck_assert_double_eq(ty_coll_channels(&cluster, &reach, &p, 1e9), rows[i].channels);
    }
}

/* One data-parallel ring over 8 GPUs of a node, two of 4 (tensor 2), eight of 1 (tensor 8): what
 * leaves a node in a second is what its NICs carry. */
TEST(however_groups_share_few_nics_a_node_sends_what_they_carry)
{
    for (uint32_t i = 0; i < 9; i++) {
        const uint32_t groups = (const uint32_t[]){1, 2, 8}[i % 3], nics = 1u << i / 3;
        struct ty_cluster cluster = ideal(8);
        const struct ty_reach reach = {
            .ranks = 4 * 8 / groups, .nodes = 4, .per_node = 8 / groups, .sharing = groups};
        struct ty_coll_cost cost;
        cluster.net.nics = nics;
        ty_coll_cost(&cluster, &ty_coll_ring, TY_COLL_ALL_GATHER, 1e12, &reach, &cost);
        const double sent_B = groups * cost.net_B * reach.per_node;
        ck_assert_double_lt(relative(sent_B / ty_coll_seconds(&cost), nics * 0.9 * 25e9), 1e-3);
    }
}

TEST(messages_of_a_step_are_handled_one_after_another)
{
    const struct ty_cluster cluster = cluster_preset(
        "dgx-a100-80g", "{net_message: 10 us, net_rendezvous: 5 us, net_eager: 32 KiB}");
    const struct ty_coll_protocol simple = ty_coll_protocol_ring(&cluster);
    const struct ty_coll_protocol ll = ty_coll_protocol_ring_ll(&cluster, 16);
    ck_assert_double_eq_tol(ty_coll_crossing_s(&cluster, &simple, 1, 1), 24e-6, 1e-15);
    ck_assert_double_eq_tol(ty_coll_crossing_s(&cluster, &simple, 4, 32 * KIB), 54e-6, 1e-15);
    ck_assert_double_eq_tol(ty_coll_crossing_s(&cluster, &simple, 4, 33 * KIB), 74e-6, 1e-15);
    /* flags double what LL sends */
    ck_assert_double_eq_tol(ty_coll_crossing_s(&cluster, &ll, 4, 16 * KIB), 42.7e-6, 1e-15);
    ck_assert_double_eq_tol(ty_coll_crossing_s(&cluster, &ll, 4, 17 * KIB), 62.7e-6, 1e-15);
}

/* A network that is slower than NCCL's constants is so by either protocol. */
TEST(a_longer_step_is_longer_by_ll_too)
{
    const struct ty_cluster infiniband = cluster_preset("dgx-h100", NULL);
    const struct ty_cluster efa = cluster_preset("aws-p5", NULL);
    const double more = efa.net.step - infiniband.net.step;
    ck_assert_double_gt(more, 0);
    ck_assert_double_eq_tol(ty_coll_protocol_ring_ll(&infiniband, 16).net_s, 2.7e-6, 1e-15);
    ck_assert_double_eq_tol(ty_coll_protocol_tree_ll(&infiniband).net_s, 5e-6, 1e-15);
    ck_assert_double_eq_tol(ty_coll_protocol_ring_ll(&efa, 16).net_s, 2.7e-6 + more, 1e-15);
    ck_assert_double_eq_tol(ty_coll_protocol_tree_ll(&efa).net_s, 5e-6 + more, 1e-15);
}

/* All-gathers over Slingshot, 8 nodes: argonne-lcf/alcf-nccl-tests, NCCL 2.18 and 2.21. */
TEST(protocols_change_with_the_size_over_slingshot)
{
    static const struct {
        double mib, us, tolerance;
        const char *algorithm;
    } rows[] = {
        {0.5, 677, 0.12, "ring-ll"}, {1, 735, 0.12, "ring-ll"}, {2, 695, 0.08, "ring"},
        {16, 1290, 0.1, "ring"},     {64, 1900, 0.08, "ring"},  {1024, 29064, 0.02, "ring"},
    };
    const struct ty_cluster cluster = cluster_preset("polaris", "nodes: 8");
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const char *algorithm;
        const double us =
            1e6 * seconds(&cluster, TY_COLL_ALL_GATHER, 8, rows[i].mib * MIB, &algorithm);
        ck_assert_msg(relative(us, rows[i].us) < rows[i].tolerance, "%g MiB: %g us, not %g",
                      rows[i].mib, us, rows[i].us);
        ck_assert_str_eq(algorithm, rows[i].algorithm);
    }
}

/* What is fitted on 2 and 8 nodes, held against 128 (the settings of these runs make a message take
 * longer than the preset's). */
TEST(latencies_of_two_and_eight_nodes_extend_to_128)
{
    static const struct {
        double mib, us;
    } rows[] = {{1, 4087}, {4, 7715}, {32, 15567}, {128, 22398}, {1024, 32943}};
    const struct ty_cluster cluster =
        cluster_preset("polaris", "{nodes: 128, net_message: 24 us, net_rendezvous: 17 us}");
    double sum = 0;
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const char *algorithm;
        const double us =
            1e6 * seconds(&cluster, TY_COLL_ALL_GATHER, 128, rows[i].mib * MIB, &algorithm);
        ck_assert_msg(relative(us, rows[i].us) < 0.22, "%g MiB: %g us, not %g", rows[i].mib, us,
                      rows[i].us);
        sum += relative(us, rows[i].us);
    }
    ck_assert_double_lt(sum / TY_COUNT(rows), 0.12);
}

/* A ring whose network is the slow part: latency hides behind bytes once these take longer than the
 * way round. 4 nodes of 8 with 4 NICs over InfiniBand, stas00/ml-engineering, 92 GB/s. */
TEST(latency_of_a_ring_hides_behind_its_bytes)
{
    const struct ty_cluster cluster =
        cluster_preset("dgx-a100-80g", "{nodes: 4, nics_per_node: 4}");
    const struct ty_reach reach = reach_of(32, 8);
    struct ty_coll_cost small, large;
    ty_coll_cost(&cluster, &ty_coll_ring, TY_COLL_ALL_REDUCE, 1, &reach, &small);
    ty_coll_cost(&cluster, &ty_coll_ring, TY_COLL_ALL_REDUCE, 64 * MIB, &reach, &large);
    ck_assert_double_gt(small.latency_s, 400e-6);
    ck_assert_double_lt(large.latency_s, 40e-6);
    ck_assert_double_lt(relative(ty_coll_seconds(&large), 1531e-6), 0.1);
}

TY_SUITE("coll_protocol")
