/* v_block.c - schedules over a V of stages that repeat a building block.
 *
 * Source: Qi et al., "Pipeline parallelism with controllable memory", NeurIPS 2024: blocks repeated
 * every six unit passes, then "squeezed". Which passes may overtake others, and whether a weight
 * gradient may delay a forward that is about to arrive, is not decided by the block; no answer is
 * best for all durations, so a few are tried (cf. sail-sg/zero-bubble-pipeline-parallelism, whose
 * heuristic tries its variants too). */
#include "model/schedule/v_block.h"

#include <math.h>

#include "model/schedule/greedy.h"

#define PERIOD 6 /* F, I, W of two stages, in unit passes */

static const struct ty_greedy_rules ways[] = {
    {.overtaking = TY_OVERTAKE_NEVER},
    {.overtaking = TY_OVERTAKE_IDLE},
    {.overtaking = TY_OVERTAKE_EAGER},                  /* enough for equal times, see n_ways */
    {.overtaking = TY_OVERTAKE_NEVER, .patience = 0.5}, /* half a W: guess, for unequal times */
    {.overtaking = TY_OVERTAKE_IDLE, .patience = 0.5},
    {.overtaking = TY_OVERTAKE_EAGER, .patience = 0.5},
};

/* With equal times and no delays all passes start in step: nothing arrives within half a pass. */
static size_t n_ways(const struct ty_sched_times *times)
{
    const bool in_step =
        times->forward == times->input && times->input == times->weight && times->edge == 0;
    return in_step ? 3 : TY_COUNT(ways);
}

/* Merges the four sequences of a rank by their starts. */
static void repeat_block(const struct ty_sched_shape *shape, uint32_t rank,
                         const struct ty_v_block *block, struct ty_slots *order)
{
    const uint32_t stage[2] = {rank, 2 * shape->p - 1 - rank};
    uint32_t n_forward[2] = {0}, n_input[2] = {0};
    order->rank[rank].n = 0;
    for (uint32_t done = 0; done < 4 * shape->m; done++) {
        uint64_t first = UINT64_MAX;
        uint32_t chunk = 0;
        bool forward = true;
        for (uint32_t k = 0; k < 4; k++) {
            const uint32_t c = k % 2, n = k < 2 ? n_forward[c] : n_input[c];
            const uint64_t at =
                (uint64_t)PERIOD * n + (k < 2 ? block->forward[c] : block->input[c]);
            if (n < shape->m && at < first) {
                first = at;
                chunk = c;
                forward = k < 2;
            }
        }
        ty_slots_add(order, rank, forward ? TY_PHASE_FORWARD : TY_PHASE_DGRAD,
                     (forward ? n_forward : n_input)[chunk]++, stage[chunk]);
    }
}

static void repeat_blocks(const struct ty_sched_shape *shape, ty_v_block_of *block_of,
                          struct ty_slots *order)
{
    for (uint32_t r = 0; r < shape->p; r++) {
        const struct ty_v_block block = block_of(shape->p, r);
        repeat_block(shape, r, &block, order);
    }
}

int ty_sched_v_blocks(const struct ty_sched_shape *shape, const struct ty_sched_times *times,
                      ty_v_block_of *block, uint32_t cap, struct ty_slots *slots,
                      struct ty_arena *arena, struct ty_err *err)
{
    struct ty_greedy greedy;
    struct ty_slots order, other;
    int rc = ty_slots_init(&order, shape, arena, err);
    rc = rc < 0 ? rc : ty_slots_init(&other, shape, arena, err);
    rc = rc < 0 ? rc : ty_greedy_init(&greedy, TY_PLACE_V, shape, times, cap, arena, err);
    if (rc != 0) {
        return rc;
    }
    /* Ramps are at most some 2 p micro-batches long: 3 p show both and periods between. */
    struct ty_sched_shape trial = *shape;
    trial.m = shape->m < 3 * shape->p ? shape->m : 3 * shape->p;
    repeat_blocks(&trial, block, &order);
    double best = HUGE_VAL;
    size_t way = 0;
    for (size_t i = 0; i < n_ways(times); i++) {
        const double makespan = ty_greedy_play(&greedy, &order, trial.m, &ways[i], best, &other);
        if (makespan < best) {
            const struct ty_slots better = other;
            other = *slots;
            *slots = better;
            best = makespan;
            way = i;
        }
    }
    if (trial.m < shape->m) {
        repeat_blocks(shape, block, &order);
        best = ty_greedy_play(&greedy, &order, shape->m, &ways[way], HUGE_VAL, slots);
    }
    if (best < HUGE_VAL) {
        return 0;
    }
    return ty_fail(err, TY_EBUG, "schedule: a building block over %u ranks cannot be run",
                   (unsigned)shape->p);
}

uint32_t ty_sched_v_held(const struct ty_sched_shape *shape, uint32_t cap)
{
    const uint32_t all = 2 * shape->m;
    return cap < all ? cap : all;
}
