/* bench_shared.c - shared links: one run file under every way to execute it.
 *
 * usage: bench_shared FILE [KEY=VALUE]...
 * Prints a line each for the sweep, the queue with fixed durations, the queue with shared links on
 * all ranks, and on one member per gang where they are alike; with seconds of CPU and step time. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sim/core/execute/fold.h"
#include "sim/run/run.h"

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int fail(const struct ty_err *err)
{
    fprintf(stderr, "%s\n", err->text);
    return EXIT_FAILURE;
}

struct way {
    const char *name;
    bool queue, shared, folded;
};

/* Executes `program` one way and prints it. */
static int execute(const struct way *way, const struct ty_program *program, struct ty_arena *arena,
                   struct ty_err *err)
{
    struct ty_timeline t;
    struct ty_contention c;
    const double t0 = cpu_s();
    int rc = ty_timeline_init(&t, program, err);
    rc = rc < 0 ? rc : ty_contention_find(&c, program, arena, err);
    const double t1 = cpu_s();
    if (rc == 0) {
        rc = !way->queue   ? ty_sweep(&t, err)
             : way->shared ? ty_events_shared(&t, &c, err)
                           : ty_events(&t, err);
    }
    const double t2 = cpu_s();
    if (rc == 0) {
        printf("%-28s %10llu tasks, %5u contended links: %.9f s | find %.3f s, execute %.3f s "
               "(%.1f ns/task)\n",
               way->name, (unsigned long long)program->n_tasks, (unsigned)c.n_links,
               ty_s_from_ps(t.makespan), t1 - t0, t2 - t1,
               (t2 - t1) / (double)program->n_tasks * 1e9);
    }
    ty_timeline_release(&t);
    return rc;
}

int main(int argc, char **argv)
{
    static const struct way ways[] = {{"sweep", false, false, false},
                                      {"events", true, false, false},
                                      {"events, shared", true, true, false},
                                      {"events, shared, folded", true, true, true}};
    static struct ty_err err;
    struct ty_config *config = NULL;
    struct ty_run *run = NULL;
    struct ty_program folded;
    bool folds = false;
    if (argc < 2) {
        fprintf(stderr, "usage: bench_shared FILE [KEY=VALUE]...\n");
        return 2;
    }
    const double t0 = cpu_s();
    if (ty_config_read(&config,
                       &(struct ty_source){.path = argv[1],
                                           .sets = (const char *const *)argv + 2,
                                           .n_sets = (size_t)argc - 2},
                       &err) < 0 ||
        ty_run_new(&run, config, &err) < 0) {
        return fail(&err);
    }
    const struct ty_program *whole = &run->lowered.program;
    const double t1 = cpu_s();
    if (ty_program_folds(whole) &&
        (ty_program_fold(&folded, whole, &run->arena, &err) < 0 ||
         ty_program_fold_links(&folded, whole, &folds, &run->arena, &err) < 0)) {
        return fail(&err);
    }
    printf("plan %.3f s, fold %.3f s, %u links, %u flows, %u uses\n", t1 - t0, cpu_s() - t1,
           (unsigned)whole->n_links, (unsigned)whole->n_flows, (unsigned)whole->n_uses);
    for (size_t i = 0; i < TY_COUNT(ways); i++) {
        if (ways[i].folded && !folds) {
            printf("%-28s members differ\n", ways[i].name);
        } else if (execute(&ways[i], ways[i].folded ? &folded : whole, &run->arena, &err) < 0) {
            return fail(&err);
        }
    }
    ty_run_free(run);
    ty_config_free(config);
    return EXIT_SUCCESS;
}
