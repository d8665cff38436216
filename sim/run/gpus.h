/* gpus.h - the GPUs that ranks sit on, where nodes have GPUs of several generations. */
#ifndef TY_RUN_GPUS_H
#define TY_RUN_GPUS_H

#include "sim/run/run.h"
#include "topology/exceptions.h"

/* The cluster as it would be with the GPU of a rank in all nodes. */
const struct ty_cluster *ty_run_gpu(const struct ty_run *run, uint32_t rank);

/* Ranks on GPUs of a generation; 0 is the cluster's own kind. */
uint32_t ty_run_gpus(const struct ty_run *run, uint32_t generation);

/* Generations that ranks sit on. */
uint32_t ty_run_n_generations(const struct ty_run *run);

/* "a100-sxm-80g", or "custom GPU". */
const char *ty_run_gpu_name(const struct ty_run *run, uint32_t generation);

/* "16 x a100-sxm-80g and 16 x h100-sxm" */
void ty_run_gpu_words(const struct ty_run *run, char *buf, size_t size);

/* Peak of the model's dtype, FLOP/s, mean over ranks: times the ranks it is the sum over all GPUs
 * in use, which MFU and HFU are shares of. */
double ty_run_peak(const struct ty_run *run);

/* The smallest memory among the GPUs of a stage, B, and the first node that has it. Ranks of a
 * stage hold the same, so it fits when it fits there. */
double ty_run_memory(const struct ty_run *run, uint32_t stage, uint32_t *node);

#endif
