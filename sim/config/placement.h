/* placement.h - which GPUs of the cluster a job has, and which of its ranks is where. */
#ifndef TY_CONFIG_PLACEMENT_H
#define TY_CONFIG_PLACEMENT_H

#include "sim/config/config.h"

/* Before ty_layout_finish: the GPUs that layout.nodes and layout.gpus name, or those that other
 * jobs leave, into config->seats and config->layout.n_gpus. */
int ty_placement_claim(struct ty_config *config, struct ty_err *err);

/* After it: where ranks sit, into config->layout.gpu_of. Rank r has the r-th of these GPUs unless
 * there is a rank file: reads layout.rank_file, if there is one. Ranks and cluster must be known.
 * Ranks that all stay where they are without it leave gpu_of NULL. */
int ty_placement_load(struct ty_config *config, struct ty_err *err);

/* A hash of where ranks sit, for ty_config_digest; 0: rank r on GPU r. */
uint64_t ty_placement_digest(const struct ty_config *config);

#endif
