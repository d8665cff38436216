/* exceptions.h - parts of a cluster that differ from the rest: a slow GPU, a broken NIC, nodes of
 * another generation.
 *
 * Each is a line of the list `cluster.exceptions`, a part and what it is like:
 *
 *     gpu 17 at 80 %                a GPU that computes at 80 % of its speed, counted over the
 *     gpu 2.1 at 80 %               cluster or as node.gpu: the same one, with eight GPUs a node
 *     nvlink 2.1 at 50 %            its links into the NVSwitch have half their bandwidth
 *     nic 3.5 at 50 %               NIC 5 of node 3 has half its bandwidth ...
 *     nic 3.6 dead                  ... and this one none: its GPUs share the others
 *     node 7 with 4 nics            instead of cluster.nics_per_node
 *     leaf 1 at 25 %                a leaf switch with a quarter of its uplinks
 *     nodes 8-15 with a100-sxm-40g  GPUs of another preset; their links are those of the cluster
 *
 * Every part may be a range, both ends included: "gpus 8-15", "nics 3.4-3.7". Nothing may be said
 * twice. Parts are counted from 0. */
#ifndef TY_TOPOLOGY_EXCEPTIONS_H
#define TY_TOPOLOGY_EXCEPTIONS_H

#include "topology/cluster.h"

enum ty_exception_kind {
    TY_EXCEPTION_GPU,        /* share: speed of computation */
    TY_EXCEPTION_NVLINK,     /* share: bandwidth */
    TY_EXCEPTION_NIC,        /* share: bandwidth, 0: dead */
    TY_EXCEPTION_LEAF,       /* share: bandwidth of its uplinks */
    TY_EXCEPTION_NICS,       /* count: NICs of a node */
    TY_EXCEPTION_GENERATION, /* count: number of the generation */
    TY_N_EXCEPTION_KINDS
};

#define TY_GENERATIONS_MAX 17u /* the cluster's own and 16 others */

struct ty_exception {
    enum ty_exception_kind kind;
    const char *text;     /* as the user wrote it */
    struct ty_place at;   /* of the text */
    uint32_t first, last; /* GPUs, nodes or leaves; a NIC is node * nics_per_node + NIC */
    double share;
    uint32_t count;
};

/* What the list says, and tables of it: NULL where nothing is said of a kind. */
struct ty_exceptions {
    struct ty_exception *item; /* [n] in the order of the list */
    uint32_t n;
    const struct ty_cluster **generation; /* [n_generations] the cluster with such GPUs; number k
                                           * is generation[k - 1], 0 the cluster itself */
    uint32_t n_generations;

    double *gpu_speed, *nvlink_share; /* [GPUs] */
    double *nic_share;                /* [nodes x nics_per_node] */
    double *leaf_share;               /* [n_leaves]; leaves above are whole */
    uint32_t n_leaves;
    uint32_t *nics;         /* [nodes] NICs that work */
    uint8_t *generation_of; /* [nodes] */
};

/* Reads cluster->exception_texts, of a cluster that ty_cluster_check has seen, into
 * cluster->exceptions; NULL when there are none. All mistakes are reported, each at its line. */
int ty_exceptions_read(struct ty_cluster *cluster, const struct ty_section *section,
                       struct ty_arena *arena, struct ty_err *err);

/* What the list says without line i; tables are the arena's. 0 or TY_ENOMEM. */
int ty_exceptions_without(const struct ty_cluster *cluster, uint32_t i, struct ty_exceptions *out,
                          struct ty_arena *arena);

/* What the list says, with computation of all other generations `by` times as fast. 0 or
 * TY_ENOMEM. */
int ty_exceptions_faster(const struct ty_cluster *cluster, double by, struct ty_exceptions *out,
                         struct ty_arena *arena);

/* Whether it makes a link narrower. */
static inline bool ty_exception_is_link(const struct ty_exception *x)
{
    return x->kind != TY_EXCEPTION_GPU && x->kind != TY_EXCEPTION_GENERATION;
}

/* Reports exceptions of leaves that a network of so many does not have; 0: none has uplinks. */
int ty_exceptions_check_leaves(const struct ty_cluster *cluster, uint32_t n_leaves,
                               struct ty_err *err);

/* ---- what a part is like; parts must exist ---- */

/* Speed of a GPU's computation, as a share of what its kind has. */
static inline double ty_exceptions_gpu_speed(const struct ty_cluster *c, uint32_t gpu)
{
    return c->exceptions != NULL && c->exceptions->gpu_speed != NULL ? c->exceptions->gpu_speed[gpu]
                                                                     : 1;
}

/* Bandwidth of a GPU's NVLink port, as a share of the cluster's. */
static inline double ty_exceptions_nvlink_share(const struct ty_cluster *c, uint32_t gpu)
{
    return c->exceptions != NULL && c->exceptions->nvlink_share != NULL
               ? c->exceptions->nvlink_share[gpu]
               : 1;
}

/* Bandwidth of a NIC as a share of the cluster's; 0: it is dead or not there. */
static inline double ty_exceptions_nic_share(const struct ty_cluster *c, uint32_t node,
                                             uint32_t nic)
{
    return c->exceptions != NULL && c->exceptions->nic_share != NULL
               ? c->exceptions->nic_share[(size_t)node * c->net.nics + nic]
               : 1;
}

/* NICs of a node that work; at least one where there is more than one node. */
static inline uint32_t ty_exceptions_nics(const struct ty_cluster *c, uint32_t node)
{
    return c->exceptions != NULL && c->exceptions->nics != NULL ? c->exceptions->nics[node]
                                                                : c->net.nics;
}

/* Bandwidth of a leaf's uplinks as a share of the cluster's. */
static inline double ty_exceptions_leaf_share(const struct ty_cluster *c, uint32_t leaf)
{
    return c->exceptions != NULL && leaf < c->exceptions->n_leaves ? c->exceptions->leaf_share[leaf]
                                                                   : 1;
}

/* Kinds of GPU in the cluster: 1 + other generations. */
static inline uint32_t ty_exceptions_n_generations(const struct ty_cluster *c)
{
    return 1 + (c->exceptions != NULL ? c->exceptions->n_generations : 0);
}

/* The kind of GPU in a node: 0 is the cluster's own. */
static inline uint32_t ty_exceptions_generation(const struct ty_cluster *c, uint32_t node)
{
    return c->exceptions != NULL && c->exceptions->generation_of != NULL
               ? c->exceptions->generation_of[node]
               : 0;
}

/* The cluster as it would be with GPUs of that generation in all nodes. */
static inline const struct ty_cluster *ty_exceptions_cluster(const struct ty_cluster *c,
                                                             uint32_t generation)
{
    return generation == 0 ? c : c->exceptions->generation[generation - 1];
}

#endif
