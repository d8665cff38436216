/* check.c - what must agree in the `fabric` section, with itself and with the cluster.
 *
 * Keys that the chosen topology has no use for are mistakes where their value asks for an effect:
 * who writes an oversubscription of 2 expects to see it. Sizes of switches are not: they are just
 * there. */
#include "topology/fabric/internal.h"

#include <stdio.h>

#include "topology/exceptions.h"

static const char *form(const struct ty_fabric_options *options)
{
    return ty_fabric_form_words[options->topology].name;
}

/* Keys about uplinks and rails in a network without them. */
static int check_form(const struct ty_fabric_options *options, const struct ty_section *section,
                      struct ty_err *err)
{
    const bool spine = ty_fabric_has_spine(options), rails = ty_fabric_has_rails(options);
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
    if (!ty_fabric_has_spine(options) || options->leaf_nodes > 0 ||
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
    const uint32_t rails = ty_fabric_rails(options, cluster), nics = cluster->net.nics;
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
