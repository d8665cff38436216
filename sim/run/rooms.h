/* rooms.h - what a warm-up step leaves of the memory of GPUs, for those who keep in it what else
 * lives beside them (layout.offload gemini). */
#ifndef TY_RUN_ROOMS_H
#define TY_RUN_ROOMS_H

#include "sim/run/run.h"

/* [stages] bytes: of layout.offload_room of the smallest GPU's memory what is left beside the peak
 * of all that is no chunk, activations and buffers, which is what `warm` holds, planned without
 * room. NULL: no memory. */
const double *ty_run_rooms(const struct ty_run *warm, struct ty_arena *arena);

#endif
