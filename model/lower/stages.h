/* stages.h - pipeline ranks of different shape, and what members of theirs say to each other. */
#ifndef TY_MODEL_LOWER_STAGES_H
#define TY_MODEL_LOWER_STAGES_H

#include "model/issue/pass.h"
#include "model/lower/internal.h"
#include "sim/core/program/peers.h"

/* What pipeline ranks of one shape have in common, where there are others: what struct ty_lowering
 * has of it while one of them is lowered. */
struct ty_lower_stage_shape {
    struct ty_layout layout;
    struct ty_lower_input in; /* with that layout */
    uint32_t members;
    struct ty_lower_group group[TY_N_COMM_GROUPS];
    const struct ty_prices *prices;
    struct ty_gpu_mix *mix;
    uint32_t n_mixes;
    const struct ty_gpu_mix *gpus;
};

/* The layout of a pipeline rank. */
static inline const struct ty_layout *ty_lower_layout_of(const struct ty_lowering *l,
                                                         uint32_t pipeline_rank)
{
    return l->shapes.shape == NULL ? l->in->layout
                                   : &l->shapes.shape[l->shapes.of[pipeline_rank]].layout;
}

/* Whether two pipeline ranks are of one shape. */
static inline bool ty_lower_alike(const struct ty_lowering *l, uint32_t a, uint32_t b)
{
    return l->shapes.shape == NULL || l->shapes.of[a] == l->shapes.of[b];
}

/* Whether messages between this pipeline rank and another are sent in parts that do not stay parts:
 * as the stack does it, and between ranks of different shape always. */
static inline bool ty_lower_gathers_messages(const struct ty_lowering *l, uint32_t peer)
{
    return ty_pass_gathers_messages(l->in->layout, ty_lower_alike(l, l->here.rank, peer));
}

/* With whom of another pipeline rank, which may be of another shape, a member exchanges messages;
 * where member number so of it is; what sending them so many bytes in all costs. */
struct ty_peers ty_lower_peers(const struct ty_lowering *l, uint32_t member,
                               uint32_t pipeline_rank);
uint32_t ty_lower_member_gpu(const struct ty_lowering *l, uint32_t member, uint32_t pipeline_rank);
void ty_lower_message_cost(const struct ty_lowering *l, uint32_t member, uint32_t pipeline_rank,
                           double bytes, bool alone, struct ty_coll_cost *out);

/* Finds the shapes of pipeline ranks, if they differ. */
/* Prices each, once groups and reaches of the first are known. */

#endif
