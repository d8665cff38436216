/* json.c - `run --stats json`: one object; seconds, bytes, ratios in 0..1. */
#include "sim/base/text.h"
#include "sim/document/json.h"
#include "sim/report/experts.h"
#include "sim/report/links.h"
#include "sim/report/table.h"
#include "sim/run/gpus.h"
#include "sim/run/jobs.h"
#include "sim/plan/search/remedy.h"

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
    struct ty_remedies list = {.n = 0};
    const double budget_s = ty_report_budget_s(run);
    const int rc = budget_s < 0 ? 0 : ty_run_remedies(run, budget_s, &list, &arena, err);
    ty_json_array(j, "would_fit");
    ty_json_rows(j);
    for (uint32_t i = 0; rc == 0 && i < list.n; i++) {
        const struct ty_remedy *r = &list.item[i];
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
    struct ty_bill bill, fullest;
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
        ty_run_bill(run, s, &bill);
        ty_json_real(j, NULL, bill.total_B);
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
    for (uint32_t b = 0; b < TY_N_BUCKETS; b++) {
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
    ty_json_bool(&j, "fits", ty_run_fits(run));
    int rc = run->config->workload.job == NULL ? memory(&j, run, advise, err) : 0;
    if (rc < 0) {
        return rc;
    }
    ty_report_band_json(run, &f, &j);
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
