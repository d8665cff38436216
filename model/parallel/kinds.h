/* kinds.h - the kinds of parallelism, applied to layouts, shares of ranks and operators.
 *
 * Layouts and lists of operators know what a kind is (struct ty_parallel) and get them as a table,
 * for no kind is known below this folder. */
#ifndef TY_MODEL_PARALLEL_KINDS_H
#define TY_MODEL_PARALLEL_KINDS_H

#include "model/block/block.h"

extern const struct ty_parallel ty_parallel_tensor, ty_parallel_context, ty_parallel_sequence,
    ty_parallel_data, ty_parallel_expert, ty_parallel_dispatch, ty_parallel_pieces,
    ty_parallel_recompute;

/* Fills `data: auto`, derives, and checks every divisibility rule; each failure is reported at the
 * place of the value that would have to change. `chunks`: virtual stages per rank. */
int ty_layout_finish(struct ty_layout *layout, const struct ty_section *section,
                     const struct ty_arch *arch, const struct ty_cluster *cluster, uint32_t chunks,
                     struct ty_err *err);

/* What a rank of a layout has of the model's dimensions, and its lists of operators. */
struct ty_shard ty_shard_of(const struct ty_arch *arch, const struct ty_layout *layout);
void ty_units_make(struct ty_units *units, const struct ty_arch *arch,
                   const struct ty_layout *layout);

#endif
