/* bound_parts.h - pieces of chains that bounds are made of: messages, and what is behind all
 * passes. Times in ps, each at its shortest. */
#ifndef TY_PLAN_BOUND_PARTS_H
#define TY_PLAN_BOUND_PARTS_H

#include "sim/plan/costs_internal.h"

/* Of a layout's messages: bytes on the way and latency, in a node and between nodes. */
struct ty_plan_messages {
    double send_near, send_far, latency_near, latency_far;
    double gather; /* of a message that is sent in parts */
    bool waits;    /* the next pass waits until a message has left */
};
void ty_plan_messages(struct ty_plan_costs *costs, const struct ty_layout *layout,
                      const struct ty_plan_look *look, struct ty_plan_messages *out);

/* One between a virtual stage and the next. */
struct ty_plan_message {
    double send, behind; /* latency, and the gather */
    bool any;            /* false: both stages are on one rank */
};
struct ty_plan_message ty_plan_message(const struct ty_plan_look *look,
                                       const struct ty_plan_messages *messages, uint32_t stage);

/* ZeRO-3: whether every forward has to gather before it begins, as nothing is left of the pass
 * before. */
bool ty_plan_gathers_anew(const struct ty_layout *layout, const struct ty_plan_order *order);

/* Whether every whole backward of a stage reduces what it makes, and waits for it. */
bool ty_plan_waits_for_grad_reduce(const struct ty_plan_order *order);

/* Whether updated weights come back in the next forward; behind the optimizer. */
bool ty_plan_regains_late(const struct ty_layout *layout);
bool ty_plan_regains(const struct ty_layout *layout);

/* The sum of gradients of an embedding that the first and the last rank share; 0: they share none,
 * or the rank is another one. */
double ty_plan_tied_ps(struct ty_plan_costs *costs, const struct ty_layout *layout,
                       const struct ty_plan_look *look, uint32_t rank);

/* The norm of all gradients; negative: ranks do not wait for each other. */
double ty_plan_norm_ps(struct ty_plan_costs *costs, const struct ty_layout *layout,
                       const struct ty_plan_grid *grid);

/* The optimizer of a rank on its fastest GPU. */
double ty_plan_optimizer_ps(const struct ty_plan_costs *costs, const struct ty_layout *layout,
                            const struct ty_plan_grid *grid, double params, double experts);

#endif
