/* place.h - which rank is where: the mixed-radix grid of a 3D-parallel job.
 *
 * `order` lists the dimensions fastest-varying first: [tensor, context, data, pipeline] puts the
 * ranks of a tensor group side by side. Rank r sits on GPU r unless a map says otherwise; GPU g is
 * in node g / gpus_per_node. Groups need no lists: members of a dimension's group are first, first
 * + stride, ... wherever they sit. */
#ifndef TY_TOPOLOGY_PLACE_H
#define TY_TOPOLOGY_PLACE_H

#include "sim/base/arena.h"
#include "topology/cluster.h"

enum ty_axis {
    TY_AXIS_TENSOR,
    TY_AXIS_CONTEXT,
    TY_AXIS_DATA,
    TY_AXIS_PIPELINE,
    TY_N_AXES
};

/* The ranks of a stage where stages are of different shape: a grid without a pipeline. */
struct ty_grid_stage {
    uint32_t first; /* rank */
    uint32_t size[TY_N_AXES], stride[TY_N_AXES];
};

struct ty_grid {
    uint32_t size[TY_N_AXES];   /* of stages of different shape: of the largest */
    uint32_t stride[TY_N_AXES]; /* in ranks */
    int order[TY_N_AXES];       /* fastest first */
    uint32_t n_ranks;
    uint32_t gpus_per_node;
    const uint32_t *gpu_of; /* [n_ranks] GPU of each rank, none twice; borrowed. NULL: rank = GPU */
    const struct ty_grid_stage *stage; /* [pipeline] where stages are of different shape: their
                                        * ranks follow each other. NULL: all are alike */
};

extern const struct ty_word ty_axis_words[]; /* tensor, context, data, pipeline */

/* Strides from sizes and order. Sizes >= 1; order a permutation. Rank r sits on GPU r; the caller
 * may set gpu_of after. */
void ty_grid_init(struct ty_grid *grid, const uint32_t size[TY_N_AXES], const int order[TY_N_AXES],
                  uint32_t gpus_per_node);

/* The same of stages of different shape, size[n_stages][axes]: one stage after the other, whatever
 * `order` says of the pipeline. Owned by the arena; 0 or TY_ENOMEM. */
int ty_grid_init_stages(struct ty_grid *grid, const uint32_t (*size)[TY_N_AXES], uint32_t n_stages,
                        const int order[TY_N_AXES], uint32_t gpus_per_node, struct ty_arena *arena);

uint32_t ty_grid_rank(const struct ty_grid *grid, const uint32_t coord[TY_N_AXES]);
void ty_grid_coords(const struct ty_grid *grid, uint32_t rank, uint32_t coord[TY_N_AXES]);

/* Where a rank sits: its GPU, counted through all nodes, and the node of that. */
static inline uint32_t ty_grid_gpu(const struct ty_grid *grid, uint32_t rank)
{
    return grid->gpu_of != NULL ? grid->gpu_of[rank] : rank;
}
static inline uint32_t ty_grid_node(const struct ty_grid *grid, uint32_t rank)
{
    return ty_grid_gpu(grid, rank) / grid->gpus_per_node;
}

/* Nodes up to the last one that has a rank. */
uint32_t ty_grid_nodes(const struct ty_grid *grid);

/* What a collective's time depends on: how a group lies across nodes, and how many groups like it
 * share a node's NICs. In which order members follow one another does not matter: NCCL's rings and
 * chains take the ranks node by node, so that they leave each node once. */
struct ty_reach {
    uint32_t ranks;    /* members */
    uint32_t nodes;    /* nodes they touch */
    uint32_t per_node; /* most members on one node */
    uint32_t sharing; /* groups of the same dimensions at once on a node. Of a group that leaves its
                        * node: those that do so too, on the node of its where they are most */
    uint32_t fewest;  /* fewest members on one node; 0: per_node, the nodes are alike */
    uint32_t places;  /* GPUs it has of the node with most members, a bit each of the first 32; 0:
                       * the first per_node */
    uint32_t root;    /* place in the group of who broadcasts, or gets the sum of a reduce */
};

/* A root: every member in its turn, as often as any other. */
#define TY_ROOT_EACH UINT32_MAX

static inline uint32_t ty_reach_fewest(const struct ty_reach *reach)
{
    return reach->fewest > 0 ? reach->fewest : reach->per_node;
}

/* The reach of every rank's group: [n_ranks]. `seen`: of the ranks of this grid only, `grid` itself
 * with a data axis that was cut short; the others repeat them along it, on other nodes, and a group
 * is whole within them or as long as the axis. NULL: of all. NULL: no memory. Owned by the arena;
 * O(ranks that are looked at). Along the pipeline of stages of different shape there are no groups
 * but that of all ranks. */
struct ty_reach *ty_grid_reaches(const struct ty_grid *grid, unsigned dims,
                                 const struct ty_grid *seen, struct ty_arena *arena);

#endif
