/* calibrate_rows.c - the measured rows of a calibration, and running them. */
#include "sim/run/calibrate.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/json.h"
#include "sim/base/pool.h"

#define NAMES_MAX 256u /* columns looked at for a hint */

/* ---- columns ---- */

static int find_column(const struct ty_calibration *c, const char *option, const char *name,
                       uint32_t *column)
{
    const struct ty_csv *csv = &c->table.csv;
    const char *names[NAMES_MAX];
    uint32_t n = 0;
    for (uint32_t k = 0; k < csv->n_columns; k++) {
        if (strcmp(ty_csv_header(csv, k), name) == 0) {
            *column = k;
            return 0;
        }
        if (n < NAMES_MAX) {
            names[n++] = ty_csv_header(csv, k);
        }
    }
    const char *near = ty_nearest(name, names, n);
    ty_fail(c->err, TY_EUSAGE, "%s %.80s: %s has no such column", option, name, c->options->rows);
    if (near != NULL) {
        ty_hint(c->err, "did you mean \"%s\"?", near);
    }
    return TY_EUSAGE;
}

/* A measured time: seconds, or a number with a unit of time. */
static int read_time(const struct ty_calibration *c, uint32_t row, double *out)
{
    const char *cell = ty_csv_cell(&c->table.csv, row, c->measured_column);
    char why[256];
    if (ty_quantity_parse(cell, TY_DIM_COUNT, out, why, sizeof(why)) != 0 &&
        ty_quantity_parse(cell, TY_DIM_SECONDS, out, why, sizeof(why)) != 0) {
        return ty_fail(c->err, TY_EINPUT,
                       "%s: row %u: %s: not a time (%.40s); write seconds, such as 21.3, or "
                       "21300 ms, or leave it empty",
                       c->options->rows, (unsigned)row + 2, c->options->measured, cell);
    }
    if (*out <= 0) {
        return ty_fail(c->err, TY_EINPUT,
                       "%s: row %u: %s: not above zero (%.40s); leave a run without a time empty",
                       c->options->rows, (unsigned)row + 2, c->options->measured, cell);
    }
    return 0;
}

static int read_times(struct ty_calibration *c)
{
    int code = 0;
    const uint32_t n = c->table.csv.n_rows;
    c->measured = ty_arena_array(&c->arena, double, (size_t)n + 1);
    c->rows = ty_arena_array(&c->arena, struct ty_cal_row, (size_t)n + 1);
    if (c->measured == NULL || c->rows == NULL) {
        return ty_fail(c->err, TY_ENOMEM, "memory is exhausted");
    }
    for (uint32_t row = 0; row < n; row++) {
        const char *cell = ty_csv_cell(&c->table.csv, row, c->measured_column);
        if (cell[strspn(cell, " \t")] == '\0') {
            c->n_empty++;
            continue;
        }
        const int rc = read_time(c, row, &c->measured[row]);
        code = code < 0 ? code : rc;
    }
    if (code == 0 && c->n_empty == n) {
        code = ty_fail(c->err, TY_EINPUT, "%s: no row has a time in column %s", c->options->rows,
                       c->options->measured);
    }
    return code;
}

int ty_cal_read(struct ty_calibration *c)
{
    const struct ty_calibrate_options *o = c->options;
    int rc = ty_sweep_table(&c->table, o->rows, NULL, 0, &c->arena, c->err);
    rc = rc < 0 ? rc : find_column(c, "--measured", o->measured, &c->measured_column);
    if (rc == 0 && c->table.is_key[c->measured_column]) {
        rc = ty_fail(c->err, TY_EUSAGE,
                     "--measured %s: a key of the run file; name the column of measured step times",
                     o->measured);
    }
    c->group_column = UINT32_MAX;
    rc = rc < 0 || o->group == NULL ? rc : find_column(c, "--group", o->group, &c->group_column);
    return rc < 0 ? rc : read_times(c);
}

/* ---- groups ---- */

/* What the rows of a group have in common: a cell, or all cells of model.*. */
static const char *group_name(struct ty_calibration *c, uint32_t row)
{
    const struct ty_csv *csv = &c->table.csv;
    if (c->group_column != UINT32_MAX) {
        return ty_csv_cell(csv, row, c->group_column);
    }
    const char *name = "";
    for (uint32_t k = 0; k < csv->n_columns && name != NULL; k++) {
        if (c->table.is_key[k] && strncmp(ty_csv_header(csv, k), "model.", 6) == 0) {
            name = ty_arena_printf(&c->arena, "%s%s%s", name, name[0] != '\0' ? " " : "",
                                   ty_csv_cell(csv, row, k));
        }
    }
    return name;
}

static int set_groups(struct ty_calibration *c)
{
    c->group = ty_arena_array(&c->arena, const char *, (size_t)c->n_rows + 1);
    for (uint32_t i = 0; i < c->n_rows; i++) {
        const char *name = c->group != NULL ? group_name(c, c->rows[i].row) : NULL;
        if (name == NULL) {
            return ty_fail(c->err, TY_ENOMEM, "memory is exhausted");
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
        double step_s; /* 0: could not run */
        double start[TY_FIT_MAX];
        uint64_t seed;
        const char *message;
    } * result; /* [rows of the table] */
    pthread_mutex_t lock;
    bool no_memory;
};

struct look {
    struct first *first;
    uint32_t row;
};

static void see_start(const struct ty_run *run, void *arg)
{
    const struct look *look = arg;
    const struct ty_calibration *c = look->first->c;
    struct ty_figures figures;
    ty_run_figures(run, &figures);
    for (uint32_t k = 0; k < c->n_keys; k++) {
        const struct ty_section *section = &run->config->sections[c->key[k].section];
        look->first->result[look->row].start[k] =
            *(const double *)(const void *)((const char *)section->base + c->key[k].field->offset);
    }
    look->first->result[look->row].seed = run->config->run.seed;
    look->first->result[look->row].step_s = figures.step_s;
}

static bool first_row(void *arg, uint32_t row)
{
    struct first *first = arg;
    struct ty_calibration *c = first->c;
    struct look look = {first, row};
    struct ty_err *err = c->measured[row] > 0 ? ty_err_new() : NULL;
    if (c->measured[row] <= 0) {
        return true;
    }
    const int rc =
        err == NULL ? TY_ENOMEM : ty_row_run(&c->source, row, NULL, 0, see_start, &look, err);
    if (rc < 0) {
        char message[TY_ROW_MESSAGE] = "";
        if (err != NULL) {
            ty_row_message(err, message);
        }
        pthread_mutex_lock(&first->lock);
        first->result[row].message =
            ty_arena_printf(&c->arena, "row %u: %s", (unsigned)row + 2, message);
        first->no_memory =
            first->no_memory || rc == TY_ENOMEM || first->result[row].message == NULL;
        pthread_mutex_unlock(&first->lock);
    }
    ty_err_free(err);
    return rc != TY_ENOMEM;
}

/* Where keys start; all rows must agree, for one value has to serve them all. */
static int set_starts(struct ty_calibration *c, const struct first *first)
{
    for (uint32_t k = 0; k < c->n_keys; k++) {
        struct ty_cal_key *key = &c->key[k];
        for (uint32_t i = 0; i < c->n_rows; i++) {
            const double start = first->result[c->rows[i].row].start[k];
            if (i > 0 && start != key->start) {
                char a[64], b[64];
                return ty_fail(c->err, TY_EINPUT,
                               "%s: starts at %s in row %u and at %s in row %u; calibrate one "
                               "machine and framework at a time",
                               key->name,
                               ty_quantity_format(key->start, key->field->dim, a, sizeof(a)),
                               (unsigned)c->rows[0].row + 2,
                               ty_quantity_format(start, key->field->dim, b, sizeof(b)),
                               (unsigned)c->rows[i].row + 2);
            }
            key->start = key->value = start;
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
    for (uint32_t row = 0; row < c->table.csv.n_rows; row++) {
        if (c->measured[row] <= 0) {
            continue;
        }
        const double step_s = first->result[row].step_s;
        if (step_s > 0) {
            c->seed = first->result[row].seed;
            c->rows[c->n_rows++] =
                (struct ty_cal_row){.row = row, .measured_s = c->measured[row], .before_s = step_s};
        } else {
            c->n_failed++;
            keep_message(c, first->result[row].message);
        }
    }
    if (c->n_rows > 0) {
        return 0;
    }
    ty_fail(c->err, TY_EINPUT, "%s: no row with a time can be simulated", c->options->rows);
    for (uint32_t i = 0; i < c->n_shown; i++) {
        ty_hint(c->err, "%s", c->failed[i]);
    }
    return TY_EINPUT;
}

int ty_cal_first_pass(struct ty_calibration *c)
{
    struct first first = {.c = c};
    first.result =
        ty_arena_alloc(&c->arena, (size_t)c->table.csv.n_rows + 1, sizeof(*first.result));
    if (first.result == NULL) {
        return ty_fail(c->err, TY_ENOMEM, "memory is exhausted");
    }
    pthread_mutex_init(&first.lock, NULL);
    ty_pool_run(0, c->table.csv.n_rows, c->options->jobs, first_row, &first);
    pthread_mutex_destroy(&first.lock);
    if (first.no_memory) {
        return ty_fail(c->err, TY_ENOMEM, "memory is exhausted");
    }
    int rc = collect(c, &first);
    rc = rc < 0 ? rc : set_starts(c, &first);
    return rc < 0 ? rc : set_groups(c);
}

/* ---- predictions ---- */

struct batch {
    const struct ty_calibration *c;
    const uint32_t *rows;
    uint32_t n_rows;
    const double *points; /* [n_points][n_keys] */
    double *times;        /* [n_points][n_rows] */
    pthread_mutex_t lock;
    uint32_t failed; /* piece whose message is in err, or UINT32_MAX */
    int code;
    struct ty_err *err;
};

static void see_time(const struct ty_run *run, void *arg)
{
    struct ty_figures figures;
    ty_run_figures(run, &figures);
    *(double *)arg = figures.step_s;
}

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

static bool predict_one(void *arg, uint32_t piece)
{
    struct batch *b = arg;
    const struct ty_calibration *c = b->c;
    const double *point = b->points + (size_t)(piece / b->n_rows) * c->n_keys;
    const uint32_t row = b->rows[piece % b->n_rows];
    char text[TY_FIT_MAX][160];
    const char *sets[TY_FIT_MAX];
    struct ty_err *err = ty_err_new();
    int rc = err == NULL ? TY_ENOMEM : point_sets(c, point, text, sets);
    rc =
        rc < 0 ? rc : ty_row_run(&c->source, row, sets, c->n_keys, see_time, &b->times[piece], err);
    if (rc < 0) {
        char message[TY_ROW_MESSAGE] = "memory is exhausted";
        if (err != NULL) {
            ty_row_message(err, message);
        }
        pthread_mutex_lock(&b->lock);
        if (piece < b->failed) {
            b->failed = piece;
            b->code = rc;
            *b->err = (struct ty_err)TY_ERR_NONE;
            ty_fail(b->err, rc, "row %u, while fitting: %s", (unsigned)row + 2, message);
        }
        pthread_mutex_unlock(&b->lock);
    }
    ty_err_free(err);
    return rc == 0;
}

int ty_cal_predict(void *arg, const uint32_t *rows, uint32_t n_rows, const double *points,
                   uint32_t n_points, double *times, struct ty_err *err)
{
    const struct ty_calibration *c = arg;
    struct ty_err *first = ty_err_new();
    struct batch b = {.c = c,
                      .rows = rows,
                      .n_rows = n_rows,
                      .points = points,
                      .times = times,
                      .failed = UINT32_MAX,
                      .err = first};
    if (first == NULL) {
        return ty_fail(err, TY_ENOMEM, "memory is exhausted");
    }
    pthread_mutex_init(&b.lock, NULL);
    ty_pool_run(0, n_points * n_rows, c->options->jobs, predict_one, &b);
    pthread_mutex_destroy(&b.lock);
    if (b.code < 0) {
        ty_fail(err, b.code, "%s", first->text);
    }
    ty_err_free(first);
    return b.code;
}
