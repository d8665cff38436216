/* lanes.h - several runs and their ranks as rows of one trace. */
#ifndef TY_DIFF_LANES_H
#define TY_DIFF_LANES_H

#include "sim/diff/diff.h"
#include "sim/draw/trace.h"

#define TY_LANES_META     8u
#define TY_LANES_META_MAX (4 + TY_DIFF_RUNS_MAX * TY_LANES_META)

/* Everything between the request and the writer. */
struct ty_lanes {
    const struct ty_diff_run *runs;
    uint32_t n;
    struct ty_timeline all;
    struct ty_stats stats;
    struct ty_selection shown[TY_DIFF_RUNS_MAX]; /* ranks of each run, numbered within it */
    struct ty_svg_panel panel[TY_DIFF_RUNS_MAX];
    struct ty_meta meta[TY_LANES_META_MAX];
    uint32_t n_meta;
    char name[192], label[160];
    struct ty_arena arena;
};

/* Of the i-th run: what is drawn of it, and whether it stopped halfway. */
const struct ty_timeline *ty_lanes_timeline(const struct ty_lanes *l, uint32_t i);
bool ty_lanes_halted(const struct ty_lanes *l, uint32_t i);

/* What is not asked for is as the first run file says. */
const struct ty_output_options *ty_lanes_defaults(const struct ty_lanes *l);

/* "A", or where one of two is measured, which of them this is; in buf or constant. */
const char *ty_lanes_word(const struct ty_lanes *l, uint32_t i, char buf[16]);

/* Which run a rank of the whole is of; *rank becomes its number there. */
uint32_t ty_lanes_locate(const struct ty_lanes *l, uint32_t *rank);

/* Of a struct ty_trace whose `arg` is the lanes. */
const char *ty_lanes_rank_name(void *arg, uint32_t rank);
const char *ty_lanes_rank_label(void *arg, uint32_t rank);

/* Fills shown[]: 0, or TY_EUSAGE for ranks that a run does not have. */
int ty_lanes_select(struct ty_lanes *l, const struct ty_trace_options *options, struct ty_err *err);

/* Those as numbers of the whole, in display order, into the trace. */
int ty_lanes_order(struct ty_lanes *l, const struct ty_trace_options *options,
                   struct ty_trace *trace, struct ty_err *err);

#endif
