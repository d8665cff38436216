/* uncertain.c - how sure a run is of its step time: a band, and what it is due to. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/base/words.h"
#include "sim/report/table.h"
#include "sim/sweep/band.h"

#define COLUMN      22    /* as in table.c */
#define SHARE_LEAST 0.001 /* of the variance: what is less is added up */

/* The step time, and what is a constant over it. */
static const char *const shown[] = {"step_time_s", "tokens_per_s", "mfu"};

struct ends {
    double low, high;
};

/* Of a time, or of a speed. */
static struct ends ends_of(const struct ty_band *band, const struct ty_figure_row *row,
                           const struct ty_figures *f)
{
    const double x = ty_figure_value(row, f);
    const struct ty_band_ends time = ty_band_ends(band, f->step_s);
    return row->unit == TY_FIGURE_SECONDS
               ? (struct ends){time.fast_s, time.slow_s}
               : (struct ends){x * f->step_s / time.slow_s, x * f->step_s / time.fast_s};
}

/* ---- the table ---- */

static int larger(const void *a, const void *b)
{
    const double x = fabs(((const struct ty_band_key *)a)->share);
    const double y = fabs(((const struct ty_band_key *)b)->share);
    return (x < y) - (x > y);
}

static void put_figures(const struct ty_band *band, const struct ty_figures *f, struct ty_text *t)
{
    for (size_t i = 0; i < TY_COUNT(shown); i++) {
        const struct ty_figure_row *row = ty_figure_row(shown[i]);
        const struct ends e = ends_of(band, row, f);
        char low[64], high[64];
        ty_text_add(t, "  %s", row->in[TY_IN_TABLE].label);
        ty_text_pad(t, COLUMN);
        ty_text_add(t, "%s to %s\n", ty_figure_words(row->unit, e.low, low, sizeof(low)),
                    ty_figure_words(row->unit, e.high, high, sizeof(high)));
    }
}

static void put_term(struct ty_text *t, const char *name, double error, double share)
{
    char text[32];
    ty_text_add(t, "  %s", name);
    ty_text_pad(t, 36);
    if (error > 0) { /* two digits, and no exponent */
        ty_text_add(t, error < 0.995 ? "%6.2g %%" : "%6.0f %%", 100 * error);
    }
    ty_text_pad(t, 46);
    ty_text_add(t, "%8s", ty_words_share(share, text, sizeof(text)));
}

static void put_terms(const struct ty_band *band, const struct ty_band_key *key, struct ty_text *t)
{
    const double all = band->deviation * band->deviation;
    double rest = 0;
    uint32_t n_rest = 0;
    ty_text_add(t, "\n  due to");
    ty_text_pad(t, 36);
    ty_text_add(t, "   error     share    the step if less, if more\n");
    for (uint32_t k = 0; k < band->n; k++) {
        if (fabs(key[k].share) < SHARE_LEAST) {
            rest += key[k].share;
            n_rest++;
            continue;
        }
        put_term(t, key[k].is.name, key[k].is.error, key[k].share);
        ty_text_add(t, "    %+.2f %%, %+.2f %%", 100 * (key[k].down_s / band->step_s - 1),
                    100 * (key[k].up_s / band->step_s - 1));
        ty_text_pad(t, 78);
        ty_text_add(t, "%s\n", key[k].is.why);
    }
    if (n_rest > 0) {
        char name[64];
        snprintf(name, sizeof(name), "%u other%s", (unsigned)n_rest, n_rest == 1 ? "" : "s");
        put_term(t, name, 0, rest);
        ty_text_add(t, "\n");
    }
    if (all > 0) {
        put_term(t, "no key, each run by itself", band->each, band->each * band->each / all);
        ty_text_add(t, "\n");
        put_term(t, "no key, all runs of a model", band->shared, band->shared * band->shared / all);
        ty_text_add(t, "\n");
    }
}

int ty_report_band(const struct ty_run *run, const struct ty_figures *f, struct ty_text *t,
                   struct ty_err *err)
{
    const struct ty_band *band = run->band;
    if (band == NULL) {
        return 0;
    }
    struct ty_band_key *sorted = calloc((size_t)band->n + 1, sizeof(*sorted));
    if (sorted == NULL) {
        return ty_fail_memory(err);
    }
    for (uint32_t k = 0; k < band->n; k++) {
        sorted[k] = band->key[k];
    }
    qsort(sorted, band->n, sizeof(*sorted), larger);
    ty_text_add(t, "\nhow sure: nine of ten such steps lie between\n");
    put_figures(band, f, t);
    put_terms(band, sorted, t);
    free(sorted);
    return 0;
}

/* ---- JSON ---- */

static void put_ends_json(const struct ty_band *band, const char *name, const struct ty_figures *f,
                          struct ty_json *j)
{
    const struct ends e = ends_of(band, ty_figure_row(name), f);
    ty_json_array(j, name);
    ty_json_real(j, NULL, e.low);
    ty_json_real(j, NULL, e.high);
    ty_json_end(j);
}

static void put_key_json(const struct ty_band_key *key, struct ty_json *j)
{
    ty_json_object(j, NULL);
    ty_json_text(j, "key", key->is.name);
    ty_json_real(j, "value", key->is.value);
    ty_json_text(j, "unit", ty_dimension_base(key->is.field->dim));
    ty_json_real(j, "error", key->is.error);
    ty_json_bool(j, "guess", key->is.guess);
    ty_json_text(j, "why", key->is.why);
    ty_json_real(j, "step_time_s_if_less", key->down_s);
    ty_json_real(j, "step_time_s_if_more", key->up_s);
    ty_json_real(j, "share", key->share);
    ty_json_end(j);
}

void ty_report_band_json(const struct ty_run *run, const struct ty_figures *f, struct ty_json *j)
{
    const struct ty_band *band = run->band;
    if (band == NULL) {
        return;
    }
    ty_json_object(j, "uncertainty");
    ty_json_lines(j);
    ty_json_real(j, "band", TY_BAND_SHARE);
    ty_json_text(j, "convention",
                 "errors are standard deviations of logarithms; bands are log-normal to either "
                 "side; shares are of "
                 "the variance of log step_time_s, correlations in them");
    ty_json_text(
        j, "method",
        "runs with each key a standard deviation off; each end by the side that leads to it");
    for (size_t i = 0; i < TY_COUNT(shown); i++) {
        put_ends_json(band, shown[i], f, j);
    }
    ty_json_real(j, "deviation", band->deviation);
    ty_json_real(j, "scatter", band->each);
    ty_json_real(j, "shared_scatter", band->shared);
    ty_json_array(j, "keys");
    ty_json_rows(j);
    for (uint32_t k = 0; k < band->n; k++) {
        put_key_json(&band->key[k], j);
    }
    ty_json_end(j);
    ty_json_end(j);
}
