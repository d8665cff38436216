/* fabric.h - the links of a cluster, and which of them a communication uses.
 *
 * Every GPU has a port into its NVLink domain and one into its PCIe switch, every node its NICs,
 * and leaf switches uplinks to the spine; each in both directions. Rates of links are what a
 * communication can get through them (hardware rate times the best efficiency that was measured),
 * so that one alone is never slowed down by the links its own cost was worked out from.
 *
 *     pod uplinks        pod 0 |         | pod 1         present where pods are given
 *                      .-------+-.     .-+-------.
 *     leaf uplinks     |  spines |     |         |       one link a leaf (adaptive), or one a spine
 *                     leaf     leaf   leaf     leaf      of every rail, which are side by side
 *     NICs            | | |    | | |
 *     nodes          of leaf_nodes nodes each            NVLink, PCIe inside
 *
 * A network has `rails` leaves side by side; NIC i of every node is on rail i % rails. One rail is
 * a flat network, a rail per NIC the rail-optimized one: there a message goes over NVLink to the
 * GPU of its destination's rail before it leaves (NCCL's PXN), so nothing crosses from rail to
 * rail. Blocks of `leaf_nodes` consecutive nodes share their leaves. With one block there is no
 * uplink.
 *
 * GPUs are numbered by place: GPU g sits in node g / gpus_per_node. */
#ifndef TY_TOPOLOGY_FABRIC_FABRIC_H
#define TY_TOPOLOGY_FABRIC_FABRIC_H

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/core/program/links.h"
#include "topology/collectives/coll.h"

enum ty_fabric_form {
    TY_FABRIC_NON_BLOCKING,
    TY_FABRIC_FAT_TREE,
    TY_FABRIC_RAIL_OPTIMIZED,
    TY_FABRIC_RAIL_ONLY,
};

enum ty_routing {
    TY_ROUTING_ADAPTIVE,
    TY_ROUTING_ECMP,
};

/* The `fabric` section: every member is a key under its own name, "auto" and "none" are 0. */
struct ty_fabric_options {
    const char *preset;
    int topology; /* enum ty_fabric_form */
    int routing;  /* enum ty_routing */
    uint32_t leaf_ports, leaf_nodes, rails, spines, ecmp_paths;
    double oversubscription;   /* of the uplinks of a leaf */
    uint32_t pods, pod_leaves; /* one of: their number, leaves of a rail in each; both 0: none */
    double pod_oversubscription;
    double pcie_bandwidth; /* B/s; 0: never the narrowest link */
    uint32_t gpus_per_pcie;
};

extern const struct ty_field ty_fabric_fields[];
extern const uint32_t ty_n_fabric_fields;
extern const struct ty_preset ty_fabric_presets[]; /* ends with a NULL name */
extern const struct ty_word ty_fabric_form_words[];

/* Checks what needs more than one value: a leaf that nodes fill, rails that NICs divide into, keys
 * that the chosen topology has no use for, exceptions of leaves that are not there. */
int ty_fabric_check(const struct ty_fabric_options *options, const struct ty_cluster *cluster,
                    const struct ty_section *section, struct ty_err *err);

/* Counts and capacities, worked out from options and cluster; capacities are of one direction. */
struct ty_fabric_shape {
    uint32_t nodes, gpus, nics; /* of the cluster; of a node */
    uint32_t pcie_groups;       /* of a node; 0: no PCIe links */
    uint32_t gpus_per_pcie;
    uint32_t rails;
    uint32_t leaf_nodes, blocks;          /* nodes of a block; blocks: leaves of a rail */
    uint32_t leaf_nics;                   /* ports down of a full leaf */
    uint32_t spines;                      /* links up from a leaf; 0: one block, no uplinks */
    uint32_t ecmp_paths;                  /* 0: adaptive */
    uint32_t pods, pod_blocks;            /* pods: 0 or at least 2 */
    double nvlink_Bps, pcie_Bps, nic_Bps; /* of a port; 0: there is none */
    double spine_Bps, pod_Bps;            /* of one link */
    uint32_t host_links, sockets;         /* of a node; 0: it has no tiers (tiers.h) */
};

/* Of options that ty_fabric_check has passed. */
void ty_fabric_shape_init(struct ty_fabric_shape *shape, const struct ty_fabric_options *options,
                          const struct ty_cluster *cluster);

struct ty_fabric_scratch;

struct ty_fabric {
    const struct ty_cluster *cluster; /* borrowed */
    struct ty_link *links;            /* [n_links] */
    uint32_t n_links;
    /* private to fabric*.c */
    struct ty_fabric_shape shape;
    uint32_t first[TY_N_LINK_CLASSES]; /* link of each class; out and in (up and down) alternate */
    struct ty_fabric_scratch *scratch;
};

/* The links of a cluster; `nodes`: of so many of its nodes, which lie next to each other then,
 * where all share one block; 0: of all. `tiers`: with those to what is off GPUs (tiers.h). Owned by
 * the arena. TY_ELIMIT above 16 million links. */
int ty_fabric_build(struct ty_fabric *fabric, const struct ty_cluster *cluster,
                    const struct ty_fabric_options *options, uint32_t nodes, bool tiers,
                    struct ty_arena *arena, struct ty_err *err);

/* Links that come in pairs, one a direction; of the others bytes count whichever way they go. */
static inline bool ty_fabric_is_directed(uint8_t class)
{
    return class < TY_LINK_HOST_BOTH;
}

/* Whether a link leads out of a GPU or a node, or up from a switch; else in, or down. */
static inline bool ty_fabric_leads_out(const struct ty_fabric *fabric, uint32_t link)
{
    const uint8_t class = fabric->links[link].class;
    return !ty_fabric_is_directed(class) || (link - fabric->first[class]) % 2 == 0;
}

/* Links of a class that the cluster has, also where the fabric is of some of its nodes. */
uint32_t ty_fabric_count(const struct ty_fabric *fabric, enum ty_link_class class);

/* What a link is called in reports: "node 3 nic 5 out"; or its like on another node of the cluster.
 * Returns `name`. */
#define TY_LINK_NAME 48u
const char *ty_fabric_link_name(const struct ty_fabric *fabric, uint32_t link,
                                char name[TY_LINK_NAME]);
const char *ty_fabric_like_name(const struct ty_fabric *fabric, uint32_t link, uint32_t node,
                                char name[TY_LINK_NAME]);

/* A growing list of uses of one flow. Zeroed: empty. */
struct ty_use_list {
    struct ty_use *row;
    uint32_t n, cap;
};

/* What a collective of gpus[n] by `cost` takes while it moves its bytes, of all links; or, of a
 * group of `times` such parts on other nodes that lie alike, of links of this part: for patterns
 * that are the same to every node (not TY_PATTERN_CHAIN), without uplinks. Each member sends
 * cost->nvlink_B over its port and cost->net_B through the NICs of its place in cost->transfer_s.
 * The list is emptied first; on return links increase, none twice. *weight as in struct ty_flow.
 * Nothing that takes no time or no bytes takes a link. Rows are the arena's. 0 or TY_ENOMEM.
 *
 * A fabric has room for one call at a time. */
int ty_fabric_collective(const struct ty_fabric *fabric, const struct ty_coll_cost *cost,
                         const uint32_t *gpus, uint32_t n, uint32_t times, struct ty_use_list *out,
                         double *weight, struct ty_arena *arena, struct ty_err *err);

/* What a message from a GPU to n others takes, to each an equal part of its bytes at once, while it
 * moves them; see ty_fabric_collective. */
int ty_fabric_message(const struct ty_fabric *fabric, const struct ty_coll_cost *cost,
                      uint32_t from, const uint32_t *to, uint32_t n, struct ty_use_list *out,
                      double *weight, struct ty_arena *arena, struct ty_err *err);

#endif
