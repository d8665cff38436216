/* costs.h - what layouts have in common, worked out once.
 *
 * Ten thousand layouts of a space differ in few things at a time. Kernels and collectives of a
 * layer depend on a few coordinates, whatever the pipeline; what a schedule has in flight, on its
 * ranks and micro-batches, whatever the model; where groups lie, on the grid alone. Each is kept
 * under what it depends on, so that a layout costs a few look-ups and sums:
 *
 *     grid     where groups lie               tensor, context, pipeline, data, experts, order
 *     layer    times and tensors of units     tensor, context, experts, micro-batch, sequence
 *                                             parallelism, recomputation, and where its groups lie
 *     stage    sums over units of a stage     a layer's, and which units
 *     order    what is in flight, what is     schedule, ranks, micro-batches, chunks
 *              before and after what
 *
 * One of these serves one thread. */
#ifndef TY_PLAN_COSTS_H
#define TY_PLAN_COSTS_H

#include "sim/config/config.h"

struct ty_plan_costs;

/* For layouts of a configuration, of which cluster, model and run count; its own layout does not.
 * It borrows from `base`. */
int ty_plan_costs_new(struct ty_plan_costs **out, const struct ty_config *base, struct ty_err *err);
void ty_plan_costs_free(struct ty_plan_costs *costs);

#endif
