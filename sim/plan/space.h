/* space.h - the layouts that a plan searches: the stated space.
 *
 * Axes are keys of `layout` and `schedule`: those that the run file leaves out, or at auto, and
 * those that --over names. Every other value is the run file's. A point is one legal combination,
 * as coordinates; with everything else it makes a configuration. Points are numbered as nested
 * loops meet them, outermost first: tensor, context, pipeline, expert, expert_tensor, micro_batch,
 * schedule, chunks, zero, recompute, sequence_parallel, order. The number is the row of a layout,
 * whoever searches, and decides between equals.
 *
 * Legal is what reading a run file with these values accepts: the same checks decide. */
#ifndef TY_PLAN_SPACE_H
#define TY_PLAN_SPACE_H

#include "sim/config/config.h"

#define TY_PLAN_ZEROS 4u

struct ty_plan_point {
    uint32_t tensor, context, pipeline, data;
    uint32_t expert, expert_tensor;
    uint32_t micro_batch, micro_batches; /* sequences in a pass; passes of a pipeline and step */
    uint32_t recompute;                  /* enum ty_recompute: bits */
    uint16_t schedule;                   /* index into ty_schedules; a file's: 0 */
    uint16_t chunks;                     /* virtual stages of a pipeline rank */
    uint8_t zero;
    bool sequence_parallel;
    uint8_t order; /* index into the space's orders of axes */
};

struct ty_plan_space {
    const struct ty_config *base;                 /* read for a plan: its layout is not completed */
    struct ty_framework framework[TY_PLAN_ZEROS]; /* of each ZeRO stage: where no stack is named,
                                                   * it follows from the stage */
    const struct ty_word_list *order;             /* [n_orders] */
    uint32_t n_orders;
    const struct ty_plan_point *point; /* [n_points] */
    uint32_t n_points;
};

/* The configuration of a point: what reading the run file with its values gives, completed and
 * checked. It borrows from the base. 0, or the code of why it is not legal; `err` NULL: nobody asks
 * for the words, which costs less. */
int ty_plan_apply(const struct ty_plan_space *space, const struct ty_plan_point *point,
                  struct ty_config *config, struct ty_err *err);

/* The same of what depends on a point, into copies of the base's. */
int ty_plan_complete(const struct ty_plan_space *space, const struct ty_plan_point *point,
                     struct ty_layout *layout, struct ty_sched_options *schedule,
                     struct ty_err *err);

#endif
