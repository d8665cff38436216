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

/* Played: a history, beginning with no slow host. */
struct ty_slow_play {
    const struct ty_slow *slow;
    uint64_t seed, number;
    uint64_t drawn;
    double clock_s, at_s; /* now; when the first of those that are not yet found becomes slow */
    double fresh_s;       /* when the job last began anew */
};
void ty_slow_begin(struct ty_slow_play *play, const struct ty_slow *slow, uint64_t seed,
                   uint64_t number);

/* Of the next so many seconds the mean of what is lost; the clock stays. */
struct ty_slow_shares ty_slow_ahead(const struct ty_slow_play *play, double s);

/* Until the next host is found; that is done. */
double ty_slow_found_s(const struct ty_slow_play *play);
void ty_slow_evicted(struct ty_slow_play *play);

/* The job begins anew: launches are together again, and a host that was left alone is replaced. */
void ty_slow_fresh(struct ty_slow_play *play);

#endif
