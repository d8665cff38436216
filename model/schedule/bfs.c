/* bfs.c - looped breadth-first: all micro-batches through one chunk before the next.
 *
 *     p = 2, m = 3, v = 2
 *     rank 0 |F0 F1 F2 f0 f1 f2 .. .. .. b2 == b1 == b0 == B2 == B1 == B0 ==|
 *     rank 1 |.. F0 F1 F2 f0 f1 f2 b2 == b1 == b0 == B2 == B1 == B0 == .. ..|
 *
 * Lower case: the rank's second stage. Forwards of chunk 0, of chunk 1, ...; then backwards from
 * the last chunk down, the micro-batches of each in reverse. The bubble of interleaved 1F1B, but
 * everything is held: the point is data parallelism, as each chunk's weights are gathered once and
 * its gradients reduced once, early chunks under the compute of later ones. With v = 1 it is GPipe,
 * last in first out.
 * Sources: Lamy-Poirier, "Breadth-first pipeline parallelism", MLSys 2023; order as in
 * pytorch/pytorch torch/distributed/pipelining/schedules.py, ScheduleLoopedBFS. */
#include "model/schedule/formulas.h"

static int generate(const struct ty_sched_shape *shape, const struct ty_sched_times *times,
                    struct ty_slots *slots, struct ty_arena *arena, struct ty_err *err)
{
    (void)times, (void)arena, (void)err;
    for (uint32_t r = 0; r < shape->p; r++) {
        for (uint32_t c = 0; c < shape->v; c++) {
            for (uint32_t mb = 0; mb < shape->m; mb++) {
                ty_slots_add(slots, r, TY_PHASE_FORWARD, mb, c * shape->p + r);
            }
        }
        for (uint32_t c = shape->v; c-- > 0;) {
            for (uint32_t mb = shape->m; mb-- > 0;) {
                ty_slots_add(slots, r, TY_PHASE_BACKWARD, mb, c * shape->p + r);
            }
        }
    }
    return 0;
}

/* A chunk takes m slots, or the p of the way around the ring when that is longer. */
static double makespan(const struct ty_sched_shape *shape, const struct ty_sched_times *times)
{
    const double p = shape->p, m = shape->m, loop = m > p ? m : p;
    return (loop * (shape->v - 1.0) + m + p - 1) * (times->forward + times->backward);
}

extern const struct ty_sched ty_sched_bfs;
const struct ty_sched ty_sched_bfs = {
    .name = "bfs",
    .summary = "all micro-batches through one chunk before the next: one reduction per chunk",
    .source = "Lamy-Poirier 2023, Breadth-first pipeline parallelism; order of PyTorch",
    .placement = TY_PLACE_LOOPED,
    .auto_chunks = 2,
    .reduced = "gpipe",
    .whole_chunks = true,
    .generate = generate,
    .formula = "(max(m, p)(v - 1) + m + p - 1)(tF + tB)",
    .domain = "equal stages",
    .makespan = makespan,
    .in_flight = ty_sched_holds_all,
};
