/* routing.c - draws or reads the share of tokens that each expert gets. Draws are GSL's, from a
 * generator that begins anew for every layer, and for every group of it: who asks first changes
 * nothing. */
#include "model/routing.h"

#include <math.h>
#include <string.h>

#include <gsl/gsl_randist.h>

#include "sim/base/curve.h"
#include "sim/base/noise.h"
#include "sim/base/units.h"

/* What a word may be followed by; example NULL: nothing. */
static const struct {
    const char *name;
    const char *example, *what;
    double min, max;
} methods[] = {
    [TY_TOKENS_BALANCED] = {"balanced", NULL, NULL, 0, 0},
    [TY_TOKENS_UNIFORM] = {"uniform", NULL, NULL, 0, 0},
    [TY_TOKENS_DIRICHLET] = {"dirichlet", "dirichlet:0.5", "a coefficient of variation", 0.01, 10},
    [TY_TOKENS_ZIPF] = {"zipf", "zipf:0.3", "an exponent", 0.01, 10},
    [TY_TOKENS_FILE] = {"file", "file:loads.csv", "a path", 0, 0},
};
#define N_METHODS (sizeof(methods) / sizeof(methods[0]))

/* ---- what a user writes ---- */

static int fail_unknown(const char *text, size_t len, const struct ty_place *at, struct ty_err *err)
{
    const char *names[N_METHODS];
    char word[32], hint[TY_SUGGESTION];
    const size_t n = len < sizeof(word) ? len : sizeof(word) - 1;
    memcpy(word, text, n);
    word[n] = '\0';
    for (size_t i = 0; i < N_METHODS; i++) {
        names[i] = methods[i].name;
    }
    return ty_fail_at(err, TY_EINPUT, at,
                      "run.routing: unknown (%s); write balanced, uniform, dirichlet:CV, zipf:S or "
                      "file:PATH%s",
                      word, ty_suggestion(word, names, N_METHODS, hint));
}

static int read_spread(struct ty_token_routing *routing, const char *number,
                       const struct ty_place *at, struct ty_err *err)
{
    const enum ty_token_routing_method i = routing->method;
    char why[200];
    if (ty_quantity_parse_like(number, TY_DIM_COUNT, methods[i].example, &routing->spread, why,
                               sizeof(why)) < 0) {
        return ty_fail_at(err, TY_EINPUT, at, "run.routing: %s: %s", methods[i].name, why);
    }
    if (routing->spread < methods[i].min || routing->spread > methods[i].max) {
        return ty_fail_at(err, TY_EINPUT, at,
                          "run.routing: %s: out of range (%.30s); write %s from %g to %g, such as "
                          "%s",
                          methods[i].name, number, methods[i].what, methods[i].min, methods[i].max,
                          methods[i].example);
    }
    return 0;
}

int ty_token_routing_read(struct ty_token_routing *routing, const char *text,
                          const struct ty_place *at, struct ty_err *err)
{
    const size_t len = strcspn(text, ":");
    const char *rest = text[len] == ':' ? text + len + 1 : NULL;
    size_t i = 0;
    while (i < N_METHODS &&
           (strlen(methods[i].name) != len || memcmp(methods[i].name, text, len) != 0)) {
        i++;
    }
    if (i == N_METHODS) {
        return fail_unknown(text, len, at, err);
    }
    *routing = (struct ty_token_routing){.method = (enum ty_token_routing_method)i};
    if (methods[i].example == NULL) {
        return rest == NULL ? 0
                            : ty_fail_at(err, TY_EINPUT, at,
                                         "run.routing: %s takes nothing more (%.30s); write %s",
                                         methods[i].name, text, methods[i].name);
    }
    if (rest == NULL || *rest == '\0') {
        return ty_fail_at(err, TY_EINPUT, at, "run.routing: %s without %s; write it like %s",
                          methods[i].name, methods[i].what, methods[i].example);
    }
    if (routing->method == TY_TOKENS_FILE) {
        routing->path = rest;
        return 0;
    }
    return read_spread(routing, rest, at, err);
}

/* ---- draws ---- */

/* Streams of random numbers of one layer. */
enum stream {
    OF_SHARES,
    OF_ROWS,
};

/* From who asks, not from who asked before. */
static gsl_rng *generator(const struct ty_routed *who, enum stream stream, struct ty_err *err)
{
    const uint32_t group = stream == OF_ROWS ? who->group : 0;
    const uint64_t h = ty_hash4(who->seed, who->layer, group, stream);
    ty_gsl_quiet();
    gsl_rng *r = gsl_rng_alloc(gsl_rng_mt19937);
    if (r == NULL) {
        ty_fail_memory(err);
        return NULL;
    }
    gsl_rng_set(r, (unsigned long)(h & UINT32_MAX));
    return r;
}

/* A Dirichlet variate is gamma variates by their sum. Of very skewed ones all may be too small for
 * a double: then one expert has everything. */
static void draw_dirichlet(gsl_rng *r, double cv, uint32_t n, double *share)
{
    for (uint32_t e = 0; e < n; e++) {
        share[e] = gsl_ran_gamma(r, 1 / (cv * cv), 1);
    }
    share[gsl_rng_uniform_int(r, n)] += 0x1p-1022;
}

static void draw_zipf(gsl_rng *r, double s, uint32_t n, double *share)
{
    for (uint32_t e = 0; e < n; e++) {
        share[e] = pow(1.0 + e, -s);
    }
    gsl_ran_shuffle(r, share, n, sizeof(*share));
}

static void normalise(double *share, uint32_t n)
{
    double sum = 0;
    for (uint32_t e = 0; e < n; e++) {
        sum += share[e];
    }
    for (uint32_t e = 0; e < n; e++) {
        share[e] /= sum;
    }
}

/* No share above `most`, at least 1 / n; what is above goes to the others as their shares are, or
 * evenly where they have none. That may lift one of them above: as often as there are experts at
 * most. */
static void limit(double *share, uint32_t n, double most)
{
    for (uint32_t round = 0; round < n; round++) {
        double above = 0, below = 0, others = 0;
        for (uint32_t e = 0; e < n; e++) {
            above += share[e] > most ? share[e] - most : 0;
            below += share[e] < most ? share[e] : 0;
            others += share[e] < most;
        }
        if (above <= 0 || others == 0) {
            return;
        }
        for (uint32_t e = 0; e < n; e++) {
            const double more = below > 0 ? share[e] * (above / below) : above / others;
            share[e] = share[e] < most ? share[e] + more : most;
        }
    }
}

int ty_token_routing_shares(const struct ty_token_routing *routing, const struct ty_routed *who,
                            double *share, struct ty_err *err)
{
    const uint32_t n = who->experts;
    const bool drawn = routing->method == TY_TOKENS_DIRICHLET || routing->method == TY_TOKENS_ZIPF;
    gsl_rng *r = drawn ? generator(who, OF_SHARES, err) : NULL;
    if (drawn && r == NULL) {
        return TY_ENOMEM;
    }
    if (routing->method == TY_TOKENS_DIRICHLET) {
        draw_dirichlet(r, routing->spread, n, share);
    } else if (routing->method == TY_TOKENS_ZIPF) {
        draw_zipf(r, routing->spread, n, share);
    } else if (routing->method == TY_TOKENS_FILE) {
        const size_t row = who->layer - routing->shape.first_layer;
        memcpy(share, &routing->share[row * n], n * sizeof(*share));
    } else {
        for (uint32_t e = 0; e < n; e++) {
            share[e] = 1;
        }
    }
    gsl_rng_free(r);
    normalise(share, n);
    limit(share, n, 1.0 / who->top_k);
    return 0;
}

/* Multinomial counts, one binomial after the other: what is left goes by the shares left. Shares
 * come in and rows go out; more of them than the generator counts come in bundles. */
static void draw_rows(gsl_rng *r, double total, uint32_t n, double *rows)
{
    const double bundle = fmax(1, ceil(total / UINT32_MAX));
    uint32_t left = (uint32_t)llround(total / bundle);
    double share_left = 1;
    for (uint32_t e = 0; e < n; e++) {
        const double p = rows[e] < share_left ? rows[e] / share_left : 1;
        const uint32_t got = e == n - 1 ? left : gsl_ran_binomial(r, p, left);
        share_left -= rows[e];
        left -= got;
        rows[e] = bundle * got;
    }
}

int ty_token_routing_rows(const struct ty_token_routing *routing, const struct ty_routed *who,
                          double *rows, struct ty_err *err)
{
    const bool drawn = routing->method != TY_TOKENS_BALANCED && routing->method != TY_TOKENS_FILE;
    const int rc = ty_token_routing_shares(routing, who, rows, err);
    gsl_rng *r = rc == 0 && drawn ? generator(who, OF_ROWS, err) : NULL;
    if (rc < 0 || (drawn && r == NULL)) {
        return TY_ENOMEM;
    }
    if (drawn) {
        draw_rows(r, who->rows, who->experts, rows);
    }
    for (uint32_t e = 0; e < who->experts && !drawn; e++) {
        rows[e] *= who->rows;
    }
    gsl_rng_free(r);
    return 0;
}

uint64_t ty_token_routing_digest(const struct ty_token_routing *routing)
{
    const uint64_t n = (uint64_t)routing->shape.n_layers * routing->shape.experts;
    uint64_t h = ty_hash4(routing->method, ty_bits(routing->spread), n, 0);
    for (uint64_t i = 0; i < n; i++) {
        h = ty_hash4(h, ty_bits(routing->share[i]), i, 1);
    }
    return routing->method == TY_TOKENS_BALANCED ? 0 : h;
}
