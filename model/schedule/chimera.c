/* chimera.c - two 1F1B pipes in opposite directions over the same ranks.
 *
 *     p = 4, m = 4, tB = 1
 *     rank 0 |F0 F1 .. f0 b0 f1 b1 B0 .. B1|
 *     rank 1 |.. F0 f0 F1 f1 b0 B0 b1 B1 ..|
 *     rank 2 |.. f0 F0 f1 F1 B0 b0 B1 b1 ..|
 *     rank 3 |f0 f1 .. F0 B0 F1 B1 b0 .. b1|
 *
 * Half of the micro-batches enter at rank 0, half at rank p - 1 (lower case), p / 2 each per unit;
 * so every rank holds a stage of either pipe and two copies of weights. With slots of one pass,
 * each pipe is 1F1B on its own: in unit u, F(k) of stage s runs in slot 2 p u + 2 k + s, B(k) in
 * slot 2 p u + 2 k + 2 p - 1 - s. As p is even, the forwards of one pipe take the slots of the
 * parity that its backwards leave to the other: no two passes meet, and units of 2 p slots join
 * without a gap. A rank runs its passes in the order of their slots, whatever they last.
 * With tB > tF the joints open: the paper's cures (forward doubling, backward halving) are not
 * modelled.
 * Source: Li and Hoefler, "Chimera: efficiently training large-scale neural networks with
 * bidirectional pipelines", SC 2021, figure 3 and section 3.5 (direct concatenation). */
#include "model/schedule/formulas.h"

static int check(const struct ty_sched_shape *shape, struct ty_err *err)
{
    if (shape->p % 2 != 0) {
        return ty_fail(err, TY_EUSAGE,
                       "chimera: %u pipeline ranks; two opposite pipes interlock over an "
                       "even number of ranks: %u, for example",
                       (unsigned)shape->p, (unsigned)shape->p + 1);
    }
    if (shape->m % 2 != 0) {
        return ty_fail(err, TY_EUSAGE,
                       "chimera: %u micro-batches; half of them enter at either end, so "
                       "their number is even: %u, for example",
                       (unsigned)shape->m, (unsigned)shape->m + 1);
    }
    return 0;
}

/* Slot of a pass; increases with the micro-batch. */
static uint64_t slot_of(uint32_t p, uint32_t mb, uint32_t stage, enum ty_phase phase)
{
    const uint32_t unit = mb / (p / 2), k = mb % (p / 2);
    const uint64_t first = 2 * ((uint64_t)p * unit + k);
    return phase == TY_PHASE_FORWARD ? first + stage : first + (uint64_t)2 * p - 1 - stage;
}

/* Merges the forwards and backwards of both pipes by their slots. */
static void merge(const struct ty_sched_shape *shape, uint32_t rank, struct ty_rank_slots *order)
{
    struct ty_slot next[4];
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t direction = i / 2;
        next[i] = (struct ty_slot){.stage = (uint16_t)(direction == 0 ? rank : shape->p - 1 - rank),
                                   .phase = i % 2 == 0 ? TY_PHASE_FORWARD : TY_PHASE_BACKWARD,
                                   .direction = (uint8_t)direction};
    }
    while (order->n < 2 * shape->m) {
        uint64_t first = UINT64_MAX;
        struct ty_slot *chosen = next;
        for (uint32_t i = 0; i < 4; i++) {
            const uint64_t at =
                slot_of(shape->p, next[i].mb, next[i].stage, (enum ty_phase)next[i].phase);
            if (next[i].mb < shape->m / 2 && at < first) {
                first = at;
                chosen = &next[i];
            }
        }
        order->slot[order->n++] = *chosen;
        chosen->mb++;
    }
}

static int generate(const struct ty_sched_shape *shape, const struct ty_sched_times *times,
                    struct ty_slots *slots, struct ty_arena *arena, struct ty_err *err)
{
    (void)times, (void)arena, (void)err;
    for (uint32_t r = 0; r < shape->p; r++) {
        merge(shape, r, &slots->rank[r]);
    }
    return 0;
}

static double makespan(const struct ty_sched_shape *shape, const struct ty_sched_times *times)
{
    return shape->m * (times->forward + times->backward) + (shape->p - 2.0) * times->forward;
}

static bool in_domain(const struct ty_sched_shape *shape, const struct ty_sched_times *times)
{
    return shape->m % shape->p == 0 && !(times->forward < times->backward) &&
           !(times->forward > times->backward);
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* All of a unit that entered at the near end and, of the other pipe, 1F1B's share of a stage that
 * close to the exit. */
static uint32_t in_flight(const struct ty_sched_shape *shape, uint32_t rank)
{
    const uint32_t h = smaller(rank, shape->p - 1 - rank), entered = shape->m / 2;
    return smaller(entered, shape->p / 2) + smaller(entered, h + 1);
}

extern const struct ty_sched ty_sched_chimera;
const struct ty_sched ty_sched_chimera = {
    .name = "chimera",
    .summary = "two 1F1B pipes in opposite directions: half the bubble, two weight copies",
    .source = "Li and Hoefler 2021, Chimera",
    .placement = TY_PLACE_TWO_WAY,
    .chunks = 1,
    .check = check,
    .generate = generate,
    .formula = "m(tF + tB) + (p - 2) tF",
    .domain = "equal stages, tF = tB, m a multiple of p",
    .makespan = makespan,
    .in_domain = in_domain,
    .in_flight = in_flight,
    .weight_copies = ty_sched_two_copies,
};
