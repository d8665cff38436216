/* overlay.c - the fitted keys as a file for --with.
 *
 * The head says what they were fitted to and how well, without a date: equal data give equal
 * files. Values have few enough digits to be read back exactly. */
#include "sim/calibrate/calibrate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/text.h"
#include "sim/config/uncertainty.h"

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
        ty_text_add(t,
                    "# %s of the run file: set aside for the fit; in runs what they measured still "
                    "counts\n",
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
static void put_correlations(const struct ty_calibration *c, struct ty_text *t)
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
    put_correlations(c, t);
    if (c->source->steps) {
        ty_text_add(t, "  scatter: %.3g %%\n", 100 * fmin(s->each, TY_ERROR_MAX));
    }
    if (c->source->steps && !isnan(s->shared)) {
        ty_text_add(t, "  shared_scatter: %.3g %%", 100 * fmin(s->shared, TY_ERROR_MAX));
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
