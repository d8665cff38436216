/* fit_errors.c - how well data determine what was fitted.
 *
 * At the optimum the model is linear in log x with slopes J (weighted by soft L1), and residuals
 * have variance s^2: the covariance of the data alone is s^2 (J'J)^-1, with priors of width p it is
 * (J'J / s^2 + 1 / p^2)^-1. A parameter at a bound is held there. The first is computed by singular
 * values, so that a direction without any effect comes out as an infinite error and not as an
 * accident of rounding. */
#include "sim/calibrate/fit_internal.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdlib.h>

#define BOUND_NEAR 0.005 /* of log x: a value this near to a bound is at it */
#define SMALLEST   1e-7  /* of the largest singular value: differences know no better */
#define ERROR_MAX  100.0 /* a factor of exp(100): no information at all */

struct matrices {
    gsl_matrix *j, *v, *inverse; /* [rows][free], [free][free], [free][free] */
    gsl_vector *singular, *work;
};

/* Weighted slopes of the free parameters; rows of zeros make it square at least. */
static void fill(gsl_matrix *j, const struct ty_fit_problem *q, const double *times,
                 const double *slope, const uint32_t *at, uint32_t n_free)
{
    gsl_matrix_set_zero(j);
    for (uint32_t i = 0; i < q->n_rows; i++) {
        double weight;
        ty_fit_soft(log(times[i] / q->measured[q->rows[i]]), &weight);
        for (uint32_t c = 0; c < n_free; c++) {
            gsl_matrix_set(j, i, c, weight * slope[(size_t)i * q->n_parameters + at[c]]);
        }
    }
}

/* With the prior: inverse of J'J / s^2 + 1 / p^2, which is never singular. */
static int with_prior(struct ty_fit *fit, const struct ty_fit_problem *q, const struct matrices *m,
                      const uint32_t *at, uint32_t n_free)
{
    for (uint32_t a = 0; a < n_free; a++) {
        for (uint32_t b = 0; b < n_free; b++) {
            double sum = a == b ? 1 / (q->prior * q->prior) : 0;
            for (size_t i = 0; i < m->j->size1; i++) {
                sum += gsl_matrix_get(m->j, i, a) * gsl_matrix_get(m->j, i, b) /
                       (fit->noise * fit->noise);
            }
            gsl_matrix_set(m->inverse, a, b, sum);
        }
    }
    if (gsl_linalg_cholesky_decomp1(m->inverse) != GSL_SUCCESS ||
        gsl_linalg_cholesky_invert(m->inverse) != GSL_SUCCESS) {
        return -1;
    }
    for (uint32_t a = 0; a < n_free; a++) {
        fit->error[at[a]] = sqrt(gsl_matrix_get(m->inverse, a, a));
    }
    return 0;
}

/* The data alone; destroys m->j. */
static int data_alone(struct ty_fit *fit, const struct matrices *m, const uint32_t *at,
                      uint32_t n_free)
{
    if (gsl_linalg_SV_decomp(m->j, m->v, m->singular, m->work) != GSL_SUCCESS) {
        return -1;
    }
    const double largest = gsl_vector_get(m->singular, 0);
    for (uint32_t a = 0; a < n_free; a++) {
        for (uint32_t b = 0; b < n_free; b++) {
            double sum = 0;
            for (uint32_t d = 0; d < n_free; d++) {
                const double s = fmax(gsl_vector_get(m->singular, d), SMALLEST * largest);
                sum +=
                    s == 0 ? 0 : gsl_matrix_get(m->v, a, d) * gsl_matrix_get(m->v, b, d) / (s * s);
            }
            gsl_matrix_set(m->inverse, a, b, sum * fit->noise * fit->noise);
        }
    }
    for (uint32_t a = 0; a < n_free; a++) {
        const double own = sqrt(gsl_matrix_get(m->inverse, a, a));
        fit->data_error[at[a]] = largest == 0 || own > ERROR_MAX ? HUGE_VAL : own;
        for (uint32_t b = 0; b < n_free; b++) {
            const double other = sqrt(gsl_matrix_get(m->inverse, b, b));
            fit->correlation[at[a]][at[b]] =
                own > 0 && other > 0 ? gsl_matrix_get(m->inverse, a, b) / (own * other) : 0;
        }
    }
    return 0;
}

/* Says which values lie at a bound, and finds those that do not: at[n]. Returns n. */
static uint32_t find_free(struct ty_fit *fit, const struct ty_fit_problem *q,
                          uint32_t at[TY_FIT_MAX])
{
    uint32_t n_free = 0;
    for (uint32_t j = 0; j < q->n_parameters; j++) {
        const struct ty_fit_parameter *p = &q->parameter[j];
        fit->at_low[j] = log(fit->value[j] / p->low) < BOUND_NEAR;
        fit->at_high[j] = log(p->high / fit->value[j]) < BOUND_NEAR;
        fit->error[j] = fit->data_error[j] = HUGE_VAL;
        if (!fit->at_low[j] && !fit->at_high[j]) {
            at[n_free++] = j;
        }
    }
    return n_free;
}

static int errors(struct ty_fit *fit, const struct ty_fit_problem *q, const double *times,
                  const double *slope, struct ty_err *err)
{
    uint32_t at[TY_FIT_MAX];
    const uint32_t n_free = find_free(fit, q, at);
    fit->noise = ty_fit_noise(q, times, n_free);
    if (n_free == 0) {
        return 0;
    }
    const size_t n = q->n_rows > n_free ? q->n_rows : n_free;
    struct matrices m = {.j = gsl_matrix_alloc(n, n_free),
                         .v = gsl_matrix_alloc(n_free, n_free),
                         .inverse = gsl_matrix_alloc(n_free, n_free),
                         .singular = gsl_vector_alloc(n_free),
                         .work = gsl_vector_alloc(n_free)};
    int rc = 0;
    if (!m.j || !m.v || !m.inverse || !m.singular || !m.work) {
        rc = ty_fail_memory(err);
    } else {
        fill(m.j, q, times, slope, at, n_free);
        const bool good = (q->prior <= 0 || with_prior(fit, q, &m, at, n_free) == 0) &&
                          data_alone(fit, &m, at, n_free) == 0;
        rc = good ? 0 : ty_fail(err, TY_EBUG, "standard errors cannot be computed");
    }
    for (uint32_t a = 0; a < n_free && q->prior <= 0; a++) {
        fit->error[at[a]] = fit->data_error[at[a]];
    }
    gsl_matrix_free(m.j);
    gsl_matrix_free(m.v);
    gsl_matrix_free(m.inverse);
    gsl_vector_free(m.singular);
    gsl_vector_free(m.work);
    return rc;
}

double *ty_fit_linearise(const struct ty_fit_problem *q, const double *value, int *rc,
                         struct ty_err *err)
{
    double *times = calloc((size_t)q->n_rows * (q->n_parameters + 1) + 1, sizeof(*times));
    if (times == NULL) {
        *rc = ty_fail_memory(err);
        return NULL;
    }
    *rc = q->predict(q->arg, q->rows, q->n_rows, value, 1, times, err);
    *rc = *rc < 0 ? *rc : ty_fit_slopes(q, value, times, times + q->n_rows, err);
    if (*rc < 0) {
        free(times);
        return NULL;
    }
    return times;
}

int ty_fit_errors(struct ty_fit *fit, const struct ty_fit_problem *q, struct ty_err *err)
{
    int rc;
    double *times = ty_fit_linearise(q, fit->value, &rc, err);
    if (times != NULL) {
        ty_gsl_quiet();
        rc = errors(fit, q, times, times + q->n_rows, err);
    }
    free(times);
    return rc;
}

/* Whether the parameters at[0..n) are all known to `limit`, where `information` is J'J over all
 * parameters. `work` is as large. */
static bool all_known(const gsl_matrix *information, const uint32_t *at, uint32_t n, double limit,
                      gsl_matrix *work)
{
    gsl_matrix_view view = gsl_matrix_submatrix(work, 0, 0, n, n);
    gsl_matrix *inverse = &view.matrix;
    for (uint32_t a = 0; a < n; a++) {
        for (uint32_t b = 0; b < n; b++) {
            gsl_matrix_set(inverse, a, b, gsl_matrix_get(information, at[a], at[b]));
        }
    }
    bool known = gsl_linalg_cholesky_decomp1(inverse) == GSL_SUCCESS &&
                 gsl_linalg_cholesky_invert(inverse) == GSL_SUCCESS;
    for (uint32_t a = 0; a < n && known; a++) {
        known = TY_FIT_NOISE * sqrt(gsl_matrix_get(inverse, a, a)) <= limit;
    }
    return known;
}

int ty_fit_choose(const struct ty_fit_problem *q, double limit, bool taken[], bool alone[],
                  struct ty_err *err)
{
    const uint32_t k = q->n_parameters;
    double value[TY_FIT_MAX];
    uint32_t at[TY_FIT_MAX], n = 0;
    int rc;
    for (uint32_t j = 0; j < k; j++) {
        value[j] = q->parameter[j].start;
        taken[j] = alone[j] = false;
    }
    double *times = ty_fit_linearise(q, value, &rc, err);
    if (times == NULL) {
        return rc;
    }
    gsl_matrix *information = gsl_matrix_calloc(k, k), *work = gsl_matrix_alloc(k, k);
    if (information == NULL || work == NULL) {
        gsl_matrix_free(information);
        gsl_matrix_free(work);
        free(times);
        return ty_fail_memory(err);
    }
    for (uint32_t i = 0; i < q->n_rows; i++) {
        const double *slope = times + q->n_rows + (size_t)i * k;
        for (uint32_t a = 0; a < k; a++) {
            for (uint32_t b = 0; b < k; b++) {
                *gsl_matrix_ptr(information, a, b) += slope[a] * slope[b];
            }
        }
    }
    ty_gsl_quiet();
    for (uint32_t j = 0; j < k; j++) {
        alone[j] = all_known(information, &j, 1, limit, work);
        at[n] = j;
        taken[j] = all_known(information, at, n + 1, limit, work);
        n += taken[j];
    }
    gsl_matrix_free(information);
    gsl_matrix_free(work);
    free(times);
    return 0;
}
