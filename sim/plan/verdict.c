/* verdict.c - adds up the memory of every rank of a layout, and finds the fullest. */
#include "sim/plan/verdict.h"

#include <math.h>

#include "sim/base/check.h"
#include "sim/plan/costs_internal.h"

/* A layout, looked up. */
struct bill {
    struct ty_plan_costs *costs;
    const struct ty_layout *layout;
    struct ty_plan_look look;
    const struct ty_plan_held *held; /* [p] */
    bool in_turn;                    /* passes of a slot may hold theirs one after the other */
};

/* What is held at the fullest moment of a rank, and while its pass runs. */
static double activations(const struct bill *b, const struct ty_plan_held *held,
                          const struct ty_plan_stage *const *stage)
{
    double most = 0, one = 0; /* one: the most that a pass holds */
    for (uint32_t c = 0; c < held->n_stages; c++) {
        one = ty_plan_larger(one, stage[held->stage[c]]->kept_B);
    }
    for (uint32_t i = 0; i < held->n_moments; i++) {
        const struct ty_plan_moment *moment = &held->moment[i];
        double bytes = stage[held->stage[moment->stage]]->brief_B[moment->phase];
        for (uint32_t c = 0; c < held->n_stages; c++) {
            const struct ty_plan_stage *s = stage[held->stage[c]];
            bytes += moment->kept[c] * s->kept_B + moment->waiting[c] * s->waiting_B;
        }
        most = ty_plan_larger(most, bytes);
    }
    return ty_plan_larger(most - (b->in_turn ? one : 0), 0) / b->look.order->shape.slices;
}

/* What of sharded states is whole for a while on a rank. */
static int buffers(const struct bill *b, const struct ty_plan_rank *rank, double *bytes,
                   struct ty_err *err)
{
    struct ty_grad_stage stage[TY_PLAN_CHUNKS_MOST];
    struct ty_whole whole = {0, 0, 0, 0};
    if (rank->n_chunks > TY_PLAN_CHUNKS_MOST) {
        return ty_fail(err, TY_EBUG, "plan: %u chunks on a rank", (unsigned)rank->n_chunks);
    }
    if (b->layout->zero >= 2) {
        for (uint32_t c = 0; c < rank->n_chunks; c++) {
            const struct ty_plan_type *type = b->look.deal->stage[rank->stage[c]];
            stage[c] = (struct ty_grad_stage){type->unit, type->n_units};
        }
        whole = ty_grads_whole(b->look.layer->grads, b->layout, stage, rank->n_chunks,
                               b->look.order->sched->whole_chunks);
    }
    *bytes = ty_memory_buffers(b->layout, &whole);
    return 0;
}

/* Whether a rank has the same stages, held alike, as the one before it. */
static bool as_before(const struct bill *b, uint32_t r)
{
    const struct ty_plan_rank *rank = &b->look.order->rank[r], *before = rank - 1;
    bool same = r > 0 && b->layout->zero >= 2 && rank->n_chunks == before->n_chunks;
    for (uint32_t c = 0; same && c < rank->n_chunks; c++) {
        same = b->look.deal->stage[rank->stage[c]] == b->look.deal->stage[before->stage[c]];
    }
    return same;
}

/* States of a rank and what it holds of activations. */
static double holds(const struct bill *b, uint32_t r, const struct ty_plan_stage *const *stage)
{
    const struct ty_plan_rank *rank = &b->look.order->rank[r];
    struct ty_stage_params all = {.all = 0};
    assert(rank->n_chunks > 0);
    uint32_t kinds = 0;
    for (uint32_t c = 0; c < rank->n_chunks; c++) {
        ty_stage_params_add(&all, &stage[rank->stage[c]]->params, 1);
        kinds |= ty_unit_kinds_of(b->look.deal->stage[rank->stage[c]]->count);
    }
    const struct ty_state_bytes states = ty_memory_states(b->layout, all.all, all.experts);
    return states.weights + states.grads + states.optimizer + ty_memory_ends(b->layout, all.ends) +
           ty_memory_frozen(b->layout, all.frozen_B, all.frozen_experts_B) +
           ty_memory_placeholders(&b->look.layer->placeholders, kinds) +
           activations(b, &b->held[r], stage);
}

/* The block that the allocator loses. */
static double split_of(const struct bill *b, const struct ty_plan_rank *rank,
                       const struct ty_plan_stage *const *stage)
{
    double most = 0;
    for (uint32_t c = 0; c < rank->n_chunks; c++) {
        most = ty_plan_larger(most, stage[rank->stage[c]]->split_B);
    }
    return most / b->look.order->shape.slices;
}

static bool is_fuller(double bytes, double capacity, const struct ty_plan_verdict *out)
{
    return capacity == out->capacity_B ? bytes > out->peak_B
                                       : bytes * out->capacity_B > out->peak_B * capacity;
}

/* In a woven pair the backward's first piece runs before the forward holds anything. Where it has
 * one piece only, the forward comes behind it. */
static bool may_take_turns(const struct bill *b, const struct ty_plan_stage *const *stage)
{
    const struct ty_plan_order *order = b->look.order;
    bool may = order->paired && b->layout->framework.expert_overlap, cuts = true;
    for (uint32_t s = 0; may && s < ty_sched_stages(&order->shape); s++) {
        cuts = cuts && stage[s]->cuts;
    }
    return may && !cuts;
}

int ty_plan_verdict(struct ty_plan_costs *costs, const struct ty_layout *layout,
                    const struct ty_sched_options *schedule, struct ty_plan_verdict *out,
                    struct ty_err *err)
{
    struct bill b = {.costs = costs, .layout = layout};
    const struct ty_cluster *cluster = &costs->base->cluster;
    const struct ty_plan_stage *const *stage;
    const char *name[TY_COMMUNICATORS_MAX];
    *out = (struct ty_plan_verdict){.whole_bill = true, .fits = true};
    int rc = ty_plan_look(costs, layout, schedule, &b.look, err);
    if (rc < 0 || b.look.order == NULL) {
        return rc;
    }
    rc = ty_plan_sums(costs, &b.look, NULL, &stage, err);
    rc = rc < 0 ? rc : ty_plan_held(costs, &b.look, stage, &b.held, err);
    const uint32_t n = ty_layout_communicators(layout, &costs->base->arch, name);
    const double reserve = ty_cluster_reserve(cluster, n);
    const double share = ty_memory_fragmentation(cluster, layout);
    double whole = 0;
    b.in_turn = rc == 0 && may_take_turns(&b, stage);
    out->whole_bill =
        b.in_turn || ty_layout_is_offloaded(layout) ||
        (ty_arch_is_moe(&costs->base->arch) && costs->base->routing.method != TY_TOKENS_BALANCED);
    for (uint32_t r = 0; r < b.look.order->shape.p && rc == 0; r++) {
        const struct ty_plan_rank *rank = &b.look.order->rank[r];
        rc = as_before(&b, r) ? 0 : buffers(&b, rank, &whole, err);
        const double held = holds(&b, r, stage) + whole;
        const double lost = ty_memory_lost(share, held, split_of(&b, rank, stage));
        const double bytes = held + lost + reserve;
        const double capacity = b.look.grid->memory_B[r];
        if (r == 0 || is_fuller(bytes, capacity, out)) {
            out->peak_B = bytes;
            out->capacity_B = capacity;
            out->stage = r;
        }
    }
    assert(rc < 0 || (out->peak_B > 0 && out->stage < b.look.order->shape.p));
    out->fits = out->peak_B <= out->capacity_B;
    return rc;
}
