/* Weighted max-min fair speeds: cases solved by hand, and what is told of a change. */
#include "sim/core/execute/maxmin.h"

#include <stddef.h>

#include "tests/unit/maxmin_net.h"
#include "tests/unit/suite.h"

/* ---- solved by hand ---- */

static const double LINE[] = {100, 100, 100};

TEST(a_flow_alone_runs_at_full_speed)
{
    struct net net;
    open_net(&net, 3, LINE);
    const struct wish all = {{{0, 100}, {1, 30}}, 2, 1}, some = {{{2, 99}}, 1, 0.001};
    ck_assert_uint_eq(add(&net, &all), 0);
    ck_assert_uint_eq(add(&net, &some), 1);
    ck_assert(ty_maxmin_is_dirty(net.m));
    solve(&net);
    ck_assert(!ty_maxmin_is_dirty(net.m));
    for (uint32_t f = 0; f < 2; f++) {
        ck_assert(speed(&net, f) == 1);
        ck_assert(net.told[f] == 1);
    }
    close_net(&net);
}

TEST(two_flows_on_one_link_run_at_half_speed_and_the_one_left_at_full)
{
    struct net net;
    open_net(&net, 3, LINE);
    const struct wish w = {{{0, 1}, {1, 100}}, 2, 0.3};
    add(&net, &w);
    add(&net, &w);
    solve(&net);
    ck_assert(speed(&net, 0) == 0.5 && speed(&net, 1) == 0.5);
    ty_maxmin_remove(net.m, 0);
    ck_assert(ty_maxmin_is_dirty(net.m));
    solve(&net);
    ck_assert(speed(&net, 1) == 1);
    ck_assert_uint_eq(net.n_told, 1);
    ck_assert(net.last_told == 1 && net.last_before == 0.5 && net.last_now == 1);
    close_net(&net);
}

/* Bertsekas & Gallager 1992, section 6.5.2, figure 6.13 in kind: the long flow stops with the link
 * that three share, the short flows take what it leaves. */
TEST(a_long_flow_stops_where_most_meet_and_the_others_take_the_rest)
{
    struct net net;
    open_net(&net, 3, LINE);
    const struct wish along = {{{0, 100}, {1, 100}, {2, 100}}, 3, 1};
    const struct wish first = {{{0, 100}}, 1, 1}, middle = {{{1, 100}}, 1, 1},
                      last = {{{2, 100}}, 1, 1};
    add(&net, &along);
    add(&net, &first);
    add(&net, &last);
    solve(&net);
    ck_assert(speed(&net, 0) == 0.5 && speed(&net, 1) == 0.5 && speed(&net, 2) == 0.5);
    add(&net, &middle);
    add(&net, &middle);
    solve(&net);
    const double expected[] = {1. / 3, 2. / 3, 2. / 3, 1. / 3, 1. / 3};
    for (uint32_t f = 0; f < 5; f++) {
        ck_assert_double_eq_tol(speed(&net, f), expected[f], 1e-15);
    }
    ck_assert_uint_eq(net.n_told, 5);
    ty_maxmin_remove(net.m, 0); /* the others no longer concern each other */
    solve(&net);
    ck_assert(speed(&net, 1) == 1 && speed(&net, 2) == 1);
    ck_assert(speed(&net, 3) == 0.5 && speed(&net, 4) == 0.5);
    close_net(&net);
}

TEST(weights_divide_a_link)
{
    struct net net;
    open_net(&net, 3, LINE);
    const struct wish one = {{{0, 100}}, 1, 2}, three = {{{0, 100}}, 1, 6};
    add(&net, &one);
    add(&net, &three);
    solve(&net);
    ck_assert(speed(&net, 0) == 0.25 && speed(&net, 1) == 0.75);
    close_net(&net);
}

/* Weight 1 over the rate: equal bytes per second on the link that the two share. */
TEST(a_flow_at_its_bound_leaves_the_rest_to_the_others)
{
    struct net net;
    open_net(&net, 3, LINE);
    const struct wish small = {{{0, 25}}, 1, 1. / 25}, large = {{{0, 100}}, 1, 1. / 100},
                      half = {{{0, 50}}, 1, 1. / 50};
    add(&net, &small);
    add(&net, &large);
    solve(&net);
    ck_assert(speed(&net, 0) == 1 && speed(&net, 1) == 0.75);
    add(&net, &half);
    solve(&net); /* 25 + 37.5 + 37.5 */
    ck_assert(speed(&net, 0) == 1 && speed(&net, 1) == 0.375 && speed(&net, 2) == 0.75);
    ck_assert_uint_eq(net.n_told, 2);
    close_net(&net);
}

TEST(uses_of_different_sizes_slow_down_in_proportion)
{
    struct net net;
    open_net(&net, 3, LINE);
    const struct wish two = {{{0, 100}, {1, 50}}, 2, 1}, left = {{{0, 100}}, 1, 1},
                      right = {{{1, 100}}, 1, 1};
    add(&net, &two);
    add(&net, &left);
    add(&net, &right);
    solve(&net);
    ck_assert(speed(&net, 0) == 0.5 && speed(&net, 1) == 0.5 && speed(&net, 2) == 0.75);
    close_net(&net);
}

TEST(uses_of_the_same_link_add_up)
{
    struct net net;
    open_net(&net, 3, LINE);
    const struct wish twice = {{{0, 50}, {0, 25}, {1, 100}}, 3, 1}, once = {{{0, 100}}, 1, 1};
    add(&net, &twice);
    solve(&net);
    ck_assert(speed(&net, 0) == 1);
    add(&net, &once);
    solve(&net); /* level x (0.75 + 1) = 1 */
    ck_assert_double_eq_tol(speed(&net, 0), 4. / 7, 1e-15);
    ck_assert_double_eq_tol(speed(&net, 1), 4. / 7, 1e-15);
    ty_maxmin_remove(net.m, 0);
    solve(&net);
    ck_assert(speed(&net, 1) == 1);
    close_net(&net);
}

TEST(a_flow_that_asks_more_than_a_link_has_gets_the_link)
{
    struct net net;
    open_net(&net, 3, LINE);
    const struct wish five = {{{0, 500}}, 1, 1}, two = {{{1, 200}}, 1, 7};
    add(&net, &five);
    add(&net, &two);
    solve(&net);
    ck_assert_double_eq_tol(speed(&net, 0), 0.2, 1e-15);
    ck_assert(speed(&net, 1) == 0.5);
    ty_maxmin_remove(net.m, 0);
    const struct wish lone = {{{0, 100}}, 1, 1};
    add(&net, &lone);
    solve(&net);
    ck_assert(speed(&net, 0) == 1);
    close_net(&net);
}

/* What a link cannot give to the flows that stopped before it is left to the others. */
TEST(a_chain_of_bottlenecks_takes_turns)
{
    struct net net;
    const double chain[] = {100, 300, 900};
    open_net(&net, 3, chain);
    const struct wish a = {{{0, 100}}, 1, 1. / 100}, ab = {{{0, 100}, {1, 100}}, 2, 1. / 100},
                      b = {{{1, 300}}, 1, 1. / 300}, bc = {{{1, 300}, {2, 300}}, 2, 1. / 300},
                      c = {{{2, 900}}, 1, 1. / 900};
    add(&net, &a);
    add(&net, &ab);
    add(&net, &b);
    add(&net, &bc);
    add(&net, &c);
    solve(&net); /* 50 50 | 125 125 | 775 */
    const double Bps[] = {50, 50, 125, 125, 775}, full[] = {100, 100, 300, 300, 900};
    for (uint32_t f = 0; f < 5; f++) {
        ck_assert_double_eq_tol(speed(&net, f) * full[f], Bps[f], 1e-12);
    }
    close_net(&net);
}

/* The light ones share what the heavy one, which stops at full speed, leaves of the link. */
TEST(weights_may_lie_twenty_orders_apart)
{
    struct net net;
    open_net(&net, 3, LINE);
    const struct wish heavy = {{{0, 40}}, 1, 1e10}, light = {{{0, 100}}, 1, 1e-10},
                      lighter = {{{0, 100}}, 1, 0.5e-10};
    add(&net, &light);
    add(&net, &heavy);
    add(&net, &lighter);
    solve(&net);
    ck_assert(speed(&net, 1) == 1);
    ck_assert_double_eq_tol(speed(&net, 0), 0.4, 1e-14);
    ck_assert_double_eq_tol(speed(&net, 2), 0.2, 1e-14);
    close_net(&net);
}

/* ---- many on one link ---- */

TEST(flows_that_just_fill_a_link_run_at_full_speed_one_more_and_all_slow_down)
{
    static struct net net; /* thousands of flows: more than a stack likes */
    net.n_links = 1;
    net.links[0] = (struct ty_link){.capacity = 300e9};
    open_solver(&net, MANY);
    const struct wish w = {{{0, 300e9 / (MANY - 1)}}, 1, 1 / 25e9};
    for (uint32_t f = 0; f < MANY - 1; f++) {
        add(&net, &w);
    }
    solve(&net);
    for (uint32_t f = 0; f < MANY - 1; f++) {
        ck_assert(speed(&net, f) == 1);
    }
    add(&net, &w);
    solve(&net);
    ck_assert_uint_eq(net.n_told, MANY);
    for (uint32_t f = 0; f < MANY; f++) {
        ck_assert_double_eq_tol(speed(&net, f), (MANY - 1.) / MANY, 1e-12);
        ck_assert(speed(&net, f) == speed(&net, 0));
    }
    close_net(&net);
}

/* ---- what is told ---- */

TEST(only_flows_whose_speed_changed_are_told)
{
    struct net net;
    const double wide[] = {100, 100, 1e15};
    open_net(&net, 3, wide);
    const struct wish left = {{{0, 100}}, 1, 1}, right = {{{1, 100}}, 1, 1},
                      both = {{{0, 20}, {1, 20}}, 2, 1};
    add(&net, &left);
    add(&net, &left);
    add(&net, &right);
    solve(&net);
    ck_assert_uint_eq(net.n_told, 3);
    solve(&net); /* nothing happened */
    ck_assert_uint_eq(net.n_told, 0);
    add(&net, &right);
    solve(&net); /* 2 and 3 share link 1; link 0 is none of their business */
    ck_assert_uint_eq(net.n_told, 2);
    ck_assert_uint_eq(add(&net, &both), 4);
    ty_maxmin_remove(net.m, 4);
    solve(&net); /* came and went */
    ck_assert_uint_eq(net.n_told, 0);
    ck_assert(speed(&net, 0) == 0.5 && speed(&net, 3) == 0.5);
    close_net(&net);
}

TEST(a_change_below_rounding_is_not_told)
{
    struct net net;
    const double wide[] = {1e15, 100, 100};
    open_net(&net, 3, wide);
    const struct wish large = {{{0, 1e15}}, 1, 1}, tiny = {{{0, 10}}, 1, 1},
                      small = {{{0, 1e4}}, 1, 1};
    add(&net, &large);
    add(&net, &large);
    solve(&net);
    ck_assert_uint_eq(net.n_told, 2);
    const uint32_t t = add(&net, &tiny); /* 1e-14 of the link */
    solve(&net);
    ck_assert_uint_eq(net.n_told, 1);
    ck_assert_uint_eq(net.last_told, t);
    add(&net, &small); /* 1e-11 */
    solve(&net);
    ck_assert_uint_eq(net.n_told, 4);
    close_net(&net);
}

TEST(the_lowest_free_number_is_given)
{
    static struct net net;
    net.n_links = 1;
    net.links[0] = (struct ty_link){.capacity = 1};
    open_solver(&net, MANY);
    const struct wish w = {{{0, 1}}, 1, 1};
    for (uint32_t f = 0; f < MANY; f++) {
        ck_assert_uint_eq(add(&net, &w), f);
    }
    const uint32_t gone[] = {2999, 64, 63, 130};
    for (size_t i = 0; i < 4; i++) {
        ty_maxmin_remove(net.m, gone[i]);
    }
    const uint32_t given[] = {63, 64, 130, 2999};
    for (size_t i = 0; i < 4; i++) {
        ck_assert_uint_eq(add(&net, &w), given[i]);
    }
    close_net(&net);
}

TEST(links_have_a_word_for_their_class)
{
    ck_assert_str_eq(ty_link_class_title(TY_LINK_NVLINK), "NVLink");
    ck_assert_str_eq(ty_link_class_key(TY_LINK_NIC), "nic");
    ck_assert_str_eq(ty_link_class_key(TY_LINK_POD), "pod_uplink");
}

TY_SUITE("maxmin")
