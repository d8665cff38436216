/* plan.h - a job of others on a cluster: what its parts cost alone, who meets whom, in which order
 * resources take their turns, and all of it as a program. */
#ifndef TY_EXCHANGE_READ_PLAN_H
#define TY_EXCHANGE_READ_PLAN_H

#include "sim/core/program/program.h"
#include "sim/exchange/read/traced.h"
#include "topology/fabric/fabric.h"

#define TY_TRACED_NONE UINT32_MAX

/* What is known of the nodes of a rank beyond the file. */
struct ty_traced_meetings {
    uint32_t *link;    /* [n] of a message its channel; of a collective its group */
    uint32_t *seq;     /* [n] which message of the channel, call of the group */
    uint32_t *partner; /* [n] node at the other end of a message, or TY_TRACED_NONE */
    uint32_t *order;   /* [n] in which they begin */
};

struct ty_traced_plan {
    const struct ty_traced *job;
    const struct ty_cluster *cluster;
    struct ty_jitter jitter;
    const double *slow_of;           /* [n_ranks] factor on computation; NULL: 1 */
    struct ty_reach *reach;          /* [n_groups] */
    struct ty_traced_meetings *rank; /* [n_ranks] */
    uint32_t (*channel)[2];          /* [n_channels] from, to */
    uint32_t *messages;              /* [n_channels] of each */
    uint32_t n_channels;
    uint32_t *calls; /* [n_groups] of the member with most */
    struct ty_arena *arena;
    struct ty_err *err;
};

/* Costs on idle links. */
void ty_traced_coll_cost(const struct ty_traced_plan *plan, const struct ty_traced_node *node,
                         struct ty_coll_cost *out);
void ty_traced_message_cost(const struct ty_traced_plan *plan, uint32_t from, uint32_t to,
                            double bytes, struct ty_coll_cost *out);
ty_ps ty_traced_calc_ps(const struct ty_traced_plan *plan, const struct ty_traced_node *node);

/* meet.c: channels, and which send is for which receive: of equal tags in the order of the files.
 * Reaches of groups. */
int ty_traced_meet(struct ty_traced_plan *plan);

/* order.c: which of those that are ready goes first is decided on idle links, the smallest number
 * first; numbers of calls follow. TY_EINPUT where a node waits for itself. */
int ty_traced_order(struct ty_traced_plan *plan);

/* program.c: the program, on links of the fabric. */
int ty_traced_program(struct ty_traced_plan *plan, const struct ty_fabric *fabric,
                      struct ty_program *out);

#endif
