/* internal.h - an export under way: what the writers of all formats share; see export.c. */
#ifndef TY_EXCHANGE_INTERNAL_H
#define TY_EXCHANGE_INTERNAL_H

#include "sim/exchange/members.h"
#include "sim/exchange/tasks.h"
#include "sim/run/run.h"
#include "topology/collectives/coll.h"
#include "traces/out/out.h"

/* The network of a simulator that knows one switch: what a rank sends and receives, B/s, and the
 * latency of a message. */
struct ty_flat {
    double Bps, latency_s;
};

struct ty_export {
    const struct ty_run *run;
    const char *folder;
    const struct ty_export_options *options;
    struct ty_arena arena;
    struct ty_members members;
    struct ty_member_set set;  /* of the task at hand; room for the largest */
    struct ty_flat flat, node; /* between nodes, or of the only one; inside nodes */
    uint32_t per_node; /* ranks of each of several whole nodes, in order; 1: no such nodes */
    struct ty_task_list tasks; /* of the rank at hand */
    const uint32_t *ranks;     /* [n_ranks] that are written */
    uint32_t n_ranks;
    uint64_t n_nodes, written_B; /* so far */
    struct ty_err *err;
};

/* A file of the folder; it gets its name by ty_export_close, unless rc is a failure: the first of
 * both comes back. */
int ty_export_open(const struct ty_export *x, struct ty_out *out, const char *name);
int ty_export_close(struct ty_export *x, struct ty_out *out, int rc);

/* What a format writes next to README.txt, which `about` goes into. */
struct ty_export_format {
    const char *name;
    bool all_ranks;      /* its files are of all ranks, or of nobody */
    bool has_unit;       /* of time, which one may choose */
    bool has_dimensions; /* its simulator tells links inside a node from those between nodes */
    int (*write)(struct ty_export *x); /* NULL: not built in */
    void (*about)(struct ty_export *x, struct ty_out *readme);
};
extern const struct ty_export_format ty_export_chakra, ty_export_goal;

/* Which collective an operation is. */
enum ty_coll ty_export_coll(const struct ty_kind *kind);

static inline uint64_t ty_export_bytes(double bytes)
{
    return (uint64_t)(bytes + 0.5);
}

#endif
