/* table.c - `run --stats table` and the head of `check`: for people. */
#include "sim/report/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/parallel/whole.h"
#include "sim/base/number_text.h"
#include "sim/base/words.h"
#include "sim/config/stack.h"
#include "sim/report/links.h"
#include "sim/report/nearest.h"
#include "sim/run/gpus.h"
#include "sim/run/jobs.h"
#include "sim/search/trial.h"

#define COLUMN           22 /* where values begin */
#define EXCEPTIONS_SHOWN 6u

static void row(struct ty_text *t, const char *label, const char *value, const char *note)
{
    ty_text_add(t, "%s", label);
    ty_text_pad(t, COLUMN);
    ty_text_add(t, "%s", value);
    if (note[0] != '\0') {
        ty_text_pad(t, COLUMN + 16);
        ty_text_add(t, "%s", note);
    }
    ty_text_add(t, "\n");
}

/* "except for gpu 17 at 80 %, nic 3.6 dead" */
static void exceptions(const struct ty_string_list *texts, struct ty_text *t)
{
    for (uint32_t i = 0; i < texts->n && i < EXCEPTIONS_SHOWN; i++) {
        ty_text_add(t, "%s%s", i == 0 ? "except for " : ", ", texts->item[i]);
    }
    if (texts->n > EXCEPTIONS_SHOWN) {
        ty_text_add(t, " and %u more", (unsigned)(texts->n - EXCEPTIONS_SHOWN));
    }
    ty_text_add(t, texts->n > 0 ? "\n" : "");
}

/* "interleaved, 2 chunks per rank" */
static void schedule(const struct ty_config *c, struct ty_text *t)
{
    const uint32_t chunks = ty_sched_chunks(&c->schedule), slices = ty_sched_slices(&c->schedule);
    ty_text_add(t, "%s", ty_sched_of(&c->schedule)->name);
    if (chunks > 1) {
        ty_text_add(t, ", %u chunks per rank", (unsigned)chunks);
    }
    if (slices > 1) {
        ty_text_add(t, ", %u slices", (unsigned)slices);
    }
}

/* " in 4 layers of each stage", " in [4, 3, 2, 0] layers of the stages" */
static void recomputed_layers(const struct ty_config *c, struct ty_text *t)
{
    const struct ty_section *layout = &c->sections[TY_SECTION_LAYOUT];
    const struct ty_counts_list *list = &c->layout.recompute_layers;
    char layers[TY_CONFIG_VALUE];
    ty_field_format(layout, ty_section_field(layout, "recompute_layers"), layers, sizeof(layers));
    if (list->n == 1) {
        ty_text_add(t, " in %.*s layers of each stage", (int)strlen(layers) - 2, layers + 1);
    } else if (list->n > 1) {
        ty_text_add(t, " in %s layers of the stages", layers);
    }
}

/* Whether layers repeat what layout.recompute says, or something of their own. */
static bool is_plain(const struct ty_counts_list *list)
{
    bool plain = true;
    for (uint32_t i = 0; i < list->n; i++) {
        for (uint32_t k = 0; k < list->item[i].n; k++) {
            plain = plain && list->item[i].item[k].set == TY_COUNTS_PLAIN;
        }
    }
    return plain;
}

/* ", selective recomputation", ", recomputation of norm+moe_act" */
static void recomputation(const struct ty_config *c, struct ty_text *t)
{
    const struct ty_section *layout = &c->sections[TY_SECTION_LAYOUT];
    char parts[TY_CONFIG_VALUE];
    if (!is_plain(&c->layout.recompute_layers)) {
        ty_text_add(t, ", recomputation");
        recomputed_layers(c, t);
        return;
    }
    switch (c->layout.recompute) {
    case TY_RECOMPUTE_NONE:
        ty_text_add(t, ", no recomputation");
        break;
    case TY_RECOMPUTE_CORE:
        ty_text_add(t, ", selective recomputation");
        break;
    case TY_RECOMPUTE_FFN:
        ty_text_add(t, ", recomputation of the MLP (ffn)");
        break;
    case TY_RECOMPUTE_FULL:
        ty_text_add(t, ", full recomputation");
        break;
    default:
        ty_text_add(
            t, ", recomputation of %s",
            ty_field_format(layout, ty_section_field(layout, "recompute"), parts, sizeof(parts)));
    }
    recomputed_layers(c, t);
}

void ty_report_experts(const struct ty_layout *l, struct ty_text *t)
{
    if (l->expert_data > 0) {
        ty_text_add(t, "expert %u", (unsigned)l->expert);
        if (l->expert_tensor > 1) {
            ty_text_add(t, " x %u", (unsigned)l->expert_tensor);
        }
        ty_text_add(t, " (%u cop%s), ", (unsigned)l->expert_data,
                    l->expert_data == 1 ? "y" : "ies");
    }
}

void ty_report_tensor(const struct ty_layout *l, struct ty_text *t)
{
    const struct ty_mesh mesh = ty_layout_mesh(l);
    const unsigned q = mesh.side, d = mesh.depth;
    char widths[TY_WIDTHS_TEXT];
    ty_text_add(t, "tensor %s", ty_layout_tensor_text(l, widths));
    if (mesh.scheme == TY_TENSOR_2D) {
        ty_text_add(t, " (2d, %u x %u)", q, q);
    } else if (mesh.scheme != TY_TENSOR_1D) {
        ty_text_add(t, " (%s, %u x %u x %u)", ty_scheme_words[mesh.scheme].name, q, q, d);
    }
}

/* Of a trace of others. */
static void traced_head(const struct ty_run *run, struct ty_text *t)
{
    const struct ty_config *c = run->config;
    const struct ty_traced *job = c->workload.job;
    char gpus[512], nodes[64];
    uint64_t n = 0;
    for (uint32_t r = 0; r < job->n_ranks; r++) {
        n += job->rank[r].n;
    }
    ty_run_gpu_words(run, gpus, sizeof(gpus));
    ty_text_add(t, "%s, %s nodes of %u ranks in %s, on %s (%u node%s of %u)\n", c->arch.name,
                ty_words_count((double)n, nodes, sizeof(nodes)), (unsigned)job->n_ranks,
                c->workload.goal != NULL ? "GOAL" : "Chakra", gpus, (unsigned)c->cluster.nodes,
                c->cluster.nodes == 1 ? "" : "s", (unsigned)c->cluster.gpus_per_node);
    exceptions(&c->cluster.exception_texts, t);
    ty_text_add(t, "no tokens, MFU or memory: a trace has no model\n\n");
}

static void batches(const struct ty_config *c, struct ty_text *t)
{
    const struct ty_layout *l = &c->layout;
    const unsigned each = l->unlike ? l->micro_batch * l->data : l->micro_batch;
    ty_text_add(t, "%u sequence%s of %u token%s a step: %u micro-batch%s of %u %s\n\n",
                (unsigned)l->global_batch, l->global_batch == 1 ? "" : "s",
                (unsigned)c->arch.sequence, c->arch.sequence == 1 ? "" : "s",
                (unsigned)l->micro_batches, l->micro_batches == 1 ? "" : "es", each,
                l->unlike ? "through all stages" : "on each pipeline");
}

void ty_report_head(const struct ty_run *run, struct ty_text *t)
{
    const struct ty_config *c = run->config;
    if (c->workload.job != NULL) {
        traced_head(run, t);
        return;
    }
    const struct ty_layout *l = &c->layout;
    char params[64], gpus[512], of[32] = "", stack[TY_STACK_WORDS], widths[TY_WIDTHS_TEXT];
    if (l->ranks < ty_cluster_gpus(&c->cluster)) {
        (void)snprintf(of, sizeof(of), " of %u GPUs", (unsigned)ty_cluster_gpus(&c->cluster));
    }
    ty_run_gpu_words(run, gpus, sizeof(gpus));
    ty_text_add(t, "%s, %s parameters, on %s%s (%u node%s of %u%s%s)\n", c->arch.name,
                ty_words_count(ty_arch_params(&c->arch), params, sizeof(params)), gpus, of,
                (unsigned)c->cluster.nodes, c->cluster.nodes == 1 ? "" : "s",
                (unsigned)c->cluster.gpus_per_node, c->cluster.preset != NULL ? ", " : "",
                c->cluster.preset != NULL ? c->cluster.preset : "");
    if (c->arch.frozen != 0) {
        const double trained = ty_arch_trained_params(&c->arch, &c->layout);
        ty_text_add(t, "trained: %s parameters, %.2g %%",
                    ty_words_count(trained, params, sizeof(params)),
                    100 * trained / ty_arch_params(&c->arch));
        if (c->arch.lora.rank > 0) {
            ty_text_add(t, "; adapters of rank %u", (unsigned)c->arch.lora.rank);
        }
        if (c->arch.frozen_dtype != TY_FROZEN_MODEL) {
            ty_text_add(t, "; frozen matrices in %s",
                        ty_frozen_dtype_words[c->arch.frozen_dtype].name);
        }
        ty_text_add(t, "\n");
    }
    if (ty_arch_is_moe(&c->arch)) {
        char active[64];
        ty_text_add(t, "active for a token: %s parameters, %s without the input embedding\n",
                    ty_words_count(ty_arch_active_params(&c->arch, true), params, sizeof(params)),
                    ty_words_count(ty_arch_active_params(&c->arch, false), active, sizeof(active)));
    }
    exceptions(&c->cluster.exception_texts, t);
    ty_report_tensor(l, t);
    ty_text_add(t, "%s, ", l->sequence_parallel ? " with sequence parallelism" : "");
    if (l->context > 1) {
        ty_text_add(t, "context %u (%s", (unsigned)l->context,
                    ty_context_words[l->context_method].name);
        if (l->context_method == TY_CONTEXT_HYBRID) {
            ty_text_add(t, ", %u x %u", (unsigned)l->context_inner,
                        (unsigned)(l->context / l->context_inner));
        }
        ty_text_add(t, "), ");
    }
    ty_report_experts(l, t);
    ty_text_add(t, "pipeline %u (", (unsigned)l->pipeline);
    schedule(c, t);
    ty_text_add(t, "), data %s, ZeRO-%u", ty_layout_data_text(l, widths), (unsigned)l->zero);
    if (ty_layout_replicas(l) > 1) {
        ty_text_add(t, " in groups of %u", (unsigned)ty_layout_shards(l));
    }
    recomputation(c, t);
    ty_text_add(t, ", framework %s\n", ty_stack_words(c, stack));
    batches(c, t);
}

/* Speed and utilisation: each with what stands behind it. */
static void figures(const struct ty_figures *f, struct ty_text *t)
{
    const struct ty_figure_row *rows[TY_FIGURES_MAX];
    const uint32_t all = ty_figure_rows(TY_IN_TABLE, rows);
    const uint32_t n = f->run->config->workload.job != NULL ? 1 : all; /* the first is the step */
    for (uint32_t i = 0; i < n; i++) {
        const double x = ty_figure_value(rows[i], f);
        char value[64], note[160] = "";
        const bool told = rows[i]->note == NULL || rows[i]->note(f, note, sizeof(note));
        if (told && (!rows[i]->asked || x > 0)) {
            ty_figure_words(rows[i]->unit, x, value, sizeof(value));
            row(t, rows[i]->in[TY_IN_TABLE].label, value, note);
        }
    }
}

static void breakdown(const struct ty_figures *f, struct ty_text *t)
{
    ty_text_add(t, "\nwhere the step goes (mean over GPUs)\n");
    for (uint32_t b = 0; b < TY_N_BUCKETS; b++) {
        char value[64], share[32];
        if (f->bucket_s[b] < TY_STEP_NOISE * f->step_s) {
            continue;
        }
        ty_text_add(t, "  %s", ty_transformer_words.buckets[b].name);
        ty_text_pad(t, COLUMN);
        ty_text_add(t, "%-14s%8s\n", ty_words_seconds(f->bucket_s[b], value, sizeof(value)),
                    ty_words_share(f->bucket_s[b] / f->step_s, share, sizeof(share)));
    }
}

static void traffic(const struct ty_figures *f, struct ty_text *t)
{
    if (f->n_traffic == 0) {
        return;
    }
    ty_text_add(t, "\ntraffic of a step, all GPUs together\n");
    for (uint32_t i = 0; i < f->n_traffic; i++) {
        char nvlink[64], net[64];
        ty_text_add(t, "  %s", f->traffic[i].group);
        ty_text_pad(t, COLUMN);
        ty_text_add(t, "NVLink %12s   network %12s\n",
                    ty_words_bytes(f->traffic[i].nvlink_B, nvlink, sizeof(nvlink)),
                    ty_words_bytes(f->traffic[i].net_B, net, sizeof(net)));
    }
}

/* What the executor did about links and GPUs that several want at once. */
static void sharing(const struct ty_run *run, struct ty_text *t)
{
    const struct ty_program *p = ty_run_program(run);
    char some[64], all[64];
    if (run->sharing == TY_SHARING_NONE) {
        ty_text_add(t, "contention: none; no link can be overloaded, and no GPU computes beside a "
                       "collective");
    } else if (run->sharing == TY_SHARING_ESTIMATED) {
        ty_text_add(t, "contention of links and GPUs: estimated beforehand");
    } else if (run->shared.n_links > 0) {
        ty_text_add(t, "contention: simulated on the %s of %s links that can be overloaded%s",
                    ty_words_count(run->n_shared_links, some, sizeof(some)),
                    ty_words_count(ty_run_n_links(run), all, sizeof(all)),
                    run->shared.gpus ? ", and of GPUs that compute beside collectives" : "");
    } else {
        ty_text_add(t, "contention: no link can be overloaded%s",
                    run->shared.gpus ? ", but GPUs compute beside collectives" : "");
    }
    if (p->n_scripts > 0) {
        ty_text_add(t, "; %u kinds of collectives were played message by message",
                    (unsigned)p->n_scripts);
    }
    ty_text_add(t, "\n");
}

/* Times that differ by a part in 10^9 end every tie, and change nothing else. */
#define TIES_JITTER 1e-9
#define TIES_TASKS  100e3 /* a run of more is not executed again; less takes some 10 ms */
#define TIES_FULL   0.1   /* of the step that a link has to be full, or ties decide little */
#define TIES_SHARE  0.01  /* of the step, from which on it is worth a remark */

/* Ranks that start together share links as long as they stay in step. Where a step depends on that,
 * a remark says how long it takes when they do not. */
static int ties(const struct ty_run *run, double step_s, double full_s, struct ty_text *t,
                struct ty_err *err)
{
    struct ty_config config = ty_trial_config(run);
    const bool noisy =
        config.run.jitter > 0 || config.run.gpu_spread > 0 || config.run.slow_hosts > 0;
    double other_s;
    if (run->sharing != TY_SHARING_SIMULATED || full_s < TIES_FULL * step_s || noisy ||
        config.workload.job != NULL || (double)ty_run_n_tasks(run) > TIES_TASKS) {
        return 0;
    }
    config.run.jitter = TIES_JITTER;
    const int rc = ty_trial_step(&config, &other_s);
    if (rc < 0) {
        return rc == TY_ENOMEM ? ty_fail_memory(err)
                               : ty_fail(err, rc, "the run without ties failed");
    }
    if (fabs(other_s / step_s - 1) > TIES_SHARE) {
        char words[64];
        ty_text_add(t,
                    "ties decide: with compute times that differ by 1e-9 (--set run.jitter=1e-9) a "
                    "step takes %s, %+.1f %%\n",
                    ty_words_seconds(other_s, words, sizeof(words)), 100 * (other_s / step_s - 1));
    }
    return 0;
}

int ty_report_step(const struct ty_run *run, struct ty_text *t, struct ty_err *err)
{
    struct ty_figures f;
    char tasks[64], wall[64], rss[64];
    double full_s;
    ty_run_figures(run, &f);
    ty_report_head(run, t);
    figures(&f, t);
    ty_report_nearest(run, t);
    int rc = ty_report_band(run, &f, t, err);
    if (rc < 0) {
        return rc;
    }
    breakdown(&f, t);
    if (run->config->workload.job == NULL) {
        ty_report_memory(run, t);
    }
    traffic(&f, t);
    rc = ty_report_links_table(run, t, &full_s, err);
    if (rc < 0) {
        return rc;
    }
    ty_report_jobs_table(run, f.step_s, t);
    rc = ty_report_cover(run, t, err);
    if (rc < 0) {
        return rc;
    }
    const uint32_t ranks = ty_run_program(run)->n_ranks * run->lowered.window.times;
    ty_text_add(t, "\nsimulated %s tasks on %u GPUs in %s (%s engine, %s of memory)\n",
                ty_words_count((double)ty_run_n_tasks(run), tasks, sizeof(tasks)), (unsigned)ranks,
                ty_words_seconds(run->plan_s + run->execute_s, wall, sizeof(wall)), run->engine,
                ty_words_bytes(f.peak_rss_B, rss, sizeof(rss)));
    if (run->all.program->n_ranks < ranks) {
        ty_text_add(t, "ranks that cannot differ were executed once: %u instead of %u\n",
                    (unsigned)run->all.program->n_ranks, (unsigned)ranks);
    }
    sharing(run, t);
    return ties(run, f.step_s, full_s, t, err);
}

int ty_report_table(const struct ty_run *run, struct ty_text *t, struct ty_err *err)
{
    const int rc = ty_report_step(run, t, err);
    return rc < 0 ? rc : ty_report_suggest(run, t, err);
}
