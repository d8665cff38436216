/* curve.h - a measured curve: positive y over positive x, as somebody timed it.
 *
 * Between the points a monotone cubic in the logarithms of both (Steffen 1990, GSL): it goes
 * through every point, never overshoots, and is straight where y is a power of x. The slopes are
 * worked out once, so that reading the curve allocates nothing and cannot fail. */
#ifndef TY_BASE_CURVE_H
#define TY_BASE_CURVE_H

#include "sim/base/arena.h"
#include "sim/base/err.h"

struct ty_curve {
    uint32_t n;
    const double *x, *log_x, *log_y, *slope; /* [n], x increasing; slope: d log_y / d log_x */
};

/* n >= 1 points, all positive, x increasing; copied into the arena. Of points whose x
 * have one logarithm the first counts. 0 or TY_ENOMEM. */
int ty_curve_init(struct ty_curve *curve, const double *x, const double *y, uint32_t n,
                  struct ty_arena *arena, struct ty_err *err);

/* y at x; below the first and above the last point, that point's y. */
double ty_curve_at(const struct ty_curve *curve, double x);

/* From here on GSL reports by what its functions return, and ends no process: said when a
 * configuration begins, without which nothing is done, and by what is also used alone. */
void ty_gsl_quiet(void);

#endif
