/* deepspeed.h - DeepSpeed's JSON: a file, or what a script writes into one. */
#ifndef TY_IMPORT_MEGATRON_DEEPSPEED_H
#define TY_IMPORT_MEGATRON_DEEPSPEED_H

#include "sim/document/yaml.h"
#include "sim/import/flags.h"
#include "sim/import/megatron/megatron.h"
#include "sim/import/shell/shell.h"

#define TY_DEEPSPEED_STEPS "--gradient-accumulation-steps"

struct ty_deepspeed {
    struct ty_draft *draft;
    struct ty_shell *shell;
    struct ty_flags *flags;
    const char *file;                 /* its name for messages; NULL: there is none */
    const char *plain;                /* its text, or */
    const struct ty_shell_text *text; /* what the script wrote: places and doubts are its marks */
    struct ty_doc doc;                /* root NULL: there is none */
};

/* Parses it. */
void ty_deepspeed_open(struct ty_deepspeed *json);
/* What it says of the batch, as flags where there are none: --global-batch-size,
 * --micro-batch-size, TY_DEEPSPEED_STEPS. */
void ty_deepspeed_batch(struct ty_deepspeed *json);
/* All the rest; it counts more than flags do. */
void ty_deepspeed_import(struct ty_deepspeed *json);

#endif
