/* fit.c - the minimisation of fit.h.
 *
 * A parameter x in [low, high] becomes a free number u by log x = a + (b - a) / (1 + exp(-u)), a
 * and b the logarithms of the bounds, so that no step can leave them. Soft L1 becomes a sum of
 * squares by f = sign(r) c sqrt(rho(r / c)), exactly. Derivatives are differences over 1 % of a
 * parameter, all of them predicted in one batch. */
#include "sim/calibrate/fit_internal.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sweep/band.h"

#define ITERATIONS_MAX 40u
#define STEP_SMALL     2e-3 /* of log x: the next step would be far smaller still */
#define GAIN_SMALL     1e-3 /* of the cost */
#define ROUNDS_MAX     4u
#define NOISE_NEAR     0.2  /* of log s: prior and rows are not weighed finer */
#define EDGE           1e-4 /* how near to a bound, in its own range, a start may lie */

/* A symmetric matrix over the free parameters. */
struct square {
    double at[TY_FIT_MAX][TY_FIT_MAX];
};

/* The model there: linear in log x. Parameters at a bound are held. */
struct linear {
    const struct ty_fit_problem *problem;
    const double *times, *slope; /* [n_rows], [n_rows][n_parameters] */
    double noise;
    uint32_t free[TY_FIT_MAX], n_free;
};

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

/* Standard deviation of the residuals log(times / measured), softened like the fit softens them,
 * where n_free parameters were fitted. */
static double fit_noise(const struct ty_fit_problem *q, const double *times, uint32_t n_free)
{
    double sum = 0, unused;
    for (uint32_t i = 0; i < q->n_rows; i++) {
        const double f = ty_fit_soft(log(times[i] / q->measured[q->rows[i]]), &unused);
        sum += f * f;
    }
    /* As many parameters as rows leave nothing to judge by: then what is usual. */
    return q->n_rows > n_free ? fmax(TY_FIT_NOISE, sqrt(sum / (q->n_rows - n_free))) : TY_FIT_SCALE;
}

/* slope[row][parameter] = d log(time) / d log(x) at `value`, where the times are `times`. */
static int fit_slopes(const struct ty_fit_problem *q, const double *value, const double *times,
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
    s->code = fit_slopes(q, s->value, s->times, s->slope, s->err);
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
        const double seen = rc == 0 ? fit_noise(q, s.times, q->n_parameters) : next;
        /* without a prior it is but a factor on the cost */
        next = q->prior > 0 && q->noise <= 0 && fabs(log(seen / s.noise)) > NOISE_NEAR ? seen
                                                                                       : s.noise;
    }
    free(s.times);
    return rc;
}

/* ---- the model near the optimum ---- */

#define BOUND_NEAR 0.005 /* of log x: a value this near to a bound is at it */
#define VAGUE      100.0 /* a factor of exp(100): no information at all */

double ty_fit_width(const struct ty_fit_problem *q, uint32_t parameter)
{
    const double own = q->parameter[parameter].prior;
    const double width = own > 0 ? own : q->prior;
    return q->prior > 0 ? width : VAGUE;
}

/* What a prior says of a free parameter. */
static double known_before(const struct linear *m, bool priors, uint32_t a)
{
    const double width = priors ? ty_fit_width(m->problem, m->free[a]) : VAGUE;
    return 1 / (width * width);
}

/* How far the model is off in a row, and how its time moves with each free parameter. Returns the
 * weight that soft L1 gives the row. */
static double fit_row(const struct linear *m, uint32_t row, double *residual,
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

static void add_product(const struct linear *m, const double v[TY_FIT_MAX], double factor,
                        struct square *sum)
{
    for (uint32_t a = 0; a < m->n_free; a++) {
        for (uint32_t b = 0; b < m->n_free; b++) {
            sum->at[a][b] += factor * v[a] * v[b];
        }
    }
}

/* What rows say of the parameters: sum of weighted products, over noise squared. Rows of the fold
 * `without` are left out (fold NULL: none). */
static void fit_information(const struct linear *m, const uint32_t *fold, uint32_t without,
                            struct square *sum)
{
    double residual, move[TY_FIT_MAX];
    memset(sum, 0, sizeof(*sum));
    for (uint32_t i = 0; i < m->problem->n_rows; i++) {
        if (fold == NULL || fold[i] != without) {
            const double weight = fit_row(m, i, &residual, move) / m->noise;
            add_product(m, move, weight * weight, sum);
        }
    }
}

/* Turns information, with that of the priors added, into covariance; without them with one so wide
 * that it says nothing. 0 or TY_EBUG. */
static int fit_invert(const struct linear *m, bool priors, struct square *s, struct ty_err *err)
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

/* a'Ca: the variance of what moves by `move`. */
static double fit_variance(const struct linear *m, const struct square *covariance,
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
static void add_groups(const struct linear *m, const struct ty_fit_groups *groups, double shared,
                       struct square *sum)
{
    for (uint32_t a = 0; a < m->n_free; a++) {
        for (uint32_t b = 0; b < m->n_free; b++) {
            sum->at[a][b] *= 1 - shared;
        }
    }
    for (uint32_t g = 0; g < groups->n_groups; g++) {
        double residual, move[TY_FIT_MAX], all[TY_FIT_MAX] = {0};
        for (uint32_t i = 0; i < m->problem->n_rows; i++) {
            const double weight = groups->group[i] == g ? fit_row(m, i, &residual, move) : 0;
            for (uint32_t a = 0; a < m->n_free && weight > 0; a++) {
                all[a] += weight * move[a] / m->noise;
            }
        }
        add_product(m, all, shared, sum);
    }
}

/* H^-1 M H^-1, M with the prior. */
static int covariance(const struct linear *m, bool priors, const struct ty_fit_groups *groups,
                      double shared, struct square *out, struct ty_err *err)
{
    struct square inverse, middle;
    fit_information(m, NULL, 0, &inverse);
    middle = inverse;
    if (shared > 0) {
        add_groups(m, groups, shared, &middle);
    }
    const int rc = fit_invert(m, priors, &inverse, err);
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
static void take(const struct linear *m, const struct square *c, double *error,
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
static void find_free(struct ty_fit *fit, struct linear *m)
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

/* ---- scatter that no parameter explains ---- */

/* Sums over the rows of a group. */
struct group {
    uint32_t n, fold;
    double off, out;          /* residuals: of the fit, and left out */
    double moved[TY_FIT_MAX]; /* slopes */
};

static void sum_up(const struct linear *m, const struct ty_fit_groups *groups, struct group *group)
{
    const struct ty_fit_problem *q = m->problem;
    for (uint32_t i = 0; i < q->n_rows; i++) {
        struct group *g = &group[groups->group[i]];
        double off, move[TY_FIT_MAX];
        fit_row(m, i, &off, move);
        g->n++;
        g->fold = groups->fold[i];
        g->off += off;
        g->out += groups->left_out != NULL ? log(groups->left_out[i] / q->measured[q->rows[i]]) : 0;
        for (uint32_t a = 0; a < m->n_free; a++) {
            g->moved[a] += move[a];
        }
    }
}

/* Parameters that the rows, and not the prior, determine: trace of I (I + 1 / p^2)^-1. */
static int count_parameters(const struct linear *m, double *n, struct ty_err *err)
{
    struct square inverse;
    fit_information(m, NULL, 0, &inverse);
    const int rc = fit_invert(m, true, &inverse, err);
    *n = m->n_free;
    for (uint32_t a = 0; a < m->n_free; a++) {
        const double prior = ty_fit_width(m->problem, m->free[a]);
        *n -= inverse.at[a][a] / (prior * prior);
    }
    return rc;
}

/* Of a row by itself; of rows that are a group each, all there is. */
static double of_each(const struct linear *m, const struct ty_fit_groups *groups,
                      const struct group *group, double n_parameters)
{
    const uint32_t n = m->problem->n_rows;
    const bool within = n > groups->n_groups;
    const double taken = 1 - n_parameters / n; /* the fit has followed so much of it */
    double sum = 0, move[TY_FIT_MAX];
    for (uint32_t i = 0; i < n; i++) {
        const struct group *g = &group[groups->group[i]];
        double off;
        fit_row(m, i, &off, move);
        off -= within ? g->off / g->n : 0;
        sum += off * off;
    }
    if (taken * n < 1) { /* as many parameters as rows leave nothing to judge by */
        return TY_FIT_SCALE;
    }
    return fmax(TY_FIT_NOISE, sqrt(sum / (within ? n - groups->n_groups : n) / taken));
}

/* Covariance of the parameters by all rows but those of a fold. */
static int without_fold(const struct linear *m, const struct ty_fit_groups *groups, uint32_t fold,
                        struct square *out, struct ty_err *err)
{
    fit_information(m, groups->fold, fold, out);
    return fit_invert(m, true, out, err);
}

/* Of what a group shares. */
static int of_groups(const struct linear *m, const struct ty_fit_groups *groups,
                     const struct group *group, struct ty_fit_scatter *s, struct ty_err *err)
{
    double sum = 0, mean[TY_FIT_MAX];
    int rc = 0;
    for (uint32_t g = 0; g < groups->n_groups && rc == 0; g++) {
        const double n = group[g].n, out = group[g].out / n;
        struct square others;
        rc = without_fold(m, groups, group[g].fold, &others, err);
        for (uint32_t a = 0; a < m->n_free; a++) {
            mean[a] = group[g].moved[a] / n;
        }
        sum += out * out - s->each * s->each / n - fit_variance(m, &others, mean);
    }
    s->shared = sqrt(fmax(0, sum / groups->n_groups));
    return rc;
}

/* How many rows that were left out lie in the band that a fit of the others gives them. */
static int cover(const struct linear *m, const struct ty_fit_groups *groups,
                 struct ty_fit_scatter *s, struct ty_err *err)
{
    const struct ty_fit_problem *q = m->problem;
    int rc = 0;
    for (uint32_t f = 0; f < groups->n_folds && rc == 0; f++) {
        struct square others;
        rc = without_fold(m, groups, f, &others, err);
        for (uint32_t i = 0; i < q->n_rows && rc == 0; i++) {
            double off, move[TY_FIT_MAX];
            if (groups->fold[i] == f) {
                fit_row(m, i, &off, move);
                off = log(groups->left_out[i] / q->measured[q->rows[i]]);
                const double variance =
                    fit_variance(m, &others, move) + s->each * s->each + s->shared * s->shared;
                s->n_out++;
                s->n_covered += fabs(off) <= TY_BAND_HALF * sqrt(variance);
            }
        }
    }
    return rc;
}

/* fit_scatter.c: what no parameter explains. */
static int fit_find_scatter(const struct linear *m, const struct ty_fit_groups *groups,
                            struct ty_fit_scatter *s, struct ty_err *err)
{
    struct group *group = calloc((size_t)groups->n_groups + 1, sizeof(*group));
    double n_parameters;
    if (group == NULL) {
        return ty_fail_memory(err);
    }
    *s = (struct ty_fit_scatter){.shared = NAN};
    sum_up(m, groups, group);
    int rc = count_parameters(m, &n_parameters, err);
    if (rc == 0) {
        s->each = of_each(m, groups, group, n_parameters);
    }
    if (rc == 0 && groups->left_out != NULL) {
        rc = of_groups(m, groups, group, s, err);
        rc = rc < 0 ? rc : cover(m, groups, s, err);
    }
    free(group);
    return rc;
}

/* ---- standard errors ---- */

static int errors(struct ty_fit *fit, struct linear *m, const struct ty_fit_groups *groups,
                  struct ty_err *err)
{
    const struct ty_fit_problem *q = m->problem;
    struct square c;
    double shared = 0;
    find_free(fit, m);
    fit->noise = m->noise = fit_noise(q, m->times, m->n_free);
    int rc = groups != NULL ? fit_find_scatter(m, groups, &fit->scatter, err) : 0;
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
    *rc = *rc < 0 ? *rc : fit_slopes(q, value, times, times + q->n_rows, err);
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
        struct linear m = {.problem = q, .times = times, .slope = times + q->n_rows};
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
