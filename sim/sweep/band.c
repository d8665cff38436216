/* band.c - runs a row with each uncertain value moved, and adds up what the moves do. */
#include "sim/sweep/band.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/base/pool.h"
#include "sim/base/words.h"
#include "sim/document/json.h"
#include "sim/run/figures.h"

/* Runs of a row: 0 as it stands, 2 k + 1 with value k lower, 2 k + 2 higher. */
struct moves {
    const struct ty_row_source *rows;
    uint32_t row;
    const char *extra;
    const struct ty_uncertain *uncertain;
    double *step_s; /* [2 n + 1] */
    pthread_mutex_t lock;
    uint32_t failed; /* the first whose message is in err */
    struct ty_err *err;
};

static void see(const struct ty_run *run, void *arg)
{
    struct ty_figures figures;
    ty_run_numbers(run, &figures);
    *(double *)arg = figures.step_s;
}

/* "cluster.derate=1.31", a deviation off, but within what the key may be. */
static void moved_set(const struct ty_uncertain_key *key, bool up, char *set, size_t size)
{
    char number[TY_JSON_NUMBER];
    double value = key->value * exp(up ? key->error : -key->error);
    value = fmax(value, key->field->min);
    value = key->field->max > 0 ? fmin(value, key->field->max) : value;
    snprintf(set, size, "%s=%s %s", key->name, ty_json_number(value, number),
             ty_dimension_base(key->field->dim));
}

static bool move_one(void *arg, uint32_t i)
{
    struct moves *m = arg;
    char set[160];
    const char *sets[2];
    size_t n = 0;
    if (i > 0) {
        moved_set(&m->uncertain->key[(i - 1) / 2], i % 2 == 0, set, sizeof(set));
        sets[n++] = set;
    }
    if (m->extra != NULL) {
        sets[n++] = m->extra;
    }
    struct ty_err *err = ty_err_new();
    const int rc =
        err == NULL ? TY_ENOMEM : ty_row_run(m->rows, m->row, sets, n, see, &m->step_s[i], err);
    if (rc < 0) {
        char message[TY_ROW_MESSAGE] = "memory is exhausted";
        if (err != NULL) {
            ty_row_message(err, message);
        }
        pthread_mutex_lock(&m->lock);
        if (i < m->failed) {
            m->failed = i;
            ty_err_init(m->err);
            ty_fail(m->err, rc, "%s%s%s%s", i > 0 ? "with " : "", i > 0 ? set : "",
                    i > 0 ? ": " : "", message);
        }
        pthread_mutex_unlock(&m->lock);
    }
    ty_err_free(err);
    return rc == 0;
}

/* What moving the values did: a value that may not go further to one side has done all it can, and
 * one that makes steps faster either way does nothing to the slow end. */
static void take_moves(struct ty_band *band, const double *step_s)
{
    band->step_s = step_s[0];
    for (uint32_t k = 0; k < band->n; k++) {
        struct ty_band_key *key = &band->key[k];
        key->down_s = step_s[2 * k + 1];
        key->up_s = step_s[2 * k + 2];
        const double down = -log(key->down_s / band->step_s), up = log(key->up_s / band->step_s);
        key->move = (up + down) / 2;
        key->slow = key->move > 0 ? fmax(0, up) : fmin(0, down);
        key->fast = key->move > 0 ? fmax(0, down) : fmin(0, up);
    }
}

/* The variance of a sum of moves, each at `offset` in its key. */
static double variance_of(const struct ty_band *band, size_t offset)
{
    double sum =
        band->scatter.each * band->scatter.each + band->scatter.shared * band->scatter.shared;
    for (uint32_t a = 0; a < band->n; a++) {
        for (uint32_t b = 0; b < band->n; b++) {
            const double x = *(const double *)(const void *)((const char *)&band->key[a] + offset);
            const double y = *(const double *)(const void *)((const char *)&band->key[b] + offset);
            sum += x * band->correlation[(size_t)a * band->n + b] * y;
        }
    }
    return fmax(0, sum);
}

/* Variance, and whose part is how large. */
static void add_up(struct ty_band *band)
{
    const double sum = variance_of(band, offsetof(struct ty_band_key, move));
    band->deviation = sqrt(sum);
    band->slow = sqrt(variance_of(band, offsetof(struct ty_band_key, slow)));
    band->fast = sqrt(variance_of(band, offsetof(struct ty_band_key, fast)));
    for (uint32_t a = 0; a < band->n && sum > 0; a++) {
        double with = 0;
        for (uint32_t b = 0; b < band->n; b++) {
            with += band->correlation[(size_t)a * band->n + b] * band->key[b].move;
        }
        band->key[a].share = band->key[a].move * with / sum;
    }
}

/* What may be off, out of the configuration of the row, which does not stay. */
static int read_uncertain(struct ty_band *band, const struct ty_row_source *rows, uint32_t row,
                          struct ty_uncertain *u, struct ty_arena *arena, struct ty_err *err)
{
    struct ty_config *config = NULL;
    struct ty_worker *worker = ty_worker_acquire(rows->workers);
    int rc = worker == NULL ? ty_fail_memory(err)
                            : ty_row_read(rows, worker, row, NULL, 0, &config, err);
    rc = rc < 0 ? rc : ty_uncertain_read(config, u, arena, err);
    if (rc == 0) {
        double *correlation = ty_arena_array(arena, double, (size_t)u->n * u->n + 1);
        *band = (struct ty_band){.n = u->n,
                                 .correlation = correlation,
                                 .scatter = ty_scatter_of(config),
                                 .model = ty_config_section_digest(config, TY_SECTION_MODEL),
                                 .cluster = ty_config_section_digest(config, TY_SECTION_CLUSTER),
                                 .apart = config->uncertainty.layout_scatter};
        band->key = ty_arena_array(arena, struct ty_band_key, (size_t)u->n + 1);
        rc = band->key == NULL || correlation == NULL ? ty_fail_memory(err) : 0;
        for (uint32_t k = 0; k < u->n && rc == 0; k++) {
            band->key[k].is = u->key[k];
            memcpy(&correlation[(size_t)k * u->n], u->correlation[k], u->n * sizeof(double));
        }
    }
    ty_config_free(config);
    if (worker != NULL) {
        ty_worker_release(rows->workers, worker);
    }
    return rc;
}

int ty_band_find(struct ty_band *band, const struct ty_row_source *rows, uint32_t row,
                 const char *extra, uint32_t jobs, struct ty_arena *arena, struct ty_err *err)
{
    struct ty_uncertain *u = calloc(1, sizeof(*u));
    struct ty_err *first = ty_err_new();
    int rc = u == NULL || first == NULL ? ty_fail_memory(err)
                                        : read_uncertain(band, rows, row, u, arena, err);
    if (rc == 0) {
        const uint32_t n = 2 * u->n + 1;
        struct moves m = {.rows = rows,
                          .row = row,
                          .extra = extra,
                          .uncertain = u,
                          .step_s = ty_arena_array(arena, double, n),
                          .failed = UINT32_MAX,
                          .err = first};
        rc = m.step_s == NULL ? ty_fail_memory(err) : 0;
        if (rc == 0) {
            pthread_mutex_init(&m.lock, NULL);
            ty_pool_run(0, n, jobs, move_one, &m);
            pthread_mutex_destroy(&m.lock);
            rc = first->code < 0 ? ty_fail(err, first->code, "%s", first->text) : 0;
        }
        if (rc == 0) {
            take_moves(band, m.step_s);
            add_up(band);
        }
    }
    ty_err_free(first);
    free(u);
    return rc;
}

struct ty_band_ends ty_band_ends(const struct ty_band *band, double time_s)
{
    return (struct ty_band_ends){.fast_s = time_s * exp(-TY_BAND_HALF * band->fast),
                                 .slow_s = time_s * exp(TY_BAND_HALF * band->slow)};
}

/* The same value, off for the same reason. */
static const struct ty_band_key *find(const struct ty_band *band, const struct ty_band_key *key)
{
    for (uint32_t k = 0; k < band->n; k++) {
        if (strcmp(band->key[k].is.name, key->is.name) == 0 &&
            strcmp(band->key[k].is.why, key->is.why) == 0) {
            return &band->key[k];
        }
    }
    return NULL;
}

/* The variance of the logarithm of a step over another. */
static double variance_apart(const struct ty_band *a, const struct ty_band *than)
{
    const bool one_job = a->model == than->model && a->cluster == than->cluster;
    const double x = one_job ? fmin(a->scatter.each, a->apart) : a->scatter.each;
    const double y = one_job ? fmin(than->scatter.each, than->apart) : than->scatter.each;
    double variance = x * x + y * y;
    double apart[TY_UNCERTAIN_KEYS];
    if (a->model != than->model) {
        variance +=
            a->scatter.shared * a->scatter.shared + than->scatter.shared * than->scatter.shared;
    }
    for (uint32_t k = 0; k < a->n; k++) {
        const struct ty_band_key *other = find(than, &a->key[k]);
        apart[k] = a->key[k].move - (other != NULL ? other->move : 0);
    }
    for (uint32_t k = 0; k < than->n; k++) { /* what only the other one has */
        const double move = than->key[k].move;
        variance += find(a, &than->key[k]) == NULL ? move * move : 0;
    }
    for (uint32_t i = 0; i < a->n; i++) {
        for (uint32_t k = 0; k < a->n; k++) {
            variance += apart[i] * a->correlation[(size_t)i * a->n + k] * apart[k];
        }
    }
    return fmax(0, variance);
}

double ty_band_faster(const struct ty_band *a, const struct ty_band *than, double ahead)
{
    const double variance = variance_apart(a, than);
    if (!(variance > 0)) { /* nothing is uncertain */
        return ahead > 0 ? 0 : ahead < 0 ? 1 : 0.5;
    }
    return gsl_cdf_ugaussian_Q(ahead / sqrt(variance));
}

struct ty_band_gap ty_band_gap(const struct ty_band *a, const struct ty_band *than, double ahead)
{
    const double half = TY_BAND_HALF * sqrt(variance_apart(a, than));
    return (struct ty_band_gap){exp(ahead - half) - 1, exp(ahead + half) - 1,
                                ty_band_faster(a, than, ahead)};
}

void ty_band_line(struct ty_text *t, const char *name, const struct ty_band_ends *step,
                  const struct ty_band_gap *gap)
{
    const size_t begun = t->len;
    char fast[32], slow[32];
    ty_text_add(t, "%s%s to %s", name, ty_words_seconds(step->fast_s, fast, sizeof(fast)),
                ty_words_seconds(step->slow_s, slow, sizeof(slow)));
    while (gap != NULL && t->len < begun + 34 && !t->failed) {
        ty_text_add(t, " ");
    }
    if (gap != NULL) {
        ty_text_add(t, "%+.2f %% to %+.2f %%, %s: p = %.*f", 100 * gap->low, 100 * gap->high,
                    !ty_band_told_apart(gap) ? "not significant"
                    : gap->faster > 0.5      ? "faster"
                                             : "slower",
                    ty_band_told_apart(gap) ? 4 : 2, gap->faster);
    }
    ty_text_add(t, "\n");
}

void ty_band_members(struct ty_json *j, const struct ty_band_ends *step,
                     const struct ty_band_gap *gap)
{
    if (step != NULL) {
        ty_json_real(j, "step_low_s", step->fast_s);
        ty_json_real(j, "step_high_s", step->slow_s);
    }
    if (gap != NULL) {
        ty_json_real(j, "gap_low", gap->low);
        ty_json_real(j, "gap_high", gap->high);
        ty_json_real(j, "faster", gap->faster);
        ty_json_bool(j, "told_apart", ty_band_told_apart(gap));
    }
}

int ty_band_alone(struct ty_band *band, struct ty_row_source *rows, const char *set,
                  uint32_t threads, const volatile int *stop, struct ty_arena *arena,
                  struct ty_err *err)
{
    const struct ty_sweep_table none = {.remark = NULL};
    struct ty_memory_semaphore gate;
    struct ty_worker_pool workers;
    rows->table = &none;
    rows->gate = &gate;
    rows->workers = &workers;
    ty_memory_semaphore_init(&gate);
    gate.stop = stop;
    ty_worker_pool_init(&workers, &rows->source);
    const int rc = ty_band_find(band, rows, 0, set, threads, arena, err);
    ty_worker_pool_release(&workers);
    ty_memory_semaphore_release(&gate);
    return rc;
}

int ty_run_uncertain(struct ty_run *run, const struct ty_source *source, struct ty_err *err)
{
    struct ty_row_source rows = {.source = *source};
    if (ty_run_check_model(run, "a band", err) < 0) {
        return TY_EUSAGE;
    }
    if (!run->executed) {
        return ty_fail(err, TY_EUSAGE, "a band needs an executed run");
    }
    if (strcmp(source->path, "-") == 0) {
        return ty_fail(err, TY_EUSAGE,
                       "--uncertain reads its run file many times; write a file instead of -");
    }
    struct ty_band *band = ty_arena_array(&run->arena, struct ty_band, 1);
    if (band == NULL) {
        return ty_fail_memory(err);
    }
    const char *engine = run->sharing == TY_SHARING_ESTIMATED ? "run.engine=sweep" : NULL;
    const int rc =
        ty_band_alone(band, &rows, engine, run->threads, run->progress.stop, &run->arena, err);
    run->band = rc == 0 ? band : NULL;
    return rc;
}
