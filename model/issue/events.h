/* events.h - by which operations wait for each other. */
#ifndef TY_ISSUE_EVENTS_H
#define TY_ISSUE_EVENTS_H

#include "model/framework.h"
#include "sim/core/program/program.h"

/* Events a rank records. A wait refers to the latest record before it in issue order, so one event
 * per purpose is enough: waiting for COMPUTE means "all computation issued so far". Only the halves
 * of a woven pair (pair.c) must not wait for each other: the forward has the first few events
 * once more, TY_EVENT_HALF further on. */
enum ty_event {
    TY_EVENT_COMPUTE, /* every compute operation */
    TY_EVENT_TENSOR,  /* every tensor collective whose result the next computation needs */
    TY_EVENT_CONTEXT, /* what context ranks say to each other in the attention core: in rounds those
                        * of the even ones, */
    TY_EVENT_CONTEXT_ODD, /* of the odd ones */
    TY_EVENT_EXPERT,      /* rows have come to their experts, or back from them */
    TY_EVENT_REGATHER, /* sequence parallelism: the saved input, gathered for the weight gradient */
    TY_EVENT_RECV,
    TY_EVENT_HALF, /* so many events are a half's own */
    /* Tensor groups in more than one dimension weave no pairs and have no experts; so these are
     * theirs. An event is of one stream. What is there to compute with, or summed up: of rows
     * TY_EVENT_TENSOR, of the others */
    TY_EVENT_COLUMN = TY_EVENT_HALF,
    TY_EVENT_DEPTH,
    TY_EVENT_ROW_EVEN, /* the same of even and odd steps of a product, or gathered for a weight
                        * gradient; */
    TY_EVENT_ROW_ODD,
    TY_EVENT_COLUMN_EVEN,
    TY_EVENT_COLUMN_ODD,
    TY_EVENT_GRADS_ROW, /* weight gradients are summed up in rows, columns and depth */
    TY_EVENT_GRADS_COLUMN = TY_EVENT_EXPERT,
    TY_EVENT_GRADS_DEPTH = TY_EVENT_REGATHER,
    /* Nor do those whose activations wait off the GPU, where tensor groups have one dimension:
     * what even and odd units keep has left, or is back */
    TY_EVENT_STASHED = TY_EVENT_HALF,
    TY_EVENT_STASHED_ODD,
    TY_EVENT_BACK,
    TY_EVENT_BACK_ODD,
    TY_EVENT_STOWED, /* is on a drive, where it goes on to one; the last that was called for is in
                      * the node's memory again */
    TY_EVENT_STOWED_ODD,
    TY_EVENT_RECALLED,
    TY_EVENT_REDUCED =
        2 * TY_EVENT_HALF, /* gradients are reduced: all, or (kept in shards) those of even buckets,
                           * the last of a stage among them */
    TY_EVENT_REDUCED_ODD,  /* those of odd buckets */
    TY_EVENT_REPLICATED,   /* hybrid sharding: gradient shards are summed over all replicas */
    TY_EVENT_NORM,         /* gradient norm is known to all */
    TY_EVENT_SUMMED = TY_EVENT_NORM, /* before that, of gradients that leave the GPU: they are those
                                      * of all data ranks, and on their way; then REDUCED means that
                                      * they are where the optimizer reads them */
    TY_EVENT_PARAMS,  /* updated parameters are back; those that come back in the next forward: are
                           * updated */
    TY_EVENT_SENT,    /* the last message has left */
    TY_EVENT_UPDATED, /* parameters that the host updates: they are */
    TY_EVENT_READ,    /* something came from a drive */
    TY_EVENT_FETCHED, /* something came to the GPU */
    /* Gemini gathers in passes: its gradients that stay on the GPU are reduced, of even and odd
     * buckets, after those that leave; these are on the host when they are REDUCED */
    TY_EVENT_STAYED = TY_EVENT_PARAMS,
    TY_EVENT_STAYED_ODD = TY_EVENT_SUMMED,
    TY_EVENT_GATHER = TY_EVENT_FETCHED +
                      1, /* parameters are gathered: 1 + prefetch events in turn, to the last */
    TY_EVENT_GATHER_LAST = TY_EVENT_GATHER + TY_PREFETCH_MAX,
};
_Static_assert(TY_EVENT_RECALLED < (int)TY_EVENT_REDUCED, "events of a half are as many");
_Static_assert(TY_EVENT_GATHER_LAST < (int)TY_EVENTS, "an event for every gather in flight");

#endif
