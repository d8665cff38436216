/* power.c - what a node draws in a step (power.h). */
#include "sim/run/power.h"

#include <math.h>

#include "sim/run/gpus.h"

double ty_run_node_power(const struct ty_run *run, double step_s)
{
    const struct ty_cluster *c = &run->config->cluster;
    const double steps = ty_run_program(run)->n_steps;
    if (!(c->idle_power > 0 && c->gpu.tensor_power > 0 && step_s > 0)) {
        return 0;
    }
    const double kernels = 1e-6 * run->stats.energy_uJ / (steps * run->stats.n_ranks * step_s);
    const double busy = c->idle_power + c->gpus_per_node * (c->gpu.active_power + kernels);
    return c->node_power > 0 ? fmin(busy, c->node_power) : busy;
}
