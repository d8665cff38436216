/* costs_held.c - what ranks hold at the fullest moments of their orders, whatever passes take.
 *
 * Of all moments of a rank those are kept that may be its fullest. A moment is what is held, by
 * stage, when a pass runs; one at which less of everything is held while such a pass runs is left
 * out. Of stages that have the same units it only matters how much all of them hold, and of a
 * hundred moments of a rank with many stages two or three are left. */
#include <assert.h>
#include <string.h>

#include "sim/plan/costs_internal.h"

/* A moment while they are gathered. */
struct seen {
    struct seen *before; /* another one of the same kind of pass */
    uint32_t held[];     /* [2 n_stages] kept, then waiting */
};
struct gathered {
    uint32_t n_stages, n;
    struct seen **last; /* [n_stages x phases]: of such a pass */
    uint32_t *now;      /* [2 n_stages] what is held: kept, then waiting */
    struct ty_arena *scratch;
};

static int begin(struct gathered *all, uint32_t n_stages, struct ty_arena *scratch)
{
    *all = (struct gathered){.n_stages = n_stages, .scratch = scratch};
    all->last = ty_arena_array(scratch, struct seen *, (size_t)n_stages * TY_PLAN_PHASES);
    all->now = ty_arena_array(scratch, uint32_t, 2 * (size_t)n_stages);
    return all->last == NULL || all->now == NULL ? TY_ENOMEM : 0;
}

static bool covers(const uint32_t *more, const uint32_t *less, uint32_t n)
{
    bool all = true;
    for (uint32_t i = 0; i < n && all; i++) {
        all = more[i] >= less[i];
    }
    return all;
}

/* What is held while a pass of a stage runs. */
static int add_moment(struct gathered *all, uint32_t stage, uint32_t phase)
{
    assert(stage < all->n_stages && phase < TY_PLAN_PHASES);
    const uint32_t n = 2 * all->n_stages;
    const size_t bytes = n * sizeof(*all->now);
    struct seen **last = &all->last[stage * TY_PLAN_PHASES + phase];
    for (struct seen *seen = *last; seen != NULL; seen = seen->before) {
        if (covers(seen->held, all->now, n)) {
            return 0;
        }
        if (covers(all->now, seen->held, n)) { /* takes its place */
            memcpy(seen->held, all->now, bytes);
            return 0;
        }
    }
    struct seen *seen = ty_arena_alloc(all->scratch, 1, sizeof(*seen) + bytes);
    if (seen == NULL) {
        return TY_ENOMEM;
    }
    memcpy(seen->held, all->now, bytes);
    seen->before = *last;
    *last = seen;
    all->n++;
    return 0;
}

/* All moments into the arena; rc: how gathering them went. */
static int finish(const struct gathered *all, int rc, struct ty_arena *arena,
                  struct ty_plan_held *out, struct ty_err *err)
{
    const uint32_t n = all->n_stages;
    out->moment = ty_arena_array(arena, struct ty_plan_moment, all->n);
    uint32_t *held = ty_arena_array(arena, uint32_t, 2 * (size_t)n * all->n);
    if (rc < 0 || out->moment == NULL || held == NULL) {
        return ty_fail_memory(err);
    }
    for (uint32_t i = 0; i < n * TY_PLAN_PHASES; i++) {
        for (const struct seen *seen = all->last[i]; seen != NULL; seen = seen->before) {
            memcpy(held, seen->held, 2 * n * sizeof(*held));
            out->moment[out->n_moments++] =
                (struct ty_plan_moment){.stage = (uint16_t)(i / TY_PLAN_PHASES),
                                        .phase = (uint8_t)(i % TY_PLAN_PHASES),
                                        .kept = held,
                                        .waiting = held + n};
            held += 2 * (size_t)n;
        }
    }
    assert(out->n_moments == all->n);
    return 0;
}

/* Of passes of one kind in a row: forwards hold more and more, backwards less and less, and first
 * halves of split ones most at one end, for they put one thing in the place of another. */
static int add_passes(struct gathered *all, uint32_t chunk, uint32_t phase, uint32_t n)
{
    const bool first = phase == TY_PHASE_DGRAD, whole = phase == TY_PHASE_BACKWARD;
    uint32_t *kept = &all->now[chunk], *waiting = kept + all->n_stages;
    *kept += phase == TY_PHASE_FORWARD ? n : 0;
    int rc = add_moment(all, chunk, phase);
    /* A pass gives back what an earlier one kept. */
    assert((!first && !whole) || *kept >= n);
    assert(phase != TY_PHASE_WGRAD || *waiting >= n);
    if (first && n > 1) {
        *kept -= n - 1;
        *waiting += n - 1;
        rc = rc < 0 ? rc : add_moment(all, chunk, phase);
        n = 1;
    }
    *kept -= first || whole ? n : 0;
    *waiting += first ? n : 0;
    *waiting -= phase == TY_PHASE_WGRAD ? n : 0;
    return rc;
}

int ty_plan_held_read(const struct ty_plan_rank *rank, const struct ty_rank_slots *slots,
                      const uint32_t *chunk_of, uint32_t stages, struct ty_arena *arena,
                      struct ty_arena *scratch, struct ty_plan_held *out, struct ty_err *err)
{
    struct gathered all;
    int rc = begin(&all, rank->n_chunks, scratch);
    for (uint32_t i = 0, n; i < slots->n && rc == 0; i += n) {
        const struct ty_slot *slot = &slots->slot[i];
        for (n = 1; i + n < slots->n && slot[n].phase == slot->phase &&
                    slot[n].stage == slot->stage && slot[n].direction == slot->direction;) {
            n++;
        }
        rc = add_passes(&all, chunk_of[slot->direction * stages + slot->stage], slot->phase, n);
    }
    out->stage = rank->stage;
    out->n_stages = rank->n_chunks;
    return finish(&all, rc, arena, out, err);
}

/* ---- by kinds of stages ---- */

/* Stages that are of one kind become one. kind_of[n_stages] */
static uint32_t find_kinds(const struct ty_plan_held *held, const struct ty_plan_deal *deal,
                           uint16_t *stage, uint32_t *kind_of)
{
    uint32_t n = 0;
    for (uint32_t c = 0; c < held->n_stages; c++) {
        uint32_t k = 0;
        while (k < n && deal->stage[stage[k]] != deal->stage[held->stage[c]]) {
            k++;
        }
        if (k == n) {
            stage[n++] = held->stage[c];
        }
        kind_of[c] = k;
    }
    return n;
}

static int join_stages(const struct ty_plan_held *held, const struct ty_plan_deal *deal,
                       struct ty_arena *arena, struct ty_arena *scratch, struct ty_plan_held *out,
                       struct ty_err *err)
{
    struct gathered all;
    uint32_t *kind_of = ty_arena_array(scratch, uint32_t, held->n_stages);
    out->stage = ty_arena_array(arena, uint16_t, held->n_stages);
    if (kind_of == NULL || out->stage == NULL) {
        return ty_fail_memory(err);
    }
    const uint32_t n = out->n_stages = find_kinds(held, deal, out->stage, kind_of);
    int rc = begin(&all, n, scratch);
    for (uint32_t i = 0; i < held->n_moments && rc == 0; i++) {
        const struct ty_plan_moment *moment = &held->moment[i];
        memset(all.now, 0, 2 * n * sizeof(*all.now));
        for (uint32_t c = 0; c < held->n_stages; c++) {
            all.now[kind_of[c]] += moment->kept[c];
            all.now[n + kind_of[c]] += moment->waiting[c];
        }
        rc = add_moment(&all, kind_of[moment->stage], moment->phase);
    }
    return finish(&all, rc, arena, out, err);
}

struct held_key {
    const struct ty_plan_held *held;
    const struct ty_plan_deal *deal;
};

/* Whether the sums of stages do not depend on the order in which they are added up. */
static bool in_bytes(const struct ty_plan_stage *const *stage, uint32_t stages)
{
    bool all = true;
    for (uint32_t s = 0; s < stages && all; s++) {
        all = stage[s]->in_bytes;
    }
    return all;
}

int ty_plan_held(struct ty_plan_costs *costs, const struct ty_plan_look *look,
                 const struct ty_plan_stage *const *stage, const struct ty_plan_held **out,
                 struct ty_err *err)
{
    const struct ty_plan_order *order = look->order;
    const struct held_key key = {order->held, look->deal};
    const bool lasts = look->deal != costs->own_deal && !order->sched->steered;
    *out = order->held;
    if (!lasts || order->shape.v == 1 || !in_bytes(stage, ty_sched_stages(&order->shape))) {
        return 0;
    }
    costs->helds.key_size = sizeof(key);
    const struct ty_plan_held *known = ty_plan_map_find(&costs->helds, &key);
    if (known != NULL) {
        *out = known;
        return 0;
    }
    struct ty_plan_held *own = ty_arena_array(&costs->arena, struct ty_plan_held, order->shape.p);
    int rc = own == NULL ? ty_fail_memory(err) : 0;
    for (uint32_t r = 0; r < order->shape.p && rc == 0; r++) {
        rc = join_stages(&order->held[r], look->deal, &costs->arena, &costs->scratch, &own[r], err);
    }
    ty_arena_reset(&costs->scratch);
    *out = own;
    return rc < 0 ? rc : ty_plan_map_add(&costs->helds, &key, own, &costs->arena, err);
}
