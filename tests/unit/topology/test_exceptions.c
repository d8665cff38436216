/* test_exceptions.c - lines of cluster.exceptions, and what they make of the parts of a cluster. */
#include "topology/exceptions.h"

#include <string.h>

#include "sim/config/config.h"
#include "sim/trainyard.h"

#include "tests/common/quick_run.h"
#include "tests/unit/cluster_preset.h"

static const char four_nodes[] = "cluster: {preset: dgx-a100-80g, nodes: 4}\n"
                                 "model: {preset: llama-7b}\n"
                                 "layout: {global_batch: 32}\n";

static struct quick_run with(const char *list)
{
    static char set[512];
    (void)snprintf(set, sizeof(set), "cluster.exceptions=%s", list);
    return quick_run(four_nodes, NULL, (const char *const[]){set, NULL});
}

TEST(a_cluster_without_exceptions_is_as_it_says)
{
    struct quick_run q = with("none");
    const struct ty_cluster *c = &q.config->cluster;
    ck_assert_ptr_null(c->exceptions);
    for (uint32_t gpu = 0; gpu < 32; gpu++) {
        ck_assert_double_eq(ty_exceptions_gpu_speed(c, gpu), 1);
        ck_assert_double_eq(ty_exceptions_nvlink_share(c, gpu), 1);
        ck_assert_double_eq(ty_exceptions_nic_share(c, gpu / 8, gpu % 8), 1);
    }
    ck_assert_uint_eq(ty_exceptions_nics(c, 3), 8);
    ck_assert_double_eq(ty_exceptions_leaf_share(c, 99), 1);
    ck_assert_uint_eq(ty_exceptions_n_generations(c), 1);
    ck_assert_uint_eq(ty_exceptions_generation(c, 3), 0);
    ck_assert_ptr_eq(ty_exceptions_cluster(c, 0), c);
    quick_run_free(&q);
}

TEST(a_gpu_is_counted_over_the_cluster_or_in_its_node)
{
    struct quick_run q = with("[gpu 17 at 80 %, gpu 3.7 at 0.5, gpus 4-6 at 90 %, "
                              "nvlinks 1.6-2.1 at 25 %]");
    const struct ty_cluster *c = &q.config->cluster;
    for (uint32_t gpu = 0; gpu < 32; gpu++) {
        const double speed = gpu == 17 ? 0.8 : gpu == 31 ? 0.5 : gpu >= 4 && gpu <= 6 ? 0.9 : 1;
        ck_assert_double_eq(ty_exceptions_gpu_speed(c, gpu), speed);
        ck_assert_double_eq(ty_exceptions_nvlink_share(c, gpu), gpu >= 14 && gpu <= 17 ? 0.25 : 1);
        ck_assert_double_eq(ty_exceptions_nic_share(c, gpu / 8, gpu % 8), 1);
    }
    quick_run_free(&q);
}

TEST(dead_and_missing_nics_are_not_counted)
{
    struct quick_run q = with("[nic 1.5 at 50 %, nics 1.6-2.1 dead, node 3 with 4 nics, "
                              "nic 3.3 dead, nic 3.0 at 10 %]");
    const struct ty_cluster *c = &q.config->cluster;
    static const uint32_t working[] = {8, 6, 6, 3};
    for (uint32_t node = 0; node < 4; node++) {
        ck_assert_uint_eq(ty_exceptions_nics(c, node), working[node]);
        for (uint32_t nic = 0; nic < 8; nic++) {
            const uint32_t at = node * 8 + nic;
            const double share = at == 13               ? 0.5
                                 : at >= 14 && at <= 17 ? 0
                                 : at == 24             ? 0.1
                                 : at == 27 || at >= 28 ? 0
                                                        : 1;
            ck_assert_double_eq(ty_exceptions_nic_share(c, node, nic), share);
        }
    }
    quick_run_free(&q);
}

TEST(leaves_are_kept_and_checked_when_their_number_is_known)
{
    struct quick_run q = quick_run(
        four_nodes, NULL,
        (const char *const[]){"cluster.exceptions=[leaf 1 at 25 %, leaves 3-4 at 50 %]",
                              "fabric.topology=rail-optimized", "fabric.leaf_nodes=2", NULL});
    const struct ty_cluster *c = &q.config->cluster;
    static const double share[] = {1, 0.25, 1, 0.5, 0.5, 1};
    struct ty_err err = TY_ERR_NONE;
    for (uint32_t leaf = 0; leaf < 6; leaf++) {
        ck_assert_double_eq(ty_exceptions_leaf_share(c, leaf), share[leaf]);
    }
    ck_assert_int_eq(ty_exceptions_check_leaves(c, 5, &err), 0);
    ck_assert_int_eq(ty_exceptions_check_leaves(c, 4, &err), TY_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "cluster.exceptions: leaf 4 does not exist (leaves 3-4 "
                                           "at 50 %); the highest is 3"));
    ck_assert_int_eq(ty_exceptions_check_leaves(c, 0, &err), TY_EINPUT);
    ck_assert_ptr_nonnull(
        strstr(err.text, "the network has no leaves with uplinks (leaf 1 at 25 %)"));
    quick_run_free(&q);
}

/* Everything of the GPU is the preset's, everything else the cluster's. */
TEST(a_generation_is_the_cluster_with_other_gpus)
{
    struct quick_run q = with("[nodes 1-2 with h100-sxm, node 0 with h100-sxm]");
    const struct ty_cluster *c = &q.config->cluster;
    const struct ty_cluster h100 = cluster_preset("dgx-h100", NULL);
    ck_assert_uint_eq(ty_exceptions_n_generations(c), 2);
    for (uint32_t node = 0; node < 4; node++) {
        ck_assert_uint_eq(ty_exceptions_generation(c, node), node < 3);
    }
    const struct ty_cluster *other = ty_exceptions_cluster(c, 1);
    ck_assert_str_eq(other->gpu_preset, "h100-sxm");
    ck_assert_mem_eq(&other->gpu, &h100.gpu, sizeof(h100.gpu));
    ck_assert_double_eq(other->nvlink.bandwidth, c->nvlink.bandwidth);
    ck_assert_double_eq(other->collectives.derate, c->collectives.derate);
    ck_assert_uint_eq(other->nodes, 4);
    quick_run_free(&q);
}

TEST(one_line_less_is_what_the_others_say)
{
    struct quick_run q = with("[gpu 3 at 80 %, gpu 5 at 90 %, node 1 with 4 nics]");
    struct ty_cluster c = q.config->cluster;
    const struct ty_exceptions *all = c.exceptions;
    struct ty_exceptions less;
    struct ty_arena arena = {.head = NULL};
    ck_assert_int_eq(ty_exceptions_without(&c, 0, &less, &arena), 0);
    c.exceptions = &less;
    ck_assert_uint_eq(less.n, 2);
    ck_assert_double_eq(ty_exceptions_gpu_speed(&c, 3), 1);
    ck_assert_double_eq(ty_exceptions_gpu_speed(&c, 5), 0.9);
    ck_assert_uint_eq(ty_exceptions_nics(&c, 1), 4);
    c.exceptions = all;
    ck_assert_int_eq(ty_exceptions_without(&c, 2, &less, &arena), 0);
    c.exceptions = &less;
    ck_assert_double_eq(ty_exceptions_gpu_speed(&c, 3), 0.8);
    ck_assert_uint_eq(ty_exceptions_nics(&c, 1), 8);
    ty_arena_release(&arena);
    quick_run_free(&q);
}

TEST(exceptions_change_the_digest)
{
    static const char *const lists[] = {"none", "[gpu 3 at 80 %]", "[gpu 3 at 81 %]",
                                        "[nic 0.3 at 80 %]"};
    uint64_t digest[TY_COUNT(lists)];
    for (size_t i = 0; i < TY_COUNT(lists); i++) {
        struct quick_run q = with(lists[i]);
        digest[i] = ty_config_digest(q.config);
        for (size_t k = 0; k < i; k++) {
            ck_assert_uint_ne(digest[i], digest[k]);
        }
        quick_run_free(&q);
    }
}

TY_SUITE("exceptions")
