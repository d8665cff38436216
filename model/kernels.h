/* kernels.h - seconds and FLOPs of the kernels of a transformer on one GPU.
 *
 * Everything is for one micro-batch on one tensor rank. Times are for an undisturbed GPU and
 * already carry the cluster's `derate`. */
#ifndef TY_MODEL_KERNELS_H
#define TY_MODEL_KERNELS_H

#include "model/layout.h"

struct ty_cost {
    double seconds;
    double flops; /* of matrix products, as the hardware executes them (causal attention: half) */
};

enum ty_gemm_role {
    TY_GEMM_FORWARD,
    TY_GEMM_DGRAD,
    TY_GEMM_WGRAD
};

/* C[m,n] = A[m,k] B[k,n]. Seconds of one call on an idle GPU:
 *
 *     max(2 m n k / (peak gemm_efficiency), bytes / (0.8 memory_bandwidth)) + gemm_overhead
 *
 * times wgrad_slowdown for weight gradients. gemm_wave > 0 counts whole tiles and, in part, whole
 * waves of them. The cluster must have a peak for `dtype`. */
struct ty_cost ty_gemm_cost(const struct ty_cluster *cluster, enum ty_dtype dtype,
                            enum ty_gemm_role role, double m, double n, double k);

/* The operations a layer pass is made of, at the granularity of tasks. id, name in traces */
#define TY_LAYER_OPS(X)                                                                            \
    X(NORM1, "norm") /* norm before attention, residual add included */                            \
    X(QKV, "qkv")    /* projection to q, k, v and rotary embedding */                              \
    X(ATTENTION, "attention core")                                                                 \
    X(PROJ, "proj") /* output projection */                                                        \
    X(NORM2, "norm")                                                                               \
    X(MLP, "mlp core") /* up (and gate), activation, down */

enum ty_layer_op {
#define X(id, name) TY_LAYER_##id,
    TY_LAYER_OPS(X)
#undef X
    TY_N_LAYER_OPS
};
const char *ty_layer_op_name(enum ty_layer_op op);

/* Costs of one layer. Backward is split where a schedule or an overlapped collective needs it:
 * dgrad[op] is everything an input gradient needs (for NORM and ATTENTION: their whole backward;
 * MLP: down dgrad, activation backward, up dgrad), wgrad[op] the weight gradients (QKV, PROJ and
 * MLP: both matrices; else zero). recompute[op]: the forward work repeated before the backward
 * under the layout's recompute mode (zero where nothing is repeated). With sequence parallelism
 * norms work on s/t tokens. */
struct ty_layer_costs {
    struct ty_cost forward[TY_N_LAYER_OPS];
    struct ty_cost dgrad[TY_N_LAYER_OPS];
    struct ty_cost wgrad[TY_N_LAYER_OPS];
    struct ty_cost recompute[TY_N_LAYER_OPS];
};
void ty_layer_costs(const struct ty_cluster *cluster, const struct ty_arch *arch,
                    const struct ty_layout *layout, struct ty_layer_costs *out);

/* Stretches the passes of a layer, ops in proportion, where the host needs longer to launch them
 * than the GPU to run them: a forward, with `forward_comm_s` of collectives it has to wait for,
 * lasts at least framework.layer_floor / host_speed, a backward 1.3 times that. */
void ty_layer_host(const struct ty_cluster *cluster, const struct ty_layout *layout,
                   double forward_comm_s, double backward_comm_s, struct ty_layer_costs *costs);

/* First and last stage extras, forward and backward (dgrad + wgrad). */
struct ty_edge_costs {
    struct ty_cost embedding_forward, embedding_backward;
    struct ty_cost head_forward, head_dgrad, head_wgrad; /* final norm, logits, cross-entropy */
};
void ty_edge_costs(const struct ty_cluster *cluster, const struct ty_arch *arch,
                   const struct ty_layout *layout, struct ty_edge_costs *out);

/* One optimizer step (Adam) over `params` parameters held in full by this rank before ZeRO
 * sharding; ZeRO >= 1 updates params / data. */
struct ty_cost ty_optimizer_cost(const struct ty_cluster *cluster, const struct ty_layout *layout,
                                 double params);

/* operator_cost.c: what the model says of one kernel of a table of operators (model/operators.h),
 * over `size` of what its curve is over; without a table and without `derate`, as tables hold
 * isolated kernels. `arch` and `layout` say what a row does not. False when this GPU cannot run it:
 * no peak for its type. */
struct ty_operator_key;
bool ty_operator_cost(const struct ty_cluster *cluster, const struct ty_arch *arch,
                      const struct ty_layout *layout, const struct ty_operator_key *key,
                      double size, struct ty_cost *out);

#endif
