/* fleet.h - a whole training on a fleet of nodes: the step of a run, and the days around it.
 *
 * Joined by numbers only: a run has the step time; failures, checkpoints and spares of the section
 * `fleet` make goodput, days and cost of it, in closed form (renewal.h) and played (days.h). */
#ifndef TY_FLEET_FLEET_H
#define TY_FLEET_FLEET_H

#include "sim/base/err.h"
#include "sim/run/run.h"
#include "sim/fleet/days.h"
#include "sim/fleet/renewal.h"
#include "sim/run/figures.h"

/* What a checkpoint costs, from the states that a run keeps. */
struct ty_fleet_checkpoint {
    double bytes;     /* of all states, each parameter's once */
    double gpu_bytes; /* of the GPU that copies most: replicas share what they have in common */
    double copy_s;    /* of that to the memory of its host, or of what is there already in it */
    double store_s;   /* of all to storage */
};

/* A job of so many nodes, whatever it computes. `renewal` is of what stops all of it. */
struct ty_fleet_job {
    struct ty_days days;             /* what is played */
    struct ty_renewal renewal;       /* the same without spares and planned stops */
    double load;                     /* nodes in repair at a time, if it never had too few */
    double share[TY_N_FLEET_STATES]; /* in closed form; add up to 1 */
    struct {
        double rate;                      /* failures a second that take replicas */
        double wait_s;                    /* mean of them */
        double detect, restart, replicas; /* of the shares, what they take */
    } elastic;                            /* 0: it is not */
};
void ty_fleet_job(const struct ty_fleet_options *options, uint32_t nodes, uint32_t gpus,
                  struct ty_fleet_job *job);

/* What the failures of a cause take of the time: wait, restart and work that is lost. */
double ty_fleet_cause_share(const struct ty_fleet_job *job, const struct ty_days_cause *cause);

struct ty_fleet {
    const struct ty_run *run;
    struct ty_figures step; /* of the run */
    uint32_t nodes, gpus;   /* of the job */
    double spares;          /* that are paid for; 0: never too few, and not asked about */
    struct ty_fleet_checkpoint checkpoint;
    struct ty_fleet_options options; /* with nothing left to work out of the run */
    struct ty_fleet_job job;
    double goodput_mfu, tokens_per_day;
    double days_for_tokens, gpu_hours, cost; /* of fleet.tokens; 0: not asked for */
    double played_days;                      /* of a history */
    uint32_t histories;
    struct ty_days_mean played;
};

/* The same job on so many GPUs, with spares enough and checkpoints as often as is best. */
void ty_fleet_resized(const struct ty_fleet *fleet, double gpus, struct ty_fleet_job *job);

/* What follows from an executed run and the section `fleet` of its configuration; so many histories
 * of so many days are played. (3), with a place, where checkpoints would not be durable before the
 * next begins. */
int ty_fleet_work_out(const struct ty_run *run, double days, uint32_t histories, uint32_t threads,
                      const struct ty_progress *progress, struct ty_fleet *fleet,
                      struct ty_err *err);

#endif
