/* power.h - what a node draws in a step, by the kernels that run. */
#ifndef TY_RUN_POWER_H
#define TY_RUN_POWER_H

#include "sim/run/run.h"

/* W of a node, mean over an executed step, that is so long: all of its GPUs idle, what each draws
 * more while it works, and the energy of kernels, up to cluster.node_power. 0: cluster.idle_power
 * or what its GPUs draw is not known. */
double ty_run_node_power(const struct ty_run *run, double step_s);

#endif
