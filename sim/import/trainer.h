/* trainer.h - what only a training script says, where files hold a model and a layout: options of
 * it by --env, else its flags, else guesses that are told. */
#ifndef TY_IMPORT_TRAINER_H
#define TY_IMPORT_TRAINER_H

#include "sim/import/words.h"

/* micro_batch and global_batch: of each of the replicas that the degrees of the layout leave, so
 * many times (`accumulation`; 0: no file says it). script: its flags, or NULL. */
void ty_trainer_batch(struct ty_draft *draft, uint32_t accumulation, struct ty_flags *script);

/* Replicas that tensor, context and pipeline ranks leave of the world; 0: it is not known, or not a
 * multiple of them. */
uint32_t ty_trainer_replicas(const struct ty_draft *draft);

#endif
