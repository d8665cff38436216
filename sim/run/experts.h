/* experts.h - which expert rank the others wait for, layer by layer. */
#ifndef TY_RUN_EXPERTS_H
#define TY_RUN_EXPERTS_H

#include "sim/run/run.h"

/* A layer with experts. */
struct ty_expert_layer {
    uint32_t layer;
    uint32_t rank;   /* whose experts get most rows, ... */
    uint32_t expert; /* ... its place among expert ranks, */
    double load;     /* and its rows over the mean */
    double dropped;  /* share of rows: above the capacity of their experts */
    double waited_s; /* of a step, for the last member of its exchanges, mean over all GPUs: layers
                      * add up to the figure expert_wait_s */
};

/* Layers in ascending order; a layer with copies on two stages is that with the larger load. *n is
 * 0 where all ranks get as much. The arena's; NULL: no memory. */
const struct ty_expert_layer *ty_run_expert_layers(const struct ty_run *run, uint32_t *n,
                                                   struct ty_arena *arena);

#endif
