/* explain.c - `trainyard explain`: where the time goes, formula beside simulation, whom the
 * others wait for, what can be changed and what would help (explain_changes.c).
 *
 * Nothing here is modelled anew: pass times are read off the timeline, idle time comes from the
 * statistics, the critical path from sim/core/analyse/crit.c, and every "what would help" is
 * another run of the same plan with one thing changed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/base/words.h"
#include "sim/core/analyse/crit.h"
#include "sim/report/table.h"
#include "sim/run/figures.h"
#include "sim/run/jobs.h"
#include "sim/run/pass_times.h"

/* ---- formula ---- */

static void put_seconds(struct ty_text *t, const char *label, double s, const char *note)
{
    char value[64];
    ty_text_add(t, "  %s", label);
    ty_text_pad(t, 42);
    ty_text_add(t, "%s", ty_words_seconds(s, value, sizeof(value)));
    if (note != NULL) {
        ty_text_pad(t, 54);
        ty_text_add(t, "%s", note);
    }
    ty_text_add(t, "\n");
}

/* What the published formula leaves out, each with what it costs here. */
static void put_reasons(const struct ty_run *run, const struct ty_figures *f,
                        const struct ty_stage_times *st, struct ty_text *t)
{
    const struct ty_layout *l = &run->config->layout;
    char note[160];
    if (st->most > 1.005 * st->work) {
        ty_snprintf(note, sizeof(note),
                    "stage %u takes %.1f %% longer than the mean in each of %u "
                    "rounds",
                    (unsigned)st->slowest, 100 * (st->most / st->work - 1),
                    (unsigned)ty_stage_times_rounds(run));
        put_seconds(t, "uneven stages", ty_stage_times_uneven(run, st), note);
    }
    if (f->bucket_s[TY_BUCKET_EXPOSED_PIPELINE] > 0) {
        put_seconds(t, "messages", f->bucket_s[TY_BUCKET_EXPOSED_PIPELINE],
                    "waiting for the wire between stages, mean over GPUs");
    }
    if (f->bucket_s[TY_BUCKET_EXPOSED_DATA] > 0) {
        put_seconds(t, "data-parallel", f->bucket_s[TY_BUCKET_EXPOSED_DATA],
                    l->zero >= 3
                        ? "gathers and reductions that nothing hides, mean over GPUs; those "
                          "inside passes are in the formula's value, too"
                        : "reductions and gathers that nothing hides, mean over GPUs");
    }
    put_seconds(t, "optimizer", f->bucket_s[TY_BUCKET_OPTIMIZER], NULL);
    if (l->micro_batches < l->pipeline) {
        ty_text_add(t, "  fewer micro-batches (%u) than stages (%u): the pipeline never fills\n",
                    (unsigned)l->micro_batches, (unsigned)l->pipeline);
    }
}

static void put_formula(const struct ty_run *run, const struct ty_figures *f, struct ty_text *t)
{
    const struct ty_sched *sched = ty_sched_of(&run->config->schedule);
    const struct ty_layout *l = &run->config->layout;
    const struct ty_stage_times st = ty_stage_times_of(run);
    const struct ty_sched_shape shape =
        ty_sched_shape_of(&run->config->schedule, l->pipeline, l->micro_batches);
    char a[64], b[64], c[64];
    ty_text_add(t, "formula and simulation\n");
    put_seconds(t, "simulated step", f->step_s, NULL);
    put_seconds(t, "ideal: no idle time for the pipeline", f->ideal_s, NULL);
    ty_text_add(t, "  mean pass of a stage: forward %s, backward %s",
                ty_words_seconds(st.mean.forward, b, sizeof(b)),
                ty_words_seconds(st.mean.backward, c, sizeof(c)));
    if (st.mean.weight > 0) {
        ty_text_add(t, " (input part %s, weight part %s)",
                    ty_words_seconds(st.mean.input, a, sizeof(a)),
                    ty_words_seconds(st.mean.weight, b, sizeof(b)));
    }
    ty_text_add(t, "\n");
    if (sched->makespan != NULL) {
        const double value = ty_stage_times_formula(run, &st);
        const bool domain = ty_sched_in_domain(&run->config->schedule, &shape, &st.mean);
        ty_text_add(t, "  %s: %s, claimed for %s%s\n", sched->name, sched->formula,
                    sched->domain != NULL ? sched->domain : "equal stages",
                    domain ? "" : " (not the case here)");
        put_seconds(t, "its value with these passes", value, NULL);
        put_seconds(t, "simulated minus formula", f->step_s - value, "because of:");
    }
    put_reasons(run, f, &st, t);
    ty_text_add(t, "  bubble: %s of the step; ", ty_words_share(f->bubble_fraction, a, sizeof(a)));
    ty_text_add(t, "%s over ideal\n\n", ty_words_share(f->bubble_over_ideal, a, sizeof(a)));
}

/* ---- idle time and activations by stage ---- */

/* Kinds of parallelism that few layouts have get a column where they are waited for. */
static void put_stages(const struct ty_run *run, const struct ty_figures *f, struct ty_text *t)
{
    static const struct {
        enum ty_bucket bucket;
        const char *head;
    } all[] = {{TY_BUCKET_BUBBLE_FILL, "fill"},        {TY_BUCKET_BUBBLE_STALL, "stall"},
               {TY_BUCKET_BUBBLE_DRAIN, "drain"},      {TY_BUCKET_EXPOSED_PIPELINE, "messages"},
               {TY_BUCKET_EXPOSED_TENSOR, "tensor"},   {TY_BUCKET_EXPOSED_DATA, "data"},
               {TY_BUCKET_EXPOSED_CONTEXT, "context"}, {TY_BUCKET_EXPOSED_EXPERT, "expert"},
               {TY_BUCKET_OPTIMIZER, "optimizer"}};
    uint32_t column[TY_COUNT(all)], n = 0;
    for (uint32_t k = 0; k < TY_COUNT(all); k++) {
        const bool rare =
            all[k].bucket == TY_BUCKET_EXPOSED_CONTEXT || all[k].bucket == TY_BUCKET_EXPOSED_EXPERT;
        if (!rare || f->bucket_s[all[k].bucket] > 0) {
            column[n++] = k;
        }
    }
    const struct ty_program *p = &run->lowered.program;
    const struct ty_sched *sched = ty_sched_of(&run->config->schedule);
    const struct ty_sched_shape shape =
        ty_sched_shape_of(&run->config->schedule, p->n_gangs, run->config->layout.micro_batches);
    ty_text_add(t, "idle time of a stage's GPUs, mean, per step\n  stage");
    for (uint32_t k = 0; k < n; k++) {
        ty_text_add(t, "%11s", all[column[k]].head);
    }
    ty_text_add(t, "   held (rule)\n");
    for (uint32_t s = 0; s < p->n_gangs; s++) {
        ty_text_add(t, "  %5u", (unsigned)s);
        for (uint32_t k = 0; k < n; k++) {
            double sum = 0;
            char value[64];
            for (uint32_t i = 0; i < p->gangs[s].n_ranks; i++) {
                const uint32_t rank = p->gangs[s].rank_of[i];
                sum += ty_s_from_ps(run->stats.rank[rank].bucket[all[column[k]].bucket]);
            }
            sum /= (double)p->gangs[s].n_ranks * p->n_steps;
            ty_text_add(t, "%11s", ty_words_seconds(sum, value, sizeof(value)));
        }
        ty_text_add(t, "   %u", (unsigned)run->stats.memory[s].peak_held);
        const uint32_t by_rule = ty_sched_in_flight(sched, &shape, s);
        if (by_rule > 0) { /* a pair has one more */
            ty_text_add(t, " (%u)", (unsigned)by_rule + ty_sched_pairs(&run->config->schedule));
        }
        ty_text_add(t, "\n");
    }
    ty_text_add(t, "\n");
}

/* ---- experts ---- */

/* What nothing hides: nobody sends faster where ranks wait for one that has more to compute. */
static void put_experts(const struct ty_run *run, const struct ty_figures *f, struct ty_text *t)
{
    const double exposed = f->bucket_s[TY_BUCKET_EXPOSED_EXPERT];
    char share[64];
    if (exposed <= 0) {
        return;
    }
    ty_text_add(t, "experts: exchanges that nothing hides, mean over GPUs\n");
    put_seconds(t, "transfer", exposed - f->expert_wait_s,
                run->config->layout.framework.expert_overlap
                    ? "bytes, shared links, and what a dispatcher does around them"
                    : "bytes, shared links, and what a dispatcher does around them; no other "
                      "micro-batch runs beside it");
    put_seconds(t, "waiting", f->expert_wait_s,
                f->expert_wait_s > 0
                    ? "for the rank of a group that has most rows; a faster exchange does not help"
                    : NULL);
    ty_text_add(t, "  together %s of the step\n\n",
                ty_words_share(exposed / f->step_s, share, sizeof(share)));
}

/* ---- critical path ---- */

struct path_part {
    const char *name, *category;
    double seconds;
    uint64_t n;
    bool compute;
};

struct path {
    const struct ty_program *p;
    struct path_part *part; /* [n_kinds], by first kind of that name */
    struct ty_path_sums sum;
};

static void add_to_path(void *arg, const struct ty_crit_task *task)
{
    struct path *path = arg;
    const struct ty_pass *pass = &ty_gang_passes(path->p, &path->p->gangs[task->gang])[task->pass];
    const struct ty_op *op = &ty_pass_ops(path->p, pass)[task->op];
    const struct ty_kind *kind = &path->p->kinds[op->kind];
    const double seconds = ty_s_from_ps(task->dur + task->delay);
    uint32_t k = 0;
    double *sum = &path->sum.nvlink;
    if (op->stream == TY_STREAM_COMPUTE) {
        sum = &path->sum.compute;
    } else if (kind->net_B > 0) { /* what leaves its node is as fast as the network lets it */
        sum = &path->sum.network;
    }
    while (strcmp(path->p->kinds[k].name, kind->name) != 0 ||
           path->p->kinds[k].category != kind->category) {
        k++;
    }
    *sum += seconds;
    path->part[k].name = kind->name;
    path->part[k].category = ty_transformer_words.categories[kind->category].name;
    path->part[k].seconds += seconds;
    path->part[k].n++;
}

static int by_seconds(const void *a, const void *b)
{
    const struct path_part *x = a, *y = b;
    if (x->seconds != y->seconds || x->name == NULL || y->name == NULL) {
        return (x->seconds < y->seconds) - (x->seconds > y->seconds);
    }
    const int order = strcmp(x->name, y->name);
    return order != 0 ? order : strcmp(x->category, y->category);
}

static int put_path(const struct ty_run *run, struct path *path, struct ty_text *t,
                    struct ty_err *err)
{
    const struct ty_program *p = &run->lowered.program;
    const double total = ty_s_from_ps(run->timeline.makespan);
    path->p = p;
    path->part = calloc(p->n_kinds, sizeof(*path->part));
    if (path->part == NULL) {
        return ty_fail_memory(err);
    }
    const int rc = ty_critical_path(&run->timeline, add_to_path, path, err);
    if (rc == 0) {
        qsort(path->part, p->n_kinds, sizeof(*path->part), by_seconds);
        ty_text_add(t, "critical path: what the step is as long as\n");
        for (uint32_t k = 0; k < p->n_kinds && k < 12 && path->part[k].n > 0; k++) {
            char value[64], label[64];
            snprintf(label, sizeof(label), "%s", path->part[k].name);
            ty_text_add(t, "  %s", label);
            ty_text_pad(t, 28);
            ty_text_add(t, "%s", path->part[k].category);
            ty_text_pad(t, 48);
            ty_text_add(t, "%-12s %6.2f %%  %llu times\n",
                        ty_words_seconds(path->part[k].seconds, value, sizeof(value)),
                        100 * path->part[k].seconds / total, (unsigned long long)path->part[k].n);
        }
        ty_text_add(t, "\n");
    }
    free(path->part);
    return rc;
}

static int explain(const struct ty_run *run, struct ty_text *t, struct ty_err *err)
{
    struct ty_figures f;
    struct path path = {.p = NULL};
    ty_run_figures(run, &f);
    ty_report_head(run, t);
    put_formula(run, &f, t);
    put_stages(run, &f, t);
    put_experts(run, &f, t);
    int rc = put_path(run, &path, t, err);
    if (rc == 0) {
        rc = ty_report_culprits(run, f.step_s, t, err);
    }
    if (rc == 0) {
        rc = ty_report_jobs_explain(run, f.step_s, t);
    }
    if (rc == 0) {
        rc = ty_report_schemes(run, t, err);
    }
    if (rc == 0) {
        rc = ty_report_changes(run, t, err);
    }
    if (rc == 0) {
        rc = ty_report_what_if(run, f.tokens_per_s, &path.sum, t, err);
    }
    return rc < 0 ? rc : ty_report_band(run, &f, t, err);
}

int ty_run_explain(const struct ty_run *run, char **text, struct ty_err *err)
{
    struct ty_text t = {.data = NULL};
    *text = NULL;
    int rc = ty_run_check_model(run, "an explanation", err);
    rc = rc < 0 ? rc : ty_run_check_ranks(run, "an explanation", false, err);
    rc = rc < 0 ? rc : explain(run, &t, err);
    if (rc == 0) {
        *text = ty_text_take(&t);
    }
    if (*text == NULL && (rc == 0 || rc == TY_ENOMEM)) {
        rc = ty_fail_memory(err);
    }
    ty_text_release(&t);
    return rc;
}
