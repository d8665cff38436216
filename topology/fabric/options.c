/* options.c - the `fabric` section: its keys, what must agree, and what follows from them.
 *
 * A leaf has half of its ports down, whatever the oversubscription: with 3:1 a third of the cables
 * to the spine is there. So nodes stay on their leaves when oversubscription is varied; a leaf that
 * uses more ports down is described by leaf_nodes. Uplinks belong to the leaf, not to what is
 * plugged in below: one that serves fewer nodes keeps them all. */
#include <math.h>
#include <stdio.h>

#include "topology/exceptions.h"
#include "topology/fabric/internal.h"

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
    WORD(routing, routing_words, "adaptive", "how the path over the spine is chosen"),
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

static bool fabric_has_spine(const struct ty_fabric_options *options)
{
    return options->topology == TY_FABRIC_FAT_TREE || options->topology == TY_FABRIC_RAIL_OPTIMIZED;
}

static bool fabric_has_rails(const struct ty_fabric_options *options)
{
    return options->topology == TY_FABRIC_RAIL_OPTIMIZED ||
           options->topology == TY_FABRIC_RAIL_ONLY;
}

/* Of options as given. */
static uint32_t fabric_rails(const struct ty_fabric_options *options,
                             const struct ty_cluster *cluster)
{
    const uint32_t given = options->rails > 0 ? options->rails : cluster->net.nics;
    return fabric_has_rails(options) ? given : 1;
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
        .rails = fabric_rails(options, cluster),
        .leaf_nodes = cluster->nodes,
        .blocks = 1,
        .pcie_Bps = cluster->nodes > 1 ? options->pcie_bandwidth : 0,
    };
    const uint32_t rail_nics = shape->nics / shape->rails;
    if (fabric_has_spine(options)) {
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

/* ---- what must agree with itself and with the cluster ---- */

/* Keys that the chosen topology has no use for are mistakes where their value asks for an effect:
 * who writes an oversubscription of 2 expects to see it. Sizes of switches are not: they are just
 * there. */

static const char *form(const struct ty_fabric_options *options)
{
    return ty_fabric_form_words[options->topology].name;
}

/* Keys about uplinks and rails in a network without them. */
static int check_form(const struct ty_fabric_options *options, const struct ty_section *section,
                      struct ty_err *err)
{
    const bool spine = fabric_has_spine(options), rails = fabric_has_rails(options);
    const struct {
        const char *key, *what, *instead;
        bool wrong;
    } rows[] = {
        {"oversubscription", "uplinks", "fat-tree or rail-optimized",
         !spine && options->oversubscription > 1},
        {"pods", "leaves", "fat-tree or rail-optimized", !spine && options->pods > 0},
        {"pod_leaves", "leaves", "fat-tree or rail-optimized", !spine && options->pod_leaves > 0},
        {"routing", "uplinks", "fat-tree or rail-optimized",
         !spine && options->routing == TY_ROUTING_ECMP},
        {"rails", "rails", "rail-optimized or rail-only", !rails && options->rails > 1},
    };
    int rc = 0;
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        if (rows[i].wrong) {
            const struct ty_place at = ty_section_place(section, rows[i].key);
            rc = ty_fail_at(err, TY_EINPUT, &at,
                            "fabric.%s: a %s network has no %s; leave the key out or set "
                            "fabric.topology to %s",
                            rows[i].key, form(options), rows[i].what, rows[i].instead);
        }
    }
    return rc;
}

/* Keys that belong to another key, which is not there. */
static int check_pairs(const struct ty_fabric_options *options, const struct ty_section *section,
                       struct ty_err *err)
{
    const bool ecmp = options->routing == TY_ROUTING_ECMP;
    const bool pods = options->pods > 0 || options->pod_leaves > 0;
    const struct {
        const char *key, *what;
        double value;
        const char *instead;
        bool wrong;
    } rows[] = {
        {"ecmp_paths", "adaptive routing hashes nothing", options->ecmp_paths,
         "set fabric.routing to ecmp", !ecmp && options->ecmp_paths > 1},
        {"spines", "adaptive routing takes all uplinks of a leaf as one", options->spines,
         "set fabric.routing to ecmp", !ecmp && options->spines > 0},
        {"pod_oversubscription", "there are no pods", options->pod_oversubscription,
         "give fabric.pods, how many there are", !pods && options->pod_oversubscription > 1},
        {"pod_leaves", "fabric.pods is there too", options->pod_leaves, "give one of them",
         options->pods > 0 && options->pod_leaves > 0},
        {"gpus_per_pcie", "nothing is known of what they share", options->gpus_per_pcie,
         "give fabric.pcie_bandwidth", options->pcie_bandwidth <= 0 && options->gpus_per_pcie > 1},
    };
    int rc = 0;
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        if (rows[i].wrong) {
            const struct ty_place at = ty_section_place(section, rows[i].key);
            rc = ty_fail_at(err, TY_EINPUT, &at, "fabric.%s: %s (%g); %s", rows[i].key,
                            rows[i].what, rows[i].value, rows[i].instead);
        }
    }
    return rc;
}

/* Half of a leaf's ports are down, and nodes fill them: none is split over two leaves. */
static int check_leaf(const struct ty_fabric_options *options, uint32_t nics,
                      const struct ty_section *section, struct ty_err *err)
{
    const uint32_t ports = options->leaf_ports;
    if (!fabric_has_spine(options) || options->leaf_nodes > 0 ||
        (ports % 2 == 0 && ports / 2 % nics == 0)) {
        return 0;
    }
    const struct ty_place at = ty_section_place(section, "leaf_ports");
    const uint32_t above = (ports / (2 * nics) + 1) * 2 * nics;
    char below[32] = "";
    if (above > 2 * nics) {
        snprintf(below, sizeof(below), "%u or ", (unsigned)(above - 2 * nics));
    }
    return ty_fail_at(err, TY_EINPUT, &at,
                      "fabric.leaf_ports: half of %u ports do not divide into nodes with %u NIC%s "
                      "on a leaf; write %s%u, or say with fabric.leaf_nodes how many nodes it has",
                      (unsigned)ports, (unsigned)nics, nics == 1 ? "" : "s", below,
                      (unsigned)above);
}

/* Pods are alike. */
static int check_pods(const struct ty_fabric_options *options, const struct ty_fabric_shape *shape,
                      const struct ty_section *section, struct ty_err *err)
{
    if (options->pods == 0 || shape->blocks % options->pods == 0) {
        return 0;
    }
    const struct ty_place at = ty_section_place(section, "pods");
    return ty_fail_at(err, TY_EINPUT, &at,
                      "fabric.pods: %u do not divide the %u lea%s of a rail; write a divisor, or "
                      "give fabric.pod_leaves",
                      (unsigned)options->pods, (unsigned)shape->blocks,
                      shape->blocks == 1 ? "f" : "ves");
}

int ty_fabric_check(const struct ty_fabric_options *options, const struct ty_cluster *cluster,
                    const struct ty_section *section, struct ty_err *err)
{
    const uint32_t rails = fabric_rails(options, cluster), nics = cluster->net.nics;
    struct ty_fabric_shape shape;
    int rc = check_form(options, section, err);
    const int pairs = check_pairs(options, section, err);
    if (rc == 0) {
        rc = pairs;
    }
    if (nics % rails != 0) {
        const struct ty_place at = ty_section_place(section, "rails");
        return ty_fail_at(err, TY_EINPUT, &at,
                          "fabric.rails: %u do not divide the %u NICs of a node; every rail takes "
                          "equally many",
                          (unsigned)rails, (unsigned)nics);
    }
    const int leaf = check_leaf(options, nics / rails, section, err);
    if (rc < 0 || leaf < 0) {
        return rc < 0 ? rc : leaf;
    }
    ty_fabric_shape_init(&shape, options, cluster);
    rc = check_pods(options, &shape, section, err);
    const int leaves =
        ty_exceptions_check_leaves(cluster, shape.spines > 0 ? shape.blocks * shape.rails : 0, err);
    return rc < 0 ? rc : leaves;
}
