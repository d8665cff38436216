/* chain.c - solves the chain program by dynamic programming under rising ceilings.
 *
 * For a ceiling M on the seconds of a stage
 *
 *     g(s, i, d, k) = min over j, k' of
 *                     stage(i, j, k, s) + between(j, k, k') + g(s - 1, j, d - d_k, k')
 *
 * is the least sum for layers i.. on d devices in s stages, the first of them in scheme k: of
 * stages that take at most M. Ceilings are the different seconds of stages, upward; the loop ends
 * where rounds x M and the least sum without a ceiling are not below the best (Alpa stops where
 * rounds x M alone is not). So the best of all is among those that were solved. */
#include "sim/plan/chain.h"

#include "sim/base/check.h"

#include <math.h>
#include <stdlib.h>

struct solver {
    const struct ty_chain *chain;
    size_t layers, devices;
    double *seconds; /* [stages][layers + 1][layers + 1][schemes] */
    double *g;       /* [stages + 1][layers + 1][devices + 1][schemes] */
    struct step {
        uint32_t to, scheme; /* the next stage: its first layer, its scheme */
    } * step;                /* the same */
    double *ceiling;         /* [n_ceilings] different, upward */
    size_t n_ceilings;
};

static size_t seconds_at(const struct solver *x, uint32_t behind, uint32_t from, uint32_t to,
                         uint32_t scheme)
{
    return (((behind - 1) * x->layers + from) * x->layers + to) * x->chain->n_schemes + scheme;
}

static size_t at(const struct solver *x, uint32_t stages, uint32_t from, uint32_t devices,
                 uint32_t scheme)
{
    return ((stages * x->layers + from) * x->devices + devices) * x->chain->n_schemes + scheme;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Seconds of all stages that there can be. */
static void ask(struct solver *x)
{
    const struct ty_chain *c = x->chain;
    size_t n = 0;
    for (uint32_t s = 1; s <= c->n_stages; s++) {
        for (uint32_t i = 0; i < c->n_layers; i++) {
            for (uint32_t j = i + 1; j <= c->n_layers; j++) {
                for (uint32_t k = 0; k < c->n_schemes; k++) {
                    const double w = c->stage(c->arg, i, j, k, s);
                    assert(w >= 0);
                    x->seconds[seconds_at(x, s, i, j, k)] = w;
                    if (w < HUGE_VAL) {
                        x->ceiling[n++] = w;
                    }
                }
            }
        }
    }
    qsort(x->ceiling, n, sizeof(*x->ceiling), by_size);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || x->ceiling[i] > x->ceiling[x->n_ceilings - 1]) {
            x->ceiling[x->n_ceilings++] = x->ceiling[i];
        }
    }
}

/* g of one state. */
static void solve_one(struct solver *x, double ceiling, uint32_t s, uint32_t from, uint32_t devices,
                      uint32_t k)
{
    const struct ty_chain *c = x->chain;
    assert(c->scheme[k].devices > 0 && c->scheme[k].devices <= devices);
    const uint32_t left = devices - c->scheme[k].devices;
    const size_t here = at(x, s, from, devices, k);
    double *best = &x->g[here];
    *best = HUGE_VAL;
    for (uint32_t to = from + 1; to <= c->n_layers; to++) {
        const double w = x->seconds[seconds_at(x, s, from, to, k)];
        if (w > ceiling) {
            continue;
        }
        if (s == 1) { /* the last */
            *best = to == c->n_layers && left == 0 ? w : *best;
            continue;
        }
        for (uint32_t next = 0; next < c->n_schemes && to < c->n_layers; next++) {
            const double rest = x->g[at(x, s - 1, to, left, next)];
            const double way =
                rest < HUGE_VAL ? c->between(c->arg, to, c->n_devices - left, k, next) : HUGE_VAL;
            if (w + way + rest < *best) {
                *best = w + way + rest;
                x->step[here] = (struct step){to, next};
            }
        }
    }
}

/* The least sum under a ceiling; how many stages it has, and the scheme of the first. */
static double solve(struct solver *x, double ceiling, uint32_t *stages, uint32_t *scheme)
{
    const struct ty_chain *c = x->chain;
    double best = HUGE_VAL;
    for (uint32_t s = 1; s <= c->n_stages; s++) {
        for (uint32_t i = 0; i < c->n_layers; i++) {
            for (uint32_t d = 0; d <= c->n_devices; d++) {
                for (uint32_t k = 0; k < c->n_schemes; k++) {
                    if (c->scheme[k].devices <= d) {
                        solve_one(x, ceiling, s, i, d, k);
                    }
                }
            }
        }
        for (uint32_t k = 0; k < c->n_schemes; k++) {
            const double sum = x->g[at(x, s, 0, c->n_devices, k)];
            if (sum < best) {
                best = sum;
                *stages = s;
                *scheme = k;
            }
        }
    }
    return best;
}

/* The plan that was just solved. Its longest stage may be below the ceiling. */
static void take(const struct solver *x, uint32_t stages, uint32_t scheme,
                 struct ty_chain_result *out)
{
    const struct ty_chain *c = x->chain;
    uint32_t from = 0, devices = c->n_devices;
    out->fits = true;
    out->n_stages = stages;
    out->most = 0;
    for (uint32_t s = stages; s > 0; s--) {
        const struct step next =
            s > 1 ? x->step[at(x, s, from, devices, scheme)] : (struct step){c->n_layers, 0};
        assert(next.to > from && c->scheme[scheme].devices <= devices);
        out->stage[stages - s] = (struct ty_chain_stage){next.to - from, scheme};
        out->most = fmax(out->most, x->seconds[seconds_at(x, s, from, next.to, scheme)]);
        devices -= c->scheme[scheme].devices;
        from = next.to;
        scheme = next.scheme;
    }
    assert(from == c->n_layers && devices == 0); /* all layers, on all devices */
}

static int begin(struct solver *x, struct ty_chain_result *out, struct ty_arena *arena)
{
    const struct ty_chain *c = x->chain;
    const size_t pairs = (size_t)c->n_stages * x->layers * x->layers * c->n_schemes;
    const size_t states = (c->n_stages + (size_t)1) * x->layers * x->devices * c->n_schemes;
    x->seconds = ty_arena_array(arena, double, pairs);
    x->ceiling = ty_arena_array(arena, double, pairs);
    x->g = ty_arena_array(arena, double, states);
    x->step = ty_arena_array(arena, struct step, states);
    out->stage = ty_arena_array(arena, struct ty_chain_stage, c->n_stages);
    if (x->seconds == NULL || x->ceiling == NULL || x->g == NULL || x->step == NULL ||
        out->stage == NULL) {
        return TY_ENOMEM;
    }
    for (size_t i = 0; i < states; i++) {
        x->g[i] = HUGE_VAL; /* also where a scheme has more devices than are left */
    }
    return 0;
}

int ty_chain(const struct ty_chain *chain, struct ty_chain_result *out, struct ty_arena *arena)
{
    struct solver x = {.chain = chain,
                       .layers = (size_t)chain->n_layers + 1,
                       .devices = (size_t)chain->n_devices + 1};
    *out = (struct ty_chain_result){.fits = false};
    if (begin(&x, out, arena) < 0) {
        return TY_ENOMEM;
    }
    ask(&x);
    uint32_t stages = 0, scheme = 0;
    const double least = solve(&x, HUGE_VAL, &stages, &scheme);
    double best = HUGE_VAL;
    for (size_t i = 0; i < x.n_ceilings && least < HUGE_VAL; i++) {
        if (chain->rounds * x.ceiling[i] + least >= best) {
            break;
        }
        const double sum = solve(&x, x.ceiling[i], &stages, &scheme);
        out->ceilings++;
        if (chain->rounds * x.ceiling[i] + sum < best) {
            best = chain->rounds * x.ceiling[i] + sum;
            assert(sum >= least);
            take(&x, stages, scheme, out);
            out->sum = sum;
        }
    }
    return 0;
}
