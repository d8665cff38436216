/* measured.h - collectives as somebody timed them, in place of the models.
 *
 * A table holds for its reach: that collective among so many ranks on so many nodes. Its times are
 * read off a curve through the measured sizes; above the largest they grow by what a byte cost
 * between half of it and it, below the smallest they stay. Other reaches keep the model. */
#ifndef TY_TOPOLOGY_COLLECTIVES_MEASURED_H
#define TY_TOPOLOGY_COLLECTIVES_MEASURED_H

#include "sim/base/curve.h"
#include "topology/collectives/log.h"

/* seconds(S) = latency + factor S / bus bandwidth, nearest to the log in the logarithm of time,
 * every decade of size counting the same. */
struct ty_coll_fit {
    double latency_s, bus_Bps;
};

struct ty_coll_table {
    struct ty_coll_log log;
    struct ty_curve curve; /* seconds over bytes */
    double s_per_B;        /* above the largest size */
    struct ty_coll_fit fit;
};

struct ty_coll_measured {
    struct ty_coll_table *table; /* [n] */
    uint32_t n;
    /* The machine that was measured; for one that differs ("what if links were faster?") times are
     * scaled by what the models say of both. NULL: the same. */
    const struct ty_cluster *on;
};

/* Works out the curve and the fit of table->log. Owned by the arena. */
int ty_coll_table_init(struct ty_coll_table *table, struct ty_arena *arena, struct ty_err *err);

/* Seconds that a fit of latency and bandwidth says. */
double ty_coll_fit_seconds(const struct ty_coll_fit *fit, const struct ty_coll_log *log,
                           double bytes);

double ty_coll_table_seconds(const struct ty_coll_table *table, double bytes);

/* The cost of a group on a cluster by one of its tables; traffic is that of the model. For messages
 * `reach` tells whether they leave the node. */
void ty_coll_table_cost(const struct ty_coll_table *table, const struct ty_cluster *cluster,
                        double bytes, const struct ty_reach *reach, struct ty_coll_cost *out);

/* The table that another one would hide: same collective, ranks, nodes, groups at once. NULL. */
const struct ty_coll_table *ty_coll_measured_same(const struct ty_coll_measured *measured,
                                                  const struct ty_coll_log *log);

/* The table that holds for a group, or NULL. Between nodes it must have been measured while as many
 * groups shared the NICs, unless sharing costs nothing on this cluster (ty_coll_net_rate). */
const struct ty_coll_table *ty_coll_measured_find(const struct ty_cluster *cluster,
                                                  enum ty_coll coll, const struct ty_reach *reach);

/* The table that holds for messages inside a node, or between nodes: a log of sendrecv_perf over
 * any number of ranks, the fewest there are. NULL. */
const struct ty_coll_table *ty_coll_measured_p2p(const struct ty_cluster *cluster, bool same_node);

#endif
