/* price.c - kernels put together: what an operator costs in each pass, and the optimizer step.
 *
 * The host launches kernels one after the other; when it needs longer than the GPU, the GPU waits
 * for it, and a pass takes the host's time: max(GPU, floor), never the sum, since the host runs
 * ahead. */
#include <math.h>

#include "model/block/block.h"
#include "model/block/memory.h"
#include "topology/collectives/coll.h"

/* Host time of a backward over that of a forward: 1.37 / 1.05 ms per layer, fitted on 1440
 * Megatron-DeepSpeed runs on A100 hosts (VIA-Research/vTrain, single node). */
#define FLOOR_BACKWARD 1.3

/* ---- an operator ---- */

/* Seconds to add to the gradients of earlier micro-batches, where the product does not: for every
 * micro-batch of a step but the first. */
static double accumulation(const struct ty_kernel *product, const struct ty_layout *layout,
                           const struct ty_gpu *gpu)
{
    if (layout->framework.fused_accumulation || layout->zero >= 2 || layout->micro_batches < 2) {
        return 0;
    }
    const double again = (layout->micro_batches - 1.0) / layout->micro_batches;
    const struct ty_kernel add = {
        .op = TY_OPERATOR_ACCUMULATION,
        .dtype = layout->framework.grad_fp32 ? TY_DTYPE_FP32 : product->dtype,
        .variant = TY_ANY_KERNEL,
        .update = {product->matmul.in * product->matmul.out, ty_memory_grad_bytes(layout)}};
    return again * ty_kernel_cost(gpu, &add, TY_WGRAD).seconds;
}

/* Kernels from..to - 1. */
static struct ty_op_costs price(const struct ty_unit_op *op, uint32_t from, uint32_t to,
                                const struct ty_layout *layout, const struct ty_gpu *gpu)
{
    struct ty_op_costs cost = {{0, 0}, {0, 0}, {0, 0}, {0, 0}};
    for (uint32_t i = from; i < to; i++) {
        const struct ty_kernel *kernel = &op->kernel[i];
        const struct ty_cost forward = ty_kernel_cost(gpu, kernel, TY_FORWARD);
        cost.forward = ty_cost_plus(cost.forward, forward);
        cost.recompute = i < op->n_again ? cost.forward : cost.recompute;
        cost.dgrad = ty_cost_plus(cost.dgrad, ty_kernel_cost(gpu, kernel, TY_DGRAD));
        if (kernel->op == TY_OPERATOR_MATMUL) {
            cost.wgrad = ty_cost_plus(cost.wgrad, ty_kernel_cost(gpu, kernel, TY_WGRAD));
            cost.wgrad.seconds += accumulation(kernel, layout, gpu);
        }
    }
    return cost;
}

static struct ty_cost repeated(struct ty_cost first, struct ty_cost next, double n)
{
    return (struct ty_cost){first.seconds + n * next.seconds, first.flops + n * next.flops};
}

void ty_unit_price(const struct ty_unit_ops *unit, const struct ty_layout *layout,
                   const struct ty_gpu *gpu, struct ty_unit_costs *out)
{
    for (uint32_t i = 0; i < unit->n; i++) {
        const struct ty_unit_op *op = &unit->op[i];
        const double more = op->rounds.n - 1.0;
        if (op->rounds.n == 0) {
            const struct ty_op_costs all = price(op, 0, op->n_kernels, layout, gpu);
            out->op[i] = ty_op_costs_times(&all, gpu->derate);
            continue;
        }
        const struct ty_op_costs first = price(op, 0, op->rounds.n_first, layout, gpu);
        const struct ty_op_costs next = price(op, op->rounds.n_first, op->n_kernels, layout, gpu);
        const struct ty_op_costs all = {repeated(first.forward, next.forward, more),
                                        repeated(first.dgrad, next.dgrad, more),
                                        repeated(first.wgrad, next.wgrad, more),
                                        repeated(first.recompute, next.recompute, more)};
        out->op[i] = ty_op_costs_times(&all, gpu->derate);
        out->first[i] = ty_op_costs_times(&first, gpu->derate);
        out->next[i] = ty_op_costs_times(&next, gpu->derate);
    }
}

/* ---- the host ---- */

/* What a pass of `seconds` has to be stretched by to last as long as its launches. */
static double stretch(double seconds, double floor)
{
    return seconds > 0 && seconds < floor ? floor / seconds : 1;
}

void ty_unit_host(const struct ty_unit_ops *unit, const struct ty_layout *layout,
                  const struct ty_gpu *gpu, double forward_comm_s, double backward_comm_s,
                  struct ty_unit_costs *costs)
{
    const double floor = layout->framework.layer_floor / gpu->host_speed;
    double forward_s = 0, dgrad_s = 0, wgrad_s = 0;
    for (uint32_t i = 0; i < unit->n; i++) {
        forward_s += costs->op[i].forward.seconds;
        dgrad_s += costs->op[i].dgrad.seconds;
        wgrad_s += costs->op[i].wgrad.seconds;
    }
    const double forward = stretch(forward_s, floor - forward_comm_s);
    const double backward = stretch(dgrad_s + wgrad_s, FLOOR_BACKWARD * floor - backward_comm_s);
    for (uint32_t i = 0; i < unit->n; i++) {
        struct ty_op_costs *const all[] = {&costs->op[i], &costs->first[i], &costs->next[i]};
        for (uint32_t k = 0; k < (unit->op[i].rounds.n > 0 ? 3u : 1u); k++) {
            all[k]->forward.seconds *= forward;
            all[k]->dgrad.seconds *= backward;
            all[k]->wgrad.seconds *= backward;
            if (layout->recompute == TY_RECOMPUTE_FULL) { /* a forward of its own */
                all[k]->recompute.seconds *= forward;
            }
        }
    }
}

/* ---- collectives ---- */

double ty_op_comm_seconds(const struct ty_cluster *cluster, const struct ty_op_comm *comm,
                          const struct ty_reach *reach)
{
    struct ty_coll_cost cost;
    ty_coll_cost(cluster, NULL, (enum ty_coll)comm->coll, comm->bytes, reach, &cost);
    return ty_coll_seconds(&cost) * cluster->collectives.derate;
}

/* ---- optimizer ---- */

struct ty_cost ty_optimizer_cost(const struct ty_gpu *gpu, const struct ty_layout *layout,
                                 double params)
{
    const struct ty_framework *framework = &layout->framework;
    const double local = layout->zero >= 1 ? params / ty_layout_shards(layout) : params;
    const struct ty_kernel adam = {
        .op = TY_OPERATOR_OPTIMIZER,
        /* by the type of the gradients it reads; all of 16 bit are alike */
        .dtype = framework->grad_fp32 ? TY_DTYPE_FP32 : TY_DTYPE_BF16,
        .variant = framework->fused_optimizer ? TY_FUSED : TY_UNFUSED,
        .update = {local, ty_memory_grad_bytes(layout)}};
    struct ty_cost cost = ty_kernel_cost(gpu, &adam, TY_WGRAD);
    cost.seconds *= gpu->derate;
    return cost;
}
