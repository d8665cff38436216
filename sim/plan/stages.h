/* stages.h - unequal stages: layers, and how many of them run again, of a layout that is given.
 *
 * The space of a plan deals layers evenly and lets all of them run again or none. Cuts and counts
 * of one layout are more than all other axes together (10^9 cuts of 80 layers into 8 stages), and
 * an exact program finds the best of them (sim/run/deal.h) where costs add up: seconds of a layer
 * in each mode from executions of the even layout, bytes from its bill. What a layer takes may
 * depend on what its neighbours do with shared links; so what was found is simulated, and its
 * neighbours with a layer moved over a boundary, and with a layer more or less that runs again. */
#ifndef TY_PLAN_STAGES_H
#define TY_PLAN_STAGES_H

#include "sim/config/config.h"

struct ty_price_book;

struct ty_plan_stages {
    bool found; /* a layout that fits and is not dealt evenly with all layers in one mode; of it: */
    uint32_t recompute;
    struct ty_uint_list stage_layers;             /* empty: evenly */
    struct ty_counts_list recompute_layers;       /* empty: all as `recompute` says */
    struct ty_uint_list stage_tensor, stage_data; /* of different shape (meshes.h), with so many
                                                   * sequences for a replica of the first; empty */
    uint32_t micro_batch;
    double step_s, peak_B, capacity_B; /* as simulated */
    uint32_t simulated;                /* executions that it took */
};

/* The best of a complete configuration, which need not fit as it is. mode[n_modes]: what layers may
 * repeat, enum ty_recompute, the first none; or one that all have. Lists are the arena's. Nothing
 * is found where stages of two directions share ranks, where the schedule is the user's own, where
 * layers of several kinds are to be dealt to several chunks of a rank. */
int ty_plan_stages(const struct ty_config *config, const uint32_t *mode, uint32_t n_modes,
                   struct ty_price_book *book, struct ty_plan_stages *out, struct ty_arena *arena,
                   struct ty_err *err);

/* Puts it into a configuration of which nothing has been derived (sim/config/vary.h). */
void ty_plan_stages_set(const struct ty_plan_stages *stages, struct ty_config *config);

/* Puts it into a copy of that configuration and derives what follows. */
int ty_plan_stages_apply(const struct ty_plan_stages *stages, struct ty_config *config,
                         struct ty_err *err);

#endif
