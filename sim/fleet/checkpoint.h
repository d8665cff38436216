/* checkpoint.h - what a checkpoint costs, from the states that a run keeps. */
#ifndef TY_FLEET_CHECKPOINT_H
#define TY_FLEET_CHECKPOINT_H

#include "sim/run/run.h"

struct ty_fleet_checkpoint {
    double bytes;     /* of all states, each parameter's once */
    double gpu_bytes; /* of the GPU that copies most: replicas share what they have in common */
    double copy_s;    /* of that to the memory of its host, or of what is there already in it */
    double store_s;   /* of all to storage */
};
struct ty_fleet_checkpoint ty_fleet_checkpoint(const struct ty_run *run);

/* The options with stall and durability of a checkpoint worked out where its stall is auto: written
 * while work goes on it stops the job for the copy, and is durable once it is stored; else it stops
 * the job for both. */
struct ty_fleet_options ty_fleet_resolve(const struct ty_run *run,
                                         const struct ty_fleet_checkpoint *checkpoint);

#endif
