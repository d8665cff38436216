/* megatron.h - flags of Megatron-LM and of its forks by DeepSpeed, BigScience and megablocks: the
 * words are shared, defaults differ. */
#ifndef TY_IMPORT_MEGATRON_H
#define TY_IMPORT_MEGATRON_H

#include "sim/import/flags.h"

struct ty_megatron {
    struct ty_draft *draft;
    struct ty_flags flags;
    bool deepspeed; /* a fork on DeepSpeed: its defaults and flags */
};

extern const struct ty_flag_row ty_megatron_rows[];      /* rows.c */
extern const struct ty_flag_row ty_megatron_idle_rows[]; /* idle.c */

/* Every flag becomes what it means; ty_megatron_world has its turn before. */
void ty_megatron_import(struct ty_megatron *m);

void ty_megatron_model(struct ty_megatron *m);      /* model.c */
void ty_megatron_vocabulary(struct ty_megatron *m); /* vocabulary.c */
void ty_megatron_experts(struct ty_megatron *m);    /* experts.c */
void ty_megatron_layout(struct ty_megatron *m);     /* layout.c */
void ty_megatron_stages(struct ty_megatron *m);     /* stages.c */
void ty_megatron_world(struct ty_megatron *m);      /* world.c */
void ty_megatron_stack(struct ty_megatron *m);      /* stack.c */

#endif
