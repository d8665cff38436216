/* v_block.h - schedules over a V of stages that repeat a building block.
 *
 * The block says when, in a period of six passes, a rank starts the two forwards and the two input
 * gradients of a micro-batch; how long a micro-batch lives in it decides how many are held. Blocks
 * are laid one behind the other, and the order that results is played (greedy.h), so that
 * passes move together and weight gradients fill the holes. */
#ifndef TY_MODEL_SCHEDULE_V_BLOCK_H
#define TY_MODEL_SCHEDULE_V_BLOCK_H

#include "model/schedule/schedule.h"

/* Starts of one block on a rank. */
struct ty_v_block {
    uint32_t forward[2]; /* on the rank's first stage, on its second */
    uint32_t input[2];
};

typedef struct ty_v_block ty_v_block_of(uint32_t p, uint32_t rank);

/* Orders of a repeated block with at most `cap` pieces held per rank (more than the block needs
 * helps, fewer may not be possible). Several ways to fill the holes are tried on the first
 * micro-batches; the fastest makes the schedule. TY_ENOMEM, TY_EBUG: the block cannot be run. */
int ty_sched_v_blocks(const struct ty_sched_shape *shape, const struct ty_sched_times *times,
                      ty_v_block_of *block, uint32_t cap, struct ty_slots *slots,
                      struct ty_arena *arena, struct ty_err *err);

/* Pieces that a rank holds at most: the cap, or all there are. */
uint32_t ty_sched_v_held(const struct ty_sched_shape *shape, uint32_t cap);

#endif
