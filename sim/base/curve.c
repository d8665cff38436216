/* curve.c - evaluates a measured curve: a monotone cubic in logarithms (Steffen).
 *
 * Steffen's curve is a cubic between neighbours with one slope at each point; the slopes are all
 * that is asked of GSL. Reading is the textbook form of such a cubic (Hermite).
 *
 * Source: M. Steffen, "A simple method for monotonic interpolation in one dimension", Astronomy and
 * Astrophysics 239 (1990). */
#include "sim/base/curve.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_interp.h>
#include <math.h>
#include <pthread.h>

static void quiet(void)
{
    gsl_set_error_handler_off();
}

void ty_gsl_quiet(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, quiet);
}

/* Steffen's slopes; of fewer points than the method needs, those of the straight line. */
static int slopes(const double *x, const double *y, uint32_t n, double *slope)
{
    if (n < 3) {
        for (uint32_t i = 0; i < n; i++) {
            slope[i] = n == 2 ? (y[1] - y[0]) / (x[1] - x[0]) : 0;
        }
        return 0;
    }
    gsl_interp *steffen = gsl_interp_alloc(gsl_interp_steffen, n);
    int rc = steffen != NULL ? gsl_interp_init(steffen, x, y, n) : GSL_ENOMEM;
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        rc = gsl_interp_eval_deriv_e(steffen, x, y, x[i], NULL, &slope[i]);
    }
    if (steffen != NULL) {
        gsl_interp_free(steffen);
    }
    return rc;
}

int ty_curve_init(struct ty_curve *curve, const double *x, const double *y, uint32_t n,
                  struct ty_arena *arena, struct ty_err *err)
{
    double *own_x = ty_arena_array(arena, double, n);
    double *log_x = ty_arena_array(arena, double, n);
    double *log_y = ty_arena_array(arena, double, n);
    double *slope = ty_arena_array(arena, double, n);
    ty_gsl_quiet();
    if (own_x == NULL || log_x == NULL || log_y == NULL || slope == NULL) {
        return ty_fail_memory(err);
    }
    uint32_t kept = 0; /* of x that have one logarithm the first */
    for (uint32_t i = 0; i < n; i++) {
        own_x[kept] = x[i];
        log_x[kept] = log(x[i]);
        log_y[kept] = log(y[i]);
        kept += kept == 0 || log_x[kept] > log_x[kept - 1];
    }
    const int rc = slopes(log_x, log_y, kept, slope);
    if (rc != 0) {
        return rc == GSL_ENOMEM ? ty_fail_memory(err)
                                : ty_fail(err, TY_EBUG, "a measured curve of %u points: %s",
                                          (unsigned)n, gsl_strerror(rc));
    }
    *curve =
        (struct ty_curve){.n = kept, .x = own_x, .log_x = log_x, .log_y = log_y, .slope = slope};
    return 0;
}

double ty_curve_at(const struct ty_curve *curve, double x)
{
    const uint32_t last = curve->n - 1;
    const double at = x > 0 ? log(x) : -HUGE_VAL;
    if (at <= curve->log_x[0]) {
        return exp(curve->log_y[0]);
    }
    if (at >= curve->log_x[last]) {
        return exp(curve->log_y[last]);
    }
    const uint32_t i = (uint32_t)gsl_interp_bsearch(curve->log_x, at, 0, last);
    const double width = curve->log_x[i + 1] - curve->log_x[i];
    const double t = (at - curve->log_x[i]) / width, s = 1 - t;
    return exp(s * s * (1 + 2 * t) * curve->log_y[i] + t * t * (1 + 2 * s) * curve->log_y[i + 1] +
               s * t * width * (s * curve->slope[i] - t * curve->slope[i + 1]));
}
