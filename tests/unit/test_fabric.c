/* test_fabric.c - the links of clusters, and what collectives and messages take of them.
 *
 * Expected rates are worked out by hand from sizes of nodes, leaves and groups; that nothing asks
 * for more than a link has, and that what leaves also arrives, is demanded of every algorithm. */
#include "topology/fabric.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/run/config.h"
#include "sim/trainyard.h"
#include "topology/exceptions.h"

#include "tests/unit/suite.h"

#define NIC    (25e9 * 0.96) /* B/s of a DGX A100's NIC, as a collective gets it */
#define GPUS   1024u
#define EXACT  1e-12
#define A100_4 "cluster: {preset: dgx-a100-80g, nodes: 4}\n"
#define A100_8 "cluster: {preset: dgx-a100-80g, nodes: 8}\n"

struct net {
    struct ty_config *config;
    struct ty_fabric fabric;
    struct ty_arena arena;
    struct ty_use_list uses;
    struct ty_coll_cost cost;
    double weight;
};

static struct net net_of(const char *text)
{
    struct net net = {.weight = 0};
    struct ty_err *err = ty_err_new();
    char path[] = "/tmp/trainyard-fabric-XXXXXX";
    const int fd = mkstemp(path);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    ck_assert_ptr_nonnull(file);
    fprintf(file, "%smodel: {preset: llama-7b, dtype: fp16}\nlayout: {global_batch: 5760}\n", text);
    fclose(file);
    ck_assert_msg(ty_config_load(&net.config, path, NULL, 0, err) == 0, "%s", ty_err_text(err));
    ck_assert_int_eq(
        ty_fabric_build(&net.fabric, &net.config->cluster, &net.config->fabric, &net.arena, err),
        0);
    unlink(path);
    ty_err_free(err);
    return net;
}

static void net_free(struct net *net)
{
    ty_arena_release(&net->arena);
    ty_config_free(net->config);
}

/* Of nodes first, first + step, ...: places 0 to g - 1 in each. */
static uint32_t members(const struct net *net, uint32_t first, uint32_t step, uint32_t k,
                        uint32_t g, uint32_t *gpus)
{
    for (uint32_t i = 0; i < k * g; i++) {
        gpus[i] = (first + i / g * step) * net->config->cluster.gpus_per_node + i % g;
    }
    return k * g;
}

static void take(struct net *net, const uint32_t *gpus, uint32_t n)
{
    struct ty_err *err = ty_err_new();
    ck_assert_int_eq(ty_fabric_collective(&net->fabric, &net->cost, gpus, n, &net->uses,
                                          &net->weight, &net->arena, err),
                     0);
    ty_err_free(err);
}

/* Works out an all-reduce or the like of 1 GiB over a group that has its nodes for itself. */
static void run(struct net *net, const struct ty_coll_algorithm *algorithm, enum ty_coll coll,
                const uint32_t *gpus, uint32_t k, uint32_t g)
{
    const struct ty_reach reach = {.ranks = k * g, .nodes = k, .per_node = g, .sharing = 1};
    ty_coll_cost(&net->config->cluster, algorithm, coll, 1 << 30, &reach, &net->cost);
    ck_assert_ptr_eq(net->cost.algorithm, algorithm);
    take(net, gpus, k * g);
}

static void message(struct net *net, uint32_t from, uint32_t to)
{
    struct ty_err *err = ty_err_new();
    const uint32_t gpus = net->config->cluster.gpus_per_node;
    ty_p2p_cost(&net->config->cluster, from / gpus == to / gpus, 1 << 20, &net->cost);
    ck_assert_int_eq(ty_fabric_message(&net->fabric, &net->cost, from, to, &net->uses, &net->weight,
                                       &net->arena, err),
                     0);
    ty_err_free(err);
}

static double used(const struct net *net, const char *name)
{
    for (uint32_t i = 0; i < net->uses.n; i++) {
        if (strcmp(net->fabric.links[net->uses.row[i].link].name, name) == 0) {
            return net->uses.row[i].Bps;
        }
    }
    return 0;
}

static double capacity(const struct net *net, const char *name)
{
    for (uint32_t i = 0; i < net->fabric.n_links; i++) {
        if (strcmp(net->fabric.links[i].name, name) == 0) {
            return net->fabric.links[i].capacity;
        }
    }
    ck_abort_msg("no link %s", name);
}

/* Of all links of a class whose name ends or does not end so. */
static double sum(const struct net *net, enum ty_link_class class, const char *word)
{
    double Bps = 0;
    for (uint32_t i = 0; i < net->uses.n; i++) {
        const struct ty_link *link = &net->fabric.links[net->uses.row[i].link];
        Bps += link->class == class && strstr(link->name, word) != NULL ? net->uses.row[i].Bps : 0;
    }
    return Bps;
}

/* How many links of a class are used. */
static uint32_t count(const struct net *net, enum ty_link_class class)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < net->uses.n; i++) {
        n += net->fabric.links[net->uses.row[i].link].class == class;
    }
    return n;
}

/* The share of its full speed at which the flow runs alone. */
static double alone(const struct net *net)
{
    double speed = 1;
    for (uint32_t i = 0; i < net->uses.n; i++) {
        const struct ty_use *use = &net->uses.row[i];
        speed = fmin(speed, net->fabric.links[use->link].capacity / use->Bps);
    }
    return speed;
}

static void near(double got, double want)
{
    ck_assert_msg(fabs(got - want) <= EXACT * fabs(want), "%.15g, not %.15g", got, want);
}

/* ---- links ---- */

START_TEST(links_are_ports_and_nics_in_both_directions)
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
         300e9 * fmax(net.config->cluster.nvlink_efficiency,
                      net.config->cluster.nvlink_p2p_efficiency));
    net_free(&net);
}
END_TEST

START_TEST(one_node_has_no_network)
{
    struct net net = net_of("cluster: {preset: dgx-a100-80g, nodes: 1}\n");
    ck_assert_uint_eq(net.fabric.n_links, 16);
    net_free(&net);
}
END_TEST

START_TEST(leafs_and_pods_have_their_share_of_uplinks)
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
END_TEST

START_TEST(ecmp_has_a_link_for_each_spine)
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
END_TEST

/* ---- every algorithm ---- */

static void whole(struct net *net, const uint32_t *gpus, uint32_t k, uint32_t g, const char *what)
{
    static const enum ty_coll colls[] = {TY_COLL_ALL_REDUCE, TY_COLL_ALL_GATHER, TY_COLL_BROADCAST,
                                         TY_COLL_ALL_TO_ALL};
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
                     net->cost.nvlink_B * k * g / net->cost.transfer_s);
            }
            near(sum(net, TY_LINK_LEAF, "up"), sum(net, TY_LINK_LEAF, "down"));
            ck_assert_double_gt(net->weight, 0);
            for (uint32_t r = 1; r < net->uses.n; r++) {
                ck_assert_uint_lt(net->uses.row[r - 1].link, net->uses.row[r].link);
            }
        }
    }
}

START_TEST(no_collective_alone_asks_for_more_than_links_have)
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
END_TEST

START_TEST(double_trees_load_every_node_within_its_nics)
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
END_TEST

/* ---- NICs ---- */

START_TEST(a_ring_fills_the_nics_of_its_nodes)
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
END_TEST

START_TEST(members_drive_the_nics_of_their_places)
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
END_TEST

START_TEST(a_broadcast_enters_all_nodes_but_the_first)
{
    struct net net = net_of(A100_4);
    const uint32_t gpus[] = {0, 8, 16, 24};
    run(&net, &ty_coll_ring, TY_COLL_BROADCAST, gpus, 4, 1);
    near(used(&net, "node 0 nic 0 in"), 0);
    near(used(&net, "node 0 nic 0 out"), (1 << 30) / net.cost.transfer_s);
    near(used(&net, "node 3 nic 0 out"), 0);
    net_free(&net);
}
END_TEST

START_TEST(members_may_lie_unevenly)
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
END_TEST

START_TEST(who_was_measured_faster_than_the_model_takes_the_whole_port)
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
END_TEST

START_TEST(pcie_binds_where_it_is_narrower_than_nics)
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
END_TEST

/* ---- uplinks ---- */

START_TEST(oversubscription_slows_only_groups_that_cross_leaves)
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
END_TEST

START_TEST(all_to_alls_send_up_what_is_for_other_leaves)
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
END_TEST

START_TEST(rails_keep_rings_apart)
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
END_TEST

START_TEST(a_hash_fixes_the_spine_of_each_queue_pair)
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
END_TEST

START_TEST(a_sum_in_the_switches_climbs_once_from_each_leaf)
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
END_TEST

START_TEST(sharp_reaches_the_published_bus_bandwidth)
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
END_TEST

/* ---- messages ---- */

START_TEST(a_message_takes_a_port_or_a_nic_at_either_end)
{
    struct net net = net_of(A100_4);
    message(&net, 9, 14);
    ck_assert_uint_eq(net.uses.n, 2);
    near(used(&net, "gpu 9 nvlink out"), 300e9 * net.config->cluster.nvlink_p2p_efficiency);
    near(used(&net, "gpu 14 nvlink in"), used(&net, "gpu 9 nvlink out"));
    message(&net, 9, 30);
    ck_assert_uint_eq(net.uses.n, 2);
    near(used(&net, "node 1 nic 1 out"), 25e9 * net.config->cluster.net_p2p_efficiency);
    near(used(&net, "node 3 nic 6 in"), used(&net, "node 1 nic 1 out"));
    near(net.weight, 1 / used(&net, "node 1 nic 1 out"));
    message(&net, 9, 9);
    ck_assert_uint_eq(net.uses.n, 0);
    net_free(&net);
}
END_TEST

START_TEST(a_message_leaves_on_the_rail_of_its_destination)
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
END_TEST

START_TEST(all_to_alls_on_rails_pass_over_nvlink_first)
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
END_TEST

/* ---- domains larger than a node ---- */

START_TEST(an_nvlink_domain_is_as_large_as_the_cluster_says)
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
END_TEST

/* ---- exceptions ---- */

START_TEST(a_node_with_half_the_nics_sends_everything_through_them)
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
END_TEST

START_TEST(a_worse_nic_slows_who_goes_through_it)
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
END_TEST

START_TEST(a_worse_leaf_slows_who_leaves_it)
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
END_TEST

START_TEST(messages_go_around_dead_nics)
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
END_TEST

TY_SUITE(
    "fabric", links_are_ports_and_nics_in_both_directions, one_node_has_no_network,
    leafs_and_pods_have_their_share_of_uplinks, ecmp_has_a_link_for_each_spine,
    no_collective_alone_asks_for_more_than_links_have, double_trees_load_every_node_within_its_nics,
    a_ring_fills_the_nics_of_its_nodes, members_drive_the_nics_of_their_places,
    a_broadcast_enters_all_nodes_but_the_first, members_may_lie_unevenly,
    who_was_measured_faster_than_the_model_takes_the_whole_port,
    pcie_binds_where_it_is_narrower_than_nics, oversubscription_slows_only_groups_that_cross_leaves,
    all_to_alls_send_up_what_is_for_other_leaves, rails_keep_rings_apart,
    a_hash_fixes_the_spine_of_each_queue_pair, a_sum_in_the_switches_climbs_once_from_each_leaf,
    sharp_reaches_the_published_bus_bandwidth, a_message_takes_a_port_or_a_nic_at_either_end,
    a_message_leaves_on_the_rail_of_its_destination, all_to_alls_on_rails_pass_over_nvlink_first,
    an_nvlink_domain_is_as_large_as_the_cluster_says,
    a_node_with_half_the_nics_sends_everything_through_them, a_worse_nic_slows_who_goes_through_it,
    a_worse_leaf_slows_who_leaves_it, messages_go_around_dead_nics)
