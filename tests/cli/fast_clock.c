/* fast_clock.c - a clock for LD_PRELOAD that advances a quarter of a second whenever it is read, so
 * that a test sees what a program shows in a long run, and no test has to wait for it. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <time.h>

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *t)
{
    static atomic_long reads;
    const long read = atomic_fetch_add(&reads, 1);
    (void)clock;
    t->tv_sec = read / 4;
    t->tv_nsec = read % 4 * 250000000;
    return 0;
}
