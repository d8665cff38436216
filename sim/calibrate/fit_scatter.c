/* fit_scatter.c - what rows are off by that no parameter explains, and whether bands that know of
 * it hold what was left out.
 *
 * A row is off by what it shares with its group (deviation t: a model that the simulator takes for
 * faster than it is) and by what is its own (s). The second is seen within groups. The first is not
 * seen where a fit could follow it, so it is read off the groups that were left out: the mean of a
 * group of n rows, predicted without it, is off by t^2 + s^2 / n and by the variance that the fit
 * of the others says of its own prediction (method of moments). Plain squares, not soft L1: what
 * comes next will be off as badly as these rows were, and a band of 1.64 deviations holds near nine
 * of ten whatever the tails. */
#include <math.h>
#include <stdlib.h>

#include "sim/calibrate/fit_internal.h"
#include "sim/sweep/band.h"

/* Sums over the rows of a group. */
struct group {
    uint32_t n, fold;
    double off, out;          /* residuals: of the fit, and left out */
    double moved[TY_FIT_MAX]; /* slopes */
};

static void sum_up(const struct ty_fit_linear *m, const struct ty_fit_groups *groups,
                   struct group *group)
{
    const struct ty_fit_problem *q = m->problem;
    for (uint32_t i = 0; i < q->n_rows; i++) {
        struct group *g = &group[groups->group[i]];
        double off, move[TY_FIT_MAX];
        ty_fit_row(m, i, &off, move);
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
static int count_parameters(const struct ty_fit_linear *m, double *n, struct ty_err *err)
{
    struct ty_fit_square inverse;
    ty_fit_information(m, NULL, 0, &inverse);
    const int rc = ty_fit_invert(m, true, &inverse, err);
    *n = m->n_free;
    for (uint32_t a = 0; a < m->n_free; a++) {
        const double prior = ty_fit_width(m->problem, m->free[a]);
        *n -= inverse.at[a][a] / (prior * prior);
    }
    return rc;
}

/* Of a row by itself; of rows that are a group each, all there is. */
static double of_each(const struct ty_fit_linear *m, const struct ty_fit_groups *groups,
                      const struct group *group, double n_parameters)
{
    const uint32_t n = m->problem->n_rows;
    const bool within = n > groups->n_groups;
    const double taken = 1 - n_parameters / n; /* the fit has followed so much of it */
    double sum = 0, move[TY_FIT_MAX];
    for (uint32_t i = 0; i < n; i++) {
        const struct group *g = &group[groups->group[i]];
        double off;
        ty_fit_row(m, i, &off, move);
        off -= within ? g->off / g->n : 0;
        sum += off * off;
    }
    if (taken * n < 1) { /* as many parameters as rows leave nothing to judge by */
        return TY_FIT_SCALE;
    }
    return fmax(TY_FIT_NOISE, sqrt(sum / (within ? n - groups->n_groups : n) / taken));
}

/* Covariance of the parameters by all rows but those of a fold. */
static int without_fold(const struct ty_fit_linear *m, const struct ty_fit_groups *groups,
                        uint32_t fold, struct ty_fit_square *out, struct ty_err *err)
{
    ty_fit_information(m, groups->fold, fold, out);
    return ty_fit_invert(m, true, out, err);
}

/* Of what a group shares. */
static int of_groups(const struct ty_fit_linear *m, const struct ty_fit_groups *groups,
                     const struct group *group, struct ty_fit_scatter *s, struct ty_err *err)
{
    double sum = 0, mean[TY_FIT_MAX];
    int rc = 0;
    for (uint32_t g = 0; g < groups->n_groups && rc == 0; g++) {
        const double n = group[g].n, out = group[g].out / n;
        struct ty_fit_square others;
        rc = without_fold(m, groups, group[g].fold, &others, err);
        for (uint32_t a = 0; a < m->n_free; a++) {
            mean[a] = group[g].moved[a] / n;
        }
        sum += out * out - s->each * s->each / n - ty_fit_variance(m, &others, mean);
    }
    s->shared = sqrt(fmax(0, sum / groups->n_groups));
    return rc;
}

/* How many rows that were left out lie in the band that a fit of the others gives them. */
static int cover(const struct ty_fit_linear *m, const struct ty_fit_groups *groups,
                 struct ty_fit_scatter *s, struct ty_err *err)
{
    const struct ty_fit_problem *q = m->problem;
    int rc = 0;
    for (uint32_t f = 0; f < groups->n_folds && rc == 0; f++) {
        struct ty_fit_square others;
        rc = without_fold(m, groups, f, &others, err);
        for (uint32_t i = 0; i < q->n_rows && rc == 0; i++) {
            double off, move[TY_FIT_MAX];
            if (groups->fold[i] == f) {
                ty_fit_row(m, i, &off, move);
                off = log(groups->left_out[i] / q->measured[q->rows[i]]);
                const double variance =
                    ty_fit_variance(m, &others, move) + s->each * s->each + s->shared * s->shared;
                s->n_out++;
                s->n_covered += fabs(off) <= TY_BAND_HALF * sqrt(variance);
            }
        }
    }
    return rc;
}

int ty_fit_find_scatter(const struct ty_fit_linear *m, const struct ty_fit_groups *groups,
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
