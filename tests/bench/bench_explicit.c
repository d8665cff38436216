/* bench_explicit.c - a job spelled out message by message: one line of JSON.
 *
 * usage: bench_explicit [KEY=VALUE]...   keys as in tests/common/explicit_spec.h
 * Seconds are of CPU. tests/simgrid/explicit_jobs.cpp is the same under SimGrid, explicit.py runs
 * both. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sim/core/execute/execute.h"
#include "tests/common/explicit_job.h"

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int run(const struct explicit_spec *spec, struct ty_arena *arena, struct ty_err *err)
{
    struct explicit_fabric fabric;
    struct ty_program program;
    struct ty_contention shared;
    struct ty_timeline t;
    const double t0 = cpu_s();
    if (!explicit_fabric_new(&fabric, spec, arena)) {
        return ty_fail(err, TY_ENOMEM, "out of memory");
    }
    int rc = explicit_job(&program, spec, &fabric, arena, err);
    const double t1 = cpu_s();
    rc = rc < 0 ? rc : ty_contention_find(&shared, &program, arena, err);
    rc = rc < 0 ? rc : ty_timeline_init(&t, &program, err);
    if (rc < 0) {
        return rc;
    }
    rc = ty_events_shared(&t, &shared, err);
    const double t2 = cpu_s();
    if (rc == 0) {
        printf("{\"simulated_s\": %.12f, \"messages\": %llu, \"contended_links\": %u, "
               "\"build_s\": %.6f, \"run_s\": %.6f}\n",
               ty_s_from_ps(t.makespan), (unsigned long long)explicit_messages(spec),
               (unsigned)shared.n_links, t1 - t0, t2 - t1);
    }
    ty_timeline_release(&t);
    return rc;
}

int main(int argc, char **argv)
{
    static struct ty_err err;
    struct ty_arena arena = {.head = NULL};
    struct explicit_spec spec = explicit_spec_default();
    if (!explicit_spec_parse(&spec, argc - 1, (const char *const *)argv + 1)) {
        fprintf(stderr, "usage: bench_explicit [KEY=VALUE]... (tests/common/explicit_spec.h)\n");
        return 2;
    }
    const int rc = run(&spec, &arena, &err);
    if (rc < 0) {
        fprintf(stderr, "%s\n", err.text);
    }
    ty_arena_release(&arena);
    return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
