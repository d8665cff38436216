/* stages.h - unequal stages of one layout: the layers of each, and how many of them are recomputed.
 *
 * The space of a plan has even stages that recompute all of their layers or none. One layout has
 * more partitions than all other axes together have values (10^9 of 80 layers into 8 stages). Where
 * costs add up, an exact program finds the best one (sim/run/deal.h): seconds of a layer in each
 * mode from executions of the even layout, bytes from its memory estimate. The time of a layer may
 * depend on what its neighbours do with shared links, so the partition found is simulated, and so
 * are its neighbours: a layer moved over a boundary, a layer recomputed more or less. */
#ifndef TY_PLAN_STAGES_H
#define TY_PLAN_STAGES_H

#include "sim/config/config.h"

struct ty_price_book;

struct ty_plan_stages {
    bool found; /* a layout that fits and is not even with all layers in one mode */
    uint32_t recompute;
    struct ty_uint_list stage_layers;       /* empty: even */
    struct ty_counts_list recompute_layers; /* empty: all layers have `recompute` */
    struct ty_uint_list stage_tensor,
        stage_data;                    /* stages of different shape (meshes.h); or empty */
    uint32_t micro_batch;              /* sequences of a replica of the first such stage */
    double step_s, peak_B, capacity_B; /* as simulated */
    uint32_t simulated;                /* executions that the search took */
};

/* Finds the best stages of a complete configuration, which need not fit as it is, that leave
 * `margin` of the memory free. mode[n_modes] is
 * what layers may recompute (enum ty_recompute): nothing first, or the one mode that all have.
 * Lists are the arena's. Nothing is found where stages of two directions share ranks, where the
 * schedule is the user's own, or where a rank has several chunks and the model several kinds of
 * layers. */
int ty_plan_stages(const struct ty_config *config, double margin, const uint32_t *mode,
                   uint32_t n_modes, struct ty_price_book *book, struct ty_plan_stages *out,
                   struct ty_arena *arena, struct ty_err *err);

/* Sets the keys in a configuration of which nothing has been derived (sim/config/vary.h). */
void ty_plan_stages_set(const struct ty_plan_stages *stages, struct ty_config *config);

/* Sets the keys in a copy of a complete configuration and derives what follows from them. */
int ty_plan_stages_apply(const struct ty_plan_stages *stages, struct ty_config *config,
                         struct ty_err *err);

#endif
