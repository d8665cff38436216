/* edges.h - the messages between virtual stages.
 *
 * Stage k hands activations to stage k + 1 and takes gradients from it, in each direction. Where
 * the two sit on one rank nothing is sent: program order suffices. Each edge and kind is a channel
 * of its own, so that no order of messages has to be a queue. */
#ifndef TY_MODEL_SCHEDULE_EDGES_H
#define TY_MODEL_SCHEDULE_EDGES_H

#include "model/schedule/schedule.h"
#include "sim/core/program/program.h"

struct ty_sched_edges {
    uint16_t *act;  /* [directions][stages]: into stage k from k - 1; TY_NONE: no message */
    uint16_t *grad; /* [directions][stages]: into stage k from k + 1 */
    uint32_t stages;
};

/* Adds the channels to a program. n_seq: messages of a channel. Gang r is pipeline rank r. */
int ty_sched_edges_build(struct ty_sched_edges *edges, struct ty_builder *b,
                         enum ty_sched_placement placement, const struct ty_sched_shape *shape,
                         uint32_t n_seq, ty_ps delay);

/* Channels of a stage: activations in and out, gradients in and out. */
struct ty_stage_edges {
    uint16_t act_in, act_out, grad_in, grad_out;
};
struct ty_stage_edges ty_sched_edges_of(const struct ty_sched_edges *edges, uint32_t direction,
                                        uint32_t stage);

#endif
