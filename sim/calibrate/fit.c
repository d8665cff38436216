/* fit.c - the minimisation of fit.h.
 *
 * A parameter x in [low, high] becomes a free number u by log x = a + (b - a) / (1 + exp(-u)), a
 * and b the logarithms of the bounds, so that no step can leave them. Soft L1 becomes a sum of
 * squares by f = sign(r) c sqrt(rho(r / c)), exactly. Derivatives are differences over 1 % of a
 * parameter, all of them predicted in one batch. */
#include "sim/calibrate/fit_internal.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ITERATIONS_MAX 40u
#define STEP_SMALL     2e-3 /* of log x: the next step would be far smaller still */
#define GAIN_SMALL     1e-3 /* of the cost */
#define ROUNDS_MAX     4u
#define NOISE_NEAR     0.2  /* of log s: prior and rows are not weighed finer */
#define EDGE           1e-4 /* how near to a bound, in its own range, a start may lie */

/* ---- residuals ---- */

double ty_fit_soft(double r, double *slope)
{
    const double z = r / TY_FIT_SCALE;
    const double root = sqrt(1 + z * z);
    /* rho = 2 (root - 1) = 2 z^2 / (root + 1), without cancellation */
    const double f = z * sqrt(2 / (root + 1));
    *slope = z == 0 ? 1 : z / (f * root);
    return f * TY_FIT_SCALE;
}

/* Log of the value, and its derivative by u. */
static double log_value(const struct ty_fit_parameter *p, double u, double *slope)
{
    const double low = log(p->low), high = log(p->high);
    const double share = 1 / (1 + exp(-u));
    *slope = (high - low) * share * (1 - share);
    return low + (high - low) * share;
}

/* The value; rounding may not carry it over a bound. */
static double value_at(const struct ty_fit_parameter *p, double u)
{
    double unused;
    return fmin(fmax(exp(log_value(p, u, &unused)), p->low), p->high);
}

static double free_number(const struct ty_fit_parameter *p, double value)
{
    const double low = log(p->low), high = log(p->high);
    const double share = fmin(fmax((log(value) - low) / (high - low), EDGE), 1 - EDGE);
    return log(share / (1 - share));
}

double ty_fit_noise(const struct ty_fit_problem *q, const double *times, uint32_t n_free)
{
    double sum = 0, unused;
    for (uint32_t i = 0; i < q->n_rows; i++) {
        const double f = ty_fit_soft(log(times[i] / q->measured[q->rows[i]]), &unused);
        sum += f * f;
    }
    /* As many parameters as rows leave nothing to judge by: then what is usual. */
    return q->n_rows > n_free ? fmax(TY_FIT_NOISE, sqrt(sum / (q->n_rows - n_free))) : TY_FIT_SCALE;
}

int ty_fit_slopes(const struct ty_fit_problem *q, const double *value, const double *times,
                  double *slope, struct ty_err *err)
{
    const uint32_t k = q->n_parameters, n = q->n_rows;
    double *points = calloc((size_t)k * (k + n) + 1, sizeof(*points));
    double step[TY_FIT_MAX];
    if (points == NULL) {
        return ty_fail_memory(err);
    }
    double *moved = points + (size_t)k * k;
    for (uint32_t j = 0; j < k; j++) {
        memcpy(points + (size_t)j * k, value, k * sizeof(*value));
        step[j] = value[j] * exp(TY_FIT_STEP) <= q->parameter[j].high ? TY_FIT_STEP : -TY_FIT_STEP;
        points[(size_t)j * k + j] *= exp(step[j]);
    }
    const int rc = q->predict(q->arg, q->rows, n, points, k, moved, err);
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        for (uint32_t j = 0; j < k; j++) {
            slope[(size_t)i * k + j] = log(moved[(size_t)j * n + i] / times[i]) / step[j];
        }
    }
    free(points);
    return rc;
}

/* ---- what GSL calls ---- */

struct search {
    const struct ty_fit_problem *problem;
    struct ty_err *err;
    int code;                 /* of the first failure */
    double noise;             /* s */
    double u[TY_FIT_MAX];     /* where `times` were predicted */
    double value[TY_FIT_MAX]; /* there */
    bool known;
    double *times; /* [n_rows] */
    double *slope; /* [n_rows][n_parameters] */
};

/* Predicts at x unless that was the last place. */
static int move_to(struct search *s, const gsl_vector *x)
{
    const struct ty_fit_problem *q = s->problem;
    bool same = s->known;
    for (uint32_t j = 0; j < q->n_parameters; j++) {
        const double u = gsl_vector_get(x, j);
        same = same && u == s->u[j];
        s->u[j] = u;
        s->value[j] = value_at(&q->parameter[j], u);
    }
    if (!same) {
        s->code = q->predict(q->arg, q->rows, q->n_rows, s->value, 1, s->times, s->err);
    }
    s->known = s->code == 0;
    return s->code == 0 ? GSL_SUCCESS : GSL_EBADFUNC;
}

static int residuals(const gsl_vector *x, void *arg, gsl_vector *f)
{
    struct search *s = arg;
    const struct ty_fit_problem *q = s->problem;
    double unused;
    if (move_to(s, x) != GSL_SUCCESS) {
        return GSL_EBADFUNC;
    }
    for (uint32_t i = 0; i < q->n_rows; i++) {
        const double r = log(s->times[i] / q->measured[q->rows[i]]);
        gsl_vector_set(f, i, ty_fit_soft(r, &unused) / s->noise);
    }
    for (uint32_t j = 0; j < q->n_parameters && q->prior > 0; j++) {
        gsl_vector_set(f, q->n_rows + j,
                       log(s->value[j] / q->parameter[j].start) / ty_fit_width(q, j));
    }
    return GSL_SUCCESS;
}

static int derivatives(const gsl_vector *x, void *arg, gsl_matrix *jacobian)
{
    struct search *s = arg;
    const struct ty_fit_problem *q = s->problem;
    double by_u[TY_FIT_MAX];
    if (move_to(s, x) != GSL_SUCCESS) {
        return GSL_EBADFUNC;
    }
    s->code = ty_fit_slopes(q, s->value, s->times, s->slope, s->err);
    if (s->code < 0) {
        return GSL_EBADFUNC;
    }
    gsl_matrix_set_zero(jacobian);
    for (uint32_t j = 0; j < q->n_parameters; j++) {
        log_value(&q->parameter[j], s->u[j], &by_u[j]);
        if (q->prior > 0) {
            gsl_matrix_set(jacobian, q->n_rows + j, j, by_u[j] / ty_fit_width(q, j));
        }
    }
    for (uint32_t i = 0; i < q->n_rows; i++) {
        double weight;
        ty_fit_soft(log(s->times[i] / q->measured[q->rows[i]]), &weight);
        for (uint32_t j = 0; j < q->n_parameters; j++) {
            gsl_matrix_set(jacobian, i, j,
                           weight / s->noise * s->slope[(size_t)i * q->n_parameters + j] * by_u[j]);
        }
    }
    return GSL_SUCCESS;
}

/* ---- the search ---- */

static double cost_of(const gsl_multifit_nlinear_workspace *w)
{
    const double norm = gsl_blas_dnrm2(gsl_multifit_nlinear_residual(w));
    return norm * norm;
}

/* Steps until nothing changes that a user would see; leaves the times there in s. */
static void iterate(struct ty_fit *fit, struct search *s, gsl_multifit_nlinear_workspace *w)
{
    const struct ty_fit_problem *q = s->problem;
    const double nothing = 1e-8 * q->n_rows; /* all residuals at 1e-4 of the scale */
    double cost = cost_of(w), value[TY_FIT_MAX];
    memcpy(value, s->value, sizeof(value));
    fit->converged = cost <= nothing;
    for (uint32_t i = 0; i < ITERATIONS_MAX && !fit->converged; i++) {
        fit->iterations++;
        const int status = gsl_multifit_nlinear_iterate(w);
        double moved = 0;
        if (s->code < 0) {
            return;
        }
        for (uint32_t j = 0; j < q->n_parameters; j++) {
            const double x =
                value_at(&q->parameter[j], gsl_vector_get(gsl_multifit_nlinear_position(w), j));
            moved = fmax(moved, fabs(log(x / value[j])));
            value[j] = x;
        }
        const double gain = cost - cost_of(w);
        cost -= gain;
        fit->converged = status != GSL_SUCCESS || cost <= nothing ||
                         (moved < STEP_SMALL && gain <= GAIN_SMALL * cost);
    }
    memcpy(fit->value, value, sizeof(value));
    move_to(s, gsl_multifit_nlinear_position(w));
}

/* Minimises for one s->noise. */
static int search(struct ty_fit *fit, struct search *s, const double *from)
{
    const struct ty_fit_problem *q = s->problem;
    const size_t n = q->n_rows + (q->prior > 0 ? q->n_parameters : 0);
    gsl_multifit_nlinear_parameters settings = gsl_multifit_nlinear_default_parameters();
    gsl_multifit_nlinear_workspace *w =
        gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &settings, n, q->n_parameters);
    gsl_vector *x = gsl_vector_alloc(q->n_parameters);
    gsl_multifit_nlinear_fdf functions = {
        .f = residuals, .df = derivatives, .n = n, .p = q->n_parameters, .params = s};
    if (w == NULL || x == NULL) {
        s->code = ty_fail_memory(s->err);
    }
    for (uint32_t j = 0; j < q->n_parameters && s->code == 0; j++) {
        const double start = from != NULL ? from[j] : q->parameter[j].start;
        gsl_vector_set(x, j, free_number(&q->parameter[j], start));
    }
    if (s->code == 0 && gsl_multifit_nlinear_init(x, &functions, w) != GSL_SUCCESS &&
        s->code == 0) {
        s->code = ty_fail(s->err, TY_EBUG, "least squares cannot start");
    }
    if (s->code == 0) {
        memcpy(fit->value, s->value, sizeof(s->value));
        iterate(fit, s, w);
    }
    gsl_vector_free(x);
    if (w != NULL) {
        gsl_multifit_nlinear_free(w);
    }
    return s->code;
}

static int check(const struct ty_fit_problem *q, struct ty_err *err)
{
    if (q->n_parameters == 0 || q->n_parameters > TY_FIT_MAX) {
        return ty_fail(err, TY_EUSAGE, "%u keys to fit; from 1 to %u can be", q->n_parameters,
                       TY_FIT_MAX);
    }
    if (q->n_rows == 0 || (q->prior <= 0 && q->n_rows < q->n_parameters)) {
        return ty_fail(
            err, TY_EINPUT,
            "%u measured row%s cannot determine %u key%s without a prior; fit fewer keys, "
            "or leave --prior as it is",
            q->n_rows, q->n_rows == 1 ? "" : "s", q->n_parameters, q->n_parameters == 1 ? "" : "s");
    }
    return 0;
}

int ty_fit_run(struct ty_fit *fit, const struct ty_fit_problem *q, const double *from,
               struct ty_err *err)
{
    *fit = (struct ty_fit){.iterations = 0};
    int rc = check(q, err);
    if (rc < 0) {
        return rc;
    }
    struct search s = {.problem = q, .err = err};
    s.times = calloc((size_t)q->n_rows * (q->n_parameters + 1), sizeof(*s.times));
    if (s.times == NULL) {
        return ty_fail_memory(err);
    }
    s.slope = s.times + q->n_rows;
    ty_gsl_quiet();
    double next = q->noise > 0 ? q->noise : TY_FIT_SCALE;
    for (uint32_t round = 0; round < ROUNDS_MAX && rc == 0 && s.noise != next; round++) {
        s.noise = next;
        rc = search(fit, &s, round == 0 ? from : fit->value);
        const double seen = rc == 0 ? ty_fit_noise(q, s.times, q->n_parameters) : next;
        /* without a prior it is but a factor on the cost */
        next = q->prior > 0 && q->noise <= 0 && fabs(log(seen / s.noise)) > NOISE_NEAR ? seen
                                                                                       : s.noise;
    }
    free(s.times);
    return rc;
}
