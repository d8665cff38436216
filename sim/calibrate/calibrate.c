/* calibrate.c - `trainyard calibrate`: keys of the run file from measured times.
 *
 * Every observation is put to the model as it stands, the keys are fitted to all of them, and
 * then once more without each group of rows, which are predicted by that fit: the error on a group
 * that was left out is what to expect of a new one, the training error is not. What is reported is
 * computed with the values of the overlay, so that a run with it gives the same figures. */
#include "sim/calibrate/calibrate.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/base/text.h"
#include "sim/sweep/inputs.h"

static void TY_PRINTF(2, 3) tell(const struct ty_calibration *c, const char *format, ...)
{
    char line[160];
    va_list args;
    if (c->options->progress != NULL) {
        va_start(args, format);
        ty_vsnprintf(line, sizeof(line), format, args);
        va_end(args);
        c->options->progress(c->options->progress_arg, line);
    }
}

/* ---- errors ---- */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The share q of sorted values, between neighbours where it falls between them. */
static double quantile(const double *sorted, uint32_t n, double q)
{
    const double at = q * (n - 1);
    const uint32_t i = (uint32_t)at;
    return i + 1 < n ? sorted[i] + (at - i) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

int ty_cal_error_of(const struct ty_calibration *c, size_t offset, uint32_t group,
                    struct ty_cal_error *out)
{
    double *size = calloc((size_t)c->n_rows + 1, sizeof(*size));
    *out = (struct ty_cal_error){.n = 0};
    if (size == NULL) {
        return ty_fail_memory(c->err);
    }
    for (uint32_t i = 0; i < c->n_rows; i++) {
        const struct ty_cal_row *row = &c->rows[i];
        if (group == UINT32_MAX || row->group == group) {
            const double simulated = *(const double *)(const void *)((const char *)row + offset);
            const double off = simulated / row->measured_s - 1;
            size[out->n++] = fabs(off);
            out->bias += off;
            out->mape += fabs(off);
        }
    }
    if (out->n > 0) {
        qsort(size, out->n, sizeof(*size), ascending);
        out->bias /= out->n;
        out->mape /= out->n;
        out->median = quantile(size, out->n, 0.5);
        out->p90 = quantile(size, out->n, 0.9);
    }
    free(size);
    return 0;
}

/* ---- fitting ---- */

/* Times of the rows of one fold, or of all, at a point. */
static int predict_into(struct ty_calibration *c, const double *point, uint32_t fold, size_t offset)
{
    uint32_t *rows = calloc((size_t)c->n_rows + 1, sizeof(*rows));
    double *times = calloc((size_t)c->n_rows + 1, sizeof(*times));
    uint32_t n = 0;
    int rc = rows == NULL || times == NULL ? ty_fail_memory(c->err) : 0;
    for (uint32_t i = 0; i < c->n_rows && rc == 0; i++) {
        if (fold == UINT32_MAX || c->rows[i].fold == fold) {
            rows[n++] = c->rows[i].row;
        }
    }
    if (rc == 0) {
        rc = ty_cal_predict(c, rows, n, point, 1, times, c->err);
    }
    n = 0;
    for (uint32_t i = 0; i < c->n_rows && rc == 0; i++) {
        if (fold == UINT32_MAX || c->rows[i].fold == fold) {
            *(double *)(void *)((char *)&c->rows[i] + offset) = times[n++];
        }
    }
    free(rows);
    free(times);
    return rc;
}

static int fit_once(struct ty_calibration *c, const double *from)
{
    struct ty_fit_problem problem;
    tell(c, "fitting %u keys to %u %s", (unsigned)c->n_keys, (unsigned)c->n_rows, c->source->rows);
    int rc = ty_cal_problem(c, UINT32_MAX, &problem);
    if (rc == 0) {
        rc = ty_fit_run(&c->fit, &problem, from, c->err);
    }
    return rc < 0 ? rc : ty_fit_errors(&c->fit, &problem, NULL, c->err);
}

/* The key the data say least about, of those that are not identified; n_keys: none. */
static uint32_t least_known(const struct ty_calibration *c)
{
    double most = 0;
    uint32_t found = c->n_keys;
    for (uint32_t k = 0; k < c->n_keys; k++) {
        const bool bound = c->fit.at_low[k] || c->fit.at_high[k];
        /* of equals, such as two that act together only, the less important */
        if (!bound && c->fit.data_error[k] > ty_cal_limit(c, k) && c->fit.data_error[k] >= most) {
            most = c->fit.data_error[k];
            found = k;
        }
    }
    return found;
}

/* Of all keys that could matter, if nobody named some, those stay as they are that the data do not
 * identify: the least known goes first, as others may be known without it. */
static int fit_all(struct ty_calibration *c)
{
    double point[TY_FIT_MAX];
    int rc = fit_once(c, NULL);
    while (rc == 0 && c->chosen && c->source->keys_are_all && c->n_keys > 1) {
        const uint32_t k = least_known(c);
        if (k == c->n_keys) {
            break;
        }
        memcpy(point, c->fit.value, sizeof(point));
        memmove(&point[k], &point[k + 1], (c->n_keys - k - 1) * sizeof(point[0]));
        c->unidentified[c->n_unidentified++] = c->key[k].name;
        ty_cal_drop(c, k);
        rc = fit_once(c, point);
    }
    for (uint32_t k = 0; k < c->n_keys && rc == 0; k++) {
        rc = ty_cal_key_round(&c->key[k], c->fit.value[k], c->err);
        point[k] = c->key[k].value;
    }
    return rc < 0 ? rc : predict_into(c, point, UINT32_MAX, offsetof(struct ty_cal_row, after_s));
}

/* Each fold predicted by a fit of the others, unless one of these would have too few rows. */
static int leave_out(struct ty_calibration *c)
{
    uint32_t n_in[TY_CAL_FOLDS] = {0};
    for (uint32_t i = 0; i < c->n_rows; i++) {
        n_in[c->rows[i].fold]++;
    }
    for (uint32_t f = 0; f < c->n_folds && c->options->prior <= 0; f++) {
        c->n_folds = c->n_rows - n_in[f] < c->n_keys ? 0 : c->n_folds;
    }
    int rc = 0;
    for (uint32_t f = 0; f < c->n_folds && c->n_folds > 1 && rc == 0; f++) {
        struct ty_fit_problem problem;
        struct ty_fit fit;
        tell(c, "leaving out groups: fit %u of %u", (unsigned)f + 1, (unsigned)c->n_folds);
        rc = ty_cal_problem(c, f, &problem);
        problem.noise = c->fit.noise;
        if (rc == 0) {
            rc = ty_fit_run(&fit, &problem, c->fit.value, c->err);
        }
        if (rc == 0) {
            rc = predict_into(c, fit.value, f, offsetof(struct ty_cal_row, left_out_s));
        }
    }
    return rc;
}

/* What rows are off by, alone and in groups, and standard errors that know of it. */
static int find_scatter(struct ty_calibration *c)
{
    const size_t n = (size_t)c->n_rows + 1;
    uint32_t *group = ty_arena_array(&c->arena, uint32_t, n);
    uint32_t *fold = ty_arena_array(&c->arena, uint32_t, n);
    double *out = ty_arena_array(&c->arena, double, n);
    struct ty_fit_problem problem;
    if (group == NULL || fold == NULL || out == NULL) {
        return ty_fail_memory(c->err);
    }
    for (uint32_t i = 0; i < c->n_rows; i++) {
        group[i] = c->rows[i].group;
        fold[i] = c->rows[i].fold;
        out[i] = c->rows[i].left_out_s;
    }
    const struct ty_fit_groups groups = {.group = group,
                                         .fold = fold,
                                         .n_groups = c->n_groups,
                                         .n_folds = c->n_folds,
                                         .left_out = c->n_folds > 1 ? out : NULL};
    const int rc = ty_cal_problem(c, UINT32_MAX, &problem); /* in the order of c->rows */
    return rc < 0 ? rc : ty_fit_errors(&c->fit, &problem, &groups, c->err);
}

static int judge(struct ty_calibration *c)
{
    int rc = ty_cal_error_of(c, offsetof(struct ty_cal_row, before_s), UINT32_MAX, &c->before);
    if (rc == 0) {
        rc = ty_cal_error_of(c, offsetof(struct ty_cal_row, after_s), UINT32_MAX, &c->after);
    }
    if (c->n_folds > 1 && rc == 0) {
        rc = ty_cal_error_of(c, offsetof(struct ty_cal_row, left_out_s), UINT32_MAX, &c->left_out);
    }
    return rc;
}

/* ---- all of it ---- */

static int check_options(const struct ty_calibrate_options *o, struct ty_err *err)
{
    if (strcmp(o->source.path, "-") == 0) {
        return ty_fail(err, TY_EUSAGE,
                       "a calibration reads its run file many times; write a file instead of -");
    }
    const int given = (o->rows != NULL) + (o->operators != NULL) + (o->collectives != NULL);
    if (given != 1) {
        return ty_fail(err, TY_EUSAGE,
                       "%s; give --rows CSV with "
                       "--measured COLUMN (step times), --operators CSV (kernels), or "
                       "--collectives LOG,LOG (nccl-tests)",
                       given == 0 ? "no measurements are given"
                                  : "several kinds of measurements are given");
    }
    if (o->rows != NULL && o->measured == NULL) {
        return ty_fail(err, TY_EUSAGE,
                       "--rows needs --measured COLUMN: the one that says how long steps took");
    }
    if (o->rows == NULL && (o->measured != NULL || o->group != NULL)) {
        return ty_fail(err, TY_EUSAGE,
                       "--%s: a column of --rows, which is not given; give --rows CSV, too",
                       o->measured != NULL ? "measured" : "group");
    }
    const int rc = o->stats == NULL ? 0 : ty_run_report_check(o->stats, err);
    return rc < 0 || o->rows != NULL ? rc : ty_config_spares(&o->source, o->output, err);
}

static int write_texts(const struct ty_calibration *c, char **report, char **overlay)
{
    struct ty_text one = {.data = NULL}, two = {.data = NULL};
    if (c->options->stats != NULL && strcmp(c->options->stats, "json") == 0) {
        ty_cal_report_json(c, &one);
    } else {
        ty_cal_report(c, &one);
    }
    ty_cal_overlay(c, &two);
    *report = ty_text_take(&one);
    *overlay = ty_text_take(&two);
    if (*report == NULL || *overlay == NULL) {
        ty_text_free(*report);
        ty_text_free(*overlay);
        *report = *overlay = NULL;
        return ty_fail_memory(c->err);
    }
    return 0;
}

/* Reads the measurements, simulates them once, fits, and judges what came out. */
static int calibrate(struct ty_calibration *c)
{
    int rc = c->source->read(c);
    c->title = rc == 0 ? c->source->title(c) : NULL;
    rc = rc == 0 && c->title == NULL ? ty_fail_memory(c->err) : rc;
    if (rc == 0) {
        rc = ty_cal_keys(c);
    }
    if (rc < 0) {
        return rc;
    }
    tell(c, "simulating %u %s", (unsigned)(c->n_observed - c->n_empty), c->source->rows);
    rc = ty_cal_first_pass(c);
    if (rc == 0) {
        rc = ty_cal_choose(c);
    }
    if (rc == 0) {
        rc = fit_all(c);
    }
    if (rc == 0) {
        rc = ty_cal_demands(c);
    }
    if (rc == 0) {
        rc = leave_out(c);
    }
    if (rc == 0) {
        rc = find_scatter(c);
    }
    return rc < 0 ? rc : judge(c);
}

int ty_calibrate(const struct ty_calibrate_options *options, char **report, char **overlay,
                 struct ty_err *err)
{
    *report = *overlay = NULL;
    int rc = check_options(options, err);
    if (rc < 0) {
        return rc;
    }
    struct ty_calibration *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        return ty_fail_memory(err);
    }
    c->options = options;
    c->err = err;
    c->source = &ty_cal_steps;
    if (options->operators != NULL) {
        c->source = &ty_cal_operators;
    } else if (options->collectives != NULL) {
        c->source = &ty_cal_collectives;
    }
    rc = calibrate(c);
    if (rc == 0) {
        rc = write_texts(c, report, overlay);
    }
    if (c->data != NULL && c->source->forget != NULL) {
        c->source->forget(c);
    }
    ty_arena_release(&c->arena);
    free(c);
    return rc;
}
