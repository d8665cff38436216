/* internal.h - numbers of links, and what one flow is worked out in: shared by fabric*.c. */
#ifndef TY_TOPOLOGY_FABRIC_INTERNAL_H
#define TY_TOPOLOGY_FABRIC_INTERNAL_H

#include "topology/fabric/fabric.h"

enum {
    OUT = 0, /* of a GPU or node, up from a leaf or pod */
    IN = 1,
};

/* Zero, or empty, between calls; sized by the fabric. */
struct ty_fabric_scratch {
    double *load;      /* [n_links] B/s */
    uint32_t *touched; /* [n_links] links with a load */
    uint32_t n_touched;
    uint32_t *slot;              /* [nodes] 1 + index of the node in the group */
    uint32_t *node;              /* [nodes] of the group, in order of first appearance */
    uint32_t *members;           /* [nodes] of the group on that node */
    double *rate[2];             /* [nodes] B/s out of and into that node */
    double *share;               /* [nodes * nics] of it by NIC */
    uint32_t *in_block, *in_pod; /* [blocks], [pods] members there */
    uint32_t *on_rail;           /* [rails] the same */
};

static inline uint32_t ty_fabric_nvlink(const struct ty_fabric *f, uint32_t gpu, int way)
{
    return f->first[TY_LINK_NVLINK] + 2 * gpu + (uint32_t)way;
}

static inline uint32_t ty_fabric_pcie(const struct ty_fabric *f, uint32_t gpu, int way)
{
    const struct ty_fabric_shape *s = &f->shape;
    const uint32_t group = gpu / s->gpus * s->pcie_groups + gpu % s->gpus / s->gpus_per_pcie;
    return f->first[TY_LINK_PCIE] + 2 * group + (uint32_t)way;
}

static inline uint32_t ty_fabric_nic(const struct ty_fabric *f, uint32_t node, uint32_t nic,
                                     int way)
{
    return f->first[TY_LINK_NIC] + 2 * (node * f->shape.nics + nic) + (uint32_t)way;
}

/* Leaf `rail` of a block, and one of its uplinks. */
static inline uint32_t ty_fabric_leaf(const struct ty_fabric *f, uint32_t block, uint32_t rail,
                                      uint32_t spine, int way)
{
    const uint32_t leaf = block * f->shape.rails + rail;
    return f->first[TY_LINK_LEAF] + 2 * (leaf * f->shape.spines + spine) + (uint32_t)way;
}

static inline uint32_t ty_fabric_pod(const struct ty_fabric *f, uint32_t pod, int way)
{
    return f->first[TY_LINK_POD] + 2 * pod + (uint32_t)way;
}

/* One collective. */
struct ty_fabric_layout {
    const struct ty_fabric *f;
    const struct ty_fabric_shape *s;
    struct ty_fabric_scratch *w;
    enum ty_coll_pattern pattern;
    const uint32_t *gpus;
    uint32_t listed, times; /* members that are listed, of `times` parts alike */
    uint32_t n;             /* members */
    uint32_t k;             /* nodes of those that are listed */
    double net_Bps;         /* of all members together */
};

/* Adds to what the flow in hand takes of a link. */
void ty_fabric_take(struct ty_fabric_scratch *scratch, uint32_t link, double Bps);

/* Moves what was taken into the list. *weight: by its narrowest port. 0 or TY_ENOMEM. */
int ty_fabric_hand_over(const struct ty_fabric *f, struct ty_use_list *out, double *weight,
                        struct ty_arena *arena, struct ty_err *err);

/* Of what leaves and enters node i of the group, the part of one NIC. */
static inline double ty_fabric_share(const struct ty_fabric_layout *l, uint32_t i, uint32_t nic)
{
    return l->w->share[(size_t)i * l->s->nics + nic];
}

/* Hops between nodes of the group, by their index in it; together net_Bps. None for switches. */
typedef void ty_fabric_hop_fn(struct ty_fabric_layout *l, uint32_t from, uint32_t to, double Bps);

/* All pairs, and likes, which are the same to nodes: B/s between two members on different nodes. */
static inline bool ty_fabric_is_pairs(const struct ty_fabric_layout *l)
{
    return l->pattern == TY_PATTERN_ALL_PAIRS || l->pattern == TY_PATTERN_LIKES;
}

#endif
