/* cluster.c - the `cluster` section: its keys, what may be left out, and what must agree.
 *
 * A row per member of struct ty_cluster; the fallbacks make a cluster that is spelled out without a
 * preset complete: a GPU (peaks, memory, memory_bandwidth), the shape (gpus_per_node), and a
 * bandwidth for each link the shape has. Fallback efficiencies lie between what A100 and H100
 * reach (sources in gpu_presets.c and cluster_presets.c); "guess" in a doc line marks the rest. */
#include "topology/cluster.h"

#include <stdio.h>
#include <string.h>

const struct ty_word ty_dtype_words[] = {
    {"bf16", TY_DTYPE_BF16, "bfloat16, 8 bits of exponent"},
    {"fp16", TY_DTYPE_FP16, "IEEE half precision"},
    {"fp32", TY_DTYPE_FP32, "IEEE single precision, without TF32"},
    {"fp8", TY_DTYPE_FP8, "8-bit GEMMs, Hopper and later"},
    {"nvfp4", TY_DTYPE_NVFP4, "4-bit GEMMs with a scale for 16 elements, Blackwell and later"},
    {NULL, 0, NULL},
};

const struct ty_word ty_attention_words[] = {
    {"unfused", TY_ATTENTION_UNFUSED, "framework operators; scores go through memory"},
    {"fused-softmax", TY_ATTENTION_FUSED_SOFTMAX, "scale, mask and softmax in one kernel"},
    {"flash1", TY_ATTENTION_FLASH1, "FlashAttention (Dao et al. 2022)"},
    {"flash2", TY_ATTENTION_FLASH2, "FlashAttention-2 (Dao 2023)"},
    {"flash3", TY_ATTENTION_FLASH3, "FlashAttention-3 (Shah et al. 2024), made for Hopper"},
    {NULL, 0, NULL},
};

double ty_dtype_bytes(enum ty_dtype dtype)
{
    return dtype == TY_DTYPE_FP32 ? 4 : 2;
}

#define ROW(key_, type_, ...) TY_FIELD(struct ty_cluster, #key_, key_, type_, __VA_ARGS__)
#define ROW_AT(key_, member_, type_, ...)                                                          \
    TY_FIELD(struct ty_cluster, key_, member_, type_, __VA_ARGS__)
#define TEXT(key_, doc_) ROW(key_, STRING, .doc = (doc_))

#define COUNT(key_, member_, min_, max_, fallback_, doc_)                                          \
    ROW_AT(#key_, member_, UINT, .min = (min_), .max = (max_), .fallback = (fallback_),            \
           .doc = (doc_))

#define VALUE(key_, member_, dim_, min_, max_, fallback_, doc_)                                    \
    ROW_AT(#key_, member_, QUANTITY, .dim = TY_DIM_##dim_, .min = (min_), .max = (max_),           \
           .fallback = (fallback_), .doc = (doc_))

#define OPTIONAL(key_, member_, dim_, min_, max_, blank_, doc_)                                    \
    ROW_AT(#key_, member_, QUANTITY, .dim = TY_DIM_##dim_, .min = (min_), .max = (max_),           \
           .fallback = (blank_), .blank = (blank_), .doc = (doc_))

#define NEEDED(key_, dim_, min_, max_, doc_)                                                       \
    ROW_AT(#key_, gpu.key_, QUANTITY, .dim = TY_DIM_##dim_, .min = (min_), .max = (max_),          \
           .required = true, .doc = (doc_))

/* The common kinds: a share of a hardware figure, a latency, a plain factor, a peak, a curve. */
#define SHARE(key_, at_, fallback_, doc_)        VALUE(key_, at_, RATIO, 0.001, 1, fallback_, doc_)
#define LATENCY(key_, at_, fallback_, doc_)      VALUE(key_, at_, SECONDS, 0, 1, fallback_, doc_)
#define FACTOR(key_, at_, max_, fallback_, doc_) VALUE(key_, at_, COUNT, 0.1, max_, fallback_, doc_)
#define POWER(key_, at_, doc_)                                                                     \
    ROW_AT(#key_, at_, QUANTITY, .dim = TY_DIM_WATTS, .min = 0.1, .max = 1e6, .fallback = "none",  \
           .blank = "none", .aside = true, .doc = doc_)
#define PEAK(key_, dtype_, doc_)                                                                   \
    OPTIONAL(key_, gpu.peak[TY_DTYPE_##dtype_], FLOPS, 1e9, 1e18, "none", doc_)
#define RATE(key_, attention_, doc_)                                                               \
    OPTIONAL(key_, gpu.attention[TY_ATTENTION_##attention_].rate_max, FLOPS, 1e9, 1e18, "auto",    \
             doc_)
#define HALF(key_, attention_, fallback_, doc_)                                                    \
    VALUE(key_, gpu.attention[TY_ATTENTION_##attention_].half, COUNT, 0, 1e6, fallback_, doc_)

const struct ty_field ty_cluster_fields[] = {
    TEXT(preset, "a machine to start from (trainyard list clusters); other keys override it"),
    ROW_AT("gpu", gpu_preset, STRING,
           .doc = "a GPU to start from (trainyard list gpus); other keys override it"),

    PEAK(peak_bf16, BF16, "dense bf16 matrix rate of a GPU, FLOP/s"),
    PEAK(peak_fp16, FP16, "dense fp16 matrix rate of a GPU, FLOP/s"),
    PEAK(peak_fp32, FP32, "fp32 rate of a GPU, FLOP/s"),
    PEAK(peak_fp8, FP8, "dense fp8 matrix rate of a GPU, FLOP/s"),
    PEAK(peak_fp4, NVFP4, "dense NVFP4 matrix rate of a GPU, FLOP/s"),
    NEEDED(memory, BYTES, 1e6, 1e14, "memory of a GPU as a framework sees it, bytes"),
    NEEDED(memory_bandwidth, BYTES_PER_S, 1e6, 1e15, "memory bandwidth of a GPU, B/s"),
    OPTIONAL(l2, gpu.l2, BYTES, 1e3, 1e12, "none", "second-level cache of a GPU, bytes"),
    OPTIONAL(l2_bandwidth, gpu.l2_bandwidth, BYTES_PER_S, 1e6, 1e15, "none",
             "bandwidth of additions and norms whose tensors lie in that cache, B/s"),
    ROW_AT("sms", gpu.sms, UINT, .min = 1, .max = 10000, .fallback = "128",
           .doc = "streaming multiprocessors of a GPU"),
    SHARE(gemm_efficiency, gpu.gemm_efficiency, "0.72",
          "share of the peak that a large GEMM reaches"),
    OPTIONAL(fp8_efficiency, gpu.fp8_efficiency, RATIO, 0.001, 1, "auto",
             "the same for fp8 GEMMs; auto: gemm_efficiency"),
    OPTIONAL(fp4_efficiency, gpu.fp4_efficiency, RATIO, 0.001, 1, "auto",
             "the same for NVFP4 GEMMs; auto: gemm_efficiency"),
    FACTOR(mxfp8_speed, gpu.mxfp8_speed, 2, "1",
           "rate of fp8 GEMMs with a scale for 32 elements (framework.fp8_recipe mxfp8), over that "
           "with one scale a tensor"),
    FACTOR(fp8_attention, gpu.fp8_attention, 4, "1.2",
           "rate of flash attention with fp8 operands (framework.fp8_attention) and heads of 128 "
           "over that of 16 bit (guess 15 %)"),
    FACTOR(mxfp8_attention, gpu.mxfp8_attention, 4, "1.08",
           "the same with a scale for 32 elements (framework.fp8_recipe mxfp8; guess 15 %)"),
    ROW_AT("fp8_reads_both", gpu.fp8_reads_both, BOOL, .fallback = "false",
           .doc = "whether fp8 GEMMs read operands along rows and along columns of memory; false: "
                  "weight gradients need transposed copies. Blocks with scales need a copy in "
                  "either case"),
    LATENCY(gemm_overhead, gpu.gemm_overhead, "8 us", "fixed time of a GEMM, s"),
    VALUE(gemm_ramp, gpu.gemm_ramp, COUNT, 0, 10000, "0",
          "added length of the inner dimension of a GEMM: filling and draining its tiles"),
    VALUE(gemm_wave, gpu.gemm_wave, RATIO, 0, 1, "0",
          "weight of wave quantisation: 0 smooth, 1 whole waves of tiles"),
    VALUE(gemm_load, gpu.gemm_load, COUNT, 0, 1000, "0",
          "with waves: time to load an operand of a tile, in multiply-adds, which smaller tiles "
          "pay more often; 0: all tiles are large"),
    VALUE(
        fp8_ramp, gpu.fp8_ramp, COUNT, 0, 10000, "700",
        "gemm_ramp of fp8 GEMMs, which take half the time for the same depth but as long to store "
        "their results"),
    FACTOR(wgrad_slowdown, gpu.wgrad_slowdown, 10, "1.05",
           "factor on the time of weight-gradient GEMMs"),
    VALUE(wgrad_result, gpu.wgrad_result, RATIO, 0, 2, "1",
          "weight gradients of experts, many small GEMMs: the part of the time to add them to "
          "those of earlier micro-batches that the GEMMs do not hide"),
    VALUE(gemm_sustained, gpu.gemm_sustained, RATIO, 0.1, 1, "1",
          "rate of GEMMs within a step, over that of a GEMM timed alone: the effect of the GPU's "
          "power limit"),
    RATE(flash1_rate, FLASH1,
         "limit for long sequences of FlashAttention 1, forward and backward, causal, FLOP/s; "
         "auto: 0.2 of the 16-bit peak (guess 25 %)"),
    HALF(flash1_half, FLASH1, "273", "tokens of sequence at which flash1 reaches half its limit"),
    RATE(flash2_rate, FLASH2,
         "the same for FlashAttention 2, FLOP/s; auto: 0.45 of the 16-bit peak (guess 25 %)"),
    HALF(flash2_half, FLASH2, "500", "tokens of sequence at which flash2 reaches half its limit"),
    RATE(flash3_rate, FLASH3,
         "the same for FlashAttention 3, FLOP/s; auto: 0.55 of the 16-bit peak (guess 25 %)"),
    HALF(flash3_half, FLASH3, "600", "tokens of sequence at which flash3 reaches half its limit"),
    SHARE(scan_efficiency, gpu.scan_efficiency, "0.077",
          "share of the peak in scans of states and linear attention"),
    SHARE(add_efficiency, gpu.add_efficiency, "0.88",
          "share of memory_bandwidth in a residual addition"),
    SHARE(activation_efficiency, gpu.activation_efficiency, "0.5",
          "share of memory_bandwidth in an activation function"),
    SHARE(rope_efficiency, gpu.rope_efficiency, "0.45",
          "share of memory_bandwidth in a rotary embedding"),
    FACTOR(norm_passes, gpu.norm_passes, 1000, "3.1",
           "time of a fused norm, in reads and writes of its tensor at memory_bandwidth"),
    FACTOR(norm_passes_unfused, gpu.norm_passes_unfused, 1000, "16",
           "the same for a norm made of framework operators"),
    LATENCY(kernel_overhead, gpu.kernel_overhead, "2 us", "fixed time of an elementwise kernel, s"),
    FACTOR(host_speed, gpu.host_speed, 100, "1",
           "speed of the host thread that launches kernels, over that of an A100 host: divides "
           "framework.layer_floor and framework.pass_overhead"),
    SHARE(optimizer_efficiency, gpu.optimizer_efficiency, "0.8",
          "share of memory_bandwidth in an optimizer step (guess 15 %)"),
    POWER(tensor_power, gpu.tensor_power,
          "W of a GPU's tensor cores at the peak of any type; see docs/internals/model.md"),
    POWER(memory_power, gpu.memory_power, "W of a GPU's memory at memory_bandwidth"),
    POWER(active_power, gpu.active_power,
          "W that a GPU in a step draws more than an idle one, whatever it runs"),
    POWER(board_power, gpu.board_power, "W beyond an idle GPU that its board can draw"),
    FACTOR(derate, gpu.derate, 10, "1.1",
           "factor on every compute time: training frameworks against kernel benchmarks (guess 10 "
           "%)"),

    FACTOR(
        collective_derate, collectives.derate, 10, "1",
        "factor on every time of a collective: training steps, where ranks arrive apart, against "
        "nccl-tests"),

    COUNT(nodes, nodes, 1, 65536, "1", "nodes of the cluster"),
    ROW(gpus_per_node, UINT, .min = 1, .max = 1024, .required = true,
        .doc = "GPUs that NVLink joins"),
    OPTIONAL(nvlink_bandwidth, nvlink.bandwidth, BYTES_PER_S, 1e6, 1e14, "none",
             "NVLink bandwidth of a GPU, one direction, B/s"),
    ROW_AT("nvlink_links", nvlink.pair_rows, STRINGS, .fallback = "none", .blank = "none",
           .example = "[0121, 1012, 2101, 1210]",
           .doc = "of a node without a switch: links between each two of its GPUs, a row per GPU "
                  "and a digit per peer, the numbers behind NV in nvidia-smi topo -m"),
    VALUE(nvlink_efficiency, nvlink.efficiency, RATIO, 0.001, 2, "0.76",
          "nccl-tests bus bandwidth over a full node, as share of nvlink_bandwidth"),
    VALUE(nvlink_pair_efficiency, nvlink.pair_efficiency, RATIO, 0.001, 2, "0.64",
          "the same between two GPUs; in between: linear in 1/n"),
    SHARE(nvlink_p2p_efficiency, nvlink.p2p_efficiency, "0.8",
          "share of nvlink_bandwidth that one message reaches"),
    OPTIONAL(nvls_efficiency, nvls.efficiency, RATIO, 0.001, 4, "none",
             "bus bandwidth of an all-reduce in the NVSwitch, as share of nvlink_bandwidth"),
    LATENCY(nvls_latency, nvls.latency, "50 us", "fixed time of an all-reduce in the NVSwitch, s"),
    LATENCY(
        nvls_tree_latency, nvls.tree_latency, "420 us",
        "fixed time of an all-reduce in the NVSwitches of several nodes, s (4 nodes of B200 with "
        "EFA: 418 us)"),
    COUNT(nvls_min_ranks, nvls.min_ranks, 2, 1024, "5",
          "smallest group that reduces in the "
          "NVSwitch"),
    LATENCY(nvlink_latency, nvlink.latency, "38 us",
            "fixed time of an all-reduce inside a node, s"),
    LATENCY(nvlink_latency_per_rank, nvlink.latency_per_rank, "6 us", "and its time per rank, s"),
    LATENCY(nvlink_ll_latency, nvlink.ll_latency, "0 s",
            "fixed time of an all-reduce inside a node with LL128's flags, s"),
    LATENCY(nvlink_ll_latency_per_rank, nvlink.ll_latency_per_rank, "0 s",
            "and its time per rank, s"),
    OPTIONAL(nvlink_ll_efficiency, nvlink.ll_efficiency, RATIO, 0.001, 1, "none",
             "share of the bus bandwidth that is left with those flags"),
    LATENCY(nvlink_floor, nvlink.floor, "0 s", "shortest time of a collective inside a node, s"),
    LATENCY(nvlink_gather_latency, nvlink.gather_latency, "18.4 us",
            "fixed time of the other collectives inside a node, s"),
    OPTIONAL(nvlink_gather_latency_per_rank, nvlink.gather_per_rank, SECONDS, 0, 1, "auto",
             "and their time per further rank, s; auto: nvlink_step"),
    LATENCY(nvlink_step, nvlink.step, "3.4 us",
            "time of a ring's step over NVLink, s (NCCL tuning)"),
    LATENCY(nvlink_tree_step, nvlink.tree_step, "4 us",
            "time of a tree's step over NVLink, s (NCCL tuning)"),
    LATENCY(nvlink_p2p_latency, nvlink.p2p_latency, "8 us",
            "fixed time of a message inside a node, s"),

    ROW_AT("nics_per_node", net.nics, UINT, .min = 1, .max = 4096, .fallback = "auto",
           .blank = "auto", .doc = "network interfaces of a node; auto: one per GPU"),
    OPTIONAL(nic_bandwidth, net.nic_bandwidth, BYTES_PER_S, 1e6, 1e14, "none",
             "bandwidth of a network interface, one direction, B/s"),
    SHARE(nic_efficiency, net.nic_efficiency, "0.96",
          "share of nic_bandwidth that a collective reaches"),
    LATENCY(net_step, net.step, "14 us", "time of a ring's step between nodes, s (NCCL tuning)"),
    LATENCY(net_tree_step, net.tree_step, "14 us",
            "time of a tree's level between nodes, s (NCCL tuning)"),
    LATENCY(
        net_message, net.message, "0 s",
        "time that the network's software takes for each message of a step between nodes, those "
        "of a node one after another, s; 0: none, as on InfiniBand"),
    LATENCY(net_rendezvous, net.rendezvous, "0 s",
            "and for a message that is longer than net_eager, s"),
    VALUE(net_eager, net.eager, BYTES, 0, 1e9, "32 KiB",
          "longest message that is sent without asking first, bytes"),
    SHARE(net_all_to_all_efficiency, net.all_to_all_efficiency, "1",
          "share of nic_efficiency that an all-to-all reaches"),
    ROW_AT("net_ll", net.ll, BOOL, .fallback = "true",
           .doc = "whether small collectives between nodes may take NCCL's LL protocol"),
    ROW_AT(
        "two_node_tree", net.two_node_tree, BOOL, .fallback = "false",
        .doc =
            "whether the trees of an all-reduce over two nodes cross the network once, not twice"),
    LATENCY(net_latency, net.latency, "8.4 us",
            "fixed time of a collective that leaves the node, s (NCCL tuning)"),
    FACTOR(net_ring_factor, net.ring_factor, 10, "1.4",
           "factor on the latency of a ring all-reduce that leaves the node (NCCL tuning)"),
    SHARE(net_p2p_efficiency, net.p2p_efficiency, "0.75",
          "share of nic_bandwidth that one message reaches (guess 15 %)"),
    LATENCY(net_p2p_latency, net.p2p_latency, "15 us",
            "fixed time of a message between nodes, s (guess 30 %)"),
    OPTIONAL(
        sharp_efficiency, sharp.efficiency, RATIO, 0.001, 2, "none",
        "bus bandwidth per NIC of an all-reduce in the switches between nodes (SHARP), as share of "
        "nic_bandwidth: 1.2 on NDR (480 GB/s over 8 NICs); none: no in-network reduction"),
    LATENCY(sharp_latency, sharp.latency, "31 us",
            "fixed time of such an all-reduce between nodes, s (NCCL tuning)"),
    VALUE(phase_overlap, collectives.phase_overlap, RATIO, 0, 1, "0.7",
          "share of the shorter phases of a hierarchical all-reduce or an all-to-all that hides "
          "behind the longest (guess)"),
    VALUE(nvlink_overlap_slowdown, nvlink.overlap_slowdown, RATIO, 0, 0.9, "18 %",
          "share of its speed that computation loses while a collective inside the node runs "
          "beside it (mean of arXiv 2507.03114: 18.9 %)"),
    VALUE(
        net_overlap_slowdown, net.overlap_slowdown, RATIO, 0, 0.9, "15 %",
        "the same beside a collective between nodes (16 of 108 SMs for 8 NICs: NVIDIA/nccl, issue "
        "689)"),
    SHARE(exchange_efficiency, collectives.exchange_efficiency, "0.9",
          "rate of a dispatch or combine with one copy a node, over that of an all-to-all between "
          "nodes (43 of 48 GB/s a NIC: DeepEP on H800, HybridEP on H100)"),
    VALUE(exchange_overlap_slowdown, collectives.exchange_slowdown, RATIO, 0, 0.9, "35 %",
          "share of its speed that a dispatch or combine loses while computation runs beside it "
          "(DeepSeek-V3's published trace: 565 MB in 20.1 ms, 28 of 43 GB/s a NIC)"),
    ROW_AT("collectives", collectives.algorithm, WORD, .inner = "algorithm",
           .words = ty_coll_algorithm_words, .fallback = "auto",
           .doc = "algorithm of collectives, where it applies"),
    ROW_AT(
        "collectives.measured", collectives.measured_files, STRINGS, .fallback = "none",
        .blank = "none",
        .doc =
            "logs of nccl-tests, beside the run file: they replace the model for the groups they "
            "measured"),
    ROW(operators, STRING, .fallback = "none", .blank = "none",
        .doc =
            "a table of measured kernels (CSV), beside the run file: it replaces the model for the "
            "kernels it has"),

    /* With these three and the tensors of model/block, 259 of 273 outcomes of Hagemann et al. 2023
     * are called right (13B on 64 and 65B on 128 A100); any 0.7 to 1.2 GiB a communicator with 6 to
     * 2 % of fragmentation do as well. */
    VALUE(context_memory, overhead.context, BYTES, 0, 1e13, "1 GiB",
          "memory of the CUDA context and loaded kernels, bytes (0.5 to 1.8 GiB by version)"),
    VALUE(communicator_memory, overhead.communicator, BYTES, 0, 1e13, "0.875 GiB",
          "memory of one communicator: 9.2 MiB a channel and peer in NCCL, bytes (guess within 0.2 "
          "to 1.5 GiB)"),
    OPTIONAL(reserve, overhead.reserve, BYTES, 1, 1e13, "auto",
             "memory that context and communicators take together, bytes; auto: context_memory and "
             "communicator_memory times the communicators of the layout"),
    VALUE(fragmentation, overhead.fragmentation, RATIO, 0, 1, "4 %",
          "memory lost to fragmentation and workspaces, as share of the model's bytes; left out "
          "where framework.allocator loses a block: 2.5 %"),
    /* What is off the GPUs matters to a layout that keeps something there. */
    ROW_AT("host", host.memory, QUANTITY, .inner = "memory", .dim = TY_DIM_BYTES, .min = 1e6,
           .max = 1e16, .fallback = "1 TB", .doc = "memory of a node, bytes"),
    VALUE(host.bandwidth, host.bandwidth, BYTES_PER_S, 1e6, 1e15, "400 GB/s",
          "bandwidth of that memory, all sockets, B/s (guess: 16 channels of DDR4-3200)"),
    COUNT(host.sockets, host.sockets, 1, 64, "2",
          "sockets of a node, with as much of that bandwidth and as many GPUs each"),
    OPTIONAL(host.adam, host.adam, COUNT, 1e6, 1e14, "auto",
             "parameters a second that the processors of a node update; auto: half of "
             "host.bandwidth over 30 B (DeepSpeed's CPU Adam on a DGX-2: 109 to 125 GB/s)"),
    VALUE(host.link, host.link, BYTES_PER_S, 1e6, 1e14, "25 GB/s",
          "bandwidth between a GPU and that memory, each way, B/s (PCIe 4.0 x16)"),
    VALUE(host.both_ways, host.both_ways, COUNT, 1, 2, "1.8",
          "what such a link carries in both directions at once, in bandwidths of one direction "
          "(guess 10 %: acknowledgements and requests go against the data)"),
    ROW_AT("host.gpus_per_link", host.gpus_per_link, UINT, .min = 1, .max = 1024, .fallback = "1",
           .doc = "GPUs that share it"),
    ROW_AT("nvme", nvme.capacity, QUANTITY, .inner = "capacity", .dim = TY_DIM_BYTES, .min = 1e6,
           .max = 1e18, .fallback = "none", .blank = "none",
           .doc = "NVMe capacity of a node, bytes"),
    VALUE(nvme.read, nvme.read, BYTES_PER_S, 1e6, 1e14, "25 GB/s",
          "read bandwidth of all NVMe of a node, B/s (guess: 8 of 3.2 GB/s)"),
    VALUE(nvme.write, nvme.write, BYTES_PER_S, 1e6, 1e14, "15 GB/s",
          "write bandwidth of all NVMe of a node, B/s (guess: 8 of 1.9 GB/s)"),
    ROW_AT("node_power", node_power, QUANTITY, .dim = TY_DIM_WATTS, .min = 1, .max = 1e6,
           .fallback = "none", .blank = "none", .aside = true,
           .doc = "most that a node may draw by its data sheet, W"),
    POWER(idle_power, idle_power,
          "W of a node whose GPUs wait for work; none: no energy is reported"),
    ROW_AT("exceptions", exception_texts, STRINGS, .fallback = "none", .blank = "none",
           .example = "[gpu 17 at 80 %, nic 3.6 dead, nodes 8-15 with a100-sxm-40g]",
           .doc = "parts that differ: gpu N at S (speed), nvlink, nic or leaf N at S (bandwidth), "
                  "nic N.M "
                  "dead, node N with K nics, nodes N-M with GPU"),
};

const uint32_t ty_n_cluster_fields = TY_COUNT(ty_cluster_fields);

/* CPU Adam reaches half of the memory's bandwidth, on 28 to 32 bytes a parameter (Ren et al. 2021,
 * table 4: 3.9e9 a second on two Xeon 8168 of 128 GB/s each). */
#define HOST_ADAM_SHARE 0.5

static void derive(struct ty_cluster *cluster)
{
    /* Shares of the 16-bit peak; A100 and H100 reach 0.26 and 0.14, 0.62 and 0.34, - and 0.59. */
    static const double share[TY_N_ATTENTION] = {
        [TY_ATTENTION_FLASH1] = 0.2,
        [TY_ATTENTION_FLASH2] = 0.45,
        [TY_ATTENTION_FLASH3] = 0.55,
    };
    const double bf16 = cluster->gpu.peak[TY_DTYPE_BF16], fp16 = cluster->gpu.peak[TY_DTYPE_FP16];
    for (int i = 0; i < TY_N_ATTENTION; i++) {
        if (cluster->gpu.attention[i].rate_max <= 0) {
            cluster->gpu.attention[i].rate_max = share[i] * (bf16 > fp16 ? bf16 : fp16);
        }
    }
    if (cluster->host.adam <= 0) {
        cluster->host.adam = HOST_ADAM_SHARE * cluster->host.bandwidth / TY_HOST_UPDATE_B;
    }
    if (cluster->net.nics == 0) {
        cluster->net.nics = cluster->gpus_per_node;
    }
}

/* The place in the user's text where a key got its value; no place for presets and defaults. */
static struct ty_place place_of(const struct ty_section *section, const char *key)
{
    const struct ty_field *field = section == NULL ? NULL : ty_section_field(section, key);
    const struct ty_origin *origin = field == NULL ? NULL : ty_field_origin(section, field);
    if (origin != NULL && (origin->kind == TY_ORIGIN_FILE || origin->kind == TY_ORIGIN_COMMAND)) {
        return origin->at;
    }
    return (struct ty_place){0};
}

static int fail(const struct ty_section *section, const char *key, struct ty_err *err,
                const char *message)
{
    const struct ty_place at = place_of(section, key);
    return ty_fail_at(err, TY_EINPUT, &at, "%s", message);
}

/* Rows of nvlink_links into numbers. More rows than GPUs: the first GPUs of such a node, whose
 * bandwidth is that of all links a GPU has. */
static int read_links(struct ty_cluster *cluster, const struct ty_section *section,
                      struct ty_err *err)
{
    struct ty_nvlink *links = &cluster->nvlink;
    const struct ty_string_list *rows = &links->pair_rows;
    const uint32_t n = cluster->gpus_per_node;
    links->n_paired = links->links_of_a_gpu = 0;
    if (rows->n == 0) {
        return 0;
    }
    bool square = rows->n >= n && rows->n <= TY_PAIRED_MAX;
    for (uint32_t i = 0; square && i < rows->n; i++) {
        uint32_t sum = 0;
        square = strlen(rows->item[i]) == rows->n;
        for (uint32_t k = 0; square && k < rows->n; k++) {
            const char digit = rows->item[i][k], back = rows->item[k][strnlen(rows->item[k], i)];
            square = digit >= '0' && digit <= '9' && digit == back && (i != k || digit == '0');
            links->paired[i][k] = (uint8_t)(digit - '0');
            sum += links->paired[i][k];
        }
        links->links_of_a_gpu = sum > links->links_of_a_gpu ? sum : links->links_of_a_gpu;
    }
    if (!square) {
        const struct ty_place at = place_of(section, "nvlink_links");
        return ty_fail_at(
            err, TY_EINPUT, &at,
            "cluster.nvlink_links: not the links of a node of %u GPUs "
            "(cluster.gpus_per_node); write a row per GPU with a digit per GPU, the "
            "same from A to B as from B to A and 0 to itself, for %u GPUs at most, or "
            "none",
            (unsigned)n, TY_PAIRED_MAX);
    }
    links->n_paired = n;
    return 0;
}

int ty_cluster_check(struct ty_cluster *cluster, const struct ty_section *section,
                     struct ty_err *err)
{
    bool has_peak = false;
    derive(cluster);
    int rc = read_links(cluster, section, err);
    for (int i = 0; i < TY_N_DTYPES; i++) {
        has_peak = has_peak || cluster->gpu.peak[i] > 0;
    }
    if (!has_peak) {
        rc = fail(section, "gpu", err,
                  "cluster.peak_bf16: missing; name a `gpu` or a `preset`, or give at least one of "
                  "peak_bf16, peak_fp16, peak_fp32, peak_fp8, peak_fp4, such as 312 TFLOP/s");
    }
    if (cluster->gpus_per_node > 1 && cluster->nvlink.bandwidth <= 0) {
        rc = fail(section, "gpus_per_node", err,
                  "cluster.nvlink_bandwidth: missing, and a node has more than one GPU; give the "
                  "bandwidth of a GPU's links in one direction, such as 300 GB/s");
    }
    if (cluster->nodes > 1 && cluster->net.nic_bandwidth <= 0) {
        rc = fail(section, "nodes", err,
                  "cluster.nic_bandwidth: missing, and there is more than one node; give the "
                  "bandwidth of a network interface, such as 200 Gb/s");
    }
    if (cluster->gpu.memory > 0 && ty_cluster_reserve(cluster, 0) >= cluster->gpu.memory) {
        const char *const key = cluster->overhead.reserve > 0 ? "reserve" : "context_memory";
        char has[64], message[200];
        (void)snprintf(message, sizeof(message),
                       "cluster.%s: leaves no memory for the model; write less than cluster.memory "
                       "(%s)",
                       key,
                       ty_quantity_format(cluster->gpu.memory, TY_DIM_BYTES, has, sizeof(has)));
        rc = fail(section, key, err, message);
    }
    return rc;
}

double ty_cluster_reserve(const struct ty_cluster *cluster, uint32_t n_communicators)
{
    return cluster->overhead.reserve > 0
               ? cluster->overhead.reserve
               : cluster->overhead.context + n_communicators * cluster->overhead.communicator;
}
