/* fabric.h - the links of a cluster, and which of them a communication uses.
 *
 * Every GPU has a port into its NVLink domain and one into its PCIe switch, every node its NICs, and
 * leaf switches uplinks to the spine; each in both directions. Rates of links are what a
 * communication can get through them (hardware rate times the best efficiency that was measured),
 * so that one alone is never slowed down by the links its own cost was worked out from.
 *
 * GPUs are numbered by place: GPU g sits in node g / gpus_per_node. */
#ifndef TY_TOPOLOGY_FABRIC_H
#define TY_TOPOLOGY_FABRIC_H

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/core/links.h"
#include "topology/coll.h"

struct ty_fabric {
    const struct ty_cluster *cluster; /* borrowed */
    struct ty_link *links;            /* [n_links] */
    uint32_t n_links;
    /* more members, private to fabric.c, follow */
};

/* The links of a cluster. Owned by the arena. */
int ty_fabric_build(struct ty_fabric *fabric, const struct ty_cluster *cluster,
                    struct ty_arena *arena, struct ty_err *err);

/* A growing list of uses of one flow. Zeroed: empty. */
struct ty_use_list {
    struct ty_use *row;
    uint32_t n, cap;
};

/* What a collective of gpus[n] by `cost` takes while it moves its bytes: each member sends
 * cost->nvlink_B over its port and cost->net_B through the NICs of its place in cost->transfer_s.
 * The list is emptied first; on return links increase, none twice. *weight as in struct ty_flow.
 * Nothing that takes no time or no bytes takes a link. Rows are the arena's. 0 or TY_ENOMEM. */
int ty_fabric_collective(const struct ty_fabric *fabric, const struct ty_coll_cost *cost,
                         const uint32_t *gpus, uint32_t n, struct ty_use_list *out, double *weight,
                         struct ty_arena *arena, struct ty_err *err);

/* The same of one message. */
int ty_fabric_message(const struct ty_fabric *fabric, const struct ty_coll_cost *cost,
                      uint32_t from, uint32_t to, struct ty_use_list *out, double *weight,
                      struct ty_arena *arena, struct ty_err *err);

#endif
