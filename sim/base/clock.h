/* clock.h - wall-clock time, for progress and reports: no result depends on it. */
#ifndef TY_BASE_CLOCK_H
#define TY_BASE_CLOCK_H

#include <time.h>

/* Seconds since some moment in the past. */
static inline double ty_wall_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
