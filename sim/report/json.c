/* json.c - `run --stats json`: one object; seconds, bytes, ratios in 0..1. */
#include "sim/base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/parallel/whole.h"
#include "sim/base/words.h"
#include "sim/document/json.h"
#include "sim/plan/search/remedy.h"
#include "sim/report/experts.h"
#include "sim/report/links.h"
#include "sim/report/nearest.h"
#include "sim/report/table.h"
#include "sim/run/gpus.h"
#include "sim/run/jobs.h"
#include "sim/sweep/band.h"

/* ---- the band ----
 *
 * How sure a run is of its step time: a band, and what it is due to. */

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
    const struct ty_scatter *s = &band->scatter;
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
        put_term(t, "no key, each run by itself", s->each, s->each * s->each / all);
        ty_text_add(t, s->kind != NULL ? "    as published runs: %s\n" : "\n", s->kind);
        put_term(t, "no key, all runs of a model", s->shared, s->shared * s->shared / all);
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
    ty_text_add(t, "\nuncertainty: 90 %% of such steps lie between\n");
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

static void report_band_json(const struct ty_run *run, const struct ty_figures *f,
                             struct ty_json *j)
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
    ty_json_real(j, "scatter", band->scatter.each);
    ty_json_real(j, "shared_scatter", band->scatter.shared);
    if (band->scatter.kind != NULL) {
        ty_json_text(j, "scatter_of", band->scatter.kind);
    }
    ty_json_array(j, "keys");
    ty_json_rows(j);
    for (uint32_t k = 0; k < band->n; k++) {
        put_key_json(&band->key[k], j);
    }
    ty_json_end(j);
    ty_json_end(j);
}

/* The fullest moment: which pass, and what of it; and the forward from which on most is held. */
static void moment(struct ty_json *j, const struct ty_bill *bill, const struct ty_pass *since)
{
    static const char *const during[] = {"pass", "loss", "layer"};
    ty_json_line(j, 6);
    ty_json_object(j, "moment");
    ty_json_text(j, "pass", ty_phase_word((enum ty_phase)bill->pass->phase));
    ty_json_text(j, "during", during[bill->kind]);
    if (bill->kind == TY_PEAK_LAYER) {
        ty_json_whole(j, "layer", bill->layer_number);
    }
    ty_json_whole(j, "micro_batch", bill->pass->mb);
    ty_json_whole(j, "virtual_stage", bill->pass->stage);
    ty_json_whole(j, "step", bill->pass->step);
    ty_json_end(j);
    if (since != NULL) {
        ty_json_object(j, "held_since");
        ty_json_whole(j, "micro_batch", since->mb);
        ty_json_whole(j, "virtual_stage", since->stage);
        ty_json_whole(j, "step", since->step);
        ty_json_end(j);
    }
}

static void tensors(struct ty_json *j, const struct ty_bill *bill)
{
    static const char *const unit[] = {[TY_UNIT_EMBEDDING] = "embedding",
                                       [TY_UNIT_LAYER] = "layer",
                                       [TY_UNIT_MTP] = "mtp",
                                       [TY_UNIT_MTP_HEAD] = "mtp head",
                                       [TY_UNIT_HEAD] = "head"};
    ty_json_line(j, 6);
    ty_json_array(j, "tensors");
    ty_json_rows(j);
    for (uint32_t i = 0; i < bill->n_parts; i++) {
        const struct ty_bill_part *part = &bill->part[i];
        ty_json_object(j, NULL);
        ty_json_text(j, "name", part->what);
        ty_json_text(j, "of", unit[ty_unit_is_layer(part->unit) ? TY_UNIT_LAYER : part->unit]);
        ty_json_real(j, "bytes", part->bytes);
        if (part->each_B > 0) {
            ty_json_real(j, "each_bytes", part->each_B);
        }
        ty_json_whole(j, "copies", part->copies);
        ty_json_text(j, "lives", ty_tensor_life_words(part->life));
        ty_json_bool(j, "transient", part->transient);
        ty_json_end(j);
    }
    ty_json_end(j);
}

static void largest(struct ty_json *j, const struct ty_run *run, uint32_t stage,
                    const struct ty_bill *bill)
{
    ty_json_object(j, "largest");
    ty_json_whole(j, "stage", stage);
    ty_json_whole(j, "micro_batches_held", bill->held);
    ty_json_array(j, "what");
    for (uint32_t i = 0; i < bill->n; i++) {
        ty_json_array(j, NULL);
        ty_json_text(j, NULL, bill->item[i].what);
        ty_json_real(j, NULL, bill->item[i].bytes);
        ty_json_end(j);
    }
    ty_json_end(j);
    moment(j, bill, ty_run_held_since(run, stage, bill));
    tensors(j, bill);
    ty_json_end(j);
}

static int remedies(struct ty_json *j, const struct ty_run *run, struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_remedies *list = ty_arena_array(&arena, struct ty_remedies, 1);
    const double budget_s = ty_report_budget_s(run);
    int rc = list != NULL ? 0 : ty_fail_memory(err);
    if (rc == 0 && budget_s >= 0) {
        rc = ty_run_remedies(run, budget_s, list, &arena, err);
    }
    ty_json_array(j, "would_fit");
    ty_json_rows(j);
    for (uint32_t i = 0; rc == 0 && i < list->n; i++) {
        const struct ty_remedy *r = &list->item[i];
        ty_json_object(j, NULL);
        ty_json_array(j, "set");
        for (uint32_t k = 0; k < r->change.n; k++) {
            ty_json_text(j, NULL, r->change.set[k]);
        }
        ty_json_end(j);
        ty_json_real(j, "peak_bytes", r->peak_B);
        ty_json_bool(j, "simulated", r->simulated);
        ty_json_real(j, "expected_slowdown", r->slower);
        ty_json_real(j, "expected_extra_s", r->more_s);
        ty_json_end(j);
    }
    ty_json_end(j);
    ty_arena_release(&arena);
    return rc;
}

/* `advise`: with the changes that would make it fit, each of which is planned and tried. */
static int memory(struct ty_json *j, const struct ty_run *run, bool advise, struct ty_err *err)
{
    const uint32_t n = run->lowered.program.n_gangs;
    struct ty_bill fullest;
    const uint32_t stage = ty_run_fullest(run, &fullest);
    const double capacity = fullest.capacity_B;
    const enum ty_verdict verdict = ty_memory_verdict(fullest.total_B, capacity);
    ty_json_object(j, "memory");
    ty_json_lines(j);
    ty_json_real(j, "capacity_bytes", capacity);
    ty_json_text(j, "verdict", ty_verdict_word(verdict));
    ty_json_real(j, "margin_bytes", capacity - fullest.total_B);
    ty_json_real(j, "margin_share", 1 - fullest.total_B / capacity);
    ty_json_array(j, "peak_bytes");
    for (uint32_t s = 0; s < n; s++) {
        ty_json_real(j, NULL, ty_run_peak_B(run, s));
    }
    ty_json_end(j);
    ty_json_array(j, "stage_capacity_bytes");
    for (uint32_t s = 0; s < n; s++) {
        uint32_t node;
        ty_json_real(j, NULL, ty_run_memory(run, s, &node));
    }
    ty_json_end(j);
    ty_report_tiers_json(run, j);
    largest(j, run, stage, &fullest);
    const bool full = ty_run_verdict(run, &fullest) != TY_VERDICT_FITS;
    const int rc = full && advise ? remedies(j, run, err) : 0;
    ty_json_end(j);
    return rc;
}

static void breakdown(struct ty_json *j, const struct ty_figures *f)
{
    ty_json_object(j, "breakdown");
    ty_json_lines(j);
    for (uint32_t b = 0; b < f->run->lowered.program.words->n_buckets; b++) {
        ty_json_real(j, ty_transformer_words.buckets[b].name, f->bucket_s[b]);
    }
    ty_json_end(j);
}

static void traffic(struct ty_json *j, const struct ty_figures *f)
{
    ty_json_object(j, "traffic");
    ty_json_lines(j);
    for (uint32_t i = 0; i < f->n_traffic; i++) {
        ty_json_object(j, f->traffic[i].group);
        ty_json_real(j, "nvlink_bytes", f->traffic[i].nvlink_B);
        ty_json_real(j, "network_bytes", f->traffic[i].net_B);
        ty_json_end(j);
    }
    ty_json_end(j);
}

/* How many GPUs there are of each kind; a custom one has no name. */
static void kinds(struct ty_json *j, const struct ty_run *run)
{
    ty_json_array(j, "gpu_kinds");
    for (uint32_t g = 0; g < ty_exceptions_n_generations(&run->config->cluster); g++) {
        const struct ty_cluster *c = ty_exceptions_cluster(&run->config->cluster, g);
        const uint32_t n = ty_run_gpus(run, g);
        if (n > 0) {
            ty_json_object(j, NULL);
            ty_json_text(j, "gpu", c->gpu_preset);
            ty_json_whole(j, "count", n);
            ty_json_real(j, "peak_flops", c->gpu.peak[run->config->arch.dtype]);
            ty_json_end(j);
        }
    }
    ty_json_end(j);
}

/* What was simulated, by what, at what cost. */
static void simulation(struct ty_json *j, const struct ty_run *run, const struct ty_figures *f)
{
    char digest[TY_DIGEST_TEXT];
    ty_json_whole(j, "gpus", ty_run_ranks(run));
    kinds(j, run);
    ty_json_whole(j, "steps", run->lowered.program.n_steps);
    ty_json_text(j, "framework", run->config->layout.framework.preset);
    ty_json_real(j, "derate", run->config->cluster.gpu.derate);
    ty_json_text(j, "engine", run->engine);
    ty_json_text(j, "sharing", ty_sharing_words[run->sharing]);
    ty_json_whole(j, "shared_links", run->n_shared_links);
    ty_json_whole(j, "tasks", ty_run_n_tasks(run));
    ty_json_whole(j, "executed_ranks", run->all.program->n_ranks);
    ty_json_real(j, "wall_s", run->plan_s + run->execute_s);
    ty_json_real(j, "peak_rss_bytes", f->peak_rss_B);
    ty_json_text(j, "config_digest", ty_config_digest_text(run->config, digest));
    ty_json_whole(j, "seed", run->config->run.seed);
    ty_json_text(j, "version", TRAINYARD_VERSION);
}

void ty_report_figures_json(const struct ty_figures *f, struct ty_json *j)
{
    const struct ty_figure_row *rows[TY_FIGURES_MAX];
    const uint32_t n = ty_figure_rows(TY_IN_JSON, rows);
    for (uint32_t i = 0; i < n; i++) {
        const double value = ty_figure_value(rows[i], f);
        if (!rows[i]->asked || value > 0) {
            ty_json_real(j, rows[i]->name, value);
        }
    }
}

static int report(const struct ty_run *run, bool advise, struct ty_text *t, struct ty_err *err)
{
    struct ty_json j = ty_json_to_text(t);
    struct ty_figures f;
    ty_run_figures(run, &f);
    ty_json_object(&j, NULL);
    ty_json_lines(&j);
    ty_report_figures_json(&f, &j);
    if (run->config->workload.job == NULL) {
        const char *preset = run->config->layout.framework.preset;
        ty_json_text(&j, "mfu_framework_convention",
                     ty_flops_convention_words[ty_flops_convention(preset)]);
    }
    ty_json_bool(&j, "fits", ty_run_fits(run));
    int rc = run->config->workload.job == NULL ? memory(&j, run, advise, err) : 0;
    if (rc < 0) {
        return rc;
    }
    report_band_json(run, &f, &j);
    ty_report_nearest_json(run, &j);
    breakdown(&j, &f);
    traffic(&j, &f);
    rc = ty_report_experts_json(run, &j, err);
    if (rc < 0) {
        return rc;
    }
    rc = ty_report_links_json(run, &j, err);
    if (rc < 0) {
        return rc;
    }
    ty_report_jobs_json(run, f.step_s, &j);
    rc = ty_report_cover_json(run, &j, err);
    if (rc < 0) {
        return rc;
    }
    simulation(&j, run, &f);
    ty_json_end(&j);
    ty_text_bytes(t, "\n", 1);
    return 0;
}

int ty_report_json(const struct ty_run *run, struct ty_text *t, struct ty_err *err)
{
    return report(run, true, t, err);
}

int ty_report_brief(const struct ty_run *run, struct ty_text *t, struct ty_err *err)
{
    return report(run, false, t, err);
}
