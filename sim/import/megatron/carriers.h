/* carriers.h - what flags come in. */
#ifndef TY_IMPORT_CARRIERS_H
#define TY_IMPORT_CARRIERS_H

#include "sim/import/flags.h"

/* The flags of all files of a draft: scripts, command lines, YAML. */
void ty_carriers_read(struct ty_draft *draft, struct ty_flags *flags);

/* carriers_yaml.c: those of a mapping MODEL_ARGS, or of the sections of --yaml-cfg. */
void ty_carriers_yaml(struct ty_draft *draft, const struct ty_draft_file *file,
                      struct ty_flags *flags);

#endif
