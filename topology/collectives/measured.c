/* measured.c - looks up and interpolates measured times of collectives.
 *
 * Latency and transfer are told apart by the fit, for those who ask; their sum is the measured
 * time. The log does not say which links the bytes take: that is left to the model of the group. */
#include "topology/collectives/measured.h"

#include <gsl/gsl_multifit_nlinear.h>
#include <math.h>
#include <stddef.h>

/* ---- the latency and bus bandwidth that describe a measured collective best ---- */

/*
 *     minimise  sum of w (ln t - ln(a + b S))^2      over  ln a, ln b
 *
 * Logarithms make an error of 10 % count the same at 10 us and at 10 ms. w is one over the number
 * of sizes in the same decade, so that a log of every MiB is not a fit to its last decade. Solved
 * by Levenberg-Marquardt (GSL), from a = the shortest time, b = time over size of the largest. */

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

static int coll_fit_log(struct ty_coll_fit *fit, const struct ty_coll_log *m, struct ty_err *err)
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

/* Seconds a byte costs above the largest size: between it and the largest one of at most half, so
 * that the noise of neighbours does not matter; by the fit where that says nothing. */
static double last_slope(const struct ty_coll_table *table)
{
    const struct ty_coll_log *log = &table->log;
    const uint32_t last = log->n - 1;
    for (uint32_t i = last; i > 0; i--) {
        if (log->size_B[i - 1] <= log->size_B[last] / 2) {
            const double slope =
                (log->time_s[last] - log->time_s[i - 1]) / (log->size_B[last] - log->size_B[i - 1]);
            if (slope > 0) {
                return slope;
            }
            break;
        }
    }
    return ty_coll_bus_factor(log->coll, log->ranks) / table->fit.bus_Bps;
}

int ty_coll_table_init(struct ty_coll_table *table, struct ty_arena *arena, struct ty_err *err)
{
    const struct ty_coll_log *log = &table->log;
    int rc = ty_curve_init(&table->curve, log->size_B, log->time_s, log->n, arena, err);
    if (rc == 0) {
        rc = coll_fit_log(&table->fit, log, err);
    }
    if (rc == 0) {
        table->s_per_B = last_slope(table);
    }
    return rc;
}

double ty_coll_table_seconds(const struct ty_coll_table *table, double bytes)
{
    const double above = bytes - table->log.size_B[table->log.n - 1];
    return ty_curve_at(&table->curve, bytes) + (above > 0 ? above * table->s_per_B : 0);
}

static bool same_reach(const struct ty_coll_log *a, const struct ty_coll_log *b)
{
    return a->coll == b->coll && a->ranks == b->ranks && a->nodes == b->nodes &&
           a->sharing == b->sharing;
}

const struct ty_coll_table *ty_coll_measured_same(const struct ty_coll_measured *measured,
                                                  const struct ty_coll_log *log)
{
    for (uint32_t i = 0; i < measured->n; i++) {
        if (same_reach(&measured->table[i].log, log)) {
            return &measured->table[i];
        }
    }
    return NULL;
}

/* True when so many groups at once have the bandwidth of those that were measured at once. */
static bool holds_shared(const struct ty_cluster *cluster, const struct ty_coll_log *log,
                         const struct ty_reach *reach)
{
    struct ty_reach then = *reach;
    then.sharing = log->sharing;
    return log->nodes == 1 || log->sharing == reach->sharing ||
           ty_coll_net_rate(cluster, &then) == ty_coll_net_rate(cluster, reach);
}

const struct ty_coll_table *ty_coll_measured_find(const struct ty_cluster *cluster,
                                                  enum ty_coll coll, const struct ty_reach *reach)
{
    const struct ty_coll_measured *measured = cluster->collectives.measured;
    const struct ty_coll_table *best = NULL;
    for (uint32_t i = 0; measured != NULL && i < measured->n; i++) {
        const struct ty_coll_log *log = &measured->table[i].log;
        if (log->coll == coll && log->ranks == reach->ranks && log->nodes == reach->nodes &&
            holds_shared(cluster, log, reach) && (best == NULL || log->sharing == reach->sharing)) {
            best = &measured->table[i];
        }
    }
    return best;
}

const struct ty_coll_table *ty_coll_measured_p2p(const struct ty_cluster *cluster, bool same_node)
{
    const struct ty_coll_measured *measured = cluster->collectives.measured;
    /* All GPUs of a node send at once, each with its share of the NICs. */
    const struct ty_reach all = {
        .ranks = 2, .nodes = 2, .per_node = 1, .sharing = cluster->gpus_per_node};
    const struct ty_coll_table *best = NULL;
    for (uint32_t i = 0; measured != NULL && i < measured->n; i++) {
        const struct ty_coll_log *log = &measured->table[i].log;
        if (log->coll == TY_COLL_SEND_RECV && (log->nodes == 1) == same_node &&
            holds_shared(cluster, log, &all) && (best == NULL || log->ranks < best->log.ranks)) {
            best = &measured->table[i];
        }
    }
    return best;
}

/* A message between two ranks stands for those of any group. */
static const struct ty_coll_table *table_of(const struct ty_cluster *cluster, enum ty_coll coll,
                                            const struct ty_reach *reach)
{
    return coll == TY_COLL_SEND_RECV ? ty_coll_measured_p2p(cluster, reach->nodes == 1)
                                     : ty_coll_measured_find(cluster, coll, reach);
}

static bool applies(const struct ty_cluster *cluster, enum ty_coll coll,
                    const struct ty_reach *reach)
{
    return table_of(cluster, coll, reach) != NULL;
}

/* The model of `cluster`, without measurements. */
static struct ty_coll_cost modelled(const struct ty_cluster *cluster, enum ty_coll coll,
                                    double bytes, const struct ty_reach *reach)
{
    struct ty_cluster model = *cluster;
    struct ty_coll_cost cost;
    model.collectives.measured = NULL;
    if (coll == TY_COLL_SEND_RECV) {
        ty_coll_shift_cost(&model, bytes, reach, &cost);
    } else {
        ty_coll_cost(&model, NULL, coll, bytes, reach, &cost);
    }
    return cost;
}

void ty_coll_table_cost(const struct ty_coll_table *table, const struct ty_cluster *cluster,
                        double bytes, const struct ty_reach *reach, struct ty_coll_cost *out)
{
    const struct ty_cluster *on = cluster->collectives.measured->on;
    double seconds = ty_coll_table_seconds(table, bytes);
    *out = modelled(cluster, table->log.coll, bytes, reach);
    if (on != NULL) {
        const struct ty_coll_cost model = modelled(on, table->log.coll, bytes, reach);
        const double then = ty_coll_seconds(&model);
        seconds *= then > 0 ? ty_coll_seconds(out) / then : 1;
    }
    out->algorithm = &ty_coll_measured;
    out->latency_s = fmin(table->fit.latency_s, seconds);
    out->transfer_s = seconds - out->latency_s;
}

static void cost(const struct ty_cluster *cluster, enum ty_coll coll, double bytes,
                 const struct ty_reach *reach, struct ty_coll_cost *out)
{
    ty_coll_table_cost(table_of(cluster, coll, reach), cluster, bytes, reach, out);
}

const struct ty_coll_algorithm ty_coll_measured = {
    .name = "measured",
    .summary = "what nccl-tests timed on your cluster (cluster.collectives.measured)",
    .source = "the logs named there",
    .on_request = true,
    .pattern = TY_PATTERN_RING, /* in fact that of the model, as all traffic */
    .applies = applies,
    .cost = cost,
    .steps = NULL,
};
