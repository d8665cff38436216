/* test_fit_scatter.c - what no parameter explains, on a model in closed form whose rows share
 * errors in groups: what is stated of errors and bands is what repeats of the experiment do. */
#include "sim/calibrate/fit.h"

#include <math.h>

#include "sim/base/noise.h"
#include "sim/sweep/band.h"
#include "tests/unit/suite.h"

#define GROUPS  12u
#define EACH    6u /* rows of a group */
#define ROWS    (GROUPS * EACH)
#define REPEATS 150u

static const double truth[2] = {2.0, 0.5};

/* t = a x + b y; the second varies within groups, the first between them. */
static double time_of(uint32_t row, const double *v)
{
    return v[0] * (1 + row / EACH % 4) + v[1] * (1 + (row * 7) % 11);
}

static int predict(void *arg, const uint32_t *rows, uint32_t n_rows, const double *points,
                   uint32_t n_points, double *times, struct ty_err *err)
{
    (void)arg;
    (void)err;
    for (uint32_t p = 0; p < n_points; p++) {
        for (uint32_t i = 0; i < n_rows; i++) {
            times[p * n_rows + i] = time_of(rows[i], points + 2 * (size_t)p);
        }
    }
    return 0;
}

struct experiment {
    struct ty_fit_parameter parameter[2];
    uint32_t rows[ROWS], group[ROWS];
    double measured[ROWS], left_out[ROWS];
    struct ty_fit_problem problem;
    struct ty_fit fit;
};

/* Rows off by `each` of their own and by `shared` with their group; fitted, and each group
 * predicted by a fit of the others. */
static void measure(struct experiment *e, uint64_t seed, double each, double shared)
{
    for (uint32_t k = 0; k < 2; k++) {
        e->parameter[k] = (struct ty_fit_parameter){1.2 * truth[k], truth[k] / 9, truth[k] * 9, 0};
    }
    for (uint32_t i = 0; i < ROWS; i++) {
        e->rows[i] = i;
        e->group[i] = i / EACH;
        e->measured[i] = time_of(i, truth) * exp(each * ty_noise_normal(seed, i, 0, 0) +
                                                 shared * ty_noise_normal(seed, i / EACH, 1, 0));
    }
    e->problem = (struct ty_fit_problem){.parameter = e->parameter,
                                         .n_parameters = 2,
                                         .rows = e->rows,
                                         .n_rows = ROWS,
                                         .measured = e->measured,
                                         .predict = predict};
    ck_assert_int_eq(ty_fit_run(&e->fit, &e->problem, NULL, NULL), 0);
    for (uint32_t g = 0; g < GROUPS; g++) {
        uint32_t others[ROWS];
        struct ty_fit without;
        struct ty_fit_problem problem = e->problem;
        problem.rows = others;
        problem.n_rows = 0;
        for (uint32_t i = 0; i < ROWS; i++) {
            if (e->group[i] != g) {
                others[problem.n_rows++] = i;
            }
        }
        ck_assert_int_eq(ty_fit_run(&without, &problem, e->fit.value, NULL), 0);
        for (uint32_t i = g * EACH; i < (g + 1) * EACH; i++) {
            e->left_out[i] = time_of(i, without.value);
        }
    }
}

static void find_errors(struct experiment *e, bool grouped)
{
    const struct ty_fit_groups groups = {.group = e->group,
                                         .fold = e->group,
                                         .n_groups = GROUPS,
                                         .n_folds = GROUPS,
                                         .left_out = e->left_out};
    ck_assert_int_eq(ty_fit_errors(&e->fit, &e->problem, grouped ? &groups : NULL, NULL), 0);
}

/* The errors of rows that err together are those of fewer rows: stated errors that do not know of
 * it are less than half of what repeats differ by. */
TEST(errors_of_values_know_that_rows_err_together)
{
    double squares = 0, said = 0, alone = 0, each = 0, shared = 0;
    for (uint32_t r = 0; r < REPEATS; r++) {
        struct experiment e;
        measure(&e, r + 1, 0.01, 0.03);
        find_errors(&e, false);
        alone += e.fit.error[0] / REPEATS;
        find_errors(&e, true);
        said += e.fit.error[0] / REPEATS;
        squares += pow(log(e.fit.value[0] / truth[0]), 2) / REPEATS;
        each += pow(e.fit.scatter.each, 2) / REPEATS;
        shared += pow(e.fit.scatter.shared, 2) / REPEATS;
    }
    ck_assert_double_eq_tol(said / sqrt(squares), 1, 0.2);
    ck_assert(alone < 0.55 * sqrt(squares));
    ck_assert_double_eq_tol(sqrt(each), 0.01, 0.002); /* values that are off add some */
    ck_assert_double_eq_tol(sqrt(shared), 0.03, 0.004);
}

/* A row of a group that nobody measured lies in its band nine times of ten. */
TEST(bands_hold_nine_of_ten_new_rows)
{
    static const double noise[][2] = {{0.02, 0}, {0.02, 0.02}, {0.005, 0.04}};
    for (size_t w = 0; w < TY_COUNT(noise); w++) {
        uint32_t inside = 0, n = 0, covered = 0, out = 0;
        for (uint32_t r = 0; r < REPEATS; r++) {
            struct experiment e;
            measure(&e, 1000 + r, noise[w][0], noise[w][1]);
            find_errors(&e, true);
            covered += e.fit.scatter.n_covered;
            out += e.fit.scatter.n_out;
            for (uint32_t i = 0; i < EACH; i++) {
                const double t =
                    time_of(i, truth) * exp(noise[w][0] * ty_noise_normal(r + 1, i, 7, 0) +
                                            noise[w][1] * ty_noise_normal(r + 1, 0, 8, 0));
                const double said = time_of(i, e.fit.value);
                /* how the prediction moves with the values, by what they are correlated */
                const double a = e.fit.value[0] * (1 + i / EACH % 4) / said;
                const double da = a * e.fit.error[0], db = (1 - a) * e.fit.error[1];
                const double variance = da * da + db * db + 2 * e.fit.joint[0][1] * da * db +
                                        pow(e.fit.scatter.each, 2) + pow(e.fit.scatter.shared, 2);
                inside += fabs(log(t / said)) <= TY_BAND_HALF * sqrt(variance);
                n++;
            }
        }
        ck_assert_msg(fabs((double)inside / n - 0.9) < 0.05, "%u of %u", inside, n);
        ck_assert_msg(fabs((double)covered / out - 0.9) < 0.04, "%u of %u", covered, out);
    }
}

/* Of one group nobody can say what its rows share. */
TEST(rows_of_one_group_do_not_tell_what_they_share)
{
    struct experiment e;
    uint32_t zero[ROWS] = {0};
    measure(&e, 1, 0.02, 0);
    const struct ty_fit_groups one = {.group = zero, .fold = zero, .n_groups = 1, .n_folds = 1};
    ck_assert_int_eq(ty_fit_errors(&e.fit, &e.problem, &one, NULL), 0);
    ck_assert(isnan(e.fit.scatter.shared) && e.fit.scatter.n_out == 0);
    ck_assert_double_eq_tol(e.fit.scatter.each, 0.02, 0.006);
}

TY_SUITE("fit_scatter")
