/* rooms.h - what a step leaves of the memory of GPUs and nodes, for those who keep in it what lives
 * beside a GPU (layout.offload gemini). */
#ifndef TY_RUN_ROOMS_H
#define TY_RUN_ROOMS_H

#include "sim/run/run.h"

/* [stages] of layout.offload_room of the smallest GPU's memory what is left beside the peak of all
 * that is no chunk, activations and buffers, which is what `warm` holds, planned without room; and
 * of the memory of nodes as much as anyone wants. NULL: no memory. */
struct ty_lower_room *ty_run_spare_memory(const struct ty_run *warm, struct ty_arena *arena);

/* Where nodes with drives are too small for the chunks of a plan: what each rank has of them, all
 * in proportion to what they want. *small: some are. 0 or TY_ENOMEM. */
int ty_run_host_rooms(const struct ty_run *run, struct ty_lower_room *room, bool *small,
                      struct ty_err *err);

#endif
