/* test_coll_chain.c - broadcast and reduce take what their messages take, whoever is the root. */
#include <math.h>

#include "tests/unit/coll_case.h"
#include "tests/unit/fabric.h"

TEST(a_chain_from_inside_a_node_comes_back_to_it)
{
    static const enum ty_coll colls[] = {TY_COLL_BROADCAST, TY_COLL_REDUCE};
    for (size_t i = 0; i < TY_COUNT(shapes) * TY_COUNT(colls); i++) {
        const uint32_t n = shapes[i / 2].n, g = shapes[i / 2].g;
        for (uint32_t root = 0; root < n; root++) {
            const struct ty_cluster cluster = ideal(g);
            struct ty_reach reach = reach_of(n, g);
            uint32_t node_of[FABRIC_RANKS];
            struct fabric f;
            struct ty_coll_cost cost;
            fabric_init(&f, n, 1);
            f.node_of = node_of;
            for (uint32_t r = 0; r < n; r++) { /* the root is rank 0 */
                node_of[r] = (root + r) % n / g;
            }
            f.alpha_s[NVLINK] = 3e-6;
            f.alpha_s[NET] = 14e-6;
            f.rate[NVLINK] = f.rate[NET] = n > g ? fmin(node_rate(g), g * 22.5e9) : node_rate(g);
            ty_coll_ring.steps(colls[i % 2], n, 1, 6e6, play, &f);
            reach.root = root;
            ty_coll_cost(&cluster, &ty_coll_ring, colls[i % 2], 6e6, &reach, &cost);
            const double expected = (n > g ? 8e-6 : 18e-6) + f.end_s;
            ck_assert_msg(relative(ty_coll_seconds(&cost), expected) < EXACT,
                          "%s %u of %u, %u a node: %.9g != %.9g", ty_coll_name(colls[i % 2]), root,
                          n, g, ty_coll_seconds(&cost), expected);
            ck_assert_double_eq_tol(cost.net_B * n, f.carried[NET], EXACT * n * 6e6);
            ck_assert_double_eq_tol(cost.nvlink_B * n, f.carried[NVLINK], EXACT * n * 6e6);
        }
    }
}

TEST(chains_of_all_roots_take_their_mean)
{
    for (size_t i = 0; i < TY_COUNT(shapes); i++) {
        const uint32_t n = shapes[i].n, g = shapes[i].g;
        const struct ty_cluster cluster = ideal(g);
        struct ty_reach reach = reach_of(n, g);
        struct ty_coll_cost cost;
        double seconds = 0, net_B = 0, nvlink_B = 0;
        for (reach.root = 0; reach.root < n; reach.root++) {
            ty_coll_cost(&cluster, NULL, TY_COLL_REDUCE, 6e6, &reach, &cost);
            seconds += ty_coll_seconds(&cost) / n;
            net_B += cost.net_B / n;
            nvlink_B += cost.nvlink_B / n;
        }
        reach.root = TY_ROOT_EACH;
        ty_coll_cost(&cluster, NULL, TY_COLL_REDUCE, 6e6, &reach, &cost);
        ck_assert_double_lt(relative(ty_coll_seconds(&cost), seconds), EXACT * n);
        ck_assert_double_eq_tol(cost.net_B, net_B, EXACT * n * 6e6);
        ck_assert_double_eq_tol(cost.nvlink_B, nvlink_B, EXACT * n * 6e6);
    }
}

TY_SUITE("chains")
