/* offload.h - what jobs keep in the memory and on the drives of its nodes, and if it fits. */
#ifndef TY_RUN_OFFLOAD_H
#define TY_RUN_OFFLOAD_H

#include "sim/run/bill.h"

enum ty_offload_tier {
    TY_OFFLOAD_HOST,
    TY_OFFLOAD_NVME,
    TY_N_OFFLOAD_TIERS
};

/* Of the node that has most of it. */
struct ty_offload_memory {
    const char *tier; /* "host", "nvme" */
    const char *key;  /* of the cluster: how much of it a node has */
    double weights_B, grads_B, optimizer_B, activations_B, pinned_B, total_B;
    double capacity_B;
    uint32_t node, ranks; /* and how many ranks are on it */
};

/* Whether all of it fits, and the first tier that it does not fit in; NULL: it does. */
const struct ty_offload_memory *ty_run_offload_short(const struct ty_run *run);

#endif
