/* worth.c - see worth.h. */
#include "sim/fleet/worth.h"

#include <math.h>

#include "sim/base/compiler.h"

#define LEAST 1e-6 /* of goodput that is worth a line */

typedef void change_fn(struct ty_fleet_options *o, struct ty_fleet_cause *cause, uint32_t gpus);

static void found_sooner(struct ty_fleet_options *o, struct ty_fleet_cause *cause, uint32_t gpus)
{
    (void)gpus;
    o->detect_s = fmax(o->detect_s - 60, 0);
    for (uint32_t i = 0; i < o->n_causes; i++) {
        cause[i].detect_s = fmax(cause[i].detect_s - 60, 0);
    }
}

static void restarts_sooner(struct ty_fleet_options *o, struct ty_fleet_cause *cause, uint32_t gpus)
{
    (void)cause;
    o->restart_s = ty_fleet_restart_s(o, gpus) / 2;
    o->memory_restart_s /= 2;
}

static void stalls_less(struct ty_fleet_options *o, struct ty_fleet_cause *cause, uint32_t gpus)
{
    (void)cause, (void)gpus;
    o->checkpoint.stall_s /= 2;
    o->checkpoint.memory_stall_s /= 2;
}

static void stores_faster(struct ty_fleet_options *o, struct ty_fleet_cause *cause, uint32_t gpus)
{
    (void)cause, (void)gpus;
    o->checkpoint.durable_after_s /= 2;
}

static void more_spares(struct ty_fleet_options *o, struct ty_fleet_cause *cause, uint32_t gpus)
{
    (void)cause, (void)gpus;
    o->spares += o->spares < TY_FLEET_SPARES_ENOUGH - 2 ? 2 : 0;
}

static void fails_less(struct ty_fleet_options *o, struct ty_fleet_cause *cause, uint32_t gpus)
{
    (void)gpus;
    o->failures_per_1000_node_days *= 0.9;
    for (uint32_t i = 0; i < o->n_causes; i++) {
        cause[i].per_1000_node_days *= 0.9;
    }
}

static void stops_less(struct ty_fleet_options *o, struct ty_fleet_cause *cause, uint32_t gpus)
{
    (void)cause, (void)gpus;
    o->planned.per_day /= 2;
}

static void slow_found_sooner(struct ty_fleet_options *o, struct ty_fleet_cause *cause,
                              uint32_t gpus)
{
    (void)cause, (void)gpus;
    o->stragglers.found_s /= 2;
}

static double goodput(const struct ty_fleet *f, change_fn *change)
{
    struct ty_fleet_options o = f->options;
    struct ty_fleet_cause cause[TY_DAYS_CAUSES];
    struct ty_fleet_job job;
    if (o.n_causes > 0) {
        memcpy(cause, o.cause, o.n_causes * sizeof(cause[0]));
        o.cause = cause;
    }
    change(&o, cause, f->gpus);
    ty_fleet_job(&o, f->nodes, f->gpus, &job);
    return job.share[TY_FLEET_WORK];
}

uint32_t ty_fleet_changes(const struct ty_fleet *f, struct ty_fleet_change change[TY_FLEET_CHANGES])
{
    static const struct {
        const char *what;
        change_fn *change;
    } rows[] = {
        {"a minute less to find a failure", found_sooner},
        {"restarts in half the time", restarts_sooner},
        {"checkpoints that stop the job for half as long", stalls_less},
        {"checkpoints that are durable in half the time", stores_faster},
        {"two more spare nodes", more_spares},
        {"a tenth fewer failures of nodes", fails_less},
        {"half as many planned stops", stops_less},
        {"slow hosts found in half the time", slow_found_sooner},
    };
    uint32_t n = 0;
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const double gain = goodput(f, rows[i].change) - f->job.share[TY_FLEET_WORK];
        uint32_t at = n;
        for (; gain > LEAST && at > 0 && change[at - 1].gain < gain; at--) {
            change[at] = change[at - 1];
        }
        if (gain > LEAST) {
            change[at] = (struct ty_fleet_change){rows[i].what, gain};
            n++;
        }
    }
    return n;
}
