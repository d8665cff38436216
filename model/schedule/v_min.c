/* v_min.c - the least activations that a V of stages can do with.
 *
 *     p = 2, m = 4, v = 2
 *     rank 0 |F0 F1 F2 f0 i0 w0 f1 I0 i1 W0 w1 I1 W1 f2 i2 F3 w2 I2 W2 f3 i3 w3 .. I3 W3|
 *     rank 1 |.. F0 f0 F1 f1 i0 I0 w0 W0 i1 I1 F2 f2 w1 W1 i2 I2 F3 f3 w2 W2 i3 I3 w3 W3|
 *
 * Two stages per rank in a V (lower case: the second), split backward. The building block sends a
 * micro-batch to the bottom of the V and back without a pause, forward and backward: a rank holds
 * about p / 3 micro-batches, 2 ceil((p + 2) / 3) pieces. Every pass is awaited at once, so there is
 * nothing to hide a delay or a difference of durations behind: they cost more than elsewhere.
 * Source: Qi et al., "Pipeline parallelism with controllable memory", NeurIPS 2024; offsets of the
 * block as in sail-sg/zero-bubble-pipeline-parallelism, V-Min. */
#include "model/schedule/v_block.h"

static struct ty_v_block block(uint32_t p, uint32_t rank)
{
    const uint32_t shift = p % 3 == 0 ? 2 : 0; /* else two passes of a rank would coincide */
    return (struct ty_v_block){
        .forward = {rank, 2 * p - 1 - rank},
        .input = {4 * p + shift - 1 - rank, 2 * p + shift + rank},
    };
}

static uint32_t cap(uint32_t p)
{
    return 2 * ((p + 4) / 3);
}

static int generate(const struct ty_sched_shape *shape, const struct ty_sched_times *times,
                    struct ty_slots *slots, struct ty_arena *arena, struct ty_err *err)
{
    return ty_sched_v_blocks(shape, times, block, cap(shape->p), slots, arena, err);
}

static uint32_t in_flight(const struct ty_sched_shape *shape, uint32_t rank)
{
    (void)rank;
    return ty_sched_v_held(shape, cap(shape->p));
}

extern const struct ty_sched ty_sched_v_min;
const struct ty_sched ty_sched_v_min = {
    .name = "v-min",
    .summary = "two stages per rank in a V; about a third of the activations of 1F1B",
    .source = "Qi et al. 2024, controllable memory, V-Min",
    .placement = TY_PLACE_V,
    .chunks = 2,
    .steered = true,
    .generate = generate,
    .in_flight = in_flight,
};
