/* cluster.h - the machine as data: GPUs, the links between them, and how well they do in practice.
 *
 * Filled from the `cluster` section: a cluster preset names a GPU preset, keys next to the preset
 * override either. Every member is a key of the section (ty_cluster_fields). All bandwidths are per
 * direction. Members that say "auto" may be left out: ty_cluster_check derives them. */
#ifndef TY_TOPOLOGY_CLUSTER_H
#define TY_TOPOLOGY_CLUSTER_H

#include "sim/document/fields.h"

enum ty_dtype {
    TY_DTYPE_BF16,
    TY_DTYPE_FP16,
    TY_DTYPE_FP32,
    TY_DTYPE_FP8,
    TY_DTYPE_NVFP4,
    TY_N_DTYPES
};

/* Whether it is a type of products only: tensors are kept in bf16 and cast for them. */
static inline bool ty_dtype_is_narrow(int dtype)
{
    return dtype == TY_DTYPE_FP8 || dtype == TY_DTYPE_NVFP4;
}

enum ty_attention {
    TY_ATTENTION_UNFUSED,
    TY_ATTENTION_FUSED_SOFTMAX,
    TY_ATTENTION_FLASH1,
    TY_ATTENTION_FLASH2,
    TY_ATTENTION_FLASH3,
    TY_N_ATTENTION
};

/* Saturating rate of a fused attention kernel: rate(s) = rate_max * s / (s + half). */
struct ty_attention_curve {
    double rate_max; /* FLOP/s, causal FLOPs, forward and backward together, head size 128; auto */
    double half;     /* tokens of sequence at which half the rate is reached */
};

struct ty_coll_measured; /* topology/collectives/measured.h */
struct ty_operators;     /* model/kernel/operators.h */
struct ty_exceptions;    /* topology/exceptions.h */

/* One GPU: what it can do, and how well kernels do on it. Nodes may have GPUs of several kinds
 * (topology/exceptions.h), one of these each. */
struct ty_gpu {
    double peak[TY_N_DTYPES]; /* dense FLOP/s by enum ty_dtype; 0: not supported */
    double memory;            /* B, usable as a framework sees it */
    double memory_bandwidth;  /* B/s */
    double l2;                /* B of its second-level cache; 0: not modelled */
    double l2_bandwidth; /* B/s of an elementwise kernel whose tensors lie there; 0: the same */
    uint32_t sms;
    double gemm_efficiency;                /* share of peak of a large matrix product */
    double fp8_efficiency, fp4_efficiency; /* the same of those types; 0: as gemm_efficiency */
    double mxfp8_speed;   /* rate of products in MXFP8 over those with one scale a tensor */
    double fp8_attention; /* rate of attention on fp8 operands over that on 16 bit, heads of 128 */
    double mxfp8_attention; /* the same, with a scale for 32 elements */
    bool fp8_reads_both;    /* products in fp8 read operands along rows and along columns */
    double gemm_overhead;   /* s per call */
    double gemm_ramp;       /* depth k that filling and draining the tiles costs */
    double gemm_wave;       /* 0..1: weight of tile-wave quantisation */
    double gemm_load;       /* multiply-adds while an operand is loaded; 0: large tiles */
    double fp8_ramp;        /* the same of products in fp8 */
    double wgrad_slowdown;  /* factor on the time of weight-gradient products */
    double wgrad_result;    /* share of the time that writing them takes in groups, not hidden */
    double gemm_sustained;  /* rate of products in a step over that of one timed alone */
    double scan_efficiency; /* share of the peak in scans of states, by tensor cores */
    struct ty_attention_curve attention[TY_N_ATTENTION]; /* flash1..3; others unused */
    /* Shares of the bandwidth that elementwise kernels reach on the bytes they must move. */
    double add_efficiency, activation_efficiency, rope_efficiency;
    /* Time of a norm, in passes of its ideal traffic (read and write the tensor once) at the full
     * memory_bandwidth: the kernel's inefficiency is in the number, nothing else is applied. */
    double norm_passes;          /* one fused kernel */
    double norm_passes_unfused;  /* made of framework operators */
    double kernel_overhead;      /* s per elementwise kernel */
    double host_speed;           /* of one thread that launches kernels; A100 hosts: 1 */
    double optimizer_efficiency; /* share of memory_bandwidth in an optimizer step */
    double tensor_power;         /* W of tensor cores at the peak rate, whatever the type */
    double memory_power;         /* W of the memory at memory_bandwidth */
    double active_power;         /* W that a GPU draws more in a step than when it is idle */
    double board_power;          /* W beyond an idle GPU that the board may draw */
    double derate; /* factor on every compute time: real stacks against kernel benchmarks */
    const struct ty_operators *operator_table; /* kernels timed on it; NULL: none */
};

#define TY_PAIRED_MAX 16u /* GPUs of a node whose links join pairs */
#define TY_NODE_GPUS  16u /* most GPUs of a node that is no rack */

/* The links of a GPU to those of its node, and what collectives make of them. Bus bandwidths are
 * those of nccl-tests. */
struct ty_nvlink {
    double bandwidth; /* B/s, hardware, per GPU */
    /* Links from GPU (row) to GPU of a node without a switch, as written and as numbers; n_paired,
     * GPUs of the node, 0: a switch joins all. */
    struct ty_string_list pair_rows;
    uint32_t n_paired,
        links_of_a_gpu; /* of the one that has most, also to GPUs that are not used */
    uint8_t paired[TY_PAIRED_MAX][TY_PAIRED_MAX];
    /* Bus bandwidths as shares of it, so that they follow it. */
    double efficiency;       /* of a collective over a full node */
    double pair_efficiency;  /* of one between two GPUs; between: linear in 1/n */
    double p2p_efficiency;   /* of one message */
    double p2p_latency;      /* s */
    double latency;          /* s, fixed part of an all-reduce inside a node ... */
    double latency_per_rank; /* ... and per rank */
    double ll_latency;       /* s, the same with LL128's flags ... */
    double ll_latency_per_rank;
    double ll_efficiency;    /* ... and its share of the bus bandwidth; 0: not used */
    double floor;            /* s, no collective inside a node is shorter */
    double gather_latency;   /* s, fixed part of the other collectives inside a node */
    double gather_per_rank;  /* s, their time per further rank; 0: step */
    double step;             /* s per ring step inside a node: all but that all-reduce */
    double tree_step;        /* s per link of a tree inside a node */
    double overlap_slowdown; /* share of its speed that computation loses during a collective */
};

/* Sums in the switch inside a node. */
struct ty_nvls {
    double efficiency;   /* bus bandwidth of an all-reduce, as share of nvlink.bandwidth; 0: none;
                          * may exceed 1 */
    double latency;      /* s, of such an all-reduce */
    double tree_latency; /* s, of one with a tree between nodes */
    uint32_t min_ranks;  /* smallest group that uses it */
};

/* The way from node to node. */
struct ty_network {
    uint32_t nics;         /* of a node; auto: one per GPU */
    bool two_node_tree;    /* with two nodes a tree crosses the network once, not twice */
    bool ll;               /* small collectives take the LL protocol */
    double nic_bandwidth;  /* B/s, hardware */
    double nic_efficiency; /* share of it that a collective reaches */
    double p2p_efficiency; /* share of it that one message reaches */
    double p2p_latency;    /* s */
    double step;           /* s per ring step between nodes */
    double tree_step;      /* s per tree level between nodes */
    double message;        /* s that the network's software takes for each message of a step ... */
    double rendezvous;     /* ... and for one that is longer than ... */
    double eager;          /* ... so many bytes */
    double all_to_all_efficiency; /* of an all-to-all, share of what other collectives reach */
    double latency;               /* s, fixed part of a collective that leaves the node */
    double ring_factor;           /* on the latency of a ring all-reduce that leaves the node */
    double overlap_slowdown;      /* as of NVLink */
};

/* Sums in the switches between nodes. */
struct ty_sharp {
    double efficiency; /* bus bandwidth per NIC of an all-reduce, as share of net.nic_bandwidth; 0:
                        * none; may exceed 1 */
    double latency;    /* s, its fixed part between nodes */
};

struct ty_collectives {
    int algorithm;        /* 0: fastest that applies, else 1 + index into ty_coll_algorithms */
    double derate;        /* factor on every time: training steps against nccl-tests */
    double phase_overlap; /* share of the shorter phases of a hierarchical collective or an
                           * all-to-all that hides behind the longest one */
    double exchange_efficiency; /* of a dispatch or combine by node, share of what others reach */
    double exchange_slowdown;   /* share of its speed that a dispatch or combine loses next to
                               * computation */
    /* Logs of nccl-tests, and what the loader of the run file made of them; NULL: none. */
    struct ty_string_list measured_files;
    const struct ty_coll_measured *measured;
};

/* Memory that no tensor of the model has. */
struct ty_overhead {
    double context;             /* B: CUDA context and kernels */
    double communicator;        /* B: buffers of one communicator */
    double reserve;             /* B: in place of both, when it is not 0 */
    double fragmentation;       /* share of the model's bytes: allocator, workspaces */
    double split_fragmentation; /* the same beside a block that is lost (model/block/memory.h) */
};

/* What a node has off its GPUs, and how they reach it (topology/fabric/tiers.h). */
struct ty_host {
    double memory;          /* B */
    double bandwidth;       /* B/s of that memory, reads and writes together, all sockets */
    uint32_t sockets;       /* equal parts of a node: of its memory, and of its GPUs */
    double adam;            /* parameters/s that its processors update; auto: by bandwidth */
    double link;            /* B/s between it and a GPU, each way (PCIe) */
    double both_ways;       /* most of a link in both directions together, in bandwidths of one */
    uint32_t gpus_per_link; /* that share it */
};
#define TY_HOST_UPDATE_B 30 /* of that memory that an update of a parameter reads and writes */

struct ty_nvme {
    double capacity;    /* B, all drives of a node; 0: none */
    double read, write; /* B/s, all drives together */
};

struct ty_cluster {
    const char *preset, *gpu_preset; /* names; NULL: spelled out */
    uint32_t nodes, gpus_per_node;
    struct ty_gpu gpu;
    struct ty_nvlink nvlink;
    struct ty_nvls nvls;
    struct ty_network net;
    struct ty_sharp sharp;
    struct ty_collectives collectives;
    struct ty_overhead overhead;
    struct ty_host host;
    struct ty_nvme nvme;
    const char *operators; /* a table of kernels, made gpu.operator_table; NULL: none */
    /* Parts that differ from what is above, and what ty_exceptions_read made of them; NULL:
     * none. */
    double node_power; /* W, most by the data sheet; 0: not known */
    double idle_power; /* W of a node whose GPUs wait; 0: not known */
    struct ty_string_list exception_texts;
    const struct ty_exceptions *exceptions;
};

extern const struct ty_field ty_cluster_fields[];
extern const uint32_t ty_n_cluster_fields;
extern const struct ty_preset ty_cluster_presets[]; /* ends with a NULL name */
extern const struct ty_preset ty_gpu_presets[];     /* ends with a NULL name */
extern const struct ty_word ty_dtype_words[], ty_attention_words[];

/* Bytes of a weight or an activation. Products in fp8 take and give tensors kept in 16 bit. */
double ty_dtype_bytes(enum ty_dtype dtype);

/* Derives what is "auto", then checks what needs more than one field (a bandwidth for every link
 * that the shape uses, a peak, ...). Messages point at the value that would have to change, by the
 * origins of `section`. Deriving twice changes nothing. */
int ty_cluster_check(struct ty_cluster *cluster, const struct ty_section *section,
                     struct ty_err *err);

/* Bytes that context and communicators take, or what `reserve` says in their place. */
double ty_cluster_reserve(const struct ty_cluster *cluster, uint32_t n_communicators);

static inline uint32_t ty_cluster_gpus(const struct ty_cluster *c)
{
    return c->nodes * c->gpus_per_node;
}

/* What the key `collectives` takes (topology/collectives/coll.c). */
extern const struct ty_word ty_coll_algorithm_words[];

#endif
