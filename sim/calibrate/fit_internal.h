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

#endif
