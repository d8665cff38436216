/* bench_plan.c - verdicts and bounds of a space, and simulations of some of it.
 *
 * usage: bench_plan FILE EVERY [KEY=V1,V2..]...
 * Axes are as those of --over. Prints verdicts and bounds a second over all points, twice: with
 * tables that are empty and with those that are there. Every EVERY-th point is simulated, with
 * contention: bound over simulated of those that fit, and of the fastest of them. With BENCH_ROWS
 * set in the environment each of these is a line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/config/vary.h"
#include "sim/plan/bound.h"
#include "sim/plan/space.h"
#include "sim/plan/verdict.h"
#include "sim/run/run.h"

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct bench {
    struct ty_plan_space space;
    struct ty_plan_costs *costs;
    struct ty_err err;
    double complete_s; /* of all points: what a verdict takes besides */
};

struct row {
    double bound, step;
    uint32_t point;
};

/* All points; what: 0 completed only, 1 verdicts, 2 bounds. Seconds, or negative. */
static double all(struct bench *b, int what, uint32_t *fit)
{
    const double t0 = cpu_s();
    *fit = 0;
    for (uint32_t i = 0; i < b->space.n_points; i++) {
        struct ty_layout layout;
        struct ty_sched_options schedule;
        struct ty_plan_verdict verdict = {.fits = true};
        double bound = 0;
        int rc = ty_plan_complete(&b->space, &b->space.point[i], &layout, &schedule, &b->err);
        if (rc == 0 && what == 1) {
            rc = ty_plan_verdict(b->costs, &layout, &schedule, &verdict, &b->err);
        } else if (rc == 0 && what == 2) {
            rc = ty_plan_bound(b->costs, &layout, &schedule, &bound, &b->err);
        }
        if (rc < 0) {
            return -1;
        }
        *fit += verdict.fits;
    }
    return cpu_s() - t0;
}

static int simulate(struct bench *b, uint32_t i, struct row *row)
{
    struct ty_config config;
    struct ty_plan_verdict verdict;
    struct ty_run *run = NULL;
    int rc = ty_plan_apply(&b->space, &b->space.point[i], &config, &b->err);
    *row = (struct row){0, 0, i};
    if (rc < 0) {
        return rc;
    }
    rc = ty_plan_verdict(b->costs, &config.layout, &config.schedule, &verdict, &b->err);
    if (rc == 0 && verdict.fits) {
        rc = ty_plan_bound(b->costs, &config.layout, &config.schedule, &row->bound, &b->err);
        rc = rc < 0 ? rc : ty_run_plan(&run, &config, NULL, &b->err);
        rc = rc < 0 ? rc : ty_run_execute_folded(run, &b->err);
        row->step = rc < 0 ? 0 : ty_s_from_ps(run->timeline.makespan) / config.run.steps;
        ty_run_free(run);
    }
    ty_config_drop(&config);
    return rc;
}

static int by_step(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    return (x->step > y->step) - (x->step < y->step);
}

static int by_ratio(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    const double left = x->bound * y->step, right = y->bound * x->step;
    return (left > right) - (left < right);
}

static void print_ratios(const char *what, struct row *row, uint32_t n)
{
    static const double at[] = {0, 0.05, 0.25, 0.5, 0.75, 1};
    qsort(row, n, sizeof(*row), by_ratio);
    printf("%-24s", what);
    for (size_t k = 0; k < TY_COUNT(at) && n > 0; k++) {
        const struct row *r = &row[(uint32_t)(at[k] * (n - 1))];
        printf("  %3.0f %%: %.4f", 100 * at[k], r->bound / r->step);
    }
    printf("\n");
}

static void print_rows(const struct bench *b, const struct row *row, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct ty_plan_point *p = &b->space.point[row[i].point];
        printf("%6u t%u c%u p%u d%u e%u b%u m%u %s v%u z%u r%u sp%d o%u  %.6f  %.4f\n",
               (unsigned)row[i].point, (unsigned)p->tensor, (unsigned)p->context,
               (unsigned)p->pipeline, (unsigned)p->data, (unsigned)p->expert,
               (unsigned)p->micro_batch, (unsigned)p->micro_batches,
               ty_schedules[p->schedule]->name, (unsigned)p->chunks, (unsigned)p->zero,
               (unsigned)p->recompute, p->sequence_parallel, (unsigned)p->order, row[i].step,
               row[i].bound / row[i].step);
    }
}

static int compare(struct bench *b, uint32_t every)
{
    struct row *row = calloc(b->space.n_points / every + 1, sizeof(*row));
    uint32_t n = 0, tried = 0;
    int rc = row == NULL ? ty_fail_memory(&b->err) : 0;
    const double t0 = cpu_s();
    for (uint32_t i = 0; i < b->space.n_points && rc == 0; i += every, tried++) {
        rc = simulate(b, i, &row[n]);
        n += rc == 0 && row[n].step > 0;
    }
    if (rc == 0) {
        printf("simulated %u that fit of %u, %.1f a second\n", (unsigned)n, (unsigned)tried,
               n / (cpu_s() - t0));
        qsort(row, n, sizeof(*row), by_step);
        if (getenv("BENCH_ROWS") != NULL) {
            print_rows(b, row, n);
        }
        print_ratios("fastest tenth", row, n / 10);
        print_ratios("all", row, n);
    }
    free(row);
    return rc;
}

static int run(struct bench *b, uint32_t every)
{
    static const char *const what[] = {"points completed", "verdicts", "bounds"};
    uint32_t fit;
    for (int pass = 0; pass < 2; pass++) {
        for (int k = 0; k < 3; k++) {
            const double s = all(b, k, &fit);
            if (s < 0) {
                return TY_EBUG;
            }
            b->complete_s = k == 0 ? s : b->complete_s;
            printf("%-17s %7u in %.3f s, %.0f a second", what[k], (unsigned)b->space.n_points, s,
                   b->space.n_points / s);
            printf(k == 0 ? "\n" : "; %.0f without completing them\n",
                   b->space.n_points / (s - b->complete_s));
        }
    }
    return compare(b, every);
}

int main(int argc, char **argv)
{
    struct bench b = {.costs = NULL};
    struct ty_arena arena = {.head = NULL};
    struct ty_config *base = NULL;
    ty_err_init(&b.err);
    if (argc < 3 || atoi(argv[2]) < 1) {
        fprintf(stderr, "usage: bench_plan FILE EVERY [KEY=V1,V2..]...\n");
        return EXIT_FAILURE;
    }
    const struct ty_source source = {.path = argv[1]};
    int rc = ty_config_read_open(&base, &source, &b.err);
    if (rc == 0) {
        rc = ty_plan_space(&b.space, base, &source, (const char *const *)argv + 3, (size_t)argc - 3,
                           &arena, &b.err);
    }
    rc = rc < 0 ? rc : ty_plan_costs_new(&b.costs, base, &b.err);
    rc = rc < 0 ? rc : run(&b, (uint32_t)atoi(argv[2]));
    if (rc < 0) {
        fprintf(stderr, "%s\n", b.err.text);
    }
    ty_plan_costs_free(b.costs);
    ty_plan_space_release(&b.space);
    ty_config_free(base);
    ty_arena_release(&arena);
    return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
