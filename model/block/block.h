/* block.h - what a model consists of, as data: lists of operators.
 *
 * A model is an embedding, layers and a head; each is a unit, and a unit is a list of operators in
 * the order of its forward pass, as one rank executes them on one micro-batch:
 *
 *     embedding   embedding >
 *     layer       norm  > qkv  attention  proj >   norm  > mlp >
 *                                           or >   norm  router  permute  experts  unpermute
 *     head        > logits and loss        or > logits, gathered, and loss
 *
 * and, where it predicts further tokens, for each of these between layers and head
 *
 *     mtp         embedding >  norms > projection, gathered    a layer    > logits and loss
 *
 * `>` before an operator: tensor ranks have to bring its input together (it is column-parallel);
 * after: its result is a sum over them (row-parallel). An operator knows its kernels, its weights,
 * and what it keeps for the backward pass. Files named for what they describe write that (mlp.c,
 * experts.c, ...), called from block.c; a new kind of block is one more.
 * Kinds of parallelism (model/parallel.h) then say what a rank has of it, and put collectives
 * around it. Everything else reads these lists:
 *
 *     price.c     seconds of a forward, an input and a weight gradient, a recomputation
 *     params.c    parameters of a unit, a stage, a model
 *     memory.h    bytes that are kept, recomputed, needed for a moment
 *     lower/      operations, messages, gradient buckets */
#ifndef TY_MODEL_BLOCK_H
#define TY_MODEL_BLOCK_H

#include "model/kernel/kernel.h"
#include "model/layout.h"
#include "model/parallel.h"
#include "model/vocabulary.h"
#include "sim/core/program/program.h"
#include "topology/collectives/exchange.h"

/* Kinds of units. Layers of a model may be of several kinds, TY_UNIT_LAYER and those after it: by
 * window, experts, and what of them runs again; one that a model does not have is a list without
 * operators. */
enum ty_unit_kind {
    TY_UNIT_EMBEDDING,
    TY_UNIT_LAYER,
    TY_UNIT_MTP = TY_UNIT_LAYER + TY_LAYER_KINDS, /* what predicts a further token: its input; */
    TY_UNIT_MTP_HEAD,                             /* its logits and loss, behind a layer */
    TY_UNIT_HEAD,
    TY_N_UNIT_KINDS
};
static inline bool ty_unit_is_head(enum ty_unit_kind kind)
{
    return kind == TY_UNIT_HEAD || kind == TY_UNIT_MTP_HEAD;
}
static inline bool ty_unit_is_end(enum ty_unit_kind kind)
{
    return kind == TY_UNIT_EMBEDDING || ty_unit_is_head(kind);
}
static inline bool ty_unit_is_layer(enum ty_unit_kind kind)
{
    return kind >= TY_UNIT_LAYER && kind < TY_UNIT_LAYER + TY_LAYER_KINDS;
}

/* The kind of layer i of a stretch, or of a module's behind it. */
enum ty_unit_kind ty_layer_kind(const struct ty_arch *arch, const struct ty_layers *layers,
                                uint32_t i);
/* All units of a stage; the last has the modules that predict further tokens, each with a layer of
 * the last one's kind: numbers from arch->layers on. */
void ty_stage_count(const struct ty_arch *arch, const struct ty_layers *layers, bool first,
                    bool last, uint32_t count[TY_N_UNIT_KINDS]);
/* All layers of a model, or all its units. */
void ty_model_layers(const struct ty_arch *arch, const struct ty_layout *layout,
                     uint32_t count[TY_N_UNIT_KINDS]);
void ty_model_count(const struct ty_arch *arch, const struct ty_layout *layout,
                    uint32_t count[TY_N_UNIT_KINDS]);
/* Of layers of a kind: the number of the mode they run again in, and the first layer like them, or
 * arch->layers: there is none. */
uint32_t ty_kind_mode(const struct ty_arch *arch, enum ty_unit_kind kind);
uint32_t ty_kind_first(const struct ty_arch *arch, enum ty_unit_kind kind);

/* What a rank has of the model's dimensions, and works on in one micro-batch. */
struct ty_shard {
    double sequences, sequence; /* of a micro-batch; tokens of each */
    double tokens;              /* their product */
    double own_tokens;      /* those whose hidden states it keeps outside the tensor-parallel parts:
                        * fewer with sequence parallelism */
    double context;         /* ranks that share a sequence; what they have of it is above */
    double heads, kv_heads; /* of this rank; at least one of the latter */
    double ffn;             /* inner width */
    double state_heads, state_groups;
    double vocabulary; /* columns of the output matrix */
    double hidden;     /* of the hidden states */
    double cut;        /* parts that the rows of these columns of a matrix are cut in */
    double ranks;      /* that share each weight */
    double experts;    /* routed ones of a layer that this rank has */
    double expert_ffn; /* inner width of each, and of all shared ones */
    double shared_ffn;
    double sent_rows;   /* that its own tokens make, one for each expert they go to */
    double expert_rows; /* that come to its experts, when all get as many */
};

/* What kinds of parallelism leave for a rank; kinds[] ends with NULL. ty_shard_of and ty_units_make
 * of model/parallel/kinds.h have them all. */
struct ty_shard ty_block_shard(const struct ty_arch *arch, const struct ty_layout *layout,
                               const struct ty_parallel *const *kinds);

struct ty_weight {
    const char *name;
    double params; /* on this rank, */
    double beside; /* of them, those of a tensor of its own: a bias */
    uint8_t group; /* enum ty_comm_group: who has the same, and adds up its gradients */
    bool whole; /* every tensor rank has it, and with sequence parallelism part of its gradient */
};

/* A collective of an operator. */
struct ty_op_comm {
    uint8_t group;               /* enum ty_comm_group */
    uint8_t coll;                /* enum ty_coll */
    uint8_t calls;               /* one after the other, drawn as one */
    uint8_t times;               /* operations like this */
    double bytes;                /* of a call, as struct ty_coll_cost counts them */
    const char *name;            /* in traces; NULL: that of the collective */
    struct ty_exchange exchange; /* of tokens: in place of `coll`; none where it has no tokens */
};

/* Where it stands. What a computation gets before it, and all that comes after it, the next one
 * waits for. */
enum ty_comm_place {
    TY_BEFORE_FORWARD,
    TY_AFTER_FORWARD,
    TY_BEFORE_DGRAD,
    TY_AFTER_DGRAD,
    TY_BEFORE_WGRAD, /* next to the input gradient */
    TY_N_COMM_PLACES
};
#define TY_PLACE_COMMS 4u
struct ty_op_comms {
    struct ty_op_comm item[TY_PLACE_COMMS]; /* [n] */
    uint32_t n;
};

/* What an operator has to do with the exchange of rows between expert ranks, bits: dispatch stands
 * after the one whose rows leave, combine after the one whose rows return, and their backward after
 * the input gradients of those that they have brought rows to. */
enum ty_rows_role {
    TY_ROWS_LEAVE = 1,
    TY_ROWS_ARRIVE = 2,
    TY_ROWS_RETURN = 4,
    TY_ROWS_HOME = 8
};

/* An operator in rounds: each has a share of the work, and next to it what the next one needs comes
 * from a neighbour in a ring. Going backward the first message is smaller, and the last one brings
 * home what the first has sent. */
struct ty_op_rounds {
    uint32_t n; /* 0: the operator is of one piece */
    uint32_t
        n_first;   /* of its kernels, run in the first round; the others run in every other one */
    bool uneven;   /* the rank at place r of the ring has work in the first r + 1 rounds only */
    uint8_t group; /* enum ty_comm_group */
    double forward_B;                 /* of a message */
    double first_B, middle_B, last_B; /* backward */
};

/* A product in as many pieces as tensor ranks have shares of the tokens. Before each piece but the
 * first comes the share of another rank, or after each but the last goes what the product gives for
 * one, while the next piece or the one before runs; sums of what came are made at the end. What
 * else the operator has to do comes behind. */
struct ty_op_pieces {
    uint32_t n;     /* 0: the operator is of one piece */
    uint32_t sms;   /* multiprocessors of kernels that sum up what goes; 0: it is copied */
    bool gathers;   /* forward: an input comes, */
    bool scatters;  /* or a result goes; backward its gradient comes, for the input gradient */
    double share_B; /* of a rank */
};

/* Messages of an operator in pieces: sums of kernels take one more, for everybody's share is in
 * each, less a rank's own. */
static inline bool ty_op_sums_pieces(const struct ty_op_pieces *pieces, bool back)
{
    return pieces->sms > 0 && pieces->scatters && !back;
}
static inline uint32_t ty_op_messages(const struct ty_op_pieces *pieces, bool back)
{
    return ty_op_sums_pieces(pieces, back) ? pieces->n : pieces->n - 1;
}
static inline double ty_op_message_bytes(const struct ty_op_pieces *pieces, bool back)
{
    return ty_op_sums_pieces(pieces, back) ? pieces->share_B * (pieces->n - 1) / pieces->n
                                           : pieces->share_B;
}

/* What ranks of a tensor group in more than one dimension say to each other. No bytes: nothing. */
struct ty_op_move {
    uint8_t group, coll; /* enum ty_comm_group, enum ty_coll */
    double bytes;        /* as struct ty_coll_cost counts them */
};

/* Attention and MLP that read the same norm and whose results are added (model.block): the input is
 * gathered and its gradient reduced once, and so is the result. Bits of operators for which another
 * does that: */
enum ty_joined {
    TY_JOINED_INPUT = 1, /* an earlier one has gathered its input, and reduces both gradients */
    TY_JOINED_AGAIN = 2, /* a later one has gathered it again when the weight gradient is due */
    TY_JOINED_RESULT = 4 /* its result is added to a later one's before it is reduced */
};

/* A product in steps, each of blocks that come from who has them, those of the next step while it
 * runs; what it gives of a gradient is summed up where it is kept. By enum ty_direction. */
#define TY_STEP_BLOCKS 2u
struct ty_op_steps {
    uint32_t n; /* 0: the operator is of one piece */
    struct ty_op_move block[TY_WGRAD + 1][TY_STEP_BLOCKS];
    struct ty_op_move sum[TY_WGRAD + 1];
};

#define TY_OP_GRADS   4u
#define TY_OP_KERNELS 20u
#define TY_OP_WEIGHTS 4u
struct ty_unit_op {
    /* in traces; weight NULL: it has no weight gradient to speak of */
    const char *name, *backward, *weight;
    enum ty_part part;
    struct ty_kernel kernel[TY_OP_KERNELS]; /* [n_kernels] in forward order */
    uint32_t n_kernels;
    uint32_t recompute; /* enum ty_recompute, bits: parts of a layer that it belongs to */
    uint32_t again;     /* of its kernels, bits: they run again before the backward pass, */
    bool drops;         /* for what they give: nobody keeps that as an input */
    struct ty_weight weights[TY_OP_WEIGHTS]; /* [n_weights] in forward order, biases included */
    uint32_t n_weights;
    bool column;        /* needs the whole input; its input gradient is a sum over tensor ranks, */
    uint32_t n_reduces; /* reduced once for each matrix that is a module of its own */
    double width[2];    /* of inputs that are not hidden states, one each; 0, 0: it is these */
    bool row;           /* its result is a sum over tensor ranks */
    uint8_t joined;     /* enum ty_joined, bits: what it shares with others of a parallel block */
    bool first;         /* nothing comes before it: it has no input gradient */
    bool frozen;        /* its weights are not trained */
    double stored_B;    /* bytes of a frozen weight */
    double uses;        /* of its weights: they are counted in one of so many; 0: in each */
    bool adapter;       /* it stands beside a matrix of the operator before it (adapters.c) */
    bool lowest;        /* no weight below it is either: its products have no input gradients */
    bool detached;  /* its input is cut off from what is below: it is lowest, and they are not */
    bool loss;      /* tensor ranks exchange what the loss needs after it */
    double bias;    /* columns of its result that a bias is added to */
    double gathers; /* columns of its result that tensor ranks gather; 0: none */
    bool expert;    /* its weights are those of experts, which have ranks of their own */
    bool routed;    /* its work grows with what routing brings to the rank's experts */
    uint8_t rows;   /* enum ty_rows_role */
    double host_s;  /* its forward waits so long for a host of host_speed 1 */
    bool overlaps_comm; /* runs during the collectives issued before it: what comes after it waits
                         * for what they bring */
    struct ty_op_comms comms[TY_N_COMM_PLACES];
    struct ty_op_rounds rounds;
    struct ty_op_steps steps;
    struct ty_op_pieces pieces;
    struct ty_op_move grad[TY_OP_GRADS]; /* of its weight gradients, once they are made, one after
                                          * the other; the end of the step waits for them */
};

/* Whether it is executed as several computations, which struct ty_unit_costs prices apart. */
static inline bool ty_op_has_parts(const struct ty_unit_op *op)
{
    return op->rounds.n > 0 || op->steps.n > 0 || op->pieces.n > 0;
}

/* Whether it runs backward: for its weights, or for those below it. */
static inline bool ty_op_has_backward(const struct ty_unit_op *op)
{
    return !op->lowest || (op->n_weights > 0 && !op->frozen);
}

/* How long a tensor lives. */
enum ty_tensor_life {
    TY_LIFE_KEPT,          /* from the forward to the backward of its micro-batch */
    TY_LIFE_RECOMPUTED,    /* comes back when the backward of its layer runs */
    TY_LIFE_WEIGHT,        /* of a split backward: from its first half to its second */
    TY_LIFE_BACKWARD,      /* while the backward of its layer runs */
    TY_LIFE_LOSS,          /* while head and loss run, */
    TY_LIFE_LOSS_BACKWARD, /* and while the loss runs backward */
    TY_LIFE_BUFFERED,      /* until a later micro-batch's takes its place */
    TY_LIFE_SPLIT,         /* free, and of no use: the largest block of the unit */
    TY_N_LIVES
};

/* A tensor of one micro-batch. What one operator makes and another uses, or makes for its own
 * backward, is given up where both run again, or the first for its output alone: it is recomputed
 * then, not kept. Numbers of operators in the unit, or TY_INPUT: the unit's input. */
#define TY_INPUT UINT32_MAX
struct ty_saved {
    const char *name;
    enum ty_tensor_life life;
    enum ty_part part; /* TY_LIFE_BACKWARD: while the backward of this part runs; NONE: of any */
    double bytes;
    uint32_t made, used; /* by which operators; of what is kept only, */
    uint32_t kernel;     /* and by which of the maker's */
    double routed;       /* bytes of the rows that come to the rank's experts when all get as many;
                          * what `bytes` has beyond is room for more */
    bool weight; /* weight gradients need it: a split backward keeps it for its second half, or
                  * it is there in that half only */
};

#define TY_UNIT_OPS   28u
#define TY_UNIT_SAVED 64u
struct ty_unit_ops {
    struct ty_unit_op op[TY_UNIT_OPS]; /* [n] */
    uint32_t n;
    struct ty_saved saved[TY_UNIT_SAVED]; /* [n_saved] */
    uint32_t n_saved;
    uint32_t recompute; /* enum ty_recompute, bits: what of it runs again */
    bool hybrid;        /* a layer of a pattern, with blocks of its own */
};

/* Shapes of matrices whose weight gradient has a placeholder that stays
 * (framework.wgrad_placeholders), and which kinds of units have them. */
#define TY_PLACEHOLDERS 48u
struct ty_placeholders {
    struct ty_placeholder {
        double in, out;
        uint32_t kinds; /* a bit each */
    } shape[TY_PLACEHOLDERS];
    uint32_t n;
};

/* The units of a model, by enum ty_unit_kind. */
struct ty_units {
    struct ty_shard shard;
    struct ty_placeholders placeholders;
    struct ty_unit_ops kind[TY_N_UNIT_KINDS];
    bool stashed; /* what they keep from forward to backward waits off the GPU */
    bool splits;  /* the largest block of a rank is lost: framework.allocator */
};
void ty_block_units(struct ty_units *units, const struct ty_arch *arch,
                    const struct ty_layout *layout, const struct ty_parallel *const *kinds);

/* mlp.c: the kernel of its activation, enum ty_activation_kernel. */
int ty_activation_of(const struct ty_arch *arch, const struct ty_framework *framework);

/* attention.c: the kernel of rotary embeddings, enum ty_fusion. */
int ty_rotary_of(const struct ty_arch *arch, const struct ty_framework *framework);

/* The kernel of the loss, enum ty_loss_kernel or TY_ANY_KERNEL. */
int ty_loss_of(const struct ty_framework *framework);

/* ---- params.c ---- */

/* Parameters that one rank has of a unit, and of a stage of so many layers: before data-parallel
 * sharding. Key and value heads are kept by several ranks when there are fewer of them than ranks,
 * and a tied output matrix is a copy when the last stage is not the first. */
double ty_unit_params(const struct ty_unit_ops *unit);
double ty_unit_trained_params(const struct ty_unit_ops *unit);
double ty_unit_active_params(const struct ty_unit_ops *unit, const struct ty_arch *arch);
double ty_op_active_params(const struct ty_unit_op *op, const struct ty_arch *arch);
double ty_unit_experts(const struct ty_unit_ops *unit); /* of these, those of experts */
/* Bytes of frozen weights, or of those of experts. */
double ty_unit_frozen_bytes(const struct ty_unit_ops *unit, bool experts);
struct ty_stage_params {
    double all;                        /* that are trained */
    double experts;                    /* which other ranks have the same of than of the rest */
    double whole;                      /* of struct ty_weight */
    double ends;                       /* of embeddings and heads */
    double frozen;                     /* that are not */
    double frozen_B, frozen_experts_B; /* bytes of all of these, and of those of experts */
};
/* Adds so many times another. */
void ty_stage_params_add(struct ty_stage_params *sum, const struct ty_stage_params *other,
                         double times);
struct ty_stage_params ty_stage_params(const struct ty_units *units, const struct ty_arch *arch,
                                       const struct ty_layers *layers, bool first, bool last);
struct ty_stage_params ty_count_params(const struct ty_units *units, const struct ty_arch *arch,
                                       const uint32_t count[TY_N_UNIT_KINDS]);

/* ---- price.c ---- */

/* What an operator costs one rank: `dgrad` is everything an input gradient needs (without weights:
 * the whole backward), `recompute` the forward work repeated before the backward; `input` and
 * `weight` are dgrad and wgrad in passes of their own, where the host may take another time. Times
 * are for an undisturbed GPU and carry its `derate`. */
struct ty_op_costs {
    struct ty_cost forward, dgrad, wgrad, recompute, input, weight;
};
static inline struct ty_op_costs ty_op_costs_times(const struct ty_op_costs *c, double by)
{
    return (struct ty_op_costs){ty_cost_times(c->forward, by), ty_cost_times(c->dgrad, by),
                                ty_cost_times(c->wgrad, by),   ty_cost_times(c->recompute, by),
                                ty_cost_times(c->input, by),   ty_cost_times(c->weight, by)};
}
struct ty_unit_costs {
    struct ty_op_costs op[TY_UNIT_OPS]; /* [n of the unit]: on the rank that has most */
    struct ty_op_costs first[TY_UNIT_OPS], next[TY_UNIT_OPS]; /* of operators in rounds: of the
                                                               * first, of each other; in steps:
                                                               * next, of each; in pieces: of the
                                                               * rest, of each */
};
void ty_op_price(const struct ty_unit_op *op, const struct ty_layout *layout,
                 const struct ty_gpu *gpu, struct ty_op_costs *out); /* of one piece */
void ty_unit_price(const struct ty_unit_ops *unit, const struct ty_layout *layout,
                   const struct ty_gpu *gpu, struct ty_unit_costs *out);

/* One call of a collective of an operator, over a group that lies so. */
double ty_op_comm_seconds(const struct ty_cluster *cluster, const struct ty_op_comm *comm,
                          const struct ty_reach *reach);

/* One call of what ranks on a grid say, each of a group being the root in turn. */
double ty_op_move_seconds(const struct ty_cluster *cluster, const struct ty_op_move *move,
                          const struct ty_reach *reach);

/* All messages of a product in pieces, one behind the other. */
double ty_op_share_seconds(const struct ty_cluster *cluster, const struct ty_op_pieces *pieces,
                           bool back, const struct ty_reach *reach);

/* optimizer.c: one optimizer step over so many parameters, without what its matrices take besides
 * (struct ty_muon). */
struct ty_cost ty_update_cost(const struct ty_gpu *gpu, const struct ty_layout *layout,
                              double params);

/* The same over those that the GPU updates of `params` parameters, `experts` of them of experts,
 * held in full by this rank before ZeRO sharding: ZeRO >= 1 updates its shard, less what the host
 * does of it. */
double ty_optimizer_params(const struct ty_layout *layout, double params, double experts);
struct ty_cost ty_optimizer_cost(const struct ty_gpu *gpu, const struct ty_layout *layout,
                                 double params, double experts);

/* ---- slice.c ---- */

/* Attention of slice q of n, into costs that are a slice's else. Slice q attends to itself and to
 * what came before: 2 q + 1 of the n^2 equal parts of the whole triangle (Li et al., "TeraPipe",
 * ICML 2021, section 3), or what of them a window leaves. */
void ty_unit_slice(const struct ty_unit_ops *unit, const struct ty_unit_costs *whole, uint32_t q,
                   uint32_t n, struct ty_unit_costs *costs);

/* A mean layer; input: and what is computed again for it. */
struct ty_layer_costs {
    struct ty_cost forward, input, weight;
};
struct ty_layer_costs ty_layer_mean(const struct ty_units *units, const struct ty_arch *arch,
                                    const struct ty_layout *layout,
                                    const struct ty_unit_costs unit[TY_N_UNIT_KINDS]);

/* ---- host.c ---- */

/* Seconds of the collectives of a unit, by operator. */
struct ty_unit_waits {
    double seconds[TY_UNIT_OPS][TY_N_COMM_PLACES];
    double steps[TY_UNIT_OPS][TY_WGRAD + 1]; /* next to products in steps or pieces */
};

/* reach: of the groups that are there. */
void ty_unit_waits(const struct ty_unit_ops *unit, const struct ty_layout *layout,
                   const struct ty_cluster *cluster,
                   const struct ty_reach *const reach[TY_N_COMM_GROUPS], struct ty_unit_waits *out);

/* Stretches the passes of a layer, operators in proportion, where the host needs longer to launch
 * them than the GPU to run them: a forward, with the collectives it has to wait for, lasts at least
 * framework.layer_floor / host_speed, a backward, in one pass or two, 1.3 times that. */
void ty_unit_host(const struct ty_unit_ops *unit, const struct ty_layout *layout,
                  const struct ty_gpu *gpu, const struct ty_unit_waits *waits,
                  struct ty_unit_costs *costs);

/* ---- operators ---- */

/* What one kernel of a table of operators (operators.h) costs by the model alone, over `size` of
 * what its curve is over; without a table and without `derate`, as tables hold isolated kernels.
 * `arch` and `layout` say what a row does not. False when this GPU cannot run it: no peak for its
 * type. */
bool ty_operator_cost(const struct ty_gpu *gpu, const struct ty_arch *arch,
                      const struct ty_layout *layout, const struct ty_operator_key *key,
                      double size, struct ty_cost *out);

#endif
