/* pass_times.h - how long the passes of an executed run take, and the published makespan of its
 * schedule with such passes. */
#ifndef TY_RUN_PASS_TIMES_H
#define TY_RUN_PASS_TIMES_H

#include "sim/run/run.h"

/* Mean over stages, and the stage with the longest forward plus backward; seconds. */
struct ty_stage_times {
    struct ty_sched_times mean;
    double work, most; /* forward + backward of a stage: mean, and the slowest */
    uint32_t slowest;
};
struct ty_stage_times ty_stage_times_of(const struct ty_run *run);

/* Mean forward + backward of each virtual stage on its rank, s, into work[pipeline x chunks]. */
void ty_stage_work(const struct ty_run *run, double *work);

/* The same in parts: of each layer on its rank, into layer[model.layers], and what else each
 * virtual stage has to do, into work[]. An operation counts with the time its stream was idle
 * before it within its pass. Of what was timed: of a folded run, too. */
void ty_layer_work(const struct ty_run *run, double *work, double *layer);

/* Passes forward, and as many backward, of a stage in a step. */
uint32_t ty_stage_times_rounds(const struct ty_run *run);

/* What uneven stages add to a step, s: in each round all wait for the slowest. */
double ty_stage_times_uneven(const struct ty_run *run, const struct ty_stage_times *times);

/* Forward passes alone over so many sequences, s: all through the pipeline, the slowest stage sets
 * the pace. */
double ty_stage_times_evaluation(const struct ty_run *run, uint32_t sequences);

/* What the formula of the run's schedule says of a step, s; its schedule has one (makespan is not
 * NULL). */
double ty_stage_times_formula(const struct ty_run *run, const struct ty_stage_times *times);

#endif
