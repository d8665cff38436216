/* cuts.h - a step time that no cut of a layout's layers can beat in simulation.
 *
 * bound.h has the longest of some chains of operations that wait for each other, of a layout whose
 * stages are given. Here stages are what layers are cut into, and some of them run again. Chains
 * are the same, each layer at what it takes at least, and each stage repeats no more than makes it
 * fit: the least over all cuts, and over all counts, of the longest chain. docs/model.md, section
 * 9. */
#ifndef TY_PLAN_CUTS_H
#define TY_PLAN_CUTS_H

#include "sim/plan/costs.h"
#include "sim/plan/space.h"

/* What layers may repeat: modes of enum ty_recompute. */
struct ty_plan_modes {
    uint32_t mode[4], n; /* TY_DEAL_MODES */
};

/* *seconds: never above the simulated step of any layout that fits and differs from the point's in
 * stage_layers and recompute_layers alone, with sets of these modes. HUGE_VAL: none fits; 0: no
 * bound is known, as in bound.h. From `limit_s` on nobody asks how much it is above that. */
int ty_plan_cuts_bound(struct ty_plan_costs *costs, const struct ty_plan_space *space,
                       const struct ty_plan_point *point, const struct ty_plan_modes *modes,
                       double limit_s, double *seconds, struct ty_err *err);

/* Of one such layout: layers of each stage, and how many of them run again, the first ones of it,
 * in the second mode. False: no more of them. */
typedef bool ty_plan_cut_fn(void *arg, const uint32_t *layers, const uint32_t *again);

/* Calls for all of these layouts that may take less than `limit_s`, and for some that may not, or
 * do not fit. *all: none was left out; else there are chunks, more than two modes, or too many, or
 * a call said that it has enough. */
int ty_plan_cuts_each(struct ty_plan_costs *costs, const struct ty_plan_space *space,
                      const struct ty_plan_point *point, const struct ty_plan_modes *modes,
                      double limit_s, ty_plan_cut_fn *each, void *arg, bool *all,
                      struct ty_err *err);

#endif
