/* fit_internal.h - what the fit (fit.c) and what it demands of rows (fit_demand.c) share. */
#ifndef TY_CALIBRATE_FIT_INTERNAL_H
#define TY_CALIBRATE_FIT_INTERNAL_H

#include "sim/base/curve.h"
#include "sim/calibrate/fit.h"

#define TY_FIT_STEP 0.01 /* of log x, for derivatives: above rounding, below curvature */

/* sign(r) c sqrt(rho(r / c)), c = TY_FIT_SCALE, and its derivative by r: near r for small r. */
double ty_fit_soft(double r, double *slope);

/* Times and then slopes at a point; to be freed. NULL and *rc on failure. */
double *ty_fit_linearise(const struct ty_fit_problem *problem, const double *value, int *rc,
                         struct ty_err *err);

/* The width of a parameter's prior; without one so wide that it says nothing. */
double ty_fit_width(const struct ty_fit_problem *problem, uint32_t parameter);

#endif
