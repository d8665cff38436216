/* goal_internal.h - a GOAL schedule being read: what its two forms share; see goal_read.c. */
#ifndef TY_EXCHANGE_READ_GOAL_INTERNAL_H
#define TY_EXCHANGE_READ_GOAL_INTERNAL_H

#include "sim/exchange/read/formats.h"
#include "sim/exchange/read/traced.h"

#define TY_GOAL_CPUS 256u

struct ty_goal_label {
    const char *name;
    size_t len;
    uint32_t node, rank; /* the rank: 1 + its number; 0: free */
};

struct ty_goal_reader {
    struct ty_traced *job;
    const char *at, *end;
    uint32_t line;
    double unit_ps;
    struct ty_traced_rank *rank; /* at hand; NULL: none */
    uint32_t number;
    struct ty_goal_label *label; /* [cap], open addressing */
    uint32_t n_labels, cap;
    uint32_t *wait, n_waits, cap_waits; /* [2 * n_waits] of the rank at hand: A, and B for which it
                                         * waits */
    uint8_t cpu[TY_GOAL_CPUS];          /* 1 + number of its stream; 0: none yet */
    uint32_t n_cpus;
    struct ty_arena *arena;
    struct ty_err *err;
};

/* A mistake in the line at hand. TY_EINPUT. */
int ty_goal_wrong(const struct ty_goal_reader *r, const char *what);

/* Room for so many ranks; a node of the rank at hand; A waits for B, by their numbers there; the
 * end of a rank, when all its nodes are known. */
int ty_goal_begin_ranks(struct ty_goal_reader *r, uint64_t n);
int ty_goal_add_node(struct ty_goal_reader *r, const struct ty_goal_node *g);
int ty_goal_keep_wait(struct ty_goal_reader *r, uint32_t node, uint32_t other);
int ty_goal_end_rank(struct ty_goal_reader *r);

/* goal_text.c: all of a text. */
int ty_goal_read_text(struct ty_goal_reader *r);

#endif
