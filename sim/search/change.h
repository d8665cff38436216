/* change.h - a variant of a plan: a changed copy of its configuration, and what a user types for
 * it.
 *
 * A change alters the copy and nothing else. What to type follows from comparing the copy with the
 * original, key by key, so the two cannot differ. The copy is then completed and checked like any
 * other configuration. */
#ifndef TY_SEARCH_CHANGE_H
#define TY_SEARCH_CHANGE_H

#include "sim/base/text.h"
#include "sim/config/config.h"

#define TY_CHANGE_SETS 8u

struct ty_change {
    const char *set[TY_CHANGE_SETS]; /* "layout.zero=2": what to give to --set */
    const char *was[TY_CHANGE_SETS]; /* "1": the value that it replaces */
    uint32_t n;
};

/* The changes, each with the value that it takes. A factor of 2 is twice, -2 half. Ranks are taken
 * from the data-parallel replicas, or given to them. A change applies only where it means
 * something. */
#define TY_CHANGES(X)                                                                              \
    X(RECOMPUTE, recompute)           /* to bits of enum ty_recompute */                           \
    X(RECOMPUTE_MORE, recompute_more) /* to these bits, too */                                     \
    X(ZERO, zero)                     /* to a stage */                                             \
    X(MORE_ZERO, more_zero)           /* to a stage above */                                       \
    X(OFFLOAD, offload)               /* to enum ty_offload_system, and its stage of ZeRO */       \
    X(OFFLOAD_ACTIVATIONS, offload_activations) /* to enum ty_home, from the GPU */                \
    X(OFFLOAD_SHARE, offload_share)         /* to so many percent: less of the optimizer leaves */ \
    X(SHARD, shard)                         /* to so many data ranks that share states; 0: all */  \
    X(SEQUENCE_PARALLEL, sequence_parallel) /* true or false */                                    \
    X(ATTENTION, attention)                 /* to enum ty_attention, a later kernel */             \
    X(FLASH_ATTENTION, flash_attention) /* to enum ty_attention, from kernels that write scores */ \
    X(NORM, norm)                       /* to enum ty_fusion */                                    \
    X(SCHEDULE, schedule) /* to ty_schedules[i]; numbers that it cannot have become auto */        \
    X(ONE_F_ONE_B, 1f1b)  /* no value */                                                           \
    X(V_FOR_TWO_WAY, v_for_two_way)   /* no value: two pipelines with a replica each become one */ \
    X(MICRO_BATCH, micro_batch)       /* by a factor */                                            \
    X(TENSOR, tensor)                 /* by a factor */                                            \
    X(CONTEXT, context)               /* by a factor, where parts of a sequence stay long */       \
    X(CONTEXT_METHOD, context_method) /* to enum ty_context_method */                              \
    X(EXPERT, expert)                 /* by a factor, on a grid of its own */                      \
    X(EXPERT_TENSOR, expert_tensor)   /* by a factor */                                            \
    X(PIPELINE, pipeline)             /* by a factor */                                            \
    X(TRADE, trade)                   /* by a factor: ranks of the pipeline go to tensor groups */ \
    X(CHUNKS, chunks)                 /* by a factor */                                            \
    X(FUSED_LOSS, fused_loss)         /* true or false */                                          \
    X(OVERLAP_GRAD_REDUCE, overlap_grad_reduce)         /* true or false */                        \
    X(OVERLAP_PARAM_GATHER, overlap_param_gather)       /* true or false */                        \
    X(OVERLAP_TENSOR_REDUCE, overlap_tensor_reduce)     /* true or false */                        \
    X(OVERLAP_TENSOR_PRODUCTS, overlap_tensor_products) /* true or false */                        \
    X(OVERLAP_P2P, overlap_p2p)                         /* true or false */                        \
    X(EXPERT_OVERLAP, expert_overlap)                   /* true or false */                        \
    X(DISPATCHER, dispatcher) /* to enum ty_dispatcher, where experts are on several ranks */      \
    X(SHARED_OVERLAP, shared_overlap)     /* true or false */                                      \
    X(OVERLAP_DISPATCH, overlap_dispatch) /* true or false */                                      \
    X(REDUCE_SCATTER, reduce_scatter)     /* true or false */                                      \
    X(RESHARD, reshard)                   /* true or false */                                      \
    X(PREFETCH, prefetch)                 /* to so many units */

enum ty_change_kind {
#define X(id, function) TY_CHANGE_##id,
    TY_CHANGES(X)
#undef X
};

/* Makes a change. Returns false where the configuration is like that already, or cannot be. */
bool ty_change_make(struct ty_config *c, enum ty_change_kind kind, int to);

/* Notes what differs between two configurations, except data ranks, which ty_change_finish notes.
 * Texts are the arena's. Returns TY_ENOMEM. */
int ty_change_note(struct ty_change *change, struct ty_config *before, struct ty_config *after,
                   struct ty_arena *arena);

/* Appends one of its texts as a shell takes it: "'layout.stage_layers=[15, 16]'". */
void ty_change_put(struct ty_text *text, const char *set);

/* Completes and checks a changed copy, and notes what follows from the change. Returns 0,
 * TY_ENOMEM, or why the layout or the schedule refuses the change. */
int ty_change_finish(struct ty_change *change, const struct ty_config *original,
                     struct ty_config *c, struct ty_arena *arena, struct ty_err *why);

#endif
