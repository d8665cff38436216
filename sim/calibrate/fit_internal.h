/* fit_internal.h - what the search (fit.c) and its standard errors (fit_errors.c) share. */
#ifndef TY_CALIBRATE_FIT_INTERNAL_H
#define TY_CALIBRATE_FIT_INTERNAL_H

#include "sim/base/curve.h"
#include "sim/calibrate/fit.h"

#define TY_FIT_STEP 0.01 /* of log x, for derivatives: above rounding, below curvature */

/* sign(r) c sqrt(rho(r / c)), c = TY_FIT_SCALE, and its derivative by r: near r for small r. */
double ty_fit_soft(double r, double *slope);

/* slope[row][parameter] = d log(time) / d log(x) at `value`, where the times are `times`. */
int ty_fit_slopes(const struct ty_fit_problem *problem, const double *value, const double *times,
                  double *slope, struct ty_err *err);

/* Times and then slopes at a point; to be freed. NULL and *rc on failure. */
double *ty_fit_linearise(const struct ty_fit_problem *problem, const double *value, int *rc,
                         struct ty_err *err);

/* Standard deviation of the residuals log(times / measured), softened like the fit softens them,
 * where n_free parameters were fitted. */
double ty_fit_noise(const struct ty_fit_problem *problem, const double *times, uint32_t n_free);

/* ---- near the optimum ---- */

/* A symmetric matrix over the free parameters. */
struct ty_fit_square {
    double at[TY_FIT_MAX][TY_FIT_MAX];
};

/* The model there: linear in log x. Parameters at a bound are held. */
struct ty_fit_linear {
    const struct ty_fit_problem *problem;
    const double *times, *slope; /* [n_rows], [n_rows][n_parameters] */
    double noise;
    uint32_t free[TY_FIT_MAX], n_free;
};

/* How far the model is off in a row, and how its time moves with each free parameter. Returns the
 * weight that soft L1 gives the row. */
double ty_fit_row(const struct ty_fit_linear *m, uint32_t row, double *residual,
                  double move[TY_FIT_MAX]);

/* What rows say of the parameters: sum of weighted products, over noise squared. Rows of the fold
 * `without` are left out (fold NULL: none). */
void ty_fit_information(const struct ty_fit_linear *m, const uint32_t *fold, uint32_t without,
                        struct ty_fit_square *sum);

/* Turns information, with that of the priors added, into covariance; without them with one so wide
 * that it says nothing. 0 or TY_EBUG. */
int ty_fit_invert(const struct ty_fit_linear *m, bool priors, struct ty_fit_square *information,
                  struct ty_err *err);

/* a'Ca: the variance of what moves by `move`. */
double ty_fit_variance(const struct ty_fit_linear *m, const struct ty_fit_square *covariance,
                       const double move[TY_FIT_MAX]);

/* The width of a parameter's prior; without one so wide that it says nothing. */
double ty_fit_width(const struct ty_fit_problem *problem, uint32_t parameter);

/* fit_scatter.c: what no parameter explains. */
int ty_fit_find_scatter(const struct ty_fit_linear *m, const struct ty_fit_groups *groups,
                        struct ty_fit_scatter *scatter, struct ty_err *err);

#endif
