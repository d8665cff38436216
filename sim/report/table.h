/* table.h - the reports of a run and their pieces; `check` shows some of them. */
#ifndef TY_REPORT_TABLE_H
#define TY_REPORT_TABLE_H

#include "sim/base/text.h"
#include "sim/document/json.h"
#include "sim/run/figures.h"

/* The reports of trainyard.h. */
int ty_report_table(const struct ty_run *run, struct ty_text *text, struct ty_err *err);

/* The same without what would make the run fit. */
int ty_report_step(const struct ty_run *run, struct ty_text *text, struct ty_err *err);
int ty_report_json(const struct ty_run *run, struct ty_text *text, struct ty_err *err);
int ty_report_brief(const struct ty_run *run, struct ty_text *text, struct ty_err *err);

/* json.c: the figures that are one number, as members. */
void ty_report_figures_json(const struct ty_figures *figures, struct ty_json *json);

void ty_report_tensor(const struct ty_layout *layout, struct ty_text *text);  /* "tensor 4" */
void ty_report_experts(const struct ty_layout *layout, struct ty_text *text); /* "expert 8, " */
void ty_report_head(const struct ty_run *run, struct ty_text *text); /* model, cluster, layout */

/* Memory by stage, what fills the fullest, and if that is not clear of the limit what would help. 0
 * or TY_ENOMEM. */
void ty_report_memory(const struct ty_run *run, struct ty_text *text);

/* What would make a run fit: simulated for as long as run->suggest_s allows, a run that was only
 * planned by bounds. Nothing where it fits. */
int ty_report_suggest(const struct ty_run *run, struct ty_text *text, struct ty_err *err);

/* The seconds of run->suggest_s. */
double ty_report_budget_s(const struct ty_run *run);

/* explain.c, layer.c, traffic.c: the reports of these names. */
int ty_report_explain(const struct ty_run *run, struct ty_text *text, struct ty_err *err);
int ty_report_layers(const struct ty_run *run, struct ty_text *text, struct ty_err *err);
int ty_report_traffic(const struct ty_run *run, struct ty_text *text, struct ty_err *err);

/* tiers.c: what is kept off the GPUs and whether it fits there; nothing where nothing is. */
struct ty_bill;
void ty_report_tiers_json(const struct ty_run *run, struct ty_json *json);

/* ranks.c: the member `places` for the page, axes and the ranks that it draws: of a job that is too
 * large those on nodes of the first replica. 0 or TY_ENOMEM. */
int ty_report_places_page(struct ty_json *json, const struct ty_run *run, struct ty_err *err);

/* measured.c: what the files of measurements say, how well a fit describes them, and which
 * groups and kernels of this run they cover; nothing without such files. */
int ty_report_measured(const struct ty_run *run, struct ty_text *text, struct ty_err *err);

/* The same in a few lines, for a run; nothing without such files. */
int ty_report_cover(const struct ty_run *run, struct ty_text *text, struct ty_err *err);
int ty_report_cover_json(const struct ty_run *run, struct ty_json *json, struct ty_err *err);

/* How sure it is, where that was asked for: a 90 % band of the step, and what it is
 * due to. 0 or TY_ENOMEM. */
int ty_report_band(const struct ty_run *run, const struct ty_figures *figures, struct ty_text *text,
                   struct ty_err *err);

/* jobs.c: what is known of the other jobs before execution; what they took, and what the jobs cost
 * each other; the same as members of the JSON object. Nothing for a job alone. */
void ty_report_jobs_describe(const struct ty_run *run, struct ty_text *text);
void ty_report_jobs_table(const struct ty_run *run, double step_s, struct ty_text *text);
void ty_report_jobs_json(const struct ty_run *run, double step_s, struct ty_json *json);

/* What each of the other jobs costs the run's own, by runs without it. 0 or TY_ENOMEM. */
int ty_report_jobs_explain(const struct ty_run *run, double step_s, struct ty_text *text);

/* culprits.c: what slow GPUs, worse links and random spread add to the step of an executed run, and
 * which ranks the others wait for; nothing where all parts are alike. */
int ty_report_culprits(const struct ty_run *run, double step_s, struct ty_text *text,
                       struct ty_err *err);

/* explain_changes.c: what changes of layout, schedule and stack would do to an executed run, and
 * what better hardware would, by runs with one thing changed. `path`: what its critical path, all
 * steps long, consists of. */
struct ty_path_sums {
    double compute, nvlink, network; /* s, by what would make them shorter */
};
struct ty_change;

#endif
