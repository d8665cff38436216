/* formats.h - the nodes and numbers of GOAL and Chakra, which readers and writers share. */
#ifndef TY_EXCHANGE_READ_FORMATS_H
#define TY_EXCHANGE_READ_FORMATS_H

#include <stdint.h>

/* GOAL: kinds of nodes as the binary counts them. */
enum ty_goal_type {
    TY_GOAL_SEND = 1,
    TY_GOAL_RECV,
    TY_GOAL_CALC,
};

#define TY_GOAL_MAGIC  4223u
#define TY_GOAL_HEAD   8u  /* bytes before those from which places are counted */
#define TY_GOAL_NODE_B 39u /* of a node in the binary */

struct ty_goal_node {
    uint8_t type; /* enum ty_goal_type */
    uint8_t cpu, nic;
    uint32_t peer, tag;
    uint64_t size;     /* bytes, or time */
    uint32_t first, n; /* rows of the schedule's `requires`: smaller numbers of nodes */
};

#define TY_CHAKRA_VERSION "0.0.4" /* as ASTRA-sim's own samples say */

enum ty_chakra_coll {
    TY_CHAKRA_ALL_REDUCE,
    TY_CHAKRA_REDUCE,
    TY_CHAKRA_ALL_GATHER,
    TY_CHAKRA_GATHER,
    TY_CHAKRA_SCATTER,
    TY_CHAKRA_BROADCAST,
    TY_CHAKRA_ALL_TO_ALL,
    TY_CHAKRA_REDUCE_SCATTER,
    TY_CHAKRA_REDUCE_SCATTER_BLOCK,
    TY_CHAKRA_BARRIER,
};

#endif
