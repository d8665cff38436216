/* writer.h - a trace format is one file ending in one descriptor.
 *
 * Writers see programs and timelines (sim/core), never a transformer: any program can be traced.
 * They stream through a ty_out with bounded memory; the file gets its final name when it is whole.
 */
#ifndef TY_TRACES_OUT_WRITER_H
#define TY_TRACES_OUT_WRITER_H

#include "sim/core/analyse/link_load.h"
#include "sim/core/analyse/stats.h"
#include "traces/out/out.h"

enum ty_detail {
    TY_DETAIL_STAGE,      /* passes of the compute stream and bubbles only */
    TY_DETAIL_MICROBATCH, /* and all communication between passes: pipeline, data */
    TY_DETAIL_LAYER,      /* and the parts of layers inside passes, and tensor collectives */
    TY_DETAIL_OP,         /* every task */
};

/* Series of values over time. */
enum ty_counters {
    TY_COUNTERS_ALL,
    TY_COUNTERS_MEMORY, /* of ranks only */
    TY_COUNTERS_NET,    /* of links only */
    TY_COUNTERS_NONE,
};

/* What slices say of themselves. */
enum ty_args {
    TY_ARGS_FULL,  /* everything, on every slice, and the colour of its kind */
    TY_ARGS_SHORT, /* not what its name, its row or the slice around it says */
    TY_ARGS_NONE,
};

/* Arrows. */
enum ty_flows {
    TY_FLOWS_P2P, /* from sends to receives */
    TY_FLOWS_NONE,
};

/* How a picture looks. */
enum ty_svg_palette {
    TY_SVG_TRACES, /* the colours of Chrome traces */
    TY_SVG_SAFE,   /* colours that the colour-blind tell apart */
    TY_SVG_PRINT,  /* patterns in black and white */
    TY_SVG_N_PALETTES
};

enum ty_svg_bubbles {
    TY_SVG_SHADED, /* idle time is tinted by its cause, and named where there is room */
    TY_SVG_NAMED,  /* named only */
    TY_SVG_NONE,   /* left empty */
};

/* Zero is the default of each. */
struct ty_svg_style {
    double width_m; /* of the picture; 0: TY_SVG_WIDTH_M */
    int palette;    /* enum ty_svg_palette */
    int bubbles;    /* enum ty_svg_bubbles */
};

/* One entry of the metadata: flat scalars. Exactly one of text, number and flag is meant. */
struct ty_meta {
    const char *key;
    const char *text; /* NULL: number */
    double number;
    bool flag; /* the value is `true` */
};

/* A number of each rank in each layer, such as the load of its experts: a counter that has it from
 * the start of an operation of that layer on. */
struct ty_trace_layers {
    const char *name, *series; /* "expert load", "rows over mean" */
    const char *operation;     /* its name */
    const double *const *of;   /* [n_layers] by global rank; NULL: of this layer none is known */
    uint32_t n_layers;
};

struct ty_svg_panel; /* svg.h */

/* Everything a writer needs to know, borrowed for the call. */
struct ty_trace {
    const struct ty_timeline *timeline;
    const struct ty_stats *stats;
    const uint32_t *ranks; /* [n_ranks] global ranks to show, in display order */
    uint32_t n_ranks;
    uint32_t threads; /* that write and compress; 0: one per core */
    /* "rank 12 · pp1 dp0 tp4 · node1/gpu4" and "stage 1/2, bubble 37.5 %"; owned by `arg`, valid
     * until the next call. Either may be NULL: then the gang's name serves. */
    const char *(*rank_name)(void *arg, uint32_t rank);
    const char *(*rank_label)(void *arg, uint32_t rank);
    void *arg;
    const struct ty_meta *meta; /* [n_meta] */
    uint32_t n_meta;
    enum ty_detail detail;
    enum ty_counters counters;
    enum ty_args args;
    enum ty_flows flows;
    const uint32_t *node_of; /* [ranks of the program] whose links are shown; NULL: all nodes' */
    const struct ty_link_load *link_load; /* of the links; NULL: they are not shown */
    ty_ps window_from, window_to;         /* slices are clipped to it; 0, UINT64_MAX: everything */
    struct ty_svg_style svg;              /* zero: as it is by default */
    const struct ty_timeline *critical;   /* whose critical path is shown: of a program whose gangs
                                         * are the first of the timeline's; NULL: of none */
    bool bubbles;                         /* idle stretches as slices that name their reason */
    void (*progress)(void *arg, double share); /* of the writing; NULL: nobody is told */
    void *progress_arg;
    const struct ty_svg_panel
        *panels;       /* [n_panels] of a picture, one below the other; 0 of them: */
    uint32_t n_panels; /* the timeline is the only one */
    const struct ty_trace_layers *layers; /* next to the memory of ranks; NULL: none */
    const double *capacity_B; /* memory by global rank; NULL: unknown, nothing is out of memory */
};

struct ty_trace_format {
    const char *name, *extension, *summary;
    bool links;    /* it shows ty_trace.link_load */
    bool per_rank; /* a folder with a file for each rank: write is called for one rank at a time */
    /* Bytes the file will have, roughly (within a factor of 1.5), without writing it. NULL:
     * small */
    double (*estimate)(const struct ty_trace *trace);
    int (*write)(const struct ty_trace *trace, struct ty_out *out, struct ty_err *err);
};

/* In the order in which they are listed. */
#define TY_TRACE_FORMATS(X)                                                                        \
    X(chrome)                                                                                      \
    X(perfetto)                                                                                    \
    X(kineto)                                                                                      \
    X(csv)                                                                                         \
    X(gantt)                                                                                       \
    X(svg)                                                                                         \
    X(digest)

#define X(id) extern const struct ty_trace_format ty_trace_##id;
TY_TRACE_FORMATS(X)
#undef X
extern const struct ty_trace_format *const ty_trace_formats[]; /* ends with NULL */

/* Share of the run that lies in the window, 0..1; for estimates. */
double ty_trace_window_share(const struct ty_trace *trace);

/* The value of an entry of the metadata as JSON. */
void ty_trace_put_meta(struct ty_out *out, const struct ty_meta *meta);

/* Writes to a path: a file (or "-", "null:"), or a folder, made if it is missing. What was there is
 * replaced when all is written, and stays when anything fails. *bytes: of the files as they are,
 * compressed or not. */
int ty_trace_write(const struct ty_trace_format *format, const struct ty_trace *trace,
                   const char *path, const volatile int *stop, uint64_t *bytes, struct ty_err *err);

/* Whether it could write there, found by trying where that leaves nothing behind. */
int ty_trace_write_check(const struct ty_trace_format *format, const struct ty_trace *trace,
                         const char *path, struct ty_err *err);

/* By name, or NULL. */
const struct ty_trace_format *ty_trace_format(const char *name);

/* "FORMAT:PATH" taken apart; 0 or TY_EUSAGE, with `whose` ("--trace") before the message. */
int ty_trace_target(const char *whose, const char *target, const struct ty_trace_format **format,
                    const char **path, struct ty_err *err);

#endif
