/* jobs.c - what is said of jobs that share the cluster. */
#include <stdio.h>
#include <stdlib.h>

#include "model/parallel/whole.h"
#include "sim/base/number_text.h"
#include "sim/base/words.h"
#include "sim/config/stack.h"
#include "sim/report/table.h"
#include "sim/run/bill.h"
#include "sim/run/figures.h"
#include "sim/run/jobs.h"
#include "sim/search/trial.h"

#define OWN       "this job"
#define STRETCHES 4u /* of nodes that are named */

/* "1, 4-6", at most a few; the nodes that a job has GPUs on. */
static void put_nodes(const struct ty_grid *grid, struct ty_text *t)
{
    const uint32_t n = ty_grid_nodes(grid);
    bool *on = calloc(n, sizeof(*on));
    uint32_t shown = 0;
    for (uint32_t r = 0; on != NULL && r < grid->n_ranks; r++) {
        on[ty_grid_node(grid, r)] = true;
    }
    for (uint32_t i = 0; on != NULL && i < n; i++) {
        if (!on[i]) {
            continue;
        }
        if (shown == STRETCHES) {
            ty_text_add(t, ", ...");
            break;
        }
        const uint32_t first = i;
        while (i + 1 < n && on[i + 1]) {
            i++;
        }
        ty_text_add(t, "%s", shown++ == 0 ? "" : ", ");
        ty_text_add(t, i > first ? "%u-%u" : "%u", (unsigned)first, (unsigned)i);
    }
    free(on);
}

static void describe(const struct ty_other_job *o, struct ty_text *t)
{
    const struct ty_config *c = &o->config;
    const struct ty_layout *l = &c->layout;
    struct ty_bill bill;
    char value[64], stack[TY_STACK_WORDS], widths[TY_WIDTHS_TEXT];
    ty_run_fullest(o->run, &bill);
    ty_text_add(t, "  %s: %s, %s parameters, on %u GPUs (nodes ", o->job->name, c->arch.name,
                ty_words_count(ty_arch_params(&c->arch), value, sizeof(value)), (unsigned)l->ranks);
    put_nodes(&o->run->lowered.grid, t);
    ty_text_add(t, ")\n    ");
    ty_report_tensor(l, t);
    ty_text_add(t, ", ");
    if (l->context > 1) {
        ty_text_add(t, "context %u, ", (unsigned)l->context);
    }
    ty_report_experts(l, t);
    ty_text_add(t, "pipeline %u (%s), data %s, ZeRO-%u, framework %s; %s", (unsigned)l->pipeline,
                ty_sched_of(&c->schedule)->name, ty_layout_data_text(l, widths), (unsigned)l->zero,
                ty_stack_words(c, stack), ty_verdict_word(ty_run_verdict(o->run, &bill)));
    if (o->job->steps > 0) {
        ty_text_add(t, "; %u step%s", (unsigned)o->job->steps, o->job->steps == 1 ? "" : "s");
    }
    ty_text_add(t, "\n");
}

void ty_report_jobs_describe(const struct ty_run *run, struct ty_text *t)
{
    const struct ty_run_jobs *jobs = run->jobs;
    if (jobs == NULL) {
        return;
    }
    ty_text_add(t, "\njobs beside it: this one sits on nodes ");
    put_nodes(&run->lowered.grid, t);
    ty_text_add(t, "\n");
    for (uint32_t i = 0; i < jobs->n; i++) {
        describe(&jobs->other[i], t);
    }
}

/* ---- after execution ---- */

#define NAME_WIDTH 16

static void put_row(struct ty_text *t, const char *name, uint32_t gpus, uint32_t steps, double step,
                    double alone)
{
    char a[64], b[64];
    ty_text_add(t, "  %-*s %6u %7u %13s %13s", NAME_WIDTH, name, (unsigned)gpus, (unsigned)steps,
                ty_words_seconds(step, a, sizeof(a)),
                alone > 0 ? ty_words_seconds(alone, b, sizeof(b)) : "-");
    if (alone > 0) {
        (void)ty_snprintf(a, sizeof(a), "%+.2f %%", 100 * (step / alone - 1));
        ty_text_add(t, " %13s", a);
    }
    ty_text_add(t, "\n");
}

void ty_report_jobs_table(const struct ty_run *run, double step_s, struct ty_text *t)
{
    const struct ty_run_jobs *jobs = run->jobs;
    if (jobs == NULL) {
        return;
    }
    ty_text_add(t, "\njobs that share the cluster\n  %-*s %6s %7s %13s %13s %13s\n", NAME_WIDTH, "",
                "GPUs", "steps", "step time", "alone", "sharing costs");
    put_row(t, OWN, run->lowered.program.n_ranks, run->lowered.program.n_steps, step_s,
            jobs->own_alone_s);
    for (uint32_t i = 0; i < jobs->n; i++) {
        const struct ty_other_job *o = &jobs->other[i];
        put_row(t, o->job->name, o->run->lowered.program.n_ranks, o->n_in_time, o->step_s,
                o->alone_s);
    }
    if (jobs->unshared) {
        ty_text_add(t, "  by engine sweep, or run.contention false, each is as if it were alone\n");
    }
    for (uint32_t i = 0; i < jobs->n; i++) {
        const struct ty_other_job *o = &jobs->other[i];
        char a[64], b[64];
        if (!ty_run_fits(o->run)) {
            ty_text_add(t, "  %s does not fit in memory: its times are as if it did\n",
                        o->job->name);
        }
        if (o->early) {
            ty_text_add(t, "  %s is done after %s of %s: the rest of the run is without it\n",
                        o->job->name, ty_words_seconds(o->end_s, a, sizeof(a)),
                        ty_words_seconds(ty_s_from_ps(run->timeline.makespan), b, sizeof(b)));
        }
    }
}

static void put_job(struct ty_json *j, const struct ty_other_job *o)
{
    struct ty_figures f;
    ty_run_figures(o->run, &f);
    ty_json_object(j, NULL);
    ty_json_text(j, "name", o->job->name);
    ty_json_whole(j, "gpus", o->run->lowered.program.n_ranks);
    ty_json_whole(j, "steps", o->config.run.steps);
    ty_json_whole(j, "steps_in_time", o->n_in_time);
    ty_json_real(j, "step_time_s", o->step_s);
    ty_json_real(j, "alone_step_time_s", o->alone_s);
    ty_json_real(j, "sharing_slowdown", o->step_s / o->alone_s - 1);
    ty_json_real(j, "mfu", f.mfu * f.step_s / o->step_s);
    ty_json_real(j, "end_s", o->end_s);
    ty_json_bool(j, "fits", ty_run_fits(o->run));
    ty_json_bool(j, "done_before", o->early);
    ty_json_end(j);
}

void ty_report_jobs_json(const struct ty_run *run, double step_s, struct ty_json *j)
{
    const struct ty_run_jobs *jobs = run->jobs;
    if (jobs == NULL) {
        return;
    }
    ty_json_real(j, "alone_step_time_s", jobs->own_alone_s);
    ty_json_real(j, "sharing_slowdown", step_s / jobs->own_alone_s - 1);
    ty_json_array(j, "jobs");
    ty_json_lines(j);
    for (uint32_t i = 0; i < jobs->n; i++) {
        put_job(j, &jobs->other[i]);
    }
    ty_json_end(j);
}

/* ---- explain ---- */

/* A step of the run's own job without one of the others. */
static int without(const struct ty_run *run, uint32_t number, double *step_s)
{
    struct ty_config changed = *run->config;
    struct ty_job *jobs = calloc(changed.n_jobs, sizeof(*jobs));
    if (jobs == NULL) {
        return TY_ENOMEM;
    }
    changed.n_jobs = 0;
    for (uint32_t i = 0; i < run->config->n_jobs; i++) {
        if (i != number) {
            jobs[changed.n_jobs++] = run->config->jobs[i];
        }
    }
    changed.jobs = jobs;
    const int rc = ty_trial_step(&changed, step_s);
    free(jobs);
    return rc;
}

int ty_report_jobs_explain(const struct ty_run *run, double step_s, struct ty_text *t)
{
    const struct ty_run_jobs *jobs = run->jobs;
    if (jobs == NULL) {
        return 0;
    }
    ty_text_add(t, "jobs on the same links: what sharing with each adds to a step, by a run "
                   "without it\n");
    for (uint32_t i = 0; i < jobs->n; i++) {
        const char *name = jobs->other[i].job->name;
        double without_s = jobs->own_alone_s;
        const int rc = jobs->n > 1 ? without(run, i, &without_s) : 0;
        char value[64];
        ty_text_add(t, "  %s", name);
        ty_text_pad(t, 34);
        if (rc == TY_ENOMEM) {
            return rc;
        }
        if (rc < 0) {
            ty_text_add(t, "cannot be run (%s)\n", ty_code_name(rc));
            continue;
        }
        ty_text_add(t, "%+.2f %%  (%s)\n", 100 * (step_s / without_s - 1),
                    ty_words_seconds(step_s - without_s, value, sizeof(value)));
    }
    if (jobs->n > 1) {
        ty_text_add(t, "  all of them");
        ty_text_pad(t, 34);
        ty_text_add(t, "%+.2f %%\n", 100 * (step_s / jobs->own_alone_s - 1));
    }
    ty_text_add(t, "\n");
    return 0;
}
