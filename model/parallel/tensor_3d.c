/* tensor_3d.c - tensor parallelism on a cube of q x q x q ranks (Bian et al. 2021).
 *
 * Rank (i, j, l) has of an input X rows i, of these the part j, and columns l; of W rows l, columns
 * j and the part i of that. It gathers X(i, l) over j and W(l, j) over i, multiplies, and sums up
 * Y(i, j) over l, of which it keeps the part l: an input whose columns are j, so that the next
 * product has input and output groups the other way round (ColossalAI, legacy,
 * layer/parallel_3d/_operation.py, swap_in_out_group).
 *
 *     forward    gather X, gather W    product      scatter Y
 *     backward   gather dY    dX, scattered next to dW    dW, scattered until the end of the pass
 *
 * Gathered X and W are kept; with layout.keep_gathered false they are gathered again. A norm sums
 * over the group that has its columns; its parameters and biases are whole on each. */
#include "model/parallel/mesh.h"

static struct ty_op_comm comm(enum ty_comm_group group, enum ty_coll coll, double bytes)
{
    return (struct ty_op_comm){.group = (uint8_t)group, .coll = (uint8_t)coll, .bytes = bytes};
}

static struct ty_op_move move(enum ty_comm_group group, enum ty_coll coll, double bytes)
{
    return (struct ty_op_move){(uint8_t)group, (uint8_t)coll, bytes};
}

/* What the forward gathers, for its backward. Products that have one input gather it each: the
 * first has its rank's part of it from the norm. */
static void keep(const struct ty_block_maker *b, const struct ty_unit_op *op, double x, double w,
                 uint32_t q)
{
    const uint32_t at = (uint32_t)(op - b->out->op);
    const bool own = at == 0 || b->out->op[at - 1].weight == NULL;
    ty_block_keep_input(b, at, 0, at, "gathered input", own ? x - x / q : x);
    ty_block_keep(b, at, at, "gathered weights", w);
}

static void again(const struct ty_block_maker *b, struct ty_unit_op *op, const struct ty_op_comm *x,
                  const struct ty_op_comm *w)
{
    ty_block_comm(op, TY_BEFORE_DGRAD, w, 1);
    ty_block_comm(op, TY_BEFORE_WGRAD, x, 1);
    ty_block_need_most(b, op->part, "gathered operands of a GEMM", x->bytes + w->bytes);
}

static void product(const struct ty_block_maker *b, struct ty_unit_op *op, uint32_t q)
{
    const double e = ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    const enum ty_comm_group in = op->row ? TY_GROUP_OUTPUT : TY_GROUP_INPUT;
    const enum ty_comm_group out = op->row ? TY_GROUP_INPUT : TY_GROUP_OUTPUT;
    struct ty_matmul *m = &op->kernel[0].matmul;
    m->rows *= q;
    const double w = e * m->in * m->out, y = e * m->rows * m->out;
    const struct ty_op_comm inputs = comm(in, TY_COLL_ALL_GATHER, e * m->rows * m->in),
                            weights = comm(TY_GROUP_WEIGHT, TY_COLL_ALL_GATHER, w),
                            sums = comm(out, TY_COLL_REDUCE_SCATTER, y),
                            grads = comm(out, TY_COLL_ALL_GATHER, y),
                            back = comm(in, TY_COLL_REDUCE_SCATTER, inputs.bytes);
    op->column = true; /* its weight gradient is an operation of its own */
    ty_block_comm(op, TY_BEFORE_FORWARD, &inputs, 1);
    ty_block_comm(op, TY_BEFORE_FORWARD, &weights, 1);
    ty_block_comm(op, TY_AFTER_FORWARD, &sums, 1);
    ty_block_comm(op, TY_BEFORE_DGRAD, &grads, 1);
    ty_block_comm(op, TY_AFTER_DGRAD, &back, 1);
    ty_block_grad(op, move(TY_GROUP_WEIGHT, TY_COLL_REDUCE_SCATTER, w));
    ty_block_need_most(b, op->part, "gathered gradient of a GEMM", y);
    if (b->layout->keep_gathered) {
        keep(b, op, inputs.bytes, w, q);
    } else {
        again(b, op, &inputs, &weights);
    }
    if (op->bias > 0) {
        ty_block_grad(op, move(out, TY_COLL_ALL_REDUCE, e * op->bias));
        ty_block_grad(op, move(TY_GROUP_WEIGHT, TY_COLL_ALL_REDUCE, e * op->bias));
    }
}

/* Sums of x and of its square in one, of RMS norms of the square only. */
static void norm(const struct ty_block_maker *b, struct ty_unit_op *op)
{
    const double e = ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    const uint32_t n = b->arch->norm_kind == TY_NORM_LAYER ? 2 : 1;
    const struct ty_op_comm sums =
        comm(TY_GROUP_OUTPUT, TY_COLL_ALL_REDUCE, n * e * b->shard.tokens);
    ty_block_comm(op, TY_AFTER_FORWARD, &sums, 1);
    ty_block_comm(op, TY_AFTER_DGRAD, &sums, 1);
    ty_block_grad(op, move(TY_GROUP_INPUT, TY_COLL_ALL_REDUCE, n * e * b->shard.hidden));
    ty_block_grad(op, move(TY_GROUP_WEIGHT, TY_COLL_ALL_REDUCE, n * e * b->shard.hidden));
}

/* A product with tokens for an input: nothing of that is gathered. What it gives is the input of a
 * layer, so that it sums up over the input group. */
static void embedding(const struct ty_block_maker *b, struct ty_unit_op *op, uint32_t q)
{
    const double e = ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    const double y = q * ty_block_hidden_bytes(b);
    const double w = e * b->shard.vocabulary * b->shard.hidden;
    const struct ty_op_comm weights = comm(TY_GROUP_WEIGHT, TY_COLL_ALL_GATHER, w),
                            sums = comm(TY_GROUP_INPUT, TY_COLL_REDUCE_SCATTER, y),
                            grads = comm(TY_GROUP_INPUT, TY_COLL_ALL_GATHER, y);
    op->kernel[0].elements *= q;
    ty_block_comm(op, TY_BEFORE_FORWARD, &weights, 1);
    ty_block_comm(op, TY_AFTER_FORWARD, &sums, 1);
    ty_block_comm(op, TY_BEFORE_DGRAD, &grads, 1);
    ty_block_grad(op, move(TY_GROUP_WEIGHT, TY_COLL_REDUCE_SCATTER, w));
}

/* Of a token the 32-bit maximum, target logit and sum of exponentials, or all its logits, whose
 * gradient is cut, which takes nobody else. */
static void loss(const struct ty_block_maker *b, struct ty_unit_op *op)
{
    const double e = ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    struct ty_op_comm sums = comm(TY_GROUP_INPUT, TY_COLL_ALL_REDUCE, 4 * b->shard.tokens);
    const struct ty_op_comm logits =
        comm(TY_GROUP_INPUT, TY_COLL_ALL_GATHER, e * b->shard.tokens * b->arch->vocabulary);
    sums.calls = 3;
    ty_block_comm(op, op->loss ? TY_AFTER_FORWARD : TY_BEFORE_FORWARD, op->loss ? &sums : &logits,
                  1);
}

void ty_mesh_3d_around(const struct ty_block_maker *b, const struct ty_mesh *mesh,
                       struct ty_unit_op *op)
{
    if (op->first) {
        embedding(b, op, mesh->side);
    } else if (op->kernel[0].op == TY_OPERATOR_MATMUL) {
        product(b, op, mesh->side);
    } else if (op->n_weights > 0 && op->kernel[op->n_kernels - 1].op == TY_OPERATOR_NORM) {
        norm(b, op);
    } else if (op->kernel[0].op == TY_OPERATOR_CROSS_ENTROPY) {
        loss(b, op);
    }
}
