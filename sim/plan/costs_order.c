/* costs_order.c - what an order of passes says of memory and time, whatever passes take of them.
 *
 * Memory: what ranks hold at their fullest (costs_held.c).
 *
 * Time: places in the order of a rank of which it is known how soon they can be reached (the first
 * pass of each stage) or what still has to come behind them (the last), and how many passes of each
 * kind are between them.
 *
 * An order whose steady state lasts is that of few micro-batches, with some more of every pass. */
#include <assert.h>
#include <string.h>

#include "model/schedule/steady.h"
#include "sim/plan/costs_internal.h"

struct order_key {
    double forward, input, weight; /* where they steer */
    uint32_t p, m, v, group, slices, schedule, pairs;
    uint32_t unused;
};

/* A rank's order while it is read. */
struct reader {
    struct ty_arena *arena, *scratch; /* of the order; of this reader */
    const struct ty_plan_order *order;
    const struct ty_rank_slots *slots;
    struct ty_plan_rank *rank;
    uint32_t *chunk_of; /* [directions x stages]: of this rank */
    uint32_t *since;    /* [passes]: of each kind since the last mark */
    uint32_t n_passes;  /* kinds: chunks x slices x phases */
};

static uint32_t chunk_at(const struct reader *r, const struct ty_slot *slot)
{
    return r->chunk_of[slot->direction * ty_sched_stages(&r->order->shape) + slot->stage];
}

static uint32_t pass_at(const struct reader *r, const struct ty_slot *slot)
{
    return (chunk_at(r, slot) * r->order->shape.slices + slot->slice) * TY_PLAN_PHASES +
           slot->phase;
}

/* What a scratch array came to. NULL: no memory. */
static void *kept(struct ty_arena *arena, const void *array, size_t size)
{
    void *own = ty_arena_alloc(arena, 1, size);
    return own == NULL ? NULL : memcpy(own, array, size);
}

/* ---- time ---- */

/* Whether a pass is the first, or the last, of its chunk, phase and slice. */
static void find_ends(const struct reader *r, uint32_t *first, uint32_t *last)
{
    memset(first, 0xff, r->n_passes * sizeof(*first));
    for (uint32_t i = 0; i < r->slots->n; i++) {
        const uint32_t pass = pass_at(r, &r->slots->slot[i]);
        first[pass] = first[pass] == UINT32_MAX ? i : first[pass];
        last[pass] = i;
    }
}

static void close_mark(struct reader *r, struct ty_plan_mark *mark, uint32_t *n_work)
{
    mark->work = *n_work;
    for (uint32_t pass = 0; pass < r->n_passes; pass++) {
        if (r->since[pass] > 0) {
            r->rank->work[(*n_work)++] = (struct ty_plan_work){pass, r->since[pass]};
            r->since[pass] = 0;
        }
    }
    mark->work_end = *n_work;
}

static int read_marks(struct reader *r, struct ty_err *err)
{
    const uint32_t most = 2 * r->n_passes + 1;
    uint32_t n_work = 0;
    uint32_t *first = ty_arena_array(r->scratch, uint32_t, 2 * (size_t)r->n_passes);
    r->rank->mark = ty_arena_array(r->arena, struct ty_plan_mark, most);
    r->rank->work = ty_arena_array(r->scratch, struct ty_plan_work, (size_t)most * r->n_passes);
    if (first == NULL || r->rank->mark == NULL || r->rank->work == NULL) {
        return ty_fail_memory(err);
    }
    uint32_t *last = first + r->n_passes;
    find_ends(r, first, last);
    for (uint32_t i = 0; i < r->slots->n; i++) {
        const struct ty_slot *slot = &r->slots->slot[i];
        const uint32_t pass = pass_at(r, slot);
        const bool ends[2] = {first[pass] == i, last[pass] == i};
        for (int k = 0; k < 2; k++) {
            if (ends[k]) {
                struct ty_plan_mark *mark = &r->rank->mark[r->rank->n_marks++];
                *mark = (struct ty_plan_mark){.chunk = (uint16_t)chunk_at(r, slot),
                                              .phase = slot->phase,
                                              .slice = slot->slice,
                                              .first = k == 0};
                if (k == 1 && r->rank->steady == 0) {
                    r->rank->steady = r->rank->n_marks - 1;
                }
                close_mark(r, mark, &n_work);
            }
        }
        assert(pass < r->n_passes);
        r->since[pass]++;
    }
    close_mark(r, &r->rank->mark[r->rank->n_marks++], &n_work);
    r->rank->work = kept(r->arena, r->rank->work, n_work * sizeof(*r->rank->work));
    return r->rank->work == NULL ? ty_fail_memory(err) : 0;
}

/* ---- an order ---- */

static int find_chunks(struct reader *r, uint32_t number, struct ty_err *err)
{
    const struct ty_plan_order *order = r->order;
    const uint32_t stages = ty_sched_stages(&order->shape);
    const uint32_t all = ty_sched_directions(order->sched->placement) * stages;
    r->rank->stage = ty_arena_array(r->arena, uint16_t, all);
    r->chunk_of = ty_arena_array(r->scratch, uint32_t, all);
    if (r->rank->stage == NULL || r->chunk_of == NULL) {
        return ty_fail_memory(err);
    }
    for (uint32_t k = 0; k < all; k++) {
        if (ty_sched_owner(order->sched->placement, &order->shape, k / stages, k % stages) ==
            number) {
            r->chunk_of[k] = r->rank->n_chunks;
            r->rank->stage[r->rank->n_chunks++] = (uint16_t)(k % stages);
        }
    }
    assert(r->rank->n_chunks > 0 && r->rank->n_chunks <= all);
    r->n_passes = r->rank->n_chunks * order->shape.slices * TY_PLAN_PHASES;
    r->since = ty_arena_array(r->scratch, uint32_t, r->n_passes);
    return r->since == NULL ? ty_fail_memory(err) : 0;
}

static int read_rank(struct reader *all, struct ty_plan_order *order,
                     const struct ty_rank_slots *slots, uint32_t number, struct ty_err *err)
{
    assert(number < order->shape.p);
    struct reader r = *all;
    r.order = order;
    r.slots = slots;
    r.rank = &order->rank[number];
    int rc = find_chunks(&r, number, err);
    rc = rc < 0 ? rc
                : ty_plan_held_read(r.rank, slots, r.chunk_of, ty_sched_stages(&order->shape),
                                    r.arena, r.scratch, &order->held[number], err);
    rc = rc < 0 ? rc : read_marks(&r, err);
    for (uint32_t i = 0; i < slots->n; i++) {
        order->split = order->split || slots->slot[i].phase == TY_PHASE_DGRAD;
    }
    return rc;
}

static int read_order(struct ty_arena *arena, struct ty_arena *scratch, struct ty_plan_order *order,
                      bool pairs, const struct ty_sched_times *times, struct ty_err *err)
{
    struct reader all = {.arena = arena, .scratch = scratch};
    struct ty_slots slots;
    int rc = ty_sched_slots(order->sched, &order->shape, times, &slots, scratch, err);
    if (rc == 0 && pairs) {
        ty_slots_pair(&slots);
    }
    order->paired = rc == 0 && ty_slots_paired(&slots);
    for (uint32_t r = 0; r < order->shape.p && rc == 0; r++) {
        rc = read_rank(&all, order, &slots.rank[r], r, err);
    }
    ty_arena_reset(scratch);
    return rc;
}

/* What generators of orders are told, from the times of a layer. */
static struct ty_sched_times times_of(const struct ty_plan_costs *costs,
                                      const struct ty_sched_times *one,
                                      const struct ty_sched_shape *shape)
{
    const double layers = (double)costs->base->arch.layers / ty_sched_stages(shape);
    return (struct ty_sched_times){.forward = one->forward * layers,
                                   .backward = (one->input + one->weight) * layers,
                                   .input = one->input * layers,
                                   .weight = one->weight * layers,
                                   .overlap = -1};
}

/* Reads the order of a shape. */
static int new_order(const struct order_key *key, const struct ty_sched *sched,
                     const struct ty_sched_shape *shape, const struct ty_sched_times *times,
                     struct ty_arena *arena, struct ty_arena *scratch, struct ty_plan_order **out,
                     struct ty_err *err)
{
    struct ty_plan_order *order = ty_arena_array(arena, struct ty_plan_order, 1);
    if (order != NULL) {
        *order = (struct ty_plan_order){.shape = *shape, .sched = sched};
        order->rank = ty_arena_array(arena, struct ty_plan_rank, shape->p);
        order->held = ty_arena_array(arena, struct ty_plan_held, shape->p);
    }
    if (order == NULL || order->rank == NULL || order->held == NULL) {
        return ty_fail_memory(err);
    }
    *out = order;
    return read_order(arena, scratch, order, key->pairs != 0, times, err);
}

/* That of a shape whose order has settled, with more micro-batches. */
static int lengthen(const struct ty_plan_order *settled, const struct ty_sched_shape *shape,
                    struct ty_arena *arena, struct ty_plan_order **out, struct ty_err *err)
{
    struct ty_plan_order *order = ty_arena_array(arena, struct ty_plan_order, 1);
    if (order == NULL) {
        return ty_fail_memory(err);
    }
    *order = *settled;
    order->shape = *shape;
    order->more = shape->m - settled->shape.m;
    *out = order;
    return 0;
}

/* Of one that no durations steer. */
static int kept_order(struct ty_plan_costs *costs, const struct order_key *key,
                      const struct ty_sched *sched, const struct ty_sched_shape *shape,
                      struct ty_plan_order **out, struct ty_err *err)
{
    struct ty_plan_order *known = ty_plan_map_find(&costs->orders, key);
    if (known != NULL) {
        *out = known;
        return 0;
    }
    const struct ty_sched_times none = {.forward = 0};
    struct order_key less = *key;
    struct ty_sched_shape settled = *shape;
    settled.m = less.m = ty_sched_settled(sched, shape);
    int rc;
    if (settled.m < shape->m) {
        rc = kept_order(costs, &less, sched, &settled, out, err);
        rc = rc < 0 ? rc : lengthen(*out, shape, &costs->arena, out, err);
    } else {
        rc = new_order(key, sched, shape, &none, &costs->arena, &costs->scratch, out, err);
    }
    return rc < 0 ? rc : ty_plan_map_add(&costs->orders, key, *out, &costs->arena, err);
}

/* Orders that durations steer are as many as layouts: the last ones are kept. */
static int steered_order(struct ty_plan_costs *costs, struct order_key *key,
                         const struct ty_sched *sched, const struct ty_sched_shape *shape,
                         const struct ty_sched_times *layer, struct ty_plan_order **out,
                         struct ty_err *err)
{
    const struct ty_sched_times times = times_of(costs, layer, shape);
    int rc = 0;
    _Static_assert(sizeof(*key) <= sizeof(costs->steered[0].key), "the key is too long");
    struct ty_plan_steered *const known = costs->steered;
    uint32_t i = 0;
    key->forward = times.forward;
    key->input = times.input;
    key->weight = times.weight;
    while (i + 1 < TY_PLAN_STEERED &&
           (known[i].order == NULL || memcmp(known[i].key, key, sizeof(*key)) != 0)) {
        i++;
    }
    struct ty_plan_steered own = known[i];
    *out = own.order;
    if (own.order == NULL || memcmp(own.key, key, sizeof(*key)) != 0) {
        ty_arena_reset(&own.arena);
        rc = new_order(key, sched, shape, &times, &own.arena, &costs->scratch, out, err);
        own.order = rc < 0 ? NULL : *out;
        memcpy(own.key, key, sizeof(*key));
    }
    memmove(&known[1], &known[0], i * sizeof(*known));
    known[0] = own;
    return rc;
}

int ty_plan_order(struct ty_plan_costs *costs, const struct ty_sched_options *schedule,
                  const struct ty_sched_shape *shape, const struct ty_sched_times *layer,
                  const struct ty_plan_order **out, struct ty_err *err)
{
    const struct ty_sched *sched = ty_sched_of(schedule);
    struct order_key key = {.p = shape->p,
                            .m = shape->m,
                            .v = shape->v,
                            .group = shape->group,
                            .slices = shape->slices,
                            .schedule = (uint32_t)schedule->name,
                            .pairs = ty_sched_pairs(schedule)};
    struct ty_plan_order *order = NULL;
    *out = NULL;
    if (schedule->custom != NULL || sched->asynchronous) {
        return 0;
    }
    costs->orders.key_size = sizeof(key);
    const int rc = sched->steered ? steered_order(costs, &key, sched, shape, layer, &order, err)
                                  : kept_order(costs, &key, sched, shape, &order, err);
    *out = order;
    return rc;
}
