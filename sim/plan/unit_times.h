/* unit_times.h - the least time that the passes of a unit take.
 *
 * A unit is issued to a clock as it is to a program (model/issue), with nobody else on the links
 * and nothing left over from units before. A simulation adds to that, and takes nothing away. */
#ifndef TY_PLAN_UNIT_TIMES_H
#define TY_PLAN_UNIT_TIMES_H

#include "model/issue/issue.h"

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
    struct ty_part_time part[2]; /* in forward order */
};

/* Picoseconds of an operator's computations: of each step, where it has some; next: of further
 * rounds, of a piece. */
struct ty_op_times {
    double ps[TY_N_OP_PASSES], next[TY_N_OP_PASSES];
};

struct ty_unit_play {
    const struct ty_unit_ops *ops;
    const struct ty_op_times *op;      /* [n] */
    const double (*comm)[TY_OP_COMMS]; /* [n] by slot */
    const struct ty_layout *layout;
    double slows; /* share of its speed that computation during a tensor collective loses */
};

#endif
