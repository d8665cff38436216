/* routing.c - draws or reads the share of tokens that each expert gets. Draws are GSL's, from a
 * generator that begins anew for every layer, and for every group of it: who asks first changes
 * nothing. */
#include "model/routing.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

#include "sim/base/curve.h"
#include "sim/base/noise.h"
#include "sim/base/number_text.h"
#include "sim/base/units.h"
#include "sim/document/csv.h"

/* ---- a file of loads by layer and expert ---- */

enum column {
    LAYER,
    EXPERT,
    LOAD,
    N_COLUMNS
};
static const char *const names[N_COLUMNS] = {"layer", "expert", "load"};

struct reader {
    struct ty_csv csv;
    const struct ty_token_routing_shape *shape;
    struct ty_err *err;
    uint32_t index[N_COLUMNS]; /* where each column is */
    uint32_t *row_of;          /* [n_layers][experts]: 1 + row that has it; 0: none yet */
    double *load;              /* the same */
};

static int wrong_column(const struct reader *r, uint32_t i, const char *what)
{
    const struct ty_place at = ty_csv_place(&r->csv, 0, i);
    return ty_fail_at(r->err, TY_EINPUT, &at, "%s (%.40s); write the columns layer, expert, load",
                      what, ty_csv_header(&r->csv, i));
}

static int read_header(struct reader *r)
{
    int code = 0;
    memset(r->index, 0xff, sizeof(r->index));
    for (uint32_t i = 0; i < r->csv.n_columns; i++) {
        uint32_t c = 0;
        while (c < N_COLUMNS && strcmp(ty_csv_header(&r->csv, i), names[c]) != 0) {
            c++;
        }
        const bool known = c < N_COLUMNS, twice = known && r->index[c] != UINT32_MAX;
        if (!known || twice) {
            code = wrong_column(r, i, twice ? "a second column" : "unknown column");
        } else {
            r->index[c] = i;
        }
    }
    for (uint32_t c = 0; c < N_COLUMNS && code == 0; c++) {
        if (r->index[c] == UINT32_MAX) {
            const struct ty_place at = ty_csv_place(&r->csv, 0, 0);
            code = ty_fail_at(r->err, TY_EINPUT, &at,
                              "no column %s; loads need the columns layer, expert, load", names[c]);
        }
    }
    return code;
}

static const char *cell(const struct reader *r, uint32_t row, enum column c)
{
    return ty_csv_cell(&r->csv, row, r->index[c]);
}

static struct ty_place place(const struct reader *r, uint32_t row, enum column c)
{
    return ty_csv_place(&r->csv, row + 1, r->index[c]);
}

/* A number from `first` to `first + n - 1`. */
static int read_number(const struct reader *r, uint32_t row, enum column c, uint32_t first,
                       uint32_t n, uint32_t *out)
{
    const char *text = cell(r, row, c), *at = text;
    if (ty_scan_number(&at, NULL, UINT32_MAX, out) && *at == '\0' && *out >= first &&
        *out - first < n) {
        return 0;
    }
    const struct ty_place here = place(r, row, c);
    return ty_fail_at(r->err, TY_EINPUT, &here,
                      "%s: there is none of that number (%.40s); those with loads are %u to %u",
                      names[c], text, (unsigned)first, (unsigned)(first + n - 1));
}

static int read_row(struct reader *r, uint32_t row)
{
    uint32_t layer = 0, expert = 0;
    char *end;
    int rc = read_number(r, row, LAYER, r->shape->first_layer, r->shape->n_layers, &layer);
    if (rc == 0) {
        rc = read_number(r, row, EXPERT, 0, r->shape->experts, &expert);
    }
    if (rc < 0) {
        return rc;
    }
    const char *text = cell(r, row, LOAD);
    const double load = ty_strtod(text, &end);
    const size_t i = (size_t)(layer - r->shape->first_layer) * r->shape->experts + expert;
    if (end == text || *end != '\0' || !isfinite(load) || load < 0) {
        const struct ty_place at = place(r, row, LOAD);
        return ty_fail_at(
            r->err, TY_EINPUT, &at,
            "load: not a number from 0 on (%.40s); write a share or a count of tokens", text);
    }
    if (r->row_of[i] != 0) {
        const struct ty_place at = place(r, row, LAYER);
        return ty_fail_at(r->err, TY_EINPUT, &at,
                          "expert %u of layer %u is there twice, first in line %u; keep one",
                          (unsigned)expert, (unsigned)layer,
                          (unsigned)place(r, r->row_of[i] - 1, LAYER).line);
    }
    r->row_of[i] = row + 1;
    r->load[i] = load;
    return 0;
}

/* Every expert of every layer has a row, and somebody something to do. Makes shares of loads. */
static int finish_layer(const struct reader *r, uint32_t layer)
{
    const uint32_t n = r->shape->experts;
    const uint32_t *row_of = &r->row_of[(size_t)layer * n];
    const struct ty_place end = ty_csv_place(&r->csv, r->csv.n_rows, 0);
    double *load = &r->load[(size_t)layer * n], sum = 0;
    uint32_t missing = 0, first = n;
    for (uint32_t e = 0; e < n; e++) {
        sum += load[e];
        missing += row_of[e] == 0;
        first = row_of[e] == 0 && e < first ? e : first;
    }
    const unsigned number = layer + r->shape->first_layer;
    if (missing == n) {
        return ty_fail_at(r->err, TY_EINPUT, &end,
                          "the file ends without layer %u; layers %u to %u need %u rows each",
                          number, (unsigned)r->shape->first_layer,
                          (unsigned)(r->shape->first_layer + r->shape->n_layers - 1), (unsigned)n);
    }
    if (missing > 0) {
        return ty_fail_at(r->err, TY_EINPUT, &end,
                          "the file ends without expert %u of layer %u (%u of %u are missing); "
                          "write one with load 0 for an expert without tokens",
                          (unsigned)first, number, (unsigned)missing, (unsigned)n);
    }
    if (!(sum > 0) || !isfinite(sum)) {
        const struct ty_place at = place(r, row_of[0] - 1, LOAD);
        return ty_fail_at(
            r->err, TY_EINPUT, &at,
            "the loads of layer %u sum to %g; write numbers whose sum is above 0, and "
            "a number",
            number, sum);
    }
    for (uint32_t e = 0; e < n; e++) {
        load[e] /= sum;
    }
    return 0;
}

static int read_rows(struct reader *r)
{
    int code = 0;
    for (uint32_t row = 0; row < r->csv.n_rows; row++) {
        const int rc = read_row(r, row);
        code = code < 0 ? code : rc;
    }
    for (uint32_t layer = 0; layer < r->shape->n_layers && code == 0; layer++) {
        code = finish_layer(r, layer);
    }
    return code;
}

int ty_token_routing_load(struct ty_token_routing *routing, const char *path,
                          const struct ty_token_routing_shape *shape, struct ty_arena *arena,
                          struct ty_err *err)
{
    const size_t n = (size_t)shape->n_layers * shape->experts;
    struct reader r = {.shape = shape, .err = err};
    int rc = ty_csv_load(&r.csv, path, arena, err);
    if (rc == 0) {
        rc = read_header(&r);
    }
    if (rc < 0) {
        return rc;
    }
    r.row_of = ty_arena_array(arena, uint32_t, n);
    r.load = ty_arena_array(arena, double, n);
    if (r.row_of == NULL || r.load == NULL) {
        return ty_fail_memory(err);
    }
    rc = read_rows(&r);
    routing->shape = *shape;
    routing->share = rc == 0 ? r.load : NULL;
    return rc;
}

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
    const char *all[N_METHODS];
    char word[32], hint[TY_SUGGESTION];
    const size_t n = len < sizeof(word) ? len : sizeof(word) - 1;
    memcpy(word, text, n);
    word[n] = '\0';
    for (size_t i = 0; i < N_METHODS; i++) {
        all[i] = methods[i].name;
    }
    return ty_fail_at(err, TY_EINPUT, at,
                      "run.routing: unknown (%s); write balanced, uniform, dirichlet:CV, zipf:S or "
                      "file:PATH%s",
                      word, ty_suggestion(word, all, N_METHODS, hint));
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
