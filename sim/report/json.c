/* json.c - `run --stats json`: one object; seconds, bytes, ratios in 0..1. */
#include <inttypes.h>

#include "sim/document/json.h"
#include "sim/base/text.h"
#include "sim/run/gpus.h"
#include "sim/search/remedy.h"
#include "sim/report/links.h"
#include "sim/report/table.h"
#include "sim/run/together.h"

static void number(struct ty_text *t, double x)
{
    char buf[TY_JSON_NUMBER];
    ty_text_add(t, "%s", ty_json_number(x, buf));
}

static void pair(struct ty_text *t, const char *key, double x)
{
    ty_text_add(t, "  ");
    ty_json_put_member(t, key, x);
    ty_text_add(t, ",\n");
}

/* The fullest moment: which pass, and what of it. */
static void moment(struct ty_text *t, const struct ty_bill *bill)
{
    static const char *const during[] = {"pass", "loss", "layer"};
    ty_text_add(t,
                ",\n      \"moment\": {\"pass\": \"%s\", \"during\": \"%s\", "
                "\"micro_batch\": %u, \"virtual_stage\": %u, \"step\": %u}",
                ty_phase_word((enum ty_phase)bill->pass->phase), during[bill->kind],
                (unsigned)bill->pass->mb, (unsigned)bill->pass->stage, (unsigned)bill->pass->step);
}

static void tensors(struct ty_text *t, const struct ty_bill *bill)
{
    ty_text_add(t, ",\n      \"tensors\": [");
    for (uint32_t i = 0; i < bill->n_parts; i++) {
        const struct ty_bill_part *part = &bill->part[i];
        ty_text_add(t, "%s\n        {\"name\": \"%s\", \"bytes\": ", i == 0 ? "" : ",", part->what);
        number(t, part->bytes);
        ty_text_add(t, ", \"copies\": %u, \"transient\": %s}", (unsigned)part->copies,
                    part->transient ? "true" : "false");
    }
    ty_text_add(t, "]");
}

static int remedies(struct ty_text *t, const struct ty_run *run, struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_remedies list;
    const int rc = ty_run_remedies(run, &list, &arena, err);
    ty_text_add(t, ",\n    \"would_fit\": [");
    for (uint32_t i = 0; rc == 0 && i < list.n; i++) {
        const struct ty_remedy *r = &list.item[i];
        ty_text_add(t, "%s\n      {\"set\": [", i == 0 ? "" : ",");
        for (uint32_t k = 0; k < r->change.n; k++) {
            ty_text_add(t, "%s\"%s\"", k == 0 ? "" : ", ", r->change.set[k]);
        }
        ty_text_add(t, "], \"peak_bytes\": ");
        number(t, r->peak_B);
        ty_text_add(t, ", \"expected_slowdown\": ");
        number(t, r->slower);
        ty_text_add(t, "}");
    }
    ty_text_add(t, "]");
    ty_arena_release(&arena);
    return rc;
}

static int memory(struct ty_text *t, const struct ty_run *run, struct ty_err *err)
{
    const uint32_t n = run->lowered.program.n_gangs;
    struct ty_bill bill, largest;
    const uint32_t stage = ty_run_fullest(run, &largest);
    const double capacity = largest.capacity_B;
    const enum ty_verdict verdict = ty_bill_verdict(&largest, capacity);
    int rc = 0;
    ty_text_add(t, "  \"memory\": {\n    \"capacity_bytes\": ");
    number(t, capacity);
    ty_text_add(t, ",\n    \"verdict\": \"%s\",\n    \"margin_bytes\": ", ty_verdict_word(verdict));
    number(t, capacity - largest.total_B);
    ty_text_add(t, ",\n    \"margin_share\": ");
    number(t, 1 - largest.total_B / capacity);
    ty_text_add(t, ",\n    \"peak_bytes\": [");
    for (uint32_t s = 0; s < n; s++) {
        ty_run_bill(run, s, &bill);
        ty_text_add(t, "%s", s == 0 ? "" : ", ");
        number(t, bill.total_B);
    }
    ty_text_add(t, "],\n    \"stage_capacity_bytes\": [");
    for (uint32_t s = 0; s < n; s++) {
        uint32_t node;
        ty_text_add(t, "%s", s == 0 ? "" : ", ");
        number(t, ty_run_memory(run, s, &node));
    }
    ty_text_add(t, "],\n    \"largest\": {\"stage\": %u, \"micro_batches_held\": %u, \"what\": [",
                (unsigned)stage, (unsigned)largest.held);
    for (uint32_t i = 0; i < largest.n; i++) {
        ty_text_add(t, "%s[\"%s\", ", i == 0 ? "" : ", ", largest.item[i].what);
        number(t, largest.item[i].bytes);
        ty_text_add(t, "]");
    }
    ty_text_add(t, "]");
    moment(t, &largest);
    tensors(t, &largest);
    ty_text_add(t, "}");
    if (verdict != TY_VERDICT_FITS) {
        rc = remedies(t, run, err);
    }
    ty_text_add(t, "\n  },\n");
    return rc;
}

static void breakdown(struct ty_text *t, const struct ty_figures *f)
{
    ty_text_add(t, "  \"breakdown\": {\n");
    for (uint32_t b = 0; b < TY_N_BUCKETS; b++) {
        ty_text_add(t, "    \"%s\": ", ty_bucket_name((enum ty_bucket)b));
        number(t, f->bucket_s[b]);
        ty_text_add(t, "%s\n", b + 1 < TY_N_BUCKETS ? "," : "");
    }
    ty_text_add(t, "  },\n");
}

static void traffic(struct ty_text *t, const struct ty_figures *f)
{
    ty_text_add(t, "  \"traffic\": {");
    for (uint32_t i = 0; i < f->n_traffic; i++) {
        ty_text_add(t, "%s\n    \"%s\": {\"nvlink_bytes\": ", i == 0 ? "" : ",",
                    f->traffic[i].group);
        number(t, f->traffic[i].nvlink_B);
        ty_text_add(t, ", \"network_bytes\": ");
        number(t, f->traffic[i].net_B);
        ty_text_add(t, "}");
    }
    ty_text_add(t, "%s},\n", f->n_traffic > 0 ? "\n  " : "");
}

/* How many GPUs there are of each kind; a custom one has no name. */
static void kinds(struct ty_text *t, const struct ty_run *run)
{
    uint32_t shown = 0;
    ty_text_add(t, "  \"gpu_kinds\": [");
    for (uint32_t g = 0; g < ty_exceptions_n_generations(&run->config->cluster); g++) {
        const struct ty_cluster *c = ty_exceptions_cluster(&run->config->cluster, g);
        const uint32_t n = ty_run_gpus(run, g);
        if (n > 0) {
            ty_text_add(
                t, "%s{\"gpu\": %s%s%s, \"count\": %u, \"peak_flops\": ", shown++ > 0 ? ", " : "",
                c->gpu_preset != NULL ? "\"" : "", c->gpu_preset != NULL ? c->gpu_preset : "null",
                c->gpu_preset != NULL ? "\"" : "", (unsigned)n);
            number(t, c->gpu.peak[run->config->arch.dtype]);
            ty_text_add(t, "}");
        }
    }
    ty_text_add(t, "],\n");
}

int ty_report_json(const struct ty_run *run, struct ty_text *t, struct ty_err *err)
{
    struct ty_figures f;
    ty_run_figures(run, &f);
    ty_text_add(t, "{\n");
    for (const struct ty_figure_row *row = ty_figure_rows; row->name != NULL; row++) {
        if (!row->asked || ty_figure(&f, row) > 0) {
            pair(t, row->name, ty_figure(&f, row));
        }
    }
    ty_text_add(t, "  \"fits\": %s,\n", ty_run_fits(run) ? "true" : "false");
    int rc = memory(t, run, err);
    breakdown(t, &f);
    traffic(t, &f);
    rc = rc < 0 ? rc : ty_report_links_json(run, t, err);
    ty_together_json(run, f.step_s, t);
    rc = rc < 0 ? rc : ty_report_cover_json(run, t, err);
    ty_text_add(t, "  \"gpus\": %u,\n", (unsigned)run->lowered.program.n_ranks);
    kinds(t, run);
    ty_text_add(t, "  \"steps\": %u,\n", (unsigned)run->lowered.program.n_steps);
    ty_text_add(t, "  \"framework\": \"%s\",\n", run->config->layout.framework.preset);
    pair(t, "derate", run->config->cluster.gpu.derate);
    ty_text_add(t, "  \"engine\": \"%s\",\n", run->engine);
    ty_text_add(t, "  \"sharing\": \"%s\",\n  \"shared_links\": %u,\n",
                ty_sharing_words[run->sharing], (unsigned)run->shared.n_links);
    ty_text_add(t, "  \"tasks\": %" PRIu64 ",\n", run->all.program->n_tasks);
    pair(t, "wall_s", run->plan_s + run->execute_s);
    pair(t, "peak_rss_bytes", f.peak_rss_B);
    ty_text_add(t, "  \"config_digest\": \"%016" PRIx64 "\",\n", ty_config_digest(run->config));
    ty_text_add(t, "  \"seed\": %" PRIu64 ",\n", run->config->run.seed);
    ty_text_add(t, "  \"version\": \"%s\"\n}\n", TRAINYARD_VERSION);
    return rc;
}
