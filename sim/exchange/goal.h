/* goal.h - the GOAL schedule of one rank: sends, receives and calculations, and who requires whom.
 *
 * Written as text for people and as the binary that LogGOPSim reads. */
#ifndef TY_EXCHANGE_GOAL_H
#define TY_EXCHANGE_GOAL_H

#include <stdbool.h>
#include <stdint.h>

#include "traces/out/out.h"

/* As the binary counts them. */
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

struct ty_goal_rank {
    struct ty_goal_node *node; /* [n] */
    uint32_t *requires;        /* [n_requires] */
    uint32_t n, n_requires, cap, cap_requires;
    bool failed; /* no memory for it */
};

/* Appends a node, which requires nothing yet: its number. */
uint32_t ty_goal_add(struct ty_goal_rank *r, const struct ty_goal_node *node);
/* The last node requires another, before it. */
void ty_goal_require(struct ty_goal_rank *r, uint32_t number);
void ty_goal_release(struct ty_goal_rank *r);

void ty_goal_put_text(const struct ty_goal_rank *r, uint32_t rank, struct ty_out *out);

/* Bytes of the rank in the binary, and itself. scratch[2 * n + n_requires]. */
uint64_t ty_goal_binary_B(const struct ty_goal_rank *r);
void ty_goal_put_binary(const struct ty_goal_rank *r, uint32_t *scratch, struct ty_out *out);

void ty_goal_put_u32(struct ty_out *out, uint32_t x);
void ty_goal_put_u64(struct ty_out *out, uint64_t x);
void ty_goal_put_u8(struct ty_out *out, uint8_t x);

#endif
