/* passes.c - where passes begin: stretches of the compute row in one phase.
 *
 * A profile knows phases of kernels, not micro-batches: two forwards in a row are one stretch
 * unless there is a pause between them. Kernels of no known phase belong to the stretch around
 * them, or are one of their own between two phases. */
#include "sim/profile/replay.h"

/* The pass that a kernel's phase is part of. */
static enum ty_phase pass_of(const struct ty_replay_item *item)
{
    static const uint8_t phases[] = {[TY_PROFILE_OTHER] = TY_PHASE_OTHER,
                                     [TY_PROFILE_FORWARD] = TY_PHASE_FORWARD,
                                     [TY_PROFILE_RECOMPUTE] = TY_PHASE_BACKWARD,
                                     [TY_PROFILE_BACKWARD] = TY_PHASE_BACKWARD,
                                     [TY_PROFILE_OPTIMIZER] = TY_PHASE_STEP};
    return (enum ty_phase)phases[item->kernel->phase];
}

/* Items of no known phase between two of one phase get it. */
static void fill_in(struct ty_replay_item *items, uint32_t n)
{
    uint32_t before = UINT32_MAX; /* the last item of a known phase on the compute row */
    for (uint32_t i = 0; i < n; i++) {
        if (items[i].row != TY_STREAM_COMPUTE || items[i].phase == TY_PHASE_OTHER) {
            continue;
        }
        const bool same = before != UINT32_MAX && items[before].phase == items[i].phase &&
                          items[before].kernel->step == items[i].kernel->step;
        for (uint32_t k = before + 1; same && k < i; k++) {
            items[k].phase = items[i].phase;
        }
        before = i;
    }
}

void ty_replay_passes(struct ty_replay_item *items, uint32_t n, int64_t pause_ns)
{
    const struct ty_replay_item *last = NULL; /* on the compute row */
    for (uint32_t i = 0; i < n; i++) {
        items[i].phase = (uint8_t)pass_of(&items[i]);
    }
    fill_in(items, n);
    for (uint32_t i = 0; i < n; i++) {
        struct ty_replay_item *item = &items[i];
        if (item->row != TY_STREAM_COMPUTE) {
            continue;
        }
        item->begins = last == NULL || last->phase != item->phase ||
                       last->kernel->step != item->kernel->step ||
                       item->start_ns - last->end_ns > pause_ns;
        last = item;
    }
    if (n > 0) {
        items[0].begins = true; /* what communicates before anything computes */
    }
}
