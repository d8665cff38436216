/* options.c - the `fabric` section: its keys, what must agree, and what follows from them.
 *
 * A leaf has half of its ports down, whatever the oversubscription: with 3:1 a third of the cables
 * to the spine is there. So nodes stay on their leaves when oversubscription is varied; a leaf that
 * uses more ports down is described by leaf_nodes. Uplinks belong to the leaf, not to what is
 * plugged in below: one that serves fewer nodes keeps them all. */
#include "topology/fabric/internal.h"

#include <math.h>

const struct ty_word ty_fabric_form_words[] = {
    {"non-blocking", TY_FABRIC_NON_BLOCKING, "all NICs on one ideal switch"},
    {"fat-tree", TY_FABRIC_FAT_TREE, "all NICs of a node on one leaf, leaves joined by a spine"},
    {"rail-optimized", TY_FABRIC_RAIL_OPTIMIZED, "each rail has leaves of its own, and a spine"},
    {"rail-only", TY_FABRIC_RAIL_ONLY, "each rail is a switch of its own, without a spine"},
    {NULL, 0, NULL},
};

static const struct ty_word routing_words[] = {
    {"adaptive", TY_ROUTING_ADAPTIVE, "packets take the emptiest uplink: all act as one"},
    {"ecmp", TY_ROUTING_ECMP, "a hash puts each queue pair on one uplink for good"},
    {NULL, 0, NULL},
};

#define ROW(key_, type_, ...) TY_FIELD(struct ty_fabric_options, #key_, key_, type_, __VA_ARGS__)
#define WORD(key_, words_, fallback_, doc_)                                                        \
    ROW(key_, WORD, .words = (words_), .fallback = (fallback_), .doc = (doc_))
#define COUNT(key_, max_, fallback_, blank_, doc_)                                                 \
    ROW(key_, UINT, .min = 1, .max = (max_), .fallback = (fallback_), .blank = (blank_),           \
        .doc = (doc_))
#define FACTOR(key_, doc_)                                                                         \
    ROW(key_, QUANTITY, .dim = TY_DIM_COUNT, .min = 1, .max = 1000, .fallback = "1", .doc = (doc_))

const struct ty_field ty_fabric_fields[] = {
    ROW(preset, STRING,
        .doc = "a network to start from (trainyard list fabrics); other keys override it"),
    WORD(topology, ty_fabric_form_words, "non-blocking", "how switches join the NICs of the nodes"),
    COUNT(leaf_ports, 65536, "64", NULL, "ports of a leaf switch, half of them down (QM9700: 64)"),
    COUNT(leaf_nodes, 65536, "auto", "auto",
          "nodes below a leaf; auto: as many as fit into the ports down"),
    COUNT(rails, 4096, "auto", "auto",
          "leaves side by side in a rail-optimized or rail-only network, NIC i on rail i % rails; "
          "auto: one per NIC of a node"),
    FACTOR(oversubscription, "bandwidth of the NICs below a leaf over that of its uplinks"),
    COUNT(pods, 65536, "none", "none",
          "equal parts of the leaves of a rail, joined by a third level; none: two levels"),
    COUNT(pod_leaves, 65536, "none", "none",
          "instead of pods: leaves of a rail in each; the last pod may have fewer"),
    FACTOR(pod_oversubscription,
           "bandwidth of the leaves of a pod over that of its uplinks to the core"),
    WORD(routing, routing_words, "adaptive", "how the way over the spine is chosen"),
    COUNT(ecmp_paths, 256, "1", NULL,
          "queue pairs between two NICs, each with a hash of its own (NCCL_IB_QPS_PER_CONNECTION)"),
    COUNT(spines, 65536, "auto", "auto",
          "uplinks of a leaf among which ECMP chooses; auto: one for each NIC's worth"),
    ROW(pcie_bandwidth, QUANTITY, .dim = TY_DIM_BYTES_PER_S, .min = 1e6, .max = 1e14,
        .fallback = "none", .blank = "none",
        .doc =
            "bandwidth between GPUs and NICs, one direction, B/s; none: never the narrowest link"),
    COUNT(gpus_per_pcie, 1024, "1", NULL, "GPUs that share it"),
};

const uint32_t ty_n_fabric_fields = TY_COUNT(ty_fabric_fields);

bool ty_fabric_has_spine(const struct ty_fabric_options *options)
{
    return options->topology == TY_FABRIC_FAT_TREE || options->topology == TY_FABRIC_RAIL_OPTIMIZED;
}

bool ty_fabric_has_rails(const struct ty_fabric_options *options)
{
    return options->topology == TY_FABRIC_RAIL_OPTIMIZED ||
           options->topology == TY_FABRIC_RAIL_ONLY;
}

uint32_t ty_fabric_rails(const struct ty_fabric_options *options, const struct ty_cluster *cluster)
{
    const uint32_t given = options->rails > 0 ? options->rails : cluster->net.nics;
    return ty_fabric_has_rails(options) ? given : 1;
}

static uint32_t ceil_div(uint32_t a, uint32_t b)
{
    return a / b + (a % b != 0);
}

/* Capacities of ports: hardware times the best of what the models of collectives get there. NVLS
 * sends S in 2(n-1)/n S / (bandwidth x nvls_efficiency): most per second in the smallest group.
 * SHARP sends half of its bus bandwidth (topology/collectives/sharp.c). */
static void ports(struct ty_fabric_shape *shape, const struct ty_cluster *cluster)
{
    const double smallest = cluster->nvls.min_ranks;
    const double nvls =
        smallest > 1 ? cluster->nvls.efficiency * smallest / (2 * (smallest - 1)) : 0;
    const double nvlink = fmax(fmax(cluster->nvlink.efficiency, cluster->nvlink.pair_efficiency),
                               fmax(cluster->nvlink.p2p_efficiency, nvls));
    const double nic = fmax(fmax(cluster->net.nic_efficiency, cluster->net.p2p_efficiency),
                            cluster->sharp.efficiency / 2);
    shape->nvlink_Bps = shape->gpus > 1 ? cluster->nvlink.bandwidth * nvlink : 0;
    shape->nic_Bps = shape->nodes > 1 ? cluster->net.nic_bandwidth * nic : 0;
}

static void uplinks(struct ty_fabric_shape *shape, const struct ty_fabric_options *options)
{
    const double worth = shape->leaf_nics / options->oversubscription; /* in NICs */
    shape->spines = 1;
    if (options->routing == TY_ROUTING_ECMP) {
        shape->ecmp_paths = options->ecmp_paths;
        shape->spines = options->spines > 0 ? options->spines : (uint32_t)fmax(1, round(worth));
    }
    shape->spine_Bps = shape->nic_Bps * worth / shape->spines;
    shape->pod_blocks = options->pod_leaves > 0 ? options->pod_leaves : shape->blocks;
    if (options->pods > 0) {
        shape->pod_blocks = ceil_div(shape->blocks, options->pods);
    }
    const uint32_t pods = ceil_div(shape->blocks, shape->pod_blocks);
    if (pods > 1) {
        shape->pods = pods;
        shape->pod_Bps = shape->nic_Bps * worth * shape->rails * shape->pod_blocks /
                         options->pod_oversubscription;
    }
}

void ty_fabric_shape_init(struct ty_fabric_shape *shape, const struct ty_fabric_options *options,
                          const struct ty_cluster *cluster)
{
    *shape = (struct ty_fabric_shape){
        .nodes = cluster->nodes,
        .gpus = cluster->gpus_per_node,
        .nics = cluster->net.nics,
        .gpus_per_pcie = options->gpus_per_pcie,
        .rails = ty_fabric_rails(options, cluster),
        .leaf_nodes = cluster->nodes,
        .blocks = 1,
        .pcie_Bps = cluster->nodes > 1 ? options->pcie_bandwidth : 0,
    };
    const uint32_t rail_nics = shape->nics / shape->rails;
    if (ty_fabric_has_spine(options)) {
        shape->leaf_nodes =
            options->leaf_nodes > 0 ? options->leaf_nodes : options->leaf_ports / 2 / rail_nics;
        shape->blocks = ceil_div(shape->nodes, shape->leaf_nodes);
    }
    shape->leaf_nics = shape->leaf_nodes * rail_nics;
    shape->pcie_groups = shape->pcie_Bps > 0 ? ceil_div(shape->gpus, shape->gpus_per_pcie) : 0;
    ports(shape, cluster);
    if (shape->blocks > 1) {
        uplinks(shape, options);
    }
}
