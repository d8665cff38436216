/* test_exchange.c - copies of tokens, and what a dispatch or a combine moves and takes. */
#include "topology/collectives/exchange.h"

#include <math.h>

#include "sim/base/noise.h"

#include "tests/unit/cluster_preset.h"
#include "tests/unit/coll_case.h"

/* DeepSeek-V3: 8 of 256 experts, of 4 of 8 groups; 4096 tokens of 7168 numbers in 16 bits. */
static const struct ty_exchange v3 = {.method = TY_EXCHANGE_PER_NODE,
                                      .tokens = 4096,
                                      .row_B = 7168 * 2,
                                      .experts = 256,
                                      .top_k = 8,
                                      .groups = 8,
                                      .group_limit = 4};

static struct ty_exchange routing(uint32_t experts, uint32_t top_k, uint32_t groups, uint32_t limit)
{
    return (struct ty_exchange){
        .experts = experts, .top_k = top_k, .groups = groups, .group_limit = limit};
}

/* Copies to other parts than the sender's, of which each is one as often. */
static double others(const struct ty_exchange *x, uint32_t parts)
{
    return ty_exchange_copies(x, parts) * (parts - 1) / parts;
}

/* ---- copies ---- */

TEST(copies_are_those_of_published_routings)
{
    const struct ty_exchange free8 = routing(256, 8, 0, 0), e128 = routing(128, 8, 0, 0);
    const struct ty_exchange v2 = routing(160, 6, 8, 3), v2_free = routing(160, 6, 8, 8);
    const struct {
        const struct ty_exchange *x;
        uint32_t parts;
        double copies, off;
        bool others;
    } rows[] = {
        {&free8, 8, 5.2947, 5e-5, false}, {&v3, 2, 0.963, 5e-4, true},
        {&v3, 4, 2.196, 5e-4, true},      {&v3, 8, 3.175, 5e-4, true},
        {&v3, 8, 3.63, 5e-3, false},      {&v3, 16, 5.34, 5e-3, false},
        {&v3, 32, 6.60, 5e-3, false},     {&v3, 64, 7.36, 5e-3, false},
        {&free8, 2, 0.997, 1e-3, true},   {&free8, 4, 2.71, 1e-2, true},
        {&free8, 8, 4.63, 1e-2, true},    {&e128, 4, 2.72, 1e-2, true},
        {&e128, 8, 4.67, 1e-2, true},     {&v2, 8, 2.43, 1e-2, true},
        {&v2_free, 8, 3.90, 1e-2, true},  {&v3, 1, 1, 1e-12, false},
        {&v3, 256, 8, 1e-12, false},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const double copies = rows[i].others ? others(rows[i].x, rows[i].parts)
                                             : ty_exchange_copies(rows[i].x, rows[i].parts);
        ck_assert_msg(fabs(copies - rows[i].copies) < rows[i].off, "row %zu: %.5f", i, copies);
    }
}

/* Draws `k` of list[n] by putting them first. */
static void draw(uint32_t *list, uint32_t n, uint32_t k, uint64_t *seed)
{
    for (uint32_t i = 0; i < k; i++) {
        *seed = ty_hash4(*seed, i, n, 0);
        const uint32_t j = i + (uint32_t)(*seed % (n - i));
        const uint32_t swap = list[i];
        list[i] = list[j];
        list[j] = swap;
    }
}

static uint32_t part_of(uint32_t expert, uint32_t experts, uint32_t parts)
{
    uint32_t part = 0;
    while ((uint64_t)experts * (part + 1) / parts <= expert) {
        part++;
    }
    return part;
}

/* Mean number of distinct parts of so many tokens, each routed, and the error of that mean. */
static double drawn(const struct ty_exchange *x, uint32_t parts, uint32_t tokens, double *error)
{
    uint32_t group[64], expert[512];
    uint64_t seed = 1;
    double sum = 0, squares = 0;
    const uint32_t n_groups = x->groups > 0 ? x->groups : 1, size = x->experts / n_groups;
    const uint32_t limit = x->groups > 0 ? x->group_limit : 1;
    for (uint32_t t = 0; t < tokens; t++) {
        bool seen[512] = {false};
        for (uint32_t i = 0; i < n_groups; i++) {
            group[i] = i;
        }
        draw(group, n_groups, limit, &seed);
        for (uint32_t i = 0; i < limit * size; i++) {
            expert[i] = group[i / size] * size + i % size;
        }
        draw(expert, limit * size, x->top_k, &seed);
        double n = 0;
        for (uint32_t i = 0; i < x->top_k; i++) {
            const uint32_t part = part_of(expert[i], x->experts, parts);
            n += !seen[part];
            seen[part] = true;
        }
        sum += n;
        squares += n * n;
    }
    *error = sqrt((squares - sum * sum / tokens) / tokens / tokens);
    return sum / tokens;
}

TEST(copies_are_what_a_router_that_draws_makes)
{
    const struct ty_exchange rows[] = {
        v3,
        routing(256, 8, 0, 0),
        routing(160, 6, 8, 3),
        routing(48, 5, 6, 2),
        routing(96, 4, 3, 1), /* groups that no number of nodes divides into */
        routing(60, 7, 5, 3),
    };
    const uint32_t parts[] = {2, 3, 4, 6, 7, 8, 10, 16, 24};
    const uint32_t tokens = 20000;
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        for (size_t p = 0; p < TY_COUNT(parts); p++) {
            double error;
            const double exact = ty_exchange_copies(&rows[i], parts[p]);
            const double off = drawn(&rows[i], parts[p], tokens, &error) - exact;
            ck_assert_msg(fabs(off) <= 4.5 * error, "routing %zu on %u parts: %.5f, off %.5f", i,
                          (unsigned)parts[p], exact, off);
        }
    }
}

/* ---- bytes ---- */

static struct ty_coll_cost cost_on(const struct ty_cluster *cluster, const struct ty_exchange *x,
                                   uint32_t n, uint32_t g)
{
    const struct ty_reach reach = reach_of(n, g);
    struct ty_coll_cost cost;
    ty_exchange_cost(cluster, x, &reach, &cost);
    return cost;
}

TEST(bytes_of_deepseek_v3)
{
    const struct ty_cluster cluster = ideal(8);
    struct ty_exchange x = v3;
    ck_assert_double_eq_tol(cost_on(&cluster, &x, 64, 8).net_B / 1e6, 186.46, 0.005);
    ck_assert_double_eq_tol(cost_on(&cluster, &x, 16, 8).net_B / 1e6, 56.543, 0.0005);
    ck_assert_double_eq_tol(cost_on(&cluster, &x, 32, 8).net_B / 1e6, 128.96, 0.005);
    x.row_B = 7168 * (1 + 4.0 / 128); /* dispatch: 8 bits, and a scale for 128 of them */
    ck_assert_double_eq_tol(cost_on(&cluster, &x, 64, 8).net_B / 1e6, 96.1, 0.05);
    x = v3;
    x.method = TY_EXCHANGE_ALL_TO_ALL;
    ck_assert_double_eq_tol(cost_on(&cluster, &x, 64, 8).net_B, 411041792, 0.5);
    ck_assert_double_eq_tol(cost_on(&cluster, &x, 64, 8).nvlink_B, 51380224, 0.5);
    ck_assert_double_eq_tol(cost_on(&cluster, &x, 8, 8).nvlink_B, 411041792, 0.5);
    ck_assert_double_eq(cost_on(&cluster, &x, 8, 8).net_B, 0);
}

TEST(rows_over_nvlink_are_those_for_other_ranks_than_the_one_that_has_the_copy)
{
    const struct ty_cluster cluster = ideal(8);
    const double row = v3.tokens * v3.row_B;
    for (uint32_t n = 8; n <= 64; n *= 2) {
        const struct ty_coll_cost cost = cost_on(&cluster, &v3, n, 8);
        ck_assert_double_eq_tol(cost.nvlink_B / row, ty_exchange_copies(&v3, n) * 7 / 8, 1e-9);
        ck_assert_double_eq_tol(cost.net_B / row, n == 8 ? 0 : others(&v3, n / 8), 1e-9);
    }
    ck_assert_double_eq(cost_on(&cluster, &v3, 8, 1).nvlink_B, 0);
}

/* ---- times ---- */

TEST(the_longer_of_nic_and_nvlink_is_what_it_takes)
{
    struct ty_cluster cluster = ideal(8);
    const double row = v3.tokens * v3.row_B;
    cluster.net.all_to_all_efficiency = 0.625;
    cluster.collectives.exchange_efficiency = 0.8;
    struct ty_coll_cost cost = cost_on(&cluster, &v3, 64, 8);
    ck_assert_double_eq_tol(cost.transfer_s, cost.net_B / (25e9 * 0.9 * 0.5), 1e-9);
    ck_assert_double_eq_tol(cost.latency_s, 2 * (18e-6 + 3e-6 + 14e-6), 1e-12);
    cluster.net.nic_bandwidth *= 100;
    cost = cost_on(&cluster, &v3, 64, 8);
    ck_assert_double_eq_tol(cost.transfer_s,
                            row * ty_exchange_copies(&v3, 64) * 7 / 8 / (0.9 * 0.8 * 300e9), 1e-9);
    cost = cost_on(&cluster, &v3, 8, 8);
    ck_assert_double_eq_tol(cost.latency_s, 2 * (18e-6 + 3e-6), 1e-12);
}

/* Of one and a half times the rows 1.31 times the tokens come to a node, each once. */
TEST(the_busiest_rank_sets_the_time_and_not_the_bytes)
{
    const struct ty_cluster cluster = cluster_preset("dgx-h100", "nodes: 8");
    for (int method = TY_EXCHANGE_ALL_TO_ALL; method <= TY_EXCHANGE_PER_NODE; method++) {
        struct ty_exchange x = v3;
        x.method = (enum ty_exchange_method)method;
        const struct ty_coll_cost even = cost_on(&cluster, &x, 64, 8);
        x.load = 1.5;
        const struct ty_coll_cost uneven = cost_on(&cluster, &x, 64, 8);
        const double one = 1 - ty_exchange_copies(&x, 8) / 8; /* a node has no expert of a token */
        const double more =
            method == TY_EXCHANGE_ALL_TO_ALL ? 1.5 : (1 - pow(one, 1.5)) / (1 - one);
        ck_assert_double_eq_tol(uneven.transfer_s / even.transfer_s, more, 1e-9);
        ck_assert_double_eq_tol(uneven.net_B / even.net_B, 1, 1e-12);
        ck_assert_double_eq_tol(uneven.nvlink_B / even.nvlink_B, 1, 1e-12);
        x.overlapped = true;
        const struct ty_coll_cost beside = cost_on(&cluster, &x, 64, 8);
        ck_assert_double_eq_tol(beside.transfer_s / uneven.transfer_s, 1 / 0.65, 1e-9);
    }
}

/* Figures of arXiv 2603.07685 (H100) and of DeepEP's documentation (H800: rates, of bytes that
 * count a token for each node that has it). */
TEST(published_times_are_met)
{
    const struct {
        const char *preset;
        int method;
        uint32_t ranks;
        double us, off;
    } rows[] = {
        {"dgx-h100", TY_EXCHANGE_ALL_TO_ALL, 8, 1265, 0.02},
        {"dgx-h100", TY_EXCHANGE_ALL_TO_ALL, 64, 8727, 0.02},
        {"dgx-h100", TY_EXCHANGE_PER_NODE, 8, 624, 0.03},
        {"dgx-h100", TY_EXCHANGE_PER_NODE, 64, 4398, 0.02},
        {"dgx-h800", TY_EXCHANGE_PER_NODE, 64, 3.629 * 4096 * 14336 / 50e3, 0.04},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const struct ty_cluster cluster = cluster_preset(rows[i].preset, "nodes: 8");
        struct ty_exchange x = v3;
        x.method = (enum ty_exchange_method)rows[i].method;
        const struct ty_coll_cost cost = cost_on(&cluster, &x, rows[i].ranks, 8);
        ck_assert_double_eq_tol(ty_coll_seconds(&cost) * 1e6 / rows[i].us, 1, rows[i].off);
    }
}

TEST(one_rank_exchanges_nothing)
{
    const struct ty_cluster cluster = ideal(8);
    const struct ty_coll_cost cost = cost_on(&cluster, &v3, 1, 1);
    ck_assert_double_eq(ty_coll_seconds(&cost), 0);
    ck_assert_ptr_null(cost.algorithm);
}

/* 12 ranks on nodes of 8 and 4: what leaves the one enters the other. */
TEST(nodes_with_unequal_members_send_what_they_receive)
{
    const struct ty_cluster cluster = ideal(8);
    const struct ty_exchange x = {
        .method = TY_EXCHANGE_PER_NODE, .tokens = 1000, .row_B = 100, .experts = 48, .top_k = 4};
    const struct ty_reach reach = {
        .ranks = 12, .nodes = 2, .per_node = 8, .fewest = 4, .sharing = 1};
    struct ty_coll_cost cost;
    ty_exchange_cost(&cluster, &x, &reach, &cost);
    const double big = 1 - 16.0 * 15 * 14 * 13 / (48.0 * 47 * 46 * 45); /* has one of 32 of 48 */
    const double small = 1 - 32.0 * 31 * 30 * 29 / (48.0 * 47 * 46 * 45);
    ck_assert_double_eq_tol(cost.net_B, 1e5 * (big * 4 + small * 8) / 12, 1e-6);
    const double node = 25e9 * 0.9; /* of a GPU */
    const double of_small = fmax(4 * big, 8 * small) / (4 * node);
    ck_assert_double_eq_tol(cost.transfer_s, 1e5 * of_small, 1e-12);
}

/* Two groups of 16 on four nodes, with expert-tensor ranks in between, take as long as one of 32:
 * all send what their tokens need through the four NICs that a node has. */
TEST(groups_of_a_node_share_its_nics)
{
    const struct ty_cluster cluster = cluster_preset("dgx-h100", "{nodes: 4, nics_per_node: 4}");
    const struct ty_reach one = reach_of(32, 8);
    struct ty_reach two = reach_of(16, 4);
    for (int method = TY_EXCHANGE_ALL_TO_ALL; method <= TY_EXCHANGE_PER_NODE; method++) {
        struct ty_exchange x = v3;
        struct ty_coll_cost whole, half, alone;
        x.method = (enum ty_exchange_method)method;
        two.sharing = 2;
        ty_exchange_cost(&cluster, &x, &one, &whole);
        ty_exchange_cost(&cluster, &x, &two, &half);
        two.sharing = 1;
        ty_exchange_cost(&cluster, &x, &two, &alone);
        ck_assert_double_eq_tol(half.net_B / whole.net_B, 1, 1e-12);
        ck_assert_double_eq_tol(half.transfer_s / whole.transfer_s, 1, 0.01);
        ck_assert_double_eq_tol(half.transfer_s / alone.transfer_s, 2, 0.05);
    }
}

/* 8 nodes of 8, a token on 1 - (1 - p)^x of those that it had p of: what comes in grows more slowly
 * than the load, and to no more than all tokens. */
TEST(a_fuller_node_gets_a_copy_of_a_token_once)
{
    struct ty_cluster cluster = ideal(8);
    struct ty_exchange x = v3;
    const double mean = cost_on(&cluster, &x, 64, 8).transfer_s;
    const double p = ty_exchange_copies(&x, 8) / 8;
    x.load = x.node_load = 2;
    ck_assert_double_eq_tol(cost_on(&cluster, &x, 64, 8).transfer_s / mean, 2 - p, 1e-9);
    x.load = x.node_load = 100;
    ck_assert_double_eq_tol(cost_on(&cluster, &x, 64, 8).transfer_s / mean, 1 / p, 1e-9);
    x.method = TY_EXCHANGE_ALL_TO_ALL; /* a copy for each expert */
    x.load = 1;
    const double plain = cost_on(&cluster, &x, 64, 8).transfer_s;
    x.load = 2;
    ck_assert_double_eq_tol(cost_on(&cluster, &x, 64, 8).transfer_s / plain, 2, 1e-9);
}

TY_SUITE("exchange")
