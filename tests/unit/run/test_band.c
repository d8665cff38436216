/* test_band.c - bands of a step time: what they state is what draws of the uncertain values, put
 * through the simulator one by one, do. */
#include "sim/sweep/band.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/noise.h"
#include "sim/run/figures.h"
#include "tests/unit/suite.h"
#include "tests/unit/temp_dir.h"

/* Collectives beside computation, and messages of a pipeline: what is hidden depends on values. */
static const char base[] =
    "cluster: {preset: dgx-a100-80g, nodes: 2}\n"
    "model: {preset: llama-7b, layers: 4}\n"
    "layout: {tensor: 2, zero: 1, global_batch: 32}\n"
    "framework: {preset: megatron-lm}\n"
    "uncertainty:\n"
    "  errors: [cluster.derate 6 %, cluster.nvlink_efficiency 25 %, cluster.nic_efficiency 30 %]\n"
    "  correlations: [cluster.derate cluster.nvlink_efficiency 0.6]\n"
    "  guesses: false\n"
    "  scatter: 2 %\n"
    "  shared_scatter: 3 %\n";

struct place {
    struct temp_dir dir;
    char path[192];
    struct ty_sweep_table table;
    struct ty_row_source rows;
    struct ty_worker_pool workers;
    struct ty_arena arena;
};

/* A run file with `more` behind it. */
static void enter(struct place *p, const char *more)
{
    memset(p, 0, sizeof(*p));
    temp_dir_make(&p->dir);
    snprintf(p->path, sizeof(p->path), "%s", temp_dir_file(&p->dir, "run.yaml"));
    FILE *file = fopen(p->path, "w");
    ck_assert(file != NULL && fputs(base, file) >= 0 && fputs(more, file) >= 0 &&
              fclose(file) == 0);
    p->rows = (struct ty_row_source){
        .source = {.path = p->path}, .table = &p->table, .workers = &p->workers};
    ty_worker_pool_init(&p->workers, &p->rows.source);
}

static void leave(struct place *p)
{
    ty_worker_pool_release(&p->workers);
    ty_arena_release(&p->arena);
    temp_dir_remove(&p->dir);
}

static struct ty_band band_of(struct place *p, const char *set)
{
    struct ty_band band;
    struct ty_err err = TY_ERR_NONE;
    struct ty_row_source rows = p->rows;
    struct ty_worker_pool workers;
    rows.source.sets = &set;
    rows.source.n_sets = set != NULL;
    rows.workers = &workers;
    ty_worker_pool_init(&workers, &rows.source);
    ck_assert_msg(ty_band_find(&band, &rows, 0, NULL, 2, &p->arena, &err) == 0, "%s", err.text);
    ty_worker_pool_release(&workers);
    return band;
}

static void see(const struct ty_run *run, void *arg)
{
    struct ty_figures f;
    ty_run_figures(run, &f);
    *(double *)arg = f.step_s;
}

static double step_of(const struct place *p, const char *const *sets, size_t n)
{
    struct ty_err err = TY_ERR_NONE;
    double step = 0;
    ck_assert_msg(ty_row_run(&p->rows, 0, sets, n, see, &step, &err) == 0, "%s", err.text);
    return step;
}

TEST(a_term_is_what_a_run_with_the_value_moved_takes)
{
    struct place p;
    enter(&p, "");
    const struct ty_band band = band_of(&p, NULL);
    ck_assert_uint_eq(band.n, 3);
    ck_assert(band.step_s == step_of(&p, NULL, 0));
    char set[64];
    snprintf(set, sizeof(set), "cluster.derate=%.17g", exp(0.06));
    const char *const sets[] = {set};
    ck_assert_double_eq_tol(band.key[0].up_s, step_of(&p, sets, 1), 1e-11);
    ck_assert(band.key[0].down_s < band.step_s && band.key[2].down_s > band.step_s);
    double sum = (0.02 * 0.02 + 0.03 * 0.03) / pow(band.deviation, 2);
    for (uint32_t k = 0; k < band.n; k++) {
        sum += band.key[k].share;
    }
    ck_assert_double_eq_tol(sum, 1, 1e-12);
    leave(&p);
}

/* What draw d makes of the three values: correlated deviates times their errors. */
static void draw(uint32_t d, char (*text)[64], const char **sets)
{
    const double a = ty_noise_normal(5, d, 0, 0);
    const double b = 0.6 * a + sqrt(1 - 0.36) * ty_noise_normal(5, d, 1, 0);
    const double c = ty_noise_normal(5, d, 2, 0);
    snprintf(text[0], sizeof(text[0]), "cluster.derate=%.17g", exp(0.06 * a));
    snprintf(text[1], sizeof(text[1]), "cluster.nvlink_efficiency=%.17g",
             fmin(1, 0.76 * exp(0.25 * b)));
    snprintf(text[2], sizeof(text[2]), "cluster.nic_efficiency=%.17g",
             fmin(1, 0.96 * exp(0.3 * c)));
    for (size_t i = 0; i < 3; i++) {
        sets[i] = text[i];
    }
}

/* Nine of ten draws lie in the band; and of two layouts one is faster as often as is said, with the
 * same draw for both, for it is one machine. */
TEST(bands_and_ties_are_what_draws_do)
{
    static const char *const other[] = {"layout.tensor=1"};
    const uint32_t n = suite_part(2000, 5);
    struct place p;
    enter(&p, "");
    const struct ty_band one = band_of(&p, NULL), two = band_of(&p, other[0]);
    const double ahead = log(two.step_s / one.step_s), half = 0.7 * ahead;
    const double said = ty_band_faster(&two, &one, ahead - half); /* as if it were nearer */
    ck_assert_msg(said > 0.05 && said < 0.95 && fabs(said - 0.5) > 0.1, "%g", said);
    uint32_t inside = 0, faster = 0;
    for (uint32_t d = 0; d < n; d++) {
        char text[3][64];
        const char *sets[4];
        draw(d, text, sets);
        const double shared = 0.03 * ty_noise_normal(5, d, 3, 0);
        const double a = log(step_of(&p, sets, 3)) + shared + 0.02 * ty_noise_normal(5, d, 4, 0);
        sets[3] = other[0];
        const double b = log(step_of(&p, sets, 4)) + shared + 0.02 * ty_noise_normal(5, d, 5, 0);
        const struct ty_band_ends ends = ty_band_ends(&one, one.step_s);
        inside += a >= log(ends.fast_s) && a <= log(ends.slow_s);
        faster += b - half < a;
    }
    ck_assert_msg(fabs((double)inside / n - 0.9) < 0.035, "%u of %u", inside, n);
    ck_assert_msg(fabs((double)faster / n - said) < 0.06, "%u of %u, said %g", faster, n, said);
    leave(&p);
}

/* A run is as likely faster as slower than one like it, and a machine that is unknown alike for
 * both does not blur which is faster. */
TEST(what_two_runs_share_does_not_hide_which_is_faster)
{
    struct place p;
    enter(&p, "");
    const struct ty_band one = band_of(&p, NULL),
                         wide = band_of(&p, "uncertainty.shared_scatter=40 %");
    ck_assert_double_eq_tol(ty_band_faster(&one, &one, 0), 0.5, 1e-12);
    ck_assert(wide.deviation > 5 * one.deviation);
    ck_assert(ty_band_faster(&wide, &wide, 0.05) == ty_band_faster(&one, &one, 0.05));
    ck_assert_double_eq_tol(ty_band_faster(&one, &one, 0.05), 0.0385, 0.0005); /* 0.05 / 0.0283 */
    /* layouts of one job differ by layout_scatter where that is less */
    const struct ty_band near = band_of(&p, "uncertainty.layout_scatter=1 %");
    ck_assert_double_eq_tol(ty_band_faster(&near, &near, 0.05), 0.0002, 0.0001); /* 3.54 */
    const struct ty_band far = band_of(&p, "uncertainty.layout_scatter=9 %");
    ck_assert(ty_band_faster(&far, &far, 0.05) == ty_band_faster(&one, &one, 0.05));
    /* another model does not share it */
    const struct ty_band shorter = band_of(&p, "model.sequence=1024");
    ck_assert(ty_band_faster(&shorter, &one, 0.05) > 2 * ty_band_faster(&one, &one, 0.05));
    leave(&p);
}

TEST(a_value_is_not_moved_beyond_what_it_may_be)
{
    struct place p;
    enter(&p, "");
    const struct ty_band band = band_of(&p, "cluster.nic_efficiency=100 %");
    ck_assert_uint_eq(band.n, 2); /* --set knows it */
    const struct ty_band near = band_of(&p, "uncertainty.errors=[cluster.nic_efficiency 90 %]");
    ck_assert(near.n == 3 && near.key[2].is.error == 0.9);
    ck_assert(near.key[2].up_s <= near.step_s && near.key[2].down_s > 1.05 * near.step_s);
    leave(&p);
}

TY_SUITE("band")
