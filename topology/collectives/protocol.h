/* protocol.h - NCCL's protocols between nodes: how a receiver knows that data has arrived.
 *
 *     Simple   a flag behind a fence: all the bandwidth, steps of 14 us over the network
 *     LL       4 B of data with 4 B of flag: half the bandwidth, steps of 3 to 5 us
 *
 * A collective is cut over channels, two per NIC that its group has, fewer where there is little to
 * send. What each of them sends in a step is a message to the network's software:
 *
 *     crossing = net step + messages x (net_message + net_rendezvous, where longer than net_eager)
 *
 * NCCL's constants are those of InfiniBand, whose cards match messages themselves: net_message is 0
 * there. libfabric's providers (Slingshot, EFA) match them in software, those of a node one after
 * another, and long ones ask first whether there is room. How many there are at once follows from
 * NCCL's channels: latencies of all-gathers over Slingshot double with them.
 *
 * Sources: NVIDIA/nccl src/graph/tuning.cc (steps, thresholds by thread), src/graph/connect.cc
 * (channels are doubled), src/include/device.h (sizes of buffers); argonne-lcf/alcf-nccl-tests
 * (messages over Slingshot, on 2 and 8 nodes). */
#ifndef TY_TOPOLOGY_COLLECTIVES_PROTOCOL_H
#define TY_TOPOLOGY_COLLECTIVES_PROTOCOL_H

#include "topology/collectives/coll.h"

struct ty_coll_protocol {
    double base_s;          /* fixed */
    double nvlink_s, net_s; /* of a step, the latter without what messages cost */
    double data;            /* share of what is sent that is data */
    double rate_max;        /* B/s of data */
    double message_B;       /* longest message, flags included */
    double channel_B; /* data of the collective that a channel takes before there is another */
    bool fills;       /* a tree reaches its rate only at large sizes */
};

/* What a ring, or a tree, over `ranks` pays by each protocol. */
struct ty_coll_protocol ty_coll_protocol_ring(const struct ty_cluster *cluster);
struct ty_coll_protocol ty_coll_protocol_tree(const struct ty_cluster *cluster);
struct ty_coll_protocol ty_coll_protocol_ring_ll(const struct ty_cluster *cluster, uint32_t ranks);
struct ty_coll_protocol ty_coll_protocol_tree_ll(const struct ty_cluster *cluster);

/* Channels over which a group sends `bytes`. */
double ty_coll_channels(const struct ty_cluster *cluster, const struct ty_reach *reach,
                        const struct ty_coll_protocol *p, double bytes);

/* Seconds of a step between nodes in which a node sends so many messages, of so much data each. */
double ty_coll_crossing_s(const struct ty_cluster *cluster, const struct ty_coll_protocol *p,
                          double messages, double data_B);

/* A ring or a tree by a protocol: all that cost() of an algorithm fills. */
void ty_coll_ring_cost(const struct ty_cluster *cluster, enum ty_coll coll, double bytes,
                       const struct ty_reach *reach, const struct ty_coll_protocol *p,
                       struct ty_coll_cost *out);
void ty_coll_tree_cost(const struct ty_cluster *cluster, double bytes, const struct ty_reach *reach,
                       const struct ty_coll_protocol *p, struct ty_coll_cost *out);

/* Their messages, which are the same by every protocol: steps() of an algorithm. */
uint32_t ty_coll_ring_steps(enum ty_coll coll, uint32_t n, uint32_t g, double bytes,
                            ty_coll_step_fn *emit, void *arg);
uint32_t ty_coll_tree_steps(enum ty_coll coll, uint32_t n, uint32_t g, double bytes,
                            ty_coll_step_fn *emit, void *arg);

#endif
