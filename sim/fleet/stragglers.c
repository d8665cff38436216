/* stragglers.c - how slow the slowest of many is, and what growing jobs lose to it and to failures
 * (stragglers.h). */
#include "sim/fleet/stragglers.h"

#include <math.h>

#include <gsl/gsl_cdf.h>

#define PIECES 4000u /* of the integral */
#define TAILS  9.0   /* standard deviations on either side of it */

/* The probability that no GPU of any host takes longer than x. */
static double none_above(const struct ty_stragglers *s, double hosts, double x)
{
    const double well = gsl_cdf_ugaussian_P((x - 1) / s->spread);
    const double slow = gsl_cdf_ugaussian_P((x / (1 + s->slow_by) - 1) / s->spread);
    const double host =
        (1 - s->slow_hosts) * pow(well, s->per_host) + s->slow_hosts * pow(slow, s->per_host);
    return pow(host, hosts);
}

double ty_slowest(const struct ty_stragglers *s, double hosts)
{
    const double slow = 1 - pow(1 - s->slow_hosts, hosts); /* at least one host is */
    if (!(s->spread > 0)) {
        return 1 + s->slow_by * slow;
    }
    const double low = 1 - TAILS * s->spread;
    const double high = (1 + s->slow_by) * (1 + TAILS * s->spread), step = (high - low) / PIECES;
    double above = 0; /* the integral of 1 - P, by the midpoint rule */
    for (uint32_t i = 0; i < PIECES; i++) {
        above += (1 - none_above(s, hosts, low + (i + 0.5) * step)) * step;
    }
    return low + above;
}

static struct ty_stragglers stragglers_of(const struct ty_fleet *f)
{
    const struct ty_fleet_options *o = &f->options;
    return (struct ty_stragglers){o->stragglers.spread, o->stragglers.slow_hosts,
                                  o->stragglers.slow_by, f->run->config->cluster.gpus_per_node};
}

double ty_fleet_slowest(const struct ty_fleet *f, bool slow_hosts)
{
    struct ty_stragglers s = stragglers_of(f);
    s.slow_hosts = slow_hosts ? s.slow_hosts : 0;
    s.slow_by = slow_hosts ? s.slow_by : 0;
    return ty_slowest(&s, f->nodes);
}

uint32_t ty_fleet_sizes(const struct ty_fleet *f, struct ty_fleet_size size[TY_FLEET_SIZES])
{
    const struct ty_stragglers s = stragglers_of(f);
    for (uint32_t i = 0; i < TY_FLEET_SIZES; i++) {
        const uint32_t gpus = 256u << i;
        const double hosts = ceil((double)gpus / s.per_host);
        struct ty_fleet_job job;
        ty_fleet_resized(f, gpus, &job);
        const double goodput = job.share[TY_FLEET_WORK], slowest = ty_slowest(&s, hosts);
        size[i] = (struct ty_fleet_size){gpus,    1 / job.days.rate, job.days.every_s,
                                         goodput, slowest,           goodput / slowest};
    }
    return TY_FLEET_SIZES;
}

/* Goodput with so many hosts that become slow, checkpoints as often as in the job. */
static double goodput(const struct ty_fleet *f, double per_1000_node_days, bool evict)
{
    struct ty_fleet_options o = f->options;
    struct ty_fleet_job job;
    o.stragglers.per_1000_node_days = per_1000_node_days;
    o.stragglers.evict = evict;
    o.checkpoint.every_s = f->job.days.every_s;
    ty_fleet_job(&o, f->nodes, f->gpus, &job);
    return job.share[TY_FLEET_WORK];
}

struct ty_fleet_slow_host ty_fleet_slow_host(const struct ty_fleet *f)
{
    const double rate = f->options.stragglers.per_1000_node_days;
    const bool evicts = f->options.stragglers.evict;
    const double none = goodput(f, 0, evicts);
    return (struct ty_fleet_slow_host){rate / 1000 * f->nodes, none - goodput(f, rate, evicts),
                                       none - goodput(f, rate, !evicts), evicts};
}
