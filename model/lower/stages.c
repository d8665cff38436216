/* stages.c - shapes of pipeline ranks, and where groups of equal members of several of them lie.
 *
 * A pipeline rank of another shape has other costs, groups, members. Whoever lowers a rank looks at
 * l->in->layout and what else struct ty_lowering has of it; where shapes differ that is taken up
 * before each rank (ty_lower_begin_stage), and none of them knows that there are others. */
#include "model/lower/stages.h"

#include <math.h>
#include <string.h>

/* ---- shapes ---- */

static uint32_t find_shape(struct ty_lowering *l, uint32_t rank)
{
    const struct ty_layout own = ty_layout_of_stage(l->in->layout, rank);
    uint32_t k = 0;
    while (k < l->shapes.n && (l->shapes.shape[k].layout.tensor != own.tensor ||
                               l->shapes.shape[k].layout.data != own.data)) {
        k++;
    }
    if (k == l->shapes.n) {
        struct ty_lower_stage_shape *shape = &l->shapes.shape[l->shapes.n++];
        shape->layout = own;
        shape->layout.unlike = false;
        shape->in = *l->in;
        shape->in.layout = &shape->layout;
        shape->in.book = NULL; /* it has room for one */
        shape->members = own.tensor * own.data;
    }
    return k;
}

int ty_lower_find_stage_shapes(struct ty_lowering *l)
{
    if (!l->in->layout->unlike) {
        return 0;
    }
    l->shapes.shape = ty_arena_array(l->arena, struct ty_lower_stage_shape, l->shape.p);
    l->shapes.of = ty_arena_array(l->arena, uint32_t, l->shape.p);
    if (l->shapes.shape == NULL || l->shapes.of == NULL) {
        return ty_fail_memory(l->b.err);
    }
    for (uint32_t r = 0; r < l->shape.p; r++) {
        l->shapes.of[r] = find_shape(l, r);
    }
    return 0;
}

/* What struct ty_lowering has of a shape. */
static void keep(const struct ty_lowering *l, struct ty_lower_stage_shape *shape)
{
    memcpy(shape->group, l->links.group, sizeof(shape->group));
    shape->prices = l->prices;
    shape->mix = l->gpus.mix;
    shape->n_mixes = l->gpus.n;
    shape->gpus = l->here.gpus;
}

int ty_lower_price_stage_shapes(struct ty_lowering *l)
{
    const struct ty_lower_input *in = l->in;
    int rc = 0;
    if (l->shapes.n > 0) {
        keep(l, &l->shapes.shape[0]); /* the first stage's, which has been priced */
    }
    for (uint32_t k = 1; k < l->shapes.n && rc == 0; k++) {
        l->in = &l->shapes.shape[k].in;
        l->members = l->shapes.shape[k].members;
        ty_lower_groups(l);
        rc = ty_lower_price(l);
        if (rc == 0) {
            keep(l, &l->shapes.shape[k]);
        }
    }
    l->in = in;
    return rc;
}

void ty_lower_begin_stage(struct ty_lowering *l)
{
    if (l->shapes.shape == NULL) {
        return;
    }
    const struct ty_lower_stage_shape *shape = &l->shapes.shape[l->shapes.of[l->here.rank]];
    l->in = &shape->in;
    l->members = shape->members;
    memcpy(l->links.group, shape->group, sizeof(l->links.group));
    l->prices = shape->prices;
    l->gpus.mix = shape->mix;
    l->gpus.n = shape->n_mixes;
    l->here.gpus = shape->gpus;
    /* kinds of other members are not compared with its own */
    l->gpus.first_slowed = l->b.program->n_kinds;
    memset(l->gpus.slowed_by_overlap, 0, sizeof(l->gpus.slowed_by_overlap));
}

void ty_lower_end_stage(struct ty_lowering *l)
{
    if (l->shapes.shape != NULL) {
        keep(l, &l->shapes.shape[l->shapes.of[l->here.rank]]);
    }
}

/* ---- messages ---- */

struct ty_peers ty_lower_peers(const struct ty_lowering *l, uint32_t member, uint32_t pipeline_rank)
{
    const struct ty_layout *other = ty_lower_layout_of(l, pipeline_rank);
    return ty_lower_alike(l, l->here.rank, pipeline_rank)
               ? (struct ty_peers){member, 1}
               : ty_peers_of(member, l->members, ty_layout_members(other, 0));
}

uint32_t ty_lower_member_gpu(const struct ty_lowering *l, uint32_t member, uint32_t pipeline_rank)
{
    const struct ty_layout *layout = ty_lower_layout_of(l, pipeline_rank);
    uint32_t coord[TY_N_AXES];
    coord[TY_AXIS_TENSOR] = member % layout->tensor;
    coord[TY_AXIS_CONTEXT] = member / layout->tensor % layout->context;
    coord[TY_AXIS_DATA] = member / (layout->tensor * layout->context);
    coord[TY_AXIS_PIPELINE] = pipeline_rank;
    return ty_grid_gpu(&l->out->grid, ty_grid_rank(&l->out->grid, coord));
}

/* Parts that stay in the node and those that leave it go at once. What several members send to one
 * goes through its port, of which each has a part; with the links to itself, all. */
void ty_lower_message_cost(const struct ty_lowering *l, uint32_t member, uint32_t pipeline_rank,
                           double bytes, bool alone, struct ty_coll_cost *out)
{
    const struct ty_peers to = ty_lower_peers(l, member, pipeline_rank);
    const uint32_t gpus = l->out->grid.gpus_per_node;
    const uint32_t node = ty_grid_node(&l->out->grid, l->here.rank_of[member]);
    const uint32_t others = ty_layout_members(ty_lower_layout_of(l, pipeline_rank), 0);
    const double senders = alone || l->members < others ? 1 : l->members / others;
    uint32_t n[2] = {0, 0}; /* parts that leave the node, that stay */
    for (uint32_t i = 0; i < to.n; i++) {
        n[ty_lower_member_gpu(l, to.first + i, pipeline_rank) / gpus == node]++;
    }
    *out = (struct ty_coll_cost){.latency_s = 0};
    for (int same = 0; same < 2; same++) {
        struct ty_coll_cost part;
        if (n[same] > 0) {
            (alone ? ty_p2p_cost_alone : ty_p2p_cost)(l->in->cluster, same, bytes * n[same] / to.n,
                                                      &part);
            part.latency_s = fmax(part.latency_s, out->latency_s);
            part.transfer_s = fmax(part.transfer_s * (same ? senders : 1), out->transfer_s);
            part.nvlink_B += out->nvlink_B;
            part.net_B += out->net_B;
            *out = part;
        }
    }
}

/* ---- equal members ---- */

uint32_t ty_lower_gpu_on(const struct ty_lowering *l, uint32_t member, uint32_t pipeline_rank)
{
    const struct ty_grid *grid = &l->out->grid;
    uint32_t coord[TY_N_AXES];
    ty_grid_coords(grid, l->here.rank_of[member], coord);
    coord[TY_AXIS_PIPELINE] = pipeline_rank;
    return ty_grid_gpu(grid, ty_grid_rank(grid, coord));
}

uint32_t ty_lower_node_on(const struct ty_lowering *l, uint32_t member, uint32_t pipeline_rank)
{
    return ty_lower_gpu_on(l, member, pipeline_rank) / l->out->grid.gpus_per_node;
}

struct places {
    const struct ty_lowering *l;
    const struct ty_stages *stages;
    uint32_t *seen;             /* [nodes]: members of the group at hand; all 0 between groups */
    uint32_t *inside, *leaving; /* [nodes]: groups that stay on the node, that touch it and leave */
};

/* Calls `visit` once for each node of a member's group; a node that was visited has no members. */
static void each_node(struct places *p, uint32_t member, struct ty_reach *reach,
                      void (*visit)(struct places *, uint32_t node, struct ty_reach *))
{
    for (uint32_t s = 0; s < p->stages->n; s++) {
        p->seen[ty_lower_node_on(p->l, member, p->stages->rank[s])]++;
    }
    for (uint32_t s = 0; s < p->stages->n; s++) {
        const uint32_t node = ty_lower_node_on(p->l, member, p->stages->rank[s]);
        if (p->seen[node] > 0) {
            visit(p, node, reach);
            p->seen[node] = 0;
        }
    }
}

static void measure(struct places *p, uint32_t node, struct ty_reach *reach)
{
    const uint32_t mine = p->seen[node];
    reach->nodes++;
    reach->per_node = mine > reach->per_node ? mine : reach->per_node;
    reach->fewest = reach->fewest == 0 || mine < reach->fewest ? mine : reach->fewest;
}

static void touch(struct places *p, uint32_t node, struct ty_reach *reach)
{
    (reach->nodes > 1 ? p->leaving : p->inside)[node]++;
}

static void share(struct places *p, uint32_t node, struct ty_reach *reach)
{
    const uint32_t groups = p->leaving[node] + (reach->nodes > 1 ? 0 : p->inside[node]);
    reach->sharing = groups > reach->sharing ? groups : reach->sharing;
}

const struct ty_reach *ty_lower_stages_reaches(struct ty_lowering *l,
                                               const struct ty_stages *stages)
{
    const uint32_t nodes = ty_grid_nodes(&l->out->grid);
    struct ty_reach *out = ty_arena_array(l->arena, struct ty_reach, l->members);
    uint32_t *count = ty_arena_array(l->arena, uint32_t, (size_t)3 * nodes);
    if (out == NULL || count == NULL) {
        return NULL;
    }
    struct places p = {l, stages, count, count + nodes, count + (size_t)2 * nodes};
    for (uint32_t i = 0; i < l->members; i++) {
        out[i] = (struct ty_reach){.ranks = stages->n};
        each_node(&p, i, &out[i], measure);
        each_node(&p, i, &out[i], touch);
    }
    for (uint32_t i = 0; i < l->members; i++) {
        each_node(&p, i, &out[i], share);
    }
    return out;
}
