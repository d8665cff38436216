/* test_coll_choice.c - which algorithm and protocol a collective takes, and how groups share
 * NICs. */
#include <math.h>
#include <string.h>

#include "tests/unit/cluster_preset.h"
#include "tests/unit/coll_case.h"

/* ---- choice ---- */

TEST(auto_is_never_slower_than_any_algorithm)
{
    static const double sizes[] = {0, 1e4, 1e6, 1e8, 1e10};
    const struct ty_cluster cluster = cluster_preset("dgx-h100", "nodes: 64");
    for (size_t i = 0; i < TY_COUNT(shapes) * TY_COUNT(sizes) * TY_N_COLLECTIVES; i++) {
        const struct ty_reach reach =
            reach_of(shapes[i % TY_COUNT(shapes)].n, shapes[i % TY_COUNT(shapes)].g);
        const double bytes = sizes[i / TY_COUNT(shapes) % TY_COUNT(sizes)];
        const enum ty_coll coll = (enum ty_coll)(i / TY_COUNT(shapes) / TY_COUNT(sizes));
        struct ty_coll_cost best, other;
        ty_coll_cost(&cluster, NULL, coll, bytes, &reach, &best);
        ck_assert(best.algorithm != NULL && !best.algorithm->on_request);
        for (size_t a = 0; ty_coll_algorithms[a] != NULL; a++) {
            const struct ty_coll_algorithm *algorithm = ty_coll_algorithms[a];
            ty_coll_cost(&cluster, algorithm, coll, bytes, &reach, &other);
            ck_assert(algorithm->on_request || ty_coll_seconds(&other) >= ty_coll_seconds(&best));
            /* Asked for one that does not apply, the fastest is taken. */
            ck_assert_ptr_eq(other.algorithm, algorithm->applies(&cluster, coll, &reach)
                                                  ? algorithm
                                                  : best.algorithm);
        }
    }
}

TEST(the_collectives_key_overrides_the_choice)
{
    const struct ty_reach reach = reach_of(64, 8);
    for (const struct ty_word *w = &ty_coll_algorithm_words[1]; w->name != NULL; w++) {
        struct ty_cluster cluster = cluster_preset(
            "dgx-h100", "{nodes: 8, nvlink_ll_efficiency: 0.5, sharp_efficiency: 1.2}");
        const bool in_node = w->value == 4 || w->value == 6;
        const bool spread = strcmp(w->name, "pat") == 0; /* one rank a node, and no all-reduce */
        const struct ty_reach there = spread ? reach_of(8, 1) : in_node ? reach_of(8, 8) : reach;
        struct ty_coll_cost cost;
        cluster.collectives.algorithm = w->value;
        ty_coll_cost(&cluster, NULL, spread ? TY_COLL_ALL_GATHER : TY_COLL_ALL_REDUCE, 1e8, &there,
                     &cost);
        ck_assert_str_eq(cost.algorithm->name, w->name);
    }
}

/* 8 A100, nccl-tests figures of VIA-Research/vTrain: 93 us at 1 MiB, 96 at 4, 134 at 8, 232 at 16,
 * 580 at 64, 8193 at 1 GiB. */
TEST(protocols_change_with_the_size)
{
    static const struct {
        double mib, us;
        const struct ty_coll_algorithm *algorithm;
    } rows[] = {{4, 96, &ty_coll_ring_ll128},
                {8, 134, &ty_coll_ring_ll128},
                {16, 232, &ty_coll_ring},
                {64, 580, &ty_coll_ring},
                {1024, 8193, &ty_coll_ring}};
    const struct ty_cluster cluster = cluster_preset("dgx-a100-80g", "nodes: 1");
    const struct ty_reach reach = reach_of(8, 8), pair = reach_of(2, 2);
    struct ty_coll_cost cost;
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        ty_coll_cost(&cluster, NULL, TY_COLL_ALL_REDUCE, rows[i].mib * 1048576, &reach, &cost);
        ck_assert_ptr_eq(cost.algorithm, rows[i].algorithm);
        ck_assert_double_eq_tol(ty_coll_seconds(&cost), 1e-6 * rows[i].us, 1e-7 * rows[i].us);
    }
    ty_coll_cost(&cluster, NULL, TY_COLL_ALL_REDUCE, 1, &pair, &cost); /* the floor */
    ck_assert_double_eq_tol(ty_coll_seconds(&cost), 44e-6, 1e-9);
}

/* One of the two nodes is the root of each tree: its NICs carry the tensor once, where NCCL
 * says. */
TEST(two_nodes_may_halve_a_tree)
{
    struct ty_cluster cluster = ideal(8);
    const struct ty_reach reach = reach_of(16, 8);
    struct ty_coll_cost once, twice;
    ty_coll_cost(&cluster, &ty_coll_tree, TY_COLL_ALL_REDUCE, 1e9, &reach, &once);
    cluster.net.two_node_tree = false;
    ty_coll_cost(&cluster, &ty_coll_tree, TY_COLL_ALL_REDUCE, 1e9, &reach, &twice);
    ck_assert_double_eq_tol(twice.transfer_s, 2e9 / (0.92 * 0.9 * 8 * 22.5e9), 1e-9);
    ck_assert_double_lt(once.transfer_s, twice.transfer_s);
}

/* H100, nccl-tests: 487 GB/s of bus bandwidth on two nodes; 380 on four or more (NVIDIA GTC24
 * S62129), where NICs of 8 x 48 GB/s are the limit. */
TEST(switches_and_a_tree_reach_their_published_bandwidth)
{
    static const struct {
        uint32_t nodes;
        double busbw;
    } rows[] = {{2, 487e9}, {4, 380e9}, {8, 380e9}};
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const struct ty_cluster cluster = cluster_preset("dgx-h100", "nodes: 8");
        const struct ty_reach reach = reach_of(8 * rows[i].nodes, 8);
        struct ty_coll_cost cost;
        ty_coll_cost(&cluster, &ty_coll_nvls_tree, TY_COLL_ALL_REDUCE, 16e9, &reach, &cost);
        const double busbw =
            ty_coll_bus_factor(TY_COLL_ALL_REDUCE, reach.ranks) * 16e9 / ty_coll_seconds(&cost);
        ck_assert_double_eq_tol(busbw, rows[i].busbw, 0.06 * rows[i].busbw);
    }
}

/* Small: latency decides, and a tree's grows with log2 of the nodes. Large: rings use all links. */
TEST(trees_win_small_and_rings_win_large_between_nodes)
{
    static const struct {
        double bytes;
        const struct ty_coll_algorithm *algorithm;
    } rows[] = {{1e5, &ty_coll_tree_ll}, {1e7, &ty_coll_tree}, {2e10, &ty_coll_ring}};
    const struct ty_cluster cluster = cluster_preset("dgx-a100-80g", "nodes: 32");
    const struct ty_reach reach = reach_of(256, 8);
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct ty_coll_cost cost;
        ty_coll_cost(&cluster, NULL, TY_COLL_ALL_REDUCE, rows[i].bytes, &reach, &cost);
        ck_assert_str_eq(cost.algorithm->name, rows[i].algorithm->name);
    }
}

TEST(a_cluster_may_do_without_ll)
{
    const struct ty_cluster cluster = cluster_preset("dgx-a100-80g", "{nodes: 32, net_ll: false}");
    const struct ty_reach reach = reach_of(256, 8);
    struct ty_coll_cost cost;
    ty_coll_cost(&cluster, NULL, TY_COLL_ALL_REDUCE, 1e5, &reach, &cost);
    ck_assert_str_eq(cost.algorithm->name, "tree");
    ty_coll_cost(&cluster, NULL, TY_COLL_ALL_GATHER, 1e5, &reach, &cost);
    ck_assert_str_eq(cost.algorithm->name, "ring");
}

TEST(a_group_of_one_costs_nothing)
{
    const struct ty_cluster cluster = ideal(8);
    const struct ty_reach reach = reach_of(1, 1);
    for (int coll = 0; coll < TY_N_COLLECTIVES; coll++) {
        struct ty_coll_cost cost;
        ty_coll_cost(&cluster, NULL, (enum ty_coll)coll, 1e9, &reach, &cost);
        ck_assert_double_eq(ty_coll_seconds(&cost), 0);
        ck_assert_double_eq(cost.nvlink_B + cost.net_B, 0);
    }
}

TEST(every_algorithm_describes_itself)
{
    for (size_t i = 0; ty_coll_algorithms[i] != NULL; i++) {
        ck_assert_uint_gt(strlen(ty_coll_algorithms[i]->summary), 20);
        ck_assert_uint_gt(strlen(ty_coll_algorithms[i]->source), 10);
    }
}

/* ---- NICs ---- */

TEST(two_groups_on_one_nic_take_twice_as_long)
{
    static const struct {
        enum ty_coll coll;
        const struct ty_coll_algorithm *algorithm;
    } rows[] = {
        {TY_COLL_ALL_REDUCE, &ty_coll_ring},   {TY_COLL_ALL_REDUCE, &ty_coll_tree},
        {TY_COLL_ALL_GATHER, &ty_coll_ring},   {TY_COLL_REDUCE_SCATTER, &ty_coll_ring},
        {TY_COLL_ALL_TO_ALL, &ty_coll_direct}, {TY_COLL_BROADCAST, &ty_coll_ring},
        {TY_COLL_REDUCE, &ty_coll_ring},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct ty_cluster cluster = ideal(8);
        struct ty_reach reach = {.ranks = 4, .nodes = 4, .per_node = 1, .sharing = 1};
        struct ty_coll_cost one, two;
        cluster.net.nics = 1;
        ty_coll_cost(&cluster, rows[i].algorithm, rows[i].coll, 1e9, &reach, &one);
        reach.sharing = 2;
        ty_coll_cost(&cluster, rows[i].algorithm, rows[i].coll, 1e9, &reach, &two);
        ck_assert_double_eq_tol(two.transfer_s, 2 * one.transfer_s, EXACT);
        ck_assert_double_eq_tol(two.latency_s, one.latency_s, EXACT);
        ck_assert_double_eq(two.net_B, one.net_B);
    }
}

TEST(groups_of_a_node_share_its_nics_and_no_more)
{
    static const struct {
        uint32_t nics, per_node, sharing;
        double n_nics; /* worth of NICs the group gets */
    } rows[] = {
        {8, 8, 1, 8},                  /* one group fills the node */
        {8, 4, 2, 4},                  /* tensor 2: each of two data groups on its rails */
        {8, 1, 8, 1},                  /* tensor 8: each GPU its own NIC */
        {8, 1, 1, 1},                  /* alone, a GPU still drives one NIC */
        {4, 1, 8, 0.5},                /* two GPUs share a NIC */
        {4, 1, 1, 1},                  /* unless the other is silent */
        {4, 8, 1, 4},                  /* fewer NICs than GPUs: all of them */
        {1, 4, 2, 0.5}, {16, 1, 8, 2}, /* two NICs per GPU */
        {16, 8, 1, 16},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct ty_cluster cluster = ideal(8);
        const struct ty_reach reach = {.ranks = 64,
                                       .nodes = 64 / rows[i].per_node,
                                       .per_node = rows[i].per_node,
                                       .sharing = rows[i].sharing};
        cluster.net.nics = rows[i].nics;
        const double rate = ty_coll_net_rate(&cluster, &reach);
        ck_assert_msg(relative(rate, rows[i].n_nics * 22.5e9) < EXACT, "row %zu: %g", i, rate);
        ck_assert_double_le(rate * rows[i].sharing, rows[i].nics * 22.5e9 * (1 + EXACT));
    }
}

TEST(messages_share_a_nic_where_gpus_do)
{
    struct ty_cluster cluster = ideal(8);
    struct ty_coll_cost cost;
    ty_p2p_cost(&cluster, false, 1e9, &cost);
    ck_assert_double_eq_tol(cost.transfer_s, 1e9 / (0.8 * 25e9), EXACT);
    ck_assert_double_eq(cost.latency_s, 12e-6);
    ck_assert_double_eq(cost.net_B, 1e9);
    cluster.net.nics = 2;
    ty_p2p_cost(&cluster, false, 1e9, &cost);
    ck_assert_double_eq_tol(cost.transfer_s, 1e9 / (0.9 * 25e9 / 4), EXACT);
    ty_p2p_cost(&cluster, true, 1e9, &cost);
    ck_assert_double_eq_tol(cost.transfer_s, 1e9 / (0.7 * 300e9), EXACT);
    ck_assert_double_eq(cost.nvlink_B, 1e9);
}

TEST(bus_factors_are_those_of_nccl_tests)
{
    ck_assert_double_eq(ty_coll_bus_factor(TY_COLL_ALL_REDUCE, 8), 1.75);
    ck_assert_double_eq(ty_coll_bus_factor(TY_COLL_ALL_GATHER, 8), 0.875);
    ck_assert_double_eq(ty_coll_bus_factor(TY_COLL_REDUCE_SCATTER, 4), 0.75);
    ck_assert_double_eq(ty_coll_bus_factor(TY_COLL_ALL_TO_ALL, 2), 0.5);
    ck_assert_double_eq(ty_coll_bus_factor(TY_COLL_BROADCAST, 8), 1);
    ck_assert_double_eq(ty_coll_bus_factor(TY_COLL_REDUCE, 8), 1);
    ck_assert_double_eq(ty_coll_bus_factor(TY_COLL_SEND_RECV, 2), 1);
}

TY_SUITE("choice of collectives")
