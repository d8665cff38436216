/* formulas.c - gives the closed forms that several schedules share. */
#include "model/schedule/formulas.h"

#include <math.h>

double ty_sched_one_round_each(const struct ty_sched_shape *shape,
                               const struct ty_sched_times *times)
{
    return (ty_sched_pieces(shape) + shape->p - 1.0) * (times->forward + times->backward);
}

double ty_sched_late_weights(const struct ty_sched_shape *shape, const struct ty_sched_times *times)
{
    const double work = times->forward + times->input + times->weight;
    const double step = times->forward + times->input - times->weight;
    return ty_sched_pieces(shape) * work +
           (shape->p - 1.0) * fmax(fmax(times->forward, times->input), step);
}

bool ty_sched_fills_ranks(const struct ty_sched_shape *shape, const struct ty_sched_times *times)
{
    (void)times;
    return shape->m >= shape->p;
}

uint32_t ty_sched_holds_all(const struct ty_sched_shape *shape, uint32_t rank)
{
    (void)rank;
    return ty_sched_pieces(shape);
}

uint32_t ty_sched_two_copies(const struct ty_sched_shape *shape, uint32_t rank)
{
    (void)shape, (void)rank;
    return 2;
}
