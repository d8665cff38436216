/* slow.c - see slow.h. */
#include "sim/fleet/slow.h"

#include <math.h>

#include "sim/base/noise.h"

/* Mean of e^(-x) over 0 .. x. */
static double mean_exp(double x)
{
    return x > 0 ? isinf(x) ? 0 : -expm1(-x) / x : 1;
}

/* ---- closed form ---- */

/* Mean of 1 - e^(-r (T - h)) over the h of a period: its end is durable `after_s` later. */
static double slow_and_kept(const struct ty_slow *s, double period_s, double after_s)
{
    const double most = fmax(s->found_s - after_s, 0), reached = fmin(period_s, most);
    const double none = exp(-s->rate * (most - reached)) * reached * mean_exp(s->rate * reached);
    return isinf(period_s) ? 0 : (reached - none) / period_s;
}

/* Of work that is kept the mean of e^(-rate x), x being the time since the job began anew, which it
 * does `ends` times a second: of whole periods that end by failures, and of all that stops end. */
static double since_fresh(const struct ty_renewal *r, double rate)
{
    const double a = r->every_s + r->memory_stall_s + r->stall_s / r->store_every;
    const double ends = r->rate + r->stops;
    if (!(rate > 0 && ends > 0)) {
        return rate > 0 ? 0 : 1;
    }
    const double in = mean_exp(rate * a);
    const double periods = isinf(a) ? 1 : expm1(-a * ends) / expm1(-a * (ends + rate));
    const double kept = isinf(a) ? 0 : r->rate * a * exp(-a * ends) / -expm1(-a * ends);
    const double stops = r->stops / ends, all = kept + stops;
    return all > 0 ? (kept * in * periods + stops * ends / (ends + rate)) / all : in * periods;
}

struct ty_slow_shares ty_slow_mean(const struct ty_slow *s, const struct ty_renewal *r, bool undone)
{
    const double together = since_fresh(r, s->drift);
    const struct ty_slow_shares drifts = {.drift = 1 - together};
    if (!(s->rate > 0)) {
        return drifts;
    }
    if (isinf(s->found_s)) { /* none is slow yet: e^(-r x) */
        const double well = since_fresh(r, s->drift + s->rate);
        return (struct ty_slow_shares){s->lost * (together - well), drifts.drift};
    }
    double slow = -expm1(-s->rate * s->found_s);
    if (undone) {
        const double q = r->from_memory, period = r->every_s + r->memory_stall_s;
        const double round = r->store_every * period + r->stall_s;
        slow = (1 - q) * slow_and_kept(s, round, r->durable_after_s) +
               (q > 0 ? q * slow_and_kept(s, period, 0) : 0);
    }
    return (struct ty_slow_shares){s->lost * slow * together, drifts.drift};
}

/* ---- played ---- */

#define DRAW_SLOW 5u /* after the draws of days.c */

/* From when the one before became slow. */
static double gap_s(const struct ty_slow_play *p, uint64_t drawn)
{
    return -log(ty_hash4_uniform(p->seed, p->number, drawn, DRAW_SLOW)) / p->slow->rate;
}

void ty_slow_begin(struct ty_slow_play *p, const struct ty_slow *slow, uint64_t seed,
                   uint64_t number)
{
    *p = (struct ty_slow_play){.slow = slow, .seed = seed, .number = number, .at_s = INFINITY};
    if (slow->rate > 0) {
        p->at_s = gap_s(p, 0);
    }
}

/* The integral of e^(-g x) from one time to another. */
static double together_s(const struct ty_slow_play *p, double from_s, double to_s)
{
    const double g = p->slow->drift;
    return exp(-g * (from_s - p->fresh_s)) * (to_s - from_s) * mean_exp(g * (to_s - from_s));
}

struct ty_slow_shares ty_slow_ahead(const struct ty_slow_play *p, double s)
{
    const double end_s = p->clock_s + s;
    double upto_s = p->clock_s, begin_s = p->at_s, slow_s = 0;
    for (uint64_t k = p->drawn; begin_s < end_s && upto_s < end_s; begin_s += gap_s(p, ++k)) {
        const double from_s = fmax(begin_s, upto_s);
        const double to_s = fmin(begin_s + p->slow->found_s, end_s);
        if (to_s > from_s) {
            slow_s += together_s(p, from_s, to_s);
            upto_s = to_s;
        }
    }
    return (struct ty_slow_shares){
        s > 0 ? p->slow->lost * slow_s / s : 0,
        s > 0 && p->slow->drift > 0 ? 1 - together_s(p, p->clock_s, end_s) / s : 0};
}

double ty_slow_found_s(const struct ty_slow_play *p)
{
    return fmax(p->at_s + p->slow->found_s - p->clock_s, 0);
}

void ty_slow_evicted(struct ty_slow_play *p)
{
    p->at_s += gap_s(p, ++p->drawn);
}

void ty_slow_fresh(struct ty_slow_play *p)
{
    p->fresh_s = p->clock_s;
    if (p->slow->rate > 0 && isinf(p->slow->found_s)) {
        p->at_s = p->clock_s + gap_s(p, ++p->drawn);
    }
}
