/* fit.c - latency and bus bandwidth that describe a measured collective best.
 *
 *     minimise  sum of w (ln t - ln(a + b S))^2      over  ln a, ln b
 *
 * Logarithms make an error of 10 % count the same at 10 us and at 10 ms. w is one over the number
 * of sizes in the same decade, so that a log of every MiB is not a fit to its last decade. Solved
 * by Levenberg-Marquardt (GSL), from a = the shortest time, b = time over size of the largest. */
#include "topology/collectives/measured.h"

#include <gsl/gsl_multifit_nlinear.h>
#include <math.h>

#define STEPS_MAX 200
#define PRECISE   1e-10

/* One over the sizes in the same decade; sizes increase, so a decade is a run of them. */
static void set_weights(gsl_vector *weights, const struct ty_coll_log *m)
{
    for (uint32_t i = 0, end; i < m->n; i = end) {
        const double decade = floor(log10(m->size_B[i]));
        end = i + 1;
        while (end < m->n && floor(log10(m->size_B[end])) == decade) {
            end++;
        }
        for (uint32_t k = i; k < end; k++) {
            gsl_vector_set(weights, k, 1.0 / (end - i));
        }
    }
}

static int residuals(const gsl_vector *p, void *arg, gsl_vector *out)
{
    const struct ty_coll_log *m = *(const struct ty_coll_log *const *)arg;
    const double a = exp(gsl_vector_get(p, 0)), b = exp(gsl_vector_get(p, 1));
    for (size_t i = 0; i < m->n; i++) {
        gsl_vector_set(out, i, log1p(b * m->size_B[i] / a) + log(a) - log(m->time_s[i]));
    }
    return GSL_SUCCESS;
}

static int slopes(const gsl_vector *p, void *arg, gsl_matrix *out)
{
    const struct ty_coll_log *m = *(const struct ty_coll_log *const *)arg;
    const double a = exp(gsl_vector_get(p, 0)), b = exp(gsl_vector_get(p, 1));
    for (size_t i = 0; i < m->n; i++) {
        const double share = a / (a + b * m->size_B[i]);
        gsl_matrix_set(out, i, 0, share);
        gsl_matrix_set(out, i, 1, 1 - share);
    }
    return GSL_SUCCESS;
}

static int solve(gsl_multifit_nlinear_workspace *work, gsl_vector *weights,
                 const struct ty_coll_log *m, double *a, double *b)
{
    const struct ty_coll_log *ref = m;
    double shortest = m->time_s[0];
    gsl_multifit_nlinear_fdf system = {
        .f = residuals, .df = slopes, .n = m->n, .p = 2, .params = &ref};
    set_weights(weights, m);
    for (uint32_t i = 0; i < m->n; i++) {
        shortest = fmin(shortest, m->time_s[i]);
    }
    double start[2] = {log(shortest), log(m->time_s[m->n - 1] / m->size_B[m->n - 1])};
    const gsl_vector_view from = gsl_vector_view_array(start, 2);
    int info = 0;
    int rc = gsl_multifit_nlinear_winit(&from.vector, weights, &system, work);
    if (rc == GSL_SUCCESS) {
        rc = gsl_multifit_nlinear_driver(STEPS_MAX, PRECISE, PRECISE, PRECISE, NULL, NULL, &info,
                                         work);
    }
    const gsl_vector *solution = gsl_multifit_nlinear_position(work);
    *a = exp(gsl_vector_get(solution, 0));
    *b = exp(gsl_vector_get(solution, 1));
    /* Where latency (or bandwidth) does not show, nothing is gained by a further step. */
    return rc == GSL_ENOPROG || rc == GSL_EMAXITER ? GSL_SUCCESS : rc;
}

int ty_coll_fit_log(struct ty_coll_fit *fit, const struct ty_coll_log *m, struct ty_err *err)
{
    if (m->n == 1) { /* nothing tells latency from transfer */
        *fit = (struct ty_coll_fit){0, ty_coll_bus_factor(m->coll, m->ranks) * m->size_B[0] /
                                           m->time_s[0]};
        return 0;
    }
    const gsl_multifit_nlinear_parameters how = gsl_multifit_nlinear_default_parameters();
    ty_gsl_quiet();
    gsl_multifit_nlinear_workspace *work =
        gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &how, m->n, 2);
    gsl_vector *weights = gsl_vector_alloc(m->n);
    double a = 0, b = 0;
    const int rc = work != NULL && weights != NULL ? solve(work, weights, m, &a, &b) : GSL_ENOMEM;
    if (weights != NULL) {
        gsl_vector_free(weights);
    }
    if (work != NULL) {
        gsl_multifit_nlinear_free(work);
    }
    if (rc == GSL_ENOMEM) {
        return ty_fail_memory(err);
    }
    if (rc != GSL_SUCCESS || !isfinite(a) || !(b > 0)) {
        return ty_fail(err, TY_EINPUT, "%s: no latency and bandwidth describe these times (%s)",
                       m->file, gsl_strerror(rc));
    }
    *fit = (struct ty_coll_fit){a, ty_coll_bus_factor(m->coll, m->ranks) / b};
    return 0;
}

double ty_coll_fit_seconds(const struct ty_coll_fit *fit, const struct ty_coll_log *m, double bytes)
{
    return fit->latency_s + ty_coll_bus_factor(m->coll, m->ranks) * bytes / fit->bus_Bps;
}
