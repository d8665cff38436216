/* bound_parts.c - see bound_parts.h. */
#include "sim/plan/bound_parts.h"

#include <math.h>

#include "model/zero.h"

/* ---- messages ---- */

/* Whether a message between neighbouring stages stays on its node, leaves it, or is none: bits. */
static uint32_t hop(const struct ty_plan_look *look, uint32_t stage)
{
    const struct ty_plan_order *order = look->order;
    const uint32_t p = order->shape.p;
    uint32_t bits = 0;
    for (uint32_t d = 0; d < ty_sched_directions(order->sched->placement); d++) {
        const uint32_t a = ty_sched_owner(order->sched->placement, &order->shape, d, stage);
        const uint32_t b = ty_sched_owner(order->sched->placement, &order->shape, d, stage + 1);
        bits |= a == b ? 0 : look->grid->hop[b == (a + 1) % p ? a : b];
    }
    return bits;
}

static double least_of(uint32_t bits, double near, double far)
{
    const double least = (bits & TY_PLAN_NEAR) != 0 ? near : INFINITY;
    return bits == 0 ? 0 : (bits & TY_PLAN_FAR) != 0 ? fmin(least, far) : least;
}

/* Whether messages are sent in parts that do not stay parts. */
static bool gathers_messages(const struct ty_layout *layout)
{
    return layout->tensor > 1 && !ty_layout_is_mesh(layout) && !layout->sequence_parallel &&
           layout->framework.scatter_gather_p2p && layout->pipeline > 1;
}

void ty_plan_messages(struct ty_plan_costs *costs, const struct ty_layout *layout,
                      const struct ty_plan_look *look, struct ty_plan_messages *out)
{
    const struct ty_cluster *cluster = &costs->base->cluster;
    const bool parts = layout->sequence_parallel || gathers_messages(layout);
    const double bytes = look->layer->hidden_B / (parts ? layout->tensor : 1);
    const int overlap = layout->framework.overlap_p2p;
    struct ty_coll_cost near, far;
    ty_p2p_cost_alone(cluster, true, bytes, &near);
    ty_p2p_cost_alone(cluster, false, bytes, &far);
    *out = (struct ty_plan_messages){
        .send_near = floor(near.transfer_s * 1e12),
        .send_far = floor(far.transfer_s * 1e12),
        .latency_near = floor(near.latency_s * 1e12),
        .latency_far = floor(far.latency_s * 1e12),
        .gather = gathers_messages(layout)
                      ? ty_plan_collective_ps(costs, look->grid->group[TY_GROUP_TENSOR],
                                              TY_COLL_ALL_GATHER, look->layer->hidden_B)
                      : 0,
        .waits = !look->order->paired &&
                 (overlap == TY_OVERLAP_P2P_FALSE ||
                  (overlap == TY_OVERLAP_P2P_AUTO && look->order->shape.v == 1))};
}

struct ty_plan_message ty_plan_message(const struct ty_plan_look *look,
                                       const struct ty_plan_messages *messages, uint32_t stage)
{
    const uint32_t bits = hop(look, stage);
    const struct ty_plan_messages *m = messages;
    return (struct ty_plan_message){.send = least_of(bits, m->send_near, m->send_far),
                                    .behind = least_of(bits, m->latency_near, m->latency_far) +
                                              (bits != 0 ? m->gather : 0),
                                    .any = bits != 0};
}

/* ---- replicas ---- */

bool ty_plan_gathers_anew(const struct ty_layout *layout, const struct ty_plan_order *order)
{
    const struct ty_framework *f = &layout->framework;
    return layout->zero == 3 && !order->sched->whole_chunks &&
           ty_layout_does(layout, f->reshard_after_forward) &&
           ty_layout_does(layout, f->reshard_after_backward);
}

bool ty_plan_waits_for_grad_reduce(const struct ty_plan_order *order)
{
    return !order->paired && !order->split && !order->sched->whole_chunks &&
           order->shape.slices == 1;
}

bool ty_plan_regains_late(const struct ty_layout *layout)
{
    return ty_zero_stages[layout->zero].gather_after_step &&
           layout->framework.overlap_param_gather && ty_layout_has_copies(layout);
}

bool ty_plan_regains(const struct ty_layout *layout)
{
    return ty_zero_stages[layout->zero].gather_after_step && !ty_plan_regains_late(layout);
}

/* ---- behind the passes ---- */

double ty_plan_tied_ps(struct ty_plan_costs *costs, const struct ty_layout *layout,
                       const struct ty_plan_look *look, uint32_t rank)
{
    const struct ty_arch *arch = &costs->base->arch;
    const struct ty_plan_order *order = look->order;
    const uint32_t last = order->shape.p - 1;
    if ((!arch->tied && arch->mtp == 0) || last == 0 ||
        order->sched->placement != TY_PLACE_LOOPED || (rank != 0 && rank != last)) {
        return 0;
    }
    const double bytes =
        (double)arch->vocabulary * arch->hidden / layout->tensor * ty_memory_grad_bytes(layout);
    return ty_plan_collective_ps(costs, look->grid->ends, TY_COLL_ALL_REDUCE, bytes);
}

double ty_plan_norm_ps(struct ty_plan_costs *costs, const struct ty_layout *layout,
                       const struct ty_plan_grid *grid)
{
    const uint32_t shard = layout->tensor * ty_layout_shards(layout);
    const uint32_t n = layout->zero > 0 ? shard : layout->tensor;
    if (n * layout->pipeline == 1 || !costs->base->schedule.barrier) {
        return -1;
    }
    return ty_plan_collective_ps(costs, grid->norm, TY_COLL_ALL_REDUCE, 4);
}

double ty_plan_optimizer_ps(const struct ty_plan_costs *costs, const struct ty_layout *layout,
                            const struct ty_plan_grid *grid, double params, double experts)
{
    double least = INFINITY;
    for (uint32_t g = 0; g < TY_GENERATIONS_MAX; g++) {
        if (grid->used[g]) {
            const struct ty_gpu *gpu = &ty_exceptions_cluster(&costs->base->cluster, g)->gpu;
            least = fmin(least, ty_optimizer_cost(gpu, layout, params, experts).seconds);
        }
    }
    return floor(least * 1e12);
}
