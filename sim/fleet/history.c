/* history.c - see history.h. */
#include "sim/fleet/history.h"

#include <math.h>
#include <stdlib.h>

#include "sim/base/err.h"

static void add(struct ty_fleet_history *h, enum ty_fleet_state state, double start_s, double end_s)
{
    if (h->n == h->cap && !h->failed) {
        const size_t cap = h->cap > 0 ? 2 * h->cap : 256;
        struct ty_fleet_stretch *larger = realloc(h->item, cap * sizeof(*larger));
        h->failed = larger == NULL;
        h->item = larger != NULL ? larger : h->item;
        h->cap = larger != NULL ? cap : h->cap;
    }
    if (!h->failed && end_s > start_s) {
        h->item[h->n++] = (struct ty_fleet_stretch){state, start_s, end_s};
    }
}

static void told(void *arg, enum ty_fleet_state state, double start_s, double end_s, double lost_s)
{
    const double kept_s = fmax(end_s - lost_s, start_s);
    add(arg, state, start_s, kept_s);
    add(arg, TY_FLEET_LOST, kept_s, end_s);
}

int ty_fleet_history(const struct ty_days *days, double length_s, uint64_t seed,
                     struct ty_fleet_history *history)
{
    *history = (struct ty_fleet_history){.length_s = length_s};
    const int rc = ty_days_play(days, length_s, seed, 0, told, history, &history->sums);
    return history->failed ? TY_ENOMEM : rc;
}

bool ty_fleet_checkpoint_at(const struct ty_days *d, const struct ty_fleet_stretch *stretch,
                            uint32_t k, double *begin_s, double *end_s)
{
    const double stores = floor((double)k / d->store_every) * d->store_stall_s;
    const bool store = (k + 1) % d->store_every == 0;
    *begin_s = stretch->start_s + k * (d->every_s + d->stall_s) + stores + d->every_s;
    *end_s = *begin_s + d->stall_s + (store ? d->store_stall_s : 0);
    return stretch->state == TY_FLEET_WORK && *end_s <= stretch->end_s + 1e-6;
}
