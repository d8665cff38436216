/* window.c - how few ranks tell what all do.
 *
 * Data ranks repeat each other: on a machine without exceptions, whose ranks sit in the order of
 * the grid below one block of leaves, moving every rank on by so many data ranks that nodes become
 * nodes maps groups to groups, flows to flows and links to links of equal capacity. Members that
 * are such a move apart do everything at the same times, and it is enough to look at those of the
 * first move, the window:
 *
 *     tensor 2, 4 GPUs a node     data   0 1 | 2 3 | 4 5 | 6 7
 *                                 node    0  |  1  |  2  |  3      window: data ranks 0 and 1
 *
 * A group lies within the window, or it has `times` parts like the one there; then it is priced by
 * where all of it lies, and takes links in the window as it takes their likes elsewhere. All flows
 * that use a link of the window are begun by members in it, as groups are named by their first.
 *
 * The program of a window is that of a job with fewer data ranks. Folded (execute/fold.h) it is
 * that of the whole job to the bit. */
#include "model/lower/window.h"

#include "sim/base/sum.h"

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    return b == 0 ? a : common_divisor(b, a % b);
}

/* Whether ranks and links are as regular as that, as far as the layout and the machine tell. */
static bool is_regular(const struct ty_lowering *l)
{
    const struct ty_lower_input *in = l->in;
    const struct ty_layout *layout = in->layout;
    struct ty_fabric_shape shape;
    ty_fabric_shape_init(&shape, in->fabric, in->cluster);
    return shape.blocks == 1 && in->cluster->exceptions == NULL && layout->gpu_of == NULL &&
           !layout->unlike && layout->expert_data == 0 && in->schedule->custom == NULL &&
           !in->messages && !ty_lower_is_packed(l) && in->jitter <= 0 && in->gpu_spread <= 0 &&
           in->slow_hosts <= 0 &&
           !(layout->context > 1 && layout->context_method == TY_CONTEXT_RING);
}

/* Data ranks of the window: whole nodes of them, and whole groups that shard states. */
static uint64_t data_ranks(const struct ty_lowering *l)
{
    const struct ty_grid *grid = &l->out->grid;
    const uint32_t stride = grid->stride[TY_AXIS_DATA];
    const uint32_t node = grid->gpus_per_node / common_divisor(grid->gpus_per_node, stride);
    const uint32_t shard = ty_layout_replicas(l->in->layout) > 1
                               ? ty_layout_shards(l->in->layout) / l->in->layout->context
                               : 1;
    return (uint64_t)node / common_divisor(node, shard) * shard;
}

/* Numbers the nodes of the window in their order. Returns how many they are; 0: no memory. */
static uint32_t number_nodes(struct ty_lowering *l)
{
    const struct ty_grid *seen = l->window.seen;
    const uint32_t nodes = ty_grid_nodes(&l->out->grid);
    uint32_t n = 0, at[TY_N_AXES];
    l->window.node_of = ty_arena_array(l->arena, uint32_t, nodes);
    if (l->window.node_of == NULL) {
        return 0;
    }
    for (uint32_t i = 0; i < l->members * l->shape.p; i++) {
        at[TY_AXIS_TENSOR] = i % seen->size[TY_AXIS_TENSOR];
        at[TY_AXIS_CONTEXT] = i / seen->size[TY_AXIS_TENSOR] % seen->size[TY_AXIS_CONTEXT];
        at[TY_AXIS_DATA] = i % l->members / (l->members / seen->size[TY_AXIS_DATA]);
        at[TY_AXIS_PIPELINE] = i / l->members;
        l->window.node_of[ty_grid_node(seen, ty_grid_rank(seen, at))] = 1;
    }
    for (uint32_t node = 0; node < nodes; node++) {
        const bool is_in = l->window.node_of[node] != 0;
        l->window.node_of[node] = n;
        n += is_in;
    }
    return n;
}

int ty_lower_window(struct ty_lowering *l)
{
    const uint32_t data = l->in->layout->data;
    const uint64_t seen = data_ranks(l);
    l->out->window = TY_WINDOW_ALL;
    if (!l->in->window || !is_regular(l) || seen >= data || data % seen != 0) {
        return 0;
    }
    struct ty_grid *grid = ty_arena_array(l->arena, struct ty_grid, 1);
    if (grid == NULL) {
        return ty_fail_memory(l->b.err);
    }
    *grid = l->out->grid;
    grid->size[TY_AXIS_DATA] = (uint32_t)seen;
    l->window.seen = grid;
    l->out->window.times = data / (uint32_t)seen;
    l->out->window.stretch = (uint32_t)seen * grid->stride[TY_AXIS_DATA] / grid->gpus_per_node;
    l->members /= l->out->window.times;
    l->window.n_nodes = number_nodes(l);
    l->out->window.spread = ty_arena_array(l->arena, bool, TY_N_COMM_GROUPS + 2);
    l->window.sent =
        l->in->told ? ty_arena_array(l->arena, struct ty_term, 2 * (size_t)l->members) : NULL;
    return l->window.n_nodes > 0 && l->out->window.spread != NULL &&
                   (l->window.sent != NULL || !l->in->told)
               ? 0
               : ty_fail_memory(l->b.err);
}

void ty_lower_differs(struct ty_lowering *l)
{
    if (l->window.seen != NULL && l->b.code == 0) {
        l->window.differs = true;
        l->b.code = TY_EINPUT; /* the rest is not worth it; nobody is told */
    }
}

uint32_t ty_lower_parts(const struct ty_lowering *l, const struct ty_group *whole)
{
    const uint64_t span = (uint64_t)whole->stride * whole->count;
    return whole->count == 1 || span <= l->members ? 1 : l->out->window.times;
}

uint32_t ty_lower_port(const struct ty_lowering *l, uint32_t gpu)
{
    const uint32_t node = l->out->grid.gpus_per_node;
    return l->window.node_of == NULL ? gpu : l->window.node_of[gpu / node] * node + gpu % node;
}

void ty_lower_sent(const struct ty_lowering *l, struct ty_kind *kind)
{
    const uint32_t n = l->members, times = l->out->window.times;
    if (l->window.sent == NULL) {
        for (uint32_t i = 0; i < n; i++) {
            kind->nvlink_B += l->cost_of[i].nvlink_B / n;
            kind->net_B += l->cost_of[i].net_B / n;
        }
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        l->window.sent[i] = (struct ty_term){l->cost_of[i].nvlink_B / (n * times), 1};
        l->window.sent[n + i] = (struct ty_term){l->cost_of[i].net_B / (n * times), 1};
    }
    kind->nvlink_B = ty_sum_terms(0, l->window.sent, n, times);
    kind->net_B = ty_sum_terms(0, l->window.sent + n, n, times);
}
