/* dual.c - the eight steps of DualPipe, for one rank.
 *
 * F, B, I, W as everywhere; 0 is the near stage, 1 the far one; (F|B) is one overlapped slot.
 *
 *     1   2 (n - h - 1) times    F0
 *     2   h + 1 times            F0 F1
 *     3   n - h - 1 times        I1 W F1
 *     4   m - 2 n + h + 1 times  (F0|B1) (F1|B0), the first pair apart at the turn (h = n - 1)
 *     5   n - h - 1 times        B1 (F1|B0)
 *     6   h + 1 times            B1 B0, in the second half I1 I0
 *     7   n - h - 1 times        W I0
 *     8   h + 1 times            W
 *
 * Each F, B or I takes the next micro-batch of its stage, each W the oldest I that has none.
 * Source: DeepSeek-AI, "DeepSeek-V3 technical report", 2024; deepseek-ai/DualPipe,
 * dualpipe/dualpipe.py and dualpipev.py. The makespan is that of Victarry/PP-Schedule-Visualization
 * for DualPipeV. */
#include "model/schedule/dual.h"

enum {
    NEAR,
    FAR,
    N_SIDES
};

struct walk {
    struct ty_rank_slots *order;
    struct ty_slot next_forward[N_SIDES], next_backward[N_SIDES];
    uint32_t oldest; /* index in the order before which every I has its W */
};

static void append(struct walk *w, struct ty_slot slot)
{
    w->order->slot[w->order->n++] = slot;
}

static void forward(struct walk *w, int side)
{
    append(w, w->next_forward[side]);
    w->next_forward[side].mb++;
}

/* Full, or of the inputs only. */
static void backward(struct walk *w, int side, enum ty_phase phase)
{
    struct ty_slot slot = w->next_backward[side];
    slot.phase = (uint8_t)phase;
    append(w, slot);
    w->next_backward[side].mb++;
}

static void weight(struct walk *w)
{
    while (w->order->slot[w->oldest].phase != TY_PHASE_DGRAD) {
        w->oldest++;
    }
    struct ty_slot slot = w->order->slot[w->oldest++];
    slot.phase = TY_PHASE_WGRAD;
    append(w, slot);
}

static void overlapped(struct walk *w, int forward_side, int backward_side)
{
    forward(w, forward_side);
    w->order->slot[w->order->n - 1].paired = true;
    backward(w, backward_side, TY_PHASE_BACKWARD);
}

static struct walk begin(struct ty_slots *slots, const struct ty_dual_rank *at)
{
    struct walk w = {.order = &slots->rank[at->rank]};
    const struct ty_slot near = {.stage = (uint16_t)at->h,
                                 .phase = TY_PHASE_FORWARD,
                                 .direction = (uint8_t)at->near_direction};
    const struct ty_slot far = {.stage = (uint16_t)(2 * at->n - 1 - at->h),
                                .phase = TY_PHASE_FORWARD,
                                .direction = (uint8_t)at->far_direction};
    w.next_forward[NEAR] = w.next_backward[NEAR] = near;
    w.next_forward[FAR] = w.next_backward[FAR] = far;
    return w;
}

/* Steps 1 to 4: until the last micro-batch has entered. */
static void fill_and_steady(struct walk *w, const struct ty_dual_rank *at)
{
    const uint32_t outside = at->n - at->h - 1;
    for (uint32_t i = 0; i < 2 * outside; i++) {
        forward(w, NEAR);
    }
    for (uint32_t i = 0; i < at->h + 1; i++) {
        forward(w, NEAR);
        forward(w, FAR);
    }
    for (uint32_t i = 0; i < outside; i++) {
        backward(w, FAR, TY_PHASE_DGRAD);
        weight(w);
        forward(w, FAR);
    }
    for (uint32_t i = 0; i < at->m - 2 * at->n + at->h + 1; i++) {
        if (i == 0 && outside == 0) {
            forward(w, NEAR);
            backward(w, FAR, TY_PHASE_BACKWARD);
        } else {
            overlapped(w, NEAR, FAR);
        }
        overlapped(w, FAR, NEAR);
    }
}

/* Steps 5 to 8. */
static void drain(struct walk *w, const struct ty_dual_rank *at)
{
    const uint32_t outside = at->n - at->h - 1, inside = at->h + 1;
    for (uint32_t i = 0; i < outside; i++) {
        backward(w, FAR, TY_PHASE_BACKWARD);
        overlapped(w, FAR, NEAR);
    }
    for (uint32_t i = 0; i < 2 * inside; i++) {
        backward(w, i % 2 == 0 ? FAR : NEAR, i < inside ? TY_PHASE_BACKWARD : TY_PHASE_DGRAD);
    }
    for (uint32_t i = 0; i < outside; i++) {
        weight(w);
        backward(w, NEAR, TY_PHASE_DGRAD);
    }
    for (uint32_t i = 0; i < inside; i++) {
        weight(w);
    }
}

void ty_dual_steps(struct ty_slots *slots, const struct ty_dual_rank *rank)
{
    struct walk w = begin(slots, rank);
    fill_and_steady(&w, rank);
    drain(&w, rank);
}

double ty_dual_makespan(uint32_t n, uint32_t passes, const struct ty_sched_times *times)
{
    const double slot = times->overlap < 0 ? times->forward + times->backward : times->overlap;
    return 3.0 * n * times->forward + ((double)passes - n - 2) * slot +
           (2.0 * n - 1) * times->input + times->weight + 2 * times->backward;
}

static bool same(double a, double b)
{
    return !(a < b) && !(a > b);
}

bool ty_dual_in_domain(const struct ty_sched_shape *shape, const struct ty_sched_times *times)
{
    (void)shape;
    return same(times->forward, times->input) && same(times->input, times->weight) &&
           same(times->backward, times->input + times->weight);
}
