/* log.h - what nccl-tests printed: a measured collective, read as it is.
 *
 * The header says who took part (a "# Rank" line a GPU: groups, hosts), the table how long each
 * size took; the out-of-place columns are read. Every row is checked against itself (algbw is size
 * over time), and the last one against the collective (busbw over algbw is its bus factor), so that
 * a log under a wrong name is noticed. */
#ifndef TY_TOPOLOGY_COLLECTIVES_LOG_H
#define TY_TOPOLOGY_COLLECTIVES_LOG_H

#include "topology/collectives/coll.h"

#define TY_COLL_LOG_MAX_BYTES ((size_t)16 << 20)

struct ty_coll_log {
    const char *file;
    enum ty_coll coll;
    uint32_t ranks, nodes; /* of one group, and the hosts it touches */
    uint32_t per_node;     /* most members on one host */
    uint32_t sharing;      /* groups on the busiest host that ran at the same time (tests split) */
    const char *type;      /* "float" */
    uint32_t n;            /* sizes, at least two */
    const double *size_B, *time_s; /* [n], sizes increasing; a repeated size: mean of its times */
};

/* Reads the text of a log; `file` is its name for messages, and names the collective where the
 * header does not. `text` has `len` bytes and a zero behind them. What is wrong is reported with
 * line and column. Owned by the arena. */
int ty_coll_log_read(struct ty_coll_log *log, const char *file, const char *text, size_t len,
                     struct ty_arena *arena, struct ty_err *err);

/* Reads the log in a file (ty_coll_log_read). */
int ty_coll_log_load(struct ty_coll_log *log, const char *path, struct ty_arena *arena,
                     struct ty_err *err);

#endif
