/* traffic.h - who talks: bytes of a step by kind of group and operation, and where groups lie. */
#ifndef TY_RUN_TRAFFIC_H
#define TY_RUN_TRAFFIC_H

#include "sim/run/run.h"

/* One operation of one kind of group. Bytes are those sent in a step by all ranks together. */
struct ty_traffic_row {
    const char *group, *operation; /* "tp", "all-reduce" */
    double nvlink_B, net_B;
    bool to_host; /* a rank by itself, to what is off its GPU: nothing is sent to others */
};
#define TY_TRAFFIC_ROWS 64

/* Rows of a program in order of first appearance, into rows[TY_TRAFFIC_ROWS]; returns how many.
 * Each rank counts for `likes` of them: 1, or those of a window. The traffic of ty_run_figures is
 * their sum, group by group, in this order. */
uint32_t ty_traffic_rows(const struct ty_program *program, uint32_t likes,
                         struct ty_traffic_row *rows);

/* The row an operation counts in, or NULL: it sends nothing. */
const struct ty_traffic_row *ty_traffic_row_of(const struct ty_traffic_row *rows, uint32_t n,
                                               const struct ty_program *program,
                                               const struct ty_op *op);

/* Where the groups of a row lie. */
struct ty_traffic_place {
    uint32_t ranks;                    /* of a group: the most */
    uint32_t n_groups, n_straddling;   /* those over more than one node */
    uint32_t fewest_nodes, most_nodes; /* of those that straddle */
    uint32_t n_senders;                /* ranks that send */
};

/* Of every row: out[n]. 0 or TY_ENOMEM. */
int ty_traffic_places(const struct ty_run *run, const struct ty_traffic_row *rows, uint32_t n,
                      struct ty_traffic_place *out, struct ty_err *err);

#endif
