/* test_fabric.c - the links of clusters, and what collectives take of the NICs and ports of nodes.
 *
 * Expected rates are worked out by hand from sizes of nodes, leaves and groups; that nothing asks
 * for more than a link has, and that what leaves also arrives, is demanded of every algorithm. */
#include "tests/unit/fabric_net.h"

/* ---- links ---- */

TEST(links_are_ports_and_nics_in_both_directions)
{
    struct net net = net_of(A100_4);
    const struct ty_fabric *f = &net.fabric;
    ck_assert_uint_eq(f->n_links, 2 * (32 + 32));
    for (uint32_t i = 0; i < f->n_links; i++) {
        ck_assert_uint_eq(f->links[i].class, i < 64 ? TY_LINK_NVLINK : TY_LINK_NIC);
        ck_assert_uint_eq(f->links[i].node, i % 64 / 16);
    }
    near(capacity(&net, "node 3 nic 7 in"), NIC);
    near(capacity(&net, "gpu 31 nvlink out"),
         300e9 * fmax(net.config->cluster.nvlink.efficiency,
                      net.config->cluster.nvlink.p2p_efficiency));
    net_free(&net);
}

TEST(one_node_has_no_network)
{
    struct net net = net_of("cluster: {preset: dgx-a100-80g, nodes: 1}\n");
    ck_assert_uint_eq(net.fabric.n_links, 16);
    net_free(&net);
}

TEST(leafs_and_pods_have_their_share_of_uplinks)
{
    /* 2 nodes a leaf: 4 leaves of 16 NICs; 2 pods of 2 leaves */
    struct net net = net_of(A100_8 "fabric: {topology: fat-tree, leaf_ports: 32, oversubscription: "
                                   "2, pods: 2, pod_oversubscription: 4}\n");
    ck_assert_uint_eq(net.fabric.shape.blocks, 4);
    ck_assert_uint_eq(net.fabric.n_links, 2 * (64 + 64 + 4 + 2));
    near(capacity(&net, "leaf 3 up"), 16 * NIC / 2);
    near(capacity(&net, "pod 1 down"), 32 * NIC / 2 / 4);
    net_free(&net);
    /* a leaf a rail: 4 nodes of 1 NIC each on it */
    net = net_of(A100_8 "fabric: {topology: rail-optimized, leaf_ports: 8}\n");
    ck_assert_uint_eq(net.fabric.shape.rails, 8);
    ck_assert_uint_eq(net.fabric.n_links, 2 * (64 + 64 + 16));
    near(capacity(&net, "leaf 15 up"), 4 * NIC);
    net_free(&net);
    net = net_of(A100_8 "fabric: {preset: rail-only}\n");
    ck_assert_uint_eq(net.fabric.n_links, 2 * (64 + 64));
    net_free(&net);
}

TEST(ecmp_has_a_link_for_each_spine)
{
    struct net net = net_of(A100_4 "fabric: {topology: fat-tree, leaf_ports: 32, oversubscription: "
                                   "4, routing: ecmp}\n");
    ck_assert_uint_eq(net.fabric.shape.spines, 4);
    near(capacity(&net, "leaf 1 down from spine 3"), NIC);
    net_free(&net);
    net = net_of(A100_4 "fabric: {topology: fat-tree, leaf_ports: 32, routing: ecmp, spines: 2}\n");
    near(capacity(&net, "leaf 0 up to spine 1"), 8 * NIC);
    net_free(&net);
}

/* ---- every algorithm ---- */

static void whole(struct net *net, const uint32_t *gpus, uint32_t k, uint32_t g, const char *what)
{
    static const enum ty_coll colls[] = {TY_COLL_ALL_REDUCE, TY_COLL_ALL_GATHER, TY_COLL_BROADCAST,
                                         TY_COLL_REDUCE, TY_COLL_ALL_TO_ALL};
    const struct ty_reach reach = {.ranks = k * g, .nodes = k, .per_node = g, .sharing = 1};
    for (size_t i = 0; i < TY_COUNT(colls); i++) {
        for (size_t a = 0; ty_coll_algorithms[a] != NULL; a++) {
            const struct ty_coll_algorithm *algorithm = ty_coll_algorithms[a];
            if (!algorithm->applies(&net->config->cluster, colls[i], &reach)) {
                continue;
            }
            run(net, algorithm, colls[i], gpus, k, g);
            const double Bps =
                net->cost.net_B * k * g / net->cost.transfer_s / (1 - net->cost.net_idle);
            ck_assert_msg(alone(net) == 1, "%s, %s of %u x %u by %s: speed %.17g alone", what,
                          ty_coll_name(colls[i]), k, g, algorithm->name, alone(net));
            near(sum(net, TY_LINK_NIC, "out"), k > 1 ? Bps : 0);
            near(sum(net, TY_LINK_NIC, "in"), k > 1 ? Bps : 0);
            if (net->fabric.shape.rails == 1 || colls[i] != TY_COLL_ALL_TO_ALL) {
                near(sum(net, TY_LINK_NVLINK, "out"),
                     net->cost.nvlink_B * k * g / net->cost.transfer_s / (1 - net->cost.port_idle));
            }
            near(sum(net, TY_LINK_LEAF, "up"), sum(net, TY_LINK_LEAF, "down"));
            ck_assert_double_gt(net->weight, 0);
            for (uint32_t r = 1; r < net->uses.n; r++) {
                ck_assert_uint_lt(net->uses.row[r - 1].link, net->uses.row[r].link);
            }
        }
    }
}

TEST(no_collective_alone_asks_for_more_than_links_have)
{
    static const char *const texts[] = {
        A100_8,
        A100_8 "fabric: {topology: fat-tree, leaf_ports: 32}\n",
        A100_8 "fabric: {topology: rail-optimized, leaf_ports: 4}\n",
        A100_8 "fabric: {topology: rail-optimized, rails: 4, leaf_nodes: 3, pods: 3}\n",
        A100_8 "fabric: {topology: rail-only}\n",
        ("cluster: {preset: dgx-h100, nodes: 8, sharp_efficiency: 1.2, phase_overlap: 1}\n"
         "fabric: {preset: rail-optimized, leaf_ports: 8}\n"),
        "cluster: {preset: dgx-h100, nodes: 8, nvls_efficiency: 1.6}\n",
        "cluster: {preset: dgx-a100-80g, nodes: 8, nics_per_node: 2}\n",
        "cluster: {preset: dgx1-v100, nodes: 8}\nfabric: {topology: fat-tree, leaf_nodes: 3}\n",
        "cluster: {preset: dgx-a100-80g, nodes: 8, nics_per_node: 16}\n",
    };
    for (size_t i = 0; i < TY_COUNT(texts); i++) {
        struct net net = net_of(texts[i]);
        uint32_t gpus[64];
        for (uint32_t k = 1; k <= 8; k++) {
            for (uint32_t g = k == 1 ? 2 : 1; g <= 8; g++) {
                members(&net, 0, 1, k, g, gpus);
                whole(&net, gpus, k, g, texts[i]);
            }
        }
        net_free(&net);
    }
}

TEST(double_trees_load_every_node_within_its_nics)
{
    struct net net = net_of("cluster: {preset: dgx-a100-80g, nodes: 72}\n");
    uint32_t gpus[GPUS];
    for (uint32_t k = 2; k <= 72; k++) {
        members(&net, 0, 1, k, 8, gpus);
        run(&net, &ty_coll_tree, TY_COLL_ALL_REDUCE, gpus, k, 8);
        ck_assert_double_eq(alone(&net), 1);
    }
    net_free(&net);
}

/* ---- NICs ---- */

TEST(a_ring_fills_the_nics_of_its_nodes)
{
    struct net net = net_of(A100_4);
    uint32_t gpus[32];
    members(&net, 0, 1, 4, 8, gpus);
    run(&net, &ty_coll_ring, TY_COLL_ALL_GATHER, gpus, 4, 8);
    for (uint32_t i = 0; i < net.uses.n; i++) {
        const struct ty_link *link = &net.fabric.links[net.uses.row[i].link];
        if (link->class == TY_LINK_NIC) {
            near(net.uses.row[i].Bps, NIC);
        }
    }
    ck_assert_uint_eq(count(&net, TY_LINK_NIC), 64);
    near(net.weight, 1 / NIC);
    net_free(&net);
}

TEST(members_drive_the_nics_of_their_places)
{
    struct net net = net_of(A100_4);
    const uint32_t third[] = {2, 10, 18, 26};
    run(&net, &ty_coll_ring, TY_COLL_ALL_REDUCE, third, 4, 1);
    ck_assert_uint_eq(count(&net, TY_LINK_NIC), 8);
    near(used(&net, "node 3 nic 2 out"), NIC);
    near(used(&net, "node 0 nic 2 in"), NIC);
    net_free(&net);
    /* two GPUs a NIC; a group that is told to have the node for itself takes all NICs */
    net = net_of("cluster: {preset: dgx-a100-80g, nodes: 4, nics_per_node: 4}\n");
    run(&net, &ty_coll_ring, TY_COLL_ALL_REDUCE, third, 4, 1);
    near(used(&net, "node 3 nic 1 out"), NIC);
    const uint32_t pairs[] = {0, 1, 8, 9};
    run(&net, &ty_coll_ring, TY_COLL_ALL_REDUCE, pairs, 2, 2);
    near(used(&net, "node 1 nic 0 out"), NIC);
    near(used(&net, "node 1 nic 3 out"), NIC / 3);
    net_free(&net);
}

TEST(a_broadcast_enters_all_nodes_but_the_first)
{
    struct net net = net_of(A100_4);
    const uint32_t gpus[] = {0, 8, 16, 24};
    run(&net, &ty_coll_ring, TY_COLL_BROADCAST, gpus, 4, 1);
    near(used(&net, "node 0 nic 0 in"), 0);
    near(used(&net, "node 0 nic 0 out"), (1 << 30) / net.cost.transfer_s);
    near(used(&net, "node 3 nic 0 out"), 0);
    net_free(&net);
}

TEST(chains_of_all_roots_keep_the_whole_ring)
{
    struct net net = net_of(A100_4);
    const uint32_t gpus[] = {0, 1, 8, 9, 16, 17, 24, 25};
    const struct ty_reach reach = {
        .ranks = 8, .nodes = 4, .per_node = 2, .sharing = 1, .root = TY_ROOT_EACH};
    ty_coll_cost(&net.config->cluster, NULL, TY_COLL_BROADCAST, 1 << 30, &reach, &net.cost);
    take(&net, gpus, 8);
    ck_assert_double_eq(alone(&net), 1);
    const double Bps = (1 << 30) / net.cost.transfer_s;
    for (uint32_t node = 0; node < 4; node++) {
        for (uint32_t i = 0; i < 2; i++) { /* a ring leaves by one of two members: the mean */
            char name[TY_LINK_NAME];
            (void)snprintf(name, sizeof(name), "node %u nic %u out", node, i);
            near(used(&net, name), Bps / 2);
            (void)snprintf(name, sizeof(name), "gpu %u nvlink in", 8 * node + i);
            near(used(&net, name), Bps / 2);
        }
    }
    ck_assert_double_eq(net.cost.net_idle, 1.0 / 8); /* one hop of eight is left out */
    ck_assert_double_eq(net.cost.port_idle, 1.0 / 8);
    net_free(&net);
}

TEST(members_may_lie_unevenly)
{
    struct net net = net_of(A100_4);
    const uint32_t gpus[] = {0, 1, 2, 8, 16}; /* three members on node 0 */
    const struct ty_reach reach = {
        .ranks = 5, .nodes = 3, .per_node = 3, .sharing = 1, .fewest = 1};
    ty_coll_cost(&net.config->cluster, &ty_coll_ring, TY_COLL_ALL_REDUCE, 1e9, &reach, &net.cost);
    take(&net, gpus, 5);
    near(used(&net, "node 0 nic 2 out"), NIC / 3); /* a node passes on what enters it */
    near(used(&net, "node 1 nic 0 out"), NIC);
    ck_assert_double_eq(alone(&net), 1);
    ty_coll_cost(&net.config->cluster, &ty_coll_direct, TY_COLL_ALL_TO_ALL, 1e9, &reach, &net.cost);
    take(&net, gpus, 5);
    const double pair = 5 * net.cost.net_B / net.cost.transfer_s / 14; /* 14 pairs cross */
    near(sum(&net, TY_LINK_NIC, "node 0"), 2 * 6 * pair);
    near(used(&net, "node 2 nic 0 in"), 4 * pair);
    ck_assert_double_eq(alone(&net), 1);
    net_free(&net);
}

TEST(who_was_measured_faster_than_the_model_takes_the_whole_port)
{
    struct net net = net_of(A100_4);
    uint32_t gpus[32];
    const uint32_t n = members(&net, 0, 1, 4, 8, gpus);
    run(&net, &ty_coll_ring, TY_COLL_ALL_REDUCE, gpus, 4, 8);
    net.cost.transfer_s /= 3;
    take(&net, gpus, n);
    ck_assert_double_eq(alone(&net), 1);
    near(used(&net, "node 2 nic 6 out"), NIC);
    members(&net, 1, 1, 1, 8, gpus);
    run(&net, &ty_coll_ring, TY_COLL_ALL_REDUCE, gpus, 1, 8);
    net.cost.transfer_s /= 3;
    take(&net, gpus, 8);
    ck_assert_double_eq(alone(&net), 1);
    near(used(&net, "gpu 9 nvlink in"), capacity(&net, "gpu 9 nvlink in"));
    net.cost.transfer_s = 0; /* nothing but latency */
    take(&net, gpus, 8);
    ck_assert_uint_eq(net.uses.n, 0);
    net_free(&net);
}

TEST(pcie_binds_where_it_is_narrower_than_nics)
{
    struct net net = net_of(A100_4 "fabric: {pcie_bandwidth: 36 GB/s, gpus_per_pcie: 2}\n");
    const uint32_t one[] = {0, 8, 16, 24}, two[] = {0, 1, 8, 9, 16, 17, 24, 25};
    run(&net, &ty_coll_ring, TY_COLL_ALL_REDUCE, one, 4, 1);
    ck_assert_double_eq(alone(&net), 1);
    run(&net, &ty_coll_ring, TY_COLL_ALL_REDUCE, two, 4, 2);
    near(used(&net, "node 2 pcie 0 out"), 2 * NIC);
    near(alone(&net), 36e9 / (2 * NIC));
    net_free(&net);
}

TEST(a_sum_in_the_switches_climbs_once_from_each_leaf)
{
    struct net net =
        net_of("cluster: {preset: dgx-h100, nodes: 8, sharp_efficiency: 1.2}\n"
               "fabric: {topology: fat-tree, leaf_ports: 64, oversubscription: 4, pods: 2}\n");
    uint32_t gpus[64];
    members(&net, 0, 1, 8, 8, gpus);
    run(&net, &ty_coll_sharp, TY_COLL_ALL_REDUCE, gpus, 8, 8);
    near(used(&net, "node 5 nic 3 out"), 50e9 * 0.6); /* half of the bus bandwidth */
    near(used(&net, "leaf 1 up"), 8 * 50e9 * 0.6);    /* of four nodes one sum */
    near(used(&net, "pod 0 down"), 8 * 50e9 * 0.6);
    ck_assert_double_eq(alone(&net), 1); /* 32 NICs' worth, a quarter of it there */
    net_free(&net);
}

TEST(sharp_reaches_the_published_bus_bandwidth)
{
    struct net net = net_of("cluster: {preset: dgx-h100, nodes: 4, sharp_efficiency: 1.2}\n");
    uint32_t gpus[32];
    members(&net, 0, 1, 4, 8, gpus);
    run(&net, &ty_coll_sharp, TY_COLL_ALL_REDUCE, gpus, 4, 8);
    const double bus = ty_coll_bus_factor(TY_COLL_ALL_REDUCE, 32) * (1 << 30) / net.cost.transfer_s;
    ck_assert_double_eq_tol(bus, 480e9, 0.05 * 480e9); /* NVIDIA GTC24 S62129 */
    /* "auto" takes it, and leaves it out where switches do not add */
    const struct ty_reach reach = {.ranks = 32, .nodes = 4, .per_node = 8, .sharing = 1};
    ty_coll_cost(&net.config->cluster, NULL, TY_COLL_ALL_REDUCE, 1 << 30, &reach, &net.cost);
    ck_assert_ptr_eq(net.cost.algorithm, &ty_coll_sharp);
    net_free(&net);
    net = net_of("cluster: {preset: dgx-h100, nodes: 4}\n");
    ck_assert(!ty_coll_sharp.applies(&net.config->cluster, TY_COLL_ALL_REDUCE, &reach));
    net_free(&net);
}

TY_SUITE("fabric")
