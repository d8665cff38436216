/* run.h - a schedule alone, executed: what `trainyard schedule` shows and compares. */
#ifndef TY_SCHEDULE_RUN_H
#define TY_SCHEDULE_RUN_H

#include "model/orders/program.h"
#include "sim/base/text.h"
#include "sim/core/analyse/stats.h"
#include "sim/trainyard.h"

#define TY_SCHED_UNIT_PS 1000000u /* one unit of --times; six decimals are exact */

struct ty_sched_run {
    const struct ty_sched *sched; /* NULL: an order of the user's own */
    const char *name;
    enum ty_sched_placement placement;
    struct ty_sched_shape shape;
    struct ty_sched_times times; /* in units */
    struct ty_slots slots;
    struct ty_arena arena; /* owns everything */
    struct ty_program program;
    struct ty_timeline timeline;
    struct ty_stats stats;
};

struct ty_sched_summary {
    double makespan, max_rank_span, busy; /* units; busy: mean over ranks */
    double bubble_fraction, bubble_over_ideal;
    double formula;                   /* published makespan; 0: none */
    bool in_domain, holds;            /* where it is claimed to hold; it equals the simulation */
    uint32_t peak_input, peak_weight; /* most pieces held on a rank until I, until W */
    uint32_t weight_copies;           /* most on a rank */
    uint64_t messages;
};

/* Reads options, generates, executes. The given times are of one virtual stage, as the contract
 * says. Release in any case. */
int ty_sched_run(struct ty_sched_run *run, const struct ty_schedule_options *options,
                 struct ty_err *err);
/* The same of `name` with others that do the same work: times are those of a whole stage, which
 * this one works through in *pieces; stages are equal parts of the model. */
int ty_sched_run_shared(struct ty_sched_run *run, const struct ty_schedule_options *options,
                        const char *name, double *pieces, struct ty_err *err);
void ty_sched_run_release(struct ty_sched_run *run);

void ty_sched_summarise(const struct ty_sched_run *run, struct ty_sched_summary *out);

/* Appends a picture of `n` of them on one time axis, in the style that the options ask for. */
int ty_sched_svg(const struct ty_sched_run *const *runs, uint32_t n,
                 const struct ty_schedule_options *options, struct ty_text *out,
                 struct ty_err *err);

/* Units of --times. */
static inline double ty_sched_units(ty_ps t)
{
    return (double)t / TY_SCHED_UNIT_PS;
}

#endif
