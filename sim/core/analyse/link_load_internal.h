/* link_load_internal.h - shared by the files that follow links over time; see link_load.h. */
#ifndef TY_CORE_ANALYSE_LINK_LOAD_INTERNAL_H
#define TY_CORE_ANALYSE_LINK_LOAD_INTERNAL_H

#include "sim/core/analyse/link_load.h"

/* Tasks of one member lie far apart in a timeline: where many links are looked at one by one, what
 * was found for one is kept for those that share its flows. 16 bytes for each flow that ran. */
struct ty_link_load_memory {
    uint32_t *first;    /* [n_gangs]: lanes before this gang */
    const ty_ps **task; /* [lanes] start and end of each operation with a flow; NULL: not yet */
    struct ty_arena arena;
};

/* ty_link_load_walk; `memory` may be NULL. */
int ty_link_load_walk_from(const struct ty_link_load *load, const struct ty_timeline *timeline,
                           const uint32_t *links, uint32_t n, ty_ps quantum,
                           struct ty_link_load_memory *memory, ty_link_load_fn *visit, void *arg,
                           struct ty_err *err);

/* Whose times are looked at for a member. */
static inline uint32_t ty_link_load_representative(const struct ty_link_load *h, uint32_t kind,
                                                   uint32_t member)
{
    const struct ty_flow *flow = ty_kind_flow(h->program, &h->program->kinds[kind], 0);
    return h->lockstep && flow != NULL && flow[member].lead == flow->lead ? 0 : member;
}

/* How long an execution takes no link: messages of a collective have latencies all along. */
static inline ty_ps ty_link_load_lead(const struct ty_link_load *h, uint32_t kind, uint32_t member)
{
    const struct ty_flow *flow = ty_kind_flow(h->program, &h->program->kinds[kind], member);
    return flow != NULL ? flow->lead : 0;
}

#endif
