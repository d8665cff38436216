/* v_half.c - half of the activations of 1F1B, for a small bubble.
 *
 *     p = 2, m = 4, v = 2
 *     rank 0 |F0 F1 F2 f0 i0 w0 f1 I0 i1 W0 w1 f2 F3 I1 i2 W1 w2 f3 i3 I2 w3 I3 W2 W3 ..|
 *     rank 1 |.. F0 f0 F1 f1 i0 I0 w0 F2 W0 f2 i1 I1 w1 F3 W1 f3 i2 I2 i3 I3 w2 W2 w3 W3|
 *
 * Two stages per rank in a V (lower case: the second), split backward. The building block sends
 * forwards down the ranks at half speed, so that a micro-batch lives about as long on the first
 * rank as on the last: a rank holds p + 2 pieces (p even; p + 1 if odd) where 2p are p whole
 * micro-batches. The price is a bubble that grows like p: 1, 5, 17 passes on 2, 4, 8 ranks.
 * Source: Qi et al., "Pipeline parallelism with controllable memory", NeurIPS 2024; offsets of the
 * block as in sail-sg/zero-bubble-pipeline-parallelism, V-Half. */
#include "model/schedule/v_block.h"

static struct ty_v_block block(uint32_t p, uint32_t rank)
{
    const uint32_t shift = p % 2 == 0 ? 3 : 0; /* else two passes of a rank would coincide */
    return (struct ty_v_block){
        .forward = {2 * rank, 3 * p - 2 - rank},
        .input = {6 * p + shift - 2 - rank, 3 * p + shift - 1 + 2 * rank},
    };
}

static uint32_t cap(uint32_t p)
{
    return p % 2 == 0 ? p + 2 : p + 1;
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

extern const struct ty_sched ty_sched_v_half;
const struct ty_sched ty_sched_v_half = {
    .name = "v-half",
    .summary = "two stages per rank in a V; half of the activations of 1F1B",
    .source = "Qi et al. 2024, controllable memory, V-Half",
    .placement = TY_PLACE_V,
    .chunks = 2,
    .steered = true,
    .generate = generate,
    .in_flight = in_flight,
};
