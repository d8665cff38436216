/* balance.c - see balance.h.
 *
 * Layers of a model are alike; what a stage takes next to them (embedding, logits) stays with it.
 * So the stage that takes least for a layer says what a layer takes, and the rest of each stage is
 * its own. Dealing every next layer to the rank that would then have least makes the largest load
 * as small as it can be, since all layers are equal; the later rank gets it where two have the
 * same, as it holds fewer activations. */
#include "sim/run/balance.h"

#include <math.h>
#include <string.h>

#include "sim/run/pass_times.h"

struct deal {
    enum ty_sched_placement placement;
    struct ty_sched_shape shape;
    uint32_t n;               /* virtual stages */
    double layer;             /* s of a layer, forward and backward */
    double rest[TY_LIST_MAX]; /* s of what else a stage has */
    uint32_t layers[TY_LIST_MAX];
};

static double load_of_stage(const struct deal *d, uint32_t stage)
{
    return d->rest[stage] + d->layers[stage] * d->layer;
}

/* Seconds of the rank that a stage is on, for one micro-batch. */
static double load_of_rank(const struct deal *d, uint32_t rank)
{
    double load = 0;
    for (uint32_t s = 0; s < d->n; s++) {
        if (ty_sched_owner(d->placement, &d->shape, 0, s) == rank) {
            load += load_of_stage(d, s);
        }
    }
    return load;
}

/* The stage that gets the next layer: of the rank with the least load the one that takes least. */
static uint32_t next_stage(const struct deal *d)
{
    uint32_t rank = 0, stage = d->n;
    double least = HUGE_VAL;
    for (uint32_t r = 0; r < d->shape.p; r++) {
        const double load = load_of_rank(d, r);
        if (load <= least * (1 + 1e-9)) { /* equal but for rounding: the later one */
            rank = r;
            least = load;
        }
    }
    for (uint32_t s = 0; s < d->n; s++) {
        const bool here = ty_sched_owner(d->placement, &d->shape, 0, s) == rank;
        if (here && (stage == d->n || load_of_stage(d, s) < load_of_stage(d, stage))) {
            stage = s;
        }
    }
    return stage;
}

uint32_t ty_balance_layers(const struct ty_run *run, uint32_t *layers)
{
    const struct ty_layout *l = &run->config->layout;
    const struct ty_arch *arch = &run->config->arch;
    const struct ty_sched_options *schedule = &run->config->schedule;
    double work[TY_LIST_MAX];
    struct deal d = {.placement = ty_sched_of(schedule)->placement,
                     .shape = ty_sched_shape_of(schedule, l->pipeline, l->micro_batches),
                     .layer = HUGE_VAL};
    d.n = ty_sched_stages(&d.shape);
    if (l->pipeline == 1 || l->unlike || d.n > TY_LIST_MAX ||
        ty_sched_directions(d.placement) > 1) {
        return 0;
    }
    ty_stage_work(run, work);
    for (uint32_t s = 0; s < d.n; s++) {
        const uint32_t own = ty_layout_layers(l, arch, d.n, s).count;
        d.layer = own > 0 ? fmin(work[s] / own, d.layer) : d.layer;
    }
    for (uint32_t s = 0; s < d.n; s++) { /* every stage but the ends has a layer */
        d.rest[s] = work[s] - ty_layout_layers(l, arch, d.n, s).count * d.layer;
        d.layers[s] = s > 0 && s + 1 < d.n;
    }
    for (uint32_t left = arch->layers - (d.n - 2); left > 0; left--) {
        d.layers[next_stage(&d)]++;
    }
    bool same = true;
    for (uint32_t s = 0; s < d.n; s++) {
        same = same && d.layers[s] == ty_layout_layers(l, arch, d.n, s).count;
    }
    memcpy(layers, d.layers, d.n * sizeof(*layers));
    return same ? 0 : d.n;
}
