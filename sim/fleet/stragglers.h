/* stragglers.h - how slow the slowest of many is, and what growing jobs lose to it and to failures.
 *
 * A synchronous step goes as fast as the slowest GPU that everyone waits for: nearly so in data
 * parallelism; a pipeline has some slack, which only a run shows (run.gpu_spread,
 * cluster.exceptions). So this is the most that persistent differences cost. */
#ifndef TY_FLEET_STRAGGLERS_H
#define TY_FLEET_STRAGGLERS_H

#include "sim/fleet/fleet.h"

/* GPUs whose time for the same work is normal around 1, and hosts of which some are slower by a
 * factor. */
struct ty_stragglers {
    double spread;     /* standard deviation of a GPU's time */
    double slow_hosts; /* share of hosts ... */
    double slow_by;    /* ... whose GPUs take so much longer: 0.1 */
    uint32_t per_host; /* GPUs */
};

/* Expected time of the slowest of so many hosts, 1 for a GPU as it should be. */
double ty_slowest(const struct ty_stragglers *stragglers, double hosts);

/* Of the job itself, with the slow hosts that its fleet has by fleet.stragglers, and without: the
 * step that the fleet starts from has neither but what its run file puts into it (run.gpu_spread,
 * cluster.exceptions). */
double ty_fleet_slowest(const struct ty_fleet *fleet, bool slow_hosts);

/* A job with its share of nodes: as it is, and with sizes around it. */
struct ty_fleet_size {
    uint32_t gpus;
    double mtbf_s, every_s, goodput;
    double slowest;  /* 1 and more */
    double together; /* goodput / slowest: progress over that without failures and stragglers */
};
#define TY_FLEET_SIZES 10u

/* Powers of two from 256 to 131,072 GPUs, spares enough, checkpoints as often as is best. */
uint32_t ty_fleet_sizes(const struct ty_fleet *fleet, struct ty_fleet_size size[TY_FLEET_SIZES]);

/* What hosts that become slow cost by the closed form, of all time: waiting for them, and of
 * restarts without them; `otherwise`: with the other policy (fleet.stragglers.evict). 0 a day: that
 * is not asked about. */
struct ty_fleet_slow_host {
    double per_day, share, otherwise;
    bool evicts;
};
struct ty_fleet_slow_host ty_fleet_slow_host(const struct ty_fleet *fleet);

#endif
