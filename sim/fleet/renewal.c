/* renewal.c - the share of a long training that is progress, in closed form (renewal.h). */
#include "sim/fleet/renewal.h"

#include <math.h>
#include <stddef.h>

#include <gsl/gsl_errno.h>
#include <gsl/gsl_min.h>
#include <gsl/gsl_sf_lambert.h>

/* Beyond so many times between two events an exponential says only that nothing gets through; work,
 * stall and restart of a period together are then still within a double. */
#define FAR 200.0

static double bounded(double s, double rate)
{
    return fmin(s, FAR / rate);
}

/* What comes while a job runs: failures and planned stops. Those that memory heals begin a period
 * again; all others end a chain of rounds, and a restart or a stop begins the next. */
struct events {
    double rate;       /* a second in which the job runs */
    double again, end; /* shares of them */
    double saved;      /* of those that end a chain: stops, which lose nothing */
    double healed;     /* 1 - q (1 - e^(-R1/M)) */
};

static struct events events_of(const struct ty_renewal *r)
{
    const double restart = exp(-bounded(r->memory_restart_s, r->rate) * r->rate);
    const double q = r->from_memory, healed = 1 - q + q * restart, rate = r->rate + r->stops;
    const double ends = r->stops + r->rate * (1 - q) / healed;
    return (struct events){
        .rate = rate,
        .again = r->rate / rate * q * restart / healed,
        .end = ends / rate,
        .saved = r->stops > 0 ? r->stops / ends : 0,
        .healed = healed,
    };
}

struct period {
    double ends;     /* probability that its chain ends in it, over the share `end` of events */
    double log;      /* of the probability that it is completed */
    double attempts; /* at it, each time it is begun */
    double stall_s;  /* in all of them, mean */
    double saved_s;  /* work of a part of it that a stop saves, mean */
};

static struct period period_of(const struct ty_renewal *r, const struct events *e, double stall_s)
{
    const double work = bounded(r->every_s, e->rate), stall = bounded(stall_s, e->rate);
    const double a = work + stall, completed = exp(-a * e->rate);
    const double attempts = 1 / (e->end + e->again * completed);
    const double ends = -expm1(-a * e->rate) * attempts, part_s = -expm1(-work * e->rate) / e->rate;
    return (struct period){
        .ends = ends,
        .log = e->end * ends < 0.5 ? log1p(-e->end * ends) : log(attempts) - a * e->rate,
        .attempts = attempts,
        .stall_s = attempts * exp(-work * e->rate) * -expm1(-stall * e->rate) / e->rate,
        .saved_s = attempts * r->stops / e->rate * fmax(part_s - work * completed, 0),
    };
}

/* Of a second in which the job runs: what stays of its work, and how much of it is stalls. */
struct yield {
    double work, stall;
};

static struct yield yield_of(const struct ty_renewal *r, const struct events *e)
{
    const struct period plain = period_of(r, e, r->memory_stall_s);
    const struct period last = period_of(r, e, r->memory_stall_s + r->stall_s);

    /* Rounds, by the probabilities that one ends and that its first n periods do. */
    const double k = r->store_every - 1.0, plains_log = k > 0 ? k * plain.log : 0;
    const double round_log = plains_log + last.log, last_begun = exp(plains_log);
    const double rounds =
        e->end > 0 ? e->end / -expm1(round_log) : 1 / (k * plain.ends + last.ends);
    const double begun = k > 0 && e->end > 0 ? expm1(plains_log) / expm1(plain.log) : k;
    const double plains_of_others = fmax(exp(plain.log) * begun - k * exp(round_log), 0);

    const double lose = (1 - r->from_memory) * r->rate, either = lose + r->stops;
    const double durable =
        either > 0 ? (r->stops + lose * exp(-either * r->durable_after_s)) / either : 1;
    const double stored_s = isinf(r->every_s) ? 0 : exp(round_log) * r->store_every * r->every_s;
    const double saved_s = e->saved * plains_of_others * bounded(r->every_s, e->rate) +
                           begun * plain.saved_s + last_begun * last.saved_s;
    return (struct yield){
        .work = e->rate * rounds * (stored_s * durable + saved_s),
        .stall = e->rate * rounds * (begun * plain.stall_s + last_begun * last.stall_s),
    };
}

/* Without failures. */
static struct ty_renewal_shares undisturbed(const struct ty_renewal *r)
{
    const double work = r->store_every * r->every_s;
    const double stall = r->store_every * r->memory_stall_s + r->stall_s;
    const struct events stops = events_of(r);
    const double share = r->stops > 0  ? 1 - yield_of(r, &stops).stall
                         : isinf(work) ? 1
                                       : work / (work + stall);
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
    const double restarted = q < 1 ? exp(-r->restart_s * r->rate) : 1;
    const struct events e = events_of(r);
    const struct yield y = yield_of(r, &e);
    const double running = restarted * mtbf * e.healed;
    const double memory_restart = restarted * q * mtbf * -expm1(-r->memory_restart_s * r->rate);
    const double restart = (1 - q) * mtbf * -expm1(-r->restart_s * r->rate);
    const double wait = r->wait_s * (restarted * q + (1 - q));
    const double all = running + memory_restart + restart + wait;
    return (struct ty_renewal_shares){
        .goodput = running * y.work / all,
        .checkpoints = running * y.stall / all,
        .lost_work = running * fmax(1 - y.work - y.stall, 0) / all,
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

/* The best of a grid, then Brent's method around it, unless the grid ends there. */
static double search(struct ty_renewal *r)
{
    const double step = 0.25;
    double best = 0, at = 0;
    for (double x = log(1e-3); x < log(100 / r->rate); x += step) {
        const double y = not_progress(x, r);
        at = y < best ? x : at;
        best = y < best ? y : best;
    }
    if (!(not_progress(at - step, r) > best && not_progress(at + step, r) > best)) {
        return exp(at);
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
    if (r.store_every > 1 || r.from_memory > 0 || r.stops > 0) {
        return search(&r);
    }
    const double x = (r.stall_s + r.memory_stall_s) * r.rate;
    if (x < 1e-15) { /* of its series the rest is less than a double has */
        return sqrt(2 * x) * (1 - sqrt(2 * x) / 3) / r.rate;
    }
    double u = 1 + gsl_sf_lambert_W0(-exp(-1 - x));
    /* At its branch point W0 loses half its digits. u solves -log(1 - u) - u = x. */
    for (int i = 0; i < 3 && u > 0 && u < 1; i++) {
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
