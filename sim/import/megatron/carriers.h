/* carriers.h - what flags come in. */
#ifndef TY_IMPORT_MEGATRON_CARRIERS_H
#define TY_IMPORT_MEGATRON_CARRIERS_H

#include "sim/import/flags.h"
#include "sim/import/shell/shell.h"

/* The flags of all files of a draft, but for JSON: YAML, else scripts and command lines, which
 * leave in the shell what they set. */
void ty_carriers_read(struct ty_draft *draft, struct ty_shell *shell, struct ty_flags *flags);

/* carriers_yaml.c: those of a mapping MODEL_ARGS, or of the sections of --yaml-cfg. */
void ty_carriers_yaml(struct ty_draft *draft, const struct ty_draft_file *file,
                      struct ty_flags *flags);

/* carriers_script.c: those of the program that has most flags of a table; `whose` is for messages:
 * "Megatron-LM, such as --num-layers". */
void ty_carriers_script(struct ty_draft *draft, const struct ty_draft_file *file,
                        const struct ty_flag_row *rows, const char *whose, struct ty_shell *shell,
                        struct ty_flags *flags);

/* carriers_world.c: how many GPUs #SBATCH lines ask for, which Slurm then says in variables; and
 * what a script calls WORLD_SIZE and the like, where nothing else says it. */
void ty_carriers_sbatch(struct ty_draft *draft, const struct ty_draft_file *file,
                        struct ty_shell *shell);
void ty_carriers_variables(struct ty_draft *draft, struct ty_shell *shell);

#endif
