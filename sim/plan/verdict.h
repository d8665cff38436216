/* verdict.h - whether a layout fits, without making its program.
 *
 * The figures are those of the bill of a planned run (sim/run/bill.h), to the byte: states from the
 * parameters of a stage, activations from what the schedule holds at each of its passes, buffers
 * from the buckets of gradients. */
#ifndef TY_PLAN_VERDICT_H
#define TY_PLAN_VERDICT_H

#include "sim/plan/costs.h"

struct ty_plan_verdict {
    double peak_B;     /* of the fullest stage: reserve and fragmentation included */
    double capacity_B; /* memory of the smallest GPU of that stage */
    uint32_t stage;    /* which one that is */
    bool fits;
    bool
        whole_bill; /* peak_B is a lower bound: ask ty_run_fullest whether it really fits. What rows
                      * above the mean need (run.routing), and what is kept off the GPU, is
                      * known to a program only */
};

/* The layout is completed and legal, and so is the schedule for it. */
int ty_plan_verdict(struct ty_plan_costs *costs, const struct ty_layout *layout,
                    const struct ty_sched_options *schedule, struct ty_plan_verdict *out,
                    struct ty_err *err);

#endif
