/* trace.h - what a run hands to a trace writer: names, options, figures, the limit of its size. */
#ifndef TY_DRAW_TRACE_H
#define TY_DRAW_TRACE_H

#include "sim/run/run.h"
#include "sim/run/select.h"
#include "traces/out/writer.h"

/* trace_labels.c: names of ranks, valid until the next call (`arg` of a ty_trace), and the
 * metadata. */
struct ty_trace_labels {
    const struct ty_run *run;
    char name[128], label[128];
};
const char *ty_trace_rank_name(void *arg, uint32_t rank);
const char *ty_trace_rank_label(void *arg, uint32_t rank);

#define TY_TRACE_META_MAX 32u
struct ty_trace_figures {
    struct ty_meta row[TY_TRACE_META_MAX];
    uint32_t n;
    char digest[32], seed[24], gpus[512], algorithms[512];
    char tensor[TY_WIDTHS_TEXT], data[TY_WIDTHS_TEXT];
};

/* trace_request.c: window, detail, arguments, arrows, counters, bubbles and style; what is not
 * asked for is as `defaults` says. Of --steps nothing but that there is no window next to it. */
int ty_trace_read_options(const struct ty_trace_options *options,
                          const struct ty_output_options *defaults, struct ty_trace *trace,
                          struct ty_err *err);

/* TY_EUSAGE when --window begins at `from`, and what is to be shown of it ended before. */
int ty_trace_check_window(const char *window, ty_ps from, ty_ps end, struct ty_err *err);

/* "2-3" of a run or of a measured timeline: when it is. A run that was not executed leaves the
 * times as they are. TY_EUSAGE for steps that are not there. */
int ty_trace_run_steps(const struct ty_run *run, const char *steps, ty_ps *from, ty_ps *to,
                       struct ty_err *err);
int ty_trace_measured_steps(const struct ty_timeline *timeline, const char *steps, ty_ps *from,
                            ty_ps *to, struct ty_err *err);

/* Options that ask for the defaults of all: what a caller that gives none (NULL) means. */
extern const struct ty_trace_options ty_trace_no_options;

/* What the options ask for, into the trace and the selection. */
int ty_trace_request(const struct ty_run *run, const struct ty_trace_options *options,
                     struct ty_arena *arena, struct ty_trace *trace, struct ty_selection *selection,
                     struct ty_err *err);

/* What can be asked for a trace: one run, or several that are compared. */
struct ty_trace_asked {
    /* What the options ask for, into *trace: TY_EUSAGE when that cannot be had. */
    int (*request)(const void *arg, const struct ty_trace_options *options, struct ty_arena *arena,
                   struct ty_trace *trace, struct ty_err *err);
    const void *arg;
    uint32_t n_steps;
    double limit; /* output.trace_limit, B */
};

/* 0, or TY_ELIMIT with a message that names what would fit output.trace_limit. */
int ty_trace_check_size(const struct ty_trace_asked *asked, const struct ty_trace_format *format,
                        const struct ty_trace *trace, const struct ty_trace_options *options,
                        struct ty_err *err);

#endif
