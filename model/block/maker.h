/* maker.h - writes lists of operators, for the blocks of a layer and the kinds of parallelism. */
#ifndef TY_MODEL_BLOCK_MAKER_H
#define TY_MODEL_BLOCK_MAKER_H

#include "model/block/block.h"
#include "topology/collectives/coll.h"

/* What a list is made from. */
struct ty_block_maker {
    const struct ty_arch *arch;
    const struct ty_layout *layout;
    struct ty_shard shard;
    enum ty_unit_kind kind;
    uint32_t layer; /* of layers: the first like this kind */
    struct ty_unit_ops *out;
};

/* An operator at the end of the list, empty but for its names; its number is out->n - 1. */
struct ty_unit_op *ty_block_op(struct ty_block_maker *b, enum ty_part part, const char *name,
                               const char *backward, const char *weight);

/* Kernels at the end of an operator, on `elements` where one is that simple. */
void ty_block_kernel(struct ty_unit_op *op, const struct ty_kernel *kernel);
void ty_block_elementwise(const struct ty_block_maker *b, struct ty_unit_op *op,
                          enum ty_operator kind, int variant, double elements);
/* A norm of hidden states, and its weights. */
void ty_block_norm(const struct ty_block_maker *b, struct ty_unit_op *op);
/* A product in the type of the unit's products; nothing else that a linear layer has. */
void ty_block_product(const struct ty_block_maker *b, struct ty_unit_op *op, double rows, double in,
                      double out);
/* n products with one input: one matrix, or several that are modules of their own. */
void ty_block_linear(const struct ty_block_maker *b, struct ty_unit_op *op, double in,
                     const double *out, uint32_t n);
void ty_block_weight(struct ty_unit_op *op, const char *name, double params);
/* Of the weight made last: parameters of its bias. */
void ty_block_beside(struct ty_unit_op *op, double params);
void ty_block_whole_weight(struct ty_unit_op *op, const char *name, double params);

/* ---- adapters.c ---- */

/* Whether weights of a part are frozen. */
bool ty_block_freezes(const struct ty_block_maker *b, enum ty_part part);
/* What an operator keeps of the input of matrices for their weight gradients: `bytes`, of frozen
 * ones nothing, unless an adapter reads as many elements. */
double ty_block_kept_input(const struct ty_block_maker *b, const struct ty_unit_op *op,
                           uint32_t targets, double elements, double bytes);
/* Whether some matrix of an operator has an adapter. */
bool ty_block_is_adapted(const struct ty_block_maker *b, const struct ty_unit_op *op);
/* Adapters into a finished list, and what frozen weights leave out of it. */
void ty_block_adapt(struct ty_block_maker *b);

/* ---- fp8.c ---- */

/* Type of the products of a unit: fp8 or NVFP4 in layers only, but for those that stay wide;
 * whether this is one, whether they are in MXFP8, and whether tensors are cast for them. */
int ty_block_product_dtype(const struct ty_block_maker *b);
bool ty_block_is_narrow(const struct ty_block_maker *b);
bool ty_block_is_mx(const struct ty_block_maker *b);
bool ty_block_casts(const struct ty_block_maker *b);
/* Casts of `in` elements that the next products of an operator read, of `out` that gradients are
 * of, and of weights; the same of a linear layer with so many columns. */
void ty_block_fp8(const struct ty_block_maker *b, struct ty_unit_op *op, double in, double out,
                  double weights);
void ty_block_fp8_weights(const struct ty_block_maker *b, struct ty_unit_op *op, double weights);
void ty_block_fp8_linear(const struct ty_block_maker *b, struct ty_unit_op *op, double in,
                         double out);
/* Elements whose cast takes as long as casting `own` and transposing `all`. */
double ty_block_fp8_shares(const struct ty_block_maker *b, double own, double all);
/* Bytes of an element of what is kept of the input of a product. */
double ty_block_operand_bytes(const struct ty_block_maker *b);
/* The same of what SwiGLU of experts read. */
double ty_block_cache_bytes(const struct ty_block_maker *b);
/* The same of the output of attention, for the backward of its core and of proj. */
struct ty_output_bytes {
    double core, proj; /* proj 0: it reads the core's */
};
struct ty_output_bytes ty_block_output_bytes(const struct ty_block_maker *b);

/* Whether products run during what is gathered and scattered of tokens: each is an operator of its
 * own then. */
bool ty_block_overlaps_products(const struct ty_block_maker *b);

/* ---- bytes ---- */

/* Bytes of the hidden states of a micro-batch. */
double ty_block_hidden_bytes(const struct ty_block_maker *b);
/* Bytes of a token on the way to experts, or back. */
double ty_block_row_bytes(const struct ty_block_maker *b, bool to_experts);
/* Bytes that are kept of the input of a column-parallel product. */
double ty_block_input_bytes(const struct ty_block_maker *b);
/* `times` operations like this at a place; of one call each unless it says more. */
void ty_block_comm(struct ty_unit_op *op, enum ty_comm_place place, const struct ty_op_comm *comm,
                   uint32_t times);

/* One more collective about the weight gradients of an operator. */
void ty_block_grad(struct ty_unit_op *op, struct ty_op_move move);

/* A collective of tensor ranks about what a column-parallel operator needs whole: `times` of hidden
 * states, or one for each of its own inputs. */
void ty_block_column_comm(const struct ty_block_maker *b, struct ty_unit_op *op,
                          enum ty_comm_place place, enum ty_coll coll, uint32_t times);

/* A tensor that operator `made` leaves for operator `used`; see struct ty_saved. Nothing is noted
 * of no bytes. */
void ty_block_keep(const struct ty_block_maker *b, uint32_t made, uint32_t used, const char *name,
                   double bytes);
/* Left by that kernel of the maker instead of its first. */
void ty_block_keep_of(const struct ty_block_maker *b, uint32_t made, uint32_t kernel, uint32_t used,
                      const char *name, double bytes);
/* The same of what a product reads, and its weight gradient again. */
void ty_block_keep_input(const struct ty_block_maker *b, uint32_t made, uint32_t kernel,
                         uint32_t used, const char *name, double bytes);
/* One that is there for a moment. */
void ty_block_need(const struct ty_block_maker *b, enum ty_tensor_life life, enum ty_part part,
                   const char *name, double bytes);

/* While the backward of a part runs: the most of what its operators need one after the other. */
void ty_block_need_most(const struct ty_block_maker *b, enum ty_part part, const char *name,
                        double bytes);

/* What the gradient of the largest weight of an operator needs before it is added to those of
 * earlier micro-batches. */
void ty_block_need_wgrad(const struct ty_block_maker *b, enum ty_tensor_life life,
                         const struct ty_unit_op *op, const char *name);

/* The gradients that weight gradients of a finished list read: of what its products give. */
void ty_block_hold_gradients(const struct ty_block_maker *b);

/* The parts of units, each in its own file. */
void ty_block_attention(struct ty_block_maker *b);
void ty_block_indexer(struct ty_block_maker *b);
/* native.c: kinds of keys that a query sees, each with a head of its own; what makes and chooses
 * some before the core; the core, of a kernel over all keys. */
double ty_block_branches(const struct ty_arch *arch);
void ty_block_compress(struct ty_block_maker *b);
void ty_block_three_cores(struct ty_block_maker *b, struct ty_unit_op *op);
void ty_block_state(struct ty_block_maker *b, enum ty_layer_block block);
/* What layers that share weights have less of, and beside (shared.c). */
void ty_block_share(struct ty_block_maker *b);
/* n mixes of every token and the one before it, at the beginning of operator `at`. */
void ty_block_shift(struct ty_block_maker *b, uint32_t at, uint32_t n);
void ty_block_mlp(struct ty_block_maker *b);
void ty_block_experts(struct ty_block_maker *b);

#endif
