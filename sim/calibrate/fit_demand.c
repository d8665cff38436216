/* fit_demand.c - whether what a fit leaves asks for parameters that were not fitted.
 *
 * Forward selection by F tests, in the linear model at the optimum. Let f be the residuals as the
 * fit weighs them, J the slopes of what was fitted, g those of a candidate, and a line below the
 * part that nothing fitted can imitate (orthogonal to J). With the candidate the sum of squares
 * would fall by
 *
 *     gain = (g_ . f_)^2 / (g_ . g_).
 *
 * If the truth of all candidates is at their starts, gain over the variance s^2 is distributed as
 * F(1, degrees). s^2 is what all candidates together leave, since one that is wrong would hide
 * another (rows permitting, else what this one leaves), and no less than that of repeats
 * (TY_FIT_NOISE): rows that agree better than machines do prove nothing. The candidate with the
 * largest gain is told if its chance is small, joins J, and the others are asked again, so that one
 * is not told for what another explains. A fit that its prior held has more to explain, so the
 * priors of what was fitted are rows of their own. */
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/calibrate/fit_internal.h"

#define TOLD 1e-3 /* of its length: a part of g that is shorter is an accident of differences */

/* What is fitted, and what it leaves. Rows: of the data, then one of each prior. */
struct space {
    uint32_t n_rows, rank;
    double *basis; /* [rank][n_rows] orthonormal */
    double *f;     /* [n_rows] */
};

struct candidates {
    const struct ty_fit_problem *problem;
    uint32_t n;
    double *g;    /* [n][n_rows] */
    double *part; /* [n_rows] of one, orthogonal to a space */
};

static double dot(const double *a, const double *b, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* Takes from v what lies in the space; twice, as rounding leaves some of it. */
static void remove_known(const struct space *s, double *v)
{
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t k = 0; k < s->rank; k++) {
            const double *b = s->basis + (size_t)k * s->n_rows;
            const double along = dot(b, v, s->n_rows);
            for (uint32_t i = 0; i < s->n_rows; i++) {
                v[i] -= along * b[i];
            }
        }
    }
}

/* The part of v outside the space, and its squared length; 0: it is as good as inside. */
static double outside(const struct space *s, const double *v, double *part)
{
    memcpy(part, v, s->n_rows * sizeof(*part));
    const double before = dot(part, part, s->n_rows);
    remove_known(s, part);
    const double length = dot(part, part, s->n_rows);
    return length <= TOLD * TOLD * before ? 0 : length;
}

/* One more direction is fitted. */
static void add_direction(struct space *s, const double *v)
{
    double *b = s->basis + (size_t)s->rank * s->n_rows;
    const double length = outside(s, v, b);
    if (length > 0) {
        for (uint32_t i = 0; i < s->n_rows; i++) {
            b[i] /= sqrt(length);
        }
        s->rank++;
        remove_known(s, s->f);
    }
}

/* Weighted slopes of a parameter, zero in the rows of priors. */
static void column(const struct ty_fit_problem *q, const double *times, uint32_t parameter,
                   double *v, uint32_t n_rows)
{
    const double *slope = times + q->n_rows;
    memset(v, 0, n_rows * sizeof(*v));
    for (uint32_t i = 0; i < q->n_rows; i++) {
        double weight;
        ty_fit_soft(log(times[i] / q->measured[q->rows[i]]), &weight);
        v[i] = weight * slope[(size_t)i * q->n_parameters + parameter];
    }
}

/* Residuals, directions that are fitted, and the priors that hold these. */
static void fill(struct space *s, const struct ty_fit_problem *q, const struct ty_fit *fit,
                 const double *times, uint32_t n_fitted, double *v)
{
    double unused;
    for (uint32_t i = 0; i < q->n_rows; i++) {
        s->f[i] = ty_fit_soft(log(times[i] / q->measured[q->rows[i]]), &unused);
    }
    for (uint32_t k = 0; k < n_fitted && q->prior > 0; k++) {
        s->f[q->n_rows + k] =
            fit->noise / ty_fit_width(q, k) * log(fit->value[k] / q->parameter[k].start);
    }
    for (uint32_t k = 0; k < n_fitted; k++) {
        if (!fit->at_low[k] && !fit->at_high[k]) {
            column(q, times, k, v, s->n_rows);
            v[q->n_rows + k] = q->prior > 0 ? fit->noise / ty_fit_width(q, k) : 0;
            add_direction(s, v);
        } else {
            s->f[q->n_rows + k] = 0; /* its bound holds it, not its prior */
        }
    }
}

/* ---- tests ---- */

/* Degrees of freedom that all candidates leave, and the variance. `s` has room for all. */
static double of_all(struct space s, const struct candidates *c, double *variance)
{
    double *const f = s.f;
    s.f = c->part;
    memcpy(s.f, f, s.n_rows * sizeof(*f));
    for (uint32_t k = 0; k < c->n; k++) {
        add_direction(&s, c->g + (size_t)k * s.n_rows);
    }
    const double degrees = (double)c->problem->n_rows - s.rank;
    *variance = degrees > 0 ? dot(s.f, s.f, s.n_rows) / degrees : 0;
    return degrees;
}

/* What one candidate would gain; p stays 1 where nothing can be told. */
static struct ty_fit_demand test(const struct space *s, const struct candidates *c, uint32_t k,
                                 double degrees, double variance)
{
    struct ty_fit_demand demand = {.p = 1};
    const double length = outside(s, c->g + (size_t)k * s->n_rows, c->part);
    if (length == 0) {
        return demand;
    }
    const double along = dot(c->part, s->f, s->n_rows), gain = along * along / length;
    if (degrees < 2) {
        degrees = (double)c->problem->n_rows - s->rank - 1;
        variance = (dot(s->f, s->f, s->n_rows) - gain) / degrees;
    }
    if (degrees >= 1) {
        demand.f = gain / fmax(variance, TY_FIT_NOISE * TY_FIT_NOISE);
        demand.p = gsl_cdf_fdist_Q(demand.f, 1, degrees);
    }
    return demand;
}

/* Candidates with an effect of their own: as many chances of a false alarm. */
static uint32_t count(const struct space *s, const struct candidates *c)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < c->n; k++) {
        n += outside(s, c->g + (size_t)k * s->n_rows, c->part) > 0;
    }
    return n;
}

/* Tells one after the other. */
static void select_all(struct space *s, const struct candidates *c, double alarms,
                       struct ty_fit_demand *demand)
{
    double variance;
    const double degrees = of_all(*s, c, &variance);
    const uint32_t chances = count(s, c);
    for (uint32_t round = 0; round < c->n && chances > 0; round++) {
        uint32_t best = c->n;
        for (uint32_t k = 0; k < c->n; k++) {
            if (!demand[k].told) {
                demand[k] = test(s, c, k, degrees, variance);
                best = best == c->n || demand[k].f > demand[best].f ? k : best;
            }
        }
        if (best == c->n || demand[best].p >= alarms / chances) {
            return;
        }
        demand[best].told = true;
        add_direction(s, c->g + (size_t)best * s->n_rows);
    }
}

/* Standard deviation of what is left. */
static double deviation(const struct space *s, uint32_t n_rows)
{
    return n_rows > s->rank ? sqrt(dot(s->f, s->f, s->n_rows) / (n_rows - s->rank)) : 0;
}

int ty_fit_demands(const struct ty_fit_problem *q, const struct ty_fit *fit, uint32_t n_fitted,
                   double alarms, struct ty_fit_demand *demand, double left[2], struct ty_err *err)
{
    double value[TY_FIT_MAX];
    int rc;
    for (uint32_t k = 0; k < q->n_parameters; k++) {
        value[k] = k < n_fitted ? fit->value[k] : q->parameter[k].start;
    }
    double *times = ty_fit_linearise(q, value, &rc, err);
    if (times == NULL) {
        return rc;
    }
    const uint32_t n_rows = q->n_rows + n_fitted, n = q->n_parameters - n_fitted;
    double *room = calloc((size_t)n_rows * (q->n_parameters + n + 3), sizeof(*room));
    if (room == NULL) {
        free(times);
        return ty_fail_memory(err);
    }
    struct space s = {.n_rows = n_rows, .basis = room};
    s.f = room + (size_t)n_rows * (q->n_parameters + 1); /* a direction that is refused, too */
    const struct candidates c = {
        .problem = q, .n = n, .part = s.f + n_rows, .g = s.f + 2 * (size_t)n_rows};
    fill(&s, q, fit, times, n_fitted, c.part);
    for (uint32_t k = 0; k < n; k++) {
        column(q, times, n_fitted + k, c.g + (size_t)k * n_rows, n_rows);
        demand[k] = (struct ty_fit_demand){.p = 1};
    }
    left[0] = deviation(&s, q->n_rows);
    select_all(&s, &c, alarms, demand);
    left[1] = deviation(&s, q->n_rows);
    free(room);
    free(times);
    return 0;
}
