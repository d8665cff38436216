/* test_coll.c - closed forms equal executed steps, and bytes are conserved.
 *
 * The executor (fabric.h) knows nothing of the closed forms. */
#include <math.h>
#include <string.h>

#include "tests/unit/coll_case.h"
#include "tests/unit/fabric.h"

static bool is_chain(enum ty_coll coll)
{
    return coll == TY_COLL_BROADCAST || coll == TY_COLL_REDUCE;
}

/* ---- closed form against execution ---- */

TEST(ring_time_is_that_of_its_steps)
{
    static const enum ty_coll colls[] = {TY_COLL_ALL_REDUCE, TY_COLL_ALL_GATHER,
                                         TY_COLL_REDUCE_SCATTER, TY_COLL_BROADCAST, TY_COLL_REDUCE};
    static const double sizes[] = {0, 4096, 3e6, 64e6};
    for (size_t i = 0; i < TY_COUNT(shapes) * TY_COUNT(colls) * TY_COUNT(sizes); i++) {
        const uint32_t n = shapes[i % TY_COUNT(shapes)].n, g = shapes[i % TY_COUNT(shapes)].g;
        const enum ty_coll coll = colls[i / TY_COUNT(shapes) % TY_COUNT(colls)];
        const double bytes = sizes[i / TY_COUNT(shapes) / TY_COUNT(colls)];
        const bool reduce = coll == TY_COLL_ALL_REDUCE, one_node = n == g;
        const double factor = reduce && !one_node ? 1.4 : 1;
        struct fabric f;
        struct ty_coll_cost cost;
        fabric_init(&f, n, g);
        f.rate[NVLINK] = node_rate(g);
        f.rate[NET] = g * 25e9 * 0.9;
        if (is_chain(coll) && !one_node) { /* chunks one after another, at the slower */
            f.rate[NVLINK] = f.rate[NET] = fmin(f.rate[NVLINK], f.rate[NET]);
        }
        f.alpha_s[NVLINK] = reduce && one_node ? 3e-6 : factor * 3e-6;
        f.alpha_s[NET] = factor * 14e-6;
        ty_coll_ring.steps(coll, n, g, bytes, play, &f);
        /* All-reduce in a node: 40 us + 6 us per rank, 3 us of it in each of 2(n-1) steps. */
        const double fixed = !one_node ? factor * 8e-6 : reduce ? 46e-6 : 18e-6;
        const double seconds = cost_of(&ty_coll_ring, coll, n, g, bytes, &cost);
        ck_assert_msg(relative(seconds, fixed + f.end_s) < EXACT, "%s n %u g %u %g B: %.9g != %.9g",
                      ty_coll_name(coll), n, g, bytes, seconds, fixed + f.end_s);
    }
}

/* Members on each node of groups that straddle; 0 ends the list. */
static const uint32_t uneven[][5] = {
    {5, 3},    {3, 5},    {1, 2},    {1, 7},       {3, 1},
    {2, 2, 1}, {1, 1, 2}, {8, 8, 4}, {2, 8, 8, 6}, {3, 1, 4},
};

/* The reach of uneven[i], and the node of each rank. */
static struct ty_reach uneven_reach(size_t i, uint32_t *node_of)
{
    struct ty_reach reach = {.sharing = 1, .fewest = UINT32_MAX};
    for (; uneven[i][reach.nodes] > 0; reach.nodes++) {
        const uint32_t g = uneven[i][reach.nodes];
        for (uint32_t k = 0; k < g; k++) {
            node_of[reach.ranks++] = reach.nodes;
        }
        reach.per_node = g > reach.per_node ? g : reach.per_node;
        reach.fewest = g < reach.fewest ? g : reach.fewest;
    }
    return reach;
}

TEST(rings_over_uneven_nodes_take_what_their_steps_take)
{
    static const enum ty_coll colls[] = {TY_COLL_ALL_REDUCE, TY_COLL_ALL_GATHER,
                                         TY_COLL_REDUCE_SCATTER, TY_COLL_BROADCAST};
    static const double sizes[] = {4096, 64e6};
    for (size_t i = 0; i < TY_COUNT(uneven) * TY_COUNT(colls) * TY_COUNT(sizes); i++) {
        const enum ty_coll coll = colls[i / TY_COUNT(uneven) % TY_COUNT(colls)];
        const double bytes = sizes[i / TY_COUNT(uneven) / TY_COUNT(colls)];
        const double factor = coll == TY_COLL_ALL_REDUCE ? 1.4 : 1;
        const struct ty_cluster cluster = ideal(8);
        uint32_t node_of[FABRIC_RANKS];
        const struct ty_reach reach = uneven_reach(i % TY_COUNT(uneven), node_of);
        struct fabric f;
        struct ty_coll_cost cost;
        fabric_init(&f, reach.ranks, 1);
        f.node_of = node_of;
        /* as many NICs as the node with the fewest members has GPUs in the group */
        f.rate[NET] = reach.fewest * 22.5e9;
        f.rate[NVLINK] = ty_coll_in_node_rate(&cluster, &reach);
        if (is_chain(coll)) { /* chunks one after another, at the slower */
            f.rate[NVLINK] = f.rate[NET] = fmin(f.rate[NVLINK], f.rate[NET]);
        }
        f.alpha_s[NVLINK] = factor * 3e-6;
        f.alpha_s[NET] = factor * 14e-6;
        ty_coll_ring.steps(coll, reach.ranks, 1, bytes, play, &f);
        ty_coll_cost(&cluster, &ty_coll_ring, coll, bytes, &reach, &cost);
        const double expected = factor * 8e-6 + f.end_s;
        /* Latency is exact; where bytes count, hops between crossings are those of the fullest
         * node. */
        const double allowed = bytes > 1e6 && !is_chain(coll) ? 0.01 : EXACT;
        ck_assert_msg(relative(ty_coll_seconds(&cost), expected) < allowed,
                      "%s %zu %g B: %.9g != %.9g", ty_coll_name(coll), i % TY_COUNT(uneven), bytes,
                      ty_coll_seconds(&cost), expected);
        ck_assert_double_lt(relative(cost.net_B * reach.ranks, f.carried[NET]), EXACT);
        ck_assert_double_lt(fabs(cost.nvlink_B * reach.ranks - f.carried[NVLINK]),
                            EXACT * bytes * 8);
    }
}

/* Every pair of members exchanges S/n; a node's NICs are those of its members. */
TEST(all_to_all_over_uneven_nodes_waits_for_the_slowest_node)
{
    for (size_t i = 0; i < TY_COUNT(uneven); i++) {
        const struct ty_cluster cluster = ideal(8);
        uint32_t node_of[FABRIC_RANKS];
        const struct ty_reach reach = uneven_reach(i, node_of);
        const double n = reach.ranks, bytes = 64e6;
        struct ty_coll_cost cost;
        double nvlink_B = 0, net_s = 0, nvlink_s = 0;
        bool two_sizes = true;
        for (uint32_t k = 0; k < reach.nodes; k++) {
            const double g = uneven[i][k];
            nvlink_B += g * (g - 1) / n * bytes;
            net_s = fmax(net_s, g * (n - g) / n * bytes / (g * 22.5e9));
            if (g > 1) {
                const double rate = 0.9 * ty_coll_nvlink_rate(&cluster, uneven[i][k], 0);
                nvlink_s = fmax(nvlink_s, (g - 1) / n * bytes / rate);
            }
            two_sizes =
                two_sizes && (uneven[i][k] == reach.per_node || uneven[i][k] == reach.fewest);
        }
        ty_coll_cost(&cluster, NULL, TY_COLL_ALL_TO_ALL, bytes, &reach, &cost);
        ck_assert_double_lt(relative(cost.transfer_s, nvlink_s + net_s), EXACT);
        ck_assert_double_lt(relative((cost.nvlink_B + cost.net_B) * n, (n - 1) * bytes), EXACT);
        if (two_sizes) {
            ck_assert_double_lt(relative(cost.nvlink_B * n, nvlink_B), EXACT);
        }
    }
}

TEST(the_poorest_node_decides_between_nodes)
{
    static const struct {
        uint32_t nics, per_node, fewest, sharing;
        double n_nics;
    } rows[] = {
        {8, 5, 3, 1, 3}, {8, 5, 5, 2, 5}, /* beside a group of 3: each GPU its own NIC */
        {8, 7, 1, 1, 1}, {16, 5, 3, 1, 6}, {4, 5, 3, 1, 3},
        {4, 6, 6, 2, 2}, {2, 5, 3, 1, 2},  {1, 5, 3, 2, 0.5},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct ty_cluster cluster = ideal(8);
        const struct ty_reach reach = {.ranks = rows[i].per_node + rows[i].fewest,
                                       .nodes = 2,
                                       .per_node = rows[i].per_node,
                                       .sharing = rows[i].sharing,
                                       .fewest = rows[i].fewest};
        struct ty_coll_cost tree, even;
        struct ty_reach smaller = reach;
        cluster.net.nics = rows[i].nics;
        const double rate = ty_coll_net_rate(&cluster, &reach);
        ck_assert_msg(relative(rate, rows[i].n_nics * 22.5e9) < EXACT, "row %zu: %g", i, rate);
        /* a tree takes the time of one over nodes that are all like the poorest, but for its
         * longer chain */
        smaller.per_node = rows[i].fewest;
        smaller.ranks = 2 * rows[i].fewest;
        ty_coll_cost(&cluster, &ty_coll_tree, TY_COLL_ALL_REDUCE, 64e6, &reach, &tree);
        ty_coll_cost(&cluster, &ty_coll_tree, TY_COLL_ALL_REDUCE, 64e6, &smaller, &even);
        ck_assert_double_eq(tree.transfer_s, even.transfer_s);
        const double longer = 2 * (rows[i].per_node - rows[i].fewest) * cluster.nvlink.tree_step;
        ck_assert_double_eq_tol(tree.latency_s - even.latency_s, longer, 1e-15);
    }
}

TEST(all_reduce_in_a_node_has_the_measured_latency)
{
    for (uint32_t n = 2; n <= 8; n++) {
        const struct ty_cluster cluster = ideal(8);
        const struct ty_reach reach = {.ranks = n, .nodes = 1, .per_node = n, .sharing = 1};
        struct ty_coll_cost cost;
        ty_coll_cost(&cluster, NULL, TY_COLL_ALL_REDUCE, 0, &reach, &cost);
        ck_assert_double_eq_tol(cost.latency_s, 40e-6 + n * 6e-6, 1e-15);
    }
}

TEST(hierarchical_time_is_that_of_its_steps)
{
    static const double sizes[] = {0, 1e5, 64e6};
    for (size_t i = 0; i < TY_COUNT(shapes) * TY_COUNT(sizes); i++) {
        const uint32_t n = shapes[i % TY_COUNT(shapes)].n, g = shapes[i % TY_COUNT(shapes)].g;
        const double bytes = sizes[i / TY_COUNT(shapes)];
        if (g == 1 || n == g) {
            continue;
        }
        struct fabric f;
        struct ty_coll_cost cost;
        fabric_init(&f, n, g);
        f.rate[NVLINK] = node_rate(g);
        f.rate[NET] = 25e9 * 0.9;
        f.alpha_s[NVLINK] = 3e-6;
        f.alpha_s[NET] = 1.4 * 14e-6;
        const uint32_t n_steps =
            ty_coll_hierarchical.steps(TY_COLL_ALL_REDUCE, n, g, bytes, play, &f);
        ck_assert_uint_eq(n_steps, 2 * (g - 1) + 2 * (n / g - 1));
        const double fixed = 2 * 18e-6 + 1.4 * 8e-6;
        const double seconds =
            cost_of(&ty_coll_hierarchical, TY_COLL_ALL_REDUCE, n, g, bytes, &cost);
        ck_assert_msg(relative(seconds, fixed + f.end_s) < EXACT, "n %u g %u %g B: %.9g != %.9g", n,
                      g, bytes, seconds, fixed + f.end_s);
    }
}

TEST(pat_takes_as_many_rounds_as_the_logarithm_of_its_ranks)
{
    static const uint32_t ranks[] = {2, 3, 8, 13, 64}, rounds[] = {1, 2, 3, 4, 6};
    for (size_t i = 0; i < 2 * TY_COUNT(ranks); i++) {
        const uint32_t n = ranks[i / 2];
        const enum ty_coll coll = i % 2 == 0 ? TY_COLL_ALL_GATHER : TY_COLL_REDUCE_SCATTER;
        const struct ty_cluster cluster = ideal(1);
        const double bytes = 64e6, rate = 25e9 * 0.9;
        struct ty_coll_cost cost;
        struct fabric f;
        fabric_init(&f, n, 1);
        f.rate[NVLINK] = f.rate[NET] = rate;
        f.alpha_s[NET] = 14e-6;
        ck_assert_uint_eq(ty_coll_pat.steps(coll, n, 1, bytes, play, &f), rounds[i / 2]);
        cost_of(&ty_coll_pat, coll, n, 1, bytes, &cost);
        ck_assert_double_eq_tol(cost.transfer_s, (n - 1) * bytes / n / rate, EXACT);
        ck_assert_double_eq_tol(ty_coll_seconds(&cost), f.end_s + cluster.net.latency, EXACT);
        for (uint32_t r = 0; r < n; r++) {
            ck_assert_double_eq_tol(f.received[r], (n - 1) * bytes / n, EXACT * bytes);
        }
    }
}

TEST(all_to_all_time_is_that_of_its_steps)
{
    static const double sizes[] = {0, 1e5, 64e6};
    for (size_t i = 0; i < TY_COUNT(shapes) * TY_COUNT(sizes); i++) {
        const uint32_t n = shapes[i % TY_COUNT(shapes)].n, g = shapes[i % TY_COUNT(shapes)].g;
        const double bytes = sizes[i / TY_COUNT(shapes)];
        struct fabric f;
        struct ty_coll_cost cost;
        fabric_init(&f, n, g);
        f.rate[NVLINK] = 0.9 * node_rate(g);
        f.rate[NET] = 25e9 * 0.9;
        f.alpha_s[NVLINK] = 3e-6;
        f.alpha_s[NET] = 14e-6;
        ck_assert_uint_eq(ty_coll_direct.steps(TY_COLL_ALL_TO_ALL, n, g, bytes, play, &f), n / g);
        const double fixed = n == g ? 18e-6 : 8e-6;
        const double seconds = cost_of(&ty_coll_direct, TY_COLL_ALL_TO_ALL, n, g, bytes, &cost);
        ck_assert_msg(relative(seconds, fixed + f.end_s) < EXACT, "n %u g %u %g B: %.9g != %.9g", n,
                      g, bytes, seconds, fixed + f.end_s);
    }
}

TEST(a_shift_takes_what_its_messages_take)
{
    for (size_t i = 0; i < TY_COUNT(shapes); i++) {
        const uint32_t n = shapes[i].n, g = shapes[i].g;
        const double bytes = 512e6; /* all channels in a node: from 256 MiB on */
        struct fabric f;
        struct ty_coll_cost cost;
        fabric_init(&f, n, g);
        f.rate[NVLINK] = 0.7 * 300e9;
        f.rate[NET] = 0.8 * 25e9;
        f.alpha_s[NVLINK] = 8e-6;
        f.alpha_s[NET] = 12e-6;
        ck_assert_uint_eq(ty_coll_direct.steps(TY_COLL_SEND_RECV, n, g, bytes, play, &f), 1);
        const double seconds = cost_of(&ty_coll_direct, TY_COLL_SEND_RECV, n, g, bytes, &cost);
        ck_assert_msg(relative(seconds, f.end_s) < EXACT, "n %u g %u: %g != %g", n, g, seconds,
                      f.end_s);
        ck_assert_int_eq(cost.pattern, TY_PATTERN_RING);
    }
    /* eight groups leave a node of two NICs: a quarter of one each */
    struct ty_cluster cluster = ideal(8);
    const struct ty_reach reach = {.ranks = 4, .nodes = 4, .per_node = 1, .sharing = 8};
    struct ty_coll_cost cost;
    cluster.net.nics = 2;
    ty_coll_cost(&cluster, NULL, TY_COLL_SEND_RECV, 1e9, &reach, &cost);
    ck_assert_double_eq_tol(cost.transfer_s, 1e9 / (0.9 * 25e9 / 4), EXACT);
}

/* 8 H100 that all send to the next, nccl-tests 2.29 (xxrjun/nccl-tests-cluster): 80 GB/s at 32 and
 * 64 MiB, 162 at 128, 300 at 256, 355 from 512 MiB on. Four have twice the channels each. */
TEST(a_message_in_a_node_has_more_channels_the_longer_it_is)
{
    static const struct {
        uint32_t n, mib;
        double share; /* of the rate of large messages */
    } rows[] = {{8, 64, 0.25}, {8, 128, 0.5}, {8, 256, 1},      {4, 128, 0.5}, {4, 129, 1},
                {3, 64, 0.5},  {2, 64, 1},    {64, 16, 0.0625}, {64, 1024, 1}};
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const struct ty_cluster cluster = ideal(rows[i].n);
        const struct ty_reach reach = reach_of(rows[i].n, rows[i].n);
        const double bytes = rows[i].mib * 1048576.0;
        struct ty_coll_cost cost;
        ty_coll_shift_cost(&cluster, bytes, &reach, &cost);
        ck_assert_double_lt(relative(cost.transfer_s, bytes / (rows[i].share * 0.7 * 300e9)),
                            EXACT);
    }
}

/* Exact where the tree is full: nodes a power of two. Else some path is shorter than the depth. */
TEST(tree_latency_is_that_of_its_steps)
{
    for (size_t i = 0; i < TY_COUNT(shapes); i++) {
        const uint32_t n = shapes[i].n, g = shapes[i].g, k = n / g;
        struct fabric f;
        struct ty_coll_cost cost;
        if (k == 1) {
            continue;
        }
        fabric_init(&f, n, g);
        f.rate[NVLINK] = f.rate[NET] = (double)INFINITY;
        f.alpha_s[NVLINK] = 4e-6;
        f.alpha_s[NET] = 15e-6;
        ty_coll_tree.steps(TY_COLL_ALL_REDUCE, n, g, 1, play, &f);
        cost_of(&ty_coll_tree, TY_COLL_ALL_REDUCE, n, g, 1, &cost);
        if ((k & (k - 1)) == 0) {
            ck_assert_msg(relative(cost.latency_s, 8e-6 + f.end_s) < EXACT, "n %u g %u", n, g);
        } else {
            ck_assert_double_gt(cost.latency_s, 8e-6 + f.end_s);
        }
    }
}

/* The closed form pipelines chunks through two trees; the steps send the whole through one. */
TEST(tree_transfer_is_pipelined)
{
    for (size_t i = 0; i < TY_COUNT(shapes); i++) {
        const uint32_t n = shapes[i].n, g = shapes[i].g, k = n / g;
        const double bytes = 1e9, net = g * 25e9 * 0.9 * 0.9; /* NCCL: 0.9 filled at that size */
        struct fabric f;
        struct ty_coll_cost cost;
        if (k == 1) {
            continue;
        }
        fabric_init(&f, n, g);
        f.rate[NVLINK] = 0.92 * 0.9 * node_rate(g);
        f.rate[NET] = 0.92 * net;
        ty_coll_tree.steps(TY_COLL_ALL_REDUCE, n, g, bytes, play, &f);
        cost_of(&ty_coll_tree, TY_COLL_ALL_REDUCE, n, g, bytes, &cost);
        const double net_s = (k == 2 ? 1 : 2) * bytes / (0.92 * net);
        const double nvlink_s = 2 * bytes / (0.92 * 0.9 * node_rate(g));
        ck_assert_msg(relative(cost.transfer_s, fmax(net_s, nvlink_s)) < EXACT, "n %u g %u", n, g);
        ck_assert_double_le(cost.transfer_s, f.end_s * (1 + EXACT));
    }
}

TEST(phases_hide_as_far_as_the_overlap_says)
{
    static const double overlaps[] = {0, 0.5, 1};
    double seconds[TY_COUNT(overlaps)];
    for (size_t i = 0; i < TY_COUNT(overlaps); i++) {
        struct ty_cluster cluster = ideal(8);
        const struct ty_reach reach = reach_of(32, 8);
        struct ty_coll_cost cost;
        cluster.collectives.phase_overlap = overlaps[i];
        ty_coll_cost(&cluster, &ty_coll_hierarchical, TY_COLL_ALL_REDUCE, 1e9, &reach, &cost);
        seconds[i] = cost.transfer_s;
    }
    const double net = 2 * 3 / 4.0 * 1e9 / (8 * 22.5e9), nvlink = 7 / 8.0 * 1e9 / 240e9;
    ck_assert_double_eq_tol(seconds[0], net + 2 * nvlink, 1e-12);
    ck_assert_double_eq_tol(seconds[1], net + nvlink, 1e-12);
    ck_assert_double_eq_tol(seconds[2], net, 1e-12);
}

/* ---- bytes ---- */

static const struct {
    const struct ty_coll_algorithm *algorithm;
    enum ty_coll coll;
} expansions[] = {
    {&ty_coll_ring, TY_COLL_ALL_REDUCE},
    {&ty_coll_ring, TY_COLL_ALL_GATHER},
    {&ty_coll_ring, TY_COLL_REDUCE_SCATTER},
    {&ty_coll_ring, TY_COLL_BROADCAST},
    {&ty_coll_ring, TY_COLL_REDUCE},
    {&ty_coll_tree, TY_COLL_ALL_REDUCE},
    {&ty_coll_hierarchical, TY_COLL_ALL_REDUCE},
    {&ty_coll_pat, TY_COLL_ALL_GATHER},
    {&ty_coll_pat, TY_COLL_REDUCE_SCATTER},
    {&ty_coll_direct, TY_COLL_ALL_TO_ALL},
    {&ty_coll_direct, TY_COLL_SEND_RECV},
};

/* Sum of what all ranks must receive, whatever the algorithm, in units of S: a tree and a chain
 * move the whole along n-1 links (once or twice), the others nccl-tests' share to each rank. */
static double textbook_volume(const struct ty_coll_algorithm *algorithm, enum ty_coll coll,
                              uint32_t n)
{
    if (is_chain(coll)) {
        return n - 1;
    }
    return algorithm == &ty_coll_tree ? 2 * (n - 1) : n * ty_coll_bus_factor(coll, n);
}

TEST(bytes_are_conserved_and_booked_by_link)
{
    const double bytes = 48e6;
    for (size_t i = 0; i < TY_COUNT(shapes) * TY_COUNT(expansions); i++) {
        const uint32_t n = shapes[i % TY_COUNT(shapes)].n, g = shapes[i % TY_COUNT(shapes)].g;
        const struct ty_coll_algorithm *algorithm = expansions[i / TY_COUNT(shapes)].algorithm;
        const enum ty_coll coll = expansions[i / TY_COUNT(shapes)].coll;
        const struct ty_cluster cluster = ideal(g);
        const struct ty_reach reach = reach_of(n, g);
        struct fabric f;
        struct ty_coll_cost cost;
        double sent = 0, received = 0;
        if (!algorithm->applies(&cluster, coll, &reach)) {
            continue;
        }
        fabric_init(&f, n, g);
        f.rate[NVLINK] = f.rate[NET] = 1;
        algorithm->steps(coll, n, g, bytes, play, &f);
        cost_of(algorithm, coll, n, g, bytes, &cost);
        for (uint32_t r = 0; r < n; r++) {
            sent += f.sent[r];
            received += f.received[r];
        }
        const double volume = textbook_volume(algorithm, coll, n) * bytes;
        ck_assert_msg(relative(sent, volume) < EXACT, "%s %s n %u g %u: %g of %g", algorithm->name,
                      ty_coll_name(coll), n, g, sent, volume);
        ck_assert_double_eq_tol(received, sent, EXACT * sent);
        ck_assert_double_eq_tol(n * cost.nvlink_B, f.carried[NVLINK], EXACT * volume);
        ck_assert_double_eq_tol(n * cost.net_B, f.carried[NET], EXACT * volume);
    }
}

TEST(every_rank_receives_its_share)
{
    const double bytes = 48e6;
    for (size_t i = 0; i < TY_COUNT(shapes); i++) {
        const uint32_t n = shapes[i].n, g = shapes[i].g;
        static const enum ty_coll colls[] = {TY_COLL_ALL_REDUCE,     TY_COLL_ALL_GATHER,
                                             TY_COLL_REDUCE_SCATTER, TY_COLL_ALL_TO_ALL,
                                             TY_COLL_BROADCAST,      TY_COLL_REDUCE};
        for (size_t j = 0; j < TY_COUNT(colls); j++) {
            const enum ty_coll coll = colls[j];
            struct fabric f;
            fabric_init(&f, n, g);
            f.rate[NVLINK] = f.rate[NET] = 1;
            (coll == TY_COLL_ALL_TO_ALL ? ty_coll_direct : ty_coll_ring)
                .steps(coll, n, g, bytes, play, &f);
            for (uint32_t r = 0; r < n; r++) {
                /* of a chain: all but the one where it begins */
                const bool first = is_chain(coll) && r == (coll == TY_COLL_REDUCE ? 1 : 0);
                const double share = first ? 0 : ty_coll_bus_factor(coll, n) * bytes;
                if (fabs(f.received[r] - share) > EXACT * bytes) {
                    ck_abort_msg("%s rank %u of %u: %g", ty_coll_name(coll), r, n, f.received[r]);
                }
            }
        }
    }
}

TY_SUITE("coll")
