/* trainer_script.h - a script that starts the Trainer of transformers. */
#ifndef TY_IMPORT_MEGATRON_TRAINER_SCRIPT_H
#define TY_IMPORT_MEGATRON_TRAINER_SCRIPT_H

#include "sim/import/flags.h"

/* Its flags, into `flags`; what they say of how GPUs share the work, as words of accelerate's YAML
 * where that does not say it; the world, by what its launcher is told. */
void ty_trainer_script(struct ty_draft *draft, const struct ty_draft_file *file,
                       struct ty_flags *flags, struct ty_flags *words);

/* Behind all that files say: how long sequences are, what runs again; what became of each flag. */
void ty_trainer_flags(struct ty_flags *flags);

#endif
