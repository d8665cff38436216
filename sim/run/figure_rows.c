/* figure_rows.c - the figures of a run that are one number each, a row each: see figures.h. */
#include "sim/run/figures.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/base/words.h"
#include "sim/run/bill.h"
#include "sim/run/gpus.h"

/* ---- what is worked out for the table alone ---- */

static double peak_memory(const struct ty_run *run, const struct ty_figures *f)
{
    struct ty_bill bill;
    (void)f;
    ty_run_fullest(run, &bill);
    return bill.total_B;
}

static double peak_tflops(const struct ty_run *run, const struct ty_figures *f)
{
    (void)f;
    return 1e-12 * ty_run_peak(run);
}

static double derate(const struct ty_run *run, const struct ty_figures *f)
{
    (void)f;
    return run->config->cluster.gpu.derate;
}

/* Compute time of a stage, mean over its ranks. */
static double stage_compute_s(const struct ty_run *run, uint32_t stage)
{
    const struct ty_gang *gang = &run->lowered.program.gangs[stage];
    double sum = 0;
    for (uint32_t i = 0; i < gang->n_ranks; i++) {
        sum += ty_s_from_ps(run->stats.rank[gang->rank_of[i]].stream_busy[TY_STREAM_COMPUTE]);
    }
    return sum / gang->n_ranks;
}

/* By how much the slowest stage computes longer than the mean. */
static double imbalance(const struct ty_run *run, uint32_t *slowest)
{
    const uint32_t n = run->lowered.program.n_gangs;
    double mean = 0, most = 0;
    *slowest = 0;
    for (uint32_t s = 0; s < n; s++) {
        const double seconds = stage_compute_s(run, s);
        mean += seconds / n;
        *slowest = seconds > most ? s : *slowest;
        most = seconds > most ? seconds : most;
    }
    return most > 0 ? most / mean - 1 : 0;
}

static double slowest_stage(const struct ty_run *run, const struct ty_figures *f)
{
    uint32_t stage;
    (void)f;
    return imbalance(run, &stage);
}

/* ---- what stands behind a figure ---- */

#define NOTE(name)                                                                                 \
    static bool name(const struct ty_run *run, const struct ty_figures *f, char *buf, size_t size)

NOTE(note_tokens)
{
    char count[32];
    (void)run;
    (void)snprintf(buf, size, "%s per GPU",
                   ty_words_count(f->tokens_per_s_per_gpu, count, sizeof(count)));
    return true;
}

/* Of a training that is nothing but this step. */
NOTE(note_training)
{
    char hours[64];
    ty_snprintf(buf, size, "%s GPU-hours for %g tokens, every step like this one",
                ty_words_count(f->fleet.gpu_hours, hours, sizeof(hours)),
                run->config->fleet.tokens);
    return true;
}

NOTE(note_cost)
{
    (void)f;
    ty_snprintf(buf, size, "of these tokens at %g per GPU and hour", run->config->fleet.price);
    return true;
}

NOTE(note_cost_of_billion)
{
    (void)f;
    ty_snprintf(buf, size, "of a billion tokens at %g per GPU and hour", run->config->fleet.price);
    return run->config->fleet.tokens <= 0;
}

NOTE(note_model_flops)
{
    (void)run;
    (void)f;
    (void)snprintf(buf, size, "per GPU");
    return true;
}

NOTE(note_mfu)
{
    char share[32];
    (void)run;
    (void)snprintf(buf, size, "PaLM: 6 N + 12 L h s, attention in full (causal: %s)",
                   ty_words_share(f->mfu_causal, share, sizeof(share)));
    return true;
}

NOTE(note_hfu)
{
    char share[32];
    (void)run;
    (void)snprintf(buf, size, "the same and what recomputation repeats (causal: %s)",
                   ty_words_share(f->hfu_causal, share, sizeof(share)));
    return true;
}

NOTE(note_peak)
{
    (void)f;
    (void)snprintf(buf, size, "per GPU: MFU and HFU are shares of the sum of all GPUs' peaks");
    return ty_run_n_generations(run) > 1;
}

NOTE(note_bubble)
{
    const struct ty_layout *l = &run->config->layout;
    const uint32_t v = ty_sched_chunks(&run->config->schedule);
    const double formula = (l->pipeline - 1.0) / ((double)l->micro_batches * v);
    char over[32], share[32];
    (void)snprintf(buf, size, "%s over ideal; (p - 1)/%s = %s",
                   ty_words_share(f->bubble_over_ideal, over, sizeof(over)), v > 1 ? "(m v)" : "m",
                   ty_words_share(formula, share, sizeof(share)));
    return true;
}

/* Uneven stages are the commonest reason for a bubble beyond the formula: say which one. */
NOTE(note_slowest_stage)
{
    uint32_t stage;
    (void)f;
    const bool uneven = imbalance(run, &stage) > 0.01;
    (void)snprintf(buf, size, "stage %u computes longer than the mean; all wait for it",
                   (unsigned)stage);
    return uneven;
}

NOTE(note_derate)
{
    (void)f;
    (void)snprintf(buf, size, "on compute times (cluster.derate), see docs/model.md");
    return run->config->cluster.gpu.derate != 1;
}

/* ---- the rows ---- */

#define OF(member) .offset = offsetof(struct ty_figures, member)
#define JSON       [TY_IN_JSON] = {1, NULL}

const struct ty_figure_row ty_figure_table[] = {
    {.name = "step_time_s",
     .doc = "of an optimizer step: the run divided by its steps",
     .unit = TY_FIGURE_SECONDS,
     .better = -1,
     .in = {JSON, [TY_IN_TABLE] = {10, "step time"}, [TY_IN_PAGE] = {10, "step time"},
            [TY_IN_SWEEP] = {10, NULL}, [TY_IN_BEST] = {10, "step"}},
     OF(step_s)},
    {.name = "tokens_per_s",
     .doc = "global_batch x sequence over the step time",
     .unit = TY_FIGURE_COUNT,
     .better = 1,
     .in = {JSON, [TY_IN_TABLE] = {20, "tokens/s"}, [TY_IN_PAGE] = {20, "tokens per second"},
            [TY_IN_SWEEP] = {40, NULL}, [TY_IN_BEST] = {20, "tokens/s"}},
     OF(tokens_per_s),
     .note = note_tokens},
    {.name = "tokens_per_s_per_gpu",
     .doc = "these over the GPUs",
     .unit = TY_FIGURE_COUNT,
     .better = 1,
     .in = {JSON, [TY_IN_PAGE] = {20, "tokens per second and GPU"}},
     OF(tokens_per_s_per_gpu)},
    {.name = "model_tflops_per_gpu",
     .doc = "the numerator of mfu, per second and GPU",
     .unit = TY_FIGURE_TFLOPS,
     .better = 1,
     .in =
         {JSON, [TY_IN_TABLE] = {40, "model FLOP/s"}, [TY_IN_PAGE] = {30, "model FLOP/s per GPU"}},
     OF(model_tflops_per_gpu),
     .note = note_model_flops},
    {.name = "mfu",
     .doc = "PaLM convention: 6 N + 12 L h s FLOPs per token, N with input and output embedding, "
            "attention in full, over dense peak",
     .unit = TY_FIGURE_SHARE,
     .better = 1,
     .in = {JSON, [TY_IN_TABLE] = {50, "MFU"}, [TY_IN_PAGE] = {40, "MFU"},
            [TY_IN_SWEEP] = {20, NULL}, [TY_IN_BEST] = {30, "MFU"}},
     OF(mfu),
     .note = note_mfu},
    {.name = "mfu_causal",
     .doc = "mfu with half the attention term",
     .unit = TY_FIGURE_SHARE,
     .better = 1,
     .in = {JSON, [TY_IN_PAGE] = {40, "MFU, causal attention"}},
     OF(mfu_causal)},
    {.name = "hfu",
     .doc = "mfu with what layout.recompute repeats counted in the same way: never less",
     .unit = TY_FIGURE_SHARE,
     .better = 1,
     .in = {JSON, [TY_IN_TABLE] = {60, "HFU"}, [TY_IN_PAGE] = {40, "HFU"},
            [TY_IN_SWEEP] = {30, NULL}},
     OF(hfu),
     .note = note_hfu},
    {.name = "hfu_causal",
     .doc = "mfu_causal with the same",
     .unit = TY_FIGURE_SHARE,
     .better = 1,
     .in = {JSON, [TY_IN_PAGE] = {40, "HFU, causal attention"}},
     OF(hfu_causal)},
    {.unit = TY_FIGURE_TFLOPS,
     .in = {[TY_IN_TABLE] = {70, "peak"}},
     .value = peak_tflops,
     .note = note_peak},
    {.name = "bubble_fraction",
     .doc = "idle share of the compute stream due to the pipeline: fill, stall, drain, exposed "
            "messages; mean over GPUs",
     .unit = TY_FIGURE_SHARE,
     .better = -1,
     .in = {JSON, [TY_IN_TABLE] = {80, "pipeline bubble"},
            [TY_IN_PAGE] = {50, "bubble, share of the step"}, [TY_IN_SWEEP] = {50, NULL}},
     OF(bubble_fraction),
     .note = note_bubble},
    {.name = "bubble_over_ideal",
     .doc = "that idle time over ideal_s",
     .unit = TY_FIGURE_SHARE,
     .better = -1,
     .in = {JSON, [TY_IN_PAGE] = {50, "bubble over ideal"}},
     OF(bubble_over_ideal)},
    {.name = "ideal_s",
     .doc = "step time without that idle time",
     .unit = TY_FIGURE_SECONDS,
     .better = -1,
     .in = {JSON, [TY_IN_PAGE] = {10, "without bubbles"}},
     OF(ideal_s)},
    {.unit = TY_FIGURE_MORE,
     .in = {[TY_IN_TABLE] = {90, "slowest stage"}},
     .value = slowest_stage,
     .note = note_slowest_stage},
    {.unit = TY_FIGURE_FACTOR,
     .in = {[TY_IN_TABLE] = {90, "in-situ derate"}},
     .value = derate,
     .note = note_derate},
    {.name = "peak_memory_bytes",
     .doc = "of a GPU of the fullest stage, a column of sweeps: memory.peak_bytes has all stages",
     .unit = TY_FIGURE_BYTES,
     .better = -1,
     .in = {[TY_IN_SWEEP] = {60, NULL}, [TY_IN_BEST] = {40, "memory"}},
     .value = peak_memory},
    {.name = "days_for_tokens",
     .doc = "with fleet.tokens: of a training of so many tokens in which every step is like this "
            "one and nothing fails",
     .unit = TY_FIGURE_DAYS,
     .better = -1,
     .asked = true,
     .in = {JSON, [TY_IN_TABLE] = {30, "training"},
            [TY_IN_PAGE] = {60, "training, every step like this one"}, [TY_IN_SWEEP] = {70, NULL},
            [TY_IN_BEST] = {50, "days"}},
     OF(fleet.days_for_tokens),
     .note = note_training},
    {.name = "gpu_hours",
     .doc = "with fleet.tokens: of that training",
     .unit = TY_FIGURE_COUNT,
     .better = -1,
     .asked = true,
     .in = {JSON, [TY_IN_PAGE] = {60, "GPU-hours of it"}, [TY_IN_SWEEP] = {70, NULL}},
     OF(fleet.gpu_hours)},
    {.name = "cost",
     .doc = "with fleet.tokens and fleet.price: of these GPU-hours",
     .unit = TY_FIGURE_MONEY,
     .better = -1,
     .asked = true,
     .in = {JSON, [TY_IN_TABLE] = {30, "cost"}, [TY_IN_PAGE] = {60, "cost of it"},
            [TY_IN_SWEEP] = {70, NULL}, [TY_IN_BEST] = {60, "cost"}},
     OF(fleet.cost),
     .note = note_cost},
    {.name = "cost_per_billion_tokens",
     .doc = "with fleet.price",
     .unit = TY_FIGURE_MONEY,
     .better = -1,
     .asked = true,
     .in = {JSON, [TY_IN_TABLE] = {30, "cost"}, [TY_IN_PAGE] = {60, "cost of a billion tokens"},
            [TY_IN_SWEEP] = {70, NULL}},
     OF(fleet.cost_per_billion_tokens),
     .note = note_cost_of_billion},
};

const uint32_t ty_n_figures = TY_COUNT(ty_figure_table);

static_assert(TY_COUNT(ty_figure_table) <= TY_FIGURES_MAX, "all have room");

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

double ty_figure_value(const struct ty_figure_row *row, const struct ty_run *run,
                       const struct ty_figures *figures)
{
    if (row->value != NULL) {
        return row->value(run, figures);
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
