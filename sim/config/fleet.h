/* fleet.h - the `fleet` section: a whole training, of which a run is one step. Nothing of it
 * changes that step. */
#ifndef TY_CONFIG_FLEET_H
#define TY_CONFIG_FLEET_H

#include "sim/document/fields.h"

/* Failures of nodes of one kind: a line of fleet.failures. */
struct ty_fleet_cause {
    const char *name;
    double per_1000_node_days;
    double detect_s, replace_s; /* those of the section, where the line says nothing */
    bool drained;               /* the node has to be repaired */
};

struct ty_fleet_options {
    double price;  /* of a GPU for an hour, in whatever currency; 0: not given */
    double tokens; /* of the whole training; 0: not given */

    double failures_per_1000_node_days; /* of nodes */
    double job_failures_per_day;        /* that come to a job whatever its size */
    struct ty_string_list failures;     /* by cause, as written */
    const struct ty_fleet_cause *cause; /* [n_causes] the arena's, by ty_fleet_check */
    uint32_t n_causes;                  /* 0: failures_per_1000_node_days is all that is known */
    double failure_shape;               /* Weibull; 1: exponential */
    struct {
        double every_s;               /* of work between two; 0: the best */
        double stall_s;               /* of the job, each */
        double durable_after_s;       /* it can be restarted from, after its end */
        bool async;                   /* stall and durable_after of 0 are worked out: */
        double copy_Bps, storage_Bps; /* of a GPU to its host, of the job */
        uint32_t store_every;         /* of those to memory of peers, one goes to storage */
        double memory_stall_s;        /* of those that only go to memory, and part of the others' */
        double from_memory;           /* share of failures after which those in memory will do */
    } checkpoint;
    double detect_s, replace_s;         /* from a failure until a restart may begin */
    double restart_s, memory_restart_s; /* 0: by rule; as the other */
    uint32_t spares;                    /* nodes; TY_FLEET_SPARES_ENOUGH: never too few */
    double repair_s;                    /* of a node */
    double drained;                     /* share of nodes' failures that take the node away */
    struct {
        bool on;
        uint32_t nodes;   /* of what leaves at a time; 0: not elastic. By ty_fleet_work_out */
        double regroup_s; /* when one leaves or returns */
        double least;     /* share of them */
    } elastic;            /* replicas leave, the job goes on */
    struct {
        double per_day;
        double each_s;
    } planned; /* stops before which nothing is lost */
    struct {
        uint32_t every, sequences; /* steps; 0: never */
        double s;                  /* that one takes, by ty_fleet_work_out */
        double share;              /* of the time of steps and evaluations together */
    } evaluation;
    struct {
        double spread;              /* standard deviation of what GPUs take for the same work */
        double slow_hosts, slow_by; /* share of hosts that take longer, by so much */
        double per_1000_node_days;  /* hosts that become slow */
        bool evict;                 /* they are replaced, by a restart, ... */
        double found_s;             /* ... so long after that */
        double drift_per_day;       /* share by which steps grow until the next restart */
    } stragglers;
    double pue; /* power of the facility over that of its computers */
};

#define TY_FLEET_SPARES_ENOUGH 1000000u

extern const struct ty_field ty_fleet_fields[];
extern const uint32_t ty_n_fleet_fields;

/* Reads fleet.failures. All mistakes are reported, each at its line. */
int ty_fleet_check(struct ty_fleet_options *fleet, const struct ty_section *section,
                   struct ty_arena *arena, struct ty_err *err);

/* What follows from the speed of a step, if it were all that takes time; 0: not asked for. */
struct ty_fleet_figures {
    double days_for_tokens, gpu_hours; /* of all tokens */
    double cost;                       /* of these GPU-hours */
    double cost_per_billion_tokens;
};
struct ty_fleet_figures ty_fleet_figures(const struct ty_fleet_options *fleet, double tokens_per_s,
                                         double gpus);

#endif
