/* options.c - the rows of the `run`, `measured` and `output` sections. */
#include "sim/config/options.h"

#include <stdio.h>

#include "model/packing.h"
#include "sim/core/execute/execute.h"
#include "traces/out/writer.h"

const struct ty_word ty_engine_words[] = {
    {"auto", TY_ENGINE_AUTO, "the fastest that is exact for this run"},
    {"sweep", TY_ENGINE_SWEEP, "every rank runs ahead until something has not arrived; no sharing"},
    {"events", TY_ENGINE_EVENTS, "a queue of completions in time order"},
    {NULL, 0, NULL},
};

static const struct ty_word stats_words[] = {
    {"table", TY_STATS_TABLE, "for reading"},
    {"json", TY_STATS_JSON, "for programs"},
    {NULL, 0, NULL},
};

static const struct ty_word run_detail_words[] = {
    {"flows", TY_RUN_FLOWS, "a collective is one flow over the links of its group"},
    {"steps", TY_RUN_STEPS, "rings, trees and all-to-alls are played message by message"},
    {NULL, 0, NULL},
};

const struct ty_word ty_detail_words[] = {
    {"stage", TY_DETAIL_STAGE, "passes of the compute stream"},
    {"microbatch", TY_DETAIL_MICROBATCH, "and communication between passes"},
    {"layer", TY_DETAIL_LAYER, "and parts of layers and tensor collectives"},
    {"op", TY_DETAIL_OP, "every task"},
    {NULL, 0, NULL},
};

const struct ty_word ty_counters_words[] = {
    {"all", TY_COUNTERS_ALL, "memory of ranks and load of links"},
    {"memory", TY_COUNTERS_MEMORY, "memory of ranks"},
    {"net", TY_COUNTERS_NET, "load of the links of nodes"},
    {"none", TY_COUNTERS_NONE, "no counters"},
    {NULL, 0, NULL},
};

const struct ty_word ty_args_words[] = {
    {"full", TY_ARGS_FULL, "everything, on every slice, and colours for Catapult"},
    {"short", TY_ARGS_SHORT, "not what its name, its row or the slice around it says"},
    {"none", TY_ARGS_NONE, "no arguments"},
    {NULL, 0, NULL},
};

const struct ty_word ty_flows_words[] = {
    {"p2p", TY_FLOWS_P2P, "from sends to receives"},
    {"none", TY_FLOWS_NONE, "no arrows"},
    {NULL, 0, NULL},
};

const struct ty_word ty_critical_words[] = {
    {"path", true, "a row of its own, and a mark on slices that lie on it"},
    {"none", false, "not shown"},
    {NULL, 0, NULL},
};

static const struct ty_word palette_words[] = {
    {"traces", TY_SVG_TRACES, "the colours of Chrome traces"},
    {"safe", TY_SVG_SAFE, "colours for the colour-blind"},
    {"print", TY_SVG_PRINT, "patterns in black and white"},
    {NULL, 0, NULL},
};

static const struct ty_word bubbles_words[] = {
    {"shaded", TY_SVG_SHADED, "tinted by their cause, and named where they are wide enough"},
    {"named", TY_SVG_NAMED, "named only"},
    {"none", TY_SVG_NONE, "left empty"},
    {NULL, 0, NULL},
};

#define OUTPUT(key_, type_, ...) TY_FIELD(struct ty_output_options, #key_, key_, type_, __VA_ARGS__)
#define OUTPUT_AT(key_, member_, type_, ...)                                                       \
    TY_FIELD(struct ty_output_options, key_, member_, type_, __VA_ARGS__)
#define RUN(key_, type_, ...) TY_FIELD(struct ty_run_options, #key_, key_, type_, __VA_ARGS__)

const struct ty_field ty_run_fields[] = {
    RUN(steps, UINT, .min = 1, .max = 1000, .fallback = "1", .doc = "optimizer steps to simulate"),
    RUN(seed, UINT64, .fallback = "1",
        .doc = "seed of all random factors; equal seeds give equal runs"),
    RUN(jitter, QUANTITY, .dim = TY_DIM_RATIO, .max = 1, .fallback = "none", .blank = "none",
        .doc = "coefficient of variation of compute times: one log-normal factor per tensor group, "
               "pass and layer"),
    RUN(gpu_spread, QUANTITY, .dim = TY_DIM_RATIO, .max = 0.2, .fallback = "none", .blank = "none",
        .doc = "standard deviation of a lasting factor per GPU on its compute times"),
    RUN(slow_hosts, QUANTITY, .dim = TY_DIM_RATIO, .max = 1, .fallback = "none", .blank = "none",
        .late = true, .doc = "share of nodes, drawn by run.seed, whose GPUs compute slower"),
    RUN(slow_by, QUANTITY, .dim = TY_DIM_RATIO, .max = 10, .fallback = "10 %", .late = true,
        .doc = "by which these take longer (MegaScale: some hosts, about 10 %)"),
    RUN(routing, STRING, .fallback = "balanced",
        .doc = "how tokens are spread over experts: balanced, uniform, dirichlet:CV, zipf:S or "
               "file:PATH, a CSV with columns layer, expert, load; drawn per layer and seed"),
    RUN(lengths, STRING, .fallback = "whole", .late = true,
        .doc = "tokens of the documents that are packed into a sequence, in which a token attends "
               "to its own document: whole, fixed:N, uniform:MIN:MAX, lognormal:MEAN:CV or "
               "file:PATH, one number a line; drawn by run.seed"),
    RUN(packing, WORD, .words = ty_packing_words, .fallback = "first_fit", .late = true,
        .doc = "which documents share a sequence, and which sequences a data rank gets"),
    RUN(engine, WORD, .words = ty_engine_words, .fallback = "auto",
        .doc = "executor; auto: sweep where no link and no GPU can be shared, else events"),
    RUN(contention, BOOL, .fallback = "true",
        .doc =
            "whether communications that meet on a link share it, and computation beside them is "
            "slowed down, as they happen; false, and engine sweep: as estimated beforehand"),
    RUN(detail, WORD, .words = run_detail_words, .fallback = "flows",
        .doc = "what a collective is simulated as; steps need engine events and contention"),
    RUN(memory_limit, QUANTITY, .aside = true, .dim = TY_DIM_BYTES, .min = 1e7, .max = 1e15,
        .fallback = "auto", .blank = "auto",
        .doc = "memory of this machine that a run may take before it is refused; auto: 80 % of the "
               "least of its memory, the limit of the control group and those of ulimit"),
};
const uint32_t ty_n_run_fields = TY_COUNT(ty_run_fields);

#define MEASURED(key_, member_, type_, ...)                                                        \
    TY_FIELD(struct ty_measured_options, key_, member_, type_, __VA_ARGS__)
#define SECONDS(key_, member_, doc_)                                                               \
    MEASURED(key_, member_, QUANTITY, .dim = TY_DIM_SECONDS, .min = 1e-9, .max = 1e6,              \
             .fallback = "none", .blank = "none", .doc = (doc_))

const struct ty_field ty_measured_fields[] = {
    SECONDS("step_time", step_s,
            "median of an optimizer step, without warm-up, evaluations and checkpoints"),
    SECONDS("step_time_p10", step_p10_s, "nine of ten such steps took longer"),
    SECONDS("step_time_p90", step_p90_s, "one of ten such steps took longer"),
    MEASURED("steps", steps, UINT, .fallback = "0", .doc = "such steps in the log"),
    MEASURED("tokens_per_s", tokens_per_s, QUANTITY, .dim = TY_DIM_COUNT, .min = 1e-6, .max = 1e15,
             .fallback = "none", .blank = "none", .doc = "of all GPUs, as the log prints them"),
    MEASURED("model_flops", model_flops, QUANTITY, .dim = TY_DIM_FLOPS, .min = 1, .max = 1e18,
             .fallback = "none", .blank = "none",
             .doc = "of a GPU, as the log prints them, in that framework's convention"),
    MEASURED("mfu", mfu, QUANTITY, .dim = TY_DIM_RATIO, .min = 1e-9, .max = 2, .fallback = "none",
             .blank = "none", .doc = "as the log prints it, in that framework's convention"),
    MEASURED("memory", memory, STRINGS, .fallback = "[]", .example = "[0 51.2 GiB, 8 47.9 GiB]",
             .doc = "that ranks allocated at most, each RANK SIZE"),
    MEASURED("reserved", reserved, STRINGS, .fallback = "[]", .example = "[0 60.1 GiB]",
             .doc = "that the allocator of ranks reserved at most, each RANK SIZE"),
    MEASURED("timers", timers, STRINGS, .fallback = "[]", .example = "[forward-backward 8.1 s]",
             .doc = "parts of a step by the timers of the framework, each NAME TIME"),
    MEASURED("writer", writer, STRING, .fallback = "\"\"", .doc = "framework that wrote the log"),
    MEASURED("source", source, STRING, .fallback = "\"\"",
             .doc = "file and line of the log where the measured steps begin"),
};
const uint32_t ty_n_measured_fields = TY_COUNT(ty_measured_fields);

const struct ty_field ty_output_fields[] = {
    OUTPUT(stats, WORD, .words = stats_words, .fallback = "table", .doc = "form of the statistics"),
    OUTPUT(trace, STRINGS, .fallback = "[]",
           .doc = "traces to write, each FORMAT:PATH, such as chrome:step.json.gz"),
    OUTPUT(trace_limit, QUANTITY, .dim = TY_DIM_BYTES, .min = 1e3, .max = 1e15, .fallback = "1 GiB",
           .doc = "largest trace that is written without being forced, before compression"),
    OUTPUT(detail, WORD, .words = ty_detail_words, .fallback = "layer",
           .doc = "finest slices of a trace"),
    OUTPUT(counters, WORD, .words = ty_counters_words, .fallback = "all",
           .doc = "values over time that a trace shows"),
    OUTPUT(args, WORD, .words = ty_args_words, .fallback = "short",
           .doc = "what slices of chrome and perfetto traces say of themselves"),
    OUTPUT(flows, WORD, .words = ty_flows_words, .fallback = "p2p",
           .doc = "arrows of chrome and perfetto traces"),
    OUTPUT(critical, WORD, .words = ty_critical_words, .fallback = "path",
           .doc = "the critical path in chrome and perfetto traces"),
    OUTPUT(ranks, STRING, .fallback = "\"\"",
           .doc = "ranks a trace shows, such as all, 0-15,64, dp=0 or one-per-stage; empty: all up "
                  "to 32, "
                  "one data-parallel replica above"),
    OUTPUT_AT("svg", svg.palette, WORD, .inner = "palette", .words = palette_words,
              .fallback = "traces", .doc = "colours of svg traces"),
    OUTPUT_AT("svg.width", svg.width_m, QUANTITY, .dim = TY_DIM_METRES, .min = TY_SVG_MIN_WIDTH_M,
              .max = TY_SVG_MAX_WIDTH_M, .fallback = "170 mm", .doc = "width of svg traces"),
    OUTPUT(svg.bubbles, WORD, .words = bubbles_words, .fallback = "shaded",
           .doc = "idle time in svg traces"),
};
const uint32_t ty_n_output_fields = TY_COUNT(ty_output_fields);

/* ---- the same from the command line ---- */

/* "traces, safe or print" */
static const char *list_words(const struct ty_word *words, char *buf, size_t size)
{
    size_t n = 0;
    for (; words->name != NULL && n < size; words++) {
        const char *before = n == 0 ? "" : words[1].name == NULL ? " or " : ", ";
        n += (size_t)snprintf(buf + n, size - n, "%s%s", before, words->name);
    }
    return buf;
}

int ty_word_read(const char *option, const char *text, const struct ty_word *words, int *value,
                 struct ty_err *err)
{
    const char *names[8] = {NULL};
    char list[96];
    if (text == NULL || ty_word_value(words, text, value)) {
        return 0;
    }
    ty_fail(err, TY_EUSAGE, "%s %s: unknown; write %s", option, text,
            list_words(words, list, sizeof(list)));
    for (size_t i = 0; i < TY_COUNT(names) && words[i].name != NULL; i++) {
        names[i] = words[i].name;
    }
    const char *near = ty_nearest(text, names, TY_COUNT(names));
    if (near != NULL) {
        ty_hint(err, "did you mean \"%s\"?", near);
    }
    return TY_EUSAGE;
}

int ty_svg_style_read(struct ty_svg_style *style, const char *width, const char *palette,
                      const char *bubbles, struct ty_err *err)
{
    char why[256];
    if (width != NULL &&
        ty_quantity_parse(width, TY_DIM_METRES, &style->width_m, why, sizeof(why)) < 0) {
        return ty_fail(err, TY_EUSAGE, "--width %s: %s", width, why);
    }
    if (width != NULL &&
        (style->width_m < TY_SVG_MIN_WIDTH_M || style->width_m > TY_SVG_MAX_WIDTH_M)) {
        return ty_fail(err, TY_EUSAGE, "--width %s: out of range; a picture is %g mm to %g mm wide",
                       width, 1e3 * TY_SVG_MIN_WIDTH_M, 1e3 * TY_SVG_MAX_WIDTH_M);
    }
    const int rc = ty_word_read("--palette", palette, palette_words, &style->palette, err);
    return rc < 0 ? rc : ty_word_read("--bubbles", bubbles, bubbles_words, &style->bubbles, err);
}
