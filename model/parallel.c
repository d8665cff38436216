/* parallel.c - where the groups of ranks lie that talk to each other. */
#include "model/parallel.h"

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

/* ---- the grid of experts ---- */

static struct ty_grid expert_grid(const struct ty_layout *layout, const struct ty_grid *grid)
{
    static const int order[TY_N_AXES] = {TY_AXIS_TENSOR, TY_AXIS_CONTEXT, TY_AXIS_DATA,
                                         TY_AXIS_PIPELINE};
    const bool any = layout->expert_data > 0;
    const uint32_t size[TY_N_AXES] = {any ? layout->expert_tensor : 1, any ? layout->expert : 1,
                                      any ? layout->expert_data : 1, layout->pipeline};
    struct ty_grid out;
    ty_grid_init(&out, size, order, grid->gpus_per_node);
    return out;
}

/* Number of a rank in it: of the member that it is, after those of gangs before its own. */
static uint32_t member_of(const struct ty_grid *grid, uint32_t rank)
{
    uint32_t at[TY_N_AXES];
    ty_grid_coords(grid, rank, at);
    const uint32_t copy = at[TY_AXIS_DATA] + grid->size[TY_AXIS_DATA] * at[TY_AXIS_PIPELINE];
    return at[TY_AXIS_TENSOR] +
           grid->size[TY_AXIS_TENSOR] * (at[TY_AXIS_CONTEXT] + grid->size[TY_AXIS_CONTEXT] * copy);
}

struct ty_expert_place ty_expert_place(const struct ty_layout *layout, const struct ty_grid *grid,
                                       uint32_t rank)
{
    const struct ty_grid experts = expert_grid(layout, grid);
    uint32_t at[TY_N_AXES];
    ty_grid_coords(&experts, member_of(grid, rank), at);
    return (struct ty_expert_place){at[TY_AXIS_TENSOR], at[TY_AXIS_CONTEXT], at[TY_AXIS_DATA]};
}

/* Reaches of groups of that grid, in the order of ranks. */
static struct ty_reach *expert_reaches(const struct ty_comm_span *span, const struct ty_grid *grid,
                                       struct ty_arena *arena)
{
    struct ty_grid seated = span->grid;
    uint32_t *gpu_of = ty_arena_array(arena, uint32_t, grid->n_ranks);
    struct ty_reach *out = ty_arena_array(arena, struct ty_reach, grid->n_ranks);
    for (uint32_t r = 0; gpu_of != NULL && r < grid->n_ranks; r++) {
        gpu_of[member_of(grid, r)] = ty_grid_gpu(grid, r);
    }
    seated.gpu_of = gpu_of;
    const struct ty_reach *of =
        gpu_of == NULL ? NULL : ty_grid_reaches(&seated, span->dims, NULL, arena);
    for (uint32_t r = 0; out != NULL && of != NULL && r < grid->n_ranks; r++) {
        out[r] = of[member_of(grid, r)];
    }
    return of == NULL ? NULL : out;
}

/* ---- the grid of a tensor group ---- */

/* Numbers of tensor ranks as ColossalAI has them: 2D and 2.5D j + q (i + q k) in row i, column j
 * and grid k; 3D the output group side by side, q apart the input group, q^2 apart the weight
 * group. */
static struct ty_comm_span mesh_span(const struct ty_layout *layout, const struct ty_grid *grid,
                                     enum ty_comm_group group)
{
    const struct ty_mesh mesh = ty_layout_mesh(layout);
    const uint32_t q = mesh.side;
    const bool cube = group >= TY_GROUP_INPUT;
    const bool there = cube ? mesh.scheme == TY_TENSOR_3D
                            : mesh.scheme == TY_TENSOR_2D || mesh.scheme == TY_TENSOR_25D;
    const uint32_t apart = group == TY_GROUP_ROW || group == TY_GROUP_OUTPUT     ? 1
                           : group == TY_GROUP_COLUMN || group == TY_GROUP_INPUT ? q
                                                                                 : q * q;
    const uint32_t n = !there ? 1 : group == TY_GROUP_DEPTH ? mesh.depth : q;
    return (struct ty_comm_span){cut(grid, TY_AXIS_TENSOR, n, apart), 1u << TY_AXIS_TENSOR, apart,
                                 n};
}

/* ---- groups ---- */

struct ty_comm_span ty_comm_span(const struct ty_layout *layout, const struct ty_grid *grid,
                                 enum ty_comm_group group)
{
    const unsigned tensor = 1u << TY_AXIS_TENSOR, context = 1u << TY_AXIS_CONTEXT;
    const unsigned data = 1u << TY_AXIS_DATA;
    const uint32_t t = layout->tensor, c = layout->context, inner = layout->context_inner;
    const uint32_t model = t * c, shard = ty_layout_shards(layout) / c;
    const struct ty_grid experts = expert_grid(layout, grid);
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
    case TY_GROUP_EXPERT_TENSOR:
        return (struct ty_comm_span){experts, tensor, 1, experts.size[TY_AXIS_TENSOR]};
    case TY_GROUP_EXPERT:
        return (struct ty_comm_span){experts, context, experts.stride[TY_AXIS_CONTEXT],
                                     experts.size[TY_AXIS_CONTEXT]};
    case TY_GROUP_EXPERT_ALL: {
        const uint32_t parts = experts.size[TY_AXIS_TENSOR], sets = experts.size[TY_AXIS_CONTEXT];
        return (struct ty_comm_span){experts, tensor | context, 1,
                                     parts > 1 && sets > 1 ? parts * sets : 1};
    }
    case TY_GROUP_EXPERT_DATA:
        return (struct ty_comm_span){
            cut(&experts, TY_AXIS_DATA, ty_layout_expert_shards(layout), 1), data,
            experts.stride[TY_AXIS_DATA], ty_layout_expert_shards(layout)};
    case TY_GROUP_ROW:
    case TY_GROUP_COLUMN:
    case TY_GROUP_DEPTH:
    case TY_GROUP_INPUT:
    case TY_GROUP_WEIGHT:
    case TY_GROUP_OUTPUT:
        return mesh_span(layout, grid, group);
    case TY_N_COMM_GROUPS:
        break;
    }
    return (struct ty_comm_span){*grid, tensor, 1, t};
}

struct ty_reach *ty_comm_reaches(const struct ty_layout *layout, const struct ty_grid *grid,
                                 enum ty_comm_group group, const struct ty_grid *seen,
                                 struct ty_arena *arena)
{
    const struct ty_comm_span span = ty_comm_span(layout, grid, group);
    const bool experts = group == TY_GROUP_EXPERT || group == TY_GROUP_EXPERT_TENSOR ||
                         group == TY_GROUP_EXPERT_ALL || group == TY_GROUP_EXPERT_DATA;
    return experts ? expert_reaches(&span, grid, arena)
                   : ty_grid_reaches(&span.grid, span.dims, seen, arena);
}

struct ty_reach *ty_comm_expert_copies(const struct ty_layout *layout, const struct ty_grid *grid,
                                       struct ty_arena *arena)
{
    const struct ty_comm_span all = {.grid = expert_grid(layout, grid),
                                     .dims = ((1u << TY_N_AXES) - 1) & ~(1u << TY_AXIS_DATA)};
    return expert_reaches(&all, grid, arena);
}
