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
#include "sim/cli_api.h"
#include "sim/sweep/inputs.h"

#define NAMES_MAX  256u /* keys looked at for a hint */
#define DIGITS     5    /* of a value in an overlay: finer than any fit, short to read */
#define OPEN_RANGE 1e3  /* factor on the start where a key has no bound of its own */
#define REACH_NONE 1e-4 /* of log time by log value: an accident of differences */
#define LIMIT      0.5  /* relative error: hardly the order of magnitude is known */

/* ---- names ---- */

static bool is_set(const struct ty_calibration *c, const char *name)
{
    return c->source->sets_key != NULL && c->source->sets_key(c, name);
}

/* No such key; the nearest of all keys that can be fitted is the hint. */
static int unknown_key(struct ty_calibration *c, const struct ty_config *blank, const char *name)
{
    const char *names[NAMES_MAX];
    size_t n = 0;
    for (int i = 0; i < TY_N_SECTIONS; i++) {
        const struct ty_section *section = &blank->sections[i];
        for (uint32_t k = 0; k < section->n_fields && n < NAMES_MAX; k++) {
            if (section->fields[k].type == TY_TYPE_QUANTITY) {
                names[n++] =
                    ty_arena_printf(&c->arena, "%s.%s", section->name, section->fields[k].key);
            }
        }
    }
    const char *near = ty_nearest(name, names, n);
    ty_fail(c->err, TY_EUSAGE, "--fit %.80s: no such key; \"trainyard list keys\" shows all", name);
    if (near != NULL) {
        ty_hint(c->err, "did you mean \"%s\"?", near);
    }
    return TY_EUSAGE;
}

/* Finds "section.key" and refuses what cannot be fitted. */
static int add_key(struct ty_calibration *c, const struct ty_config *blank, const char *name)
{
    enum ty_section_index s;
    const struct ty_field *field = ty_config_field(blank, name, &s);
    if (field == NULL) {
        return unknown_key(c, blank, name);
    }
    if (field->type != TY_TYPE_QUANTITY) {
        return ty_fail(c->err, TY_EUSAGE,
                       "--fit %s: cannot be fitted; name a time, a rate, a share or a factor",
                       name);
    }
    if (is_set(c, name)) {
        return ty_fail(c->err, TY_EUSAGE,
                       "--fit %s: a column of %s sets it row by row; leave out one of the two",
                       name, c->options->rows);
    }
    for (uint32_t k = 0; k < c->n_keys; k++) {
        if (strcmp(c->key[k].name, name) == 0) {
            return ty_fail(c->err, TY_EUSAGE, "--fit %s: named twice; keep one", name);
        }
    }
    if (c->n_keys == TY_FIT_MAX) {
        return ty_fail(c->err, TY_EUSAGE, "--fit: more than %u keys; name fewer", TY_FIT_MAX);
    }
    c->key[c->n_keys++] = (struct ty_cal_key){.name = name, .section = s, .field = field};
    return 0;
}

static int cal_keys(struct ty_calibration *c)
{
    struct ty_config blank;
    int rc = ty_config_init(&blank, c->err);
    const char *list = c->options->fit;
    const bool chosen = list == NULL;
    c->chosen = chosen;
    for (const char *const *key = c->source->keys; chosen && *key != NULL && rc == 0; key++) {
        rc = is_set(c, *key) ? 0 : add_key(c, &blank, *key);
    }
    while (!chosen && rc == 0) {
        const size_t n = strcspn(list, ",");
        const char *name = ty_arena_strndup(&c->arena, list, n);
        rc = name != NULL ? add_key(c, &blank, name) : ty_fail_memory(c->err);
        if (list[n] == '\0') {
            break;
        }
        list += n + 1;
    }
    ty_arena_release(&blank.arena);
    return rc;
}

/* ---- the choice ---- */

/* A positive start inside its bounds, else why not. */
static const char *unfit(const struct ty_cal_key *key)
{
    if (key->start <= 0) {
        return "starts at 0, and a factor on 0 stays 0; set a value with --set";
    }
    return NULL;
}

/* Key k is not fitted any more. */
static void cal_drop(struct ty_calibration *c, uint32_t k)
{
    if (unfit(&c->key[k]) == NULL) {
        c->other[c->n_others++] = c->key[k];
    }
    memmove(&c->key[k], &c->key[k + 1], (c->n_keys - k - 1) * sizeof(c->key[0]));
    c->n_keys--;
}

/* Bounds of the key, or of what is still a plausible multiple of its start. */
static double low_of(const struct ty_cal_key *key)
{
    return key->field->min > 0 ? key->field->min : key->start / OPEN_RANGE;
}

static double high_of(const struct ty_cal_key *key)
{
    return key->field->max > 0 ? key->field->max : key->start * OPEN_RANGE;
}

/* The fit of all rows but those of one fold (UINT32_MAX: all rows). Owned by c->arena. */
static int cal_problem(struct ty_calibration *c, uint32_t without, struct ty_fit_problem *problem)
{
    struct ty_fit_parameter *parameter =
        ty_arena_array(&c->arena, struct ty_fit_parameter, c->n_keys + 1);
    uint32_t *rows = ty_arena_array(&c->arena, uint32_t, (size_t)c->n_rows + 1);
    uint32_t n = 0;
    if (parameter == NULL || rows == NULL) {
        return ty_fail_memory(c->err);
    }
    for (uint32_t k = 0; k < c->n_keys; k++) {
        const struct ty_cal_key *key = &c->key[k];
        parameter[k] = (struct ty_fit_parameter){key->start, low_of(key), high_of(key), key->prior};
    }
    for (uint32_t i = 0; i < c->n_rows; i++) {
        if (c->rows[i].fold != without) {
            rows[n++] = c->rows[i].row;
        }
    }
    *problem = (struct ty_fit_problem){.parameter = parameter,
                                       .n_parameters = c->n_keys,
                                       .rows = rows,
                                       .n_rows = n,
                                       .measured = c->measured,
                                       .prior = c->options->prior,
                                       .predict = ty_cal_predict,
                                       .arg = c};
    return 0;
}

static int choose(struct ty_calibration *c)
{
    bool taken[TY_FIT_MAX], alone[TY_FIT_MAX];
    struct ty_fit_problem problem;
    const bool few = c->n_rows < c->source->rows_for_all;
    for (uint32_t k = c->n_keys; k-- > 0;) {
        if (unfit(&c->key[k]) != NULL || (few && strcmp(c->key[k].name, c->source->keys[0]) != 0)) {
            cal_drop(c, k);
        }
    }
    if (c->n_keys == 0) {
        return ty_fail(c->err, TY_EINPUT, "nothing to fit; name keys with --fit");
    }
    if (few) {
        return 0;
    }
    int rc = cal_problem(c, UINT32_MAX, &problem);
    if (rc == 0) {
        rc = ty_fit_choose(&problem, LIMIT, taken, alone, c->err);
    }
    for (uint32_t k = c->n_keys; k-- > 0 && rc == 0;) {
        if (!taken[k] && c->n_keys > 1) {
            if (alone[k]) { /* it matters, but cannot be told from others */
                c->unidentified[c->n_unidentified++] = c->key[k].name;
            }
            cal_drop(c, k);
        }
    }
    return rc;
}

/* keys.c: the keys of --fit, or all that may be chosen from; then, with starts known, the
 * choice. */
static int cal_choose(struct ty_calibration *c)
{
    if (c->chosen) {
        return choose(c);
    }
    for (uint32_t k = 0; k < c->n_keys; k++) {
        const char *why = unfit(&c->key[k]);
        if (why != NULL) {
            return ty_fail(c->err, TY_EINPUT, "--fit %s: %s", c->key[k].name, why);
        }
    }
    return 0;
}

/* ---- the problem ---- */

double ty_cal_limit(const struct ty_calibration *c, uint32_t k)
{
    const double prior = c->key[k].prior > 0 ? c->key[k].prior : c->options->prior;
    return c->options->prior > 0 ? fmin(prior, LIMIT) : LIMIT;
}

/* ---- what was not chosen ---- */

/* After the fit: whether what is left asks for keys that were not chosen. */
static int cal_demands(struct ty_calibration *c)
{
    struct ty_fit_problem problem;
    const uint32_t n_fitted = c->n_keys;
    if (!c->chosen || c->n_others == 0) {
        return 0;
    }
    memcpy(&c->key[n_fitted], c->other, c->n_others * sizeof(c->key[0]));
    c->n_keys += c->n_others;
    int rc = cal_problem(c, UINT32_MAX, &problem);
    if (rc == 0) {
        rc = ty_fit_demands(&problem, &c->fit, n_fitted, TY_CAL_ALARMS, c->demand, c->left, c->err);
    }
    c->n_keys = n_fitted;
    return rc;
}

/* ---- values ---- */

/* Rounds the fitted value to what the overlay will say. */
static int cal_key_round(struct ty_cal_key *key, double value, struct ty_err *err)
{
    char why[256];
    const double unit = pow(10, floor(log10(value)) - (DIGITS - 1));
    double rounded = round(value / unit) * unit;
    rounded = rounded < key->field->min ? key->field->min : rounded;
    rounded = key->field->max > 0 && rounded > key->field->max ? key->field->max : rounded;
    ty_quantity_format(rounded, key->field->dim, key->text, sizeof(key->text));
    if (ty_quantity_parse(key->text, key->field->dim, &key->value, why, sizeof(why)) != 0) {
        return ty_fail(err, TY_EBUG, "%s: its fitted value is not read back: %s", key->name, why);
    }
    return 0;
}

/* Why the rows do not tell key k: what would have to be measured instead. */
static void why_not(const struct ty_calibration *c, uint32_t k, char *buf, size_t size)
{
    uint32_t like = k;
    for (uint32_t other = 0; other < c->n_keys; other++) {
        const double r = fabs(c->fit.correlation[k][other]);
        if (other != k && r > TY_CAL_ALIKE &&
            (like == k || r > fabs(c->fit.correlation[k][like]))) {
            like = other;
        }
    }
    if (c->fit.reach[k] < REACH_NONE) {
        snprintf(buf, size, "no %s's time depends on it", c->source->one);
    } else if (like != k) {
        snprintf(buf, size, "it moves their times as %s does", c->key[like].name);
    } else {
        ty_snprintf(buf, size,
                    "1 %% of it moves %ss by %.2g %% at most, and they scatter by %.2g %%",
                    c->source->one, c->fit.reach[k], 100 * c->fit.noise);
    }
}

char *ty_cal_remark(const struct ty_calibration *c, uint32_t k, char *buf, size_t size)
{
    const struct ty_cal_key *key = &c->key[k];
    char bound[96];
    buf[0] = '\0';
    if (c->fit.at_low[k] || c->fit.at_high[k]) {
        const double at = c->fit.at_low[k] ? low_of(key) : high_of(key);
        snprintf(buf, size, "at its %s bound (%s): not meaningful",
                 c->fit.at_low[k] ? "lower" : "upper",
                 ty_quantity_format(at, key->field->dim, bound, sizeof(bound)));
    } else if (c->fit.data_error[k] > ty_cal_limit(c, k)) {
        why_not(c, k, bound, sizeof(bound));
        snprintf(buf, size, "not identified by these data: %s", bound);
    }
    return buf;
}

/* ---- a calibration ---- */

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
    int rc = cal_problem(c, UINT32_MAX, &problem);
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
        cal_drop(c, k);
        rc = fit_once(c, point);
    }
    for (uint32_t k = 0; k < c->n_keys && rc == 0; k++) {
        rc = cal_key_round(&c->key[k], c->fit.value[k], c->err);
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
        rc = cal_problem(c, f, &problem);
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
    const int rc = cal_problem(c, UINT32_MAX, &problem); /* in the order of c->rows */
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
                       "--rows needs --measured COLUMN: the column of measured step times");
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
        rc = cal_keys(c);
    }
    if (rc < 0) {
        return rc;
    }
    tell(c, "simulating %u %s", (unsigned)(c->n_observed - c->n_empty), c->source->rows);
    rc = ty_cal_first_pass(c);
    if (rc == 0) {
        rc = cal_choose(c);
    }
    if (rc == 0) {
        rc = fit_all(c);
    }
    if (rc == 0) {
        rc = cal_demands(c);
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
