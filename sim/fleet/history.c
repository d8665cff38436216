/* history.c - one of the trainings that are played, stretch by stretch (history.h). */
#include "sim/fleet/history.h"

#include <math.h>
#include <stdlib.h>

#include "sim/base/err.h"

static void add(struct ty_fleet_history *h, enum ty_fleet_state state, double start_s, double end_s,
                double begun_s)
{
    if (h->n == h->cap && !h->failed) {
        const size_t cap = h->cap > 0 ? 2 * h->cap : 256;
        struct ty_fleet_stretch *larger = realloc(h->item, cap * sizeof(*larger));
        h->failed = larger == NULL;
        h->item = larger != NULL ? larger : h->item;
        h->cap = larger != NULL ? cap : h->cap;
    }
    if (!h->failed && end_s > start_s) {
        h->item[h->n++] = (struct ty_fleet_stretch){state, start_s, end_s, begun_s};
    }
}

static void told(void *arg, enum ty_fleet_state state, double start_s, double end_s, double lost_s,
                 double begun_s)
{
    const double kept_s = fmax(end_s - lost_s, start_s);
    add(arg, state, start_s, kept_s, begun_s);
    add(arg, TY_FLEET_LOST, kept_s, end_s, 0);
}

int ty_fleet_history(const struct ty_days *days, double length_s, uint64_t seed,
                     struct ty_fleet_history *history)
{
    *history = (struct ty_fleet_history){.length_s = length_s};
    const int rc = ty_days_play(days, length_s, seed, 0, told, history, &history->sums);
    return history->failed ? TY_ENOMEM : rc;
}

#define NEAR_S 1e-6 /* ends and begins that are one, but for rounding */

double ty_fleet_stall_s(const struct ty_days *d, const struct ty_fleet_stretch *stretch,
                        double from_s, double to_s)
{
    const double zero_s = stretch->start_s - stretch->begun_s;
    return stretch->state != TY_FLEET_WORK ? 0
                                           : ty_days_round(d, to_s - zero_s).stall_s -
                                                 ty_days_round(d, from_s - zero_s).stall_s;
}

bool ty_fleet_checkpoint_at(const struct ty_days *d, const struct ty_fleet_stretch *stretch,
                            uint32_t k, double *begin_s, double *end_s)
{
    if (stretch->state != TY_FLEET_WORK || isinf(d->every_s)) {
        return false;
    }
    const double zero_s = stretch->start_s - stretch->begun_s;
    const double nth = ty_days_round(d, stretch->begun_s + NEAR_S).taken + k;
    const double stores = floor(nth / d->store_every) * d->store_stall_s;
    const bool store = fmod(nth + 1, d->store_every) == 0;
    const double begin = zero_s + nth * (d->every_s + d->stall_s) + stores + d->every_s;
    *begin_s = fmax(begin, stretch->start_s);
    *end_s = fmin(begin + d->stall_s + (store ? d->store_stall_s : 0), stretch->end_s);
    return *begin_s < stretch->end_s - NEAR_S;
}
