/* kernels_internal.h - shared by the files that cost kernels; see kernels.h.
 *
 * Times here are those of kernel benchmarks: `derate` is applied once, where what kernels.h offers
 * is put together. */
#ifndef TY_MODEL_KERNELS_INTERNAL_H
#define TY_MODEL_KERNELS_INTERNAL_H

#include "model/kernels.h"
#include "model/memory.h"
#include "model/operators.h"

/* What one rank works on in one micro-batch. */
struct ty_shard {
    double tokens;      /* of a micro-batch */
    double norm_tokens; /* of those, what norms see: fewer with sequence parallelism */
    double heads, kv;   /* of this rank; kv at least one */
    double ffn;         /* inner width on this rank */
    double vocabulary;  /* columns of the output matrix on this rank */
    double element_B;   /* of an activation */
    int dtype;          /* enum ty_dtype, the same */
    bool fused_activation, fused_rotary; /* see framework.h */
    double norm_speed;
};
struct ty_shard ty_shard_of(const struct ty_arch *arch, const struct ty_layout *layout);

static inline struct ty_cost ty_cost_plus(struct ty_cost a, struct ty_cost b)
{
    return (struct ty_cost){a.seconds + b.seconds, a.flops + b.flops};
}

/* Takes `factor` times as long for the same work. */
static inline struct ty_cost ty_cost_times(struct ty_cost a, double factor)
{
    return (struct ty_cost){a.seconds * factor, a.flops};
}

/* A product at `share` of gemm_efficiency; with a share of 1, as measured where it was. */
struct ty_cost ty_gemm_cost_at(const struct ty_cluster *cluster, enum ty_dtype dtype,
                               enum ty_gemm_role role, double share, double m, double n, double k);

/* attention.c: the core between the projections, one micro-batch. */
struct ty_cost ty_attention(const struct ty_cluster *cluster, const struct ty_arch *arch,
                            const struct ty_layout *layout, bool backward);

/* Share of its full rate that a flash kernel reaches with x heads of 4096 tokens on the GPU
 * (x = sequences heads s / 4096); 1 at 64 and above. */
double ty_attention_occupancy(double x, bool backward);

/* elementwise.c: kernels bound by memory traffic. */

/* A kernel over so many elements as the cluster's table of operators has it, else `model`, whose
 * time but for kernel_overhead is in proportion to the elements. `kernel`: see operators.h. */
struct ty_cost ty_measured_or(const struct ty_cluster *cluster, int op, int role, int dtype,
                              int kernel, double elements, struct ty_cost model);

struct ty_cost ty_norm(const struct ty_cluster *cluster, const struct ty_arch *arch,
                       const struct ty_shard *shard, bool backward);
struct ty_cost ty_residual(const struct ty_cluster *cluster, const struct ty_arch *arch,
                           const struct ty_shard *shard, bool backward);
struct ty_cost ty_head_norms(const struct ty_cluster *cluster, const struct ty_arch *arch,
                             const struct ty_shard *shard, bool backward);
struct ty_cost ty_rope(const struct ty_cluster *cluster, const struct ty_arch *arch,
                       const struct ty_shard *shard, bool backward);
struct ty_cost ty_activation(const struct ty_cluster *cluster, const struct ty_arch *arch,
                             const struct ty_shard *shard, bool backward);
struct ty_cost ty_embedding(const struct ty_cluster *cluster, const struct ty_arch *arch,
                            const struct ty_shard *shard, bool backward);
struct ty_cost ty_cross_entropy(const struct ty_cluster *cluster, const struct ty_shard *shard,
                                bool backward);

/* layer_costs.c: kernels over parameters of one rank. */

/* Adds a 16-bit result to gradients of type `dtype`: it is read, the sum read and written. */
struct ty_cost ty_accumulation(const struct ty_cluster *cluster, const struct ty_layout *layout,
                               int dtype, double params);

/* An Adam step over `params` parameters, all of them this rank's. */
struct ty_cost ty_adam(const struct ty_cluster *cluster, const struct ty_layout *layout,
                       double params);

#endif
