/* tensor_2d.c - tensor parallelism on a grid of q x q ranks (Xu et al. 2021, Optimus), and on d of
 * them (Wang et al. 2021, Tesseract).
 *
 * Rank (i, j) has block (i, j) of every matrix. A product goes in q steps (SUMMA, van de Geijn and
 * Watts 1997); with t the step, X of M x K, W of K x N and Y = X W:
 *
 *     Y(i, j)  = sum over t of X(i, t) W(t, j)      X is broadcast in rows, W in columns
 *     dX(i, t) = sum over j of dY(i, j) W(t, j)'    W is broadcast in columns, dX summed in rows
 *     dW(t, j) = sum over i of X(i, t)' dY(i, j)    X is broadcast in rows, dW summed in columns
 *
 * Blocks of step t + 1 are on their way while step t computes: two buffers (ColossalAI, legacy,
 * layer/parallel_2d/_operation.py). With layout.summa gather a rank gets all its blocks at once: as
 * many bytes, one product. d grids have the same weights and other sequences; their gradients are
 * summed up over depth. (The layer that ColossalAI stores does not do that; the algorithm needs
 * it.)
 *
 * A norm needs sums over the row; its parameters, and biases, are cut q q times and gathered over
 * the column. Logits are those of a vocabulary-parallel matrix like any, or without
 * framework.parallel_loss partial sums over the row of all columns, of a gathered matrix. */
#include "model/parallel/mesh.h"

/* Bytes of the blocks of a product that a rank has. */
struct blocks {
    double x, w;
};

static struct blocks blocks_of(const struct ty_block_maker *b, const struct ty_kernel *product)
{
    const double e = ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    const struct ty_matmul *m = &product->matmul;
    return (struct blocks){e * m->rows * m->in, e * m->in * m->out};
}

static struct ty_op_comm comm(enum ty_comm_group group, enum ty_coll coll, double bytes)
{
    return (struct ty_op_comm){.group = (uint8_t)group, .coll = (uint8_t)coll, .bytes = bytes};
}

static struct ty_op_move move(enum ty_comm_group group, enum ty_coll coll, double bytes)
{
    return (struct ty_op_move){(uint8_t)group, (uint8_t)coll, bytes};
}

/* q steps. */
static void broadcasts(const struct ty_block_maker *b, struct ty_unit_op *op, uint32_t q)
{
    const struct blocks has = blocks_of(b, &op->kernel[0]);
    const struct ty_op_move x = move(TY_GROUP_ROW, TY_COLL_BROADCAST, has.x);
    const struct ty_op_move w = move(TY_GROUP_COLUMN, TY_COLL_BROADCAST, has.w);
    op->steps.n = q;
    op->steps.block[TY_FORWARD][0] = x;
    op->steps.block[TY_FORWARD][1] = w;
    op->steps.block[TY_DGRAD][0] = w;
    op->steps.sum[TY_DGRAD] = move(TY_GROUP_ROW, TY_COLL_REDUCE, has.x);
    op->steps.block[TY_WGRAD][0] = x;
    op->steps.sum[TY_WGRAD] = move(TY_GROUP_COLUMN, TY_COLL_REDUCE, has.w);
    ty_block_need_most(b, op->part, "two blocks of a GEMM's operands", 2 * (has.x + has.w));
}

/* One product of all blocks. */
static void gathers(const struct ty_block_maker *b, struct ty_unit_op *op, uint32_t q)
{
    const struct blocks has = blocks_of(b, &op->kernel[0]);
    struct ty_op_comm x = comm(TY_GROUP_ROW, TY_COLL_ALL_GATHER, q * has.x);
    const struct ty_op_comm w = comm(TY_GROUP_COLUMN, TY_COLL_ALL_GATHER, q * has.w);
    op->kernel[0].matmul.in *= q;
    ty_block_comm(op, TY_BEFORE_FORWARD, &x, 1);
    ty_block_comm(op, TY_BEFORE_FORWARD, &w, 1);
    ty_block_comm(op, TY_BEFORE_DGRAD, &w, 1);
    ty_block_comm(op, TY_BEFORE_WGRAD, &x, 1);
    x.coll = TY_COLL_REDUCE_SCATTER;
    ty_block_comm(op, TY_AFTER_DGRAD, &x, 1);
    ty_block_grad(op, move(TY_GROUP_COLUMN, TY_COLL_REDUCE_SCATTER, q * has.w));
    ty_block_need_most(b, op->part, "gathered operands of a GEMM", q * (has.x + has.w));
}

/* All columns of the output matrix, of which a rank has some rows. */
static void classifier(const struct ty_block_maker *b, struct ty_unit_op *op, uint32_t q)
{
    struct ty_matmul *m = &op->kernel[0].matmul;
    const double e = ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    m->out *= q;
    const double w = e * m->in * m->out;
    const struct ty_op_comm gather = comm(TY_GROUP_COLUMN, TY_COLL_ALL_GATHER, w),
                            sum = comm(TY_GROUP_ROW, TY_COLL_ALL_REDUCE, e * m->rows * m->out);
    const uint32_t at = (uint32_t)(op - b->out->op);
    ty_block_comm(op, TY_BEFORE_FORWARD, &gather, 1);
    ty_block_comm(op, TY_AFTER_FORWARD, &sum, 1);
    ty_block_grad(op, move(TY_GROUP_COLUMN, TY_COLL_REDUCE_SCATTER, w));
    ty_block_keep(b, at, at, "gathered output matrix", w);
}

/* Grids sum up what each has of a gradient. */
static void grids(struct ty_unit_op *op, const struct ty_mesh *mesh, double bytes)
{
    if (mesh->depth > 1) {
        ty_block_grad(op, move(TY_GROUP_DEPTH, TY_COLL_ALL_REDUCE, bytes));
    }
}

static void product(const struct ty_block_maker *b, struct ty_unit_op *op,
                    const struct ty_mesh *mesh)
{
    const double e = ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    const double w = blocks_of(b, &op->kernel[0]).w, bias = e * op->bias;
    op->column = true; /* its weight gradient is an operation of its own */
    if (op->gathers > 0) {
        classifier(b, op, mesh->side);
    } else if (b->layout->summa == TY_SUMMA_BROADCAST) {
        broadcasts(b, op, mesh->side);
    } else {
        gathers(b, op, mesh->side);
    }
    if (bias > 0) {
        const struct ty_op_comm gather = comm(TY_GROUP_COLUMN, TY_COLL_ALL_GATHER, bias);
        ty_block_comm(op, TY_BEFORE_FORWARD, &gather, 1);
        ty_block_grad(op, move(TY_GROUP_COLUMN, TY_COLL_REDUCE_SCATTER, bias));
        grids(op, mesh, bias / mesh->side);
    }
    grids(op, mesh, w);
}

/* Sums of x and of its square, of RMS norms of the square only; backward as many. */
static void norm(const struct ty_block_maker *b, struct ty_unit_op *op, const struct ty_mesh *mesh)
{
    const double e = ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    const uint32_t n = b->arch->norm_kind == TY_NORM_LAYER ? 2 : 1;
    struct ty_op_comm params = comm(TY_GROUP_COLUMN, TY_COLL_ALL_GATHER, e * b->shard.hidden),
                      sums = comm(TY_GROUP_ROW, TY_COLL_ALL_REDUCE, e * b->shard.tokens);
    params.calls = sums.calls = (uint8_t)n;
    ty_block_comm(op, TY_BEFORE_FORWARD, &params, 1);
    ty_block_comm(op, TY_AFTER_FORWARD, &sums, 1);
    ty_block_comm(op, TY_AFTER_DGRAD, &sums, 1);
    ty_block_grad(op, move(TY_GROUP_COLUMN, TY_COLL_REDUCE_SCATTER, n * e * b->shard.hidden));
    grids(op, mesh, n * e * b->shard.hidden / mesh->side);
}

/* Tokens of the whole column look for their rows of the vocabulary, or those of the rank in a
 * gathered matrix. */
static void embedding(const struct ty_block_maker *b, struct ty_unit_op *op,
                      const struct ty_mesh *mesh)
{
    const uint32_t q = mesh->side;
    const double e = ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    const double states = q * ty_block_hidden_bytes(b);
    const double w = e * b->arch->vocabulary * b->shard.hidden;
    if (b->layout->framework.parallel_loss) {
        const struct ty_op_comm sum = comm(TY_GROUP_COLUMN, TY_COLL_REDUCE_SCATTER, states),
                                gather = comm(TY_GROUP_COLUMN, TY_COLL_ALL_GATHER, states);
        op->kernel[0].elements *= q;
        ty_block_comm(op, TY_AFTER_FORWARD, &sum, 1);
        ty_block_comm(op, TY_BEFORE_DGRAD, &gather, 1);
    } else {
        const struct ty_op_comm gather = comm(TY_GROUP_COLUMN, TY_COLL_ALL_GATHER, w);
        ty_block_comm(op, TY_BEFORE_FORWARD, &gather, 1);
        ty_block_grad(op, move(TY_GROUP_COLUMN, TY_COLL_REDUCE_SCATTER, w));
    }
    grids(op, mesh, w / q);
}

void ty_mesh_2d_around(const struct ty_block_maker *b, const struct ty_mesh *mesh,
                       struct ty_unit_op *op)
{
    if (op->first) {
        embedding(b, op, mesh);
    } else if (op->kernel[0].op == TY_OPERATOR_MATMUL) {
        product(b, op, mesh);
    } else if (op->n_weights > 0 && op->kernel[op->n_kernels - 1].op == TY_OPERATOR_NORM) {
        norm(b, op, mesh);
    } else if (op->loss) { /* of a token: maximum, target logit, sum of exponentials */
        struct ty_op_comm loss = comm(TY_GROUP_ROW, TY_COLL_ALL_REDUCE, 4 * b->shard.tokens);
        loss.calls = 3;
        ty_block_comm(op, TY_AFTER_FORWARD, &loss, 1);
    }
}
