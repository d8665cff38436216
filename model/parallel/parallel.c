/* parallel.c - the kinds of parallelism, and where their groups lie. */
#include "model/parallel.h"

const struct ty_parallel *const ty_parallels[] = {
    &ty_parallel_tensor, &ty_parallel_context,   &ty_parallel_sequence,
    &ty_parallel_data,   &ty_parallel_recompute, NULL,
};

const char *ty_comm_group_name(enum ty_comm_group group)
{
    static const char *const name[TY_N_COMM_GROUPS] = {
#define X(id, word, stream, category) [TY_GROUP_##id] = (word),
        TY_COMM_GROUPS(X)
#undef X
    };
    return name[group];
}

/* An axis of the grid, of which a group has `count` ranks, `apart` from each other. Digits of ranks
 * along an axis are remainders, so that size and stride are all that changes. */
static struct ty_grid cut(const struct ty_grid *grid, enum ty_axis axis, uint32_t count,
                          uint32_t apart)
{
    struct ty_grid out = *grid;
    out.stride[axis] *= apart;
    out.size[axis] = count;
    return out;
}

struct ty_comm_span ty_comm_span(const struct ty_layout *layout, const struct ty_grid *grid,
                                 enum ty_comm_group group)
{
    const unsigned tensor = 1u << TY_AXIS_TENSOR, context = 1u << TY_AXIS_CONTEXT;
    const unsigned data = 1u << TY_AXIS_DATA;
    const uint32_t t = layout->tensor, c = layout->context, inner = layout->context_inner;
    const uint32_t model = t * c, shard = ty_layout_shards(layout) / c;
    switch (group) {
    case TY_GROUP_TENSOR:
        break;
    case TY_GROUP_CONTEXT:
        return (struct ty_comm_span){*grid, context, t, c};
    case TY_GROUP_CONTEXT_INNER:
        return (struct ty_comm_span){cut(grid, TY_AXIS_CONTEXT, inner, 1), context, t, inner};
    case TY_GROUP_CONTEXT_OUTER:
        return (struct ty_comm_span){cut(grid, TY_AXIS_CONTEXT, c / inner, inner), context,
                                     t * inner, c / inner};
    case TY_GROUP_DATA: /* ranks of a sequence have the same parameters, too */
        return (struct ty_comm_span){cut(grid, TY_AXIS_DATA, shard, 1), data | context, t,
                                     c * shard};
    case TY_GROUP_REPLICA:
        return (struct ty_comm_span){cut(grid, TY_AXIS_DATA, ty_layout_replicas(layout), shard),
                                     data, model * shard, ty_layout_replicas(layout)};
    case TY_N_COMM_GROUPS:
        break;
    }
    return (struct ty_comm_span){*grid, tensor, 1, t};
}

struct ty_reach *ty_comm_reaches(const struct ty_layout *layout, const struct ty_grid *grid,
                                 enum ty_comm_group group, struct ty_arena *arena)
{
    const struct ty_comm_span span = ty_comm_span(layout, grid, group);
    return ty_grid_reaches(&span.grid, span.dims, arena);
}
