/* costs_traffic.c - what the replicas of a stage say to each other, each collective at its
 * shortest, one after the other on the stream that they share. */
#include <assert.h>
#include <string.h>

#include "model/issue/pass.h"
#include "model/zero.h"
#include "sim/plan/costs_internal.h"

struct traffic_key {
    const struct ty_plan_layer *layer;
    const struct ty_plan_type *type;
    const struct ty_plan_group *data, *experts, *replicas;
    uint32_t zero, framework, alike, shards, expert_shards, late, waits;
};

/* Which reduction a computation waits for, once buckets have closed before it. */
enum waits {
    NO_REDUCTION,
    LAST_BUT_ONE, /* one may be under way */
    LAST
};

/* A backward of a stage, part by part, and its buckets as they close. Times count from its
 * start. */
struct closing {
    struct ty_plan_costs *costs;
    const struct ty_layout *layout;
    const struct ty_plan_grid *grid;
    const struct ty_plan_layer *layer;
    const struct ty_plan_type *type;
    enum waits waits;
    uint32_t unit, part;  /* played last: from the last part of the last unit on */
    double through, busy; /* the end of the part played last, and of what it computes */
    double awaited; /* what the next part waits for, but for computations, is over; 0: nothing */
    double reduced; /* all buckets so far are */
    double reduce, regain;       /* of all of them */
    double reduce_ps, regain_ps; /* of the bucket at hand */
};

static void price_bucket(struct closing *c, enum ty_comm_group group, double params)
{
    const struct ty_zero *zero = &ty_zero_stages[c->layout->zero];
    const struct ty_priced_comm reduce = ty_price_reduce(c->layout, group, params);
    const struct ty_priced_comm gather = ty_price_gather(c->layout, group, TY_PHASE_STEP, params);
    const struct ty_plan_group *at = c->grid->group[group];
    c->reduce_ps = ty_plan_collective_ps(c->costs, at, reduce.coll, reduce.bytes);
    c->regain_ps = zero->gather_after_step || zero->gather_in_passes
                       ? ty_plan_collective_ps(c->costs, at, gather.coll, gather.bytes)
                       : 0;
}

/* What computes waits; what does not lets the next part wait. */
static void play_part(struct closing *c, const struct ty_part_time *time)
{
    const bool waits = time->late_busy > 0;
    assert(time->through >= time->busy && time->late_through >= time->late_busy);
    c->busy = c->through + time->busy;
    c->through += time->through;
    if (waits) {
        c->busy = ty_plan_larger(c->busy, c->awaited + time->late_busy);
        c->through = ty_plan_larger(c->through, c->awaited + time->late_through);
        c->awaited = 0;
    }
}

/* Plays what comes before the end of a part. */
static void play_until(struct closing *c, uint32_t unit, uint32_t part)
{
    while (c->unit > unit || c->part > part) {
        if (c->part == 0) {
            c->part = c->layer->grads->kind[c->type->unit[--c->unit]].n_parts;
        }
        c->part--;
        play_part(c, &c->layer->times->unit[c->type->unit[c->unit]][0].part[c->part]);
    }
}

/* A bucket closes once its part has run backward: the first part of a unit with the unit, its last
 * one before the rest of it. */
static void close_bucket(void *arg, uint32_t unit, uint32_t part, enum ty_comm_group group,
                         double params)
{
    struct closing *c = arg;
    const double before = c->reduced;
    price_bucket(c, group, params);
    play_until(c, unit, part);
    assert(c->unit == unit && c->part == part); /* buckets close from the last part to the first */
    c->reduced = ty_plan_larger(c->reduced, c->busy) + c->reduce_ps;
    c->awaited = c->waits == NO_REDUCTION ? 0 : c->waits == LAST ? c->reduced : before;
    c->reduce += c->reduce_ps;
    c->regain += c->regain_ps;
}

static struct closing walk(const struct closing *start, enum waits waits)
{
    struct closing c = *start;
    const struct ty_grad_stage stage = {c.type->unit, c.type->n_units};
    c.waits = waits;
    c.unit = c.type->n_units;
    ty_grads_buckets(c.layer->grads, c.layout, &stage, close_bucket, &c);
    play_until(&c, 0, 0);
    return c;
}

/* What leaves the GPU is not looked at. */
static enum waits waits_of(const struct ty_layout *layout)
{
    if (layout->home.share > 0 || ty_layout_reduces(layout) != TY_REDUCES_EVERY) {
        return NO_REDUCTION;
    }
    return ty_pass_reduces_at_once(layout) ? LAST
           : ty_pass_piles_up(layout)      ? LAST_BUT_ONE
                                           : NO_REDUCTION;
}

/* NULL: no memory. */
static const struct ty_plan_traffic *traffic_of(struct ty_plan_costs *costs,
                                                const struct ty_layout *layout,
                                                const struct ty_plan_look *look,
                                                const struct ty_plan_type *type, struct ty_err *err)
{
    const struct ty_plan_grid *grid = look->grid;
    const struct ty_plan_layer *layer = look->layer;
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
    key.waits = waits_of(layout);
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
    const struct closing start = {
        .costs = costs, .layout = layout, .grid = grid, .layer = layer, .type = type};
    const struct closing c = walk(&start, NO_REDUCTION);
    out->reduce = c.reduce;
    out->regain = c.regain;
    assert(c.through >= c.busy && c.reduced >= c.reduce);
    out->exposed = key.late ? c.reduce : ty_plan_larger(c.reduced - c.through, 0);
    if (key.waits != NO_REDUCTION) {
        const struct closing piled = walk(&start, key.waits);
        out->piled = piled.busy;
        out->piled_exposed = ty_plan_larger(piled.reduced - piled.busy, 0);
    }
    return ty_plan_map_add(&costs->traffics, &key, out, &costs->arena, err) < 0 ? NULL : out;
}

int ty_plan_traffics(struct ty_plan_costs *costs, const struct ty_layout *layout,
                     const struct ty_plan_look *look, const struct ty_plan_traffic *const **out,
                     struct ty_err *err)
{
    const uint32_t n = ty_sched_stages(&look->order->shape);
    const struct ty_plan_type *const *type = look->deal->stage;
    if (costs->n_traffic < n) {
        costs->traffic = ty_arena_alloc(&costs->arena, n, sizeof(*costs->traffic));
        costs->n_traffic = costs->traffic == NULL ? 0 : n;
    }
    if (costs->traffic == NULL) {
        return ty_fail_memory(err);
    }
    for (uint32_t s = 0; s < n; s++) {
        costs->traffic[s] = s > 0 && type[s] == type[s - 1]
                                ? costs->traffic[s - 1]
                                : traffic_of(costs, layout, look, type[s], err);
        if (costs->traffic[s] == NULL) {
            return TY_ENOMEM;
        }
    }
    *out = costs->traffic;
    return 0;
}
