/* gpus.c - the GPUs that ranks sit on, where nodes have GPUs of several generations (gpus.h). */
#include "sim/run/gpus.h"

#include <stdio.h>

static uint32_t generation_of(const struct ty_run *run, uint32_t rank)
{
    return ty_exceptions_generation(&run->config->cluster, ty_grid_node(&run->lowered.grid, rank));
}

const struct ty_cluster *ty_run_gpu(const struct ty_run *run, uint32_t rank)
{
    return ty_exceptions_cluster(&run->config->cluster, generation_of(run, rank));
}

uint32_t ty_run_gpus(const struct ty_run *run, uint32_t generation)
{
    uint32_t n = 0;
    if (ty_exceptions_n_generations(&run->config->cluster) == 1) {
        return generation == 0 ? run->lowered.grid.n_ranks : 0;
    }
    for (uint32_t rank = 0; rank < run->lowered.grid.n_ranks; rank++) {
        n += generation_of(run, rank) == generation;
    }
    return n;
}

uint32_t ty_run_n_generations(const struct ty_run *run)
{
    uint32_t n = 0;
    for (uint32_t g = 0; g < ty_exceptions_n_generations(&run->config->cluster); g++) {
        n += ty_run_gpus(run, g) > 0;
    }
    return n;
}

const char *ty_run_gpu_name(const struct ty_run *run, uint32_t generation)
{
    const char *name = ty_exceptions_cluster(&run->config->cluster, generation)->gpu_preset;
    return name != NULL ? name : "custom GPU";
}

void ty_run_gpu_words(const struct ty_run *run, char *buf, size_t size)
{
    size_t len = 0;
    for (uint32_t g = 0; g < ty_exceptions_n_generations(&run->config->cluster); g++) {
        const uint32_t n = ty_run_gpus(run, g);
        if (n > 0 && len < size) {
            len += (size_t)snprintf(buf + len, size - len, "%s%u x %s", len > 0 ? " and " : "",
                                    (unsigned)n, ty_run_gpu_name(run, g));
        }
    }
}

/* As a difference to the cluster's own, so that it is just that where all are alike. */
double ty_run_peak(const struct ty_run *run)
{
    const struct ty_cluster *cluster = &run->config->cluster;
    const int dtype = run->config->arch.dtype;
    const double own = cluster->gpu.peak[dtype];
    double mean = own;
    for (uint32_t g = 1; g < ty_exceptions_n_generations(cluster); g++) {
        const double share = (double)ty_run_gpus(run, g) / run->lowered.grid.n_ranks;
        mean += share * (ty_exceptions_cluster(cluster, g)->gpu.peak[dtype] - own);
    }
    return mean;
}

double ty_run_memory(const struct ty_run *run, uint32_t stage, uint32_t *node)
{
    const struct ty_gang *gang = &run->lowered.program.gangs[stage];
    double least = 0;
    for (uint32_t i = 0; i < gang->n_ranks; i++) {
        const uint32_t rank = gang->rank_of[i];
        const double memory = ty_run_gpu(run, rank)->gpu.memory;
        if (i == 0 || memory < least) {
            least = memory;
            *node = ty_grid_node(&run->lowered.grid, rank);
        }
    }
    return least;
}
