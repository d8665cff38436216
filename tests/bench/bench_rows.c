/* bench_rows.c - what a row of a sweep costs by part: configuration, plan, execution, figures.
 *
 * usage: bench_rows FILE [KEY=VALUE]...
 * Every layout of a grid of tensor, pipeline, micro-batch and recomputation that can be, under the
 * settings; microseconds of CPU a row for each part, and rows a second. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sim/config/vary.h"
#include "sim/run/figures.h"

#define LAYOUTS (5 * 5 * 3 * 2)

enum part {
    READ,
    VARY,
    PLAN,
    EXECUTE,
    FIGURES,
    N_PARTS
};
static const char *const names[N_PARTS] = {"configuration, from texts",
                                           "configuration, from numbers", "plan",
                                           "execution and statistics", "figures"};

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double since(double *t)
{
    const double before = *t;
    *t = cpu_s();
    return *t - before;
}

static uint32_t tensor(uint32_t i)
{
    return 1u << i % 5;
}
static uint32_t pipeline(uint32_t i)
{
    return 1u << i / 5 % 5;
}
static uint32_t micro_batch(uint32_t i)
{
    return 1u << i / 25 % 3;
}
static uint32_t recompute(uint32_t i)
{
    return i / 75 == 0 ? TY_RECOMPUTE_NONE : TY_RECOMPUTE_FULL;
}

/* The same from numbers, as a planner has them; false: it cannot be. */
static bool vary(const struct ty_config *base, uint32_t i)
{
    struct ty_config c;
    ty_config_vary(&c, base);
    c.layout.tensor = tensor(i);
    c.layout.pipeline = pipeline(i);
    c.layout.micro_batch = micro_batch(i);
    c.layout.recompute = recompute(i);
    const int rc = ty_config_complete(&c, NULL);
    ty_config_drop(&c);
    return rc == 0;
}

/* Layout i; false: it cannot be. What each part takes is added to spent_s. */
static bool row(struct ty_config_bases *bases, const struct ty_config *base,
                struct ty_price_book *book, uint32_t i, double *spent_s)
{
    char set[4][48];
    const char *const sets[] = {set[0], set[1], set[2], set[3]};
    struct ty_config *config = NULL;
    struct ty_run *run = NULL;
    struct ty_figures figures;
    (void)snprintf(set[0], sizeof(set[0]), "layout.tensor=%u", (unsigned)tensor(i));
    (void)snprintf(set[1], sizeof(set[1]), "layout.pipeline=%u", (unsigned)pipeline(i));
    (void)snprintf(set[2], sizeof(set[2]), "layout.micro_batch=%u", (unsigned)micro_batch(i));
    (void)snprintf(set[3], sizeof(set[3]), "layout.recompute=%s", i / 75 == 0 ? "none" : "full");
    double t = cpu_s();
    if (!vary(base, i)) {
        return false;
    }
    spent_s[VARY] += since(&t);
    int rc = ty_config_bases_read(&config, bases, sets, 4, NULL);
    spent_s[READ] += since(&t);
    rc = rc < 0 ? rc : ty_run_plan(&run, config, book, NULL);
    spent_s[PLAN] += since(&t);
    rc = rc < 0 ? rc : ty_run_execute_folded(run, NULL);
    spent_s[EXECUTE] += since(&t);
    if (rc == 0) {
        ty_run_figures(run, &figures);
        spent_s[FIGURES] += since(&t);
    }
    ty_run_free(run);
    ty_config_free(config);
    return rc == 0;
}

int main(int argc, char **argv)
{
    struct ty_err *err = ty_err_new();
    struct ty_config *base = NULL;
    double spent_s[N_PARTS] = {0}, all_s = 0;
    uint32_t n = 0;
    if (argc < 2 || err == NULL) {
        (void)fprintf(stderr, "usage: bench_rows FILE [KEY=VALUE]...\n");
        return EXIT_FAILURE;
    }
    const struct ty_source source = {
        .path = argv[1], .sets = (const char *const *)argv + 2, .n_sets = (size_t)argc - 2};
    struct ty_config_bases *bases = ty_config_bases_new(&source);
    struct ty_price_book *book = ty_price_book_new();
    if (bases == NULL || book == NULL || ty_config_read(&base, &source, err) < 0) {
        (void)fprintf(stderr, "%s\n", err->text);
        return EXIT_FAILURE;
    }
    for (uint32_t i = 0; i < LAYOUTS; i++) {
        n += row(bases, base, book, i, spent_s);
    }
    for (enum part p = 0; p < N_PARTS && n > 0; p++) {
        printf("%-28s %9.1f us a row\n", names[p], spent_s[p] / n * 1e6);
        all_s += p == VARY ? 0 : spent_s[p];
    }
    printf("%-28s %9.1f us a row: %.0f rows a second, %u rows\n", "all", all_s / n * 1e6, n / all_s,
           (unsigned)n);
    ty_price_book_free(book);
    ty_config_bases_free(bases);
    ty_config_free(base);
    ty_err_free(err);
    return n > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
