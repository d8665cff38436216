/* fit_errors.c - how well data determine what was fitted.
 *
 * At the optimum the model is linear in log x with slopes J (weighted by soft L1). Rows that err
 * independently, with variance s^2, say as much as their information I = J'J / s^2, and the
 * covariance is (I + 1 / p^2)^-1 with priors of width p. Rows of a group do not: part r of their
 * variance is one number that they share (fit_scatter.c). Then it is Moulton's (1986)
 *
 *     H^-1 ((1 - r) I + r sum over groups (G G' / s^2) + 1 / p^2) H^-1,    H = I + 1 / p^2,
 *
 * G the sum of a group's weighted slopes. A parameter at a bound is held there. "Data alone" is the
 * same with a prior so wide that it says nothing, which keeps H from being singular. */
#include "sim/calibrate/fit_internal.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BOUND_NEAR 0.005 /* of log x: a value this near to a bound is at it */
#define VAGUE      100.0 /* a factor of exp(100): no information at all */

double ty_fit_width(const struct ty_fit_problem *q, uint32_t parameter)
{
    const double own = q->parameter[parameter].prior;
    const double width = own > 0 ? own : q->prior;
    return q->prior > 0 ? width : VAGUE;
}

/* What a prior says of a free parameter. */
static double known_before(const struct ty_fit_linear *m, bool priors, uint32_t a)
{
    const double width = priors ? ty_fit_width(m->problem, m->free[a]) : VAGUE;
    return 1 / (width * width);
}

double ty_fit_row(const struct ty_fit_linear *m, uint32_t row, double *residual,
                  double move[TY_FIT_MAX])
{
    const struct ty_fit_problem *q = m->problem;
    double weight;
    *residual = log(m->times[row] / q->measured[q->rows[row]]);
    ty_fit_soft(*residual, &weight);
    for (uint32_t a = 0; a < m->n_free; a++) {
        move[a] = m->slope[(size_t)row * q->n_parameters + m->free[a]];
    }
    return weight;
}

static void add_product(const struct ty_fit_linear *m, const double v[TY_FIT_MAX], double factor,
                        struct ty_fit_square *sum)
{
    for (uint32_t a = 0; a < m->n_free; a++) {
        for (uint32_t b = 0; b < m->n_free; b++) {
            sum->at[a][b] += factor * v[a] * v[b];
        }
    }
}

void ty_fit_information(const struct ty_fit_linear *m, const uint32_t *fold, uint32_t without,
                        struct ty_fit_square *sum)
{
    double residual, move[TY_FIT_MAX];
    memset(sum, 0, sizeof(*sum));
    for (uint32_t i = 0; i < m->problem->n_rows; i++) {
        if (fold == NULL || fold[i] != without) {
            const double weight = ty_fit_row(m, i, &residual, move) / m->noise;
            add_product(m, move, weight * weight, sum);
        }
    }
}

int ty_fit_invert(const struct ty_fit_linear *m, bool priors, struct ty_fit_square *s,
                  struct ty_err *err)
{
    gsl_matrix_view view =
        gsl_matrix_view_array_with_tda(&s->at[0][0], m->n_free, m->n_free, TY_FIT_MAX);
    for (uint32_t a = 0; a < m->n_free; a++) {
        s->at[a][a] += known_before(m, priors, a);
    }
    if (m->n_free > 0 && (gsl_linalg_cholesky_decomp1(&view.matrix) != GSL_SUCCESS ||
                          gsl_linalg_cholesky_invert(&view.matrix) != GSL_SUCCESS)) {
        return ty_fail(err, TY_EBUG, "standard errors cannot be computed");
    }
    return 0;
}

double ty_fit_variance(const struct ty_fit_linear *m, const struct ty_fit_square *covariance,
                       const double move[TY_FIT_MAX])
{
    double sum = 0;
    for (uint32_t a = 0; a < m->n_free; a++) {
        for (uint32_t b = 0; b < m->n_free; b++) {
            sum += move[a] * covariance->at[a][b] * move[b];
        }
    }
    return sum;
}

/* ---- covariance ---- */

/* What the rows of groups say when part `shared` of their variance is theirs together. */
static void add_groups(const struct ty_fit_linear *m, const struct ty_fit_groups *groups,
                       double shared, struct ty_fit_square *sum)
{
    for (uint32_t a = 0; a < m->n_free; a++) {
        for (uint32_t b = 0; b < m->n_free; b++) {
            sum->at[a][b] *= 1 - shared;
        }
    }
    for (uint32_t g = 0; g < groups->n_groups; g++) {
        double residual, move[TY_FIT_MAX], all[TY_FIT_MAX] = {0};
        for (uint32_t i = 0; i < m->problem->n_rows; i++) {
            const double weight = groups->group[i] == g ? ty_fit_row(m, i, &residual, move) : 0;
            for (uint32_t a = 0; a < m->n_free && weight > 0; a++) {
                all[a] += weight * move[a] / m->noise;
            }
        }
        add_product(m, all, shared, sum);
    }
}

/* H^-1 M H^-1, M with the prior. */
static int covariance(const struct ty_fit_linear *m, bool priors,
                      const struct ty_fit_groups *groups, double shared, struct ty_fit_square *out,
                      struct ty_err *err)
{
    struct ty_fit_square inverse, middle;
    ty_fit_information(m, NULL, 0, &inverse);
    middle = inverse;
    if (shared > 0) {
        add_groups(m, groups, shared, &middle);
    }
    const int rc = ty_fit_invert(m, priors, &inverse, err);
    for (uint32_t a = 0; a < m->n_free; a++) {
        middle.at[a][a] += known_before(m, priors, a);
    }
    for (uint32_t a = 0; a < m->n_free && rc == 0; a++) {
        double left[TY_FIT_MAX];
        for (uint32_t d = 0; d < m->n_free; d++) {
            left[d] = 0;
            for (uint32_t c = 0; c < m->n_free; c++) {
                left[d] += inverse.at[a][c] * middle.at[c][d];
            }
        }
        for (uint32_t b = 0; b < m->n_free; b++) {
            out->at[a][b] = 0;
            for (uint32_t d = 0; d < m->n_free; d++) {
                out->at[a][b] += left[d] * inverse.at[d][b];
            }
        }
    }
    return rc;
}

/* Standard errors and correlations out of a covariance. */
static void take(const struct ty_fit_linear *m, const struct ty_fit_square *c, double *error,
                 double (*correlation)[TY_FIT_MAX])
{
    for (uint32_t a = 0; a < m->n_free; a++) {
        error[m->free[a]] = sqrt(c->at[a][a]);
        for (uint32_t b = 0; b < m->n_free; b++) {
            correlation[m->free[a]][m->free[b]] = c->at[a][b] / sqrt(c->at[a][a] * c->at[b][b]);
        }
    }
}

/* Says which values lie at a bound, and finds those that do not. */
static void find_free(struct ty_fit *fit, struct ty_fit_linear *m)
{
    const struct ty_fit_problem *q = m->problem;
    for (uint32_t j = 0; j < q->n_parameters; j++) {
        const struct ty_fit_parameter *p = &q->parameter[j];
        fit->at_low[j] = log(fit->value[j] / p->low) < BOUND_NEAR;
        fit->at_high[j] = log(p->high / fit->value[j]) < BOUND_NEAR;
        fit->error[j] = fit->data_error[j] = HUGE_VAL;
        fit->reach[j] = 0;
        for (uint32_t i = 0; i < q->n_rows; i++) {
            fit->reach[j] = fmax(fit->reach[j], fabs(m->slope[(size_t)i * q->n_parameters + j]));
        }
        if (!fit->at_low[j] && !fit->at_high[j]) {
            m->free[m->n_free++] = j;
        }
    }
}

static int errors(struct ty_fit *fit, struct ty_fit_linear *m, const struct ty_fit_groups *groups,
                  struct ty_err *err)
{
    const struct ty_fit_problem *q = m->problem;
    struct ty_fit_square c;
    double shared = 0;
    find_free(fit, m);
    fit->noise = m->noise = ty_fit_noise(q, m->times, m->n_free);
    int rc = groups != NULL ? ty_fit_find_scatter(m, groups, &fit->scatter, err) : 0;
    if (rc == 0 && groups != NULL && fit->scatter.shared > 0) {
        const double one = pow(fit->scatter.each, 2), all = pow(fit->scatter.shared, 2);
        shared = all / (one + all);
    }
    rc = rc < 0 ? rc : covariance(m, true, groups, shared, &c, err);
    if (rc == 0) {
        take(m, &c, fit->error, fit->joint);
        rc = covariance(m, false, groups, shared, &c, err);
    }
    if (rc == 0) {
        take(m, &c, fit->data_error, fit->correlation);
    }
    for (uint32_t a = 0; a < m->n_free; a++) {
        double *own = &fit->data_error[m->free[a]];
        *own = *own > 0.999 * VAGUE ? HUGE_VAL : *own;
    }
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

int ty_fit_errors(struct ty_fit *fit, const struct ty_fit_problem *q,
                  const struct ty_fit_groups *groups, struct ty_err *err)
{
    int rc;
    double *times = ty_fit_linearise(q, fit->value, &rc, err);
    if (times != NULL) {
        struct ty_fit_linear m = {.problem = q, .times = times, .slope = times + q->n_rows};
        ty_gsl_quiet();
        rc = errors(fit, &m, groups, err);
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
