/* explain.c - `trainyard explain`: where the time goes, formula next to simulation, whom the
 * others wait for, what can be changed and what would help (explain_changes.c).
 *
 * Nothing here is modelled anew: pass times are read off the timeline, idle time comes from the
 * statistics, the critical path from sim/core/analyse/crit.c, and every "what would help" is
 * another run of the same plan with one thing changed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/base/words.h"
#include "sim/core/analyse/crit.h"
#include "sim/core/execute/shorten.h"
#include "sim/report/table.h"
#include "sim/run/figures.h"
#include "sim/run/jobs.h"
#include "sim/run/pass_times.h"
#include "sim/search/neighbours.h"
#include "sim/search/schemes.h"
#include "topology/exceptions.h"

/* ---- changes ---- */

/* ---- what can be changed ---- */

#define CHANGE_COLUMN  13
#define MEMORY_COLUMN  25
#define VERDICT_COLUMN 38
#define SET_COLUMN     53

/* What to type, and what that takes the place of. */
static void report_sets(struct ty_text *t, const struct ty_change *change)
{
    for (uint32_t i = 0; i < change->n; i++) {
        ty_text_add(t, "%s--set ", i == 0 ? "" : " ");
        ty_change_put(t, change->set[i]);
    }
    for (uint32_t i = 0; i < change->n; i++) {
        ty_text_add(t, "%s%s", i == 0 ? "  (was " : ", ", change->was[i]);
    }
    ty_text_add(t, change->n > 0 ? ")\n" : "as it is\n");
}

/* One that does exactly what the plan as it is does. */
static bool is_same(const struct ty_neighbour *a, const struct ty_neighbour *own)
{
    return a != own && a->trial.step_s == own->trial.step_s && a->trial.peak_B == own->trial.peak_B;
}

static void put_row(struct ty_text *t, const struct ty_neighbour *n, const struct ty_neighbour *own)
{
    char value[64];
    ty_text_add(t, "  %s", ty_words_seconds(n->trial.step_s, value, sizeof(value)));
    ty_text_pad(t, CHANGE_COLUMN);
    if (n != own) {
        ty_text_add(t, "%+.2f %%", 100 * (n->trial.step_s / own->trial.step_s - 1));
    }
    ty_text_pad(t, MEMORY_COLUMN);
    ty_text_add(t, "%s", ty_words_bytes(n->trial.peak_B, value, sizeof(value)));
    ty_text_pad(t, VERDICT_COLUMN);
    ty_text_add(t, "%s", ty_verdict_word(n->trial.verdict));
    ty_text_pad(t, SET_COLUMN);
    report_sets(t, &n->change);
}

/* Those that fit, or the others. */
static void put_rows(struct ty_text *t, const struct ty_neighbours *all, bool fit)
{
    for (uint32_t i = 0; i < all->n; i++) {
        const struct ty_neighbour *n = &all->item[i];
        if ((n->trial.verdict != TY_VERDICT_SHORT) == fit && !is_same(n, &all->item[all->own])) {
            put_row(t, n, &all->item[all->own]);
        }
    }
}

static void put_same(struct ty_text *t, const struct ty_neighbours *all)
{
    const struct ty_neighbour *own = &all->item[all->own];
    bool any = false;
    for (uint32_t i = 0; i < all->n; i++) {
        const struct ty_change *change = &all->item[i].change;
        if (is_same(&all->item[i], own)) {
            ty_text_add(t, any ? ", " : "  no difference: ");
            for (uint32_t k = 0; k < change->n; k++) {
                ty_text_add(t, k == 0 ? "" : " ");
                ty_change_put(t, change->set[k]);
            }
            any = true;
        }
    }
    ty_text_add(t, any ? "\n" : "");
}

static int report_changes(const struct ty_run *run, struct ty_text *t, struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_neighbours all;
    const int rc = ty_run_neighbours(run, false, &all, &arena, err);
    if (rc < 0 || all.n < 2) {
        ty_arena_release(&arena);
        return rc;
    }
    ty_text_add(t, "fixes: step time, memory of the fullest GPU, and the option; those that fit "
                   "first, the fastest on top\n");
    if (all.no_noise) {
        ty_text_add(t, "  run.jitter, run.gpu_spread and run.routing are off in all of them, to "
                       "save time\n");
    }
    put_rows(t, &all, true);
    put_rows(t, &all, false);
    put_same(t, &all);
    if (all.left_out > 0) {
        ty_text_add(t,
                    "  %u more were left out: runs of this size take too long, or too much "
                    "memory\n",
                    (unsigned)all.left_out);
    }
    ty_text_add(t, "\n");
    ty_arena_release(&arena);
    return 0;
}

/* ---- what would help ---- */

static void faster_gpus(struct ty_config *c)
{
    c->cluster.gpu.derate /= 1.1;
}

/* Those of other generations; *faster NULL: there are none. TY_ENOMEM. */
static int faster_others(const struct ty_cluster *cluster, const struct ty_exceptions **faster,
                         struct ty_arena *arena)
{
    *faster = NULL;
    if (cluster->exceptions == NULL) {
        return 0;
    }
    struct ty_exceptions *others = ty_arena_array(arena, struct ty_exceptions, 1);
    *faster = others;
    return others != NULL ? ty_exceptions_faster(cluster, 1.1, others, arena) : TY_ENOMEM;
}

static void faster_nvlink(struct ty_config *c)
{
    c->cluster.nvlink.bandwidth *= 1.1;
}

static void faster_network(struct ty_config *c)
{
    c->cluster.net.nic_bandwidth *= 1.1;
}

static void shorter_latency(struct ty_config *c)
{
    double *const latencies[] = {
        &c->cluster.nvlink.latency,        &c->cluster.nvlink.latency_per_rank,
        &c->cluster.nvlink.gather_latency, &c->cluster.nvlink.gather_per_rank,
        &c->cluster.nvlink.step,           &c->cluster.nvlink.tree_step,
        &c->cluster.nvlink.p2p_latency,    &c->cluster.net.step,
        &c->cluster.net.tree_step,         &c->cluster.net.latency,
        &c->cluster.net.p2p_latency};
    for (size_t i = 0; i < TY_COUNT(latencies); i++) {
        *latencies[i] /= 1.1;
    }
}

static void more_micro_batches(struct ty_config *c)
{
    c->layout.global_batch *= 2;
    c->layout.micro_batches *= 2;
}

/* Changed configurations that can be made, each with its place in `trial`. */
struct what_if {
    const char *label;
    void (*change)(struct ty_config *);
    double predicted; /* change of time per token by the path; NAN: it does not say */
};

static void put_what_if(const struct what_if *row, const struct ty_trial *trial,
                        double tokens_per_s, struct ty_text *t)
{
    ty_text_add(t, "  %s", row->label);
    ty_text_pad(t, 34);
    if (row->change == more_micro_batches && trial->config.schedule.custom != NULL) {
        ty_text_add(t, "the file of a schedule fixes this number\n");
        return;
    }
    if (trial->rc < 0) {
        ty_text_add(t, "cannot be run (%s)\n", ty_code_name(trial->rc));
        return;
    }
    ty_text_add(t, "%+.2f %%", 100 * (tokens_per_s / trial->tokens_per_s - 1));
    if (!isnan(row->predicted)) {
        ty_text_pad(t, 48);
        ty_text_add(t, "expected from the critical path: %+.2f %%", 100 * row->predicted);
    }
    ty_text_add(t, "\n");
}

static int report_what_if(const struct ty_run *run, double tokens_per_s,
                          const struct ty_path_sums *path, struct ty_text *t, struct ty_err *err)
{
    const double gain = 1 - 1 / 1.1; /* of the part of the path that gets faster */
    const double share = gain / ty_s_from_ps(run->timeline.makespan);
    const double host = run->config->layout.framework.step_overhead * run->config->run.steps;
    const struct what_if rows[] = {
        {"GPUs 10 % faster", faster_gpus, -share * fmax(0, path->compute - host)},
        {"NVLink 10 % faster", faster_nvlink, -share * path->nvlink},
        {"network 10 % faster", faster_network, -share * path->network},
        {"latencies 10 % shorter", shorter_latency, (double)NAN},
        {"twice the micro-batches", more_micro_batches, (double)NAN},
    };
    struct ty_arena arena = {.head = NULL};
    const struct ty_exceptions *faster;
    int rc = faster_others(&run->config->cluster, &faster, &arena);
    struct ty_trial *trial = ty_arena_array(&arena, struct ty_trial, TY_COUNT(rows));
    struct ty_trial *runs[TY_COUNT(rows)];
    uint32_t n = 0;
    rc = rc == 0 && trial != NULL ? 0 : ty_fail_memory(err);
    for (size_t i = 0; i < TY_COUNT(rows) && rc == 0; i++) {
        trial[i].config = ty_trial_config(run);
        rows[i].change(&trial[i].config);
        if (rows[i].change == faster_gpus && faster != NULL) {
            trial[i].config.cluster.exceptions = faster;
        }
        if (rows[i].change != more_micro_batches || run->config->schedule.custom == NULL) {
            runs[n++] = &trial[i];
        }
    }
    if (rc == 0) {
        rc = ty_trials_execute(run, runs, n, err);
    }
    if (rc == 0) {
        ty_text_add(t, "fixes: time per token, by a run with one change\n");
    }
    for (size_t i = 0; i < TY_COUNT(rows) && rc == 0; i++) {
        put_what_if(&rows[i], &trial[i], tokens_per_s, t);
    }
    ty_arena_release(&arena);
    return rc;
}

/* ---- tensor schemes ---- */

#define LITTLE 0.002 /* of a step: nobody asks */

/* Columns: step, change, memory, verdict, computing, exposed communication, bytes, product. */
static const size_t scheme_column[] = {26, 38, 49, 60, 74, 85, 96, 107};

static void put_head(struct ty_text *t)
{
    static const char *const head[] = {"step",    "",       "memory", "",
                                       "compute", "tensor", "bytes",  "largest GEMM"};
    ty_text_add(t, "  scheme");
    for (size_t i = 0; i < TY_COUNT(scheme_column); i++) {
        ty_text_pad(t, scheme_column[i]);
        ty_text_add(t, "%s", head[i]);
    }
    ty_text_add(t, "\n");
}

static void put_product(struct ty_text *t, const struct ty_scheme *s)
{
    ty_text_add(t, "%.10g x %.10g x %.10g%s, %.4g TFLOP/s", s->rows, s->in, s->out,
                s->pieces > 1 ? " a step of it" : "", s->product_FLOPs * 1e-12);
}

static void put_scheme(struct ty_text *t, const struct ty_schemes *all, uint32_t i)
{
    const struct ty_scheme *s = &all->item[i];
    char value[64];
    ty_text_add(t, "  %s", s->name);
    ty_text_pad(t, scheme_column[0]);
    ty_text_add(t, "%s", ty_words_seconds(s->trial.step_s, value, sizeof(value)));
    ty_text_pad(t, scheme_column[1]);
    if (i != all->own) {
        ty_text_add(t, "%+.2f %%", 100 * (s->trial.step_s / all->item[all->own].trial.step_s - 1));
    } else {
        ty_text_add(t, "as it is");
    }
    ty_text_pad(t, scheme_column[2]);
    ty_text_add(t, "%s", ty_words_bytes(s->trial.peak_B, value, sizeof(value)));
    ty_text_pad(t, scheme_column[3]);
    ty_text_add(t, "%s", ty_verdict_word(s->trial.verdict));
    ty_text_pad(t, scheme_column[4]);
    ty_text_add(t, "%s", ty_words_seconds(s->trial.compute_s, value, sizeof(value)));
    ty_text_pad(t, scheme_column[5]);
    ty_text_add(t, "%s", ty_words_seconds(s->trial.tensor_s, value, sizeof(value)));
    ty_text_pad(t, scheme_column[6]);
    ty_text_add(t, "%s", ty_words_bytes(s->received_B, value, sizeof(value)));
    ty_text_pad(t, scheme_column[7]);
    put_product(t, s);
    ty_text_add(t, "\n");
    if (s->change.n > 0) {
        ty_text_pad(t, scheme_column[0]);
        report_sets(t, &s->change);
    }
}

/* Of what nothing hides; a rate says what links give, not what they are. */
static double received_Bps(const struct ty_scheme *s)
{
    return s->trial.tensor_s > 0 ? s->received_B / s->trial.tensor_s : (double)INFINITY;
}

static const char *put_difference(double s, char *buf, size_t size)
{
    char value[64];
    ty_snprintf(buf, size, "%s %s", ty_words_seconds(fabs(s), value, sizeof(value)),
                s >= 0 ? "more" : "less");
    return buf;
}

/* What most of the time is due to by which b is slower. */
static const char *deciding(const struct ty_scheme *a, const struct ty_scheme *b, double compute,
                            double tensor, double rest)
{
    const double bytes = log(b->received_B / a->received_B);
    const double rates = log(received_Bps(a) / received_Bps(b));
    if (rest > compute && rest > tensor) {
        return b->trial.config.layout.micro_batches < a->trial.config.layout.micro_batches
                   ? "fewer micro-batches"
                   : "what follows from it elsewhere";
    }
    return compute > tensor ? "the shapes of its GEMMs" : bytes > rates ? "bytes" : "links";
}

/* Between the fastest and the fastest of the other kind, in one dimension or in more. */
static void put_reason(struct ty_text *t, const struct ty_scheme *a, const struct ty_scheme *b)
{
    const double compute = b->trial.compute_s - a->trial.compute_s;
    const double tensor = b->trial.tensor_s - a->trial.tensor_s;
    const double rest = b->trial.step_s - a->trial.step_s - compute - tensor;
    char text[64];
    ty_text_add(t, "  %s before %s: the latter computes %s,", a->name, b->name,
                put_difference(compute, text, sizeof(text)));
    ty_text_add(t, " waits %s for tensor ranks with %.2f times the bytes",
                put_difference(tensor, text, sizeof(text)), b->received_B / a->received_B);
    if (fabs(rest) > LITTLE * b->trial.step_s) {
        ty_text_add(t, ", and %s for all else", put_difference(rest, text, sizeof(text)));
    }
    ty_text_add(t, "; what decides: %s\n", deciding(a, b, compute, tensor, rest));
}

static bool is_line(const struct ty_scheme *s)
{
    return s->trial.config.layout.tensor_scheme == TY_TENSOR_1D;
}

static void put_schemes(struct ty_text *t, const struct ty_schemes *all)
{
    ty_text_add(t,
                "tensor schemes for %u ranks, fastest first; bytes that a rank receives for the "
                "GEMMs of a step, by the closed form\n",
                (unsigned)all->item[0].trial.config.layout.tensor);
    if (all->no_noise) {
        ty_text_add(t, "  run.jitter, run.gpu_spread and run.routing are off in all of them, to "
                       "save time\n");
    }
    put_head(t);
    for (uint32_t i = 0; i < all->n; i++) {
        put_scheme(t, all, i);
    }
    for (uint32_t i = 1; i < all->n; i++) {
        if (is_line(&all->item[i]) != is_line(&all->item[0])) {
            put_reason(t, &all->item[0], &all->item[i]);
            break;
        }
    }
    if (all->refused != NULL) {
        ty_text_add(t, "  not all schemes can be here: %s\n", all->refused);
    }
    ty_text_add(t, "\n");
}

/* explain_schemes.c: the ways to cut products over the tensor ranks that there are, and what
 * decides between them; nothing where so many ranks are no grid. */
static int report_schemes(const struct ty_run *run, struct ty_text *t, struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_schemes *all = ty_arena_array(&arena, struct ty_schemes, 1);
    const int rc = all == NULL ? ty_fail_memory(err) : ty_run_schemes(run, all, &arena, err);
    if (rc == 0 && all->n > 0) {
        put_schemes(t, all);
    }
    ty_arena_release(&arena);
    return rc;
}

/* ---- the explanation ---- */

/* ---- formula ---- */

static void put_seconds(struct ty_text *t, const char *label, double s, const char *note)
{
    char value[64];
    ty_text_add(t, "  %s", label);
    ty_text_pad(t, 42);
    ty_text_add(t, "%s%s", s < 0 ? "-" : "", ty_words_seconds(fabs(s), value, sizeof(value)));
    if (note != NULL) {
        ty_text_pad(t, 54);
        ty_text_add(t, "%s", note);
    }
    ty_text_add(t, "\n");
}

/* ZeRO-3: what the number of collectives costs, on a rank of the first stage in a step. */
static void put_latency(const struct ty_run *run, struct ty_text *t)
{
    const struct ty_program *p = &run->lowered.program;
    const struct ty_gang *gang = &p->gangs[0];
    uint64_t gathers = 0, reductions = 0;
    double latency = 0;
    char note[160], n[2][32];
    for (uint32_t i = 0; i < gang->n_passes; i++) {
        const struct ty_block *block = &p->blocks[p->passes[gang->first_pass + i].block];
        for (uint32_t k = block->first; k < block->first + block->n_ops; k++) {
            const struct ty_kind *kind = &p->kinds[p->ops[k].kind];
            const bool ours = p->ops[k].sync == TY_SYNC_GROUP && kind->collective != NULL &&
                              kind->category == TY_CAT_COMM_DATA;
            const bool gather =
                ours && strcmp(kind->collective, ty_coll_name(TY_COLL_ALL_GATHER)) == 0;
            gathers += gather;
            reductions += ours && !gather;
            latency += ours ? (double)kind->latency * 1e-12 : 0;
        }
    }
    gathers /= p->n_steps;
    reductions /= p->n_steps;
    ty_snprintf(note, sizeof(note), "latency of %s gather%s and %s reduction%s, hidden or not",
                ty_words_count((double)gathers, n[0], sizeof(n[0])), gathers == 1 ? "" : "s",
                ty_words_count((double)reductions, n[1], sizeof(n[1])), reductions == 1 ? "" : "s");
    put_seconds(t, "  number of collectives", latency / p->n_steps, note);
}

/* What the published formula leaves out, each with what it costs here. `missing` is the simulated
 * step less the formula's, NAN without one: causes overlap, and what they leave is a row. */
static void put_reasons(const struct ty_run *run, const struct ty_figures *f,
                        const struct ty_stage_times *st, double missing, struct ty_text *t)
{
    const struct ty_layout *l = &run->config->layout;
    const double rest = missing - f->bucket_s[TY_BUCKET_EXPOSED_PIPELINE] -
                        f->bucket_s[TY_BUCKET_EXPOSED_DATA] - f->bucket_s[TY_BUCKET_OPTIMIZER];
    double uneven_s = 0;
    char note[160];
    if (st->most > 1.005 * st->work) {
        ty_snprintf(note, sizeof(note),
                    "stage %u takes %.1f %% longer than the mean in each of %u "
                    "rounds",
                    (unsigned)st->slowest, 100 * (st->most / st->work - 1),
                    (unsigned)ty_stage_times_rounds(run));
        uneven_s = ty_stage_times_uneven(run, st);
        put_seconds(t, "uneven stages", uneven_s, note);
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
        if (l->zero >= 3) {
            put_latency(run, t);
        }
    }
    put_seconds(t, "optimizer", f->bucket_s[TY_BUCKET_OPTIMIZER], NULL);
    if (fabs(rest - uneven_s) > 0.01 * fabs(missing)) {
        put_seconds(t, "the rest", rest - uneven_s,
                    rest < uneven_s ? "the causes above overlap"
                                    : "the causes are means; one chain of GPUs sets the step");
    }
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
    double missing = NAN;
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
        missing = f->step_s - value;
        put_seconds(t, "simulated minus formula", missing, "because of:");
    }
    put_reasons(run, f, &st, missing, t);
    ty_text_add(t, "  bubble: %s of the step; ", ty_words_share(f->bubble_fraction, a, sizeof(a)));
    ty_text_add(t, "%s over ideal\n\n", ty_words_share(f->bubble_over_ideal, a, sizeof(a)));
}

/* ---- idle time and activations by stage ---- */

/* Mean over the ranks of a stage. */
static double stage_bucket_s(const struct ty_run *run, uint32_t stage, enum ty_bucket bucket)
{
    const struct ty_program *p = ty_run_is_folded(run) ? run->counted : &run->lowered.program;
    const struct ty_gang *gang = &p->gangs[stage];
    double sum = 0;
    for (uint32_t i = 0; i < gang->n_ranks; i++) {
        sum += ty_s_from_ps(run->stats.rank[gang->rank_of[i]].bucket[bucket]);
    }
    return sum / gang->n_ranks;
}

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
    ty_text_add(t, "   micro-batches held (rule of the schedule)\n");
    for (uint32_t s = 0; s < p->n_gangs; s++) {
        ty_text_add(t, "  %5u", (unsigned)s);
        for (uint32_t k = 0; k < n; k++) {
            double idle = stage_bucket_s(run, s, all[column[k]].bucket) / p->n_steps;
            char value[64];
            idle = idle < TY_STEP_NOISE * f->step_s ? 0 : idle;
            ty_text_add(t, "%11s", ty_words_seconds(idle, value, sizeof(value)));
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
    double *sum = &path->sum.nvlink, others = 0;
    if (kind->category == TY_CAT_OFFLOAD || kind->category == TY_CAT_HOST) {
        sum = &others;
    } else if (op->stream == TY_STREAM_COMPUTE) {
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
    const struct ty_program *p = run->timeline.program;
    const double total = ty_s_from_ps(run->timeline.makespan);
    path->p = p;
    path->part = calloc(p->n_kinds, sizeof(*path->part));
    if (path->part == NULL) {
        return ty_fail_memory(err);
    }
    const int rc = ty_critical_path(&run->timeline, add_to_path, path, err);
    if (rc == 0) {
        qsort(path->part, p->n_kinds, sizeof(*path->part), by_seconds);
        ty_text_add(t, "critical path: the chain that sets the step time\n");
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
        rc = report_schemes(run, t, err);
    }
    if (rc == 0) {
        rc = report_changes(run, t, err);
    }
    if (rc == 0) {
        rc = report_what_if(run, f.tokens_per_s, &path.sum, t, err);
    }
    return rc < 0 ? rc : ty_report_band(run, &f, t, err);
}

/* With every pass, where some were left out as they only repeat others. */
static int explain_all(const struct ty_run *run, struct ty_text *t, struct ty_err *err)
{
    struct ty_run seen = *run;
    if (run->all.whole == NULL) {
        return explain(run, t, err);
    }
    int rc = ty_timeline_init(&seen.all, run->all.whole, err);
    rc = rc < 0 ? rc : ty_timeline_lengthen(&seen.all, &run->all, err);
    seen.timeline = seen.all;
    rc = rc < 0 ? rc : explain(&seen, t, err);
    ty_timeline_release(&seen.all);
    return rc;
}

int ty_report_explain(const struct ty_run *run, struct ty_text *text, struct ty_err *err)
{
    int rc = ty_run_check_model(run, "an explanation", err);
    if (rc == 0 && !run->executed) {
        rc = ty_fail(err, TY_EUSAGE, "an explanation needs an executed run");
    }
    rc = rc < 0 ? rc : explain_all(run, text, err);
    return rc == TY_ENOMEM ? ty_fail_memory(err) : rc;
}
