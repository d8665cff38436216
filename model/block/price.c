/* price.c - kernels put together: what an operator costs in each pass. */
#include "model/block/block.h"
#include "model/block/memory.h"
#include "topology/collectives/coll.h"

/* ---- an operator ---- */

/* A kernel among the others of a step: products are slower there than one that is timed alone, it
 * seems for the power that they take (docs/internals/model.md). */
static struct ty_cost in_step(const struct ty_gpu *gpu, const struct ty_kernel *kernel,
                              enum ty_direction direction)
{
    const struct ty_cost alone = ty_kernel_cost(gpu, kernel, direction);
    struct ty_cost cost =
        ty_kernel_is_product(kernel) ? ty_cost_times(alone, 1 / gpu->gemm_sustained) : alone;
    cost.joules = cost.seconds > 0 ? ty_kernel_joules(gpu, kernel, direction, &cost) : 0;
    return cost;
}

/* Whether a product adds its weight gradient to those of earlier micro-batches itself. On a grid of
 * ranks it is a part of the sum. */
static bool adds(const struct ty_layout *layout)
{
    return layout->framework.fused_accumulation && !ty_layout_is_mesh(layout) &&
           ty_memory_added_bytes(layout) == ty_memory_grad_bytes(layout);
}

/* Seconds to add to the gradients of earlier micro-batches, where the product does not: for every
 * micro-batch of a step but the first. */
static double accumulation(const struct ty_kernel *product, const struct ty_layout *layout,
                           const struct ty_gpu *gpu)
{
    const double bytes = ty_memory_added_bytes(layout);
    const bool shards = layout->zero >= 2 && ty_layout_reduces(layout) == TY_REDUCES_EVERY;
    if (adds(layout) || shards || layout->micro_batches < 2) {
        return 0;
    }
    const struct ty_grouped *g = &product->grouped;
    const double weights = product->op == TY_OPERATOR_GROUPED
                               ? g->groups * g->in * g->out
                               : product->matmul.in * product->matmul.out;
    const double again = (layout->micro_batches - 1.0) / layout->micro_batches;
    const struct ty_mesh mesh = ty_layout_mesh(layout);
    const double parts =
        mesh.scheme == TY_TENSOR_1D ? 1 : mesh.side; /* of which a rank keeps one */
    const struct ty_kernel add = {.op = TY_OPERATOR_ACCUMULATION,
                                  .dtype = bytes == 4 ? TY_DTYPE_FP32 : product->dtype,
                                  .variant = TY_ANY_KERNEL,
                                  .update = {weights / parts, bytes, 0}};
    return again * ty_kernel_cost(gpu, &add, TY_WGRAD).seconds;
}

/* The weight gradient of a product, added to those before it. */
static struct ty_cost weight_gradient(const struct ty_kernel *product,
                                      const struct ty_layout *layout, const struct ty_gpu *gpu)
{
    struct ty_kernel kernel = *product;
    if (kernel.op == TY_OPERATOR_GROUPED && adds(layout)) {
        kernel.grouped.sum_B = ty_memory_added_bytes(layout);
    }
    struct ty_cost cost = in_step(gpu, &kernel, TY_WGRAD);
    cost.seconds += accumulation(product, layout, gpu);
    return cost;
}

/* Kernels from..to - 1. */
static struct ty_op_costs price(const struct ty_unit_op *op, uint32_t from, uint32_t to,
                                const struct ty_layout *layout, const struct ty_gpu *gpu)
{
    struct ty_op_costs cost = {.forward = {0}};
    for (uint32_t i = from; i < to; i++) {
        const struct ty_kernel *kernel = &op->kernel[i];
        struct ty_cost forward = in_step(gpu, kernel, TY_FORWARD);
        if (i == 0) {
            forward.seconds += op->host_s / gpu->host_speed;
        }
        cost.forward = ty_cost_plus(cost.forward, forward);
        if ((op->again >> i & 1u) != 0) {
            cost.recompute = ty_cost_plus(cost.recompute, forward);
        }
        const bool product = ty_kernel_is_product(kernel);
        if (!product || !op->lowest) {
            cost.dgrad = ty_cost_plus(cost.dgrad, in_step(gpu, kernel, TY_DGRAD));
        }
        if (product && !op->frozen) {
            cost.wgrad = ty_cost_plus(cost.wgrad, weight_gradient(kernel, layout, gpu));
        }
    }
    if (!ty_op_has_backward(op)) {
        cost.dgrad = cost.wgrad = cost.recompute = (struct ty_cost){0};
    }
    cost.input = cost.dgrad;
    cost.weight = cost.wgrad;
    return cost;
}

static struct ty_cost repeated(struct ty_cost first, struct ty_cost next, double n)
{
    return (struct ty_cost){first.seconds + n * next.seconds, first.flops + n * next.flops,
                            first.joules + n * next.joules};
}

/* The products of an operator in pieces, a piece of each, or the rest of it. */
static struct ty_op_costs some(const struct ty_unit_op *op, bool products,
                               const struct ty_layout *layout, const struct ty_gpu *gpu)
{
    struct ty_unit_op part = *op;
    part.n_kernels = part.again = 0;
    for (uint32_t i = 0; i < op->n_kernels; i++) {
        if (ty_kernel_is_product(&op->kernel[i]) == products) {
            part.again |= (op->again >> i & 1u) << part.n_kernels;
            part.kernel[part.n_kernels] = op->kernel[i];
            part.kernel[part.n_kernels++].matmul.rows /= products ? op->pieces.n : 1;
        }
    }
    return price(&part, 0, part.n_kernels, layout, gpu);
}

/* The sum of a rank's share of what all have: of n tensors one, where an addition has one of
 * two. */
static struct ty_cost share_sum(const struct ty_op_pieces *pieces, int dtype,
                                const struct ty_gpu *gpu)
{
    const double elements = pieces->share_B / ty_dtype_bytes((enum ty_dtype)dtype);
    const struct ty_kernel sum = {.op = TY_OPERATOR_RESIDUAL,
                                  .dtype = dtype,
                                  .variant = TY_ANY_KERNEL,
                                  .elements = elements * (pieces->n + 1) / 3};
    return in_step(gpu, &sum, TY_FORWARD);
}

/* A piece into *piece; what is not in pieces, or of other passes, into *rest. */
static void price_pieces(const struct ty_unit_op *op, const struct ty_layout *layout,
                         const struct ty_gpu *gpu, struct ty_op_costs *rest,
                         struct ty_op_costs *piece)
{
    const struct ty_op_costs all = price(op, 0, op->n_kernels, layout, gpu);
    const struct ty_op_costs one = some(op, true, layout, gpu);
    *rest = some(op, false, layout, gpu);
    *piece = (struct ty_op_costs){.forward = one.forward, .recompute = one.recompute};
    rest->wgrad = rest->weight = all.wgrad;
    if (!op->pieces.scatters) {
        rest->dgrad = rest->input = all.dgrad;
        return;
    }
    piece->dgrad = piece->input = one.dgrad;
    if (op->pieces.sms > 0) {
        const double left = gpu->sms > op->pieces.sms ? 1 - op->pieces.sms / (double)gpu->sms : 1;
        piece->forward = ty_cost_times(piece->forward, 1 / left);
        piece->recompute = ty_cost_times(piece->recompute, 1 / left);
        return;
    }
    const struct ty_cost sum = share_sum(&op->pieces, op->kernel[0].dtype, gpu);
    rest->forward = ty_cost_plus(rest->forward, sum);
    if (one.recompute.seconds > 0) {
        rest->recompute = ty_cost_plus(rest->recompute, sum);
    }
}

/* `first`, and n times `next`. */
static struct ty_op_costs together(const struct ty_op_costs *first, const struct ty_op_costs *next,
                                   double n)
{
    return (struct ty_op_costs){.forward = repeated(first->forward, next->forward, n),
                                .dgrad = repeated(first->dgrad, next->dgrad, n),
                                .wgrad = repeated(first->wgrad, next->wgrad, n),
                                .recompute = repeated(first->recompute, next->recompute, n),
                                .input = repeated(first->input, next->input, n),
                                .weight = repeated(first->weight, next->weight, n)};
}

void ty_op_price(const struct ty_unit_op *op, const struct ty_layout *layout,
                 const struct ty_gpu *gpu, struct ty_op_costs *out)
{
    const struct ty_op_costs all = price(op, 0, op->n_kernels, layout, gpu);
    *out = ty_op_costs_times(&all, gpu->derate);
}

/* An operator of many parts: what its first costs and every other one, and how many these are. */
static double price_parts(const struct ty_unit_op *op, const struct ty_layout *layout,
                          const struct ty_gpu *gpu, struct ty_op_costs *first,
                          struct ty_op_costs *next)
{
    if (op->pieces.n > 0) {
        price_pieces(op, layout, gpu, first, next);
        return op->pieces.n;
    }
    if (op->steps.n > 0) {
        *first = (struct ty_op_costs){.forward = {0}};
        *next = price(op, 0, op->n_kernels, layout, gpu);
        return op->steps.n;
    }
    *first = price(op, 0, op->rounds.n_first, layout, gpu);
    *next = price(op, op->rounds.n_first, op->n_kernels, layout, gpu);
    return op->rounds.n - 1.0;
}

void ty_unit_price(const struct ty_unit_ops *unit, const struct ty_layout *layout,
                   const struct ty_gpu *gpu, struct ty_unit_costs *out)
{
    for (uint32_t i = 0; i < unit->n; i++) {
        const struct ty_unit_op *op = &unit->op[i];
        if (!ty_op_has_parts(op)) {
            ty_op_price(op, layout, gpu, &out->op[i]);
            continue;
        }
        struct ty_op_costs first, next;
        const double n = price_parts(op, layout, gpu, &first, &next);
        const struct ty_op_costs all = together(&first, &next, n);
        out->op[i] = ty_op_costs_times(&all, gpu->derate);
        out->first[i] = ty_op_costs_times(&first, gpu->derate);
        out->next[i] = ty_op_costs_times(&next, gpu->derate);
    }
}

/* ---- collectives ---- */

double ty_op_comm_seconds(const struct ty_cluster *cluster, const struct ty_op_comm *comm,
                          const struct ty_reach *reach)
{
    struct ty_coll_cost cost;
    if (comm->exchange.tokens > 0) {
        ty_exchange_cost(cluster, &comm->exchange, reach, &cost);
    } else {
        ty_coll_cost(cluster, NULL, (enum ty_coll)comm->coll, comm->bytes, reach, &cost);
    }
    return ty_coll_seconds(&cost) * cluster->collectives.derate;
}

double ty_op_move_seconds(const struct ty_cluster *cluster, const struct ty_op_move *move,
                          const struct ty_reach *reach)
{
    const struct ty_op_comm comm = {.coll = move->coll, .bytes = move->bytes};
    struct ty_reach each = *reach;
    each.root = TY_ROOT_EACH;
    return ty_op_comm_seconds(cluster, &comm, &each);
}

double ty_op_share_seconds(const struct ty_cluster *cluster, const struct ty_op_pieces *pieces,
                           bool back, const struct ty_reach *reach)
{
    struct ty_coll_cost cost;
    ty_coll_copy_cost(cluster, ty_op_message_bytes(pieces, back), reach, &cost);
    return ty_op_messages(pieces, back) * (ty_coll_seconds(&cost) * cluster->collectives.derate);
}
