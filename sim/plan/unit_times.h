/* unit_times.h - the least time that the passes of a unit take.
 *
 * The operators of a unit are played as model/lower/layer.c issues them: computation on one stream,
 * collectives on theirs, each waiting for what it waits for there, with nobody else on the links
 * and nothing left over from units before. A simulation adds to that, and takes nothing away. */
#ifndef TY_PLAN_UNIT_TIMES_H
#define TY_PLAN_UNIT_TIMES_H

#include "model/block/block.h"

/* Picoseconds of one pass. */
struct ty_unit_time {
    double through; /* until the computation of the next unit can begin */
    double busy;    /* until its own last computation ends: collectives behind it are left out */
    double bare;    /* computation alone */
};

/* Of a part of a unit in its whole backward, from the end of the part before it. */
struct ty_part_time {
    double through, busy;
    /* the same from its first computation on, with all collectives that come before that over */
    double late_through, late_busy;
};

struct ty_unit_times {
    struct ty_unit_time forward, backward, input, weight;
    struct ty_unit_time late;    /* a forward from its first computation on, as below */
    struct ty_part_time part[2]; /* in forward order */
};

/* Picoseconds of an operator's computations, as struct ty_op_kinds names them: of each step, where
 * it has some. */
struct ty_op_times {
    double forward, recompute, dgrad, wgrad, input, weight;
    double next_forward, next_recompute, next_dgrad, next_input; /* of further rounds, of a piece */
};

struct ty_unit_play {
    const struct ty_unit_ops *ops;
    const struct ty_op_times *op;                           /* [n] */
    const double (*comm)[TY_N_COMM_PLACES][TY_PLACE_COMMS]; /* [n] of one operation */
    const double (*round)[4]; /* [n] messages: forward; backward the first, middle ones, the last */
    const double (*block)[TY_WGRAD + 1][TY_STEP_BLOCKS]; /* [n] of a step, */
    const double (*sum)[TY_WGRAD + 1];                   /* and of what it gives */
    const double *copy;                                  /* [n] of a share of a piece */
    const struct ty_layout *layout;
    double slows; /* share of its speed that computation beside a tensor collective loses */
};
void ty_unit_times(const struct ty_unit_play *play, struct ty_unit_times *out);

/* Whether, woven with a forward, its backward is cut behind some collective. */
bool ty_unit_cuts(const struct ty_unit_ops *ops, const struct ty_layout *layout);

#endif
