/* deal.h - layers dealt to the stages of a pipeline, and how many of each run again: exact.
 *
 * Stages hold neighbouring layers. Of all ways to cut a chain of layers, and of all counts of
 * layers that run again in one way or another so that every stage fits its memory, the one with the
 * least
 *
 *     rounds x (seconds of the longest stage) + (seconds of all stages)
 *
 * With rounds = m - 1 that is a step of 1F1B or GPipe with m micro-batches, one fill and drain and
 * the longest stage in between (Narayanan et al. 2019; the objective of Alpa, Zheng et al. 2022,
 * section 5.2). Costs are additive: what a layer takes does not depend on its neighbours. */
#ifndef TY_RUN_DEAL_H
#define TY_RUN_DEAL_H

#include <stdbool.h>
#include <stdint.h>

#include "model/layout.h"
#include "sim/base/arena.h"
#include "sim/base/err.h"

#define TY_DEAL_MODES 4u /* ways to run again: the first is not to */

/* A layer, by mode: seconds of a micro-batch forward and backward; bytes that it keeps of one, that
 * come back while it runs again, and that wait between the halves of a split backward. */
struct ty_deal_kind {
    double seconds[TY_DEAL_MODES];
    double kept_B[TY_DEAL_MODES];
    double again_B[TY_DEAL_MODES];
    double waiting_B[TY_DEAL_MODES];
    double states_B;
};

struct ty_deal_stage {
    double seconds; /* of what it has next to layers */
    double room_B;  /* for layers */
    double held;    /* micro-batches that it keeps at its fullest moment, */
    double waiting; /* between the halves of whose backward it is, */
    double turns;   /* and that go from the one to the other, layer by layer; 0: none is split */
    double spare_B; /* that its fullest moment leaves to what comes back in another one */
    uint32_t least; /* layers */
};

struct ty_deal {
    const uint8_t *layer; /* [n_layers]: its kind */
    uint32_t n_layers;
    const struct ty_deal_kind *kind; /* [n_kinds] */
    uint32_t n_kinds;
    uint32_t n_modes;
    const struct ty_deal_stage *stage; /* [n_stages] */
    uint32_t n_stages;
    double rounds;
};

/* Layers of a stage: the first again[0].n in that mode, and so on; the others do not run again. */
struct ty_deal_again {
    uint32_t mode, n;
};
struct ty_deal_share {
    uint32_t layers;
    uint32_t n_again;
    struct ty_deal_again again[TY_DEAL_MODES]; /* [n_again] */
};

struct ty_deal_result {
    bool fits;                   /* false: there is no such deal, */
    struct ty_deal_share *share; /* [n_stages] of the best */
    double most, sum;            /* seconds of the longest stage, of all */
    uint64_t steps;              /* of the search, whatever machine it runs on */
};

/* Of equal layers all counts of up to TY_DEAL_MODES modes are looked at; where the layers of a
 * stage are of several kinds, those in which the first a layers run again in one mode and the next
 * b in another. TY_ENOMEM. */
int ty_deal(const struct ty_deal *deal, struct ty_deal_result *out, struct ty_arena *arena);

/* Seconds of stage s with layers [from, to), and how many of them run again: the least that fit;
 * HUGE_VAL: none do. Adds to *steps. share NULL: nobody asks. */
double ty_deal_least(const struct ty_deal *deal, uint32_t s, uint32_t from, uint32_t to,
                     struct ty_deal_share *share, uint64_t *steps);

#endif
