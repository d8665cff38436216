/* rows.c - the observations of a calibration, and what the model says of them. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/pool.h"
#include "sim/calibrate/calibrate.h"
#include "sim/document/json.h"
#include "sim/sweep/row_run.h"

int ty_cal_room(struct ty_calibration *c, uint32_t n)
{
    c->n_observed = n;
    c->measured = ty_arena_array(&c->arena, double, (size_t)n + 1);
    c->rows = ty_arena_array(&c->arena, struct ty_cal_row, (size_t)n + 1);
    return c->measured != NULL && c->rows != NULL ? 0 : ty_fail_memory(c->err);
}

int ty_cal_locate_keys(const struct ty_calibration *c, const struct ty_config *config,
                       struct ty_cal_stand *stand, struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_uncertain *u = calloc(1, sizeof(*u));
    const int rc = u == NULL ? ty_fail_memory(err) : ty_uncertain_read(config, u, &arena, err);
    for (uint32_t i = 0; rc == 0 && i < u->n; i++) {
        for (uint32_t k = 0; k < c->n_keys; k++) {
            if (strcmp(u->key[i].name, c->key[k].name) == 0) {
                stand->error[k] = u->key[i].error;
            }
        }
    }
    free(u);
    ty_arena_release(&arena);
    for (uint32_t k = 0; k < c->n_keys; k++) {
        const struct ty_section *section = &config->sections[c->key[k].section];
        stand->value[k] =
            *(const double *)(const void *)((const char *)section->base + c->key[k].field->offset);
    }
    stand->seed = config->run.seed;
    return rc;
}

/* ---- groups ---- */

static int set_groups(struct ty_calibration *c)
{
    c->group = ty_arena_array(&c->arena, const char *, (size_t)c->n_rows + 1);
    for (uint32_t i = 0; i < c->n_rows; i++) {
        const char *name = c->group != NULL ? c->source->group(c, c->rows[i].row) : NULL;
        if (name == NULL) {
            return ty_fail_memory(c->err);
        }
        uint32_t g = 0;
        while (g < c->n_groups && strcmp(c->group[g], name) != 0) {
            g++;
        }
        c->group[g] = name;
        c->n_groups = g == c->n_groups ? g + 1 : c->n_groups;
        c->rows[i].group = g;
    }
    c->n_folds = c->n_groups < TY_CAL_FOLDS ? c->n_groups : TY_CAL_FOLDS;
    for (uint32_t i = 0; i < c->n_rows; i++) {
        c->rows[i].fold = c->rows[i].group % c->n_folds;
    }
    return 0;
}

/* ---- the first pass ---- */

struct first {
    struct ty_calibration *c;
    struct {
        double seconds; /* 0: cannot be answered */
        struct ty_cal_stand stand;
        const char *message;
    } * result; /* [n_observed] */
    pthread_mutex_t lock;
    int code; /* of a failure that says nothing about the rows, and its message */
    char message[TY_ROW_MESSAGE];
};

/* Under the lock: the first one counts. */
static void keep_fault(struct first *first, int rc, const char *message)
{
    if (first->code == 0) {
        first->code = rc;
        (void)snprintf(first->message, sizeof(first->message), "%s",
                       rc == TY_ENOMEM ? "memory is exhausted" : message);
    }
}

static void keep_failure(struct first *first, uint32_t row, int rc, const struct ty_err *err)
{
    struct ty_calibration *c = first->c;
    char message[TY_ROW_MESSAGE] = "";
    if (err != NULL) {
        ty_row_message(err, message);
    }
    pthread_mutex_lock(&first->lock);
    const char *name = c->source->name(c, row);
    first->result[row].message =
        name != NULL ? ty_arena_printf(&c->arena, "%s: %s", name, message) : NULL;
    if (first->result[row].message == NULL) {
        keep_fault(first, TY_ENOMEM, NULL);
    } else if (ty_err_is_transient(rc)) {
        keep_fault(first, rc, first->result[row].message);
    }
    pthread_mutex_unlock(&first->lock);
}

static bool first_row(void *arg, uint32_t row)
{
    struct first *first = arg;
    const struct ty_calibration *c = first->c;
    const struct ty_cal_question q = {.rows = &row,
                                      .n_rows = 1,
                                      .seconds = &first->result[row].seconds,
                                      .stand = &first->result[row].stand};
    if (c->measured[row] <= 0) {
        return true;
    }
    struct ty_err *err = ty_err_new();
    const int rc = err == NULL ? TY_ENOMEM : c->source->answer(c, &q, err);
    if (rc < 0) {
        first->result[row].seconds = 0;
        keep_failure(first, row, rc, err);
    }
    ty_err_free(err);
    return !ty_err_is_transient(rc);
}

/* Where keys start; all rows must agree, for one value has to serve them all. */
static int set_starts(struct ty_calibration *c, const struct first *first)
{
    for (uint32_t k = 0; k < c->n_keys; k++) {
        struct ty_cal_key *key = &c->key[k];
        for (uint32_t i = 0; i < c->n_rows; i++) {
            const double start = first->result[c->rows[i].row].stand.value[k];
            if (i > 0 && start != key->start) {
                char a[64], b[64];
                const char *one = c->source->name(c, c->rows[0].row);
                const char *other = c->source->name(c, c->rows[i].row);
                return ty_fail(c->err, TY_EINPUT,
                               "%s: starts at %s in %s and at %s in %s; calibrate one machine and "
                               "framework at a time",
                               key->name,
                               ty_quantity_format(key->start, key->field->dim, a, sizeof(a)),
                               one != NULL ? one : "one row",
                               ty_quantity_format(start, key->field->dim, b, sizeof(b)),
                               other != NULL ? other : "another");
            }
            key->start = key->value = start;
            key->prior = first->result[c->rows[0].row].stand.error[k];
        }
    }
    return 0;
}

/* The first few that differ: a mistake in the run file fails every row. */
static void keep_message(struct ty_calibration *c, const char *message)
{
    bool known = c->n_shown == TY_CAL_SHOWN;
    for (uint32_t i = 0; i < c->n_shown; i++) {
        known = known || strcmp(strchr(c->failed[i], ':'), strchr(message, ':')) == 0;
    }
    if (!known) {
        c->failed[c->n_shown++] = message;
    }
}

static int collect(struct ty_calibration *c, const struct first *first)
{
    for (uint32_t row = 0; row < c->n_observed; row++) {
        if (c->measured[row] <= 0) {
            continue;
        }
        const double seconds = first->result[row].seconds;
        if (seconds > 0) {
            c->seed = first->result[row].stand.seed;
            c->rows[c->n_rows++] = (struct ty_cal_row){
                .row = row, .measured_s = c->measured[row], .before_s = seconds};
        } else {
            c->n_failed++;
            keep_message(c, first->result[row].message);
        }
    }
    if (c->n_rows > 0) {
        return 0;
    }
    ty_fail(c->err, TY_EINPUT, "%s: none of the %s with a time can be simulated", c->title,
            c->source->rows);
    for (uint32_t i = 0; i < c->n_shown; i++) {
        ty_hint(c->err, "%s", c->failed[i]);
    }
    return TY_EINPUT;
}

int ty_cal_first_pass(struct ty_calibration *c)
{
    struct first first = {.c = c};
    first.result = ty_arena_alloc(&c->arena, (size_t)c->n_observed + 1, sizeof(*first.result));
    if (first.result == NULL) {
        return ty_fail_memory(c->err);
    }
    pthread_mutex_init(&first.lock, NULL);
    ty_pool_run(0, c->n_observed, c->options->jobs, first_row, &first);
    pthread_mutex_destroy(&first.lock);
    if (first.code != 0) {
        return ty_fail(c->err, first.code, "%s", first.message);
    }
    int rc = collect(c, &first);
    if (rc == 0) {
        rc = set_starts(c, &first);
    }
    return rc < 0 ? rc : set_groups(c);
}

/* ---- predictions ---- */

struct batch {
    struct ty_calibration *c;
    const uint32_t *rows;
    uint32_t n_rows, n_questions; /* questions of a point */
    const double *points;         /* [n_points][n_keys] */
    double *times;                /* [n_points][n_rows] */
    pthread_mutex_t lock;
    uint32_t failed; /* piece whose message is in err, or UINT32_MAX */
    int code;
    struct ty_err *err;
};

/* Settings of one point, exact to the last bit. */
static int point_sets(const struct ty_calibration *c, const double *point, char (*text)[160],
                      const char **sets)
{
    for (uint32_t k = 0; k < c->n_keys; k++) {
        char number[TY_JSON_NUMBER];
        const int n =
            snprintf(text[k], sizeof(text[k]), "%s=%s %s", c->key[k].name,
                     ty_json_number(point[k], number), ty_dimension_base(c->key[k].field->dim));
        if (n < 0 || (size_t)n >= sizeof(text[k])) {
            return TY_EBUG;
        }
        sets[k] = text[k];
    }
    return 0;
}

static void keep_first_failure(struct batch *b, uint32_t piece, const struct ty_cal_question *q,
                               int rc, const struct ty_err *err)
{
    char message[TY_ROW_MESSAGE] = "memory is exhausted";
    if (err != NULL) {
        ty_row_message(err, message);
    }
    pthread_mutex_lock(&b->lock);
    if (piece < b->failed) {
        const char *name = q->n_rows == 1 ? b->c->source->name(b->c, q->rows[0]) : NULL;
        b->failed = piece;
        b->code = rc;
        ty_err_init(b->err);
        ty_fail(b->err, rc, "%s%swhile fitting: %s", name != NULL ? name : "",
                name != NULL ? ", " : "", message);
    }
    pthread_mutex_unlock(&b->lock);
}

static bool predict_piece(void *arg, uint32_t piece)
{
    struct batch *b = arg;
    const struct ty_calibration *c = b->c;
    const uint32_t point = piece / b->n_questions;
    const uint32_t from = piece % b->n_questions * c->source->rows_asked;
    const uint32_t left = b->n_rows - from;
    char text[TY_FIT_MAX][160];
    const char *sets[TY_FIT_MAX];
    const struct ty_cal_question q = {
        .rows = b->rows + from,
        .n_rows = left < c->source->rows_asked ? left : c->source->rows_asked,
        .sets = sets,
        .n_sets = c->n_keys,
        .seconds = b->times + (size_t)point * b->n_rows + from};
    struct ty_err *err = ty_err_new();
    int rc =
        err == NULL ? TY_ENOMEM : point_sets(c, b->points + (size_t)point * c->n_keys, text, sets);
    if (rc == 0) {
        rc = c->source->answer(c, &q, err);
    }
    if (rc < 0) {
        keep_first_failure(b, piece, &q, rc, err);
    }
    ty_err_free(err);
    return rc == 0;
}

int ty_cal_predict(void *arg, const uint32_t *rows, uint32_t n_rows, const double *points,
                   uint32_t n_points, double *times, struct ty_err *err)
{
    struct ty_calibration *c = arg;
    const uint32_t asked = c->source->rows_asked;
    struct ty_err *first = ty_err_new();
    struct batch b = {.c = c,
                      .rows = rows,
                      .n_rows = n_rows,
                      .n_questions = (n_rows + asked - 1) / asked,
                      .points = points,
                      .times = times,
                      .failed = UINT32_MAX,
                      .err = first};
    if (first == NULL) {
        return ty_fail_memory(err);
    }
    pthread_mutex_init(&b.lock, NULL);
    ty_pool_run(0, n_points * b.n_questions, c->options->jobs, predict_piece, &b);
    pthread_mutex_destroy(&b.lock);
    if (b.code < 0) {
        ty_fail(err, b.code, "%s", first->text);
    }
    ty_err_free(first);
    return b.code;
}
