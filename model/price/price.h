/* price.h - what the kernels and collectives of a layout cost: one price list, which model/lower
 * turns into kinds of operations and sim/plan into the least time of a unit.
 *
 * Kernels are priced by kind of unit and kind of GPU, a slice of a sequence at a time. Collectives
 * are priced where their group lies, when somebody asks: a layout has few groups, but a group may
 * lie in many ways. */
#ifndef TY_PRICE_H
#define TY_PRICE_H

#include "model/block/buckets.h"
#include "model/price/book.h"
#include "topology/exceptions.h"

/* ---- kernels ---- */

/* What is computed of an operator: in the order of struct ty_op_costs. A full backward pass runs
 * DGRAD and, where a collective overlaps it, WGRAD; a split one INPUT and WEIGHT. */
enum ty_op_pass {
    TY_OP_FORWARD,
    TY_OP_DGRAD,
    TY_OP_WGRAD,
    TY_OP_RECOMPUTE,
    TY_OP_INPUT,
    TY_OP_WEIGHT,
    TY_N_OP_PASSES
};

/* Whether the weight gradient is a computation of its own, because a collective overlaps it. */
static inline bool ty_op_splits_wgrad(const struct ty_unit_op *op)
{
    return (op->column || op->pieces.n > 0) && !op->frozen;
}
/* Whether an operator runs in pieces in a pass. */
bool ty_op_in_pieces(const struct ty_unit_op *op, enum ty_op_pass pass);

/* Where a price list is for: filled in by who asks for it. */
struct ty_price_list {
    const struct ty_cluster *cluster;
    const struct ty_arch *arch;
    const struct ty_layout *layout;
    uint32_t slices;
    const struct ty_reach *reach[TY_N_COMM_GROUPS]; /* how a group of each kind lies; NULL: there is
                                                     * none. Hosts wait for its collectives. */
    bool used[TY_GENERATIONS_MAX];                  /* kinds of GPUs that some rank has */
};

struct ty_prices {
    struct ty_price_list of;
    const struct ty_units *units; /* what the model consists of, a whole micro-batch at a time */
    const struct ty_units *part;  /* the same, a slice of it at a time */
    struct ty_grads grads;        /* of its units: which buckets they fill */
    struct ty_unit_costs (*unit)[TY_N_UNIT_KINDS]; /* [generations x slices]; not used: zero */
    double host_s[TY_GENERATIONS_MAX]; /* the GPU waits for its host before a pass of a pipeline */
    struct ty_layer_costs layer; /* a mean layer on the slowest GPU, for generators of orders */
};

/* units[2]: room for lists of units, for whole micro-batches and, with slices, for slices. */
int ty_prices_make(struct ty_prices *out, const struct ty_price_list *of, struct ty_units *units,
                   struct ty_arena *arena, struct ty_err *err);

/* A pass of an operator, in a slice, on a kind of GPU. nth = 0 is all of it, its first round, each
 * of its steps, or what is left behind its pieces; else another round or any piece. Layers take
 * `by` times as long. */
struct ty_price_at {
    uint32_t generation, slice;
    enum ty_unit_kind unit;
    uint32_t op;
    enum ty_op_pass pass;
    uint32_t nth;
};
struct ty_cost ty_price_pass(const struct ty_prices *prices, const struct ty_price_at *at,
                             double by);

/* ---- collectives ---- */

/* The collectives of an operator are numbered, in the order in which they are priced: item i of
 * place p is TY_COMM_PLACE + p * TY_PLACE_COMMS + i, what is brought for a step of direction d
 * TY_COMM_STEP + d * (TY_STEP_BLOCKS + 1) + k, and the sum of its results follows. */
enum {
    TY_COMM_SHARE,                     /* [2] shares of pieces: forward, backward */
    TY_COMM_ROUND = TY_COMM_SHARE + 2, /* [4] messages of a ring: forward; backward the first, a
                                        * middle one, the last */
    TY_COMM_PLACE = TY_COMM_ROUND + 4,
    TY_COMM_STEP = TY_COMM_PLACE + TY_N_COMM_PLACES * TY_PLACE_COMMS,
    TY_COMM_GRAD = TY_COMM_STEP + (TY_WGRAD + 1) * (TY_STEP_BLOCKS + 1), /* of weight gradients */
    TY_OP_COMMS = TY_COMM_GRAD + TY_OP_GRADS
};
static inline uint32_t ty_comm_place(enum ty_comm_place place, uint32_t item)
{
    return TY_COMM_PLACE + (uint32_t)place * TY_PLACE_COMMS + item;
}
static inline uint32_t ty_comm_step(enum ty_direction way, uint32_t block)
{
    return TY_COMM_STEP + (uint32_t)way * (TY_STEP_BLOCKS + 1) + block;
}

/* A collective as it is priced. */
struct ty_priced_comm {
    enum ty_comm_group group;
    enum ty_coll coll;
    enum ty_phase phase;
    double bytes, calls;                /* as struct ty_op_comm has them */
    const char *name;                   /* in traces; NULL: that of the collective */
    const struct ty_exchange *exchange; /* in place of `coll`; NULL: none */
    double rank_s, copies; /* longer for each rank of the group, s; for so many passes of its
                            * bytes through GPU memory; */
    double unaligned;      /* for so many times its bytes, if the part of a rank is not aligned */
    double element_B;      /* of the tensor that is cut into parts */
    bool copied;           /* by copy engines, which slow nothing down */
};
/* The one in a slot. False: the operator has none there. */
bool ty_price_slot(const struct ty_unit_op *op, uint32_t slot, struct ty_priced_comm *out);

/* What all ranks of the group pay for all calls: seconds. `alone`: with its links to itself, by the
 * algorithm that was chosen for those that share them. */
double ty_price_comm(const struct ty_cluster *cluster, const struct ty_priced_comm *comm,
                     const struct ty_reach *reach, bool alone, struct ty_coll_cost *out);

/* A bucket of so many parameters of a rank: how it is reduced; how updated weights come back after
 * the optimizer, or in every pass. */
struct ty_priced_comm ty_price_reduce(const struct ty_layout *layout, enum ty_comm_group group,
                                      double params);
struct ty_priced_comm ty_price_gather(const struct ty_layout *layout, enum ty_comm_group group,
                                      enum ty_phase phase, double params);

#endif
