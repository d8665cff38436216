/* figures.c - what a finished run says: time, utilisation, traffic. */
#include "sim/run/figures.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>

#include "model/block/block.h"
#include "model/parallel/kinds.h"
#include "model/parallel/whole.h"
#include "sim/run/bill.h"
#include "sim/run/gpus.h"
#include "sim/run/traffic.h"

static struct ty_traffic *traffic_of(struct ty_figures *f, const char *group)
{
    for (uint32_t i = 0; i < f->n_traffic; i++) {
        if (strcmp(f->traffic[i].group, group) == 0) {
            return &f->traffic[i];
        }
    }
    if (f->n_traffic == TY_TRAFFIC_MAX) {
        f->traffic[TY_TRAFFIC_MAX - 1].group = "others";
        return &f->traffic[TY_TRAFFIC_MAX - 1];
    }
    f->traffic[f->n_traffic] = (struct ty_traffic){.group = group};
    return &f->traffic[f->n_traffic++];
}

/* Bytes sent by all ranks in a step, by group and link class. */
static void count_traffic(const struct ty_run *run, struct ty_figures *f)
{
    struct ty_traffic_row rows[TY_TRAFFIC_ROWS];
    const uint32_t n = ty_traffic_rows(&run->lowered.program, run->lowered.window.times, rows);
    for (uint32_t i = 0; i < n; i++) {
        if (rows[i].to_host) {
            continue;
        }
        struct ty_traffic *t = traffic_of(f, rows[i].group);
        if (t != NULL) {
            t->nvlink_B += rows[i].nvlink_B;
            t->net_B += rows[i].net_B;
        }
    }
}

static double peak_rss(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss * 1024;
}

/* Shares of the peak: model FLOPs, and those with what is repeated. */
static void utilisations(const struct ty_run *run, struct ty_figures *f)
{
    const struct ty_config *c = run->config;
    const double peak = ty_run_peak(run);
    double *const share[2][2] = {{&f->mfu, &f->hfu}, {&f->mfu_causal, &f->hfu_causal}};
    for (int causal = 0; causal < 2; causal++) {
        const double model = ty_flops_model(&c->arch, causal);
        const double repeated = ty_flops_repeated(&c->arch, &c->layout, causal);
        *share[causal][0] = model * f->tokens_per_s_per_gpu / peak;
        *share[causal][1] = (model + repeated) * f->tokens_per_s_per_gpu / peak;
    }
}

/* The fullest rank of each group that exchanges rows over the mean, mean over groups. */
static double imbalance(const struct ty_layer_load *load, uint32_t members, uint32_t ranks)
{
    double sum = 0;
    for (uint32_t first = 0; first < members; first += ranks) {
        double most = 0;
        for (uint32_t m = first; m < first + ranks; m++) {
            most = fmax(most, load->rows[m]);
        }
        sum += most / load->mean;
    }
    return sum / (members / ranks);
}

/* Share of rows that a capacity below the mean leaves out where all experts get as many. */
static double dropped_of_equal(const struct ty_config *c)
{
    const double capacity = c->layout.framework.capacity;
    if (!ty_arch_is_moe(&c->arch) || capacity <= 0 || capacity >= 1) {
        return 0;
    }
    const struct ty_shard shard = ty_shard_of(&c->arch, &c->layout);
    return fmax(0, 1 - shard.sent_rows / (shard.own_tokens * c->arch.experts_per_token));
}

/* What routing brings to the layers of all stages; 1 where it is balanced. */
static void loads(const struct ty_run *run, struct ty_figures *f)
{
    const struct ty_program *p = &run->lowered.program;
    const struct ty_layout *layout = &run->config->layout;
    double most = 0, dropped = 0;
    uint32_t n = 0;
    for (uint32_t s = 0; s < layout->pipeline; s++) {
        const struct ty_stage_plan *stage = &run->lowered.stage[s];
        for (uint32_t i = 0; i < stage->n_loads; i++) {
            most += imbalance(&stage->load[i], p->gangs[s].n_ranks,
                              layout->expert * layout->expert_tensor);
            dropped += stage->load[i].dropped;
            n++;
        }
    }
    f->expert_imbalance = n > 0 ? most / n : 1;
    f->expert_dropped = n > 0 ? dropped / n : dropped_of_equal(run->config);
}

void ty_run_numbers(const struct ty_run *run, struct ty_figures *f)
{
    const struct ty_config *c = run->config;
    const struct ty_program *p = &run->lowered.program;
    const double steps = p->n_steps, gpus = ty_run_ranks(run);
    *f = (struct ty_figures){.run = run, .step_s = ty_s_from_ps(run->timeline.makespan) / steps};
    for (uint32_t b = 0; b < TY_N_BUCKETS; b++) {
        f->bucket_s[b] = run->stats.bucket_s[b] / steps;
    }
    f->bubble_s = run->stats.bubble_s / steps;
    f->ideal_s = f->step_s - f->bubble_s;
    f->bubble_fraction = f->bubble_s / f->step_s;
    f->bubble_over_ideal = f->ideal_s > 0 ? f->bubble_s / f->ideal_s : 0;
    f->peak_rss_B = peak_rss();
    if (c->workload.job != NULL) { /* what is left is 0: there is no model */
        return;
    }
    f->tokens_per_s = (double)c->layout.global_batch * c->arch.sequence / f->step_s;
    f->tokens_per_s_per_gpu = f->tokens_per_s / gpus;
    f->fleet = ty_fleet_figures(&c->fleet, f->tokens_per_s, gpus);
    f->model_tflops_per_gpu = ty_flops_model(&c->arch, false) * f->tokens_per_s_per_gpu * 1e-12;
    utilisations(run, f);
    f->expert_wait_s = run->stats.waited_s / steps;
    loads(run, f);
}

void ty_run_figures(const struct ty_run *run, struct ty_figures *f)
{
    ty_run_numbers(run, f);
    count_traffic(run, f);
}

#define BREAKDOWN "breakdown."

static int unknown_figure(const char *name, struct ty_err *err)
{
    const struct ty_figure_row *rows[TY_FIGURES_MAX];
    const char *names[TY_FIGURES_MAX];
    const uint32_t n = ty_figure_rows(TY_IN_JSON, rows);
    char hint[TY_SUGGESTION];
    for (uint32_t i = 0; i < n; i++) {
        names[i] = rows[i]->name;
    }
    return ty_fail(err, TY_EUSAGE,
                   "unknown figure (%.60s); there are step_time_s, mfu and other single ones of "
                   "--stats json, and those of its breakdown%s",
                   name, ty_suggestion(name, names, n, hint));
}

int ty_run_figure(const struct ty_run *run, const char *name, double *value, struct ty_err *err)
{
    const struct ty_figure_row *row = ty_figure_row(name);
    struct ty_figures f;
    if (!run->executed) {
        return ty_fail(err, TY_EUSAGE, "%s: a figure needs an executed run", name);
    }
    ty_run_numbers(run, &f);
    if (row != NULL) {
        *value = ty_figure_value(row, &f);
        return !row->asked || *value > 0
                   ? 0
                   : ty_fail(err, TY_EUSAGE,
                             "%s: the run file says nothing to work it out from; give "
                             "fleet.tokens, and for costs fleet.price",
                             name);
    }
    for (uint32_t b = 0; b < TY_N_BUCKETS; b++) {
        if (strncmp(name, BREAKDOWN, strlen(BREAKDOWN)) == 0 &&
            strcmp(name + strlen(BREAKDOWN), ty_transformer_words.buckets[b].name) == 0) {
            *value = f.bucket_s[b];
            return 0;
        }
    }
    return unknown_figure(name, err);
}

uint32_t ty_run_stage_memory(const struct ty_run *run, double *bytes, uint32_t n)
{
    const uint32_t stages = run->lowered.program.n_gangs;
    for (uint32_t s = 0; s < stages && s < n; s++) {
        struct ty_bill bill;
        ty_run_bill(run, s, &bill);
        bytes[s] = bill.total_B;
    }
    return stages;
}
