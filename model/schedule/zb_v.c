/* zb_v.c - no bubble inside a rank's span, with the memory of 1F1B.
 *
 *     p = 2, m = 4, v = 2
 *     rank 0 |F0 F1 F2 f0 i0 w0 f1 i1 w1 F3 I0 W0 f2 i2 w2 I1 W1 f3 i3 w3 I2 W2 I3 W3 ..|
 *     rank 1 |.. F0 f0 F1 f1 i0 w0 F2 I0 W0 f2 i1 w1 F3 I1 W1 f3 i2 w2 I2 i3 I3 W2 w3 W3|
 *
 * Two stages per rank in a V (lower case: the second): forwards go down the ranks and back, so the
 * first rank, which also has the last stage, gets its first gradient after 2p passes. By then it
 * has run 2p - 1 forwards of its first stage, one of its second, and holds 2p pieces, p whole
 * micro-batches. Rank r runs
 *     2(p - r) - 1 times  F
 *                r times  f F
 *            p - r times  f i w
 *     in steady state     F I W f i w   until the forwards are through
 *                r times  I i
 *            p - r times  I W
 * and the weight gradients that are left. This order is made for equal passes and 2p - 1
 * micro-batches or more; fewer are the same order without those that do not exist. For unequal
 * passes, or few micro-batches, its F, f, i, I are also played with the given times, with w and W
 * where there is nothing better to do (greedy.h), and the faster of the two is taken.
 * Source: Qi et al., "Pipeline parallelism with controllable memory", NeurIPS 2024, ZB-V; the rule
 * is that of pytorch torch/distributed/pipelining/schedules.py, ScheduleZBVZeroBubble. */
#include <math.h>

#include "model/schedule/greedy.h"

/* A rank's order as it grows. */
struct row {
    struct ty_slots *slots;
    uint32_t rank, m;
    uint32_t stage[2];
    uint32_t n[TY_N_PHASES][2]; /* atoms so far, by chunk */
};

static void add(struct row *row, enum ty_phase phase, uint32_t chunk)
{
    uint32_t *n = row->n[phase];
    if (n[chunk] < row->m) {
        ty_slots_add(row->slots, row->rank, phase, n[chunk], row->stage[chunk]);
    }
    n[chunk]++;
}

static void add_backward(struct row *row, uint32_t chunk)
{
    add(row, TY_PHASE_DGRAD, chunk);
    add(row, TY_PHASE_WGRAD, chunk);
}

static void fill_row(struct row *row, uint32_t p)
{
    const uint32_t r = row->rank, m = row->m > 2 * p - 1 ? row->m : 2 * p - 1;
    for (uint32_t i = 0; i < 2 * (p - r) - 1; i++) {
        add(row, TY_PHASE_FORWARD, 0);
    }
    for (uint32_t i = 0; i < r; i++) {
        add(row, TY_PHASE_FORWARD, 1);
        add(row, TY_PHASE_FORWARD, 0);
    }
    for (uint32_t i = 0; i < p - r; i++) {
        add(row, TY_PHASE_FORWARD, 1);
        add_backward(row, 1);
    }
    while (row->n[TY_PHASE_FORWARD][1] < m) {
        if (row->n[TY_PHASE_FORWARD][0] < m) {
            add(row, TY_PHASE_FORWARD, 0);
        }
        add_backward(row, 0);
        add(row, TY_PHASE_FORWARD, 1);
        add_backward(row, 1);
    }
    for (uint32_t i = 0; i < r; i++) {
        add(row, TY_PHASE_DGRAD, 0);
        add(row, TY_PHASE_DGRAD, 1);
    }
    for (uint32_t i = 0; i < p - r; i++) {
        add_backward(row, 0);
    }
    while (row->n[TY_PHASE_WGRAD][1] < m) {
        add(row, TY_PHASE_WGRAD, 1);
    }
    while (row->n[TY_PHASE_WGRAD][0] < m) {
        add(row, TY_PHASE_WGRAD, 0);
    }
}

static void fill(const struct ty_sched_shape *shape, struct ty_slots *slots)
{
    for (uint32_t r = 0; r < shape->p; r++) {
        struct row row = {
            .slots = slots, .rank = r, .m = shape->m, .stage = {r, 2 * shape->p - 1 - r}};
        slots->rank[r].n = 0;
        fill_row(&row, shape->p);
    }
}

/* Takes the weight gradients out of an order. */
static void strip(struct ty_slots *slots)
{
    for (uint32_t r = 0; r < slots->p; r++) {
        struct ty_rank_slots *rank = &slots->rank[r];
        uint32_t n = 0;
        for (uint32_t i = 0; i < rank->n; i++) {
            if (rank->slot[i].phase != TY_PHASE_WGRAD) {
                rank->slot[n++] = rank->slot[i];
            }
        }
        rank->n = n;
    }
}

static bool in_domain(const struct ty_sched_shape *shape, const struct ty_sched_times *times)
{
    return shape->m >= 2 * shape->p - 1 && times->forward == times->input &&
           times->input == times->weight;
}

static int generate(const struct ty_sched_shape *shape, const struct ty_sched_times *times,
                    struct ty_slots *slots, struct ty_arena *arena, struct ty_err *err)
{
    static const struct ty_greedy_rules filled = {.overtaking = TY_OVERTAKE_NEVER};
    fill(shape, slots);
    if (in_domain(shape, times)) {
        return 0;
    }
    struct ty_greedy greedy;
    struct ty_slots order;
    int rc = ty_slots_init(&order, shape, arena, err);
    if (rc == 0) {
        rc = ty_greedy_init(&greedy, TY_PLACE_V, shape, times, 2 * shape->p, arena, err);
    }
    if (rc != 0) {
        return rc;
    }
    fill(shape, &order);
    const double by_rule = ty_greedy_follow(&greedy, &order, shape->m);
    strip(&order);
    if (ty_greedy_play(&greedy, &order, shape->m, &filled, by_rule, slots) >= by_rule) {
        fill(shape, slots);
    }
    return 0;
}

static double makespan(const struct ty_sched_shape *shape, const struct ty_sched_times *times)
{
    return 2.0 * shape->m * (times->forward + times->input + times->weight) +
           (shape->p - 1.0) * times->forward;
}

static uint32_t in_flight(const struct ty_sched_shape *shape, uint32_t rank)
{
    (void)rank;
    return 2 * (shape->m < shape->p ? shape->m : shape->p);
}

extern const struct ty_sched ty_sched_zb_v;
const struct ty_sched ty_sched_zb_v = {
    .name = "zb-v",
    .summary = "two stages per rank in a V; no idle time inside a rank's span",
    .source = "Qi et al. 2024, controllable memory, ZB-V",
    .placement = TY_PLACE_V,
    .chunks = 2,
    .steered = true,
    .generate = generate,
    .formula = "2m(tF + tI + tW) + (p - 1)tF, times of a chunk",
    .domain = "equal stages, tF = tI = tW, m >= 2p - 1",
    .makespan = makespan,
    .in_domain = in_domain,
    .in_flight = in_flight,
};
