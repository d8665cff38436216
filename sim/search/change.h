/* change.h - one thing of a plan changed: a copy of its configuration, and what a user types for
 * it.
 *
 * A change alters the copy and nothing else. What to type follows from comparing the copy with the
 * original, key by key, so the two cannot drift apart; the copy is then completed and checked like
 * any other configuration, and a change that the layout or the schedule refuses is none. */
#ifndef TY_SEARCH_CHANGE_H
#define TY_SEARCH_CHANGE_H

#include "sim/base/text.h"
#include "sim/config/config.h"

#define TY_CHANGE_SETS 8u

struct ty_change {
    const char *set[TY_CHANGE_SETS]; /* "layout.zero=2": what to give to --set */
    const char *was[TY_CHANGE_SETS]; /* "1": the value that it takes the place of */
    uint32_t n;
};

/* Alters a configuration; false: it has that already, or has nothing to change. */
typedef bool ty_change_fn(struct ty_config *c, int to);

ty_change_fn ty_change_recompute;           /* to bits of enum ty_recompute */
ty_change_fn ty_change_recompute_more;      /* to these, too */
ty_change_fn ty_change_zero;                /* to a stage */
ty_change_fn ty_change_offload;             /* to enum ty_offload_system, and its stage of ZeRO */
ty_change_fn ty_change_offload_activations; /* to enum ty_home, from the GPU */
ty_change_fn ty_change_offload_share;       /* to so many percent: less of the optimizer leaves */
ty_change_fn ty_change_shard;               /* to so many data ranks that share states; 0: all */
ty_change_fn ty_change_sequence_parallel;
ty_change_fn ty_change_attention; /* to enum ty_attention, a later kernel */
ty_change_fn ty_change_norm;      /* to enum ty_fusion */
ty_change_fn ty_change_schedule;  /* to ty_schedules[i]; numbers that it cannot have become auto */

/* By a factor: 2 is twice, -2 half. Ranks are taken from the replicas, or given to them; in
 * ty_change_trade the pipeline gives to the tensor groups. */
ty_change_fn ty_change_micro_batch;
ty_change_fn ty_change_tensor;
ty_change_fn ty_change_context; /* the same, where parts of a sequence stay long */
ty_change_fn ty_change_context_method;
ty_change_fn ty_change_expert; /* nobody gives or takes: a grid of its own */
ty_change_fn ty_change_expert_tensor;
ty_change_fn ty_change_pipeline;
ty_change_fn ty_change_trade;
ty_change_fn ty_change_chunks;

/* Habits of the stack: to false or true, where they mean something. */
ty_change_fn ty_change_fused_loss;
ty_change_fn ty_change_overlap_grad_reduce;
ty_change_fn ty_change_overlap_param_gather;
ty_change_fn ty_change_overlap_tensor_reduce;
ty_change_fn ty_change_overlap_tensor_products;
ty_change_fn ty_change_overlap_p2p;
ty_change_fn ty_change_expert_overlap;
ty_change_fn ty_change_dispatcher; /* to enum ty_dispatcher, where experts are on several ranks */
ty_change_fn ty_change_shared_overlap;
ty_change_fn ty_change_overlap_dispatch;
ty_change_fn ty_change_reduce_scatter;
ty_change_fn ty_change_reshard;
ty_change_fn ty_change_prefetch; /* to so many units */

/* Notes what differs between two copies of `original`; data ranks are noted when it is finished.
 * Texts are the arena's. TY_ENOMEM. */
int ty_change_note(struct ty_change *change, struct ty_config *before, struct ty_config *after,
                   struct ty_arena *arena);

/* One of its texts as a shell takes it: "'layout.stage_layers=[15, 16]'". */
void ty_change_put(struct ty_text *text, const char *set);

/* Completes and checks a changed copy, and notes what follows from the change. 0, TY_ENOMEM, or
 * the code of why it cannot be. */
int ty_change_finish(struct ty_change *change, const struct ty_config *original,
                     struct ty_config *c, struct ty_arena *arena, struct ty_err *why);

#endif
