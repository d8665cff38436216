/* space.h - the layouts that a plan searches: the stated space.
 *
 * Axes are keys of `layout` and `schedule`: those that the run file leaves out, or at auto, and
 * those that --over names. Every other value is the run file's. A point is one legal combination,
 * as coordinates; with everything else it makes a configuration. Points are numbered as nested
 * loops meet them, outermost first: tensor, tensor_scheme, tensor_depth, context, pipeline, expert,
 * expert_tensor, micro_batch, schedule, chunks, offload, zero, recompute, sequence_parallel, order.
 * The number is the row of a layout, whoever searches, and decides between equals.
 *
 * Legal is what reading a run file with these values accepts: the same checks decide. */
#ifndef TY_PLAN_SPACE_H
#define TY_PLAN_SPACE_H

#include "sim/config/config.h"

#define TY_PLAN_ZEROS 4u

struct ty_plan_point {
    uint32_t tensor, tensor_depth, context, pipeline, data;
    uint32_t expert, expert_tensor;
    uint32_t micro_batch, micro_batches; /* sequences in a pass; passes of a pipeline and step */
    uint32_t recompute;                  /* enum ty_recompute: bits */
    uint16_t schedule;                   /* index into ty_schedules; a file's: 0 */
    uint16_t chunks;                     /* virtual stages of a pipeline rank */
    uint8_t zero;
    uint8_t tensor_scheme; /* enum ty_tensor_scheme */
    uint8_t offload;       /* enum ty_offload_system */
    bool sequence_parallel;
    uint8_t order; /* index into the space's orders of axes */
};

/* Axes, outermost first: suffix, section, key. */
#define TY_PLAN_AXES(X)                                                                            \
    X(TENSOR, LAYOUT, "tensor")                                                                    \
    X(TENSOR_SCHEME, LAYOUT, "tensor_scheme") /* this and the next only where --over asks */       \
    X(TENSOR_DEPTH, LAYOUT, "tensor_depth")                                                        \
    X(CONTEXT, LAYOUT, "context")                                                                  \
    X(PIPELINE, LAYOUT, "pipeline")                                                                \
    X(DATA, LAYOUT, "data") /* follows from those before */                                        \
    X(EXPERT, LAYOUT, "expert")                                                                    \
    X(EXPERT_TENSOR, LAYOUT, "expert_tensor")                                                      \
    X(MICRO_BATCH, LAYOUT, "micro_batch")                                                          \
    X(SCHEDULE, SCHEDULE, "name")                                                                  \
    X(CHUNKS, SCHEDULE, "chunks")                                                                  \
    X(OFFLOAD, LAYOUT, "offload") /* only where --over asks */                                     \
    X(ZERO, LAYOUT, "zero")                                                                        \
    X(RECOMPUTE, LAYOUT, "recompute")                                                              \
    X(SEQUENCE_PARALLEL, LAYOUT, "sequence_parallel")                                              \
    X(ORDER, LAYOUT, "order")

enum ty_plan_axis_index {
#define X(id, section, key) TY_PLAN_##id,
    TY_PLAN_AXES(X)
#undef X
    TY_PLAN_N_AXES
};

/* Whether an axis is the run file's as long as nobody asks for it. */
static inline bool ty_plan_axis_is_rare(int axis)
{
    return axis == TY_PLAN_TENSOR_SCHEME || axis == TY_PLAN_TENSOR_DEPTH || axis == TY_PLAN_OFFLOAD;
}

/* Values as in a point. None: those that make sense next to the axes before, see walk.c. */
struct ty_plan_axis {
    enum ty_section_index section;
    const char *key;
    bool searched; /* false: the run file gives the value */
    uint32_t n;
    const uint32_t *value; /* [n] */
};

struct ty_plan_space {
    const struct ty_config *base; /* read for a plan: its layout is not completed */
    struct ty_config *own; /* the file without what is searched; NULL: it is no layout of its own */
    struct ty_plan_axis axis[TY_PLAN_N_AXES];
    bool all_schedules; /* every synchronous one, unless the axis has values */
    struct ty_framework framework[TY_PLAN_ZEROS]; /* of each ZeRO stage: where no stack is named,
                                                   * it follows from the stage */
    const struct ty_word_list *order;             /* [n_orders] */
    uint32_t n_orders;
    struct ty_plan_point *point; /* [n_points] of the heap */
    uint32_t n_points;
    double margin; /* share of the memory that a recommended layout leaves free */
};

/* Tokens of a sequence that each of its context ranks has at least; with fewer nobody shares one:
 * rounds would be shorter than their messages (guess: by the bounds of docs/internals/model.md,
 * between 1,100 and 17,800 between nodes). */
#define TY_PLAN_CONTEXT_TOKENS 8192u

/* The space of a configuration that was read open, from `source`; over[n_over]: "KEY=V1,V2". Both
 * and the arena have to outlive it. TY_EUSAGE for an --over that cannot be, TY_EINPUT where nothing
 * is legal, with the reason. To be released whatever comes back. */
int ty_plan_space(struct ty_plan_space *space, const struct ty_config *base,
                  const struct ty_source *source, const char *const *over, size_t n_over,
                  struct ty_arena *arena, struct ty_err *err);
void ty_plan_space_release(struct ty_plan_space *space);

/* walk.c: fills in the points. */
int ty_plan_walk(struct ty_plan_space *space, struct ty_err *err);

/* GPUs of the job. */
static inline uint32_t ty_plan_gpus(const struct ty_plan_space *space)
{
    return space->base->layout.ranks;
}

/* Returns whether a layout that fits leaves less memory free than the margin: it may fail. */
static inline bool ty_plan_is_tight(const struct ty_plan_space *space, double peak_B,
                                    double capacity_B)
{
    return capacity_B - peak_B < space->margin * capacity_B;
}

/* The configuration of a point: what reading the run file with its values gives, completed and
 * checked, to be dropped (sim/config/vary.h). 0, or the code of why it is not legal. */
int ty_plan_apply(const struct ty_plan_space *space, const struct ty_plan_point *point,
                  struct ty_config *config, struct ty_err *err);

/* Sets the keys of `layout` that a point has. */
void ty_plan_set_layout(const struct ty_plan_space *space, const struct ty_plan_point *point,
                        struct ty_layout *layout);

/* The same, of which nothing has been derived or checked (sim/config/vary.h). */
void ty_plan_vary(const struct ty_plan_space *space, const struct ty_plan_point *point,
                  struct ty_config *config);

/* The same of layout and schedule alone, for those who ask ten thousand times. `err` NULL: nobody
 * asks for the words, which costs less. */
int ty_plan_complete(const struct ty_plan_space *space, const struct ty_plan_point *point,
                     struct ty_layout *layout, struct ty_sched_options *schedule,
                     struct ty_err *err);

#endif
