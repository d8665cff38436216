/* drives.c - Gemini: what the memory of a node has no room for lives on its drives.
 *
 * A rank's part of that memory (sim/run/rooms.h) keeps what crosses a drive most often for its
 * bytes; the rest goes:
 *
 *     1. the optimizer's state, chunk by chunk, as many as have to: it is read and written once in
 *        a step, 2 bytes for each of room. The order of updates repeats, and in such an order what
 *        was used last is used again latest: Belady's rule keeps the same chunks in every step, so
 *        which they are is settled beforehand.
 *     2. where that is not enough, 16-bit parameters: read for every use that does not find them on
 *        the GPU, and written once. In their place are gradients between backward and update, which
 *        are written and read, too: 4 bytes and more for each of room.
 *
 * Chunks that go are spread evenly over those of the rank: the drives read and write some while the
 * processors update others, and the depth of prefetching hides a read behind units that need none.
 * Buffers in between are those of a system that has everything on drives. */
#include "model/lower/offload.h"

#include <math.h>

/* Parameters of a rank whose optimizer's state goes, and of these, those whose 16 bits go. */
struct going {
    double states, weights;
};

/* `extra` bytes for each parameter are gradients, which stay. */
static struct going find_going(const struct ty_lowering *l, const struct ty_vstage *const *v,
                               uint32_t n, double away, double extra)
{
    const double state = ty_memory_optimizer_bytes(l->in->layout);
    const double weight = ty_memory_weight_bytes(l->in->layout);
    struct ty_homes to = *ty_lower_homes(l);
    struct going going = {0, 0};
    double short_B = (state + weight + extra) * away - l->in->room[l->here.rank].host_B;
    if (short_B <= 0) {
        return going;
    }
    to.optimizer = TY_HOME_NVME;
    const double buffers_B = ty_lower_pinned(l, &to, v, n);
    going.states = (short_B + buffers_B) / state;
    if (going.states <= away) {
        return going;
    }
    to.parameters = TY_HOME_NVME;
    short_B += ty_lower_pinned(l, &to, v, n) - state * away;
    return (struct going){away, fmin(away, short_B / weight)};
}

/* Chunks so far, and those of them that went: never fewer than their share. */
struct spread {
    double share, all, gone;
};

static bool goes(struct spread *s, double params)
{
    s->all += params;
    const bool is = s->gone < s->share * s->all;
    s->gone += is ? params : 0;
    return is;
}

/* `grads`: bytes for each parameter that go with its 16 bits. */
static void send(struct ty_lowering *l, struct ty_unit *unit, bool weights, double grads)
{
    const double state = ty_memory_optimizer_bytes(l->in->layout);
    const double weight = ty_memory_weight_bytes(l->in->layout);
    for (uint32_t k = 0; k < unit->n_parts; k++) {
        for (uint32_t i = 0; i < unit->part[k].n_buckets; i++) {
            const double params = ty_lower_bucket_shard(l, &unit->part[k].bucket[i]);
            ty_lower_offload_far(l, &unit->part[k].bucket[i],
                                 (struct ty_lower_far){state * params, weights ? grads * params : 0,
                                                       weights ? weight * params : 0});
        }
    }
    if (weights) {
        ty_lower_offload_read(l, unit);
    }
}

static void bill(const struct ty_lowering *l, struct going gone, double buffers_B,
                 struct ty_stage_plan *plan)
{
    const double states_B = ty_memory_optimizer_bytes(l->in->layout) * gone.states;
    const double weights_B = ty_memory_weight_bytes(l->in->layout) * gone.weights;
    plan->away.nvme.optimizer = states_B;
    plan->away.host.optimizer = fmax(0, plan->away.host.optimizer - states_B);
    plan->away.nvme.weights = weights_B;
    plan->away.host.weights = fmax(0, plan->away.host.weights - weights_B);
    plan->pinned_B += buffers_B;
}

void ty_lower_drives(struct ty_lowering *l, const struct ty_vstage *const *v, uint32_t n,
                     struct ty_stage_plan *plan)
{
    const double away = plan->away.host.weights / ty_memory_weight_bytes(l->in->layout);
    const double grads = plan->away.host.grads > 0 ? 0 : TY_MOVED_BYTES;
    struct ty_homes to = *ty_lower_homes(l);
    if (l->in->room == NULL || away <= 0) {
        return;
    }
    const struct going going = find_going(l, v, n, away, TY_MOVED_BYTES - grads);
    struct spread states = {.share = going.states / away},
                  weights = {.share = going.weights / away};
    for (uint32_t s = 0; s < n && going.states > 0; s++) {
        for (uint32_t u = 0; u < v[s]->n_units; u++) {
            struct ty_unit *unit = &v[s]->units[u];
            const double params = unit->stays ? 0 : ty_lower_shard(l, unit);
            if (params > 0 && goes(&states, params)) {
                send(l, unit, goes(&weights, params), grads);
            }
        }
    }
    l->here.chunks.spills = weights.gone > 0 && grads > 0;
    to.optimizer = states.gone > 0 ? TY_HOME_NVME : to.optimizer;
    to.parameters = weights.gone > 0 ? TY_HOME_NVME : to.parameters;
    bill(l, (struct going){states.gone, weights.gone}, ty_lower_pinned(l, &to, v, n), plan);
}
