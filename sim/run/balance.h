/* balance.h - layers dealt to pipeline stages by what the stages took. */
#ifndef TY_RUN_BALANCE_H
#define TY_RUN_BALANCE_H

#include "sim/run/run.h"

/* Layers of each virtual stage of an executed run, so that the pipeline rank that computes longest
 * computes as little as can be: layers[TY_LIST_MAX], as for layout.stage_layers. Returns how many
 * stages; 0 where layers lie that way already, or the stages of two directions share ranks. */
uint32_t ty_balance_layers(const struct ty_run *run, uint32_t *layers);

#endif
