/* gpu_name.h - names of GPUs, as drivers, profilers and presets write them. */
#ifndef TY_TOPOLOGY_GPU_NAME_H
#define TY_TOPOLOGY_GPU_NAME_H

#include <stdbool.h>

/* Whether two names are certainly those of different GPUs: "NVIDIA H100 80GB HBM3" is not
 * "a100-sxm-80g", nor "NVIDIA H100 PCIe" "h100-sxm". False where a name says no model. */
bool ty_gpu_names_differ(const char *a, const char *b);

#endif
