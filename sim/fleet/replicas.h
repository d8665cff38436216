/* replicas.h - a job that goes on with fewer data-parallel replicas (elastic data parallelism).
 *
 * A failure of a node takes away the replicas that have ranks on it. All others stand until it is
 * found and while they regroup, go on with a smaller batch, and regroup once more when the replica
 * is back, which takes a restart of it and, where there are too few spares, a repair. A replica
 * that is away cannot fail. What fails as a whole (storage, software) stops the job as ever.
 *
 * Replicas whose nodes are the same leave together and count as one; nodes of one that is away for
 * want of a node stand in for those of the next that fails. */
#ifndef TY_FLEET_REPLICAS_H
#define TY_FLEET_REPLICAS_H

#include <stdbool.h>
#include <stdint.h>

struct ty_run;

struct ty_replicas {
    uint32_t n;       /* 0: the job is not elastic */
    uint32_t nodes;   /* of each */
    uint32_t least;   /* must be there; else the job waits */
    double restart_s; /* of one */
    double regroup_s; /* for which all stand when one leaves or returns */
};

/* How many replicas of a layout can leave one by one: copies of all states, which sharding spreads
 * over data ranks (layout.zero, layout.shard) and experts over more, joined where they share nodes.
 * 1: none can. 0: memory is exhausted. */
uint32_t ty_replicas_of(const struct ty_run *run);

/* In closed form, of the time in which nothing stops the whole job. */
struct ty_replicas_mean {
    double running; /* share of it in which enough replicas are there */
    double there;   /* share of the replicas that are, while it runs */
};

/* `load`: restarts of replicas that are under way at a time, if none were away; `repairs`: nodes in
 * repair at a time. Each replica is away on its own, so that their number is binomial whatever the
 * distribution of restarts; nodes in repair are taken as Poisson's, next to it, though fewer fail
 * while replicas are away. */
struct ty_replicas_mean ty_replicas_mean(const struct ty_replicas *replicas, double load,
                                         double repairs, uint32_t spares);

#endif
