/* comm.h - communications on the way to being kinds: what a member pays, whose links it takes. */
#ifndef TY_MODEL_LOWER_COMM_H
#define TY_MODEL_LOWER_COMM_H

#include "model/price/price.h"

struct ty_lowering;

/* Whose links a communication takes. */
struct ty_route {
    enum {
        TY_ROUTE_NONE,
        TY_ROUTE_GROUP,   /* members of a group of the gang */
        TY_ROUTE_STAGES,  /* a member's likes on pipeline ranks, together */
        TY_ROUTE_MESSAGE, /* from the first of two of them to the second */
    } of;
    uint16_t group;
    const uint32_t *stage; /* [n_stages]: borrowed */
    uint32_t n_stages;
    uint32_t times; /* parts of a group like the one that the program has */
};

/* flows.c: what each member takes of the links, into kind->first_flow. cost[members]: with
 * the links to itself. */
void ty_lower_flows(struct ty_lowering *l, struct ty_kind *kind, const struct ty_route *route,
                    const struct ty_coll_cost *cost);

struct ty_collective {
    struct ty_priced_comm what;   /* bytes: as they are shown; exchanges are priced by themselves */
    const struct ty_reach *reach; /* [members] */
    uint32_t root;                /* as struct ty_reach has it */
    struct ty_route route;
    const struct ty_member_load *load; /* [members]: it is that of so many rows; NULL: as it is */
};

#endif
