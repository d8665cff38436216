/* meshes.h - stages on submeshes of different shape: Alpa's question, asked of a space.
 *
 * Layers are partitioned into stages, and the GPUs into parts of nodes or whole nodes, one for each
 * stage. Inside a part some GPUs share matrices and the others share the batch. The chain program
 * (chain.h) finds the best partition and shapes where costs add up, once for each number of
 * sequences in a micro-batch and each recomputation of the space. An execution of the model on such
 * a part alone gives the seconds and bytes of a layer. The thinner end of a boundary gives the time
 * between two stages. The most promising partitions are simulated as stages of different shape. If
 * the memory estimate of one is too large, the program is solved again with less memory. */
#ifndef TY_PLAN_MESHES_H
#define TY_PLAN_MESHES_H

#include "sim/plan/chain.h"
#include "sim/plan/uneven.h"

/* Adds to what ty_plan_uneven found. *step_s is the fastest step so far, which this function
 * lowers. At most `most` partitions are simulated. Returns TY_EUSAGE where there are more GPUs than
 * the program takes. Nothing is found for models with several kinds of layers, or where the run
 * file partitions the layers itself. */
int ty_plan_meshes(const struct ty_plan_space *space, double *step_s, uint32_t most,
                   const volatile int *stop, struct ty_plan_uneven *out, struct ty_arena *arena,
                   struct ty_err *err);

#endif
