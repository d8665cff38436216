/* order.c - what the passes of an order are besides phase and stage: the first forward and the last
 * backward of a stage in a step, and what they find gathered. */
#include "model/lower/internal.h"

#include <string.h>

static bool makes_gradients(const struct ty_slot *slot)
{
    return slot->phase == TY_PHASE_BACKWARD || slot->phase == TY_PHASE_WGRAD;
}

/* Marks the first F and the last B or W of each virtual stage on a rank, in each step. */
bool *ty_lower_edges(struct ty_lowering *l, const struct ty_rank_slots *order, uint32_t m)
{
    bool *edge = ty_arena_array(l->arena, bool, order->n + 1);
    uint32_t *seen =
        ty_arena_array(l->arena, uint32_t, (size_t)2 * ty_lower_n_vstages(l)); /* 1 + step marked */
    if (edge == NULL || seen == NULL) {
        return NULL;
    }
    const uint32_t n_vstages = ty_lower_n_vstages(l);
    for (uint32_t i = 0; i < order->n; i++) {
        const struct ty_slot *slot = &order->slot[i];
        const uint32_t step = 1 + slot->mb / m, v = n_vstages + ty_lower_vstage_of(l, slot);
        if (slot->phase == TY_PHASE_FORWARD) {
            edge[i] = seen[v] != step;
            seen[v] = step;
        }
    }
    for (uint32_t i = order->n; i > 0; i--) {
        const struct ty_slot *slot = &order->slot[i - 1];
        const uint32_t step = 1 + slot->mb / m, v = ty_lower_vstage_of(l, slot);
        if (makes_gradients(slot)) {
            edge[i - 1] = seen[v] != step || l->sched->updates_each;
            seen[v] = step;
        }
    }
    return edge;
}

/* What a pass finds gathered when the parameters of a stage are given up after use. */
static enum ty_found found_after(const struct ty_lowering *l, const struct ty_rank_slots *order,
                                 uint32_t i)
{
    const struct ty_slot *slot = &order->slot[i];
    if (i == 0 || slot[-1].paired || slot[-1].stage != slot->stage ||
        slot[-1].direction != slot->direction) {
        return TY_FOUND_NONE;
    }
    if (l->sched->whole_chunks) {
        return TY_FOUND_ALL;
    }
    const bool backward = slot->phase == TY_PHASE_BACKWARD || slot->phase == TY_PHASE_DGRAD;
    return backward && slot[-1].phase == TY_PHASE_FORWARD ? TY_FOUND_LAST : TY_FOUND_NONE;
}

/* What every pass of an order finds gathered. Without resharding a stage is gathered by its first
 * forward and given up by its next backward, whichever micro-batch that is, or by its last one, or
 * by an update of its parameters. */
enum ty_found *ty_lower_gathered_at_pass(struct ty_lowering *l, const struct ty_rank_slots *order,
                                         const bool *edge)
{
    const struct ty_layout *layout = l->in->layout;
    const bool up_after_forward = ty_layout_does(layout, layout->framework.reshard_after_forward),
               up_after_backward = ty_layout_does(layout, layout->framework.reshard_after_backward);
    enum ty_found *found = ty_arena_array(l->arena, enum ty_found, order->n + 1);
    bool *kept = ty_arena_array(l->arena, bool, ty_lower_n_vstages(l));
    for (uint32_t i = 0; found != NULL && kept != NULL && i < order->n; i++) {
        const struct ty_slot *slot = &order->slot[i];
        const bool forward = slot->phase == TY_PHASE_FORWARD;
        bool *own = &kept[ty_lower_vstage_of(l, slot)];
        found[i] = *own ? TY_FOUND_ALL : found_after(l, order, i);
        if (slot->phase != TY_PHASE_WGRAD || edge[i]) {
            *own = forward ? !up_after_forward : !(edge[i] || up_after_backward);
        }
        if (l->sched->asynchronous && edge[i] && !forward) {
            memset(kept, 0, ty_lower_n_vstages(l) * sizeof(*kept));
        }
    }
    return kept == NULL ? NULL : found;
}

/* Whether a pass is an edge, or gradients are reduced after runs of passes and one ends here: the
 * next pass that makes gradients does so for another stage. */
bool ty_lower_is_edge(const struct ty_lowering *l, const struct ty_rank_slots *order,
                      const bool *edge, uint32_t i)
{
    const struct ty_slot *slot = &order->slot[i];
    if (edge[i] || !makes_gradients(slot) || ty_layout_reduces(l->in->layout) != TY_REDUCES_RUN) {
        return edge[i];
    }
    uint32_t next = i + 1;
    while (next < order->n && !makes_gradients(&order->slot[next])) {
        next++;
    }
    return next == order->n || order->slot[next].stage != slot->stage ||
           order->slot[next].direction != slot->direction;
}
