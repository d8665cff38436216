/* stages_internal.h - shared by the files of stages.h. */
#ifndef TY_PLAN_STAGES_INTERNAL_H
#define TY_PLAN_STAGES_INTERNAL_H

#include "sim/plan/stages.h"
#include "sim/run/deal.h"
#include "sim/run/run.h"

/* The deal of a layout: its stages are pipeline ranks, which may have several virtual stages. */
struct ty_stage_problem {
    struct ty_deal deal;
    const struct ty_config *config;
    uint32_t mode[TY_DEAL_MODES]; /* [deal.n_modes] enum ty_recompute */
    uint32_t owner[TY_LIST_MAX];  /* [layout.stages] rank of a virtual stage */
    double held[TY_LIST_MAX];     /* [layout.stages] micro-batches at the fullest moment of that */
    double overhead;              /* bytes that each byte takes: 1 and fragmentation */
    struct ty_deal_kind kind[TY_LAYER_KINDS];
    struct ty_deal_stage stage[TY_LIST_MAX];
    uint8_t *layer; /* [model.layers] */
};

/* stage_costs.c: what an execution in each mode says of layers and stages. *executed counts them.
 * Modes that the model does not have are left out. */
int ty_stage_costs(struct ty_stage_problem *problem, const struct ty_config *config,
                   const uint32_t *mode, uint32_t n_modes, struct ty_price_book *book,
                   uint32_t *executed, struct ty_arena *arena, struct ty_err *err);

/* Micro-batches, or pieces of them, that a virtual stage holds when pass number `peak` of its rank
 * runs, and those of which it holds what was brought back. */
struct ty_stage_held {
    uint32_t kept, again;
};
struct ty_stage_held ty_stage_held(const struct ty_run *run, uint32_t rank, uint32_t stage,
                                   const struct ty_pass *peak);

#endif
