/* trace_request.c - what is asked of a trace: "FORMAT:PATH" and the options, into what a writer
 * reads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/base/text.h"
#include "sim/base/words.h"
#include "sim/cli_api.h"
#include "sim/draw/trace.h"

#define STEP_MAX 999999u /* no run has more */

const struct ty_trace_options ty_trace_no_options = {.ranks = NULL};

/* "1.5 s:2 s"; either side may be empty. */
static int parse_window(const char *window, ty_ps *from, ty_ps *to, struct ty_err *err)
{
    *from = 0;
    *to = UINT64_MAX;
    if (window == NULL) {
        return 0;
    }
    const char *colon = strchr(window, ':');
    if (colon == NULL) {
        return ty_fail(err, TY_EUSAGE, "--window %s: no colon; write FROM:TO, such as 1.5s:2s",
                       window);
    }
    for (int side = 0; side < 2; side++) {
        const char *s = side == 0 ? window : colon + 1;
        const size_t n = side == 0 ? (size_t)(colon - window) : strlen(s);
        char part[64], why[256];
        double seconds;
        if (n == 0) {
            continue;
        }
        snprintf(part, sizeof(part), "%.*s", (int)(n < sizeof(part) ? n : sizeof(part) - 1), s);
        if (ty_quantity_parse(part, TY_DIM_SECONDS, &seconds, why, sizeof(why)) < 0) {
            return ty_fail(err, TY_EUSAGE, "--window %s: %s", window, why);
        }
        if (ty_ps_from_s(seconds, side == 0 ? from : to) < 0) {
            return ty_fail(err, TY_EUSAGE, "--window %s: out of the run's time; it begins at 0 s",
                           window);
        }
    }
    return *from < *to ? 0
                       : ty_fail(err, TY_EUSAGE,
                                 "--window %s: ends before it begins; write the earlier time first",
                                 window);
}

int ty_trace_check_window(const char *window, ty_ps from, ty_ps end, struct ty_err *err)
{
    char length[64];
    return window == NULL || from < end
               ? 0
               : ty_fail(err, TY_EUSAGE,
                         "--window %s: begins when all is over; what is simulated ends at %s",
                         window, ty_words_seconds(ty_s_from_ps(end), length, sizeof(length)));
}

/* "2-3", or "2". */
static int parse_steps(const char *steps, uint32_t *first, uint32_t *last, struct ty_err *err)
{
    const char *s = steps;
    bool ok = ty_scan_number(&s, NULL, STEP_MAX, first);
    *last = *first;
    if (ok && *s == '-') {
        s++;
        ok = ty_scan_number(&s, NULL, STEP_MAX, last);
    }
    return ok && *s == '\0' && *last >= *first
               ? 0
               : ty_fail(err, TY_EUSAGE,
                         "--steps %s: not a step or a range of steps; write one, such as 2-3",
                         steps);
}

/* From when all steps before are over to the end of the last one. */
static int find_steps(const struct ty_timeline *timeline, uint32_t first, uint32_t last,
                      ty_ps *from, ty_ps *to, struct ty_err *err)
{
    ty_ps *end = malloc(timeline->program->n_steps * sizeof(*end));
    if (end == NULL) {
        return ty_fail_memory(err);
    }
    ty_timeline_step_ends(timeline, end);
    *from = first > 0 ? end[first - 1] : 0;
    *to = end[last];
    free(end);
    return 0;
}

int ty_trace_run_steps(const struct ty_run *run, const char *steps, ty_ps *from, ty_ps *to,
                       struct ty_err *err)
{
    const uint32_t n = run->lowered.program.n_steps;
    uint32_t first, last;
    if (parse_steps(steps, &first, &last, err) < 0) {
        return TY_EUSAGE;
    }
    if (last >= n) {
        return ty_fail(err, TY_EUSAGE,
                       "--steps %s: the run has step%s 0%s%.0u, as run.steps says; --set "
                       "run.steps=%u has more",
                       steps, n > 1 ? "s" : "", n > 1 ? "-" : "", (unsigned)(n - 1),
                       (unsigned)last + 1);
    }
    return run->executed ? find_steps(&run->timeline, first, last, from, to, err) : 0;
}

int ty_trace_measured_steps(const struct ty_timeline *timeline, const char *steps, ty_ps *from,
                            ty_ps *to, struct ty_err *err)
{
    const uint32_t n = timeline->program->n_steps;
    uint32_t first, last;
    if (parse_steps(steps, &first, &last, err) < 0) {
        return TY_EUSAGE;
    }
    if (last >= n) {
        return ty_fail(err, TY_EUSAGE, "--steps %s: the profile has step%s 0%s%.0u", steps,
                       n > 1 ? "s" : "", n > 1 ? "-" : "", (unsigned)(n - 1));
    }
    return find_steps(timeline, first, last, from, to, err);
}

/* The path is that of the run file's own job. Where something never ends there is none. */
static int parse_critical(const char *name, const struct ty_run *run, struct ty_trace *trace,
                          struct ty_err *err)
{
    int value = run->config->output.critical;
    if (ty_word_read("--critical", name, ty_critical_words, &value, err) < 0) {
        return TY_EUSAGE;
    }
    trace->critical = value && !ty_run_halted(run) ? &run->timeline : NULL;
    return 0;
}

int ty_trace_read_options(const struct ty_trace_options *options,
                          const struct ty_output_options *defaults, struct ty_trace *trace,
                          struct ty_err *err)
{
    int args = defaults->args, flows = defaults->flows;
    int detail = defaults->detail, counters = defaults->counters;
    const struct {
        const char *option, *text;
        const struct ty_word *words;
        int *value;
    } given[] = {{"--args", options->args, ty_args_words, &args},
                 {"--flows", options->flows, ty_flows_words, &flows},
                 {"--detail", options->detail, ty_detail_words, &detail},
                 {"--counters", options->counters, ty_counters_words, &counters}};
    if (options->window != NULL && options->steps != NULL) {
        return ty_fail(err, TY_EUSAGE, "--window and --steps say the same in two ways; give one");
    }
    int rc = parse_window(options->window, &trace->window_from, &trace->window_to, err);
    for (size_t i = 0; i < TY_COUNT(given) && rc == 0; i++) {
        rc = ty_word_read(given[i].option, given[i].text, given[i].words, given[i].value, err);
    }
    if (rc < 0) {
        return rc;
    }
    trace->args = (enum ty_args)args;
    trace->flows = (enum ty_flows)flows;
    trace->detail = (enum ty_detail)detail;
    trace->counters = (enum ty_counters)counters;
    trace->svg = defaults->svg;
    trace->bubbles = !options->no_bubbles;
    return ty_svg_style_read(&trace->svg, options->width, options->palette, options->bubbles, err);
}

int ty_trace_request(const struct ty_run *run, const struct ty_trace_options *options,
                     struct ty_arena *arena, struct ty_trace *trace, struct ty_selection *selection,
                     struct ty_err *err)
{
    const char *ranks = options->ranks != NULL ? options->ranks : run->config->output.ranks;
    int rc = ty_trace_read_options(options, &run->config->output, trace, err);
    if (rc == 0 && options->steps != NULL) {
        rc = ty_trace_run_steps(run, options->steps, &trace->window_from, &trace->window_to, err);
    }
    if (rc == 0 && (run->executed || ty_run_halted(run))) {
        rc = ty_trace_check_window(options->window, trace->window_from, run->all.makespan, err);
    }
    if (rc == 0) {
        rc = parse_critical(options->critical, run, trace, err);
    }
    if (rc == 0) {
        rc = ty_select_ranks(run, ranks, options->order, arena, selection, err);
    }
    trace->ranks = selection->ranks;
    trace->n_ranks = selection->n;
    return rc;
}
