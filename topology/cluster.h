/* cluster.h - the machine: GPUs, the links between them, and how well they do in practice.
 *
 * Filled from the `cluster` section: a cluster preset names a GPU preset, keys beside the preset
 * override either. Every member is a key of the section under its own name; the arrays are spelled
 * peak_<dtype> and <attention>_rate, <attention>_half. All bandwidths are per direction. Members
 * that say "auto" may be left out: ty_cluster_check derives them. */
#ifndef TY_TOPOLOGY_CLUSTER_H
#define TY_TOPOLOGY_CLUSTER_H

#include "sim/document/fields.h"

enum ty_dtype {
    TY_DTYPE_BF16,
    TY_DTYPE_FP16,
    TY_DTYPE_FP32,
    TY_DTYPE_FP8,
    TY_N_DTYPES
};

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
    uint32_t sms;
    double gemm_efficiency; /* share of peak of a large matrix product */
    double gemm_overhead;   /* s per call */
    double gemm_ramp;       /* depth k that filling and draining the tiles costs */
    double gemm_wave;       /* 0..1: weight of tile-wave quantisation */
    double wgrad_slowdown;  /* factor on the time of weight-gradient products */
    struct ty_attention_curve attention[TY_N_ATTENTION]; /* flash1..3; others unused */
    /* Shares of memory_bandwidth that elementwise kernels reach on the bytes they must move. */
    double add_efficiency, activation_efficiency, rope_efficiency;
    /* Time of a norm, in passes of its ideal traffic (read and write the tensor once) at the full
     * memory_bandwidth: the kernel's inefficiency is in the number, nothing else is applied. */
    double norm_passes;          /* one fused kernel */
    double norm_passes_unfused;  /* made of framework operators */
    double kernel_overhead;      /* s per elementwise kernel */
    double host_speed;           /* of one thread that launches kernels; A100 hosts: 1 */
    double optimizer_efficiency; /* share of memory_bandwidth in an optimizer step */
    double derate; /* factor on every compute time: real stacks against kernel benchmarks */
    const struct ty_operators *operator_table; /* kernels timed on it; NULL: none */
};

struct ty_cluster {
    const char *preset, *gpu_preset; /* names; NULL: spelled out */

    struct ty_gpu gpu;
    double collective_derate; /* the same of collectives: training steps against nccl-tests */

    /* node */
    uint32_t nodes, gpus_per_node;
    double nvlink_bandwidth; /* B/s, hardware, per GPU */
    /* Bus bandwidths (nccl-tests) as shares of nvlink_bandwidth, so that they follow it. */
    double nvlink_efficiency;       /* of a collective over a full node */
    double nvlink_pair_efficiency;  /* of one between two GPUs; between: linear in 1/n */
    double nvlink_p2p_efficiency;   /* of one message */
    double nvls_efficiency;         /* of an all-reduce in the switch; 0: none; may exceed 1 */
    double nvls_latency;            /* s, of such an all-reduce */
    double nvls_tree_latency;       /* s, of one with a tree between nodes */
    uint32_t nvls_min_ranks;        /* smallest group that uses it */
    double nvlink_latency;          /* s, fixed part of an all-reduce inside a node ... */
    double nvlink_latency_per_rank; /* ... and per rank */
    double nvlink_ll_latency;       /* s, the same with LL128's flags ... */
    double nvlink_ll_latency_per_rank;
    double nvlink_ll_efficiency;  /* ... and its share of the bus bandwidth; 0: not used */
    double nvlink_floor;          /* s, no collective inside a node is shorter */
    double nvlink_gather_latency; /* s, fixed part of the other collectives inside a node */
    double nvlink_step;           /* s per ring step inside a node: all but that all-reduce */
    double nvlink_tree_step;      /* s per link of a tree inside a node */
    double nvlink_p2p_latency;    /* s */

    /* network */
    uint32_t nics_per_node;    /* auto: one per GPU */
    double nic_bandwidth;      /* B/s, hardware */
    double nic_efficiency;     /* share of it that a collective reaches */
    double net_step;           /* s per ring step between nodes */
    double net_tree_step;      /* s per tree level between nodes */
    bool two_node_tree;        /* with two nodes a tree crosses the network once, not twice */
    double net_latency;        /* s, fixed part of a collective that leaves the node */
    double net_ring_factor;    /* on the latency of a ring all-reduce that leaves the node */
    double net_p2p_efficiency; /* share of nic_bandwidth that one message reaches */
    double net_p2p_latency;    /* s */
    double sharp_efficiency;   /* bus bandwidth per NIC of an all-reduce in the switches between
                                * nodes, as share of nic_bandwidth; 0: none; may exceed 1 */
    double sharp_latency;      /* s, its fixed part between nodes */
    double phase_overlap;      /* share of the shorter phases of a hierarchical collective or an
                               * all-to-all that hides behind the longest one */
    double nvlink_overlap_slowdown; /* share of its speed that computation loses beside a */
    double net_overlap_slowdown;    /* collective inside a node, between nodes */
    int collectives; /* 0: fastest that applies, else 1 + index into ty_coll_algorithms */
    /* Files of measurements, and what the loader of the run file made of them; NULL: none. */
    struct ty_string_list measured_files; /* logs of nccl-tests */
    const struct ty_coll_measured *measured;
    const char *operators; /* a table of kernels, made gpu.operator_table */

    /* memory that no tensor of the model has */
    double context_memory;      /* B: CUDA context and kernels */
    double communicator_memory; /* B: buffers of one communicator */
    double reserve;             /* B: in place of both, when it is not 0 */
    double fragmentation;       /* share of the model's bytes: allocator, workspaces */

    /* Parts that differ from what is above, and what ty_exceptions_read made of them; NULL:
     * none. */
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

/* What the key `collectives` takes: "auto" (0), or 1 + an index into ty_coll_algorithms (coll.h).
 * */
extern const struct ty_word ty_coll_algorithm_words[];

#endif
