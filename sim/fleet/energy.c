/* energy.c - what a fleet draws: per token, and at once where all GPUs stop (energy.h). */
#include "sim/fleet/energy.h"

#include "model/vocabulary.h"

/* Of the data sheet's power: an HGX H100 node rated 10.2 kW drew 8.4 kW at most in training (arXiv
 * 2412.08602) and 1.8 kW idle (arXiv 2506.14551 as quoted). */
#define BUSY 0.824
#define IDLE 0.176

/* Of the way between the two, by what a GPU does: products at full rate 1; the rest of computation,
 * which memory bounds; communication and waits for it, in which kernels of NCCL spin (guesses). */
#define MEMORY_BOUND  0.65
#define COMMUNICATING 0.45

/* Network and storage, over the computers (guess; 5 to 10 %). */
#define AROUND 0.07

/* Share of the way from idle to busy, mean over a step. */
static double use(const struct ty_fleet *f)
{
    double computing = 0;
    for (int b = 0; b < TY_N_BUCKETS; b++) {
        const bool computes = ty_transformer_words.buckets[b].pace == TY_PACE_COMPUTES;
        computing += computes ? f->step.bucket_s[b] / f->step.step_s : 0;
    }
    const double products = f->step.hfu < computing ? f->step.hfu : computing;
    return products + MEMORY_BOUND * (computing - products) + COMMUNICATING * (1 - computing);
}

struct ty_fleet_energy ty_fleet_energy(const struct ty_fleet *f)
{
    const double rated = f->run->config->cluster.node_power;
    const double *share = f->job.share;
    const double steps = share[TY_FLEET_WORK] + share[TY_FLEET_LOST] + share[TY_FLEET_EVALUATION];
    struct ty_fleet_energy e = {.idle_W = IDLE * rated};
    e.working_W = e.idle_W + (BUSY - IDLE) * rated * use(f);
    e.drop_W = f->nodes * (e.working_W - e.idle_W);
    e.facility_W = (f->nodes * e.idle_W + e.drop_W * steps + f->spares * e.idle_W) * (1 + AROUND) *
                   f->run->config->fleet.pue;
    e.per_token_J = e.facility_W / (f->step.tokens_per_s * share[TY_FLEET_WORK]);
    return e;
}
