/* shorten_internal.h - shared by the files that shorten programs; see shorten.h. */
#ifndef TY_CORE_EXECUTE_SHORTEN_INTERNAL_H
#define TY_CORE_EXECUTE_SHORTEN_INTERNAL_H

#include "sim/core/execute/shorten.h"

/* What of a block concerns other gangs. */
struct ty_shorten_block {
    const struct ty_op **message; /* [n_messages] that it sends and receives */
    uint32_t n_messages;
    uint32_t lanes; /* bits: those that it has operations on */
    bool meets;
};

/* shorten_verify.c: how long a period of the steady state is, if the timeline shows one. *last
 * [n_gangs]: in which repetition each gang is when the period is over. 1, 0 or TY_ENOMEM. */
int ty_shorten_verify(const struct ty_shortening *s, const struct ty_steady *steady,
                      const struct ty_timeline *timeline, ty_ps *period, uint32_t *last,
                      struct ty_arena *arena);

#endif
