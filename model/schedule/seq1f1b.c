/* seq1f1b.c - 1F1B over slices of sequences.
 *
 *     p = 3, m = 3, q = 2
 *     rank 0 |F0 f0 F1 f1 .. .. .. .. b0 == F2 B0 == f2 b1 == .. B1 == .. b2 == B2 ==|
 *     rank 1 |.. F0 f0 F1 .. .. b0 == f1 B0 == F2 b1 == f2 B1 == .. b2 == B2 == .. ..|
 *     rank 2 |.. .. F0 f0 b0 == F1 B0 == f1 b1 == F2 B1 == f2 b2 == B2 == .. .. .. ..|
 *
 * The pieces are (micro-batch, slice), drawn in lower case for the second slice. Slices ascend
 * forward, as each attends to those before it, and descend backward. Rank r warms up with
 * min(p - r - 2 + q, m q) pieces and holds at most min(m q, p - r - 1 + q) of them, each a q-th of
 * a micro-batch. With q = 1 it is 1F1B.
 * Source: Sun et al., "Seq1F1B: Efficient sequence-level pipeline parallelism", 2024,
 * arXiv:2406.03488. */
#include "model/schedule/steady.h"

static struct ty_slot piece(const struct ty_sched_shape *shape, uint32_t rank, uint32_t k,
                            enum ty_phase phase)
{
    struct ty_slot slot = ty_sched_1f1b_piece(shape, rank, k / shape->slices, phase);
    const uint32_t slice = k % shape->slices;
    slot.slice = (uint8_t)(phase == TY_PHASE_FORWARD ? slice : shape->slices - 1 - slice);
    return slot;
}

static uint32_t warm_up(const struct ty_sched_shape *shape, uint32_t rank)
{
    return shape->p - 1 - rank + shape->slices - 1;
}

extern const struct ty_sched ty_sched_seq1f1b;
const struct ty_sched ty_sched_seq1f1b = {
    .name = "seq1f1b",
    .summary = "1F1B over q slices of each sequence: a q-th of bubble and activations",
    .source = "Sun et al. 2024, Seq1F1B",
    .placement = TY_PLACE_LOOPED,
    .sliced = true,
    .chunks = 1,
    .auto_slices = 4,
    .reduced = "1f1b",
    .warm_up = warm_up,
    .piece = piece,
    .formula = "(m q + p - 1)(tF + tB)",
    .domain = "equal stages, equal slices; times of one slice",
    .makespan = ty_sched_one_round_each,
};
