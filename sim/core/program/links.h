/* links.h - what communications share: links of a capacity, and what each takes of them.
 *
 * A link carries bytes in one direction: the port of a GPU into its switch, a NIC, the uplinks of
 * a leaf. A flow is one communication while it moves bytes: a collective of one group, or one
 * message. At full speed it takes a rate of each link it uses; that is its speed with the links to
 * itself, by the cost model. Where flows together ask more than a link has, they are slowed down
 * to their max-min fair shares (maxmin.h), all uses of a flow in proportion. */
#ifndef TY_CORE_PROGRAM_LINKS_H
#define TY_CORE_PROGRAM_LINKS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/units.h"

/* What a link is part of, for totals. id, name in reports and traces, key */
#define TY_LINK_CLASSES(X)                                                                         \
    X(NVLINK, "NVLink", "nvlink")                                                                  \
    X(PCIE, "PCIe", "pcie")                                                                        \
    X(NIC, "NIC", "nic")                                                                           \
    X(LEAF, "leaf uplinks", "leaf_uplink")                                                         \
    X(POD, "pod uplinks", "pod_uplink")                                                            \
    X(HOST, "host links", "host_link")                                                             \
    X(HOST_BOTH, "host links both ways", "host_link_both")                                         \
    X(MEMORY, "host memory", "host_memory")                                                        \
    X(CPU, "host processors", "host_processor")                                                    \
    X(DRIVE, "drives", "drive")

enum ty_link_class {
#define X(id, title, key) TY_LINK_##id,
    TY_LINK_CLASSES(X)
#undef X
    TY_N_LINK_CLASSES
};
const char *ty_link_class_title(enum ty_link_class class);
const char *ty_link_class_key(enum ty_link_class class);

struct ty_link {
    uint8_t class;   /* enum ty_link_class */
    uint32_t node;   /* it belongs to; TY_NO_NODE: to a switch */
    double capacity; /* B/s, > 0 */
};
#define TY_NO_NODE UINT32_MAX

/* What a flow takes of a link at full speed. */
struct ty_use {
    uint32_t link;
    double Bps;
};

/* Uses of one flow, links increasing, none twice: rows first_use .. first_use + n_uses - 1 of the
 * program's uses. It takes none of them for the first `lead` of its duration: latency is paid up
 * front. At equal fairness a flow runs at `weight` x level of its full speed: 1 over what it takes
 * of its narrowest port, so that flows that meet there get equal bytes per second.
 *
 * Some of what it takes may move no bytes: a tree whose pipeline is never quite full keeps NICs
 * waiting, and nobody else gets that time.
 *
 * Flows that begin at the same row have the same rows, all of them. */
struct ty_flow {
    uint32_t first_use, n_uses;
    double weight;
    ty_ps lead;
    double idle, port_idle; /* that share, beyond NVLink and of its ports; drives write slower than
                             * they read: that of their time */
};

/* Bytes per second that a use of a flow moves at full speed. */
static inline double ty_use_moves(const struct ty_flow *flow, const struct ty_use *use,
                                  const struct ty_link *links)
{
    const uint8_t class = links[use->link].class;
    const bool port = class == TY_LINK_NVLINK || class == TY_LINK_DRIVE;
    return use->Bps * (1 - (port ? flow->port_idle : flow->idle));
}

#endif
