/* report.c - what a calibration found, for people and for programs. */
#include "sim/calibrate/calibrate.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/text.h"
#include "sim/config/uncertainty.h"
#include "sim/document/json.h"

#define CORRELATION_LEAST 0.0005 /* of four digits */

/* A user's text inside a comment: line ends would end it. */
static void put_inline(struct ty_text *t, const char *s)
{
    while (*s != '\0') {
        const size_t n = strcspn(s, "\n");
        ty_text_add(t, "%.*s%s", (int)n, s, s[n] == '\n' ? "?" : "");
        s += n + (s[n] == '\n');
    }
}

static void put_head(const struct ty_calibration *c, struct ty_text *t)
{
    const struct ty_calibrate_options *o = c->options;
    ty_text_add(t, "# Fitted by trainyard " TRAINYARD_VERSION " calibrate to ");
    put_inline(t, c->title);
    ty_text_add(t, ", on ");
    put_inline(t, o->source.path);
    for (size_t i = 0; i < o->source.n_with; i++) {
        ty_text_add(t, ", ");
        put_inline(t, o->source.with[i]);
    }
    for (size_t i = 0; i < o->source.n_sets; i++) {
        ty_text_add(t, ", ");
        put_inline(t, o->source.sets[i]);
    }
    ty_text_add(
        t,
        "\n# %u %s used, %u without a time, %u that cannot be simulated; seed %" PRIu64 "; prior ",
        (unsigned)c->n_rows, c->source->rows, (unsigned)c->n_empty, (unsigned)c->n_failed, c->seed);
    ty_text_add(t, o->prior > 0 ? "%.3g %%\n" : "none\n", 100 * o->prior);
    ty_text_add(t, "# Mean error of the %s: before %.2f %%, after %.2f %% (training)",
                c->source->times, 100 * c->before.mape, 100 * c->after.mape);
    if (c->n_folds > 1) {
        ty_text_add(t, ", %.2f %% on groups left out\n", 100 * c->left_out.mape);
    } else {
        ty_text_add(t, "; nothing was left out\n");
    }
    if (c->unused != NULL) {
        ty_text_add(t, "# %s of the run file: not used in the fit; runs still use them\n",
                    c->unused);
    }
    ty_text_add(t, "# trainyard run FILE --with this file\n");
}

/* ---- how far they may be off ---- */

/* A value at a bound has no error that means anything. */
static bool has_error(const struct ty_calibration *c, uint32_t k)
{
    return !c->fit.at_low[k] && !c->fit.at_high[k] && isfinite(c->fit.error[k]);
}

static void put_errors(const struct ty_calibration *c, struct ty_text *t)
{
    bool any = false;
    for (uint32_t k = 0; k < c->n_keys; k++) {
        if (has_error(c, k)) {
            ty_text_add(t, "%s    - %s %.3g %% fitted to %u %s\n", any ? "" : "  errors:\n",
                        c->key[k].name, 100 * fmin(c->fit.error[k], TY_ERROR_MAX),
                        (unsigned)c->n_rows, c->source->rows);
            any = true;
        }
    }
}

/* Below each key those after it with which it is correlated. */
static void put_overlay_correlations(const struct ty_calibration *c, struct ty_text *t)
{
    bool any = false;
    for (uint32_t a = 0; a < c->n_keys; a++) {
        bool named = false;
        for (uint32_t b = a + 1; b < c->n_keys; b++) {
            const double r = c->fit.joint[a][b];
            if (has_error(c, a) && has_error(c, b) && fabs(r) >= CORRELATION_LEAST) {
                ty_text_add(t, "%s", any ? "" : "  correlations:\n");
                ty_text_add(t, "%s%s", named ? "" : "    - ", named ? "" : c->key[a].name);
                ty_text_add(t, " %s %.4f", c->key[b].name, r);
                named = any = true;
            }
        }
        ty_text_add(t, named ? "\n" : "");
    }
}

/* The section `uncertainty`, see sim/config/uncertainty.h. */
static void put_uncertainty(const struct ty_calibration *c, struct ty_text *t)
{
    const struct ty_fit_scatter *s = &c->fit.scatter;
    ty_text_add(t, "uncertainty:\n");
    put_errors(c, t);
    put_overlay_correlations(c, t);
    if (c->source->steps) {
        ty_text_add(t, "  scatter: %.3g %%\n",
                    100 * fmin(fmax(s->each, TY_SCATTER_MIN), TY_ERROR_MAX));
    }
    if (c->source->steps && !isnan(s->shared)) {
        ty_text_add(t, "  shared_scatter: %.3g %%",
                    100 * fmin(fmax(s->shared, TY_SCATTER_MIN), TY_ERROR_MAX));
        ty_text_pad(t, 42);
        ty_text_add(t, "# of rows of a group: ");
        put_inline(t, ty_cal_grouped(c));
        ty_text_add(t, "\n");
    }
}

void ty_cal_overlay(const struct ty_calibration *c, struct ty_text *t)
{
    static const char *const section[] = {
#define X(id, name, doc) name,
        TY_SECTIONS(X)
#undef X
    };
    put_head(c, t);
    for (int s = 0; s < TY_N_SECTIONS; s++) {
        bool named = false;
        for (uint32_t k = 0; k < c->n_keys; k++) {
            const struct ty_cal_key *key = &c->key[k];
            char text[128];
            if ((int)key->section != s) {
                continue;
            }
            if (!named) {
                ty_text_add(t, "%s:\n", section[s]);
            }
            named = true;
            ty_text_add(t, "  %s: %s", key->field->key, key->text);
            ty_text_pad(t, 42);
            ty_text_add(t, "# was %s",
                        ty_quantity_format(key->start, key->field->dim, text, sizeof(text)));
            ty_cal_remark(c, k, text, sizeof(text));
            if (text[0] != '\0') {
                ty_text_add(t, "; %s\n", text);
            } else {
                ty_text_add(t, "; +- %.2g %%\n", 100 * c->fit.error[k]);
            }
        }
    }
    put_uncertainty(c, t);
}

#define GROUPS_SHOWN 30u

/* ---- the table ---- */

static void put_percent(struct ty_text *t, size_t column, double x)
{
    ty_text_pad(t, column);
    if (!isfinite(x)) {
        ty_text_add(t, "-");
    } else if (x > 10) {
        ty_text_add(t, "> 1000 %%");
    } else {
        const int digits = fabs(x) < 0.0995 ? 2 : 1;
        const double shown = fabs(x) < 0.00005 ? 0 : 100 * x; /* no -0.00 */
        ty_text_add(t, "%.*f %%", digits, shown);
    }
}

static void put_rows(const struct ty_calibration *c, struct ty_text *t)
{
    const struct ty_calibrate_options *o = c->options;
    ty_text_add(t, "%s, on %s\n", c->title, o->source.path);
    ty_text_add(t, "%u %s used; skipped: ", (unsigned)c->n_rows, c->source->rows);
    if (c->source->may_lack_times) {
        ty_text_add(t, "%u without a time, ", (unsigned)c->n_empty);
    }
    ty_text_add(t, "%u that cannot be simulated\n", (unsigned)c->n_failed);
    for (uint32_t i = 0; i < c->n_shown; i++) {
        ty_text_add(t, "  %s\n", c->failed[i]);
    }
    if (c->n_failed > c->n_shown) {
        ty_text_add(t, "  and %u more, for these or other reasons\n",
                    (unsigned)(c->n_failed - c->n_shown));
    }
    if (c->unused != NULL) {
        ty_text_add(t, "%s of the run file: not used here, since the model itself is fitted\n",
                    c->unused);
    }
}

static void put_keys(const struct ty_calibration *c, struct ty_text *t)
{
    ty_text_add(t, "\nkey");
    ty_text_pad(t, 34);
    ty_text_add(t, "start");
    ty_text_pad(t, 47);
    ty_text_add(t, "fitted");
    ty_text_pad(t, 64);
    ty_text_add(t, "error");
    ty_text_pad(t, 73);
    ty_text_add(t, "by data alone\n");
    for (uint32_t k = 0; k < c->n_keys; k++) {
        const struct ty_cal_key *key = &c->key[k];
        const bool bound = c->fit.at_low[k] || c->fit.at_high[k];
        char text[128];
        ty_text_add(t, "%s", key->name);
        ty_text_pad(t, 34);
        ty_text_add(t, "%s", ty_quantity_format(key->start, key->field->dim, text, sizeof(text)));
        ty_text_pad(t, 47);
        ty_text_add(t, "%s", key->text);
        put_percent(t, 64, bound ? HUGE_VAL : c->fit.error[k]);
        put_percent(t, 73, bound ? HUGE_VAL : c->fit.data_error[k]);
        ty_cal_remark(c, k, text, sizeof(text));
        if (text[0] != '\0') {
            ty_text_pad(t, 83);
            ty_text_add(t, "%s", text);
        }
        ty_text_add(t, "\n");
    }
}

/* Keys whose error the run file states, or a preset that calls them a guess. */
static void put_own_priors(const struct ty_calibration *c, struct ty_text *t)
{
    bool any = false;
    for (uint32_t k = 0; k < c->n_keys; k++) {
        if (c->key[k].prior > 0) {
            ty_text_add(t, "%s %s %.3g %%",
                        any ? ","
                            : "  but, as the run file or a preset "
                              "states,",
                        c->key[k].name, 100 * c->key[k].prior);
            any = true;
        }
    }
    ty_text_add(t, any ? "\n" : "");
}

static void put_rules(const struct ty_calibration *c, struct ty_text *t)
{
    char remark[128];
    bool unknown = false;
    for (uint32_t k = 0; k < c->n_keys; k++) {
        ty_cal_remark(c, k, remark, sizeof(remark));
        unknown = unknown || strncmp(remark, "not identified", 14) == 0;
    }
    if (c->options->prior > 0) {
        ty_text_add(t,
                    "error: relative standard error, with a prior of %.3g %% around the start; by "
                    "data alone: without it\n",
                    100 * c->options->prior);
        put_own_priors(c, t);
    } else {
        ty_text_add(t, "error: relative standard error; no prior was used\n");
    }
    if (unknown) {
        ty_text_add(t, "not identified: the data alone leave an error above %s%s\n",
                    c->options->prior > 0 ? "that prior, or 50 %" : "50 %",
                    c->options->prior > 0 ? "; the prior decides as much of its value as the "
                                            "data"
                                          : "");
    }
    if (!c->fit.converged) {
        ty_text_add(t, "the search stopped after %u steps without settling\n",
                    (unsigned)c->fit.iterations);
    }
}

static void put_unidentified(const struct ty_calibration *c, struct ty_text *t)
{
    for (uint32_t i = 0; i < c->n_unidentified; i++) {
        ty_text_add(t, "%s%s",
                    i == 0 ? "unchanged, since these data do not identify them:\n  " : ", ",
                    c->unidentified[i]);
    }
    ty_text_add(t, c->n_unidentified > 0 ? "\n" : "");
}

/* Keys without which those that were fitted are off. */
static void put_demands(const struct ty_calibration *c, struct ty_text *t)
{
    bool any = false;
    for (uint32_t i = 0; i < c->n_others; i++) {
        if (c->demand[i].told) {
            ty_text_add(t, any ? ""
                               : "\nnot fitted, although the residuals ask for it: without it, "
                                 "fitted values may be off\n");
            ty_text_add(t, "  %s", c->other[i].name);
            ty_text_pad(t, 34);
            ty_text_add(t, "F %.1f, p %.1g\n", c->demand[i].f, c->demand[i].p);
            any = true;
        }
    }
    if (!any) {
        return;
    }
    ty_text_add(t,
                "  it would cut the residual from %.2g %% to about %.2g %%; of calibrations that "
                "lack no key %.0f %%\n  report this; fit together: --fit ",
                100 * c->left[0], 100 * c->left[1], 100 * TY_CAL_ALARMS);
    for (uint32_t k = 0; k < c->n_keys; k++) {
        ty_text_add(t, "%s%s", k > 0 ? "," : "", c->key[k].name);
    }
    for (uint32_t i = 0; i < c->n_others; i++) {
        if (c->demand[i].told) {
            ty_text_add(t, ",%s", c->other[i].name);
        }
    }
    ty_text_add(t, "\n");
}

static void put_correlations(const struct ty_calibration *c, struct ty_text *t)
{
    bool any = false;
    for (uint32_t a = 0; a < c->n_keys; a++) {
        for (uint32_t b = a + 1; b < c->n_keys; b++) {
            const double r = c->fit.correlation[a][b];
            if (fabs(r) > TY_CAL_ALIKE) {
                ty_text_add(t, any ? ""
                                   : "\nstrongly correlated: these rows determine only the two "
                                     "together\n");
                ty_text_add(t, "  %s, %s", c->key[a].name, c->key[b].name);
                ty_text_pad(t, 69);
                ty_text_add(t, "%+.3f\n", r);
                any = true;
            }
        }
    }
}

static void put_error(struct ty_text *t, const char *name, const struct ty_cal_error *e)
{
    ty_text_add(t, "%s", name);
    ty_text_pad(t, 34);
    ty_text_add(t, "%u", (unsigned)e->n);
    put_percent(t, 43, e->mape);
    put_percent(t, 53, e->median);
    put_percent(t, 63, e->p90);
    put_percent(t, 73, e->bias);
    ty_text_add(t, "\n");
}

static void put_left_out(const struct ty_calibration *c, struct ty_text *t)
{
    if (c->n_folds < 2) {
        if (c->n_groups < 2) {
            ty_text_add(t,
                        "all %s are one group (%s): no error of %s left out; expect more than the "
                        "training error on others\n",
                        c->source->rows, ty_cal_grouped(c), c->source->rows);
        } else {
            ty_text_add(t, "too few rows to leave a group out: expect more than the training error "
                           "on others\n");
        }
        return;
    }
    put_error(t, "left out, each group in turn", &c->left_out);
    for (uint32_t g = 0; g < c->n_groups && g < GROUPS_SHOWN; g++) {
        struct ty_cal_error e;
        char name[128];
        if (ty_cal_error_of(c, offsetof(struct ty_cal_row, left_out_s), g, &e) < 0) {
            t->failed = true;
            return;
        }
        snprintf(name, sizeof(name), "  %s", c->group[g][0] != '\0' ? c->group[g] : "(empty)");
        put_error(t, name, &e);
    }
    if (c->n_groups > GROUPS_SHOWN) {
        ty_text_add(t, "  and %u more groups\n", (unsigned)(c->n_groups - GROUPS_SHOWN));
    }
    if (c->n_folds < c->n_groups) {
        ty_text_add(t, "%u groups were left out in %u fits, several at a time\n",
                    (unsigned)c->n_groups, (unsigned)c->n_folds);
    }
}

/* What the errors of the table are due to once the keys are right, and whether bands that know of
 * it hold. */
static void put_scatter(const struct ty_calibration *c, struct ty_text *t)
{
    const struct ty_fit_scatter *s = &c->fit.scatter;
    ty_text_add(t, "\nno key explains a scatter of %.3g %% of each %s",
                100 * fmin(s->each, TY_ERROR_MAX), c->source->one);
    if (isnan(s->shared)) {
        ty_text_add(t, "; the part that a group shares cannot be estimated\n");
        return;
    }
    ty_text_add(t, " by itself, %.3g %% that a group shares (%s)\n",
                100 * fmin(s->shared, TY_ERROR_MAX), ty_cal_grouped(c));
    ty_text_add(
        t, "90 %% bands of those left out, by fits of the others: %u of %u lie within (%.0f %%)\n",
        (unsigned)s->n_covered, (unsigned)s->n_out, 100.0 * s->n_covered / s->n_out);
}

/* Times that no machine explains are most often in another unit. */
static void put_scale(const struct ty_calibration *c, struct ty_text *t)
{
    const double ratio = 1 + c->before.bias; /* simulated over measured, mean */
    if (ratio > 0.05 && ratio < 20) {
        return;
    }
    ty_text_add(
        t,
        "\nmeasured times are %.3g times those simulated: a bare number is in seconds; write "
        "a unit, such as 812 ms\n",
        1 / ratio);
}

void ty_cal_report(const struct ty_calibration *c, struct ty_text *t)
{
    put_rows(c, t);
    put_keys(c, t);
    put_rules(c, t);
    put_unidentified(c, t);
    put_demands(c, t);
    put_correlations(c, t);
    ty_text_add(t, "\nerror of the %s", c->source->times);
    ty_text_pad(t, 34);
    ty_text_add(t, "%s", c->source->rows);
    ty_text_pad(t, 43);
    ty_text_add(t, "mean      median    90 %%      bias\n");
    put_error(t, "before", &c->before);
    put_error(t, "after (training error)", &c->after);
    put_left_out(c, t);
    put_scatter(c, t);
    put_scale(c, t);
}

/* ---- JSON ---- */

static void put_error_json(struct ty_json *j, const char *name, const struct ty_cal_error *e)
{
    ty_json_line(j, 2);
    ty_json_object(j, name);
    ty_json_whole(j, "rows", e->n);
    ty_json_real(j, "mape", e->mape);
    ty_json_real(j, "median", e->median);
    ty_json_real(j, "p90", e->p90);
    ty_json_real(j, "bias", e->bias);
    ty_json_end(j);
}

static const char *bound_of(const struct ty_fit *f, uint32_t k)
{
    if (f->at_low[k]) {
        return "lower";
    }
    return f->at_high[k] ? "upper" : NULL;
}

static void put_key_json(const struct ty_calibration *c, uint32_t k, struct ty_json *j)
{
    const struct ty_cal_key *key = &c->key[k];
    const struct ty_fit *f = &c->fit;
    const char *bound = bound_of(f, k);
    ty_json_object(j, NULL);
    ty_json_text(j, "key", key->name);
    ty_json_text(j, "unit", ty_dimension_base(key->field->dim));
    ty_json_real(j, "start", key->start);
    ty_json_real(j, "value", key->value);
    ty_json_real(j, "error", bound != NULL ? HUGE_VAL : f->error[k]);
    ty_json_real(j, "data_error", bound != NULL ? HUGE_VAL : f->data_error[k]);
    ty_json_text(j, "bound", bound);
    const bool identified = bound == NULL && f->data_error[k] <= ty_cal_limit(c, k);
    char remark[128];
    ty_json_bool(j, "identified", identified);
    ty_json_text(j, "remark", identified ? NULL : ty_cal_remark(c, k, remark, sizeof(remark)));
    ty_json_end(j);
}

static void put_keys_json(const struct ty_calibration *c, struct ty_json *j)
{
    ty_json_line(j, 2);
    ty_json_array(j, "keys");
    ty_json_rows(j);
    for (uint32_t k = 0; k < c->n_keys; k++) {
        put_key_json(c, k, j);
    }
    ty_json_end(j);
}

static void put_demands_json(const struct ty_calibration *c, struct ty_json *j)
{
    ty_json_line(j, 2);
    ty_json_array(j, "asked_for");
    for (uint32_t i = 0; i < c->n_others; i++) {
        if (c->demand[i].told) {
            ty_json_object(j, NULL);
            ty_json_text(j, "key", c->other[i].name);
            ty_json_real(j, "f", c->demand[i].f);
            ty_json_real(j, "p", c->demand[i].p);
            ty_json_end(j);
        }
    }
    ty_json_end(j);
}

/* Of the data alone, as data_error is; or with the prior, as error. */
static void put_correlations_json(const struct ty_calibration *c, const char *name,
                                  const double (*correlation)[TY_FIT_MAX], struct ty_json *j)
{
    ty_json_line(j, 2);
    ty_json_array(j, name);
    ty_json_rows(j);
    for (uint32_t a = 0; a < c->n_keys; a++) {
        ty_json_array(j, NULL);
        for (uint32_t b = 0; b < c->n_keys; b++) {
            ty_json_real(j, NULL, correlation[a][b]);
        }
        ty_json_end(j);
    }
    ty_json_end(j);
}

/* Relative, as errors are; of rows that were not left out null. */
static void put_scatter_json(const struct ty_calibration *c, struct ty_json *j)
{
    const struct ty_fit_scatter *s = &c->fit.scatter;
    ty_json_line(j, 2);
    ty_json_object(j, "scatter");
    ty_json_real(j, "each", s->each);
    ty_json_real(j, "shared", s->shared);
    ty_json_whole(j, "left_out", s->n_out);
    ty_json_whole(j, "in_their_90_percent_band", s->n_covered);
    ty_json_end(j);
}

static void put_texts_json(struct ty_json *j, const char *key, const char *const *text, uint32_t n)
{
    ty_json_line(j, 2);
    ty_json_array(j, key);
    for (uint32_t i = 0; i < n; i++) {
        ty_json_text(j, NULL, text[i]);
    }
    ty_json_end(j);
}

static void put_rows_json(const struct ty_calibration *c, struct ty_json *j)
{
    ty_json_line(j, 2);
    ty_json_text(j, "measured", c->source->option);
    ty_json_text(j, "set_aside", c->unused);
    ty_json_line(j, 2);
    ty_json_whole(j, "rows_used", c->n_rows);
    ty_json_whole(j, "rows_without_time", c->n_empty);
    ty_json_whole(j, "rows_failed", c->n_failed);
    ty_json_line(j, 2);
    ty_json_real(j, "prior", c->options->prior);
    ty_json_real(j, "residual_noise", c->fit.noise);
    ty_json_bool(j, "converged", c->fit.converged);
}

void ty_cal_report_json(const struct ty_calibration *c, struct ty_text *t)
{
    struct ty_json j = ty_json_to_text(t);
    ty_json_object(&j, NULL);
    put_rows_json(c, &j);
    put_keys_json(c, &j);
    put_texts_json(&j, "left_as_they_are", c->unidentified, c->n_unidentified);
    put_demands_json(c, &j);
    put_correlations_json(c, "correlation", c->fit.correlation, &j);
    put_correlations_json(c, "correlation_with_prior", c->fit.joint, &j);
    put_scatter_json(c, &j);
    put_error_json(&j, "before", &c->before);
    put_error_json(&j, "after", &c->after);
    if (c->n_folds > 1) {
        put_error_json(&j, "left_out", &c->left_out);
    } else {
        ty_json_line(&j, 2);
        ty_json_text(&j, "left_out", NULL);
    }
    put_texts_json(&j, "groups", (const char *const *)c->group, c->n_groups);
    put_texts_json(&j, "failed", c->failed, c->n_shown);
    ty_json_line(&j, 2);
    ty_json_whole(&j, "seed", c->seed);
    ty_json_text(&j, "version", TRAINYARD_VERSION);
    ty_json_line(&j, 0);
    ty_json_end(&j);
    ty_text_bytes(t, "\n", 1);
}
