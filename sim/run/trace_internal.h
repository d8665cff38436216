/* trace_internal.h - what the files that hand a run to a trace writer share. */
#ifndef TY_RUN_TRACE_INTERNAL_H
#define TY_RUN_TRACE_INTERNAL_H

#include "sim/run/run.h"
#include "sim/run/select.h"
#include "traces/writer.h"

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
};
void ty_trace_fill(struct ty_trace_figures *m, const struct ty_run *run);

/* trace_request.c: "FORMAT:PATH" taken apart; 0 or TY_EUSAGE. */
int ty_trace_target(const char *target, const struct ty_trace_format **format, const char **path,
                    struct ty_err *err);

/* What the options ask for, into the trace and the selection. */
int ty_trace_request(const struct ty_run *run, const struct ty_trace_options *options,
                     struct ty_arena *arena, struct ty_trace *trace, struct ty_selection *selection,
                     struct ty_err *err);

/* trace_size.c: what to add to the options so that the trace has at most `limit` bytes, into what[].
 * Returns its size then; negative: nothing helps. */
double ty_trace_fitting(const struct ty_run *run, const struct ty_trace_format *format,
                        const struct ty_trace *trace, const struct ty_trace_options *options,
                        double limit, char *what, size_t size);

/* 0, or TY_ELIMIT with a message that names what would fit output.trace_limit. */
int ty_trace_check_size(const struct ty_run *run, const struct ty_trace_format *format,
                        const struct ty_trace *trace, const struct ty_trace_options *options,
                        struct ty_err *err);

#endif
