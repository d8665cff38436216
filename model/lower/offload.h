/* offload.h - what lives off the GPU becomes operations: what moves it, and when. */
#ifndef TY_MODEL_LOWER_OFFLOAD_H
#define TY_MODEL_LOWER_OFFLOAD_H

#include "model/lower/internal.h"
#include "topology/fabric/tiers.h"

/* Where things live. */
static inline const struct ty_homes *ty_lower_homes(const struct ty_lowering *l)
{
    return &l->in->layout->home;
}
static inline bool ty_lower_updates_away(const struct ty_lowering *l)
{
    return ty_lower_homes(l)->optimizer != TY_HOME_GPU;
}

static inline bool ty_lower_is_gemini(const struct ty_lowering *l)
{
    return l->in->layout->offload == TY_OFFLOAD_GEMINI;
}

/* Whether the host sends the GPU what it has updated. */
static inline bool ty_lower_brings_back(const struct ty_lowering *l)
{
    return ty_lower_updates_away(l) && ty_lower_homes(l)->parameters == TY_HOME_GPU;
}

/* Recorded when all gradients reduced so far are those of all data ranks, and where the optimizer
 * is. */
static inline uint8_t ty_lower_reduced_event(const struct ty_lowering *l)
{
    return ty_lower_is_hybrid(l) && !ty_lower_updates_away(l) ? TY_EVENT_REPLICATED
                                                              : TY_EVENT_REDUCED;
}

/* emit.c: an operation that takes no time: it waits for events on a stream and records another. */
void ty_lower_join(struct ty_lowering *l, uint8_t stream, uint8_t record, const uint8_t *waits,
                   uint32_t n_waits);

/* flows.c: what each member takes of the links meanwhile, into kind->first_flow. */
void ty_lower_tier_flows(struct ty_lowering *l, struct ty_kind *kind, struct ty_tier_move move);

/* offload/states.c: what lives off the GPU. Kinds of a bucket, and of a unit's parameters. */
void ty_lower_offload_bucket(struct ty_lowering *l, struct ty_grad_bucket *bucket);
void ty_lower_offload_unit(struct ty_lowering *l, struct ty_unit *unit);
/* What a bucket keeps on drives: of its optimizer's state, its gradients, its parameters. */
struct ty_lower_far {
    double state_B, grads_B, weights_B;
};
/* Parameters of the shard of a bucket, and those of a unit, come from drives before every use. */
/* Pinned memory of the node that a rank with these stages moves them through, from such homes. */
double ty_lower_pinned(const struct ty_lowering *l, const struct ty_homes *home,
                       const struct ty_vstage *const *v, uint32_t n);
/* What a unit keeps: waited for before its forward, as two units have room; sent behind it; brought
 * back before its backward while the one behind it computes. */
void ty_lower_stash_room(struct ty_lowering *l, const struct ty_vstage *v, uint32_t u);
void ty_lower_stash_kept(struct ty_lowering *l, const struct ty_vstage *v, uint32_t u);
void ty_lower_bring_back(struct ty_lowering *l, const struct ty_vstage *v, uint32_t u);
/* Of two units, on the GPU; and the most that a rank has next to it, of passes [n]. */
double ty_lower_stash_buffers(const struct ty_lowering *l, const struct ty_vstage *const *v,
                              uint32_t n);
double ty_lower_stashed(const struct ty_lowering *l, const struct ty_pass *pass, uint32_t n);

/* Gradients of a bucket leave once `summed` has happened, which records `record`; in the last
 * backward they go on to a drive. */
void ty_lower_stash(struct ty_lowering *l, const struct ty_grad_bucket *bucket, uint16_t layer,
                    uint8_t summed, uint8_t record);
/* Parameters of a shard of a unit. */
double ty_lower_shard(const struct ty_lowering *l, const struct ty_unit *unit);
/* Whether a pass brings parameters of a unit of its stage. */
static inline bool ty_lower_fetches(const struct ty_block_want *want, uint32_t u)
{
    return want->v->units[u].fetch != TY_NONE && (want->miss == NULL || want->miss[u]);
}
/* They come to the GPU, once those before have been used; which records what comes back. */
uint8_t ty_lower_fetch(struct ty_lowering *l, const struct ty_block_want *want, uint32_t u,
                       uint8_t record);
/* The host's share of the update of these stages. */
void ty_lower_update(struct ty_lowering *l, const struct ty_vstage *const *v, uint32_t n);
/* Whether it is that of the step before, and runs during this one. */
bool ty_lower_is_delayed(const struct ty_lowering *l);

/* offload/gemini.c: of a rank with such stages; whether its next unit, whose shard has so many
 * parameters, never leaves the GPU; then what each pass of a step brings, and where everything
 * is. */
void ty_lower_gemini_begin(struct ty_lowering *l, const struct ty_stage_plan *plan);
bool ty_lower_stays(struct ty_lowering *l, double params);
void ty_lower_gemini(struct ty_lowering *l, const struct ty_rank_slots *order,
                     const struct ty_vstage *const *v, uint32_t n, struct ty_stage_plan *plan);
/* Of what plan->away has in the memory of the node, what goes on to drives. */
void ty_lower_drives(struct ty_lowering *l, const struct ty_vstage *const *v, uint32_t n,
                     struct ty_stage_plan *plan);

#endif
