/* fabric_net.h - a fabric from a few lines of a run file, and what collectives and messages take of
 * its links. */
#ifndef TY_TESTS_FABRIC_NET_H
#define TY_TESTS_FABRIC_NET_H

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/config/config.h"
#include "sim/trainyard.h"
#include "topology/collectives/exchange.h"
#include "topology/fabric/fabric.h"

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

static inline struct net net_with(const char *text, bool tiers)
{
    struct net net = {.weight = 0};
    struct ty_err *err = ty_err_new();
    char path[] = "/tmp/trainyard-fabric-XXXXXX";
    const int fd = mkstemp(path);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    ck_assert_ptr_nonnull(file);
    fprintf(file, "%smodel: {preset: llama-7b, dtype: fp16}\nlayout: {global_batch: 5760}\n", text);
    fclose(file);
    ck_assert_msg(ty_config_read(&net.config, &(struct ty_source){.path = path}, err) == 0, "%s",
                  ty_err_text(err));
    ck_assert_int_eq(ty_fabric_build(&net.fabric, &net.config->cluster, &net.config->fabric, 0,
                                     tiers, &net.arena, err),
                     0);
    unlink(path);
    ty_err_free(err);
    return net;
}

static inline struct net net_of(const char *text)
{
    return net_with(text, false);
}

static inline void net_free(struct net *net)
{
    ty_arena_release(&net->arena);
    ty_config_free(net->config);
}

/* Of nodes first, first + step, ...: places 0 to g - 1 in each. */
static inline uint32_t members(const struct net *net, uint32_t first, uint32_t step, uint32_t k,
                               uint32_t g, uint32_t *gpus)
{
    for (uint32_t i = 0; i < k * g; i++) {
        gpus[i] = (first + i / g * step) * net->config->cluster.gpus_per_node + i % g;
    }
    return k * g;
}

static inline void take(struct net *net, const uint32_t *gpus, uint32_t n)
{
    struct ty_err *err = ty_err_new();
    ck_assert_int_eq(ty_fabric_collective(&net->fabric, &net->cost, gpus, n, 1, &net->uses,
                                          &net->weight, &net->arena, err),
                     0);
    ty_err_free(err);
}

/* Works out an all-reduce or the like of 1 GiB over a group that has its nodes for itself. */
static inline void run(struct net *net, const struct ty_coll_algorithm *algorithm,
                       enum ty_coll coll, const uint32_t *gpus, uint32_t k, uint32_t g)
{
    const struct ty_reach reach = {.ranks = k * g, .nodes = k, .per_node = g, .sharing = 1};
    ty_coll_cost(&net->config->cluster, algorithm, coll, 1 << 30, &reach, &net->cost);
    ck_assert_ptr_eq(net->cost.algorithm, algorithm);
    take(net, gpus, k * g);
}

static inline void message(struct net *net, uint32_t from, uint32_t to)
{
    struct ty_err *err = ty_err_new();
    const uint32_t gpus = net->config->cluster.gpus_per_node;
    ty_p2p_cost(&net->config->cluster, from / gpus == to / gpus, 1 << 20, &net->cost);
    ck_assert_int_eq(ty_fabric_message(&net->fabric, &net->cost, from, &to, 1, &net->uses,
                                       &net->weight, &net->arena, err),
                     0);
    ty_err_free(err);
}

static inline bool is_called(const struct net *net, uint32_t link, const char *name)
{
    char own[TY_LINK_NAME];
    return strcmp(ty_fabric_link_name(&net->fabric, link, own), name) == 0;
}

static inline double used(const struct net *net, const char *name)
{
    for (uint32_t i = 0; i < net->uses.n; i++) {
        if (is_called(net, net->uses.row[i].link, name)) {
            return net->uses.row[i].Bps;
        }
    }
    return 0;
}

static inline double capacity(const struct net *net, const char *name)
{
    for (uint32_t i = 0; i < net->fabric.n_links; i++) {
        if (is_called(net, i, name)) {
            return net->fabric.links[i].capacity;
        }
    }
    ck_abort_msg("no link %s", name);
}

/* Of all links of a class whose name ends or does not end so. */
static inline double sum(const struct net *net, enum ty_link_class class, const char *word)
{
    double Bps = 0;
    for (uint32_t i = 0; i < net->uses.n; i++) {
        const struct ty_use *use = &net->uses.row[i];
        char name[TY_LINK_NAME];
        const bool counts =
            strstr(ty_fabric_link_name(&net->fabric, use->link, name), word) != NULL;
        Bps += counts && net->fabric.links[use->link].class == class ? use->Bps : 0;
    }
    return Bps;
}

/* How many links of a class are used. */
static inline uint32_t count(const struct net *net, enum ty_link_class class)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < net->uses.n; i++) {
        n += net->fabric.links[net->uses.row[i].link].class == class;
    }
    return n;
}

/* The share of its full speed at which the flow runs alone. */
static inline double alone(const struct net *net)
{
    double speed = 1;
    for (uint32_t i = 0; i < net->uses.n; i++) {
        const struct ty_use *use = &net->uses.row[i];
        speed = fmin(speed, net->fabric.links[use->link].capacity / use->Bps);
    }
    return speed;
}

static inline void near(double got, double want)
{
    ck_assert_msg(fabs(got - want) <= EXACT * fabs(want), "%.15g, not %.15g", got, want);
}

#endif
