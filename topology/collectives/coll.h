/* coll.h - how long a collective takes on an idle fabric, and what it moves.
 *
 * An algorithm is one file <name>.c ending in one descriptor, and one row of TY_COLL_ALGORITHMS.
 * Each gives a closed form in seconds and, for checking, the steps it is made of: the test suite
 * executes the steps on an idle fabric and demands the closed form.
 *
 * Every closed form is
 *
 *     latency  = fixed + steps over NVLink x step latency + steps over the network x step latency
 *     transfer = bytes through the narrowest link / its rate
 *
 * where `fixed` holds what is measured and belongs to no step (launch, NCCL's base latency). Of a
 * ring between nodes latency hides behind bytes as far as blocks can move on (ring.c). */
#ifndef TY_TOPOLOGY_COLLECTIVES_COLL_H
#define TY_TOPOLOGY_COLLECTIVES_COLL_H

#include "topology/place.h"

/* enum, name, the test of nccl-tests (TEST_perf), and how many times (n-1)/n of the tensor its bus
 * bandwidth counts; 0: once the whole */
#define TY_COLLECTIVES(X)                                                                          \
    X(ALL_REDUCE, "all-reduce", "all_reduce", 2)                                                   \
    X(ALL_GATHER, "all-gather", "all_gather", 1)                                                   \
    X(REDUCE_SCATTER, "reduce-scatter", "reduce_scatter", 1)                                       \
    X(BROADCAST, "broadcast", "broadcast", 0)                                                      \
    X(REDUCE, "reduce", "reduce", 0)                                                               \
    X(ALL_TO_ALL, "all-to-all", "alltoall", 1)                                                     \
    X(SEND_RECV, "send-recv", "sendrecv", 0)

enum ty_coll {
#define X(id, name, test, shares) TY_COLL_##id,
    TY_COLLECTIVES(X)
#undef X
    TY_N_COLLECTIVES
};

/* Which node sends to which: what tells how many bytes cross from leaf to leaf (fabric.h). */
enum ty_coll_pattern {
    TY_PATTERN_RING,      /* every node to the next one of the group, the last to the first */
    TY_PATTERN_CHAIN,     /* the same, without the way back */
    TY_PATTERN_TREES,     /* two binary trees of half the bytes, up and down */
    TY_PATTERN_ALL_PAIRS, /* every member to every other */
    TY_PATTERN_LIKES,     /* every member to those of its place on all other nodes */
    TY_PATTERN_SWITCH,    /* every node into the switches, which add, and back */
};

struct ty_coll_algorithm;

/* What one rank pays and moves. Sizes are nccl-tests' S: the whole tensor (for all-gather and
 * reduce-scatter n times a rank's share; for all-to-all what one rank sends in total, its own share
 * included; for send-recv what each rank sends to the next of the group, in a ring). */
struct ty_coll_cost {
    double latency_s;  /* what the bytes do not cover */
    double transfer_s; /* the bytes at the rate of the narrowest link */
    double nvlink_B;   /* sent by one rank over NVLink, mean over members */
    double net_B;      /* sent by one rank over its NIC, mean over members */
    /* share of the time that it keeps its NICs in which they carry no bytes: not all that a closed
     * form is bound by is volume */
    double net_idle;
    double port_idle;                          /* the same of its NVLink port */
    enum ty_coll_pattern pattern;              /* of what goes between nodes */
    uint32_t start;                            /* place in the group where a chain begins */
    const struct ty_coll_algorithm *algorithm; /* NULL: a group of one */
};
static inline double ty_coll_seconds(const struct ty_coll_cost *c)
{
    return c->latency_s + c->transfer_s;
}

/* One message of an algorithm's expansion: in step `step`, rank `from` sends to `to`. Within a step
 * a rank sends its messages over one link class one after the other. A rank may send step k+1 when
 * it has received what step k brought it. Ranks are indices into the group. */
struct ty_coll_step {
    uint32_t step, from, to;
    double bytes;
};
typedef void ty_coll_step_fn(void *arg, const struct ty_coll_step *step);

struct ty_coll_algorithm {
    const char *name, *summary, *source;
    /* Never chosen by "auto", which stands for NCCL: only when `collectives` names it. */
    bool on_request;
    /* Its messages all move at one rate, so that its time tells that of each (script.h). */
    bool one_rate;
    enum ty_coll_pattern pattern;
    /* True when it can do this operation over this reach on this cluster. */
    bool (*applies)(const struct ty_cluster *, enum ty_coll, const struct ty_reach *);
    /* Closed form; fills everything but `algorithm`. `pattern` comes in as above. */
    void (*cost)(const struct ty_cluster *, enum ty_coll, double bytes, const struct ty_reach *,
                 struct ty_coll_cost *out);
    /* The messages of one execution over `n` ranks of which g consecutive ones share a node (g
     * divides n, but for rings, which follow the ranks wherever nodes end), in order of steps;
     * returns the number of steps. The root is rank 0. NULL: the algorithm has no message form
     * (in-switch). */
    uint32_t (*steps)(enum ty_coll, uint32_t n, uint32_t g, double bytes, ty_coll_step_fn *emit,
                      void *arg);
};

/* Identifier, name, and what the key `collectives` says of it; ONLY: the key cannot name it. */
#define TY_COLL_ALGORITHMS(WORD, ONLY)                                                             \
    WORD(ring, "ring", "rings along the ranks")                                                    \
    WORD(tree, "tree", "chain in the node, binary trees between nodes (all-reduce)")               \
    WORD(hierarchical, "hierarchical",                                                             \
         "reduce-scatter in the node, all-reduce across, all-gather (all-reduce)")                 \
    WORD(nvls, "nvls", "in-network reduction in the NVSwitch, NVLS (all-reduce)")                  \
    ONLY(direct, "direct", NULL)                                                                   \
    WORD(ring_ll128, "ring-ll128",                                                                 \
         "rings with less latency and less bandwidth (all-reduce in a node)")                      \
    WORD(ring_ll, "ring-ll", "rings between nodes with the least latency, at half the bandwidth")  \
    WORD(tree_ll, "tree-ll", "the same of trees (all-reduce)")                                     \
    ONLY(measured, "measured", NULL)                                                               \
    WORD(nvls_tree, "nvls-tree",                                                                   \
         "in-network reduction in the NVSwitch of each node, a tree between nodes "                \
         "(all-reduce)")                                                                           \
    WORD(sharp, "sharp",                                                                           \
         "in-network reduction in the switches between nodes, SHARP, with sharp_efficiency "       \
         "(all-reduce)")                                                                           \
    ONLY(per_node, "per-node", NULL)                                                               \
    WORD(pat, "pat", "log2 n rounds, one rank a node (all-gather, reduce-scatter)")

#define X(id, name, doc) extern const struct ty_coll_algorithm ty_coll_##id;
TY_COLL_ALGORITHMS(X, X)
#undef X
extern const struct ty_coll_algorithm *const ty_coll_algorithms[]; /* ends with NULL */

const char *ty_coll_name(enum ty_coll coll); /* "all-reduce" */
const char *ty_coll_test(enum ty_coll coll); /* "all_reduce", as nccl-tests spells it */

/* The cost by the given algorithm; NULL: as measured where a log covers the group, else by the
 * cluster's `collectives`, "auto" being the fastest that applies of those that NCCL has. One rank
 * costs nothing. If the given one does not apply, "auto" decides: choices are made per group, and a
 * tree cannot do an all-gather. */
void ty_coll_cost(const struct ty_cluster *cluster, const struct ty_coll_algorithm *algorithm,
                  enum ty_coll coll, double bytes, const struct ty_reach *reach,
                  struct ty_coll_cost *out);

/* nccl-tests' factor: busbw = factor * S / t. */
double ty_coll_bus_factor(enum ty_coll coll, uint32_t ranks);

/* The same as ty_coll_shift_cost by copy engines: inside a node as fast as one message alone,
 * however many channels the library would give it. */
void ty_coll_copy_cost(const struct ty_cluster *cluster, double bytes, const struct ty_reach *reach,
                       struct ty_coll_cost *out);

/* Every member of a group sends `bytes` to the next, the last to the first, all at once, as
 * measured where a log of sendrecv_perf covers it: ty_coll_cost of TY_COLL_SEND_RECV without
 * nvlink_floor. */
void ty_coll_shift_cost(const struct ty_cluster *cluster, double bytes,
                        const struct ty_reach *reach, struct ty_coll_cost *out);

/* A message between two ranks. When a node has fewer NICs than GPUs, all GPUs of a pipeline stage
 * send at once, so each has its share of a NIC. */
void ty_p2p_cost(const struct ty_cluster *cluster, bool same_node, double bytes,
                 struct ty_coll_cost *out);

/* A message that has the NIC to itself. */
void ty_p2p_cost_alone(const struct ty_cluster *cluster, bool same_node, double bytes,
                       struct ty_coll_cost *out);

/* ---- rates, shared by the algorithms ---- */

/* Bus bandwidth in B/s of a collective among n GPUs of a node: nvlink_pair_efficiency at 2,
 * nvlink_efficiency at a full node, linear in 1/n between, which meets the 219 GB/s measured for 4
 * of 8 A100 (VIA-Research/vTrain, all-reduce table) within 2 %. Without a switch what rings among
 * these places have (pairs.h); `places` as in struct ty_reach. */
double ty_coll_nvlink_rate(const struct ty_cluster *cluster, uint32_t n, uint32_t places);

/* Rate in B/s at which each of n GPUs of a node sends to all others. */
double ty_coll_all_to_all_rate(const struct ty_cluster *cluster, uint32_t n, uint32_t places);

/* Bus bandwidth inside nodes of a group over several: that of the narrowest. Infinite where no two
 * members share a node. */
double ty_coll_in_node_rate(const struct ty_cluster *cluster, const struct ty_reach *reach);

/* Rate in B/s at which a group leaves and enters a node, all its members there together:
 *
 *     Bi * min(g * max(1, nics_per_node / gpus_per_node), nics_per_node / sharing)
 *
 * with Bi = nic_bandwidth * nic_efficiency. A GPU drives one NIC, or its equal share where a node
 * has more NICs than GPUs; where there are fewer, the `sharing` groups of a node run at the same
 * time and divide its NICs evenly, so that the throughput of a node is conserved. Everything that
 * enters a ring or a tree passes each of its nodes, so g are the members on the node with the
 * fewest: NCCL, too, lays as many channels as the poorest node can carry. Consistent with SimuMax
 * (simumax/core/config.py) and with 192 GB/s for 8 x 24 GB/s (NVIDIA GTC24 S62129). */
double ty_coll_net_rate(const struct ty_cluster *cluster, const struct ty_reach *reach);

/* Rate in B/s at which a group leaves and enters a node that has g of its members. */
double ty_coll_node_net_rate(const struct ty_cluster *cluster, const struct ty_reach *reach,
                             uint32_t g);

/* Rate in B/s of a ring over the whole group: its narrowest link. NCCL lays one ring per NIC, each
 * leaving the node through another one, so between nodes the rings have ty_coll_net_rate. */
double ty_coll_ring_rate(const struct ty_cluster *cluster, const struct ty_reach *reach);

/* Levels of a binary tree over that many nodes. */
uint32_t ty_coll_tree_rounds(uint32_t nodes);

/* Seconds of phases that pipeline: the longest, and of the others what phase_overlap leaves. */
double ty_coll_phases(const struct ty_cluster *cluster, double sum_s, double longest_s);

#endif
