/* keys.c - which keys a calibration fits, and their values as text. */
#include "sim/calibrate/calibrate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/number_text.h"

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

int ty_cal_keys(struct ty_calibration *c)
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
        return "starts at nothing, and a factor on nothing is nothing; give it a value with --set";
    }
    return NULL;
}

void ty_cal_drop(struct ty_calibration *c, uint32_t k)
{
    if (unfit(&c->key[k]) == NULL) {
        c->other[c->n_others++] = c->key[k];
    }
    memmove(&c->key[k], &c->key[k + 1], (c->n_keys - k - 1) * sizeof(c->key[0]));
    c->n_keys--;
}

static int choose(struct ty_calibration *c)
{
    bool taken[TY_FIT_MAX], alone[TY_FIT_MAX];
    struct ty_fit_problem problem;
    const bool few = c->n_rows < c->source->rows_for_all;
    for (uint32_t k = c->n_keys; k-- > 0;) {
        if (unfit(&c->key[k]) != NULL || (few && strcmp(c->key[k].name, c->source->keys[0]) != 0)) {
            ty_cal_drop(c, k);
        }
    }
    if (c->n_keys == 0) {
        return ty_fail(c->err, TY_EINPUT, "nothing to fit; name keys with --fit");
    }
    if (few) {
        return 0;
    }
    int rc = ty_cal_problem(c, UINT32_MAX, &problem);
    if (rc == 0) {
        rc = ty_fit_choose(&problem, LIMIT, taken, alone, c->err);
    }
    for (uint32_t k = c->n_keys; k-- > 0 && rc == 0;) {
        if (!taken[k] && c->n_keys > 1) {
            if (alone[k]) { /* it matters, but cannot be told from others */
                c->unidentified[c->n_unidentified++] = c->key[k].name;
            }
            ty_cal_drop(c, k);
        }
    }
    return rc;
}

int ty_cal_choose(struct ty_calibration *c)
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

/* Bounds of the key, or of what is still a plausible multiple of its start. */
static double low_of(const struct ty_cal_key *key)
{
    return key->field->min > 0 ? key->field->min : key->start / OPEN_RANGE;
}

static double high_of(const struct ty_cal_key *key)
{
    return key->field->max > 0 ? key->field->max : key->start * OPEN_RANGE;
}

int ty_cal_problem(struct ty_calibration *c, uint32_t without, struct ty_fit_problem *problem)
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

double ty_cal_limit(const struct ty_calibration *c, uint32_t k)
{
    const double prior = c->key[k].prior > 0 ? c->key[k].prior : c->options->prior;
    return c->options->prior > 0 ? fmin(prior, LIMIT) : LIMIT;
}

/* ---- what was not chosen ---- */

int ty_cal_demands(struct ty_calibration *c)
{
    struct ty_fit_problem problem;
    const uint32_t n_fitted = c->n_keys;
    if (!c->chosen || c->n_others == 0) {
        return 0;
    }
    memcpy(&c->key[n_fitted], c->other, c->n_others * sizeof(c->key[0]));
    c->n_keys += c->n_others;
    int rc = ty_cal_problem(c, UINT32_MAX, &problem);
    if (rc == 0) {
        rc = ty_fit_demands(&problem, &c->fit, n_fitted, TY_CAL_ALARMS, c->demand, c->left, c->err);
    }
    c->n_keys = n_fitted;
    return rc;
}

/* ---- values ---- */

int ty_cal_key_round(struct ty_cal_key *key, double value, struct ty_err *err)
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
        snprintf(buf, size, "at its %s bound (%s): means nothing",
                 c->fit.at_low[k] ? "lower" : "upper",
                 ty_quantity_format(at, key->field->dim, bound, sizeof(bound)));
    } else if (c->fit.data_error[k] > ty_cal_limit(c, k)) {
        why_not(c, k, bound, sizeof(bound));
        snprintf(buf, size, "not identified by these data: %s", bound);
    }
    return buf;
}
