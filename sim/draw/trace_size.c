/* trace_size.c - how large a trace will be, and what to leave out of one that is too large.
 *
 * Candidates are tried, the one that loses least first; one is named when its estimate fits. */
#include <stdio.h>
#include <string.h>

#include "sim/base/number_text.h"

#include "sim/base/words.h"
#include "sim/draw/trace.h"

/* What would be asked for instead; NULL: as it is. `what` is what the user types. */
struct candidate {
    const char *what, *ranks, *detail, *steps, *counters, *args;
};

static const struct candidate candidates[] = {
    {.what = "--args short", .args = "short"},
    {.what = "--counters memory", .counters = "memory"},
    {.what = "--args none", .args = "none"},
    {.what = "--steps 0", .steps = "0"},
    {.what = "--ranks dp=0", .ranks = "dp=0"},
    {.what = "--ranks one-per-stage", .ranks = "one-per-stage"},
    {.what = "--detail layer", .detail = "layer"},
    {.what = "--detail microbatch", .detail = "microbatch"},
    {.what = "--detail stage", .detail = "stage"},
    {.what = "--ranks one-per-stage --steps 0", .ranks = "one-per-stage", .steps = "0"},
    {.what = "--ranks one-per-stage --detail microbatch",
     .ranks = "one-per-stage",
     .detail = "microbatch"},
    {.what = "--ranks one-per-stage --detail stage --counters memory",
     .ranks = "one-per-stage",
     .detail = "stage",
     .counters = "memory"},
};

#define WINDOW_SHARE 0.5 /* guess: the beginning of a step may be twice as busy as its mean */

static int request_of_run(const void *arg, const struct ty_trace_options *options,
                          struct ty_arena *arena, struct ty_trace *trace, struct ty_err *err)
{
    struct ty_selection selection = {.n = 0};
    return ty_trace_request(arg, options, arena, trace, &selection, err);
}

struct ty_trace_asked ty_trace_asked_run(const struct ty_run *run)
{
    return (struct ty_trace_asked){.request = request_of_run,
                                   .arg = run,
                                   .n_steps = run->lowered.program.n_steps,
                                   .limit = run->config->output.trace_limit};
}

static double estimate(const struct ty_trace_format *format, const struct ty_trace *trace)
{
    return format->estimate != NULL ? format->estimate(trace) : 0;
}

/* Bytes of the trace with other options; negative: it cannot be asked for. */
static double try_options(const struct ty_trace_asked *asked, const struct ty_trace_format *format,
                          const struct ty_trace *trace, const struct ty_trace_options *options)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_trace other = *trace;
    const bool ok = asked->request(asked->arg, options, &arena, &other, NULL) == 0;
    const double bytes = ok ? estimate(format, &other) : -1;
    ty_arena_release(&arena);
    return bytes;
}

static struct ty_trace_options with(const struct ty_trace_options *options,
                                    const struct candidate *c)
{
    struct ty_trace_options o = *options;
    o.ranks = c->ranks != NULL ? c->ranks : o.ranks;
    o.detail = c->detail != NULL ? c->detail : o.detail;
    o.counters = c->counters != NULL ? c->counters : o.counters;
    o.args = c->args != NULL ? c->args : o.args;
    if (c->steps != NULL) {
        o.steps = c->steps;
        o.window = NULL;
    }
    return o;
}

/* Finer detail than there is, or steps of a run that has one, are no way out. */
static bool lessens(const struct ty_trace_asked *asked, const struct ty_trace *trace,
                    const struct candidate *c)
{
    int detail;
    return (c->steps == NULL || asked->n_steps > 1) &&
           (c->detail == NULL || !ty_word_value(ty_detail_words, c->detail, &detail) ||
            detail < (int)trace->detail);
}

/* A stretch from the beginning of what is shown, of few ranks, that fits by its share, where
 * nothing else does. */
static double try_window(const struct ty_trace_asked *asked, const struct ty_trace_format *format,
                         const struct ty_trace *trace, const struct ty_trace_options *options,
                         double limit, char *what, size_t size)
{
    const ty_ps end = trace->timeline->makespan;
    const ty_ps to = trace->window_to < end ? trace->window_to : end;
    const double from_s = ty_s_from_ps(trace->window_from);
    const double length_s = ty_s_from_ps(to) - from_s;
    struct ty_trace_options o = *options;
    o.ranks = "one-per-stage";
    const double whole = try_options(asked, format, trace, &o);
    for (double share = WINDOW_SHARE * limit / whole; share > 1e-6; share /= 4) {
        char window[64];
        ty_snprintf(window, sizeof(window), "%.4gs:%.4gs", from_s, from_s + share * length_s);
        o.window = window;
        o.steps = NULL;
        const double bytes = try_options(asked, format, trace, &o);
        if (bytes >= 0 && bytes <= limit) {
            snprintf(what, size, "--ranks one-per-stage --window %s", window);
            return bytes;
        }
    }
    return -1;
}

double ty_trace_fitting(const struct ty_trace_asked *asked, const struct ty_trace_format *format,
                        const struct ty_trace *trace, const struct ty_trace_options *options,
                        double limit, char *what, size_t size)
{
    for (size_t i = 0; i < TY_COUNT(candidates); i++) {
        const struct candidate *c = &candidates[i];
        const struct ty_trace_options o = with(options, c);
        const double bytes = lessens(asked, trace, c) ? try_options(asked, format, trace, &o) : -1;
        if (bytes >= 0 && bytes <= limit) {
            snprintf(what, size, "%s", c->what);
            return bytes;
        }
    }
    return trace->timeline->makespan > 0
               ? try_window(asked, format, trace, options, limit, what, size)
               : -1;
}

int ty_trace_check_size(const struct ty_trace_asked *asked, const struct ty_trace_format *format,
                        const struct ty_trace *trace, const struct ty_trace_options *options,
                        struct ty_err *err)
{
    const double limit = asked->limit;
    const double bytes = options->force ? 0 : estimate(format, trace);
    char a[64], b[64], c[64], what[96];
    if (bytes <= limit) {
        return 0;
    }
    const double less = ty_trace_fitting(asked, format, trace, options, limit, what, sizeof(what));
    ty_words_bytes(bytes, a, sizeof(a));
    ty_words_bytes(limit, b, sizeof(b));
    if (less < 0) {
        return ty_fail(err, TY_ELIMIT,
                       "the %s trace of %u ranks would have about %s, more than "
                       "output.trace_limit (%s), which is too little for any; raise it, or insist "
                       "with --force",
                       format->name, (unsigned)trace->n_ranks, a, b);
    }
    return ty_fail(err, TY_ELIMIT,
                   "the %s trace of %u ranks would have about %s, more than output.trace_limit "
                   "(%s); %s makes it about %s, or insist with --force",
                   format->name, (unsigned)trace->n_ranks, a, b, what,
                   ty_words_bytes(less, c, sizeof(c)));
}
