/* parallel.h - kinds of parallelism: how ranks share a model, each in one file of model/parallel.
 *
 * A kind has ranks, a rule of what they have to divide, a share that each of them keeps, and what
 * it does to the operators of a block (model/block/block.h): mostly collectives, before and after
 * them, among the ranks of a group. Sequence parallelism and recomputation are such kinds, too,
 * though they have no ranks of their own. */
#ifndef TY_MODEL_PARALLEL_H
#define TY_MODEL_PARALLEL_H

#include "model/layout.h"
#include "model/vocabulary.h"

/* Ranks that talk to each other while a pass runs or about its gradients. id; name in traces; the
 * stream and the category of what they say. */
#define TY_COMM_GROUPS(X)                                                                          \
    X(TENSOR, "tp", TENSOR, COMM_TENSOR)                                                           \
    X(DATA, "dp", DATA, COMM_DATA) /* share states; "shard" where there are several groups */      \
    X(REPLICA, "replica", REPLICA, COMM_DATA) /* hybrid sharding: have the same shard */           \
    X(CONTEXT, "cp", CONTEXT, COMM_CONTEXT)                                                        \
    X(CONTEXT_INNER, "cp heads", CONTEXT, COMM_CONTEXT) /* hybrid: neighbours, all-to-all */       \
    X(CONTEXT_OUTER, "cp ring", CONTEXT, COMM_CONTEXT)  /* hybrid: every inner-th, a ring */       \
    X(EXPERT, "ep", EXPERT, COMM_EXPERT)                /* have other experts of a layer */        \
    X(EXPERT_TENSOR, "etp", EXPERT, COMM_EXPERT)        /* have parts of the same experts */       \
    X(EXPERT_ALL, "ep x etp", EXPERT, COMM_EXPERT)      /* where there are both: all of them */    \
    X(EXPERT_DATA, "edp", DATA, COMM_DATA)              /* share states of the same experts */     \
    X(ROW, "tp row", ROW, COMM_TENSOR)          /* 2d, 2.5d: have blocks of the same tokens, */    \
    X(COLUMN, "tp column", COLUMN, COMM_TENSOR) /* of the same columns of weights, */              \
    X(DEPTH, "tp depth", DEPTH, COMM_TENSOR)    /* 2.5d: the same weights */                       \
    X(INPUT, "tp input", COLUMN, COMM_TENSOR)   /* 3d: gather an input, */                         \
    X(WEIGHT, "tp weight", DEPTH, COMM_TENSOR)  /* a weight, */                                    \
    X(OUTPUT, "tp output", ROW, COMM_TENSOR)    /* sum up an output; the next product takes it     \
                                                 * for an input, and the other way round */

enum ty_comm_group {
#define X(id, name, stream, category) TY_GROUP_##id,
    TY_COMM_GROUPS(X)
#undef X
    TY_N_COMM_GROUPS
};

/* Where a group lies: in the grid of ranks, one axis of which may be cut for it, along `dims` (bits
 * of enum ty_axis), and among the members of a gang, which are numbered by tensor, context and data
 * rank: `count` of them, `stride` apart.
 *
 * Experts have a grid of their own: expert-tensor, expert and expert-data ranks in place of the
 * first three axes, made from the numbers of members whatever the order of the grid; of its ranks
 * only those numbers are known, gang after gang, and not where they sit. */
struct ty_comm_span {
    struct ty_grid grid;
    unsigned dims;
    uint32_t stride, count;
};
const char *ty_comm_group_name(enum ty_comm_group group);
struct ty_comm_span ty_comm_span(const struct ty_layout *layout, const struct ty_grid *grid,
                                 enum ty_comm_group group);

/* How the group of each rank lies across nodes: [n_ranks]. NULL: no memory. The arena's. */
struct ty_reach *ty_comm_reaches(const struct ty_layout *layout, const struct ty_grid *grid,
                                 enum ty_comm_group group, const struct ty_grid *seen,
                                 struct ty_arena *arena);

/* Where a rank is in the grid of experts: 0, 0, 0 without any. */
struct ty_expert_place {
    uint32_t tensor, expert, data;
};
struct ty_expert_place ty_expert_place(const struct ty_layout *layout, const struct ty_grid *grid,
                                       uint32_t rank);

/* How the ranks that have one copy of the experts of all stages between them lie: [n_ranks]. */
struct ty_reach *ty_comm_expert_copies(const struct ty_layout *layout, const struct ty_grid *grid,
                                       struct ty_arena *arena);

struct ty_shard;
struct ty_unit_op;
struct ty_block_maker;

struct ty_parallel {
    /* Whether the layout can be: TY_EINPUT, with a message at the value to change. Called once
     * those before it hold; `gpus`: of the job. NULL: always. */
    int (*check)(const struct ty_layout *layout, const struct ty_section *section,
                 const struct ty_arch *arch, uint32_t gpus, struct ty_err *err);
    /* What it leaves of the whole for one rank; NULL: all. */
    void (*shard)(const struct ty_arch *arch, const struct ty_layout *layout,
                  struct ty_shard *shard);
    /* What it does to an operator; NULL: nothing. */
    void (*around)(const struct ty_block_maker *b, struct ty_unit_op *op);
};

#endif
