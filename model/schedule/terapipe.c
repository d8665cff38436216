/* terapipe.c - GPipe over slices of sequences.
 *
 *     p = 2, m = 2, q = 2
 *     rank 0 |F0 f0 F1 f1 .. .. .. b0 == B0 == b1 == B1 ==|
 *     rank 1 |.. F0 f0 F1 f1 b0 == B0 == b1 == B1 == .. ..|
 *
 * The pieces are (micro-batch, slice), drawn in lower case for the second slice. Slices ascend
 * forward, as each attends to those before it, and descend backward. The bubble is that of GPipe
 * with q times as many micro-batches, while every rank holds all of them. With q = 1 it is GPipe.
 * Source: Li et al., "TeraPipe: Token-level pipeline parallelism for training large-scale language
 * models", ICML 2021, section 3. Its slices of unequal length are left out. */
#include "model/schedule/formulas.h"

static void add_pass(const struct ty_sched_shape *shape, struct ty_rank_slots *rank, uint32_t stage,
                     enum ty_phase phase)
{
    for (uint32_t k = 0; k < shape->m * shape->slices; k++) {
        const uint32_t slice = k % shape->slices;
        const bool forward = phase == TY_PHASE_FORWARD;
        rank->slot[rank->n++] =
            (struct ty_slot){.mb = (uint16_t)(k / shape->slices),
                             .stage = (uint16_t)stage,
                             .phase = (uint8_t)phase,
                             .slice = (uint8_t)(forward ? slice : shape->slices - 1 - slice)};
    }
}

static int generate(const struct ty_sched_shape *shape, const struct ty_sched_times *times,
                    struct ty_slots *slots, struct ty_arena *arena, struct ty_err *err)
{
    (void)times, (void)arena, (void)err;
    for (uint32_t r = 0; r < shape->p; r++) {
        add_pass(shape, &slots->rank[r], r, TY_PHASE_FORWARD);
        add_pass(shape, &slots->rank[r], r, TY_PHASE_BACKWARD);
    }
    return 0;
}

extern const struct ty_sched ty_sched_terapipe;
const struct ty_sched ty_sched_terapipe = {
    .name = "terapipe",
    .summary =
        "GPipe over q slices of each sequence: a q-th of the bubble; holds every micro-batch",
    .source = "Li et al. 2021, TeraPipe",
    .placement = TY_PLACE_LOOPED,
    .sliced = true,
    .chunks = 1,
    .auto_slices = 4,
    .generate = generate,
    .formula = "(m q + p - 1)(tF + tB)",
    .domain = "equal stages, equal slices; times of one slice",
    .makespan = ty_sched_one_round_each,
    .in_flight = ty_sched_holds_all,
};
