/* days.h - a training day by day: failures drawn, checkpoints, restarts, spare nodes.
 *
 * What renewal.h has in closed form, played: for failures that do not come at a constant rate, two
 * levels of checkpoints, spares, planned stops, and to be seen. A history costs its failures and
 * stops, not its checkpoints: what lies between two failures is arithmetic.
 *
 * The time to the next failure is drawn when a restart begins, and when it has come to its end; its
 * clock stands during waits and planned stops. */
#ifndef TY_FLEET_DAYS_H
#define TY_FLEET_DAYS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/config/fleet.h"
#include "sim/core/program/timeline.h"
#include "sim/fleet/replicas.h"
#include "sim/fleet/slow.h"

/* What a job does at a moment: id, name, what it is. */
#define TY_FLEET_STATES(X)                                                                         \
    X(WORK, "work", "progress that is kept")                                                       \
    X(CHECKPOINT, "checkpoints", "work stands while state is copied")                              \
    X(LOST, "lost_work", "work after the last durable checkpoint, which is done again")            \
    X(DETECT, "detect", "until a failure is found and a node replaced")                            \
    X(RESTART, "restart", "processes, communicators and states are brought up")                    \
    X(SPARES, "spares", "fewer nodes than the job needs, until one is repaired")                   \
    X(REPLICAS, "replicas", "the part of those that are away, of an elastic job")                  \
    X(PLANNED, "planned", "stops that were planned")                                               \
    X(SLOW, "slow_hosts", "steps that wait for hosts that have become slow")                       \
    X(DRIFT, "drift", "launches of GPUs that drift apart since the last restart")                  \
    X(EVALUATION, "evaluation", "forward passes over sequences that are held back")

enum ty_fleet_state {
#define X(id, name, doc) TY_FLEET_##id,
    TY_FLEET_STATES(X)
#undef X
    TY_N_FLEET_STATES
};
const char *ty_fleet_state_name(enum ty_fleet_state state);

#define TY_DAY_S 86400.0

/* Failures of one kind. */
struct ty_days_cause {
    const char *name;
    double rate;   /* a second */
    double wait_s; /* until a restart may begin */
    bool drained;  /* a node has to be repaired */
    bool leaves;   /* of an elastic job: takes replicas, and the others go on */
};
#define TY_DAYS_CAUSES 66u

struct ty_days {
    uint32_t n_causes;
    struct ty_days_cause cause[TY_DAYS_CAUSES];
    bool evicts;            /* the last cause is hosts that are found slow: not a failure */
    double rate;            /* failures a second, sum over causes but that; 0: none */
    double shape;           /* of the Weibull distribution of times between them; 1: exponential */
    double every_s;         /* work between checkpoints; may be infinite */
    double stall_s;         /* of each */
    uint32_t store_every;   /* each so many go to storage, the others to memory of peers */
    double store_stall_s;   /* and stall for so much longer */
    double durable_after_s; /* those in storage, after that */
    double from_memory;     /* share of failures after which that of the peers will do */
    double restart_s, memory_restart_s; /* from storage, from memory */
    double repair_s;                    /* of a node */
    uint32_t spares;                    /* TY_FLEET_SPARES_ENOUGH: never too few */
    double evaluation;                  /* share of it of the time of steps */
    double planned_every_s, planned_s;  /* mean time from a stop to the next, exponential, and its
                                        * length; nothing is lost. 0: none. One that falls due
                                        * while nothing runs is held before work goes on */
    struct ty_replicas replicas;
    struct ty_slow slow;
};

/* Where a job is in its round of checkpoints, `y_s` after the round began that holds or precedes a
 * stretch of work: each but the last of `store_every` ends a period, the last one the round. */
struct ty_days_round {
    double stored, taken; /* rounds that ended, checkpoints of all kinds */
    double stall_s;       /* in them so far */
};
struct ty_days_round ty_days_round(const struct ty_days *days, double y_s);

/* Told of each stretch of a history, in rising order without holes; LOST is told as WORK until it
 * turns out to be lost, by `lost_s`, the length of its tail that is. Work begins `begun_s` into a
 * round of checkpoints. */
typedef void ty_days_fn(void *arg, enum ty_fleet_state state, double start_s, double end_s,
                        double lost_s, double begun_s);

struct ty_days_sums {
    double s[TY_N_FLEET_STATES]; /* add up to the time played */
    uint64_t failures;
};

/* One history of `length_s`, by the draws of (seed, number). `tell` may be NULL. 0 or TY_ENOMEM. */
int ty_days_play(const struct ty_days *days, double length_s, uint64_t seed, uint64_t number,
                 ty_days_fn *tell, void *arg, struct ty_days_sums *sums);

/* Mean of so many histories on so many threads, and the standard error of its goodput; the same
 * whatever the threads. `progress` may be NULL. 0, TY_ENOMEM, or TY_EIO where it was stopped. */
struct ty_days_mean {
    double share[TY_N_FLEET_STATES]; /* add up to 1 */
    double standard_error;           /* of share[TY_FLEET_WORK]; NaN: one history tells none */
    double failures_per_day;
};
int ty_days_mean(const struct ty_days *days, double length_s, uint64_t seed, uint32_t runs,
                 uint32_t threads, const struct ty_progress *progress, struct ty_days_mean *mean);

#endif
