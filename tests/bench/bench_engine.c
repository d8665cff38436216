/* bench_engine.c - plan, execute, count: the executors on fixed durations.
 *
 * usage: bench_engine TP PP DP M LS [sweep|events]
 * Prints one line: tasks, makespan, seconds and nanoseconds per task of each stage, memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "sim/core/analyse/stats.h"
#include "sim/core/execute/execute.h"
#include "tests/common/floor_program.h"

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double wall_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int fail(const struct ty_err *err)
{
    fprintf(stderr, "%s\n", err->text);
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    static struct ty_err err;
    if (argc < 6) {
        fprintf(stderr, "usage: bench_engine TP PP DP M LS [sweep|events]\n");
        return 2;
    }
    const struct floor_shape shape = {(uint32_t)atoi(argv[1]), (uint32_t)atoi(argv[2]),
                                      (uint32_t)atoi(argv[3]), (uint32_t)atoi(argv[4]),
                                      (uint32_t)atoi(argv[5])};
    const bool events = argc > 6 && strcmp(argv[6], "events") == 0;
    struct ty_arena arena = {.head = NULL};
    struct ty_program program;
    struct ty_timeline timeline;
    struct ty_stats stats;
    const double t0 = cpu_s();
    if (floor_program(&program, &shape, &arena, &err) < 0 ||
        ty_timeline_init(&timeline, &program, &err) < 0) {
        return fail(&err);
    }
    const double t1 = cpu_s();
    if ((events ? ty_events : ty_sweep)(&timeline, &err) < 0) {
        return fail(&err);
    }
    const double t2 = cpu_s();
    if (ty_stats_compute(&stats, &timeline, &arena, &err) < 0) {
        return fail(&err);
    }
    const double t3 = cpu_s();
    if (ty_stats_compute_alike(&stats, &program, &timeline, &arena, &err) < 0) {
        return fail(&err);
    }
    const double t4 = cpu_s(), w0 = wall_s();
    if (ty_stats_compute_twins(&stats, &timeline, 1, 1, &arena, &err) < 0) {
        return fail(&err);
    }
    const double w1 = wall_s();
    if (ty_stats_compute_twins(&stats, &timeline, 1, 0, &arena, &err) < 0) {
        return fail(&err);
    }
    const double w2 = wall_s();
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    const double n = (double)program.n_tasks;
    printf("%-6s ranks %u tasks %.0f makespan %.9f s bubble %.4f | plan %.4f s, execute %.4f s "
           "(%.2f ns/task), statistics %.4f s, by one member %.4f s; "
           "by the clock %.4f s, on all processors %.4f s | %.0f MiB (%.1f B/task)\n",
           events ? "events" : "sweep", (unsigned)program.n_ranks, n,
           ty_s_from_ps(timeline.makespan), stats.bubble_s / ty_s_from_ps(timeline.makespan),
           t1 - t0, t2 - t1, (t2 - t1) / n * 1e9, t3 - t2, t4 - t3, w1 - w0, w2 - w1,
           (double)usage.ru_maxrss / 1024, (double)usage.ru_maxrss * 1024 / n);
    ty_timeline_release(&timeline);
    ty_arena_release(&arena);
    return EXIT_SUCCESS;
}
