/* coll.c - the list of collective algorithms, the choice among them, and the rates they share. */
#include "topology/collectives/coll.h"

#include <math.h>
#include <stddef.h>

#include "topology/collectives/measured.h"
#include "topology/collectives/pairs.h"

/* The key `collectives`: 0, or 1 + an index into the table. */
enum {
    AT_auto,
#define X(id, name, doc) AT_##id,
    TY_COLL_ALGORITHMS(X, X)
#undef X
};

const struct ty_coll_algorithm *const ty_coll_algorithms[] = {
#define X(id, name, doc) &ty_coll_##id,
    TY_COLL_ALGORITHMS(X, X)
#undef X
        NULL,
};

#define WORD(id, name, doc) {name, AT_##id, doc},
#define ONLY(id, name, doc)
const struct ty_word ty_coll_algorithm_words[] = {
    {"auto", AT_auto, "the fastest of NCCL's algorithms for each group and size: not hierarchical"},
    TY_COLL_ALGORITHMS(WORD, ONLY){NULL, 0, NULL},
};

static const struct {
    const char *name, *test;
    int shares;
} colls[] = {
#define X(id, name, test, shares) {name, test, shares},
    TY_COLLECTIVES(X)
#undef X
};

const char *ty_coll_name(enum ty_coll coll)
{
    return colls[coll].name;
}

const char *ty_coll_test(enum ty_coll coll)
{
    return colls[coll].test;
}

double ty_coll_bus_factor(enum ty_coll coll, uint32_t ranks)
{
    const double share = (ranks - 1.0) / ranks;
    return colls[coll].shares == 0 ? 1 : colls[coll].shares * share;
}

double ty_coll_nvlink_rate(const struct ty_cluster *cluster, uint32_t n, uint32_t places)
{
    if (cluster->nvlink.n_paired > 0) {
        return ty_coll_pair_rate(&cluster->nvlink, places != 0 ? places : (1u << n) - 1);
    }
    const double full = cluster->gpus_per_node;
    double pair = 0; /* 0 for a full node, 1 for a pair */
    if (n < cluster->gpus_per_node) {
        pair = (1.0 / fmax(n, 2) - 1 / full) / (0.5 - 1 / full);
    }
    return cluster->nvlink.bandwidth *
           (cluster->nvlink.efficiency * (1 - pair) + cluster->nvlink.pair_efficiency * pair);
}

static double nic_rate(const struct ty_cluster *cluster)
{
    return cluster->net.nic_bandwidth * cluster->net.nic_efficiency;
}

static double nics_per_gpu(const struct ty_cluster *cluster)
{
    return (double)cluster->net.nics / cluster->gpus_per_node;
}

double ty_coll_in_node_rate(const struct ty_cluster *cluster, const struct ty_reach *reach)
{
    const uint32_t fewest = ty_reach_fewest(reach);
    double rate = HUGE_VAL;
    if (reach->per_node > 1) {
        rate = ty_coll_nvlink_rate(cluster, reach->per_node, reach->places);
    }
    return fewest > 1 && fewest < reach->per_node
               ? fmin(rate, ty_coll_nvlink_rate(cluster, fewest, 0))
               : rate;
}

double ty_coll_node_net_rate(const struct ty_cluster *cluster, const struct ty_reach *reach,
                             uint32_t g)
{
    const double own = g * fmax(1, nics_per_gpu(cluster));
    const double share = (double)cluster->net.nics / reach->sharing;
    return nic_rate(cluster) * (nics_per_gpu(cluster) < 1 ? fmin(own, share) : own);
}

double ty_coll_net_rate(const struct ty_cluster *cluster, const struct ty_reach *reach)
{
    return ty_coll_node_net_rate(cluster, reach, ty_reach_fewest(reach));
}

double ty_coll_ring_rate(const struct ty_cluster *cluster, const struct ty_reach *reach)
{
    const double rate = ty_coll_in_node_rate(cluster, reach);
    return reach->nodes > 1 ? fmin(rate, ty_coll_net_rate(cluster, reach)) : rate;
}

double ty_coll_phases(const struct ty_cluster *cluster, double sum_s, double longest_s)
{
    return longest_s + (1 - cluster->collectives.phase_overlap) * (sum_s - longest_s);
}

static void cost_by(const struct ty_coll_algorithm *algorithm, const struct ty_cluster *cluster,
                    enum ty_coll coll, double bytes, const struct ty_reach *reach,
                    struct ty_coll_cost *out)
{
    *out = (struct ty_coll_cost){.pattern = algorithm->pattern};
    algorithm->cost(cluster, coll, bytes, reach, out);
    out->algorithm = algorithm;
    /* Whatever the size, a call takes that long; what was measured knows, and messages are none. */
    if (reach->nodes == 1 && coll != TY_COLL_SEND_RECV && algorithm != &ty_coll_measured) {
        out->latency_s = fmax(out->latency_s, cluster->nvlink.floor - out->transfer_s);
    }
}

void ty_coll_cost(const struct ty_cluster *cluster, const struct ty_coll_algorithm *algorithm,
                  enum ty_coll coll, double bytes, const struct ty_reach *reach,
                  struct ty_coll_cost *out)
{
    *out = (struct ty_coll_cost){0};
    if (reach->ranks < 2) {
        return;
    }
    if (algorithm == NULL && ty_coll_measured.applies(cluster, coll, reach)) {
        algorithm = &ty_coll_measured;
    }
    if (algorithm == NULL && cluster->collectives.algorithm != 0) {
        algorithm = ty_coll_algorithms[cluster->collectives.algorithm - 1];
    }
    if (algorithm != NULL && algorithm->applies(cluster, coll, reach)) {
        cost_by(algorithm, cluster, coll, bytes, reach, out);
        return;
    }
    for (size_t i = 0; ty_coll_algorithms[i] != NULL; i++) {
        const struct ty_coll_algorithm *other = ty_coll_algorithms[i];
        struct ty_coll_cost candidate;
        if (other->on_request || !other->applies(cluster, coll, reach)) {
            continue;
        }
        cost_by(other, cluster, coll, bytes, reach, &candidate);
        if (out->algorithm == NULL || ty_coll_seconds(&candidate) < ty_coll_seconds(out)) {
            *out = candidate;
        }
    }
}
