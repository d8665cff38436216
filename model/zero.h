/* zero.h - what each ZeRO stage communicates, and when: four rows.
 *
 * Source: Rajbhandari et al., "ZeRO: memory optimizations toward training trillion parameter
 * models", SC 2020; volumes per step and rank with one micro-batch: 2, 2, 2, 3 times P. */
#ifndef TY_MODEL_ZERO_H
#define TY_MODEL_ZERO_H

#include "topology/collectives/coll.h"

struct ty_zero {
    const char *name;
    enum ty_coll reduce;    /* of gradients */
    bool reduce_every;      /* in every backward, unless framework.sync_every says otherwise;
                              * false: in that of the last micro-batch */
    bool gather_after_step; /* parameters, once the optimizer has updated the shards */
    bool gather_in_passes;  /* parameters of a layer before it is used, forward and backward */
};
extern const struct ty_zero ty_zero_stages[4];

#endif
