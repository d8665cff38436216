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
 *   SimuMax    MooreThreads/SimuMax configs/system/b200_bf16_ceperm.json: gather and reduce-scatter
 *              of 2 to 8 B200, share of 900 GB/s and latency by least squares
 *   ml-eng     stas00/ml-engineering network/README.md: sweeps on 8 H200, 8 and 32 B200
 *   CoreWeave  coreweave/nccl-tests README: GB200 NVL72
 *   AWS        aws-samples/awsome-distributed-training micro-benchmarks/nccl-tests: 2 p4de, 2 p5
 *   ALCF       argonne-lcf/alcf-nccl-tests results_polaris: 2, 8 and 128 nodes of Polaris */
#include "topology/cluster.h"

#include <stddef.h>

/* What the steps of collectives take, by NCCL's tuning for Ampere and later. */
#define NCCL_STEPS                                                                                 \
    "nvlink_gather_latency: 18.4 us   # NCCL: base 8.4 us; launch 10 us is a guess\n" RING_STEPS
#define RING_STEPS                                                                                 \
    "nvlink_step: 3.4 us              # NCCL: ring, Simple protocol, NVLink\n"                     \
    "nvlink_tree_step: 4 us           # NCCL: tree, Simple protocol, NVLink\n"                     \
    "net_latency: 8.4 us              # NCCL: base latency, Simple protocol\n"

/* Networks. NCCL's own constants are those of InfiniBand. */
#define INFINIBAND                                                                                 \
    "net_step: 14 us                  # NCCL: Simple protocol, network\n"                          \
    "net_tree_step: 14 us             # NCCL: tree, Simple protocol, network\n"                    \
    "nic_efficiency: 0.96             # S62129\n"

/* A step over EFA is longer, by card: fitted up to 128 MiB on all-reduces of 2 nodes of p4de and p5
 * (AWS) and of 4 of P6-B200 (ml-eng), which take trees: rings are drawn on. */
#define EFA_1                                                                                      \
    "net_step: 50 us                  # guess 30 %: as trees\n"                                    \
    "net_tree_step: 50 us             # AWS: 164 us below 1 KiB, all of it latency\n"              \
    "net_rendezvous: 29 us            # AWS: 400 us from 1 MiB up\n"                               \
    "net_ll: false                    # aws-ofi-nccl: the order of bytes is not kept on p4\n"      \
    "nic_efficiency: 0.96             # S62129; AWS: 42 GB/s of 4 NICs at 2 GiB\n"
#define EFA_2                                                                                      \
    "net_step: 38 us                  # guess 30 %: as trees\n"                                    \
    "net_tree_step: 38 us             # AWS: 169 us at 4 MiB\n"                                    \
    "nic_efficiency: 0.96             # S62129\n"
#define EFA_4                                                                                      \
    "net_step: 76 us                  # guess 30 %: as trees\n"                                    \
    "net_tree_step: 76 us             # ml-eng: 378 us at 1 MiB on 4 nodes\n"                      \
    "nvls_tree_latency: 150 us        # ml-eng: 830 us at 64 MiB on 4 nodes\n"                     \
    "nic_efficiency: 0.96             # S62129\n"

/* Fitted on all-gathers and all-reduces of 2 and 8 nodes with the settings that ALCF calls best for
 * them, bandwidths on the largest. With those for all-to-alls a message takes 24 us, a long one 17
 * more, and 128 nodes are met within 12 %. */
#define SLINGSHOT                                                                                  \
    "net_step: 4 us                   # ALCF: what is left beside messages\n"                      \
    "net_tree_step: 5 us              # ALCF: the same\n"                                          \
    "net_message: 18 us               # ALCF: 8 nodes, 256 KiB to 2 MiB\n"                         \
    "net_rendezvous: 10 us            # ALCF: 8 nodes, 8 to 32 MiB\n"                              \
    "net_eager: 32 KiB                # ALCF: the time jumps above 128 KiB a rank and 4 "          \
    "channels\n"                                                                                   \
    "net_all_to_all_efficiency: 0.6   # ALCF: 19 to 21 GB/s a node\n"                              \
    "nic_efficiency: 0.72             # ALCF: 36 GB/s of two NICs\n"

static const char dgx1_v100[] = NCCL_STEPS INFINIBAND
    "gpu: v100-sxm2-32g\n"
    "gpus_per_node: 8                 # NVIDIA DGX-1 data sheet\n"
    "node_power: 3.5 kW               # NVIDIA DGX-1 data sheet\n"
    "idle_power: 0.9 kW               # guess: DGX H100 over the data sheet's\n"
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
    "net_p2p_latency: 15 us           # guess 30 %: as A100\n"
    "host: {memory: 512 GB,           # NVIDIA DGX-1 data sheet\n"
    "  bandwidth: 154 GB/s,           # 8 channels of DDR4-2400\n"
    "  link: 12 GB/s,                 # PCIe 3.0 x16, ZeRO-Infinity's slides\n"
    "  gpus_per_link: 2}              # two below each switch\n";

/* What is not of the node is that of dgx1-v100. */
static const char dgx2_v100[] = NCCL_STEPS INFINIBAND
    "gpu: v100-sxm2-32g\n"
    "gpus_per_node: 16                # NVIDIA DGX-2 data sheet\n"
    "nvlink_bandwidth: 150 GB/s       # NVIDIA DGX-2 data sheet: six links of 25 GB/s, NVSwitch\n"
    "nvlink_efficiency: 0.47          # slides of ZeRO-Infinity: a gather gets 70 GB/s\n"
    "nvlink_pair_efficiency: 0.8      # guess 15 %\n"
    "nvlink_latency: 38 us            # guess: as A100\n"
    "nvlink_p2p_efficiency: 0.8       # guess: as A100\n"
    "nvlink_p2p_latency: 8 us         # guess: as A100\n"
    "nics_per_node: 8                 # NVIDIA DGX-2 data sheet\n"
    "nic_bandwidth: 100 Gb/s          # NVIDIA DGX-2 data sheet: EDR InfiniBand\n"
    "net_ring_factor: 1.9             # NCCL: before Ampere\n"
    "net_p2p_efficiency: 0.8          # guess 15 %: as A100\n"
    "net_p2p_latency: 15 us           # guess 30 %: as A100\n"
    "host: {memory: 1.5 TB,           # NVIDIA DGX-2 data sheet\n"
    "  bandwidth: 256 GB/s,           # two Xeon 8168, 6 channels of DDR4-2666 each\n"
    "  adam: 3.9e9,                   # Ren et al. 2021, table 4: 1.03 s for 4e9\n"
    "  link: 12 GB/s,                 # slides of ZeRO-Infinity: one GPU alone\n"
    "  gpus_per_link: 4}              # PCIe 3.0 switches, one x16 up for four; paper: 3 GB/s "
    "each\n"
    "nvme: {capacity: 28 TB,          # slides of ZeRO-Infinity\n"
    "  read: 28 GB/s,                 # the same: 1.75 GB/s a GPU\n"
    "  write: 24 GB/s}                # guess 30 %: as an SSD timed by DeepNVMe\n";

#define A100_LINKS                                                                                 \
    NCCL_STEPS                                                                                     \
    "nvlink_bandwidth: 300 GB/s       # NVIDIA A100 data sheet: 600 GB/s both ways\n"              \
    "nvlink_efficiency: 0.76          # vTrain: 228 GB/s among 8\n"                                \
    "nvlink_pair_efficiency: 0.643    # vTrain: 193 GB/s between 2\n"                              \
    "nvlink_latency: 38 us            # vTrain: 50 us for 2 to 87 us for 8\n"                      \
    "nvlink_latency_per_rank: 6.1 us  # vTrain, as above\n"                                        \
    "nvlink_ll_latency: 33 us         # vTrain and vidur, below 8 MiB\n"                           \
    "nvlink_ll_latency_per_rank: 1.5 us # vTrain and vidur, as above\n"                            \
    "nvlink_ll_efficiency: 0.72       # vTrain, as above: 11 us per MiB among 8\n"                 \
    "nvlink_floor: 44 us              # vTrain: 1 MiB between 2\n"                                 \
    "nvlink_p2p_efficiency: 0.863     # vidur: 259 GB/s\n"                                         \
    "nvlink_p2p_latency: 8 us         # vidur\n"                                                   \
    "net_p2p_efficiency: 0.8          # guess 15 %: 20 GB/s\n"                                     \
    "net_p2p_latency: 15 us           # guess\n"

#define DGX_A100                                                                                   \
    A100_LINKS                                                                                     \
    INFINIBAND                                                                                     \
    "gpus_per_node: 8                 # NVIDIA DGX A100 data sheet\n"                              \
    "node_power: 6.5 kW               # NVIDIA DGX A100 data sheet\n"                              \
    "idle_power: 1.7 kW               # guess: DGX H100 over the data sheet's\n"                   \
    "two_node_tree: false             # nccl-tests#100, nccl#1048: 86 to 91 GB/s on 4 NICs\n"      \
    "nics_per_node: 8                 # NVIDIA DGX A100 data sheet, without storage NICs\n"        \
    "nic_bandwidth: 200 Gb/s          # NVIDIA DGX A100 data sheet: HDR InfiniBand\n"              \
    "net_ring_factor: 1.4             # NCCL: Ampere and later\n"

#define DGX_A100_HOST(memory, drives)                                                              \
    "host: {memory: " memory ",            # NVIDIA DGX A100 data sheet\n"                         \
    "  bandwidth: 410 GB/s,           # 16 channels of DDR4-3200\n"                                \
    "  link: 25 GB/s,                 # PCIe 4.0 x16\n"                                            \
    "  gpus_per_link: 2}              # DGX A100 system architecture: two below each switch\n"     \
    "nvme: {" drives
#define A100_DRIVES_40                                                                             \
    "capacity: 15.4 TB,        # NVIDIA DGX A100 data sheet: four SSDs\n"                          \
    "  read: 14 GB/s,                 # guess 30 %: 3.5 GB/s each\n"                               \
    "  write: 8 GB/s}                 # guess 30 %: 2 GB/s each\n"
#define A100_DRIVES_80                                                                             \
    "capacity: 30.7 TB,        # NVIDIA DGX A100 data sheet: eight SSDs\n"                         \
    "  read: 28 GB/s,                 # guess 30 %: 3.5 GB/s each\n"                               \
    "  write: 16 GB/s}                # guess 30 %: 2 GB/s each\n"

static const char dgx_a100_40[] =
    "gpu: a100-sxm-40g\n" DGX_A100 DGX_A100_HOST("1 TB", A100_DRIVES_40);
static const char dgx_a100_80[] =
    "gpu: a100-sxm-80g\n" DGX_A100 DGX_A100_HOST("2 TB", A100_DRIVES_80);

#define AWS_P4                                                                                     \
    A100_LINKS                                                                                     \
    EFA_1                                                                                          \
    "gpus_per_node: 8                 # AWS: EC2 P4 instances\n"                                   \
    "two_node_tree: true              # AWS: 78 GB/s of bus bandwidth on 48 GB/s of NICs\n"        \
    "nics_per_node: 4                 # AWS: EC2 P4 instances, 400 Gb/s a node\n"                  \
    "nic_bandwidth: 100 Gb/s          # AWS, as above\n"                                           \
    "net_ring_factor: 1.4             # NCCL: Ampere and later\n"

static const char aws_p4d[] = "gpu: a100-sxm-40g\n" AWS_P4;
static const char aws_p4de[] = "gpu: a100-sxm-80g\n" AWS_P4;

static const char polaris[] =
    "gpu: a100-sxm-40g\n" A100_LINKS SLINGSHOT
    "gpus_per_node: 4                 # ALCF: Polaris, without NVSwitch\n"
    "nics_per_node: 2                 # ALCF: Polaris\n"
    "nic_bandwidth: 200 Gb/s          # ALCF: Polaris, Slingshot 11\n"
    "two_node_tree: false             # ALCF: 36 GB/s of bus bandwidth on as many of NICs\n"
    "net_ring_factor: 1               # ALCF: all-reduces take twice all-gathers\n";

#define HOPPER                                                                                     \
    NCCL_STEPS                                                                                     \
    "gpus_per_node: 8                 # NVIDIA DGX H100 data sheet\n"                              \
    "node_power: 10.2 kW              # NVIDIA DGX H100 data sheet\n"                              \
    "idle_power: 2.6 kW               # MLPerf v4.0, 64 nodes: 5 % of samples\n"                   \
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

#define H100_LINKS                                                                                 \
    HOPPER "nvlink_bandwidth: 450 GB/s       # NVIDIA H100 data sheet: 900 GB/s both ways\n"
#define H800_LINKS                                                                                 \
    HOPPER "nvlink_bandwidth: 200 GB/s       # DeepSeek-AI 2025: 400 GB/s both ways\n"

#define DGX_H100_HOST                                                                              \
    "host: {memory: 2 TB,             # NVIDIA DGX H100 and H200 data sheets\n"                    \
    "  bandwidth: 614 GB/s,           # 16 channels of DDR5-4800\n"                                \
    "  link: 52 GB/s}                 # PCIe 5.0 x16\n"                                            \
    "nvme: {capacity: 30.7 TB,        # NVIDIA DGX H100 and H200 data sheets\n"                    \
    "  read: 50 GB/s,                 # guess 30 %: as DGX A100, twice as fast\n"                  \
    "  write: 30 GB/s}                # guess 30 %: the same\n"

static const char dgx_h100[] = "gpu: h100-sxm\n" H100_LINKS INFINIBAND DGX_H100_HOST;
static const char dgx_h200[] = "gpu: h200-sxm\n" H100_LINKS INFINIBAND DGX_H100_HOST;
/* Shares of the links are those of H100. */
static const char dgx_h800[] = "gpu: h800-sxm\n" H800_LINKS INFINIBAND;
/* 32 cards of 100 Gb/s, four to a GPU: the links are those of eight of 400. */
static const char aws_p5[] = "gpu: h100-sxm\n" H100_LINKS EFA_2;

#define BLACKWELL_LINKS                                                                            \
    RING_STEPS                                                                                     \
    "nvlink_bandwidth: 900 GB/s       # NVIDIA B200 data sheet: 1.8 TB/s both ways\n"              \
    "nvlink_efficiency: 0.756         # ml-eng: 680 GB/s, ring\n"                                  \
    "nvlink_pair_efficiency: 0.674    # SimuMax: 606 GB/s among 2 to 8\n"                          \
    "nvlink_gather_latency: 24 us     # SimuMax, beside the bytes: 98 us among 8 at 64 MiB,\n"     \
    "#                                  56 us among 4, 34 us between 2\n"                          \
    "nvlink_gather_latency_per_rank: 9.5 us # SimuMax, as above\n"                                 \
    "nvlink_latency: 67 us            # guess 30 %: 85 us among 8, as in the switch\n"             \
    "nvlink_latency_per_rank: 2.3 us  # guess: as H100\n"                                          \
    "nvlink_ll_latency: 36 us         # ml-eng: 48 us up to 512 KiB on 8 B200\n"                   \
    "nvlink_ll_latency_per_rank: 1.5 us # guess: as A100\n"                                        \
    "nvlink_ll_efficiency: 0.72       # guess: as A100\n"                                          \
    "nvlink_p2p_efficiency: 0.811     # guess 15 %: as H100\n"                                     \
    "nvlink_p2p_latency: 8.5 us       # guess: as H100\n"                                          \
    "nvls_latency: 85 us              # ml-eng: 4 to 256 MiB on 8 B200, less their bytes\n"        \
    "nvls_min_ranks: 6                # ml-eng\n"                                                  \
    "net_ring_factor: 1.4             # NCCL: Ampere and later\n"                                  \
    "net_p2p_efficiency: 0.7          # guess 15 %: as H100\n"                                     \
    "net_p2p_latency: 11.4 us         # guess 30 %: as H100\n"

#define NDR "nic_bandwidth: 400 Gb/s          # NVIDIA DGX B200 data sheet\n"
#define XDR "nic_bandwidth: 800 Gb/s          # NVIDIA DGX B300 data sheet: ConnectX-8\n"

#define B200_NODE                                                                                  \
    BLACKWELL_LINKS                                                                                \
    "gpus_per_node: 8                 # NVIDIA DGX B200 data sheet\n"                              \
    "node_power: 14.3 kW              # NVIDIA DGX B200 data sheet\n"                              \
    "idle_power: 2.6 kW               # guess: as DGX H100\n"                                      \
    "nics_per_node: 8                 # NVIDIA DGX B200 data sheet, without storage NICs\n"        \
    "nvls_efficiency: 0.931           # ml-eng: bus bandwidth 838 GB/s\n"

static const char dgx_b200[] = "gpu: b200-sxm\n" B200_NODE NDR INFINIBAND;
static const char dgx_b300[] = "gpu: b300-sxm\n" B200_NODE XDR INFINIBAND;
static const char aws_p6_b200[] = "gpu: b200-sxm\n" B200_NODE NDR EFA_4;

/* One NVLink domain is one node here, though it is built of 18 trays, with a NIC for each GPU; jobs
 * in powers of two write gpus_per_node: 64. Its large all-reduces carry
 * about 0.5 ms more than nvls_latency below 2 GiB (CoreWeave), which this does not follow. */
#define NVL72                                                                                      \
    BLACKWELL_LINKS INFINIBAND                                                                     \
        "gpus_per_node: 72                # NVIDIA GB200 NVL72 data sheet\n"                       \
        "node_power: 120 kW               # guess 10 %: NVIDIA, about 120 kW a rack\n"             \
        "idle_power: 23 kW                # guess: DGX H100 by GPUs\n"                             \
        "nvls_efficiency: 0.931           # CoreWeave: bus bandwidth 839 GB/s among 72\n"

static const char gb200_nvl72[] = "gpu: gb200\n" NVL72 NDR;
static const char gb300_nvl72[] = "gpu: gb300\n" NVL72 XDR;

const struct ty_preset ty_cluster_presets[] = {
    {.name = "dgx1-v100",
     .summary = "8 V100 32 GB on NVLink, 4 x EDR InfiniBand",
     .source = "NVIDIA DGX-1 data sheet; VIA-Research/vTrain; NVIDIA/nccl tuning.cc",
     .text = dgx1_v100},
    {.name = "dgx2-v100",
     .summary = "16 V100 32 GB on NVSwitch, 8 x EDR InfiniBand",
     .source = "NVIDIA DGX-2 data sheet; ZeRO-Infinity, slides of SC21; Ren et al. 2021",
     .text = dgx2_v100},
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
    {.name = "dgx-h800",
     .summary = "8 H800 on NVSwitch, 8 x NDR InfiniBand",
     .source = "DeepSeek-AI, arXiv 2505.09343; links of dgx-h100 but for their bandwidth",
     .text = dgx_h800},
    {.name = "dgx-b200",
     .summary = "8 B200 on NVSwitch, 8 x NDR InfiniBand",
     .source = "NVIDIA DGX B200 data sheet; stas00/ml-engineering; NVIDIA/nccl",
     .text = dgx_b200},
    {.name = "dgx-b300",
     .summary = "8 B300 on NVSwitch, 8 x XDR InfiniBand",
     .source = "NVIDIA DGX B300 data sheet; links of dgx-b200",
     .text = dgx_b300},
    {.name = "aws-p4d",
     .summary = "8 A100 40 GB on NVSwitch, 4 x 100 Gb/s EFA",
     .source = "EC2 P4 instances; aws-samples/awsome-distributed-training; links of dgx-a100-40g",
     .text = aws_p4d},
    {.name = "aws-p4de",
     .summary = "8 A100 80 GB on NVSwitch, 4 x 100 Gb/s EFA",
     .source = "EC2 P4 instances; aws-samples/awsome-distributed-training; links of dgx-a100-80g",
     .text = aws_p4de},
    {.name = "aws-p5",
     .summary = "8 H100 on NVSwitch, 32 x 100 Gb/s EFA, as 8 of 400",
     .source = "EC2 P5 instances; aws-samples/awsome-distributed-training; links of dgx-h100",
     .text = aws_p5},
    {.name = "aws-p6-b200",
     .summary = "8 B200 on NVSwitch, 8 x 400 Gb/s EFA",
     .source = "EC2 P6 instances; stas00/ml-engineering; links of dgx-b200",
     .text = aws_p6_b200},
    {.name = "polaris",
     .summary = "4 A100 40 GB on NVLink, 2 x 200 Gb/s Slingshot",
     .source = "argonne-lcf/alcf-nccl-tests; links of dgx-a100-40g",
     .text = polaris},
    {.name = "gb200-nvl72",
     .summary = "72 GB200 GPUs in one NVLink domain, one 400 Gb/s NIC each",
     .source = "NVIDIA GB200 NVL72 data sheet; coreweave/nccl-tests; stas00/ml-engineering",
     .text = gb200_nvl72},
    {.name = "gb300-nvl72",
     .summary = "72 GB300 GPUs in one NVLink domain, one 800 Gb/s NIC each",
     .source = "NVIDIA GB300 NVL72 data sheet; links of gb200-nvl72",
     .text = gb300_nvl72},
    {.name = NULL},
};
