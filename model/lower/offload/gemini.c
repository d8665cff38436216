/* gemini.c - chunks that live where there is room (Colossal-AI's Gemini, Li et al. 2021).
 *
 * A chunk is the shard of a unit: its 16-bit parameters, in whose place its gradients are made, and
 * what the optimizer keeps of it. All live on the host, and parameters come to the GPU as those of
 * zero3-offload do; but the GPU has room, what the warm-up leaves of it (sim/run/rooms.h), and uses
 * it so:
 *
 *     1. parameters stay between uses. Which, follows from the order of a step, which is known when
 *        it begins: what is used again latest goes (belady.h). It has a copy in pinned memory, so
 *        only bringing it back is a transfer. After its last backward a chunk is gradients, which
 *        leave for the host, where the optimizer is; the next step begins with a fetch of each.
 *     2. where all parameters stay, the optimizer of the first units joins them (what Colossal-AI
 *        calls margin memory): these never leave, and the GPU updates them. The first, because
 *        their gradients are reduced last and their parameters wanted first, which the transfers
 *        of the others hide behind.
 *
 * What the memory of the node has no room for goes on to drives (states.c).
 *
 * With room for nothing that is zero3-offload, with room for all it is ZeRO-3. Gradients of several
 * micro-batches are added up while parameters are in use, and have a place of their own
 * (Colossal-AI's enable_gradient_accumulation). */
#include "model/lower/offload.h"

#include "model/lower/offload/belady.h"

#include <math.h>
#include <string.h>

/* Bytes that the rank has for chunks. */
static double room_of(const struct ty_lowering *l)
{
    return l->in->room != NULL ? l->in->room[l->here.rank].gpu_B : 0;
}

/* Gradients are made where parameters were. */
static bool reuses(const struct ty_lowering *l)
{
    const struct ty_layout *layout = l->in->layout;
    return l->shape.m * l->shape.slices == 1 &&
           ty_memory_grad_bytes(layout) == ty_memory_weight_bytes(layout);
}

/* What a chunk's optimizer and gradients take of the GPU, a parameter. */
static double kept_bytes(const struct ty_lowering *l)
{
    const struct ty_layout *layout = l->in->layout;
    const bool whole = reuses(l) || ty_layout_reduces(layout) == TY_REDUCES_LAST;
    return ty_memory_optimizer_bytes(layout) + (whole ? 0 : ty_memory_grad_bytes(layout));
}

void ty_lower_gemini_begin(struct ty_lowering *l, const struct ty_stage_plan *plan)
{
    const struct ty_layout *layout = l->in->layout;
    l->here.chunks = (struct ty_lower_chunks){.miss = NULL};
    if (ty_lower_is_gemini(l)) {
        l->here.chunks.spare_B =
            room_of(l) -
            ty_memory_weight_bytes(layout) * ty_layout_shard(layout, plan->params, plan->experts);
    }
}

bool ty_lower_stays(struct ty_lowering *l, double params)
{
    const double bytes = kept_bytes(l) * params;
    if (!ty_lower_is_gemini(l) || bytes > l->here.chunks.spare_B) {
        l->here.chunks.spare_B = 0; /* the first units only */
        return false;
    }
    l->here.chunks.spare_B -= bytes;
    return true;
}

/* ---- the order of a step ---- */

/* The chunks of a rank: of virtual stage k those from first[k] on. */
struct chunks {
    uint32_t *first;
    double *bytes; /* of those that stay whatever happens 0: they are no question */
    uint32_t n;
};

static int number_chunks(struct ty_lowering *l, struct chunks *c)
{
    const uint32_t stages = ty_lower_n_vstages(l);
    const double weight = ty_memory_weight_bytes(l->in->layout);
    uint32_t at = 0;
    c->first = ty_arena_array(l->arena, uint32_t, stages);
    for (uint32_t k = 0; c->first != NULL && k < stages; k++) {
        c->first[k] = c->n;
        c->n += ty_lower_is_mine(l, k) ? l->vstage[k].n_units : 0;
    }
    c->bytes = ty_arena_array(l->arena, double, c->n + 1);
    for (uint32_t k = 0; c->first != NULL && c->bytes != NULL && k < stages; k++) {
        for (uint32_t u = 0; ty_lower_is_mine(l, k) && u < l->vstage[k].n_units; u++) {
            const struct ty_unit *unit = &l->vstage[k].units[u];
            c->bytes[at++] = unit->fetch != TY_NONE ? weight * ty_lower_shard(l, unit) : 0;
        }
    }
    return c->first == NULL || c->bytes == NULL ? ty_fail_memory(l->b.err) : 0;
}

/* Whether a pass uses parameters that it does not find gathered. */
static bool gathers(const struct ty_lowering *l, const struct ty_block_want *want)
{
    struct ty_block_want plain = *want;
    ty_lower_plain(l, &plain);
    return plain.phase != TY_PHASE_WGRAD && plain.found != TY_FOUND_ALL;
}

/* The chunks that the pass of a slot uses, in its order: into use[], how many. */
static uint32_t uses_of(const struct ty_lowering *l, const struct chunks *c,
                        const struct ty_block_want *want, uint32_t *use)
{
    const struct ty_vstage *v = want->v;
    for (uint32_t i = 0; i < v->n_units; i++) {
        use[i] = c->first[v->number] + (want->phase == TY_PHASE_FORWARD ? i : v->n_units - 1 - i);
    }
    return gathers(l, want) ? v->n_units : 0;
}

/* ---- what a pass brings ---- */

/* A pattern that is there already, or a new one: equal ones are the same. */
static const bool *pattern_of(struct ty_lowering *l, const bool *miss, uint32_t n)
{
    struct ty_lower_pattern *p = l->here.chunks.patterns;
    while (p != NULL && (p->n != n || memcmp(p->miss, miss, n * sizeof(*miss)) != 0)) {
        p = p->next;
    }
    if (p != NULL) {
        return p->miss;
    }
    p = ty_arena_array(l->arena, struct ty_lower_pattern, 1);
    bool *own = ty_arena_array(l->arena, bool, n + 1);
    if (p == NULL || own == NULL) {
        ty_build_no_memory(&l->b);
        return NULL;
    }
    memcpy(own, miss, n * sizeof(*own));
    *p = (struct ty_lower_pattern){.next = l->here.chunks.patterns, .miss = own, .n = n};
    l->here.chunks.patterns = p;
    return own;
}

/* By the order of use, to be looked up by unit. */
static const bool *pattern(struct ty_lowering *l, const struct ty_block_want *want,
                           const bool *miss, bool *by_unit)
{
    const uint32_t n = want->v->n_units;
    for (uint32_t i = 0; i < n; i++) {
        by_unit[want->phase == TY_PHASE_FORWARD ? i : n - 1 - i] = miss[i];
    }
    return pattern_of(l, by_unit, n);
}

/* Patterns of all passes, in the order of their slots. */
static const bool **patterns(struct ty_lowering *l, const struct ty_rank_slots *order,
                             const enum ty_found *found, const bool *miss, bool *by_unit)
{
    const bool **out = ty_arena_alloc(l->arena, order->n + 1, sizeof(*out));
    for (uint32_t i = 0; out != NULL && i < order->n; i++) {
        const struct ty_block_want want = ty_lower_want(l, &order->slot[i], false, found[i]);
        if (gathers(l, &want)) {
            out[i] = pattern(l, &want, miss, by_unit);
            miss += want.v->n_units;
        }
    }
    if (out == NULL) {
        ty_build_no_memory(&l->b);
    }
    return out;
}

/* Bytes of parameters that stay for a while; those that never leave come on top. */
static double record(struct ty_lowering *l, const struct ty_rank_slots *order, double room)
{
    struct chunks c = {.n = 0};
    const bool *edge = ty_lower_edges(l, order, l->shape.m);
    const enum ty_found *found = edge == NULL ? NULL : ty_lower_gathered_at_pass(l, order, edge);
    if (found == NULL || number_chunks(l, &c) < 0) {
        ty_build_no_memory(&l->b);
        return 0;
    }
    uint32_t *use = ty_arena_array(l->arena, uint32_t, (size_t)order->n * c.n + 1);
    bool *miss = ty_arena_array(l->arena, bool, (size_t)order->n *c.n + 1);
    bool *by_unit = ty_arena_array(l->arena, bool, c.n + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; use != NULL && i < order->n; i++) {
        const struct ty_block_want want = ty_lower_want(l, &order->slot[i], false, found[i]);
        n += uses_of(l, &c, &want, &use[n]);
    }
    const struct ty_belady step = {use, n, c.bytes, c.n, room};
    const double most = use == NULL || miss == NULL ? -1 : ty_belady_find(&step, miss, l->arena);
    if (most < 0 || by_unit == NULL) {
        ty_build_no_memory(&l->b);
        return 0;
    }
    l->here.chunks.miss = patterns(l, order, found, miss, by_unit);
    return most;
}

/* ---- the bill ---- */

void ty_lower_gemini(struct ty_lowering *l, const struct ty_rank_slots *order,
                     const struct ty_vstage *const *v, uint32_t n, struct ty_stage_plan *plan)
{
    const struct ty_layout *layout = l->in->layout;
    const double weight = ty_memory_weight_bytes(layout);
    const double all = ty_layout_shard(layout, plan->params, plan->experts);
    double away = 0;
    if (!ty_lower_is_gemini(l)) {
        return;
    }
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t u = 0; u < v[s]->n_units; u++) {
            away += v[s]->units[u].stays ? 0 : ty_lower_shard(l, &v[s]->units[u]);
        }
    }
    const double stays = fmax(0, all - away);
    const double state = ty_memory_optimizer_bytes(layout);
    plan->states.optimizer = state * stays;
    plan->states.grads += (kept_bytes(l) - state) * stays;
    plan->states.weights =
        weight * stays + record(l, order, room_of(l) - (weight + kept_bytes(l)) * stays);
    plan->expert_states = (struct ty_state_bytes){0, 0, 0}; /* chunks hold either */
    plan->away.host.weights = weight * away;
    plan->away.host.optimizer = state * away;
    plan->away.host.grads = reuses(l) ? 0 : TY_MOVED_BYTES * away;
    ty_lower_drives(l, v, n, plan);
    l->here.chunks.updates = stays > 0;
    l->here.optimizer = ty_lower_optimizer_kind(l, stays);
}
