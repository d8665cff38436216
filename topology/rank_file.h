/* rank_file.h - which GPU each rank sits on, from a file.
 *
 *     # rank  node.gpu
 *     0       0.0
 *     1       3.7        the eighth GPU of the fourth node
 *
 * One line a rank, in any order; every rank once, no GPU twice. '#' begins a comment, blank lines
 * are passed over. */
#ifndef TY_TOPOLOGY_RANK_FILE_H
#define TY_TOPOLOGY_RANK_FILE_H

#include "sim/base/arena.h"
#include "sim/base/err.h"

#define TY_RANK_FILE_MAX_BYTES ((size_t)64 << 20)

/* What the file has to map, and onto what. */
struct ty_rank_file_shape {
    uint32_t n_ranks, nodes, gpus_per_node;
};

/* Reads the text of a rank file; `file` is its name for messages. *gpu_of is [n_ranks], GPUs
 * counted through all nodes; owned by the arena. `text` has `len` bytes and a zero behind them.
 * What is wrong is reported with line and column, all of it at once. */
int ty_rank_file_read(const uint32_t **gpu_of, const struct ty_rank_file_shape *shape,
                      const char *file, const char *text, size_t len, struct ty_arena *arena,
                      struct ty_err *err);

/* Reads the file itself (ty_rank_file_read). */
int ty_rank_file_load(const uint32_t **gpu_of, const struct ty_rank_file_shape *shape,
                      const char *path, struct ty_arena *arena, struct ty_err *err);

#endif
