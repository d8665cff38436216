/* measured.h - files of measurements that a run file names, next to it. */
#ifndef TY_CONFIG_MEASURED_H
#define TY_CONFIG_MEASURED_H

#include "sim/config/config.h"

/* Reads what cluster.collectives.measured and cluster.operators name into config->cluster, whose
 * other values must be complete. Wrong files, and two logs of the same group, are reported. */
int ty_measured_load(struct ty_config *config, struct ty_err *err);

/* A hash of what was measured, for ty_config_digest; 0: nothing. */
uint64_t ty_measured_digest(const struct ty_config *config);

#endif
