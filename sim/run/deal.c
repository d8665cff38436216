/* deal.c - cuts of a chain of layers into stages, see deal.h.
 *
 * w(s, i, j), seconds of stage s with layers [i, j), is the least that fits its memory. It does not
 * fall when a layer is added at either end. Ceilings M on w are tried upward (Alpa's outer loop,
 * Zheng et al. 2022, section 5.2), from the mean on; next is always the least w above M that a cut
 * could have whose stages before it are below. Under each
 *
 *     f(s, j) = min over i of f(s-1, i) + w(s, i, j)      of w(s, i, j) <= M
 *
 * is the least sum, and rounds x M + f what such a cut takes at most; the largest w of it is known
 * afterwards. The loop ends where rounds x M + (the least sum there can be) is not below the best.
 *
 * Where a stage can end is narrow. Under M stages 0..s reach at most high(s), and what they leave
 * must be reached from behind, low(s); between the two lie as many layers as M has to spare. So the
 * search costs no more for 126 equal layers than for 32: w depends on j - i alone then, and where
 * it passes M is looked for from where it was last. */
#include "sim/run/deal.h"

#include <math.h>
#include <string.h>

/* Sums closer than that are equal but for rounding: the first of them, which gives layers to later
 * stages, where fewer micro-batches are held. */
#define TIE 1e-12

struct cut {
    const struct ty_deal *deal;
    double **row;         /* [stages x (layers + 1)] w of a stage from a layer on, plus 1; 0: it
                               * is not known yet */
    uint32_t *guess;      /* [stages] layers that it took last */
    uint32_t *low, *high; /* [stages + 1] where stages before may end, under the ceiling */
    double *f;            /* [stages + 1][layers + 1] */
    uint32_t *from;       /* the same: where the stage begins */
    struct ty_arena *arena;
    uint64_t steps;
    bool no_memory;
};

static double work(struct cut *c, uint32_t s, uint32_t from, uint32_t to)
{
    const struct ty_deal *d = c->deal;
    const bool equal = d->n_kinds == 1;
    double **row = &c->row[(size_t)s * (d->n_layers + 1) + (equal ? 0 : from)];
    c->steps++;
    if (*row == NULL) {
        *row = ty_arena_array(c->arena, double, d->n_layers + 1);
        c->no_memory = *row == NULL;
    }
    if (c->no_memory) {
        return HUGE_VAL;
    }
    double *at = &(*row)[equal ? to - from : to];
    if (*at == 0) {
        *at = 1 + ty_deal_least(d, s, from, to, NULL, &c->steps);
    }
    return *at - 1;
}

/* The last layer that a stage reaches under a ceiling; `from` where it reaches none. */
static uint32_t reach(struct cut *c, uint32_t s, uint32_t from, double ceiling)
{
    const uint32_t n = c->deal->n_layers;
    uint32_t to = from + c->guess[s] < n ? from + c->guess[s] : n;
    while (to > from && work(c, s, from, to) > ceiling) {
        to--;
    }
    while (to < n && work(c, s, from, to + 1) <= ceiling) {
        to++;
    }
    c->guess[s] = to - from;
    return to;
}

/* The first layer from which a stage reaches `to`. */
static uint32_t reach_back(struct cut *c, uint32_t s, uint32_t to, double ceiling)
{
    uint32_t from = c->guess[s] < to ? to - c->guess[s] : 0;
    while (from < to && work(c, s, from, to) > ceiling) {
        from++;
    }
    while (from > 0 && work(c, s, from - 1, to) <= ceiling) {
        from--;
    }
    return from;
}

/* Stages may have no layers here: windows are never too narrow. False: they do not meet. */
static bool find_windows(struct cut *c, double ceiling)
{
    const struct ty_deal *d = c->deal;
    c->low[0] = c->high[0] = 0;
    for (uint32_t s = 0; s < d->n_stages; s++) {
        c->high[s + 1] = reach(c, s, c->high[s], ceiling);
    }
    c->low[d->n_stages] = d->n_layers;
    for (uint32_t s = d->n_stages; s > 1; s--) {
        c->low[s - 1] = reach_back(c, s - 1, c->low[s], ceiling);
    }
    return c->high[d->n_stages] == d->n_layers;
}

/* The least sum under a ceiling; HUGE_VAL: there is no cut. */
static double least_sum(struct cut *c, double ceiling)
{
    const struct ty_deal *d = c->deal;
    const size_t width = d->n_layers + 1;
    c->f[0] = 0;
    for (uint32_t s = 0; s < d->n_stages; s++) {
        for (uint32_t j = c->low[s + 1]; j <= c->high[s + 1]; j++) {
            double *best = &c->f[(s + 1) * width + j];
            *best = HUGE_VAL;
            for (uint32_t i = c->low[s]; i <= c->high[s] && i + d->stage[s].least <= j; i++) {
                const double before = c->f[s * width + i];
                const double w = before < HUGE_VAL ? work(c, s, i, j) : HUGE_VAL;
                if (w <= ceiling && before + w < *best * (1 - TIE)) {
                    *best = before + w;
                    c->from[(s + 1) * width + j] = i;
                }
            }
        }
    }
    return c->f[d->n_stages * width + d->n_layers];
}

/* The least w above a ceiling of a stage that others under it can come before. */
static double next_ceiling(struct cut *c, double ceiling)
{
    const struct ty_deal *d = c->deal;
    double next = HUGE_VAL;
    for (uint32_t s = 0; s < d->n_stages; s++) {
        const uint32_t last = d->n_kinds == 1 ? 0 : c->high[s];
        for (uint32_t i = 0; i <= last; i++) {
            const uint32_t to = reach(c, s, i, ceiling);
            next = to < d->n_layers ? fmin(next, work(c, s, i, to + 1)) : next;
        }
    }
    return next;
}

/* The cut that least_sum has just found. */
static double take(struct cut *c, struct ty_deal_result *out)
{
    const struct ty_deal *d = c->deal;
    const size_t width = d->n_layers + 1;
    uint32_t to = d->n_layers;
    out->most = out->sum = 0;
    for (uint32_t s = d->n_stages; s > 0; s--) {
        const uint32_t from = c->from[s * width + to];
        const double w = ty_deal_least(d, s - 1, from, to, &out->share[s - 1], &c->steps);
        out->most = fmax(out->most, w);
        out->sum += w;
        to = from;
    }
    return d->rounds * out->most + out->sum;
}

static double seconds_at_least(const struct ty_deal *d)
{
    double sum = 0;
    for (uint32_t i = 0; i < d->n_layers; i++) {
        double least = HUGE_VAL;
        for (uint32_t k = 0; k < d->n_modes; k++) {
            least = fmin(least, d->kind[d->layer[i]].seconds[k]);
        }
        sum += least;
    }
    for (uint32_t s = 0; s < d->n_stages; s++) {
        sum += d->stage[s].seconds;
    }
    return sum;
}

static int begin(struct cut *c, struct ty_deal_result *out)
{
    const struct ty_deal *d = c->deal;
    const size_t states = (size_t)(d->n_stages + 1) * (d->n_layers + 1);
    out->share = ty_arena_array(c->arena, struct ty_deal_share, d->n_stages);
    c->row = ty_arena_array(c->arena, double *, states);
    c->guess = ty_arena_array(c->arena, uint32_t, d->n_stages);
    c->low = ty_arena_array(c->arena, uint32_t, d->n_stages + 1);
    c->high = ty_arena_array(c->arena, uint32_t, d->n_stages + 1);
    c->f = ty_arena_array(c->arena, double, states);
    c->from = ty_arena_array(c->arena, uint32_t, states);
    if (out->share == NULL || c->row == NULL || c->guess == NULL || c->low == NULL ||
        c->high == NULL || c->f == NULL || c->from == NULL) {
        return TY_ENOMEM;
    }
    for (uint32_t s = 0; s < d->n_stages; s++) {
        c->guess[s] = d->n_layers / d->n_stages;
    }
    return 0;
}

int ty_deal(const struct ty_deal *deal, struct ty_deal_result *out, struct ty_arena *arena)
{
    struct cut c = {.deal = deal, .arena = arena};
    *out = (struct ty_deal_result){.fits = false};
    if (begin(&c, out) < 0) {
        return TY_ENOMEM;
    }
    const double least = seconds_at_least(deal);
    double best = HUGE_VAL, ceiling = least / deal->n_stages;
    for (uint32_t s = 0; s < deal->n_stages; s++) {
        ceiling = fmax(ceiling, deal->stage[s].seconds);
    }
    while (ceiling < HUGE_VAL && deal->rounds * ceiling + least < best && !c.no_memory) {
        if (find_windows(&c, ceiling) && least_sum(&c, ceiling) < HUGE_VAL) {
            struct ty_deal_result found = {
                .share = ty_arena_array(arena, struct ty_deal_share, deal->n_stages)};
            if (found.share == NULL) {
                return TY_ENOMEM;
            }
            const double takes = take(&c, &found);
            if (takes < best) {
                best = takes;
                *out = found;
                out->fits = true;
            }
        }
        ceiling = next_ceiling(&c, ceiling);
    }
    out->steps = c.steps;
    return c.no_memory ? TY_ENOMEM : 0;
}
