/* test_coll_pairs.c - rings along links that join pairs, counted by hand on a DGX-1. */
#include "topology/collectives/pairs.h"
#include "topology/collectives/coll.h"

#include "tests/unit/cluster_preset.h"

/* Links of GPUs 0 to 3: 0-1, 0-2 and 1-3 one, 0-3, 1-2 and 2-3 two; so of 4 to 7. Two from 0 to 4
 * and from 1 to 5, one from 2 to 6 and from 3 to 7. Bit i: GPU i. */
TEST(a_dgx1_closes_the_rings_that_its_links_allow)
{
    static const struct {
        uint32_t gpus, rings;
    } rows[] = {
        {0x03, 1},            /* 0-1: one link */
        {0x0c, 2},            /* 2-3: two */
        {0x11, 2},            /* 0-4: two; 2-6: one */
        {0x44, 1}, {0x07, 2}, /* 0-1-2 one way and the other: 0 has two links */
        {0x0f, 4},            /* 0 has four links, and so many rings close */
        {0xf0, 4},            /* the other four */
        {0x1f, 2},            /* 4 is joined to 0 alone: over it, twice */
        {0x3f, 2},            /* 4-5 is one link, which each ring takes */
        {0x7f, 4},            /* 4 has four links to 0, 5 and 6 */
        {0xff, 6},            /* all */
        {0x55, 2},            /* 0-2-6-4 round, one way and the other: every second */
        {0x21, 0},            /* 0 and 5 have no link */
        {0x01, 0},            /* a GPU alone */
    };
    const struct ty_cluster cluster = cluster_preset("dgx1-v100", NULL);
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const uint32_t rings = ty_coll_pair_rings(&cluster.nvlink, rows[i].gpus);
        ck_assert_msg(rings == rows[i].rings, "GPUs %#x: %u rings, not %u", rows[i].gpus, rings,
                      rows[i].rings);
    }
}

/* A link carries a sixth of what a GPU does; GPUs without a link go through the hosts. */
TEST(a_group_has_the_bandwidth_of_its_rings)
{
    const struct ty_cluster cluster = cluster_preset("dgx1-v100", NULL);
    const double link = 150e9 * 0.907 / 6;
    ck_assert_double_eq_tol(ty_coll_nvlink_rate(&cluster, 4, 0), 4 * link, 1);
    ck_assert_double_eq_tol(ty_coll_nvlink_rate(&cluster, 2, 0x0c), 2 * link, 1);
    ck_assert_double_eq_tol(ty_coll_nvlink_rate(&cluster, 2, 0x21), 6e9, 1);
}

/* A node that uses its first GPUs alone has their links, each what it was. */
TEST(a_link_is_as_fast_where_fewer_gpus_are_used)
{
    const struct ty_cluster all = cluster_preset("dgx1-v100", NULL);
    for (uint32_t n = 2; n < 8; n *= 2) {
        const struct ty_cluster part =
            cluster_preset("dgx1-v100", n == 2 ? "gpus_per_node: 2" : "gpus_per_node: 4");
        ck_assert_uint_eq(part.nvlink.n_paired, n);
        ck_assert_double_eq(ty_coll_nvlink_rate(&part, n, 0), ty_coll_nvlink_rate(&all, n, 0));
    }
}

/* All 16 GPUs joined by one link each: 15 rings are more than the search finds at first sight. */
TEST(a_search_ends)
{
    struct ty_nvlink all = {.n_paired = TY_PAIRED_MAX};
    for (uint32_t i = 0; i < TY_PAIRED_MAX; i++) {
        for (uint32_t k = 0; k < TY_PAIRED_MAX; k++) {
            all.paired[i][k] = i != k;
        }
    }
    const uint32_t rings = ty_coll_pair_rings(&all, 0xffff);
    ck_assert_uint_ge(rings, 10);
    ck_assert_uint_le(rings, 15);
}

TEST(fewer_gpus_are_the_first_of_the_node)
{
    const struct ty_cluster cluster = cluster_preset("dgx1-v100", "gpus_per_node: 4");
    ck_assert_uint_eq(cluster.nvlink.n_paired, 4);
    ck_assert_uint_eq(ty_coll_pair_rings(&cluster.nvlink, 0x0f), 4);
}

TEST(links_that_are_none_are_told)
{
    static const char *const rows[] = {
        "nvlink_links: [01, 10]",                         /* too few */
        "{gpus_per_node: 2, nvlink_links: [01, 20]}",     /* one way only */
        "{gpus_per_node: 2, nvlink_links: [11, 10]}",     /* to itself */
        "{gpus_per_node: 2, nvlink_links: [0x, x0]}",     /* no number */
        "{gpus_per_node: 2, nvlink_links: [01, 100]}",    /* too long */
        "{gpus_per_node: 3, nvlink_links: [011, 1, 110]}" /* too short */
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct cluster_case c;
        cluster_begin(&c);
        cluster_apply_gpu(&c, "v100-sxm2-32g");
        cluster_apply(&c, TY_ORIGIN_PRESET, "dgx1-v100",
                      preset_named(ty_cluster_presets, "dgx1-v100")->text);
        cluster_apply(&c, TY_ORIGIN_FILE, "test.yaml", rows[i]);
        ck_assert_int_eq(cluster_end(&c), TY_EINPUT);
        ck_assert_uint_eq(c.err.n, 1);
        ck_assert_ptr_nonnull(strstr(c.err.text, "test.yaml:1:"));
        ck_assert_ptr_nonnull(strstr(c.err.text, "cluster.nvlink_links: not the links of a node"));
        ty_arena_release(&c.arena);
    }
}

TY_SUITE("coll_pairs")
