/* kinds.c - the table of the kinds of parallelism, and what is done with all of them. */
#include "model/parallel/kinds.h"

/* In the order in which they are applied; ends with NULL. */
static const struct ty_parallel *const kinds[] = {
    &ty_parallel_tensor, &ty_parallel_context,   &ty_parallel_sequence,
    &ty_parallel_data,   &ty_parallel_expert,    &ty_parallel_dispatch,
    &ty_parallel_pieces, &ty_parallel_recompute, NULL,
};

int ty_layout_finish(struct ty_layout *layout, const struct ty_section *section,
                     const struct ty_arch *arch, const struct ty_cluster *cluster, uint32_t chunks,
                     struct ty_err *err)
{
    return ty_layout_derive(layout, section, arch, cluster, chunks, kinds, err);
}

struct ty_shard ty_shard_of(const struct ty_arch *arch, const struct ty_layout *layout)
{
    return ty_block_shard(arch, layout, kinds);
}

void ty_units_make(struct ty_units *units, const struct ty_arch *arch,
                   const struct ty_layout *layout)
{
    ty_block_units(units, arch, layout, kinds);
}
