/* bound.h - a step time that a layout cannot beat in simulation: what it rules out is no answer.
 *
 * Every operation of a simulated step waits for others and lasts as long as it lasts. Leaving out
 * some of what it waits for, or lasting less, never makes the step longer. So any chain of
 * operations that wait for each other, each at its shortest, is a bound. docs/internals/model.md,
 * section 9, has those that are looked at. */
#ifndef TY_PLAN_BOUND_H
#define TY_PLAN_BOUND_H

#include "sim/plan/costs.h"

struct ty_run;

/* *seconds: never above the step time of a simulation, with contention or without; 0 where none is
 * known (schedules without flush or of the user's own, jitter, GPUs that differ by chance, uneven
 * routing, collectives message by message): nothing may be ruled out then. The layout is completed
 * and legal, and so is the schedule for it. */
int ty_plan_bound(struct ty_plan_costs *costs, const struct ty_layout *layout,
                  const struct ty_sched_options *schedule, double *seconds, struct ty_err *err);

/* That the bound of an executed run's layout holds: 0, or TY_EBUG with both figures. Whoever
 * simulates a layout that was bounded asks, in debug builds. */
int ty_plan_check(struct ty_plan_costs *costs, const struct ty_run *run, struct ty_err *err);

#endif
