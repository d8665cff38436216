/* presets.c - the networks we know, each text a `fabric` section.
 *
 * The first four are the shapes with the switches of today; the others were built. Sources:
 *
 *   QM9700     NVIDIA Quantum-2 QM9700 data sheet: 64 ports of 400 Gb/s
 *   QM8790     NVIDIA Quantum QM8790 data sheet: 40 ports of 200 Gb/s
 *   SuperPOD   NVIDIA DGX SuperPOD reference architectures (A100, H100): scalable units of 20 and
 *              32 nodes, NIC i of each on leaf i of the unit, full bisection
 *   Rail-only  Wang et al. 2023, arXiv 2307.12169: rails without a spine
 *   Llama 3    Grattafiori et al. 2024, arXiv 2407.21783, section 3.3.1: racks of two servers, pods
 *              of 192 racks without oversubscription, 1:7 between pods, E-ECMP, 16 flows between
 *              two GPUs */
#include "topology/fabric/fabric.h"

#include <stddef.h>

static const char non_blocking[] = "topology: non-blocking\n";

static const char fat_tree[] = "topology: fat-tree\n"
                               "leaf_ports: 64            # QM9700\n"
                               "routing: adaptive         # as InfiniBand from HDR on\n";

static const char rail_optimized[] = "topology: rail-optimized\n"
                                     "leaf_ports: 64            # QM9700\n"
                                     "routing: adaptive         # as fat-tree\n";

static const char rail_only[] = "topology: rail-only\n";

static const char superpod_a100[] =
    "topology: rail-optimized\n"
    "leaf_ports: 40            # QM8790; SuperPOD: 20 nodes a unit\n"
    "routing: adaptive         # SuperPOD\n";

static const char llama3[] = "topology: fat-tree\n"
                             "leaf_nodes: 2             # Llama 3: racks of two servers\n"
                             "pod_leaves: 192           # Llama 3: 3072 GPUs\n"
                             "pod_oversubscription: 7   # Llama 3\n"
                             "routing: ecmp             # Llama 3: E-ECMP on RoCE\n"
                             "ecmp_paths: 16            # Llama 3\n";

const struct ty_preset ty_fabric_presets[] = {
    {.name = "non-blocking",
     .summary = "all NICs on one ideal switch",
     .source = "an ideal",
     .text = non_blocking},
    {.name = "fat-tree",
     .summary = "all NICs of a node on one leaf of 64 ports, a spine of full bisection",
     .source = "NVIDIA QM9700 data sheet; Leiserson 1985",
     .text = fat_tree},
    {.name = "rail-optimized",
     .summary = "a leaf of 64 ports for each NIC of 32 nodes (DGX SuperPOD H100)",
     .source = "NVIDIA DGX SuperPOD reference architecture; NVIDIA QM9700 data sheet",
     .text = rail_optimized},
    {.name = "rail-only",
     .summary = "rails of any size without a spine: other rails are reached over NVLink",
     .source = "Wang et al. 2023, arXiv 2307.12169",
     .text = rail_only},
    {.name = "superpod-a100",
     .summary = "rails of 40-port leaves, units of 20 nodes (DGX SuperPOD A100)",
     .source = "NVIDIA DGX SuperPOD A100 reference architecture; NVIDIA QM8790 data sheet",
     .text = superpod_a100},
    {.name = "llama3-roce",
     .summary = "racks of 2 nodes, pods of 192 racks, 7:1 between pods, ECMP (Meta, 24k GPUs)",
     .source = "Grattafiori et al. 2024, arXiv 2407.21783",
     .text = llama3},
    {.name = NULL},
};
