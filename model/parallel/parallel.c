/* parallel.c - the kinds of parallelism, and where their groups lie. */
#include "model/parallel.h"

const struct ty_parallel *const ty_parallels[] = {
    &ty_parallel_tensor,
    &ty_parallel_sequence,
    &ty_parallel_recompute,
    NULL,
};

struct ty_comm_span ty_comm_span(const struct ty_layout *layout, const struct ty_grid *grid,
                                 enum ty_comm_group group)
{
    const uint32_t model = layout->tensor * layout->context, shards = ty_layout_shards(layout);
    switch (group) {
    case TY_GROUP_DATA:
        return (struct ty_comm_span){ty_layout_shard_grid(layout, grid), 1u << TY_AXIS_DATA, model,
                                     shards};
    case TY_GROUP_REPLICA:
        return (struct ty_comm_span){ty_layout_replica_grid(layout, grid), 1u << TY_AXIS_DATA,
                                     model * shards, ty_layout_replicas(layout)};
    default:
        return (struct ty_comm_span){*grid, 1u << TY_AXIS_TENSOR, 1, layout->tensor};
    }
}
