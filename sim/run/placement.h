/* placement.h - the rank file that a run file names, beside it. */
#ifndef TY_RUN_PLACEMENT_H
#define TY_RUN_PLACEMENT_H

#include "sim/run/config.h"

/* Reads layout.rank_file, if there is one, into config->layout.gpu_of; ranks and cluster must be
 * known. Ranks that all stay where they are without it leave gpu_of NULL. */
int ty_placement_load(struct ty_config *config, struct ty_err *err);

/* A hash of where ranks sit, for ty_config_digest; 0: rank r on GPU r. */
uint64_t ty_placement_digest(const struct ty_config *config);

#endif
