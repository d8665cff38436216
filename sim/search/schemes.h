/* schemes.h - the ways to cut matrix products over the tensor ranks that a run has, each executed
 * during it: in one dimension, with and without sequence parallelism, on a grid, on grids and on a
 * cube, as far as the number of ranks allows. */
#ifndef TY_SEARCH_SCHEMES_H
#define TY_SEARCH_SCHEMES_H

#include "sim/search/change.h"
#include "sim/search/trial.h"

#define TY_SCHEMES_MAX 12u

struct ty_scheme {
    const char *name;        /* "2.5d, 2 x 2 x 4" */
    struct ty_change change; /* none of the plan as it is */
    struct ty_trial trial;
    double
        received_B; /* by a rank for the products of a step, by the closed form, mean of stages */
    double rows, in, out; /* of a rank's largest product */
    uint32_t pieces;      /* that it comes in */
    double product_FLOPs; /* at which it runs, FLOP/s */
};

struct ty_schemes {
    struct ty_scheme item[TY_SCHEMES_MAX]; /* [n]: those that ran, fastest first */
    uint32_t n, own;                       /* which is the plan as it is */
    const char *refused; /* why a scheme cannot be, though ranks allow it; NULL: all can be */
    bool no_noise;       /* all after ty_trial_disable_noise */
};

/* n is 0 where tensor ranks are no grid of any kind. A scheme that deals out more sequences than a
 * micro-batch has gets a larger one. Texts are the arena's. */
int ty_run_schemes(const struct ty_run *run, struct ty_schemes *out, struct ty_arena *arena,
                   struct ty_err *err);

#endif
