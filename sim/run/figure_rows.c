/* figure_rows.c - the figures of a run that are one number each, a row each: see figures.h. */
#include "sim/run/figures.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "model/parallel/whole.h"
#include "sim/base/number_text.h"
#include "sim/base/sum.h"
#include "sim/base/words.h"
#include "sim/run/bill.h"
#include "sim/run/gpus.h"
#include "sim/run/power.h"
#include "sim/run/pass_times.h"

/* ---- what has no member ---- */

static double peak_memory(const struct ty_figures *f)
{
    struct ty_bill bill;
    ty_run_fullest(f->run, &bill);
    return bill.total_B;
}

static double node_power(const struct ty_figures *f)
{
    return ty_run_node_power(f->run, f->step_s);
}

static double peak_tflops(const struct ty_figures *f)
{
    return 1e-12 * ty_run_peak(f->run);
}

static double derate(const struct ty_figures *f)
{
    return f->run->config->cluster.gpu.derate;
}

static double parameters(const struct ty_figures *f)
{
    return ty_arch_params(&f->run->config->arch);
}

static double trained(const struct ty_figures *f)
{
    return ty_arch_trained_params(&f->run->config->arch, &f->run->config->layout);
}

static double active(const struct ty_figures *f)
{
    return ty_arch_active_params(&f->run->config->arch, true);
}

static double active_without_embedding(const struct ty_figures *f)
{
    return ty_arch_active_params(&f->run->config->arch, false);
}

static double mfu_framework(const struct ty_figures *f)
{
    const struct ty_config *c = f->run->config;
    const char *preset = c->layout.framework.preset;
    if (c->workload.job != NULL) { /* there is no model */
        return 0;
    }
    const double per_token =
        ty_flops_counted(&c->arch, ty_flops_convention(preset), ty_layout_repeats(&c->layout) != 0);
    return per_token * f->tokens_per_s_per_gpu / ty_run_peak(f->run);
}

/* By how much longer the passes of the slowest stage take than the mean, as in `explain`. */
static double imbalance(const struct ty_run *run, uint32_t *slowest)
{
    const struct ty_stage_times times = ty_stage_times_of(run);
    *slowest = times.slowest;
    return times.work > 0 ? times.most / times.work - 1 : 0;
}

static double slowest_stage(const struct ty_figures *f)
{
    uint32_t stage;
    return imbalance(f->run, &stage);
}

/* ---- what stands behind a figure ---- */

static bool note_tokens(const struct ty_figures *f, char *buf, size_t size)
{
    char count[32];
    ty_words_count(f->tokens_per_s_per_gpu, count, sizeof(count));
    (void)snprintf(buf, size, "%s per GPU", count);
    return true;
}

/* Of a training that is nothing but this step. */
static bool note_training(const struct ty_figures *f, char *buf, size_t size)
{
    char hours[64];
    ty_words_count(f->fleet.gpu_hours, hours, sizeof(hours));
    ty_snprintf(buf, size, "%s GPU-hours for %g tokens, every step like this one", hours,
                f->run->config->fleet.tokens);
    return true;
}

static bool note_cost(const struct ty_figures *f, char *buf, size_t size)
{
    ty_snprintf(buf, size, "of these tokens at %g per GPU and hour", f->run->config->fleet.price);
    return true;
}

static bool note_cost_of_billion(const struct ty_figures *f, char *buf, size_t size)
{
    const struct ty_fleet_options *fleet = &f->run->config->fleet;
    ty_snprintf(buf, size, "of a billion tokens at %g per GPU and hour", fleet->price);
    return fleet->tokens <= 0;
}

static bool note_mfu(const struct ty_figures *f, char *buf, size_t size)
{
    char share[32];
    ty_words_share(f->mfu_causal, share, sizeof(share));
    (void)snprintf(buf, size, "PaLM: 6 N + 12 L h s, attention in full (causal: %s)", share);
    return true;
}

static bool note_mfu_framework(const struct ty_figures *f, char *buf, size_t size)
{
    const char *preset = f->run->config->layout.framework.preset;
    const enum ty_flops_convention convention = ty_flops_convention(preset);
    ty_snprintf(buf, size, "as %s counts: %s", preset, ty_flops_convention_docs[convention]);
    return convention != TY_FLOPS_PALM && f->run->config->workload.job == NULL;
}

static bool note_hfu(const struct ty_figures *f, char *buf, size_t size)
{
    char share[32];
    ty_words_share(f->hfu_causal, share, sizeof(share));
    (void)snprintf(buf, size, "the same and what recomputation repeats (causal: %s)", share);
    return true;
}

static bool note_peak(const struct ty_figures *f, char *buf, size_t size)
{
    (void)snprintf(buf, size, "per GPU: MFU and HFU are shares of the sum of all GPUs' peaks");
    return ty_run_n_generations(f->run) > 1;
}

static bool note_bubble(const struct ty_figures *f, char *buf, size_t size)
{
    const struct ty_layout *l = &f->run->config->layout;
    const uint32_t v = ty_sched_chunks(&f->run->config->schedule);
    const double formula = (l->pipeline - 1.0) / ((double)l->micro_batches * v);
    char over[32], share[32];
    (void)snprintf(buf, size, "%s over ideal; (p - 1)/%s = %s",
                   ty_words_share(f->bubble_over_ideal, over, sizeof(over)), v > 1 ? "(m v)" : "m",
                   ty_words_share(formula, share, sizeof(share)));
    return true;
}

/* Uneven stages are the commonest reason for a bubble beyond the formula: say which one. */
static bool note_slowest_stage(const struct ty_figures *f, char *buf, size_t size)
{
    uint32_t stage;
    const bool uneven = imbalance(f->run, &stage) > 0.01;
    (void)snprintf(buf, size, "passes of stage %u take longer than the mean; all wait for it",
                   (unsigned)stage);
    return uneven;
}

static bool note_imbalance(const struct ty_figures *f, char *buf, size_t size)
{
    char share[32];
    const int n = ty_snprintf(buf, size, "x %.2f at a group's fullest rank, on average (%s)",
                              f->expert_imbalance, f->run->config->run.routing);
    if (f->expert_dropped > 0 && n > 0 && (size_t)n < size) {
        (void)snprintf(buf + n, size - (size_t)n, "; %s of rows dropped",
                       ty_words_share(f->expert_dropped, share, sizeof(share)));
    }
    return f->run->config->routing.method != TY_TOKENS_BALANCED;
}

static double filled(const struct ty_figures *f)
{
    const struct ty_config *c = f->run->config;
    const struct ty_pack *all = c->packing.all;
    return all != NULL ? all->tokens / all->sequences / c->arch.sequence : 1;
}

static bool note_documents(const struct ty_figures *f, char *buf, size_t size)
{
    const struct ty_config *c = f->run->config;
    const struct ty_packing *p = &c->packing;
    if (p->n > 0) {
        (void)ty_snprintf(buf, size,
                          "full: %.2f documents each (%.40s, %s); a micro-batch has up to %.2f "
                          "times the mean's attention",
                          p->all->documents / p->all->sequences, c->run.lengths,
                          ty_packing_words[c->run.packing].name,
                          ty_packing_slowest(p, &c->layout, c->run.steps));
    }
    return p->n > 0;
}

static bool note_derate(const struct ty_figures *f, char *buf, size_t size)
{
    (void)snprintf(buf, size, "on compute times (cluster.derate), see docs/internals/model.md");
    return derate(f) != 1;
}

static bool note_per_gpu(const struct ty_figures *f, char *buf, size_t size)
{
    (void)f;
    (void)snprintf(buf, size, "per GPU");
    return true;
}

/* ---- the rows ---- */

#define MEMBER(name)     .offset = offsetof(struct ty_figures, name)
#define UNIT(id, more)   .unit = TY_FIGURE_##id, .better = (more)
#define JSON             .in[TY_IN_JSON] = {1, NULL}
#define TABLE(at, label) .in[TY_IN_TABLE] = {at, label}
#define PAGE(at, label)  .in[TY_IN_PAGE] = {at, label}
#define SWEEP(at)        .in[TY_IN_SWEEP] = {at, NULL}
#define BEST(at, label)  .in[TY_IN_BEST] = {at, label}

const struct ty_figure_row ty_figure_table[] = {
    {"step_time_s", "of an optimizer step: the run divided by its steps", UNIT(SECONDS, -1),
     MEMBER(step_s), JSON, TABLE(10, "step time"), PAGE(10, "step time"), SWEEP(10),
     BEST(10, "step")},
    {"tokens_per_s", "global_batch x sequence over the step time", UNIT(COUNT, 1),
     MEMBER(tokens_per_s), .note = note_tokens, JSON, TABLE(20, "tokens/s"),
     PAGE(20, "tokens per second"), SWEEP(40), BEST(20, "tokens/s")},
    {"tokens_per_s_per_gpu", "these over the GPUs", UNIT(COUNT, 1), MEMBER(tokens_per_s_per_gpu),
     JSON, PAGE(20, "tokens per second and GPU")},
    {"model_tflops_per_gpu", "the numerator of mfu, per second and GPU", UNIT(TFLOPS, 1),
     MEMBER(model_tflops_per_gpu), .note = note_per_gpu, JSON, TABLE(40, "model FLOP/s"),
     PAGE(30, "model FLOP/s per GPU")},
    {"mfu",
     "PaLM convention: 6 N + 12 L h s FLOPs per token, N with input and output embedding and "
     "those routed experts that a token goes to, attention in full, over dense peak",
     UNIT(SHARE, 1), MEMBER(mfu), .note = note_mfu, JSON, TABLE(50, "MFU"), PAGE(40, "MFU"),
     SWEEP(20), BEST(30, "MFU")},
    {"mfu_causal",
     "mfu with half the attention term; of models with experts, latent attention or model.mtp "
     "GEMMs in place of parameters, as Megatron-LM counts them",
     UNIT(SHARE, 1), MEMBER(mfu_causal), JSON, PAGE(40, "MFU, causal attention")},
    {"mfu_framework",
     "as framework.preset counts, mfu_framework_convention: palm, megatron, sc21, nanotron or "
     "torchtitan",
     UNIT(SHARE, 1), .value = mfu_framework, .note = note_mfu_framework, JSON,
     TABLE(45, "MFU, framework's"), PAGE(40, "MFU, as the framework counts")},
    {"hfu", "mfu with what layout.recompute repeats counted in the same way: never less",
     UNIT(SHARE, 1), MEMBER(hfu), .note = note_hfu, JSON, TABLE(60, "HFU"), PAGE(40, "HFU"),
     SWEEP(30)},
    {"hfu_causal", "mfu_causal with the same", UNIT(SHARE, 1), MEMBER(hfu_causal), JSON,
     PAGE(40, "HFU, causal attention")},
    {NULL, NULL, UNIT(TFLOPS, 0), .value = peak_tflops, .note = note_peak, TABLE(70, "peak")},
    {"bubble_fraction",
     "idle share of the compute stream due to the pipeline: fill, stall, drain, "
     "exposed messages; mean over GPUs",
     UNIT(SHARE, -1), MEMBER(bubble_fraction), .note = note_bubble, JSON,
     TABLE(80, "pipeline bubble"), PAGE(50, "bubble, share of the step"), SWEEP(50)},
    {"bubble_over_ideal", "that idle time over ideal_s", UNIT(SHARE, -1), MEMBER(bubble_over_ideal),
     JSON, PAGE(50, "bubble over ideal")},
    {"ideal_s", "step time without that idle time", UNIT(SECONDS, -1), MEMBER(ideal_s), JSON,
     PAGE(10, "without bubbles")},
    {NULL, NULL, UNIT(MORE, 0), .value = slowest_stage, .note = note_slowest_stage,
     TABLE(90, "slowest stage")},
    {NULL, NULL, UNIT(FACTOR, 0), .value = derate, .note = note_derate,
     TABLE(90, "in-situ derate")},
    {"parameters", "of the model", UNIT(COUNT, 0), .value = parameters, JSON},
    {"parameters_trained", "those that are not frozen", UNIT(COUNT, 0), .value = trained, JSON},
    {"parameters_active", "those that a token meets: of routed experts its own", UNIT(COUNT, 0),
     .value = active, JSON},
    {"parameters_active_without_embedding",
     "these without the input embedding, unless it is the output matrix as well", UNIT(COUNT, 0),
     .value = active_without_embedding, JSON},
    {"expert_wait_s",
     "of exposed_expert: waiting for the slowest rank of an expert group; the rest is transfer",
     UNIT(SECONDS, -1), MEMBER(expert_wait_s), .note = note_imbalance, JSON,
     TABLE(95, "waiting for experts")},
    {"expert_imbalance",
     "rows of a group's fullest expert rank over the mean, mean over groups and layers; 1: "
     "balanced",
     UNIT(COUNT, -1), MEMBER(expert_imbalance), JSON},
    {"expert_dropped", "share of rows above framework.capacity", UNIT(SHARE, -1),
     MEMBER(expert_dropped), JSON},
    {NULL, NULL, UNIT(SHARE, 0), .value = filled, .note = note_documents, TABLE(22, "sequences")},
    {"peak_memory_bytes",
     "of a GPU of the fullest stage, a column of sweeps: memory.peak_bytes has "
     "all stages",
     UNIT(BYTES, -1), .value = peak_memory, SWEEP(60), BEST(40, "memory")},
    {"node_power_w",
     "drawn by a node, mean over the step, where cluster.idle_power and its GPUs' are known",
     UNIT(COUNT, -1), .asked = true, .value = node_power, JSON},
    {"days_for_tokens",
     "with fleet.tokens: of a training of so many tokens in which every step is "
     "like this one and nothing fails",
     UNIT(DAYS, -1), .asked = true, MEMBER(fleet.days_for_tokens), .note = note_training, JSON,
     TABLE(30, "training"), PAGE(60, "training, every step like this one"), SWEEP(70),
     BEST(50, "days")},
    {"gpu_hours", "with fleet.tokens: of that training", UNIT(COUNT, -1), .asked = true,
     MEMBER(fleet.gpu_hours), JSON, PAGE(60, "GPU-hours of it"), SWEEP(70)},
    {"cost", "with fleet.tokens and fleet.price: of these GPU-hours", UNIT(MONEY, -1),
     .asked = true, MEMBER(fleet.cost), .note = note_cost, JSON, TABLE(30, "cost"),
     PAGE(60, "cost of it"), SWEEP(70), BEST(60, "cost")},
    {"cost_per_billion_tokens", "with fleet.price", UNIT(MONEY, -1), .asked = true,
     MEMBER(fleet.cost_per_billion_tokens), .note = note_cost_of_billion, JSON, TABLE(30, "cost"),
     PAGE(60, "cost of a billion tokens"), SWEEP(70)},
};

const uint32_t ty_n_figures = TY_COUNT(ty_figure_table);

static_assert(TY_COUNT(ty_figure_table) <= TY_FIGURES_MAX, "too many figures");

uint32_t ty_figure_rows(enum ty_figure_place place, const struct ty_figure_row **rows)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < ty_n_figures; i++) {
        const struct ty_figure_row *row = &ty_figure_table[i];
        uint32_t at = n;
        if (row->in[place].at == 0) {
            continue;
        }
        while (at > 0 && rows[at - 1]->in[place].at > row->in[place].at) {
            rows[at] = rows[at - 1];
            at--;
        }
        rows[at] = row;
        n++;
    }
    return n;
}

const struct ty_figure_row *ty_figure_row(const char *name)
{
    for (uint32_t i = 0; i < ty_n_figures; i++) {
        const struct ty_figure_row *row = &ty_figure_table[i];
        if (row->name != NULL && strcmp(row->name, name) == 0) {
            return row;
        }
    }
    return NULL;
}

double ty_figure_value(const struct ty_figure_row *row, const struct ty_figures *figures)
{
    if (row->value != NULL) {
        return row->value(figures);
    }
    return *(const double *)(const void *)((const char *)figures + row->offset);
}

/* ---- words ---- */

const char *ty_figure_unit_word(enum ty_figure_unit unit)
{
    static const char *const words[] = {
#define X(id, word) word,
        TY_FIGURE_UNITS(X)
#undef X
    };
    return words[unit];
}

char *ty_figure_words(enum ty_figure_unit unit, double x, char *buf, size_t size)
{
    switch (unit) {
    case TY_FIGURE_SECONDS:
        return ty_words_seconds(x, buf, size);
    case TY_FIGURE_BYTES:
        return ty_words_bytes(x, buf, size);
    case TY_FIGURE_SHARE:
        return ty_words_share(x, buf, size);
    case TY_FIGURE_TFLOPS:
        ty_snprintf(buf, size, "%.1f TFLOP/s", x);
        return buf;
    case TY_FIGURE_DAYS:
        ty_snprintf(buf, size, "%.4g days", x);
        return buf;
    case TY_FIGURE_MORE:
        ty_snprintf(buf, size, "+%.1f %%", 100 * x);
        return buf;
    case TY_FIGURE_FACTOR:
        ty_snprintf(buf, size, "x %g", x);
        return buf;
    case TY_FIGURE_MONEY:
        if (x < 1000) {
            ty_snprintf(buf, size, "%.4g", x);
            return buf;
        }
        break;
    case TY_FIGURE_COUNT:
        break;
    }
    return ty_words_count(x, buf, size);
}

char *ty_figure_cell(enum ty_figure_unit unit, double x, char *buf, size_t size)
{
    if (unit == TY_FIGURE_DAYS) {
        ty_snprintf(buf, size, "%.4g", x);
        return buf;
    }
    return ty_figure_words(unit == TY_FIGURE_MONEY ? TY_FIGURE_COUNT : unit, x, buf, size);
}
