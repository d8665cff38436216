/* maxmin_internal.h - what maxmin.c and maxmin_fill.c share: the lists, and the component at
 * hand. */
#ifndef TY_CORE_EXECUTE_MAXMIN_INTERNAL_H
#define TY_CORE_EXECUTE_MAXMIN_INTERNAL_H

#include <stdbool.h>

#include "sim/core/execute/maxmin.h"

#define NONE UINT32_MAX

/* Relative tolerances, far above the rounding of a few hundred sums and far below what a duration
 * in picoseconds can show. That for full speed is the largest: a flow that was slower and is now at
 * full speed has always changed. */
#define SAME_LEVEL 1e-12 /* of a link's capacity: it is full at this level, too */
#define SAME_SPEED 1e-12 /* not reported as a change */
#define FULL_SPEED 3e-12 /* below 1: is 1 */
#define ENOUGH     1e-12 /* above capacity: not crowded */

/* A capacity in parts. Whatever is summed over the flows of a link is a whole number of parts: such
 * sums have no order, and taking away leaves what was there before adding. */
#define CAPACITY_BITS  61
#define CAPACITY_PARTS (INT64_C(1) << CAPACITY_BITS)

/* A use of a link by a flow: 40 bytes. */
struct node {
    uint32_t next, prev;                 /* uses of the link */
    uint32_t crowded_next, crowded_prev; /* crowded uses of the flow */
    uint32_t sibling;                    /* the flow's next use; of free nodes: the next free one */
    uint32_t flow, link;
    double share; /* of the link's capacity, at full speed */
};

/* One cache line: all that coming and going of lone flows touches of a link. */
struct link {
    uint64_t demand;       /* sum of shares at full speed: parts beyond the whole capacities */
    uint32_t demand_whole; /* whole capacities */
    uint32_t head;         /* its uses */
    uint32_t stamp;        /* see below */
    uint32_t crowded;      /* its uses are in the lists of their flows */
    uint32_t n_rising;     /* uses by flows that have not stopped in this solve */
    float slope_shrunk;    /* below this the sums are taken again */
    int64_t left;          /* parts, after the flows that have stopped */
    int64_t slope;         /* sum of weight * share over the rising flows, times slope_scale */
    double slope_scale;    /* a power of two */
    double weight_max;     /* over the rising flows, or more */
};
_Static_assert(sizeof(struct link) == 64, "a link is a cache line");

struct flow {
    double weight;
    double speed; /* in the last solve that reached it; < 0: rising */
    uint32_t uses, crowded;
    uint32_t stamp;
};

struct waiting {
    double level;
    uint32_t link;
};

struct ty_maxmin {
    const struct ty_link *capacities; /* borrowed */
    struct link *links;
    struct node *nodes;
    struct flow *flows;
    double *told; /* [max_flows], speeds as last reported */
    uint32_t n_links, max_flows;
    uint32_t free_node;
    /* free flow numbers: bit f of `free`; bit w of `free_words`: free[w] has one */
    uint64_t *free, *free_words;
    /* what happened since the last solve; `stamp`: it is in these lists, stamp + 1: it has been
     * reached by this solve */
    uint32_t stamp;
    uint32_t n_dirty, n_fresh;
    uint32_t *dirty; /* links that were or are crowded and whose flows are others now */
    uint32_t *fresh; /* flows that began */
    bool is_dirty;
    /* the component that is being solved */
    uint32_t *reached; /* its flows */
    struct waiting *heap;
    uint32_t n_reached, n_waiting, n_rising;
    double level_left, level_slope; /* the level is their quotient: halves stay exact halves */
};

/* Progressive filling of the component in `reached` and `heap`: the speed of its
 * flows, which are all rising. There is at least one link; levels in the heap are not yet known. */
void ty_maxmin_fill(struct ty_maxmin *m);

#endif
