/* slow.h - what makes steps longer while a job runs: hosts that become slow, launches that drift.
 *
 * Hosts become slow at a constant rate r; while any is, a step takes 1 + f times as long, whatever
 * their number. The clock is that of work and restarts; it stands during waits and planned stops.
 *
 * Evicted, each is found T after it became slow, and the job restarts without it as after a
 * failure: with failures that is one more cause, of rate r. How many are slow is independent of all
 * evictions so far (those of M/D/inf), but not of those to come, which undo work: work that has a
 * time h to go until it is durable is kept and slow with the probability that one of the hosts that
 * are found within T - h became slow, 1 - e^(-r (T - h)), of what is kept at all.
 *
 * Left alone, a host is slow until the job restarts for another reason, whose checks find it.
 *
 * Launches drift: a step of age x since the last restart or stop takes e^(g x) times as long
 * (MegaScale, NSDI 2024, saw its MFU fall over days so).
 *
 * Slowness is spread evenly over work and the stalls of its checkpoints. */
#ifndef TY_FLEET_SLOW_H
#define TY_FLEET_SLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/fleet/renewal.h"

struct ty_slow {
    double rate;    /* r, a second; 0: none becomes slow */
    double lost;    /* of the time while one is: f / (1 + f) */
    double found_s; /* T; infinite: left alone */
    double drift;   /* g, a second; 0: launches stay together */
};

/* Shares of work that is kept which are lost so. */
struct ty_slow_shares {
    double hosts, drift;
};

/* In closed form, of a job that restarts and stops by `renewal`. `undone`: evictions are among its
 * failures; what of them planned stops keep is left out. Else exact with one level of checkpoints
 * that are durable at once. */
struct ty_slow_shares ty_slow_mean(const struct ty_slow *slow, const struct ty_renewal *renewal,
                                   bool undone);

#endif
