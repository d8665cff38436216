/* energy.c - what a fleet draws: per token, and at once where all GPUs stop (energy.h). */
#include "sim/fleet/energy.h"

#include "sim/run/power.h"

/* Network and storage, over the computers (guess; 5 to 10 %). */
#define AROUND 0.07

struct ty_fleet_energy ty_fleet_energy(const struct ty_fleet *f)
{
    const double *share = f->job.share;
    const double steps = share[TY_FLEET_WORK] + share[TY_FLEET_LOST] + share[TY_FLEET_EVALUATION];
    struct ty_fleet_energy e = {.working_W = ty_run_node_power(f->run, f->step.step_s)};
    e.idle_W = e.working_W > 0 ? f->run->config->cluster.idle_power : 0;
    e.drop_W = f->nodes * (e.working_W - e.idle_W);
    e.facility_W = (f->nodes * e.idle_W + e.drop_W * steps + f->spares * e.idle_W) * (1 + AROUND) *
                   f->run->config->fleet.pue;
    e.per_token_J = e.facility_W / (f->step.tokens_per_s * share[TY_FLEET_WORK]);
    return e;
}
