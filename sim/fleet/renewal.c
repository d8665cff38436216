/* renewal.c - see renewal.h. */
#include "sim/fleet/renewal.h"

#include <math.h>
#include <stddef.h>

#include <gsl/gsl_errno.h>
#include <gsl/gsl_min.h>
#include <gsl/gsl_sf_lambert.h>

/* A period: of the probability that it needs storage before it ends, that of 1 - q is left out. */
struct period {
    double needs;    /* (1 - phi) / (1 - q) */
    double attempts; /* at it, each time it is begun */
    double stall_s;  /* in an attempt, mean */
};

static struct period period_of(const struct ty_renewal *r, double stall_s)
{
    const double a = r->every_s + stall_s, q = r->from_memory;
    const double fails = -expm1(-a * r->rate), restart = exp(-r->memory_restart_s * r->rate);
    const double lost = 1 - q * (1 - restart); /* rho = restart / lost */
    const double attempts = 1 / (1 - q * fails * restart / lost);
    return (struct period){
        .needs = fails / lost * attempts,
        .attempts = attempts,
        .stall_s = isinf(a) ? 0 : exp(-r->every_s * r->rate) * -expm1(-stall_s * r->rate) / r->rate,
    };
}

/* Without failures. */
static struct ty_renewal_shares undisturbed(const struct ty_renewal *r)
{
    const double work = r->store_every * r->every_s;
    const double stall = r->store_every * r->memory_stall_s + r->stall_s;
    const double share = isinf(work) ? 1 : work / (work + stall);
    return (struct ty_renewal_shares){.goodput = share, .checkpoints = 1 - share};
}

/* All times are those from a restart from storage to the next, times 1 - q and over e^(R/M), which
 * may be too large for a double. */
struct ty_renewal_shares ty_renewal_shares(const struct ty_renewal *r)
{
    if (!(r->rate > 0)) {
        return undisturbed(r);
    }
    const double mtbf = 1 / r->rate, q = r->from_memory;
    const double restarted = exp(-r->restart_s * r->rate);
    const struct period plain = period_of(r, r->memory_stall_s);
    const struct period last = period_of(r, r->memory_stall_s + r->stall_s);

    /* Rounds, by the probabilities that one ends and that its first n periods do. */
    const double k = r->store_every - 1.0;
    const double plain_log = log1p(-(1 - q) * plain.needs);
    const double round_log = k * plain_log + log1p(-(1 - q) * last.needs);
    const double rounds = q < 1 ? (1 - q) / -expm1(round_log) : 1 / (k * plain.needs + last.needs);
    const double begun = q < 1 ? expm1(k * plain_log) / expm1(plain_log) : k;
    const double last_begun = exp(k * plain_log);

    const double durable = exp(-(1 - q) * r->durable_after_s * r->rate);
    const double work = restarted * rounds * exp(round_log) * durable * r->store_every * r->every_s;
    const double stall = restarted * rounds *
                         ((k > 0 ? begun * plain.attempts * plain.stall_s : 0) +
                          last_begun * last.attempts * last.stall_s);
    const double memory_restart = restarted * q * mtbf * -expm1(-r->memory_restart_s * r->rate);
    const double restart = (1 - q) * mtbf * -expm1(-r->restart_s * r->rate);
    const double wait = r->wait_s * (restarted * q + (1 - q));
    const double running = restarted * mtbf;
    const double all = running + restart + wait;
    return (struct ty_renewal_shares){
        .goodput = isinf(r->every_s) ? 0 : work / all,
        .checkpoints = stall / all,
        .lost_work = (running - memory_restart - stall - (isinf(r->every_s) ? 0 : work)) / all,
        .wait = wait / all,
        .restart = (restart + memory_restart) / all,
    };
}

static double not_progress(double log_every, void *arg)
{
    struct ty_renewal r = *(const struct ty_renewal *)arg;
    r.every_s = exp(log_every);
    return -ty_renewal_shares(&r).goodput;
}

/* The best of a grid, then Brent's method around it. */
static double search(struct ty_renewal *r)
{
    const double step = 0.25;
    double best = 0, at = 0;
    for (double x = log(1e-3); x < log(100 / r->rate); x += step) {
        const double y = not_progress(x, r);
        at = y < best ? x : at;
        best = y < best ? y : best;
    }
    gsl_min_fminimizer *m = gsl_min_fminimizer_alloc(gsl_min_fminimizer_brent);
    gsl_function f = {.function = not_progress, .params = r};
    if (m != NULL && gsl_min_fminimizer_set(m, &f, at, at - step, at + step) == GSL_SUCCESS) {
        for (int i = 0; i < 60 && gsl_min_fminimizer_iterate(m) == GSL_SUCCESS; i++) {
            at = gsl_min_fminimizer_x_minimum(m);
        }
    }
    gsl_min_fminimizer_free(m);
    return exp(at);
}

double ty_best_interval(const struct ty_renewal *renewal)
{
    struct ty_renewal r = *renewal;
    if (!(r.rate > 0)) {
        return INFINITY;
    }
    if (r.store_every > 1 || r.from_memory > 0) {
        return search(&r);
    }
    const double x = (r.stall_s + r.memory_stall_s) * r.rate;
    double u = 1 + gsl_sf_lambert_W0(-exp(-1 - x));
    /* At its branch point W0 loses half its digits. u solves -log(1 - u) - u = x. */
    for (int i = 0; i < 3 && u > 0; i++) {
        u -= (-log1p(-u) - u - x) * (1 - u) / u;
    }
    return u / r.rate;
}

double ty_young_interval(double rate, double stall_s)
{
    return sqrt(2 * stall_s / rate);
}

double ty_daly_interval(double rate, double stall_s)
{
    const double x = stall_s * rate / 2;
    return ty_young_interval(rate, stall_s) * (1 + sqrt(x) / 3 + x / 9) - stall_s;
}

double ty_erlang_loss(uint32_t servers, double load)
{
    double loss = 1;
    for (uint32_t i = 1; i <= servers; i++) {
        loss = load * loss / (i + load * loss);
    }
    return loss;
}
