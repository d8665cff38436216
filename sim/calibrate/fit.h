/* fit.h - positive parameters of a model of times, from measured times.
 *
 * Nonlinear least squares (Levenberg-Marquardt of the GNU Scientific Library) on
 *
 *     sum over rows  (c / s)^2 rho(r / c)  +  sum over parameters  (log(x / start) / prior)^2,
 *     r = log(predicted / measured),   rho(z) = 2 (sqrt(1 + z^2) - 1)   (soft L1),   c = 0.03
 *
 * Logarithms, since a run of 2 s off by 10 % is as wrong as one of 20 s off by 10 %. Soft L1, since
 * a few rows of every published table are off by 20 % under any model: above the scale a row pulls
 * with a constant force. s is the noise that the residuals show, found by fitting again with what
 * the last fit left: a row off by s weighs as much as a parameter one prior away from its start. */
#ifndef TY_CALIBRATE_FIT_H
#define TY_CALIBRATE_FIT_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"

/* What good fits leave: a median of 2.7 % over 352 layouts of Hagemann et al. 2023. */
#define TY_FIT_SCALE 0.03
#define TY_FIT_NOISE 0.005 /* least noise assumed: repeats of one run differ by 0.3 to 0.8 % */
#define TY_FIT_MAX   32u   /* parameters */

struct ty_fit_parameter {
    double start, low, high; /* 0 < low < high; start is moved inside */
    double prior;            /* where it has one of its own: its standard deviation; else 0 */
};

/* Predicts the times of rows[0..n_rows) at every point: times[point][row]. Fails as usual. */
typedef int ty_fit_predict(void *arg, const uint32_t *rows, uint32_t n_rows, const double *points,
                           uint32_t n_points, double *times, struct ty_err *err);

struct ty_fit_problem {
    const struct ty_fit_parameter *parameter; /* [n_parameters] */
    uint32_t n_parameters;
    const uint32_t *rows; /* [n_rows] as predict knows them */
    uint32_t n_rows;
    const double *measured; /* by row, s */
    /* Standard deviation of log(x / start) of those that have none of their own; 0: no priors at
     * all, then rows >= parameters. */
    double prior;
    double noise; /* s; 0: what the fit finds */
    ty_fit_predict *predict;
    void *arg;
};

/* What no parameter explains: standard deviations of the logarithm of a time. */
struct ty_fit_scatter {
    double each;   /* of a row by itself */
    double shared; /* of what the rows of a group share; NAN: rows of one group cannot tell */
    uint32_t n_out, n_covered; /* rows left out, and those of them that lie in their 90 % band */
};

struct ty_fit {
    double value[TY_FIT_MAX];
    /* Relative standard errors: with the prior, and of the data alone (infinity: no effect). Not
     * meaningful for a value at a bound, which the others are given for. */
    double error[TY_FIT_MAX], data_error[TY_FIT_MAX];
    double correlation[TY_FIT_MAX][TY_FIT_MAX]; /* of the data alone */
    double joint[TY_FIT_MAX][TY_FIT_MAX];       /* correlation with the prior */
    double reach[TY_FIT_MAX];                   /* most that log x moves the log of a time */
    bool at_low[TY_FIT_MAX], at_high[TY_FIT_MAX];
    double noise; /* standard deviation of the residuals the errors are computed from */
    struct ty_fit_scatter scatter;
    uint32_t iterations;
    bool converged;
};

/* Minimises from `from` (NULL: the starts). TY_EINPUT when there are too few rows. */
int ty_fit_run(struct ty_fit *fit, const struct ty_fit_problem *problem, const double *from,
               struct ty_err *err);

/* Rows that err together, such as those of one model: arrays by the problem's rows. */
struct ty_fit_groups {
    const uint32_t *group, *fold; /* [n_rows] fold: rows that were left out together */
    uint32_t n_groups, n_folds;
    const double *left_out; /* [n_rows] s, predicted without the row's fold; NULL: nothing was */
};

/* Standard errors, bounds and correlations at fit->value; with groups (or NULL) the scatter, too,
 * and errors that know of it. */
int ty_fit_errors(struct ty_fit *fit, const struct ty_fit_problem *problem,
                  const struct ty_fit_groups *groups, struct ty_err *err);

/* What the residuals say of a parameter that was not fitted: F, and the chance of one as large if
 * it is at its start. */
struct ty_fit_demand {
    double f, p;
    bool told;
};

/* Of a problem whose first n_fitted parameters `fit` fitted (with its errors): which of the others
 * the residuals ask for. Of fits that lack none a share of `alarms` tells one: p is below that over
 * how many have an effect (Bonferroni). demand[n_parameters - n_fitted]; left: the standard
 * deviation of the residuals, and about what it would be with all that are told. fit_demand.c */
int ty_fit_demands(const struct ty_fit_problem *problem, const struct ty_fit *fit,
                   uint32_t n_fitted, double alarms, struct ty_fit_demand *demand, double left[2],
                   struct ty_err *err);

/* Which parameters the rows could tell at all: in order, one is taken when rows that scatter by no
 * more than repeats of one run (TY_FIT_NOISE) would leave it, and all taken before it, a relative
 * standard error of at most `limit` each. alone[] is true for those that would be taken if they
 * were the only one. */
int ty_fit_choose(const struct ty_fit_problem *problem, double limit, bool taken[], bool alone[],
                  struct ty_err *err);

#endif
