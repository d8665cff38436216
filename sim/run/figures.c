/* figures.c - what a finished run says: time, utilisation, traffic. */
#include <string.h>
#include <sys/resource.h>

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
static void count_traffic(const struct ty_program *p, struct ty_figures *f)
{
    struct ty_traffic_row rows[TY_TRAFFIC_ROWS];
    const uint32_t n = ty_traffic_rows(p, rows);
    for (uint32_t i = 0; i < n; i++) {
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

void ty_run_figures(const struct ty_run *run, struct ty_figures *f)
{
    const struct ty_config *c = run->config;
    const struct ty_program *p = &run->lowered.program;
    const double steps = p->n_steps, gpus = p->n_ranks;
    const double peak = ty_run_peak(run);
    *f = (struct ty_figures){.step_s = ty_s_from_ps(run->timeline.makespan) / steps};
    f->tokens_per_s = (double)c->layout.global_batch * c->arch.sequence / f->step_s;
    f->tokens_per_s_per_gpu = f->tokens_per_s / gpus;
    const double model = ty_arch_flops_palm(&c->arch, false);
    f->model_tflops_per_gpu = model * f->tokens_per_s_per_gpu * 1e-12;
    f->mfu = model * f->tokens_per_s_per_gpu / peak;
    f->mfu_causal = ty_arch_flops_palm(&c->arch, true) * f->tokens_per_s_per_gpu / peak;
    f->hfu = run->stats.flops / steps / gpus / f->step_s / peak;
    for (uint32_t b = 0; b < TY_N_BUCKETS; b++) {
        f->bucket_s[b] = run->stats.bucket_s[b] / steps;
    }
    f->bubble_s = run->stats.bubble_s / steps;
    f->ideal_s = f->step_s - f->bubble_s;
    f->bubble_fraction = f->bubble_s / f->step_s;
    f->bubble_over_ideal = f->ideal_s > 0 ? f->bubble_s / f->ideal_s : 0;
    count_traffic(p, f);
    f->peak_rss_B = peak_rss();
}
