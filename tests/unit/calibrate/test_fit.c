/* test_fit.c - the least squares of calibrations, on models in closed form. */
#include "sim/calibrate/fit.h"

#include <math.h>
#include <string.h>

#include "sim/base/noise.h"
#include "sim/calibrate/fit_internal.h"
#include "tests/unit/suite.h"

#define ROWS 40u

/* t = a x + b y + c, and d that does nothing: times of rows with different shares of each. */
enum {
    A,
    B,
    C,
    D,
    KEYS
};
static const double truth[KEYS] = {2.0, 0.5, 0.1, 7.0};

struct world {
    const struct ty_fit_parameter *parameter; /* no value may be asked for beyond its bounds */
    uint32_t calls, fail_at;                  /* the call that fails; 0: none */
    bool sum_only;                            /* a and b matter only by their product */
    const double *rest;                       /* [KEYS] of keys that are not asked; NULL: truth */
};

static double x_of(uint32_t row)
{
    return 1 + row % 5;
}
static double y_of(uint32_t row)
{
    return 1 + (row * 7) % 11;
}

static double time_of(const struct world *w, uint32_t row, const double *v, uint32_t n)
{
    const double *rest = w->rest != NULL ? w->rest : truth;
    const double b = n > B ? v[B] : rest[B], c = n > C ? v[C] : rest[C];
    return w->sum_only ? v[A] * b * x_of(row) + c : v[A] * x_of(row) + b * y_of(row) + c;
}

static uint32_t n_keys = KEYS;

static int predict(void *arg, const uint32_t *rows, uint32_t n_rows, const double *points,
                   uint32_t n_points, double *times, struct ty_err *err)
{
    struct world *w = arg;
    if (++w->calls == w->fail_at) {
        return ty_fail(err, TY_EINPUT, "no such world");
    }
    for (uint32_t k = 0; k < n_points * n_keys; k++) {
        const struct ty_fit_parameter *p = &w->parameter[k % n_keys];
        ck_assert(points[k] >= p->low && points[k] <= p->high);
    }
    for (uint32_t p = 0; p < n_points; p++) {
        for (uint32_t i = 0; i < n_rows; i++) {
            times[p * n_rows + i] = time_of(w, rows[i], points + p * n_keys, n_keys);
        }
    }
    return 0;
}

struct setup {
    struct world world;
    struct ty_fit_parameter parameter[KEYS];
    uint32_t rows[ROWS];
    double measured[ROWS];
    struct ty_fit_problem problem;
    struct ty_fit fit;
    double left[2];
    struct ty_err err;
};

/* Starts 1.3 times too high, bounds a factor of 100 either side, measured times exact. */
static void set_up(struct setup *s, uint32_t keys, double prior)
{
    memset(s, 0, sizeof(*s));
    n_keys = keys;
    s->world.parameter = s->parameter;
    for (uint32_t k = 0; k < keys; k++) {
        s->parameter[k] =
            (struct ty_fit_parameter){1.3 * truth[k], truth[k] / 100, truth[k] * 100, 0};
    }
    for (uint32_t i = 0; i < ROWS; i++) {
        s->rows[i] = i;
        s->measured[i] = time_of(&s->world, i, truth, KEYS);
    }
    s->problem = (struct ty_fit_problem){.parameter = s->parameter,
                                         .n_parameters = keys,
                                         .rows = s->rows,
                                         .n_rows = ROWS,
                                         .measured = s->measured,
                                         .prior = prior,
                                         .predict = predict,
                                         .arg = &s->world};
}

static void fit(struct setup *s)
{
    ck_assert_msg(ty_fit_run(&s->fit, &s->problem, NULL, &s->err) == 0, "%s", s->err.text);
    ck_assert_msg(ty_fit_errors(&s->fit, &s->problem, NULL, &s->err) == 0, "%s", s->err.text);
    ck_assert(s->fit.converged);
}

TEST(soft_l1_is_a_square_near_zero_and_a_distance_far_away)
{
    static const double at[] = {0, 1e-9, 1e-4, 0.01, 0.03, 0.5, 3};
    for (size_t i = 0; i < TY_COUNT(at); i++) {
        double slope, unused;
        const double z = at[i] / TY_FIT_SCALE, f = ty_fit_soft(at[i], &slope);
        const double rho = 2 * (sqrt(1 + z * z) - 1);
        ck_assert_double_eq_tol(f * f, TY_FIT_SCALE * TY_FIT_SCALE * rho, 1e-9 * f * f + 1e-18);
        ck_assert(ty_fit_soft(-at[i], &unused) == -f);
        const double h = 1e-6;
        const double difference =
            (ty_fit_soft(at[i] + h, &unused) - ty_fit_soft(at[i] - h, &unused)) / (2 * h);
        ck_assert_double_eq_tol(slope, difference, 1e-6);
    }
}

TEST(exact_times_give_the_values_back)
{
    struct setup s;
    set_up(&s, 3, 0);
    fit(&s);
    for (uint32_t k = 0; k < 3; k++) {
        ck_assert_double_eq_tol(s.fit.value[k] / truth[k], 1, 1e-3);
        ck_assert(!s.fit.at_low[k] && !s.fit.at_high[k]);
    }
    ck_assert(s.fit.noise == TY_FIT_NOISE); /* not less than runs differ by */
    ck_assert(s.fit.data_error[A] < 0.02 && s.fit.data_error[B] < 0.02);
    ck_assert(s.fit.data_error[C] > s.fit.data_error[A]); /* 2 % of the time: hardly seen */
}

/* Repeats of the experiment scatter by what the standard error says. */
TEST(standard_errors_are_the_scatter_of_repeated_measurements)
{
    double sum[2] = {0}, squares[2] = {0}, said[2] = {0};
    const uint32_t repeats = 200;
    for (uint32_t r = 0; r < repeats; r++) {
        struct setup s;
        set_up(&s, 2, 0);
        for (uint32_t i = 0; i < ROWS; i++) {
            s.measured[i] *= exp(0.02 * ty_noise_normal(r + 1, i, 0, 0));
        }
        fit(&s);
        for (uint32_t k = 0; k < 2; k++) {
            const double d = log(s.fit.value[k] / truth[k]);
            sum[k] += d;
            squares[k] += d * d;
            said[k] += s.fit.error[k] / repeats;
        }
    }
    for (uint32_t k = 0; k < 2; k++) {
        const double mean = sum[k] / repeats;
        const double scatter = sqrt(squares[k] / repeats - mean * mean);
        ck_assert_double_eq_tol(said[k] / scatter, 1, 0.2);
        ck_assert(fabs(mean) < 4 * scatter / sqrt(repeats));
    }
}

TEST(a_key_without_effect_stays_and_is_not_identified)
{
    static const double priors[] = {0, 0.2};
    for (size_t i = 0; i < TY_COUNT(priors); i++) {
        struct setup s;
        set_up(&s, KEYS, priors[i]);
        fit(&s);
        ck_assert(isinf(s.fit.data_error[D]));
        ck_assert(isfinite(s.fit.data_error[A]) && isfinite(s.fit.data_error[B]));
        ck_assert_double_eq_tol(s.fit.value[D] / s.parameter[D].start, 1, 1e-6);
        if (priors[i] > 0) {
            ck_assert_double_eq_tol(s.fit.error[D], priors[i], 1e-9);
        }
        ck_assert_double_eq_tol(s.fit.value[A] / truth[A], 1, 0.02);
    }
}

/* a b is known, a / b is not: the prior shares the change out evenly. */
TEST(keys_that_act_together_are_correlated)
{
    struct setup s;
    set_up(&s, 2, 0.2);
    s.world.sum_only = true;
    for (uint32_t i = 0; i < ROWS; i++) {
        s.measured[i] = time_of(&s.world, i, truth, KEYS);
    }
    fit(&s);
    ck_assert_double_eq_tol(s.fit.correlation[A][B], -1, 1e-3);
    ck_assert(s.fit.data_error[A] > 10 && s.fit.data_error[B] > 10);
    ck_assert_double_eq_tol(s.fit.value[A] * s.fit.value[B], truth[A] * truth[B], 0.02);
    ck_assert_double_eq_tol(s.fit.value[A] / s.fit.value[B], truth[A] / truth[B], 0.02);
}

/* Of two that only their product is known of, the one that is known better before stays. */
TEST(a_prior_of_its_own_holds_a_key_by_itself)
{
    struct setup s;
    set_up(&s, 2, 0.2);
    s.world.sum_only = true;
    s.parameter[A].prior = 0.002;
    for (uint32_t i = 0; i < ROWS; i++) {
        s.measured[i] = time_of(&s.world, i, truth, KEYS);
    }
    fit(&s);
    ck_assert_double_eq_tol(s.fit.value[A] / s.parameter[A].start, 1, 0.002);
    ck_assert_double_eq_tol(s.fit.value[A] * s.fit.value[B], truth[A] * truth[B], 0.02);
    ck_assert(s.fit.error[A] < 0.0021 && s.fit.error[B] < 0.01); /* the rows tell the other */
    s.parameter[B].prior = 1e-3;                                 /* both are held: the rows lose */
    ck_assert_int_eq(ty_fit_run(&s.fit, &s.problem, NULL, &s.err), 0);
    ck_assert(s.fit.value[A] * s.fit.value[B] > 1.3 * truth[A] * truth[B]);
}

TEST(values_stay_inside_their_bounds_and_say_so)
{
    struct setup s;
    set_up(&s, 3, 0);
    s.parameter[A] = (struct ty_fit_parameter){1.5, 1, 1.8, 0}; /* wants 2 */
    fit(&s);
    ck_assert(s.fit.at_high[A] && !s.fit.at_low[A]);
    ck_assert(s.fit.value[A] <= 1.8 && s.fit.value[A] > 1.79);
    ck_assert(!s.fit.at_high[B] && isfinite(s.fit.data_error[B]));
    set_up(&s, 1, 0); /* as far as numbers go, and no rounding beyond */
    for (uint32_t high = 3; high < 100; high++) {
        s.parameter[A] = (struct ty_fit_parameter){1, 0.1, high / 10.0, 0};
        for (uint32_t i = 0; i < ROWS; i++) {
            s.measured[i] = 1e6;
        }
        n_keys = 1;
        ck_assert_int_eq(ty_fit_run(&s.fit, &s.problem, NULL, &s.err), 0);
    }
    set_up(&s, 2, 0.2);
    s.parameter[B] = (struct ty_fit_parameter){0.8, 0.7, 10, 0}; /* wants 0.5 */
    fit(&s);
    ck_assert(s.fit.at_low[B] && s.fit.value[B] >= 0.7);
}

/* A start at its bound (an efficiency of 1) can still leave it. */
TEST(a_start_at_a_bound_can_leave_it)
{
    struct setup s;
    set_up(&s, 3, 0);
    s.parameter[A] = (struct ty_fit_parameter){4, 0.01, 4, 0};
    fit(&s);
    ck_assert_double_eq_tol(s.fit.value[A] / truth[A], 1, 1e-3);
}

TEST(a_row_that_is_far_off_hardly_matters)
{
    struct setup s;
    set_up(&s, 2, 0);
    s.measured[7] *= 1.4;
    fit(&s);
    ck_assert_double_eq_tol(s.fit.value[A] / truth[A], 1, 0.01);
    ck_assert_double_eq_tol(s.fit.value[B] / truth[B], 1, 0.02);
}

/* One row 0.1 % off, where rho is a square, and two keys: minimise (j.x - d)^2 + |x|^2, so
 * x = j d / (1 + |j|^2). At row 0 the time is 2 + 0.5 + 0.1. */
TEST(a_row_off_by_the_scale_weighs_as_much_as_a_key_off_by_the_prior)
{
    struct setup s;
    set_up(&s, 2, TY_FIT_SCALE);
    const double ja = 2 / 2.6, jb = 0.5 / 2.6, d = 0.001;
    s.problem.n_rows = 1;
    s.parameter[A].start = truth[A];
    s.parameter[B].start = truth[B];
    s.measured[0] = 2.6 * exp(d);
    fit(&s);
    ck_assert_double_eq_tol(log(s.fit.value[A] / truth[A]), ja * d / (1 + ja * ja + jb * jb), 1e-5);
    ck_assert_double_eq_tol(log(s.fit.value[B] / truth[B]), jb * d / (1 + ja * ja + jb * jb), 1e-5);
}

TEST(too_few_rows_and_failing_runs_are_reported)
{
    struct setup s;
    set_up(&s, 3, 0);
    s.problem.n_rows = 2;
    ck_assert_int_eq(ty_fit_run(&s.fit, &s.problem, NULL, &s.err), TY_EINPUT);
    ck_assert_ptr_nonnull(strstr(s.err.text, "2 measured rows cannot determine 3 keys"));
    for (uint32_t at = 1; at < 6; at++) {
        set_up(&s, 3, 0.2);
        s.world.fail_at = at;
        ck_assert_int_eq(ty_fit_run(&s.fit, &s.problem, NULL, &s.err), TY_EINPUT);
        ck_assert_str_eq(s.err.text, "no such world");
    }
}

TEST(keys_are_chosen_that_rows_can_tell_apart)
{
    struct setup s;
    bool taken[KEYS], alone[KEYS];
    set_up(&s, KEYS, 0.2);
    ck_assert_int_eq(ty_fit_choose(&s.problem, 0.2, taken, alone, &s.err), 0);
    ck_assert(taken[A] && taken[B] && taken[C] && !taken[D]);
    /* of two that act by their product alone the first */
    set_up(&s, KEYS, 0.2);
    s.world.sum_only = true;
    ck_assert_int_eq(ty_fit_choose(&s.problem, 0.2, taken, alone, &s.err), 0);
    ck_assert(taken[A] && !taken[B] && taken[C] && !taken[D]);
    ck_assert(alone[A] && alone[B] && alone[C] && !alone[D]);
    /* nothing is known as well as that: 0.5 % over the root of 40 rows, at best */
    set_up(&s, KEYS, 0.2);
    ck_assert_int_eq(ty_fit_choose(&s.problem, 0.0007, taken, alone, &s.err), 0);
    ck_assert(!taken[A] && !taken[B] && !taken[C] && !taken[D]);
    s.world.fail_at = s.world.calls + 1;
    ck_assert_int_eq(ty_fit_choose(&s.problem, 0.2, taken, alone, &s.err), TY_EINPUT);
}

/* Fits a alone to times that scatter by 1 % and asks for b, c and d, which stand at `stand`. */
static void demand(struct setup *s, uint64_t seed, const double *stand, double prior,
                   struct ty_fit_demand out[KEYS - 1])
{
    set_up(s, 1, prior);
    s->world.rest = stand;
    for (uint32_t i = 0; i < ROWS; i++) {
        s->measured[i] *= exp(0.01 * ty_noise_normal(seed, i, 0, 0));
    }
    ck_assert_int_eq(ty_fit_run(&s->fit, &s->problem, NULL, &s->err), 0);
    ck_assert_int_eq(ty_fit_errors(&s->fit, &s->problem, NULL, &s->err), 0);
    for (uint32_t k = 0; k < KEYS; k++) {
        s->parameter[k] = (struct ty_fit_parameter){k == A ? 1.3 * truth[A] : stand[k],
                                                    truth[k] / 100, truth[k] * 100, 0};
    }
    n_keys = s->problem.n_parameters = KEYS;
    ck_assert_int_eq(ty_fit_demands(&s->problem, &s->fit, 1, 0.01, out, s->left, &s->err), 0);
}

/* Of 600 fits that lack no key at most 1 % may tell one of three; of those that lack one, nearly
 * all have to, and to tell the right one as the surest. */
TEST(residuals_ask_for_a_key_that_is_wrong_and_hardly_ever_for_others)
{
    static const double wrong[KEYS] = {2.0, 0.6, 0.1, 7.0}; /* b by 20 % */
    const double priors[] = {0, 0.2};
    enum {
        SEEDS = 600
    };
    for (size_t p = 0; p < TY_COUNT(priors); p++) {
        uint32_t alarms = 0, told = 0;
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct setup s;
            struct ty_fit_demand out[KEYS - 1];
            demand(&s, seed, truth, priors[p], out);
            alarms += out[B - 1].told || out[C - 1].told || out[D - 1].told;
            ck_assert(out[D - 1].p == 1); /* it does nothing */
            demand(&s, seed, wrong, priors[p], out);
            told += out[B - 1].told && !out[C - 1].told; /* not c for what b explains */
            /* the scatter is 1 %, and the model is not linear */
            ck_assert(!out[B - 1].told || (s.left[0] > s.left[1] && s.left[1] < 0.02));
        }
        ck_assert_msg(alarms <= 2 * SEEDS / 100, "%u of %u", (unsigned)alarms, (unsigned)SEEDS);
        ck_assert_msg(told > SEEDS * 98 / 100, "%u of %u", (unsigned)told, (unsigned)SEEDS);
    }
}

/* Nothing can be said of what is fitted already, or of two keys by as many rows. */
TEST(what_cannot_be_told_is_not_asked_for)
{
    struct setup s;
    struct ty_fit_demand out[KEYS - 1];
    demand(&s, 1, truth, 0, out);
    s.world.sum_only = true; /* b does what a does */
    ck_assert_int_eq(ty_fit_demands(&s.problem, &s.fit, 1, 0.01, out, s.left, &s.err), 0);
    ck_assert(out[B - 1].p == 1);
    s.problem.n_rows = 2;
    ck_assert_int_eq(ty_fit_demands(&s.problem, &s.fit, 1, 0.01, out, s.left, &s.err), 0);
    ck_assert(out[C - 1].p == 1);
    demand(&s, 1, truth, 0, out);
    s.world.sum_only = true;
    n_keys = s.problem.n_parameters = 2; /* b alone: nobody has an effect of its own */
    ck_assert_int_eq(ty_fit_demands(&s.problem, &s.fit, 1, 0.01, out, s.left, &s.err), 0);
    ck_assert(out[B - 1].p == 1 && !out[B - 1].told);
}

TY_SUITE("fit")
