/* costs_traffic.c - what the replicas of a stage say to each other, each collective at its
 * shortest, one after the other on the stream that they share. */
#include <math.h>
#include <string.h>

#include "model/zero.h"
#include "sim/plan/costs_internal.h"

struct traffic_key {
    const struct ty_plan_layer *layer;
    const struct ty_plan_type *type;
    const struct ty_plan_group *data, *experts, *replicas;
    uint32_t zero, framework, alike, shards, expert_shards, late;
};

/* Buckets of a stage as they close. */
struct closing {
    struct ty_plan_costs *costs;
    const struct ty_layout *layout;
    const struct ty_plan_grid *grid;
    const struct ty_plan_layer *layer;
    const struct ty_plan_type *type;
    struct ty_plan_traffic *out;
    double after; /* computation of the units before the one at hand: still to come */
    uint32_t unit;
    double reduced; /* when all buckets so far are, counted from the end of the backward */
    double reduce_ps, regain_ps; /* of the bucket at hand */
};

static void price_bucket(struct closing *c, enum ty_comm_group group, double params)
{
    const struct ty_layout *layout = c->layout;
    const struct ty_zero *zero = &ty_zero_stages[layout->zero];
    const bool whole = zero->gather_after_step && !layout->framework.reduce_scatter;
    const struct ty_plan_group *at = c->grid->group[group];
    c->reduce_ps = ty_plan_collective_ps(c->costs, at, whole ? TY_COLL_ALL_REDUCE : zero->reduce,
                                         params * ty_memory_reduced_bytes(layout));
    c->regain_ps = zero->gather_after_step || zero->gather_in_passes
                       ? ty_plan_collective_ps(c->costs, at, TY_COLL_ALL_GATHER,
                                               params * ty_memory_weight_bytes(layout))
                       : 0;
}

/* A bucket closes once its part has run backward: the first part of a unit with the unit, its last
 * one before the rest of it. */
static void close_bucket(void *arg, uint32_t unit, uint32_t part, enum ty_comm_group group,
                         double params)
{
    struct closing *c = arg;
    price_bucket(c, group, params);
    while (c->unit > unit) {
        c->after -= c->layer->unit[c->type->unit[--c->unit]].times[0].backward.through;
    }
    const double rest =
        part == 0 ? 0 : c->layer->unit[c->type->unit[unit]].times[0].backward.through;
    c->reduced = fmax(c->reduced, -(c->after + rest)) + c->reduce_ps;
    c->out->reduce += c->reduce_ps;
    c->out->regain += c->regain_ps;
}

static void walk(struct closing *c)
{
    const struct ty_grad_stage stage = {c->type->unit, c->type->n_units};
    c->unit = c->type->n_units;
    for (uint32_t i = 0; i < c->type->n_units; i++) {
        c->after += c->layer->unit[c->type->unit[i]].times[0].backward.through;
    }
    c->reduced = -c->after;
    ty_grads_buckets(&c->layer->grads, c->layout, &stage, close_bucket, c);
    c->out->exposed = ty_layout_reduces_late(c->layout) ? c->out->reduce : fmax(c->reduced, 0);
}

/* ZeRO-3: the first gather of a forward waits for all that was computed before. */
static double first_gather(const struct closing *c)
{
    const struct ty_grad_unit *unit = &c->layer->grads.kind[c->type->first];
    const double bytes = ty_memory_weight_bytes(c->layout);
    double ps = 0;
    for (int k = 0; k < 2; k++) {
        const enum ty_comm_group group = k == 0 ? TY_GROUP_DATA : TY_GROUP_EXPERT_DATA;
        const double params = ty_grads_shared(unit, c->layout, group);
        ps += params > 0 ? ty_plan_collective_ps(c->costs, c->grid->group[group],
                                                 TY_COLL_ALL_GATHER, params * bytes)
                         : 0;
    }
    return ps;
}

const struct ty_plan_traffic *ty_plan_traffic(struct ty_plan_costs *costs,
                                              const struct ty_layout *layout,
                                              const struct ty_plan_grid *grid,
                                              const struct ty_plan_layer *layer,
                                              const struct ty_plan_type *type, struct ty_err *err)
{
    struct traffic_key key;
    memset(&key, 0, sizeof(key));
    key.layer = layer;
    key.type = type;
    key.data = grid->group[TY_GROUP_DATA];
    key.experts = grid->group[TY_GROUP_EXPERT_DATA];
    key.replicas = grid->group[TY_GROUP_REPLICA];
    key.zero = layout->zero;
    key.alike = ty_layout_alike(layout);
    key.shards = ty_layout_shards(layout);
    key.expert_shards = ty_layout_expert_shards(layout);
    key.late = ty_layout_reduces_late(layout);
    costs->traffics.key_size = sizeof(key);
    if (ty_plan_framework(costs, &layout->framework, &key.framework, err) < 0) {
        return NULL;
    }
    struct ty_plan_traffic *out = ty_plan_map_find(&costs->traffics, &key);
    if (out != NULL) {
        return out;
    }
    out = ty_arena_array(&costs->arena, struct ty_plan_traffic, 1);
    if (out == NULL) {
        (void)ty_fail_memory(err);
        return NULL;
    }
    struct closing c = {
        .costs = costs, .layout = layout, .grid = grid, .layer = layer, .type = type, .out = out};
    walk(&c);
    out->gather_first = layout->zero == 3 && type->n_units > 0 ? first_gather(&c) : 0;
    return ty_plan_map_add(&costs->traffics, &key, out, &costs->arena, err) < 0 ? NULL : out;
}
