/* buckets.h - gradients of a stage in the buckets that are reduced together, and what of weights
 * and gradients is whole on a rank that keeps shards of them.
 *
 * Gradients become known in reverse order of use, matrix by matrix. A bucket takes whole matrices
 * and closes as soon as it holds as much as it should (PyTorch's DistributedDataParallel, whose
 * first bucket is small so that reduction begins early; Megatron-LM does the same with one size).
 * It is reduced when the part of the layer that it closes in, attention or MLP, has run its
 * backward. What is left when the first parameter is reached, the embedding as a rule, is the last
 * bucket: no computation is left that could hide it. ZeRO-3 reduces unit by unit, as it gathers.
 *
 * Gradients of experts fill buckets of their own: other ranks have the same experts than have the
 * same rest of a layer. What a rank has alone is in no bucket. */
#ifndef TY_MODEL_BUCKETS_H
#define TY_MODEL_BUCKETS_H

#include "model/block/memory.h"

#define TY_PIECES 12u /* most weights of a part */

/* A matrix whose gradient becomes known in the backward of a part of its unit. */
struct ty_grad_piece {
    double params;
    uint8_t group;     /* enum ty_comm_group */
    uint8_t part;      /* its number in the unit, forward order */
    uint8_t unused[6]; /* no padding: equal ones have the same bytes */
};

/* Of a unit, in the order in which gradients become known. */
struct ty_grad_unit {
    struct ty_grad_piece piece[2 * TY_PIECES]; /* [n] */
    uint32_t n;
    enum ty_part part[2]; /* [n_parts] in forward order */
    uint32_t n_parts;
    double params, experts; /* of it: those of experts that other ranks have than have the rest */
    double gathered, gathered_experts; /* the same of all weights, frozen ones by their bytes */
};

/* Of all units of a model. */
struct ty_grads {
    struct ty_grad_unit kind[TY_N_UNIT_KINDS];
};
void ty_grads_make(struct ty_grads *grads, const struct ty_units *units,
                   const struct ty_layout *layout);

/* Parameters of a unit whose gradients are added up in a group: TY_GROUP_DATA, EXPERT_DATA. 0: a
 * rank has them alone. */
double ty_grads_shared(const struct ty_grad_unit *unit, const struct ty_layout *layout,
                       enum ty_comm_group group);

/* The same of what is gathered: trained ones and, by their bytes, frozen ones. */
double ty_grads_gathered(const struct ty_grad_unit *unit, const struct ty_layout *layout,
                         enum ty_comm_group group);

/* The units of a virtual stage, in forward order: kinds, enum ty_unit_kind. */
struct ty_grad_stage {
    const uint8_t *unit; /* [n_units] */
    uint32_t n_units;
};

/* A bucket closes in a part of a unit. */
typedef void ty_bucket_fn(void *arg, uint32_t unit, uint32_t part, enum ty_comm_group group,
                          double params);

/* Calls `close` for every bucket of a stage, in the order in which they close. */
void ty_grads_buckets(const struct ty_grads *grads, const struct ty_layout *layout,
                      const struct ty_grad_stage *stage, ty_bucket_fn *close, void *arg);

/* What is whole at most on a rank with these stages. whole_chunks: as in struct ty_sched. */
struct ty_whole ty_grads_whole(const struct ty_grads *grads, const struct ty_layout *layout,
                               const struct ty_grad_stage *stage, uint32_t n, bool whole_chunks);

#endif
