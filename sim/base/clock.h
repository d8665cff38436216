/* clock.h - seconds of the wall, for what is told about a run, never for what it gives. */
#ifndef TY_BASE_CLOCK_H
#define TY_BASE_CLOCK_H

#include <time.h>

static inline double ty_wall_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
