/* torchtitan.h - what the files that read torchtitan's TOML share. */
#ifndef TY_IMPORT_TORCHTITAN_TORCHTITAN_H
#define TY_IMPORT_TORCHTITAN_TORCHTITAN_H

#include "sim/import/words.h"

#define TY_TITAN_RULE   "default of torchtitan"
#define TY_TITAN_MEMORY TY_TITAN_RULE ", from memory"

/* flavors.c: the model of model.name and model.flavor. */
void ty_titan_model(struct ty_flags *words);

/* layout.c: degrees, batch, pipeline, recomputation. */
void ty_titan_layout(struct ty_flags *words);

/* rows.c */
extern const struct ty_flag_row ty_titan_rows[];

#endif
