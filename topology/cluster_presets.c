/* cluster_presets.c - the machines we know: a GPU, the links of its node, and the NICs.
 *
 * Each text is a `cluster` section without `nodes`. Efficiencies are bus bandwidths of nccl-tests
 * over the hardware bandwidth; latencies are intercepts of fits over message size, or NCCL's own
 * tuning constants. Sources:
 *
 *   vTrain     VIA-Research/vTrain trace/a100 and trace/v100: all-reduce of 2 to 8 GPUs, 1 MiB to 1
 *              GiB; intercept and slope by least squares
 *   vidur      microsoft/vidur data/profiling/network: all-reduce and send-receive up to 64 MiB
 *   NCCL       NVIDIA/nccl src/graph/tuning.cc and topo.h, 2.30
 *   S62129     NVIDIA GTC24 S62129: 24 GB/s of a 200 Gb/s NIC, 48 GB/s of a 400 Gb/s one
 *   ml-eng     stas00/ml-engineering network/README.md: sweeps on 8 H200, 8 and 32 B200
 *   CoreWeave  coreweave/nccl-tests README: GB200 NVL72 */
#include "topology/cluster.h"

#include <stddef.h>

/* What a collective pays between nodes, by NCCL's tuning for Ampere and later. */
#define NET_LATENCIES                                                                              \
    "nvlink_gather_latency: 18.4 us   # NCCL: base 8.4 us; launch 10 us is a guess\n"              \
    "nvlink_step: 3.4 us              # NCCL: ring, Simple protocol, NVLink\n"                     \
    "nvlink_tree_step: 4 us           # NCCL: tree, Simple protocol, NVLink\n"                     \
    "net_step: 14 us                  # NCCL: Simple protocol, network\n"                          \
    "net_tree_step: 14 us             # NCCL: tree, Simple protocol, network\n"                    \
    "net_latency: 8.4 us              # NCCL: base latency, Simple protocol\n"                     \
    "nic_efficiency: 0.96             # S62129\n"

static const char dgx1_v100[] =
    NET_LATENCIES "gpu: v100-sxm2-32g\n"
                  "gpus_per_node: 8                 # NVIDIA DGX-1 data sheet\n"
                  "nvlink_bandwidth: 150 GB/s       # NVIDIA V100 data sheet: 6 links of 25 GB/s\n"
                  "nvlink_efficiency: 0.907         # vTrain: 136 GB/s among 8, on six rings\n"
                  "nvlink_links: [01122000, 10210200, 12020010, 21200001, 20000112, 02001021, "
                  "00101202, 00012120] # DGX-1 system architecture: hybrid cube mesh\n"
                  "nvlink_latency: 13 us            # vTrain: 40 us among 4, 67 us among 8\n"
                  "nvlink_latency_per_rank: 6.75 us # vTrain, as above\n"
                  "nvlink_p2p_efficiency: 0.15      # guess 15 %: as the pair\n"
                  "nvlink_p2p_latency: 8 us         # guess: as A100\n"
                  "nics_per_node: 4                 # NVIDIA DGX-1 data sheet\n"
                  "nic_bandwidth: 100 Gb/s          # NVIDIA DGX-1 data sheet: EDR InfiniBand\n"
                  "net_ring_factor: 1.9             # NCCL: before Ampere\n"
                  "net_p2p_efficiency: 0.8          # guess 15 %: as A100\n"
                  "net_p2p_latency: 15 us           # guess 30 %: as A100\n";

#define DGX_A100                                                                                   \
    NET_LATENCIES                                                                                  \
    "gpus_per_node: 8                 # NVIDIA DGX A100 data sheet\n"                              \
    "nvlink_bandwidth: 300 GB/s       # NVIDIA A100 data sheet: 600 GB/s both ways\n"              \
    "nvlink_efficiency: 0.76          # vTrain: 228 GB/s among 8\n"                                \
    "nvlink_pair_efficiency: 0.643    # vTrain: 193 GB/s between 2\n"                              \
    "nvlink_latency: 38 us            # vTrain: 50 us for 2 to 87 us for 8\n"                      \
    "nvlink_latency_per_rank: 6.1 us  # vTrain, as above\n"                                        \
    "nvlink_ll_latency: 33 us         # vTrain and vidur, below 8 MiB\n"                           \
    "nvlink_ll_latency_per_rank: 1.5 us # vTrain and vidur, as above\n"                            \
    "nvlink_ll_efficiency: 0.72       # vTrain, as above: 11 us per MiB among 8\n"                 \
    "nvlink_floor: 44 us              # vTrain: 1 MiB between 2\n"                                 \
    "two_node_tree: false             # nccl-tests#100, nccl#1048: 86 to 91 GB/s on 4 NICs\n"      \
    "nvlink_p2p_efficiency: 0.863     # vidur: 259 GB/s\n"                                         \
    "nvlink_p2p_latency: 8 us         # vidur\n"                                                   \
    "nics_per_node: 8                 # NVIDIA DGX A100 data sheet, without storage NICs\n"        \
    "nic_bandwidth: 200 Gb/s          # NVIDIA DGX A100 data sheet: HDR InfiniBand\n"              \
    "net_ring_factor: 1.4             # NCCL: Ampere and later\n"                                  \
    "net_p2p_efficiency: 0.8          # guess 15 %: 20 GB/s\n"                                     \
    "net_p2p_latency: 15 us           # guess\n"

static const char dgx_a100_40[] = "gpu: a100-sxm-40g\n" DGX_A100;
static const char dgx_a100_80[] = "gpu: a100-sxm-80g\n" DGX_A100;

#define DGX_HOPPER                                                                                 \
    NET_LATENCIES                                                                                  \
    "gpus_per_node: 8                 # NVIDIA DGX H100 data sheet\n"                              \
    "nvlink_bandwidth: 450 GB/s       # NVIDIA H100 data sheet: 900 GB/s both ways\n"              \
    "nvlink_efficiency: 0.811         # vidur: 365 GB/s among 8; ml-eng 368\n"                     \
    "nvlink_pair_efficiency: 0.664    # vidur: 299 GB/s between 2\n"                               \
    "nvlink_latency: 16 us            # vidur: 20 us for 2 to 34 us for 8\n"                       \
    "nvlink_latency_per_rank: 2.3 us  # vidur, as above\n"                                         \
    "nvlink_floor: 38 us              # vidur: 34 to 43 us up to 4 MiB\n"                          \
    "two_node_tree: true              # 2 nodes with EFA: 487 GB/s on 388 GB/s of NICs\n"          \
    "nvlink_p2p_efficiency: 0.811     # vidur: 365 GB/s\n"                                         \
    "nvlink_p2p_latency: 8.5 us       # vidur\n"                                                   \
    "nvls_efficiency: 1.067           # ml-eng: bus bandwidth 480 GB/s\n"                          \
    "nvls_latency: 50 us              # ml-eng: intercept 51 us on 8 H200\n"                       \
    "nvls_min_ranks: 5                # ml-eng\n"                                                  \
    "nics_per_node: 8                 # NVIDIA DGX H100 data sheet, without storage NICs\n"        \
    "nic_bandwidth: 400 Gb/s          # NVIDIA DGX H100 data sheet: NDR InfiniBand\n"              \
    "net_ring_factor: 1.4             # NCCL: Ampere and later\n"                                  \
    "net_p2p_efficiency: 0.7          # vidur: 35 GB/s\n"                                          \
    "net_p2p_latency: 11.4 us         # vidur\n"

static const char dgx_h100[] = "gpu: h100-sxm\n" DGX_HOPPER;
static const char dgx_h200[] = "gpu: h200-sxm\n" DGX_HOPPER;

#define BLACKWELL_LINKS                                                                            \
    NET_LATENCIES                                                                                  \
    "nvlink_bandwidth: 900 GB/s       # NVIDIA B200 data sheet: 1.8 TB/s both ways\n"              \
    "nvlink_efficiency: 0.756         # ml-eng: 680 GB/s, ring\n"                                  \
    "nvlink_pair_efficiency: 0.62     # guess 10 %: H100's ratio of pair to node\n"                \
    "nvlink_latency: 16 us            # guess 30 %: as H100\n"                                     \
    "nvlink_latency_per_rank: 2.3 us  # guess: as H100\n"                                          \
    "nvlink_p2p_efficiency: 0.811     # guess 15 %: as H100\n"                                     \
    "nvlink_p2p_latency: 8.5 us       # guess: as H100\n"                                          \
    "nvls_latency: 50 us              # ml-eng: 48 to 51 us up to 1 MiB on 8 B200\n"               \
    "nvls_min_ranks: 6                # ml-eng\n"                                                  \
    "nic_bandwidth: 400 Gb/s          # NVIDIA DGX B200 data sheet\n"                              \
    "net_ring_factor: 1.4             # NCCL: Ampere and later\n"                                  \
    "net_p2p_efficiency: 0.7          # guess 15 %: as H100\n"                                     \
    "net_p2p_latency: 11.4 us         # guess 30 %: as H100\n"

static const char dgx_b200[] =
    "gpu: b200-sxm\n" BLACKWELL_LINKS
    "gpus_per_node: 8                 # NVIDIA DGX B200 data sheet\n"
    "nics_per_node: 8                 # NVIDIA DGX B200 data sheet, without storage NICs\n"
    "nvls_efficiency: 0.931           # ml-eng: bus bandwidth 838 GB/s\n";

/* One NVLink domain is one node here, though it is built of 18 trays. Its large all-reduces carry
 * about 0.5 ms more than nvls_latency below 2 GiB (CoreWeave), which this does not follow. */
static const char gb200_nvl72[] =
    "gpu: gb200\n" BLACKWELL_LINKS
    "gpus_per_node: 72                # NVIDIA GB200 NVL72 data sheet\n"
    "nics_per_node: 72                # NVIDIA GB200 NVL72 data sheet: one per GPU\n"
    "nvls_efficiency: 0.931           # CoreWeave: bus bandwidth 839 GB/s among 72\n";

const struct ty_preset ty_cluster_presets[] = {
    {.name = "dgx1-v100",
     .summary = "8 V100 32 GB on NVLink, 4 x EDR InfiniBand",
     .source = "NVIDIA DGX-1 data sheet; VIA-Research/vTrain; NVIDIA/nccl tuning.cc",
     .text = dgx1_v100},
    {.name = "dgx-a100-40g",
     .summary = "8 A100 40 GB on NVSwitch, 8 x HDR InfiniBand",
     .source = "NVIDIA DGX A100 data sheet; VIA-Research/vTrain; microsoft/vidur; NVIDIA/nccl",
     .text = dgx_a100_40},
    {.name = "dgx-a100-80g",
     .summary = "8 A100 80 GB on NVSwitch, 8 x HDR InfiniBand",
     .source = "NVIDIA DGX A100 data sheet; VIA-Research/vTrain; microsoft/vidur; NVIDIA/nccl",
     .text = dgx_a100_80},
    {.name = "dgx-h100",
     .summary = "8 H100 on NVSwitch, 8 x NDR InfiniBand",
     .source = "NVIDIA DGX H100 data sheet; microsoft/vidur; stas00/ml-engineering; NVIDIA/nccl",
     .text = dgx_h100},
    {.name = "dgx-h200",
     .summary = "8 H200 on NVSwitch, 8 x NDR InfiniBand",
     .source = "NVIDIA DGX H200 data sheet; stas00/ml-engineering; links of dgx-h100",
     .text = dgx_h200},
    {.name = "dgx-b200",
     .summary = "8 B200 on NVSwitch, 8 x NDR InfiniBand",
     .source = "NVIDIA DGX B200 data sheet; stas00/ml-engineering; NVIDIA/nccl",
     .text = dgx_b200},
    {.name = "gb200-nvl72",
     .summary = "72 GB200 GPUs in one NVLink domain, one 400 Gb/s NIC each",
     .source = "NVIDIA GB200 NVL72 data sheet; coreweave/nccl-tests; stas00/ml-engineering",
     .text = gb200_nvl72},
    {.name = NULL},
};
