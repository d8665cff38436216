/* zero.c - the table of ZeRO stages.
 *
 * Stage 2 keeps only a shard of the gradients, so every backward has to reduce what it made;
 * stages 0 and 1 accumulate locally and reduce once. Stage 3 keeps only a shard of the parameters
 * as well: they are gathered layer by layer and dropped after use. */
#include "model/zero.h"

const struct ty_zero ty_zero_stages[4] = {
    {"data parallel", TY_COLL_ALL_REDUCE, false, false, false},
    {"ZeRO-1: optimizer states sharded", TY_COLL_REDUCE_SCATTER, false, true, false},
    {"ZeRO-2: and gradients", TY_COLL_REDUCE_SCATTER, true, true, false},
    {"ZeRO-3: and parameters", TY_COLL_REDUCE_SCATTER, true, false, true},
};
