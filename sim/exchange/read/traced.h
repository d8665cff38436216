/* traced.h - a job as others wrote it down: what every rank does, and what that waits for.
 *
 * Readers (chakra_read.c, goal_read.c) fill it; order.c finds in which order the resources take
 * their turns, program.c makes a program of it. */
#ifndef TY_EXCHANGE_READ_TRACED_H
#define TY_EXCHANGE_READ_TRACED_H

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/base/units.h"
#include "topology/collectives/coll.h"

enum ty_traced_what {
    TY_TRACED_CALC,
    TY_TRACED_SEND,
    TY_TRACED_RECV,
    TY_TRACED_COLL,
};

/* A dependency: the number of a node of the same rank; with this bit it is waited for the start. */
#define TY_TRACED_START (1u << 31)

struct ty_traced_node {
    const char *name;
    uint64_t id;    /* as the file counts it */
    ty_ps dur;      /* of a calculation */
    double flops;   /* of one without a duration; 0: it has one */
    double bytes;   /* of a collective as nccl-tests count them; of that calculation, in memory */
    uint32_t peer;  /* the other rank of a message, ... */
    uint32_t tag;   /* ... and what tells it from others between them */
    uint32_t group; /* of a collective: row of the groups */
    uint32_t first_dep, n_deps; /* rows of the rank's deps */
    uint8_t what;               /* enum ty_traced_what */
    uint8_t coll;               /* enum ty_coll */
    uint8_t stream;             /* enum ty_stream: what it occupies */
};

struct ty_traced_rank {
    const char *file;            /* for messages */
    struct ty_traced_node *node; /* [n] */
    uint32_t *dep;               /* [n_deps] */
    uint32_t n, n_deps, cap, cap_deps;
};

struct ty_traced_group {
    uint32_t *rank; /* [n] ascending */
    uint32_t n;
};

struct ty_traced {
    const char *name;              /* of the job, for reports */
    struct ty_traced_rank *rank;   /* [n_ranks] */
    struct ty_traced_group *group; /* [n_groups]; the first has everybody */
    uint32_t n_ranks, n_groups;
};

#define TY_TRACED_RANKS_MAX 65000u /* a gang each */

/* Files PREFIX.RANK.et from rank 0 upwards, and the groups that their collectives name (JSON; NULL:
 * there are none but that of all ranks). Owned by the arena. TY_EINPUT with file and node. */
int ty_traced_read_chakra(struct ty_traced *out, const char *prefix, const char *groups,
                          struct ty_arena *arena, struct ty_err *err);

/* A GOAL schedule, as text or in binary; `unit`: of its time, ps. */
int ty_traced_read_goal(struct ty_traced *out, const char *path, double unit_ps,
                        struct ty_arena *arena, struct ty_err *err);

/* The same of bytes that were read, for whoever has them. */
int ty_traced_parse_chakra(struct ty_traced *job, uint32_t rank, const char *bytes, size_t n,
                           struct ty_arena *arena, struct ty_err *err);
int ty_traced_parse_goal(struct ty_traced *out, const char *bytes, size_t n, double unit_ps,
                         struct ty_arena *arena, struct ty_err *err);

/* Appends a node without dependencies, or one to the last node. NULL, negative: no memory. */
struct ty_traced_node *ty_traced_add(struct ty_traced_rank *rank, struct ty_arena *arena);
int ty_traced_depend(struct ty_traced_rank *rank, uint32_t dep, struct ty_arena *arena);

/* A hash of all that is executed. */
uint64_t ty_traced_digest(const struct ty_traced *job);

#endif
