/* test_fabric_paths.c - which way messages and collectives take through leaves, rails, spines and
 * pods, and around exceptions. */
#include "tests/unit/fabric_net.h"

/* ---- uplinks ---- */

TEST(oversubscription_slows_only_groups_that_cross_leaves)
{
    /* leaf 0: nodes 0 and 1, ... */
    struct net net =
        net_of(A100_8 "fabric: {topology: fat-tree, leaf_ports: 32, oversubscription: 4}\n");
    uint32_t gpus[64];
    members(&net, 2, 1, 2, 8, gpus);
    run(&net, &ty_coll_ring, TY_COLL_ALL_REDUCE, gpus, 2, 8);
    ck_assert_uint_eq(count(&net, TY_LINK_LEAF), 0);
    ck_assert_double_eq(alone(&net), 1);
    /* of a ring over neighbours one node a leaf sends up: 8 NICs where there are 16 / 4 */
    members(&net, 0, 1, 8, 8, gpus);
    run(&net, &ty_coll_ring, TY_COLL_ALL_REDUCE, gpus, 8, 8);
    near(used(&net, "leaf 2 up"), 8 * NIC);
    near(used(&net, "leaf 2 down"), 8 * NIC);
    near(alone(&net), 0.5);
    /* members that alternate between leaves all send up */
    const uint32_t zigzag[] = {0, 16, 8, 24};
    run(&net, &ty_coll_ring, TY_COLL_ALL_REDUCE, zigzag, 4, 1);
    near(used(&net, "leaf 0 up"), 2 * NIC);
    net_free(&net);
}

TEST(all_to_alls_send_up_what_is_for_other_leaves)
{
    struct net net = net_of(A100_8 "fabric: {topology: fat-tree, leaf_ports: 32, pods: 2}\n");
    uint32_t gpus[64];
    const uint32_t n = members(&net, 0, 1, 8, 8, gpus);
    run(&net, &ty_coll_direct, TY_COLL_ALL_TO_ALL, gpus, 8, 8);
    const double leaves_node = net.cost.net_B / net.cost.transfer_s; /* of a member, to 56 others */
    near(used(&net, "leaf 1 up"), 16 * leaves_node * 48 / 56);
    near(used(&net, "pod 1 down"), 32 * leaves_node * 32 / 56);
    ck_assert_uint_eq(n, 64);
    net_free(&net);
}

TEST(rails_keep_rings_apart)
{
    struct net net =
        net_of(A100_8 "fabric: {topology: rail-optimized, leaf_ports: 8, oversubscription: 4}\n");
    const uint32_t fifth[] = {5, 13, 21, 29, 37, 45, 53, 61};
    run(&net, &ty_coll_ring, TY_COLL_ALL_REDUCE, fifth, 8, 1);
    ck_assert_uint_eq(count(&net, TY_LINK_LEAF), 4); /* rail 5 of two blocks, up and down */
    near(used(&net, "leaf 5 up"), NIC);
    near(used(&net, "leaf 13 down"), NIC);
    near(capacity(&net, "leaf 13 down"), NIC);
    net_free(&net);
}

TEST(a_hash_fixes_the_spine_of_each_queue_pair)
{
    struct net net = net_of(A100_4 "fabric: {topology: fat-tree, leaf_nodes: 1, routing: ecmp}\n");
    uint32_t gpus[32];
    double first[8];
    uint32_t crowded = 0;
    members(&net, 0, 1, 4, 8, gpus);
    for (int again = 0; again < 2; again++) {
        run(&net, &ty_coll_ring, TY_COLL_ALL_REDUCE, gpus, 4, 8);
        for (unsigned spine = 0; spine < 8; spine++) {
            char name[64];
            snprintf(name, sizeof(name), "leaf 0 up to spine %u", spine);
            const double NICs = used(&net, name) / NIC;
            near(NICs, round(NICs)); /* a flow goes over one spine as a whole */
            ck_assert_double_eq(again ? first[spine] : NICs, NICs);
            first[spine] = NICs;
            crowded += NICs > 1.5;
        }
        near(sum(&net, TY_LINK_LEAF, "leaf 0 up"), 8 * NIC);
    }
    ck_assert_uint_gt(crowded, 0); /* 8 flows meet on 8 spines: 8! / 8^8 that none do */
    const double one_path = alone(&net);
    net_free(&net);
    net = net_of(A100_4
                 "fabric: {topology: fat-tree, leaf_nodes: 1, routing: ecmp, ecmp_paths: 64}\n");
    run(&net, &ty_coll_ring, TY_COLL_ALL_REDUCE, gpus, 4, 8);
    ck_assert_double_gt(alone(&net), one_path);
    ck_assert_double_lt(alone(&net), 1);
    net_free(&net);
}

/* ---- messages ---- */

TEST(a_message_takes_a_port_or_a_nic_at_either_end)
{
    struct net net = net_of(A100_4);
    message(&net, 9, 14);
    ck_assert_uint_eq(net.uses.n, 2);
    near(used(&net, "gpu 9 nvlink out"), 300e9 * net.config->cluster.nvlink.p2p_efficiency);
    near(used(&net, "gpu 14 nvlink in"), used(&net, "gpu 9 nvlink out"));
    message(&net, 9, 30);
    ck_assert_uint_eq(net.uses.n, 2);
    near(used(&net, "node 1 nic 1 out"), 25e9 * net.config->cluster.net.p2p_efficiency);
    near(used(&net, "node 3 nic 6 in"), used(&net, "node 1 nic 1 out"));
    near(net.weight, 1 / used(&net, "node 1 nic 1 out"));
    message(&net, 9, 9);
    ck_assert_uint_eq(net.uses.n, 0);
    net_free(&net);
}

TEST(a_message_leaves_on_the_rail_of_its_destination)
{
    struct net net = net_of(A100_8 "fabric: {topology: rail-optimized, leaf_ports: 8}\n");
    message(&net, 1, 6 * 8 + 4);
    ck_assert_uint_eq(net.uses.n, 6);
    ck_assert_double_gt(used(&net, "gpu 1 nvlink out"), 0);
    ck_assert_double_gt(used(&net, "gpu 4 nvlink in"), 0);
    ck_assert_double_gt(used(&net, "node 0 nic 4 out"), 0);
    ck_assert_double_gt(used(&net, "leaf 4 up"), 0);
    ck_assert_double_gt(used(&net, "leaf 12 down"), 0);
    message(&net, 1, 6 * 8 + 1);
    ck_assert_uint_eq(count(&net, TY_LINK_NVLINK), 0);
    net_free(&net);
}

TEST(all_to_alls_on_rails_pass_over_nvlink_first)
{
    struct net flat = net_of(A100_4), rails = net_of(A100_4 "fabric: {topology: rail-only}\n");
    uint32_t gpus[32];
    members(&flat, 0, 1, 4, 8, gpus);
    run(&flat, &ty_coll_direct, TY_COLL_ALL_TO_ALL, gpus, 4, 8);
    run(&rails, &ty_coll_direct, TY_COLL_ALL_TO_ALL, gpus, 4, 8);
    /* seven of eight members are on other rails */
    near(used(&rails, "gpu 3 nvlink out"),
         used(&flat, "gpu 3 nvlink out") + rails.cost.net_B / rails.cost.transfer_s * 7 / 8);
    near(used(&rails, "node 0 nic 3 out"), used(&flat, "node 0 nic 3 out"));
    net_free(&flat);
    net_free(&rails);
}

/* A dispatch goes to the GPUs of the sender's place on other nodes, whatever the network. */
TEST(rows_for_experts_stay_on_their_rail)
{
    const char *const texts[] = {A100_4, A100_4 "fabric: {topology: rail-optimized}\n",
                                 A100_4
                                 "fabric: {topology: rail-optimized, rails: 4, leaf_nodes: 2}\n",
                                 A100_4 "fabric: {topology: fat-tree, leaf_ports: 32}\n"};
    const struct ty_exchange x = {.method = TY_EXCHANGE_PER_NODE,
                                  .tokens = 4096,
                                  .row_B = 14336,
                                  .experts = 256,
                                  .top_k = 8,
                                  .groups = 8,
                                  .group_limit = 4};
    const struct ty_reach reach = {.ranks = 32, .nodes = 4, .per_node = 8, .sharing = 1};
    uint32_t gpus[32];
    for (size_t i = 0; i < TY_COUNT(texts); i++) {
        struct net net = net_of(texts[i]);
        const struct ty_coll_cost *cost = &net.cost;
        members(&net, 0, 1, 4, 8, gpus);
        ty_exchange_cost(&net.config->cluster, &x, &reach, &net.cost);
        take(&net, gpus, 32);
        ck_assert_double_eq(alone(&net), 1);
        for (int way = 0; way < 2; way++) {
            const char *const word = way == 0 ? " out" : " in";
            near(sum(&net, TY_LINK_NIC, word),
                 32 * cost->net_B / cost->transfer_s / (1 - cost->net_idle));
            near(sum(&net, TY_LINK_NVLINK, word), 32 * cost->nvlink_B / cost->transfer_s);
        }
        /* a third of what leaves a node is for the other one of its leaf */
        near(used(&net, "node 1 nic 5 out"), NIC);
        near(sum(&net, TY_LINK_LEAF, "up"), sum(&net, TY_LINK_LEAF, "down"));
        if (net.fabric.shape.blocks == 2) {
            near(sum(&net, TY_LINK_LEAF, "up"), sum(&net, TY_LINK_NIC, "out") * 2 / 3);
        }
        net_free(&net);
    }
}

/* ---- domains larger than a node ---- */

TEST(an_nvlink_domain_is_as_large_as_the_cluster_says)
{
    struct net net = net_of("cluster: {preset: gb200-nvl72, nodes: 4}\n"
                            "fabric: {topology: rail-optimized, rails: 4, leaf_nodes: 2}\n");
    uint32_t gpus[288];
    members(&net, 1, 1, 1, 72, gpus);
    run(&net, &ty_coll_nvls, TY_COLL_ALL_REDUCE, gpus, 1, 72);
    ck_assert_uint_eq(net.uses.n, 144);
    ck_assert_uint_eq(count(&net, TY_LINK_NVLINK), 144);
    ck_assert_double_eq(alone(&net), 1);
    members(&net, 0, 1, 4, 72, gpus);
    run(&net, &ty_coll_ring, TY_COLL_ALL_GATHER, gpus, 4, 72);
    ck_assert_uint_eq(count(&net, TY_LINK_LEAF), 2 * 8);
    ck_assert_double_eq(alone(&net), 1);
    message(&net, 3, 70); /* 17 trays apart, no NIC */
    ck_assert_uint_eq(count(&net, TY_LINK_NIC), 0);
    net_free(&net);
}

/* ---- exceptions ---- */

TEST(a_node_with_half_the_nics_sends_everything_through_them)
{
    struct net net = net_of("cluster: {preset: dgx-a100-80g, nodes: 4, exceptions: "
                            "[node 2 with 4 nics]}\n");
    uint32_t gpus[32];
    members(&net, 0, 1, 4, 8, gpus);
    run(&net, &ty_coll_ring, TY_COLL_ALL_REDUCE, gpus, 4, 8);
    near(used(&net, "node 2 nic 0 out"), 2 * NIC);
    near(used(&net, "node 2 nic 3 in"), 2 * NIC);
    near(used(&net, "node 2 nic 4 out"), 0);
    near(used(&net, "node 1 nic 4 out"), NIC); /* nodes beside it are as they were */
    near(alone(&net), 0.5);
    members(&net, 0, 1, 2, 8, gpus);
    run(&net, &ty_coll_ring, TY_COLL_ALL_REDUCE, gpus, 2, 8);
    ck_assert_double_eq(alone(&net), 1);
    const uint32_t sixth[] = {6, 14, 22, 30};
    run(&net, &ty_coll_ring, TY_COLL_ALL_REDUCE, sixth, 4, 1);
    near(used(&net, "node 2 nic 1 out"), NIC / 4);
    ck_assert_double_eq(alone(&net), 1); /* alone it finds room in the others */
    net_free(&net);
}

TEST(a_worse_nic_slows_who_goes_through_it)
{
    struct net net = net_of("cluster: {preset: dgx-a100-80g, nodes: 4, exceptions: "
                            "[nic 1.5 at 50 %, nvlink 2.1 at 25 %]}\n");
    uint32_t gpus[32];
    near(capacity(&net, "node 1 nic 5 in"), NIC / 2);
    near(capacity(&net, "node 1 nic 4 in"), NIC);
    near(capacity(&net, "gpu 17 nvlink out"), capacity(&net, "gpu 16 nvlink out") / 4);
    const uint32_t fifth[] = {5, 13, 21, 29}, fourth[] = {4, 12, 20, 28};
    run(&net, &ty_coll_ring, TY_COLL_ALL_REDUCE, fifth, 4, 1);
    near(alone(&net), 0.5);
    run(&net, &ty_coll_ring, TY_COLL_ALL_REDUCE, fourth, 4, 1);
    ck_assert_double_eq(alone(&net), 1);
    members(&net, 2, 1, 1, 8, gpus);
    run(&net, &ty_coll_ring, TY_COLL_ALL_REDUCE, gpus, 1, 8);
    ck_assert_double_lt(alone(&net), 0.3);
    net_free(&net);
}

TEST(a_worse_leaf_slows_who_leaves_it)
{
    struct net net =
        net_of("cluster: {preset: dgx-a100-80g, nodes: 8, exceptions: [leaf 1 at 25 %]}\n"
               "fabric: {topology: fat-tree, leaf_ports: 32}\n");
    uint32_t gpus[64];
    near(capacity(&net, "leaf 1 up"), 4 * NIC);
    near(capacity(&net, "leaf 2 up"), 16 * NIC);
    members(&net, 2, 1, 2, 8, gpus); /* inside leaf 1 */
    run(&net, &ty_coll_ring, TY_COLL_ALL_REDUCE, gpus, 2, 8);
    ck_assert_double_eq(alone(&net), 1);
    members(&net, 4, 1, 4, 8, gpus); /* leaves 2 and 3 */
    run(&net, &ty_coll_ring, TY_COLL_ALL_REDUCE, gpus, 4, 8);
    ck_assert_double_eq(alone(&net), 1);
    members(&net, 0, 1, 8, 8, gpus);
    run(&net, &ty_coll_ring, TY_COLL_ALL_REDUCE, gpus, 8, 8);
    near(alone(&net), 0.5);
    net_free(&net);
}

TEST(messages_go_around_dead_nics)
{
    struct net net = net_of("cluster: {preset: dgx-a100-80g, nodes: 4, exceptions: "
                            "[nics 0.2-0.3 dead]}\n");
    message(&net, 2, 8 + 2);
    ck_assert_double_gt(used(&net, "node 0 nic 0 out"), 0);
    message(&net, 3, 8 + 2);
    ck_assert_double_gt(used(&net, "node 0 nic 1 out"), 0);
    message(&net, 8 + 2, 3);
    ck_assert_double_gt(used(&net, "node 0 nic 1 in"), 0);
    ck_assert_double_gt(used(&net, "node 1 nic 2 out"), 0);
    net_free(&net);
    /* where rails are not joined both ends have to take another one */
    net = net_of("cluster: {preset: dgx-a100-80g, nodes: 4, exceptions: [nics 0.2-0.3 dead]}\n"
                 "fabric: {topology: rail-only}\n");
    message(&net, 8 + 5, 2);
    ck_assert_double_gt(used(&net, "node 0 nic 0 in"), 0);
    ck_assert_double_gt(used(&net, "node 1 nic 0 out"), 0);
    ck_assert_double_gt(used(&net, "gpu 8 nvlink in"), 0);
    message(&net, 2, 8 + 3);
    ck_assert_uint_eq(count(&net, TY_LINK_NIC), 2);
    ck_assert_double_eq(used(&net, "node 1 nic 3 in"), 0);
    ck_assert_double_eq(used(&net, "node 0 nic 3 out"), 0);
    net_free(&net);
}

TY_SUITE("fabric paths")
