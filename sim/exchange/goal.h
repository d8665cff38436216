/* goal.h - the GOAL schedule of one rank: sends, receives and calculations, and who requires whom.
 *
 * Written as text for people and as the binary that LogGOPSim reads. */
#ifndef TY_EXCHANGE_GOAL_H
#define TY_EXCHANGE_GOAL_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/exchange/read/formats.h"
#include "traces/out/out.h"

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
