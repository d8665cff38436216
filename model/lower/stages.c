/* stages.c - where groups of equal members of several pipeline ranks lie. */
#include "model/lower/internal.h"

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
